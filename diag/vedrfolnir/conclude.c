/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/conclude.h"

#include <math.h>

#include "diag/vedrfolnir/section.h"

/* A link's time was taken, and nobody knows by whom. */
static bool
is_unnamed(const struct finding *finding)
{
	return (finding->type->traits & FINDING_OF_LINK) != 0 && finding->nflows == 0;
}

/* Is there a finding about the network, or about a host? */
static bool
has_finding(const struct section *section, bool host)
{
	for (uint32_t i = 0; i < section->nfindings; i++) {
		if (((section->findings[i].type->traits & FINDING_OF_HOST) != 0) == host &&
		    !is_unnamed(&section->findings[i]))
			return true;
	}
	return false;
}

static bool
has_unnamed(const struct section *section)
{
	for (uint32_t i = 0; i < section->nfindings; i++) {
		if (is_unnamed(&section->findings[i]))
			return true;
	}
	return false;
}

/* Telemetry that shows no reason speaks for the network only where it shows the time. */
static bool
was_watched(const struct run *run, const struct vedrfolnir *own, uint32_t i)
{
	const struct run_step *step = &run->steps[i];
	uint32_t graph = own->steps[i].graph;

	return graph != RUN_NONE &&
	       own->graphs[graph].covered_ps >= VEDRFOLNIR_WATCHED_SHARE * (double)(step->end_ps - step->start_ps);
}

/*
 * ACKs are in no telemetry, and those of other jobs in nobody's expectation. A link full of data has a stream of ACKs
 * against it; so many of them may share a step's way.
 */
#define ACK_STREAMS 2

static double
ack_share(const struct run *run)
{
	return run->config.frame_bytes != 0 ? ACK_STREAMS * (double)run->config.ack_bytes / run->config.frame_bytes : 0;
}

/* Too slow for others' ACKs to be all of the reason? */
static bool
needs_reason(const struct run *run, const struct run_step *step)
{
	return step->open || (double)(step->end_ps - step->start_ps) > (1 + ack_share(run)) * (double)step->expect_ps;
}

/*
 * So much a collective's path may lose without a slow step, nor a host that is late: each a little less than makes it so.
 */
static double
tolerance_ps(const struct run *run, const struct vedrfolnir *own, const struct run_collective *collective)
{
	double tolerance_ps = 0, base_rtt_ps = 0;

	for (uint32_t i = collective->first_step; i < collective->first_step + collective->nsteps; i++) {
		const struct run_step *step = &run->steps[i];

		if (own->steps[i].critical)
			tolerance_ps +=
				(double)step->expect_ps * RUN_SLOW_PERCENT / 100 + 2 * (double)run->config.jitter_ps;
		base_rtt_ps = fmax(base_rtt_ps, (double)step->base_rtt_ps);
	}
	return tolerance_ps + base_rtt_ps;
}

/* What all collectives lost, and what of it nobody explains. @return whether that is more than may be */
static bool
sum_up(const struct run *run, const struct vedrfolnir *own, struct claim *claim)
{
	bool too_much = false;

	for (uint32_t i = 0; i < run->ncollectives; i++) {
		double unexplained_ps = time_budget_unexplained_ps(&own->budgets[i]);

		claim->lost_ps += own->budgets[i].lost_ps;
		claim->unexplained_ps += unexplained_ps;
		too_much |= unexplained_ps > tolerance_ps(run, own, &run->collectives[i]);
	}
	return too_much;
}

struct claim
conclude(const struct run *run, const struct section *section)
{
	bool network = has_finding(section, false), complete = run_complete(run) && section->skipped == 0, too_much;
	struct claim claim = { .ack_share = ack_share(run) };
	uint32_t done = 0, unexplained = 0;

	for (uint32_t i = 0; i < run->nsteps; i++) {
		const struct run_step *step = &run->steps[i];

		claim.slow += step->slow;
		done += step->reported && !step->open;
		if (!step->slow || !needs_reason(run, step))
			continue;
		unexplained++;
		claim.unwatched += !was_watched(run, section->own, i);
	}
	too_much = sum_up(run, section->own, &claim);
	claim.innocent = !network && claim.slow == 0 && done != 0 && complete && run_finished(run) && !too_much;
	if (network)
		claim.kind = CLAIM_FAULT;
	else if (done == 0)
		claim.kind = CLAIM_NOTHING_DONE;
	else if (claim.slow == 0 && too_much)
		claim.kind = CLAIM_IN_SUM;
	else if (claim.slow == 0)
		claim.kind = has_finding(section, true) ? CLAIM_HOSTS_LATE : CLAIM_IN_TIME;
	else if (has_unnamed(section))
		claim.kind = CLAIM_UNNAMED;
	else if (!complete)
		claim.kind = CLAIM_INCOMPLETE;
	else if (claim.unwatched != 0)
		claim.kind = CLAIM_UNWATCHED;
	else
		claim.kind = unexplained == 0 ? CLAIM_ACKS : CLAIM_NO_SIGN;
	return claim;
}
