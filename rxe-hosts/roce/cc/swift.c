/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Swift (Kumar et al., SIGCOMM 2020): a window that follows a target delay (Algorithm 1), which scales with the path's
 * switches and with the window itself (section 3.5). Embedded hosts have no queue of their own on the sending side, so
 * there is only the fabric's window: no endpoint delay, no endpoint window. Below one packet the window is paced.
 */
#include "rxe-hosts/roce/cc/algorithms.h"

#include <math.h>
#include <stddef.h>

#include "common/array.h"
#include "common/minmax.h"

#define FIELD(member) offsetof(struct swift_params, member)

static const struct cfg_field fields[] = {
	CFG_FIELD("ai", CFG_FLOAT, FIELD(ai), .def = "1.0", .min = 1e-6, .max = 1000,
		  .doc = "additive increase, in packets a round trip"),
	CFG_FIELD("beta", CFG_FLOAT, FIELD(beta), .def = "0.8", .min = 1e-6, .max = 1, .doc = "multiplicative decrease"),
	CFG_FIELD("max_mdf", CFG_FLOAT, FIELD(max_mdf), .def = "0.5", .min = 1e-6, .max = 0.999999,
		  .doc = "share of the window that one decrease takes at most"),
	CFG_FIELD("base_target", CFG_TIME, FIELD(base_target_ps), .def = "0ps",
		  .doc = "target delay of a path without switches; 0ps: one and a half times the network's longest round "
			 "trip without queues"),
	CFG_FIELD("hop", CFG_TIME, FIELD(hop_ps), .def = "1us", .doc = "target delay added by each switch"),
	CFG_FIELD("fs_range", CFG_TIME, FIELD(fs_range_ps), .def = "100us",
		  .doc = "most that flow scaling adds to the target, at fs_min_cwnd and below; 0ps: no flow scaling"),
	CFG_FIELD("fs_min_cwnd", CFG_FLOAT, FIELD(fs_min_cwnd), .def = "0.1", .min = 1e-6, .max = 1e6,
		  .doc = "window in packets at which flow scaling adds fs_range"),
	CFG_FIELD("fs_max_cwnd", CFG_FLOAT, FIELD(fs_max_cwnd), .def = "100", .min = 1e-6, .max = 1e6,
		  .doc = "window in packets from which on it adds nothing"),
	CFG_FIELD("min_cwnd", CFG_FLOAT, FIELD(min_cwnd), .def = "0.001", .min = 1e-6, .max = 1,
		  .doc = "smallest window in packets"),
	CFG_FIELD("max_cwnd", CFG_FLOAT, FIELD(max_cwnd), .def = "0.0", .max = 1e6,
		  .doc = "largest window in packets; 0: what the line carries in base_target, or in the longest round trip "
			 "without queues"),
	CFG_FIELD("retx_reset", CFG_INT, FIELD(retx_reset), .def = "5", .min = 1, .max = 1000,
		  .doc = "timeouts in a row after which the window falls to min_cwnd"),
};

static const struct cfg_table table = {
	.path = "host.swift",
	.doc = "Swift (Kumar et al., SIGCOMM 2020), where host.cc is \"swift\".",
	.size = sizeof(struct swift_params),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};

static const struct swift_params *
own_of(const struct cc_params *params)
{
	return (const struct swift_params *)params->own;
}

static int
prepare(struct cc_params *params, struct err *err)
{
	struct swift_params *own = (struct swift_params *)params->own;

	if (own->fs_min_cwnd >= own->fs_max_cwnd)
		return cfg_fail(&own->where, "fs_min_cwnd", err, "%g lies not below fs_max_cwnd %g: give a smaller one",
				own->fs_min_cwnd, own->fs_max_cwnd);
	if (own->max_cwnd != 0 && own->max_cwnd < 1)
		return cfg_fail(&own->where, "max_cwnd", err, "%g is less than a packet: give 1 or more, or 0",
				own->max_cwnd);
	own->fs_alpha_ps = (double)own->fs_range_ps / (1 / sqrt(own->fs_min_cwnd) - 1 / sqrt(own->fs_max_cwnd));
	own->fs_beta_ps = -own->fs_alpha_ps / sqrt(own->fs_max_cwnd);
	return 0;
}

static uint64_t
base_target_ps(const struct cc_params *params)
{
	uint64_t given_ps = own_of(params)->base_target_ps;

	return given_ps != 0 ? given_ps : params->base_rtt_ps * 3 / 2;
}

