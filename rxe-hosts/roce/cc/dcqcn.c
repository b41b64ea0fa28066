/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DCQCN's reaction point (Zhu et al., SIGCOMM 2015, section 3.1). Without a byte counter it has the timer-only form of the
 * ns-3 model of HPCC and Vedrfolnir. Alpha, decrease and increase each follow a period that starts with the first
 * notification. No timer runs:
 * each read advances the state, and the result does not depend on the number of reads. Events due at one instant happen
 * in the order alpha, increase, decrease; a notification at that instant belongs to the following periods.
 */
#include "rxe-hosts/roce/cc/algorithms.h"

#include <errno.h>
#include <stddef.h>

#include "common/array.h"
#include "common/minmax.h"

#define FIELD(member) offsetof(struct dcqcn_params, member)

static const struct cfg_choice echoes[] = {
	{ .name = "ack", .value = CC_ECHO_ACK },
	{ .name = "cnp", .value = CC_ECHO_CNP },
	{ 0 },
};

static const struct cfg_choice scopes[] = {
	{ .name = "qp", .value = CNP_OF_QP, .doc = "of one flow (Zhu et al., 3.1)" },
	{ .name = "port", .value = CNP_OF_PORT, .doc = "of all flows that a NIC receives" },
	{ 0 },
};

static const struct cfg_field fields[] = {
	CFG_FIELD("g", CFG_FLOAT, FIELD(g), .def = "0.00390625", .min = 1e-6, .max = 1,
		  .doc = "gain of alpha's moving average"),
	CFG_FIELD("alpha_interval", CFG_TIME, FIELD(alpha_interval_ps), .def = "1us", .doc = "period of alpha's updates"),
	CFG_FIELD("decrease_interval", CFG_TIME, FIELD(decrease_interval_ps), .def = "4us",
		  .doc = "period of rate decreases while notifications arrive"),
	CFG_FIELD("increase_timer", CFG_TIME, FIELD(increase_timer_ps), .def = "900us",
		  .doc = "period of rate increases since the last decrease"),
	CFG_FIELD(
		"byte_reset", CFG_BYTES, FIELD(byte_reset_bytes), .def = "0", .max = 1e12,
		.doc = "payload sent after which the byte counter increases the rate beside the timer; 0: none, and stages "
		       "follow the timer alone"),
	CFG_FIELD("ai", CFG_RATE, FIELD(ai_bps), .def = "50Mbps", .doc = "additive increase of the target rate"),
	CFG_FIELD("hai", CFG_RATE, FIELD(hai_bps), .def = "100Mbps", .doc = "hyper increase of the target rate"),
	CFG_FIELD("min_rate", CFG_RATE, FIELD(min_rate_bps), .def = "100Mbps", .doc = "lower bound of a QP's rate"),
	CFG_FIELD("fast_recovery", CFG_INT, FIELD(fast_recovery), .def = "1", .max = 1000,
		  .doc = "increases that only move towards the target before the target itself rises"),
	CFG_FIELD("clamp_target", CFG_BOOL, FIELD(clamp_target), .def = "false",
		  .doc = "set the target to the rate on every decrease, not only on the first after an increase"),
	CFG_FIELD("echo", CFG_ENUM, FIELD(echo), .def = "ack", .choices = echoes,
		  .doc = "how a receiver reports marked packets: in their ACKs, or by CNPs"),
	CFG_FIELD("cnp_interval", CFG_TIME, FIELD(cnp_interval_ps), .def = "50us",
		  .doc = "minimum time between two CNPs of cnp_scope"),
	CFG_FIELD("cnp_scope", CFG_ENUM, FIELD(cnp_scope), .def = "qp", .choices = scopes,
		  .doc = "whose CNPs cnp_interval separates"),
	CFG_FIELD(
		"cnp_prio", CFG_INT, FIELD(cnp_prio), .def = "0", .max = 7,
		.doc = "802.1p class of CNPs, which carries no data and has no PFC; switch.strict makes switches serve it "
		       "before data. 0: class 0, as ACKs"),
};

static const struct cfg_gone gone[] = {
	{ "enabled", "host.cc = \"none\" in place of false; true is what host.cc = \"dcqcn\" means" },
	{ 0 },
};

static const struct cfg_table table = {
	.path = "host.dcqcn",
	.doc = "DCQCN (Zhu et al., SIGCOMM 2015), where host.cc is \"dcqcn\".",
	.size = sizeof(struct dcqcn_params),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
	.gone = gone,
};

