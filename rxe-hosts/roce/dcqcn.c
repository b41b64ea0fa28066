/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/roce/dcqcn.h"

#include <errno.h>

#include "common/array.h"
#include "common/minmax.h"

#define FIELD(member) offsetof(struct dcqcn_cfg, member)

static const struct cfg_choice echoes[] = {
	{ .name = "ack", .value = DCQCN_ECHO_ACK },
	{ .name = "cnp", .value = DCQCN_ECHO_CNP },
	{ 0 },
};

static const struct cfg_field fields[] = {
	{ "enabled", CFG_BOOL, FIELD(enabled), "true", 0, 0, NULL, "react to congestion notifications" },
	{ "g", CFG_FLOAT, FIELD(g), "0.00390625", 1e-6, 1, NULL, "gain of alpha's moving average" },
	{ "alpha_interval", CFG_TIME, FIELD(alpha_interval_ps), "1us", 0, 0, NULL, "period of alpha's updates" },
	{ "decrease_interval", CFG_TIME, FIELD(decrease_interval_ps), "4us", 0, 0, NULL,
	  "period of rate decreases while notifications come" },
	{ "increase_timer", CFG_TIME, FIELD(increase_timer_ps), "900us", 0, 0, NULL,
	  "period of rate increases since the last decrease" },
	{ "ai", CFG_RATE, FIELD(ai_bps), "50Mbps", 0, 0, NULL, "additive increase of the target rate" },
	{ "hai", CFG_RATE, FIELD(hai_bps), "100Mbps", 0, 0, NULL, "hyper increase of the target rate" },
	{ "min_rate", CFG_RATE, FIELD(min_rate_bps), "100Mbps", 0, 0, NULL, "a QP's rate never falls below" },
	{ "fast_recovery", CFG_INT, FIELD(fast_recovery), "1", 0, 1000, NULL,
	  "increases that only move towards the target before the target itself rises" },
	{ "clamp_target", CFG_BOOL, FIELD(clamp_target), "false", 0, 0, NULL,
	  "every decrease sets the target to the rate, not only the first after an increase" },
	{ "echo", CFG_ENUM, FIELD(echo), "ack", 0, 0, echoes,
	  "how a receiver tells of marked packets: in their ACKs, or by CNPs" },
	{ "cnp_interval", CFG_TIME, FIELD(cnp_interval_ps), "50us", 0, 0, NULL, "least time between two CNPs of one flow" },
};

const struct cfg_table dcqcn_table = {
	.path = "host.dcqcn",
	.doc = "DCQCN rate control at the senders.",
	.size = sizeof(struct dcqcn_cfg),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};

static void update_alpha(struct dcqcn *cc, const struct dcqcn_params *params, uint64_t now_ps);
static void increase(struct dcqcn *cc, const struct dcqcn_params *params);
static void decrease(struct dcqcn *cc, const struct dcqcn_params *params);

int
dcqcn_params_init(struct dcqcn_params *params, const struct dcqcn_cfg *cfg, struct err *err)
{
	if (cfg->alpha_interval_ps == 0 || cfg->decrease_interval_ps == 0 || cfg->increase_timer_ps == 0)
		return err_set(err, -EINVAL, "%s:%d: host.dcqcn: every interval must be longer than 0", cfg->where.file,
			       cfg->where.line);
	if (cfg->min_rate_bps == 0)
		return err_set(err, -EINVAL, "%s:%d: host.dcqcn.min_rate must be above 0", cfg->where.file,
			       cfg->where.line);
	*params = (struct dcqcn_params){
		.enabled = cfg->enabled,
		.clamp_target = cfg->clamp_target,
		.echo_cnp = cfg->echo == DCQCN_ECHO_CNP,
		.fast_recovery = (uint32_t)cfg->fast_recovery,
		.g = cfg->g,
		.alpha_ps = cfg->alpha_interval_ps,
		.decrease_ps = cfg->decrease_interval_ps,
		.increase_ps = cfg->increase_timer_ps,
		.ai_bps = cfg->ai_bps,
		.hai_bps = cfg->hai_bps,
		.min_bps = cfg->min_rate_bps,
		.cnp_interval_ps = cfg->cnp_interval_ps,
	};
	params->decay[0] = 1 - cfg->g;
	for (int i = 1; i < DCQCN_DECAY_POWERS; i++)
		params->decay[i] = params->decay[i - 1] * params->decay[i - 1];
	return 0;
}

