/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HPCC (Li et al., SIGCOMM 2019), Algorithm 1: from the queue and the rate of every link of its path a sender computes
 * the bytes in flight there. It sets its window so that the fullest link carries eta of its capacity without queueing.
 * The reference window moves once a round trip; in between every ACK sets the window from the reference anew.
 */
#include "rxe-hosts/roce/cc/algorithms.h"

#include <stddef.h>

#include "common/array.h"

#define FIELD(member) offsetof(struct hpcc_params, member)

static const struct cfg_field fields[] = {
	CFG_FIELD("eta", CFG_FLOAT, FIELD(eta), .def = "0.95", .min = 0.01, .max = 1, .doc = "target utilization of links"),
	CFG_FIELD("max_stage", CFG_INT, FIELD(max_stage), .def = "5", .max = 1000,
		  .doc = "additive increases in a row before a multiplicative step"),
	CFG_FIELD("wai", CFG_BYTES, FIELD(wai_bytes), .def = "80", .max = 1e6,
		  .doc = "additive increase of the window, each time"),
	CFG_FIELD("base_rtt", CFG_TIME, FIELD(base_rtt_ps), .def = "0ps",
		  .doc = "T of the paper; 0ps: the longest round trip of the network without queues"),
	CFG_FIELD("min_rate", CFG_RATE, FIELD(min_rate_bps), .def = "100Mbps", .min = 1, .max = 1e13,
		  .doc = "lower bound of the window, as a rate over base_rtt"),
};

static const struct cfg_table table = {
	.path = "host.hpcc",
	.doc = "HPCC (Li et al., SIGCOMM 2019), where host.cc is \"hpcc\".",
	.size = sizeof(struct hpcc_params),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};

static const struct hpcc_params *
own_of(const struct cc_params *params)
{
	return (const struct hpcc_params *)params->own;
}

static double
spare(const struct cc_params *params)
{
	return 1 - own_of(params)->eta;
}

static double
base_rtt_ps(const struct cc_params *params)
{
	return (double)(own_of(params)->base_rtt_ps != 0 ? own_of(params)->base_rtt_ps : params->base_rtt_ps);
}

/* @return the bytes that a rate sends in T */
static double
bytes_in_rtt(const struct cc_params *params, uint64_t rate_bps)
{
	return (double)rate_bps / 8 * base_rtt_ps(params) / PS_PER_S;
}

/* Line 27: W, and R = W / T. */
static void
show(struct cc *cc, const struct cc_params *params, double window_bytes)
{
	double rate_bps = window_bytes * 8 * PS_PER_S / base_rtt_ps(params);

	cc->window_bytes = (uint64_t)window_bytes;
	cc->rate_bps = rate_bps < (double)cc->line_bps ? (uint64_t)rate_bps : cc->line_bps;
}

static void
reset(struct cc *cc, const struct cc_params *params)
{
	struct hpcc *s = (struct hpcc *)cc->state;

	s->u = 1;
	s->reference_bytes = bytes_in_rtt(params, cc->line_bps);
	show(cc, params, s->reference_bytes);
}

/*
 * Lines 4 to 7: one link's share. @param tau_ps  set to the time between the two samples
 * @return u', or a negative value: both samples are of one instant
 */
static double
inflight(const struct cc_params *params, uint64_t now, uint64_t before, double *tau_ps)
{
	struct int_hop ack = int_unpack(now), last = int_unpack(before);
	uint32_t queue_bytes = ack.queue_bytes < last.queue_bytes ? ack.queue_bytes : last.queue_bytes;
	double tx_bytes = (double)((ack.tx_units - last.tx_units) & 0xfffff) * INT_TX_UNIT_BYTES;
	double link_bytes_ps = (double)params->rates->bps[ack.rate] / 8 / PS_PER_S;

	*tau_ps = (double)((ack.time_ns - last.time_ns) & 0xffffff) * PS_PER_NS;
	if (*tau_ps == 0)
		return -1;
	return queue_bytes / (link_bytes_ps * base_rtt_ps(params)) + tx_bytes / *tau_ps / link_bytes_ps;
}

/* MeasureInflight, lines 1 to 10. */
static void
measure(struct hpcc *s, const struct cc_params *params, const struct int_header *ack)
{
	double most = 0, tau_ps = 0, rtt_ps = base_rtt_ps(params);

	for (uint32_t i = 0; i < ack->count; i++) {
		double since_ps, u = inflight(params, ack->hops[i], s->last.hops[i], &since_ps);

		if (u > most) {
			most = u;
			tau_ps = since_ps;
		}
	}
	tau_ps = tau_ps < rtt_ps ? tau_ps : rtt_ps;
	s->u = (1 - tau_ps / rtt_ps) * s->u + tau_ps / rtt_ps * most;
}

/*
 * ComputeWind, lines 11 to 20. The maximum is the line's bandwidth-delay product, the minimum the bytes that min_rate
 * sends in T.
 */
static double
compute_window(struct cc *cc, const struct cc_params *params, bool update)
{
	const struct hpcc_params *own = own_of(params);
	struct hpcc *s = (struct hpcc *)cc->state;
	bool multiply = s->u >= own->eta || s->stage >= (uint64_t)own->max_stage;
	double window = (multiply ? s->reference_bytes / (s->u / own->eta) : s->reference_bytes) + (double)own->wai_bytes;
	double most = bytes_in_rtt(params, cc->line_bps), least = bytes_in_rtt(params, own->min_rate_bps);

	window = window < least ? least : window;
	window = window > most ? most : window;
	if (update) {
		s->stage = multiply ? 0 : s->stage + 1;
		s->reference_bytes = window;
	}
	return window;
}

/*
 * Can the two samples be compared? Not without an earlier one, nor on another path, nor after a time in which the
 * counter of the fastest link may have wrapped.
 */
static bool
comparable(const struct hpcc *s, const struct cc_params *params, const struct cc_ack *ack)
{
	double wrap_ps = (double)(1 << 24) * PS_PER_NS, tx_ps;

	for (uint32_t i = 0; i < params->rates->count; i++) {
		tx_ps = (double)(1 << 20) * INT_TX_UNIT_BYTES * 8 * PS_PER_S / (double)params->rates->bps[i];
		wrap_ps = tx_ps < wrap_ps ? tx_ps : wrap_ps;
	}
	return s->last.count != 0 && s->last.count == ack->telemetry->count && s->last.path == ack->telemetry->path &&
	       (double)(ack->now_ps - s->received_ps) < wrap_ps / 2;
}

/* NewAck, lines 21 to 27. */
static void
acked(struct cc *cc, const struct cc_params *params, const struct cc_ack *ack)
{
	struct hpcc *s = (struct hpcc *)cc->state;
	bool update = (int32_t)(ack->una - s->update_seq) > 0;

	if (ack->telemetry == NULL)
		return;
	if (comparable(s, params, ack)) {
		measure(s, params, ack->telemetry);
		show(cc, params, compute_window(cc, params, update));
	} else {
		update = true;
	}
	if (update)
		s->update_seq = ack->nxt;
	s->last = *ack->telemetry;
	s->received_ps = ack->now_ps;
}

const struct cc_ops cc_hpcc = {
	.name = "hpcc",
	.inband = true,
	.quiet = true,
	.table = &table,
	.spare = spare,
	.reset = reset,
	.acked = acked,
};