static void update_alpha(struct dcqcn *s, const struct dcqcn_params *own, uint64_t now_ps);
static void increase(struct cc *cc, struct dcqcn *s, const struct dcqcn_params *own);
static bool raise_rate(struct cc *cc, struct dcqcn *s, const struct dcqcn_params *own);
static void decrease(struct cc *cc, struct dcqcn *s, const struct dcqcn_params *own);

static const struct dcqcn_params *
own_of(const struct cc_params *params)
{
	return (const struct dcqcn_params *)params->own;
}

static const struct cc_ops counting;

static int
prepare(struct cc_params *params, struct err *err)
{
	struct dcqcn_params *own = (struct dcqcn_params *)params->own;

	if (own->alpha_interval_ps == 0 || own->decrease_interval_ps == 0 || own->increase_timer_ps == 0)
		return cfg_fail(&own->where,
				own->alpha_interval_ps == 0      ? "alpha_interval"
				: own->decrease_interval_ps == 0 ? "decrease_interval"
								 : "increase_timer",
				err, "every interval must be longer than 0");
	if (own->min_rate_bps == 0)
		return cfg_fail(&own->where, "min_rate", err, "must be above 0");
	if (own->cnp_scope == CNP_OF_PORT && own->echo != CC_ECHO_CNP)
		return cfg_fail(&own->where, "cnp_scope", err, "\"port\" needs echo = \"cnp\"");
	params->echo = (enum cc_echo)own->echo;
	params->cnp_interval_ps = own->cnp_interval_ps;
	params->cnp_of_port = own->cnp_scope == CNP_OF_PORT;
	params->cnp_prio = own->echo == CC_ECHO_CNP ? (uint8_t)own->cnp_prio : 0;
	if (own->byte_reset_bytes != 0)
		params->ops = &counting;
	own->decay[0] = 1 - own->g;
	for (int i = 1; i < DCQCN_DECAY_POWERS; i++)
		own->decay[i] = own->decay[i - 1] * own->decay[i - 1];
	return 0;
}

static void
reset(struct cc *cc, const struct cc_params *params)
{
	struct dcqcn *s = (struct dcqcn *)cc->state;

	s->target_bps = cc->line_bps;
	s->decrease_at_ps = s->increase_at_ps = TIME_NEVER;
}

static void
advance(struct cc *cc, const struct cc_params *params, uint64_t now_ps)
{
	struct dcqcn *s = (struct dcqcn *)cc->state;

	/* Ends: a decrease clears itself; increases stop at their fixed point, (line - min) / hai steps at the most. */
	while (cc->due_ps <= now_ps) {
		if (s->increase_at_ps <= s->decrease_at_ps)
			increase(cc, s, own_of(params));
		else
			decrease(cc, s, own_of(params));
		cc->due_ps = min_u64(s->increase_at_ps, s->decrease_at_ps);
	}
}

static void
marked(struct cc *cc, const struct cc_params *params, uint64_t now_ps)
{
	const struct dcqcn_params *own = own_of(params);
	struct dcqcn *s = (struct dcqcn *)cc->state;

	advance(cc, params, now_ps);
	if (!s->started) {
		s->started = true;
		s->start_ps = now_ps;
		s->alpha = 1;
		s->alpha_next_ps = now_ps + own->alpha_interval_ps;
		s->decrease_at_ps = now_ps + own->decrease_interval_ps;
		s->target_bps = cc->rate_bps;
	} else {
		update_alpha(s, own, now_ps);
		s->alpha_notified = true;
		if (s->decrease_at_ps == TIME_NEVER)
			s->decrease_at_ps = s->start_ps + ((now_ps - s->start_ps) / own->decrease_interval_ps + 1) *
								  own->decrease_interval_ps;
	}
	cc->due_ps = min_u64(s->increase_at_ps, s->decrease_at_ps);
}

/* Eq. 1 and 2: all updates due up to now_ps. Only the first of them can have seen a notification. */
static void
update_alpha(struct dcqcn *s, const struct dcqcn_params *own, uint64_t now_ps)
{
	if (now_ps < s->alpha_next_ps)
		return;
	uint64_t quiet = (now_ps - s->alpha_next_ps) / own->alpha_interval_ps;

	s->alpha_next_ps += (quiet + 1) * own->alpha_interval_ps;
	s->alpha = own->decay[0] * s->alpha + (s->alpha_notified ? own->g : 0);
	s->alpha_notified = false;
	if (quiet >> DCQCN_DECAY_POWERS != 0)
		s->alpha = 0;
	for (int i = 0; i < DCQCN_DECAY_POWERS; i++)
		if (quiet >> i & 1)
			s->alpha *= own->decay[i];
}