static double
packets_in(const struct cc *cc, const struct cc_params *params, uint64_t time_ps)
{
	return (double)cc->line_bps * (double)time_ps / 8 / PS_PER_S / params->frame_bytes;
}

static double
clamp(double value, double low, double high)
{
	return value < low ? low : value > high ? high : value;
}

/* The window as bytes and rate: whole packets, and below one of them a packet every rtt / cwnd. */
static void
show(struct cc *cc, const struct cc_params *params)
{
	const struct swift *s = (const struct swift *)cc->state;
	uint64_t packets = s->cwnd < 1 ? 1 : (uint64_t)s->cwnd;
	double rate_bps;

	cc->window_bytes = packets * params->payload_bytes;
	cc->rate_bps = cc->line_bps;
	if (s->cwnd >= 1 || s->rtt_ps == 0)
		return;
	rate_bps = params->frame_bytes * 8.0 * PS_PER_S * s->cwnd / (double)s->rtt_ps;
	cc->rate_bps = (uint64_t)clamp(rate_bps, 1, (double)cc->line_bps);
}

static void
reset(struct cc *cc, const struct cc_params *params)
{
	const struct swift_params *own = own_of(params);
	struct swift *s = (struct swift *)cc->state;
	uint64_t most_ps = max_u64(base_target_ps(params), params->base_rtt_ps);

	s->max_cwnd = own->max_cwnd != 0 ? own->max_cwnd : clamp(packets_in(cc, params, most_ps), 1, 1e6);
	s->cwnd = clamp(packets_in(cc, params, params->base_rtt_ps), 1, s->max_cwnd);
	show(cc, params);
}

/* Section 3.5. */
static double
target_ps(const struct swift *s, const struct cc_params *params, uint32_t switches)
{
	const struct swift_params *own = own_of(params);
	double scaled_ps = own->fs_alpha_ps / sqrt(s->cwnd) + own->fs_beta_ps;

	return (double)base_target_ps(params) + switches * (double)own->hop_ps +
	       clamp(scaled_ps, 0, (double)own->fs_range_ps);
}

/*
 * Algorithm 1, lines 26 to 32. A window that merely stayed is no decrease: else ACKs within a round trip, which may not
 * decrease, would put the next decrease off for ever.
 */
static void
settle(struct cc *cc, const struct cc_params *params, double before, uint64_t now_ps)
{
	struct swift *s = (struct swift *)cc->state;

	s->cwnd = clamp(s->cwnd, own_of(params)->min_cwnd, s->max_cwnd);
	if (s->cwnd < before)
		s->decreased_ps = now_ps;
	show(cc, params);
}

/* Line 3: once a round trip. */
static bool
can_decrease(const struct swift *s, uint64_t now_ps)
{
	return now_ps - s->decreased_ps >= s->rtt_ps;
}

static void
acked(struct cc *cc, const struct cc_params *params, const struct cc_ack *ack)
{
	const struct swift_params *own = own_of(params);
	struct swift *s = (struct swift *)cc->state;
	double before = s->cwnd, delay_ps = (double)ack->rtt_ps, wanted_ps;

	s->retransmits = 0;
	if (ack->rtt_ps == 0)
		return;
	s->rtt_ps = ack->rtt_ps;
	wanted_ps = target_ps(s, params, ack->switches);
	if (delay_ps < wanted_ps)
		s->cwnd += own->ai * ack->acked / (s->cwnd >= 1 ? s->cwnd : 1);
	else if (can_decrease(s, ack->now_ps))
		s->cwnd *= fmax(1 - own->beta * (delay_ps - wanted_ps) / delay_ps, 1 - own->max_mdf);
	settle(cc, params, before, ack->now_ps);
}

/* Lines 15 to 25: a timeout, and fast recovery. */
static void
lost(struct cc *cc, const struct cc_params *params, enum cc_loss loss, uint64_t now_ps)
{
	const struct swift_params *own = own_of(params);
	struct swift *s = (struct swift *)cc->state;
	double before = s->cwnd;

	s->retransmits = loss == CC_LOSS_TIMEOUT ? s->retransmits + 1 : 0;
	if (s->retransmits >= (uint64_t)own->retx_reset)
		s->cwnd = own->min_cwnd;
	else if (can_decrease(s, now_ps))
		s->cwnd *= 1 - own->max_mdf;
	settle(cc, params, before, now_ps);
}

const struct cc_ops cc_swift = {
	.name = "swift",
	.table = &table,
	.prepare = prepare,
	.reset = reset,
	.acked = acked,
	.lost = lost,
};
