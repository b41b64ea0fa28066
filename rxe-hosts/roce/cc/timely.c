/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TIMELY (Mittal et al., SIGCOMM 2015): the gradient of the round-trip time steers the rate. A completion event is the ACK
 * that brings a segment's worth of bytes to the sender; its RTT is that of the packet which the ACK is for.
 */
#include "rxe-hosts/roce/cc/algorithms.h"

#include <math.h>
#include <stddef.h>

#include "common/array.h"

#define HAI_TIMES 5 /* N of the fast increase, section 4.3 */

#define FIELD(member) offsetof(struct timely_params, member)

static const struct cfg_field fields[] = {
	CFG_FIELD("alpha", CFG_FLOAT, FIELD(alpha), .def = "0.02", .min = 1e-6, .max = 1,
		  .doc = "weight of the newest RTT difference in their average"),
	CFG_FIELD("beta", CFG_FLOAT, FIELD(beta), .def = "0.8", .min = 1e-6, .max = 1, .doc = "multiplicative decrease"),
	CFG_FIELD("max_decrease", CFG_FLOAT, FIELD(max_decrease), .def = "0.5", .min = 1e-6, .max = 1,
		  .doc = "share of the rate that one decrease takes at most"),
	CFG_FIELD("delta", CFG_RATE, FIELD(delta_bps), .def = "0bps", .max = 1e13,
		  .doc = "additive increase of the rate; 0bps: a thousandth of the line's, 10 Mbps at 10 Gbps"),
	CFG_FIELD("t_low", CFG_TIME, FIELD(t_low_ps), .def = "50us",
		  .doc = "below this RTT the rate increases, whatever the gradient"),
	CFG_FIELD("t_high", CFG_TIME, FIELD(t_high_ps), .def = "500us",
		  .doc = "above this RTT the rate decreases, whatever the gradient"),
	CFG_FIELD("min_rtt", CFG_TIME, FIELD(min_rtt_ps), .def = "0ps",
		  .doc = "normalizes the gradient; 0ps: the longest round trip of the network without queues"),
	CFG_FIELD("hai", CFG_INT, FIELD(hai), .def = "5", .min = 1, .max = 1000000,
		  .doc = "completion events in a row without rising delay, from which on the increase is fivefold"),
	CFG_FIELD("segment", CFG_BYTES, FIELD(segment_bytes), .def = "16KB", .min = 1, .max = 1e9,
		  .doc = "payload of one completion event"),
	CFG_FIELD("min_rate", CFG_RATE, FIELD(min_rate_bps), .def = "100Mbps", .min = 1, .max = 1e13,
		  .doc = "lower bound of a QP's rate"),
};

static const struct cfg_table table = {
	.path = "host.timely",
	.doc = "TIMELY (Mittal et al., SIGCOMM 2015), where host.cc is \"timely\".",
	.size = sizeof(struct timely_params),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};

static int
prepare(struct cc_params *params, struct err *err)
{
	struct timely_params *own = (struct timely_params *)params->own;

	if (own->t_low_ps >= own->t_high_ps)
		return cfg_fail(&own->where, "t_low", err, "lies not below t_high: give a shorter one");
	return 0;
}

static void
reset(struct cc *cc, const struct cc_params *params)
{
	((struct timely *)cc->state)->rate_bps = (double)cc->line_bps;
}

/* Algorithm 1, from the gradient on. @return the rate that follows from a completion event, without limits */
static double
next_rate(struct timely *s, const struct timely_params *own, double delta_bps, double gradient, uint64_t rtt_ps)
{
	s->not_rising = gradient <= 0 ? s->not_rising + 1 : 0;
	if (rtt_ps < own->t_low_ps)
		return s->rate_bps + delta_bps;
	if (rtt_ps > own->t_high_ps)
		return s->rate_bps * (1 - own->beta * (1 - (double)own->t_high_ps / (double)rtt_ps));
	if (gradient <= 0)
		return s->rate_bps + (s->not_rising >= (uint64_t)own->hai ? HAI_TIMES : 1) * delta_bps;
	return s->rate_bps * (1 - own->beta * gradient);
}

static void
acked(struct cc *cc, const struct cc_params *params, const struct cc_ack *ack)
{
	const struct timely_params *own = (const struct timely_params *)params->own;
	struct timely *s = (struct timely *)cc->state;
	double min_rtt_ps = (double)(own->min_rtt_ps != 0 ? own->min_rtt_ps : params->base_rtt_ps), diff_ps, rate_bps;
	double line_bps = (double)cc->line_bps;
	double delta_bps = own->delta_bps != 0 ? (double)own->delta_bps : line_bps / 1000;

	s->segment_bytes += (uint64_t)ack->acked * params->payload_bytes;
	if (s->segment_bytes < own->segment_bytes || ack->rtt_ps == 0)
		return;
	s->segment_bytes = 0;
	if (s->prev_rtt_ps == 0)
		s->prev_rtt_ps = ack->rtt_ps;
	diff_ps = (double)ack->rtt_ps - (double)s->prev_rtt_ps;
	s->prev_rtt_ps = ack->rtt_ps;
	s->rtt_diff_ps = (1 - own->alpha) * s->rtt_diff_ps + own->alpha * diff_ps;
	rate_bps = next_rate(s, own, delta_bps, s->rtt_diff_ps / min_rtt_ps, ack->rtt_ps);
	rate_bps = fmax(rate_bps, s->rate_bps * (1 - own->max_decrease));
	s->rate_bps = fmin(fmax(rate_bps, (double)own->min_rate_bps), line_bps);
	cc->rate_bps = (uint64_t)s->rate_bps;
}

const struct cc_ops cc_timely = {
	.name = "timely",
	.table = &table,
	.prepare = prepare,
	.reset = reset,
	.acked = acked,
};