/* Increases the rate by the timer. */
static void
increase(struct cc *cc, struct dcqcn *s, const struct dcqcn_params *own)
{
	s->increase_at_ps = raise_rate(cc, s, own) ? s->increase_at_ps + own->increase_timer_ps : TIME_NEVER;
	s->stage++;
}

/*
 * @return the increase of the target rate. Fast recovery lasts while neither the timer nor the byte counter has made
 *         fast_recovery increases, additive increase until both have made more than that, then hyper increase follows
 *         (section 3.1, figure 7). The timer-only form has one additive increase.
 */
static uint64_t
step_of(const struct dcqcn *s, const struct dcqcn_params *own)
{
	uint32_t fast_recovery = (uint32_t)own->fast_recovery;

	if (own->byte_reset_bytes != 0) {
		if (s->stage < fast_recovery && s->byte_stage < fast_recovery)
			return 0;
		return s->stage > fast_recovery && s->byte_stage > fast_recovery ? own->hai_bps : own->ai_bps;
	}
	if (s->stage < fast_recovery)
		return 0;
	return s->stage == fast_recovery ? own->ai_bps : own->hai_bps;
}

/* Eq. 3 (fast recovery) and 4 (additive increase), and hyper increase. @return whether further increases change a rate */
static bool
raise_rate(struct cc *cc, struct dcqcn *s, const struct dcqcn_params *own)
{
	uint64_t step_bps = step_of(s, own);

	s->target_bps = min_u64(s->target_bps + step_bps, cc->line_bps);
	uint64_t rate_bps = cc->rate_bps / 2 + s->target_bps / 2;

	/* Past the fixed point every further increase is the same one. */
	bool settled = rate_bps == cc->rate_bps && (s->target_bps == cc->line_bps || own->hai_bps == 0) &&
		       s->stage > (uint32_t)own->fast_recovery;

	if (own->byte_reset_bytes != 0)
		settled = rate_bps == cc->rate_bps && (s->target_bps == cc->line_bps || own->hai_bps + own->ai_bps == 0);

	cc->rate_bps = rate_bps;
	return !settled;
}

/* The byte counter. A sender that is paused or waits for its window counts nothing. */
static void
sent(struct cc *cc, const struct cc_params *params, uint32_t bytes)
{
	const struct dcqcn_params *own = own_of(params);
	struct dcqcn *s = (struct dcqcn *)cc->state;

	if (s->increase_at_ps == TIME_NEVER)
		return; /* at line rate, or before the first decrease */
	s->bytes += bytes;
	for (; s->bytes >= own->byte_reset_bytes && s->increase_at_ps != TIME_NEVER; s->bytes -= own->byte_reset_bytes) {
		if (!raise_rate(cc, s, own))
			s->increase_at_ps = TIME_NEVER;
		s->byte_stage++;
	}
	cc->due_ps = min_u64(s->increase_at_ps, s->decrease_at_ps);
}

/* Eq. 1. */
static void
decrease(struct cc *cc, struct dcqcn *s, const struct dcqcn_params *own)
{
	uint64_t now_ps = s->decrease_at_ps;

	update_alpha(s, own, now_ps);
	/* Unless nothing raised the rate since the last decrease (IEEE 802.1Qau 32.15: rpByteStage). */
	if (own->clamp_target || s->stage != 0 || s->byte_stage != 0)
		s->target_bps = cc->rate_bps;
	cc->rate_bps = (uint64_t)((double)cc->rate_bps * (1 - s->alpha / 2));
	if (cc->rate_bps < own->min_rate_bps)
		cc->rate_bps = min_u64(own->min_rate_bps, cc->line_bps);
	s->stage = s->byte_stage = 0;
	s->bytes = 0;
	s->decrease_at_ps = TIME_NEVER;
	s->increase_at_ps = now_ps + own->increase_timer_ps;
}

const struct cc_ops cc_dcqcn = {
	.name = "dcqcn",
	.table = &table,
	.prepare = prepare,
	.reset = reset,
	.advance = advance,
	.marked = marked,
};

/* The variant with a byte counter: QPs without it do not pay for it. */
static const struct cc_ops counting = {
	.name = "dcqcn",
	.table = &table,
	.prepare = prepare,
	.reset = reset,
	.advance = advance,
	.marked = marked,
	.sent = sent,
};