void
dcqcn_init(struct dcqcn *cc, uint64_t line_bps)
{
	*cc = (struct dcqcn){
		.due_ps = TIME_NEVER,
		.rate_bps = line_bps,
		.target_bps = line_bps,
		.line_bps = line_bps,
		.decrease_at_ps = TIME_NEVER,
		.increase_at_ps = TIME_NEVER,
	};
}

void
dcqcn_advance(struct dcqcn *cc, const struct dcqcn_params *params, uint64_t now_ps)
{
	/* Ends: a decrease clears itself; increases stop at their fixed point, (line - min) / hai steps at the most. */
	while (cc->due_ps <= now_ps) {
		if (cc->increase_at_ps <= cc->decrease_at_ps)
			increase(cc, params);
		else
			decrease(cc, params);
		cc->due_ps = min_u64(cc->increase_at_ps, cc->decrease_at_ps);
	}
}

void
dcqcn_notify(struct dcqcn *cc, const struct dcqcn_params *params, uint64_t now_ps)
{
	if (!params->enabled)
		return;
	dcqcn_advance(cc, params, now_ps);
	if (!cc->started) {
		cc->started = true;
		cc->start_ps = now_ps;
		cc->alpha = 1;
		cc->alpha_next_ps = now_ps + params->alpha_ps;
		cc->decrease_at_ps = now_ps + params->decrease_ps;
		cc->target_bps = cc->rate_bps;
	} else {
		update_alpha(cc, params, now_ps);
		cc->alpha_notified = true;
		if (cc->decrease_at_ps == TIME_NEVER)
			cc->decrease_at_ps =
				cc->start_ps + ((now_ps - cc->start_ps) / params->decrease_ps + 1) * params->decrease_ps;
	}
	cc->due_ps = min_u64(cc->increase_at_ps, cc->decrease_at_ps);
}

/* All updates due up to now_ps. Only the first of them can have seen a notification. */
static void
update_alpha(struct dcqcn *cc, const struct dcqcn_params *params, uint64_t now_ps)
{
	if (now_ps < cc->alpha_next_ps)
		return;
	uint64_t quiet = (now_ps - cc->alpha_next_ps) / params->alpha_ps;

	cc->alpha_next_ps += (quiet + 1) * params->alpha_ps;
	cc->alpha = params->decay[0] * cc->alpha + (cc->alpha_notified ? params->g : 0);
	cc->alpha_notified = false;
	if (quiet >> DCQCN_DECAY_POWERS != 0)
		cc->alpha = 0;
	for (int i = 0; i < DCQCN_DECAY_POWERS; i++)
		if (quiet >> i & 1)
			cc->alpha *= params->decay[i];
}

static void
increase(struct dcqcn *cc, const struct dcqcn_params *params)
{
	if (cc->stage >= params->fast_recovery)
		cc->target_bps += cc->stage == params->fast_recovery ? params->ai_bps : params->hai_bps;
	cc->target_bps = min_u64(cc->target_bps, cc->line_bps);
	uint64_t rate_bps = cc->rate_bps / 2 + cc->target_bps / 2;

	/* Past the fixed point every further increase is the same one. */
	bool settled = rate_bps == cc->rate_bps && cc->stage > params->fast_recovery &&
		       (cc->target_bps == cc->line_bps || params->hai_bps == 0);

	cc->rate_bps = rate_bps;
	cc->increase_at_ps = settled ? TIME_NEVER : cc->increase_at_ps + params->increase_ps;
	cc->stage++;
}

static void
decrease(struct dcqcn *cc, const struct dcqcn_params *params)
{
	uint64_t now_ps = cc->decrease_at_ps;

	update_alpha(cc, params, now_ps);
	if (params->clamp_target || cc->stage != 0)
		cc->target_bps = cc->rate_bps;
	cc->rate_bps = (uint64_t)((double)cc->rate_bps * (1 - cc->alpha / 2));
	if (cc->rate_bps < params->min_bps)
		cc->rate_bps = min_u64(params->min_bps, cc->line_bps);
	cc->stage = 0;
	cc->decrease_at_ps = TIME_NEVER;
	cc->increase_at_ps = now_ps + params->increase_ps;
}
