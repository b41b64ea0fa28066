/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/conclude.h"

#include <math.h>

#include "common/minmax.h"
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

/* So much a collective's path may lose without a slow step: each a little less than makes it so. */
static double
tolerance_ps(const struct run *run, const struct vedrfolnir *own, const struct run_collective *collective)
{
	double tolerance_ps = 0;

	for (uint32_t i = collective->first_step; i < collective->first_step + collective->nsteps; i++) {
		if (own->steps[i].critical)
			tolerance_ps += (double)run->steps[i].expect_ps * RUN_SLOW_PERCENT / 100 +
					2 * (double)run->config.jitter_ps;
	}
	return tolerance_ps;
}

static double
base_rtt_ps(const struct run *run)
{
	uint64_t rtt_ps = 0;

	for (uint32_t i = 0; i < run->nsteps; i++)
		rtt_ps = max_u64(rtt_ps, run->steps[i].base_rtt_ps);
	return (double)rtt_ps;
}

/*
 * What all collectives lost, and what of it nobody explains. A job may lose what its steps may in each iteration, and once a
 * base RTT: what is less is without effect.
 * @return whether any job has more
 */
static bool
sum_up(const struct run *run, const struct vedrfolnir *own, struct claim *claim, double rtt_ps)
{
	double unexplained_ps = 0, most_ps = rtt_ps;
	bool too_much = false;

	for (uint32_t i = 0; i < run->ncollectives; i++) {
		claim->lost_ps += own->budgets[i].lost_ps;
		unexplained_ps += time_budget_unexplained_ps(&own->budgets[i]);
		most_ps += tolerance_ps(run, own, &run->collectives[i]);
		if (i + 1 < run->ncollectives && run_job_of(run, i) == run_job_of(run, i + 1))
			continue;
		claim->unexplained_ps += unexplained_ps;
		too_much |= unexplained_ps > most_ps;
		unexplained_ps = 0;
		most_ps = rtt_ps;
	}
	return too_much;
}

/* Of the steps of a collective, or of all. */
static double
reported_share(const struct run *run, uint32_t first, uint32_t count)
{
	uint32_t reported = 0;

	for (uint32_t i = first; i < first + count; i++)
		reported += run->steps[i].reported;
	return count != 0 ? (double)reported / count : 1;
}

/* Is it about hosts that were late by little alone, which sums up to nothing? */
static bool
is_nothing(const struct run *run, const struct finding *finding)
{
	bool little = finding->costless && (finding->type->traits & FINDING_OF_HOST) != 0;

	for (uint32_t i = 0; i < finding->nsteps && little; i++)
		little = run->steps[finding->steps[i]].late_little && run->steps[finding->steps[i]].long_ps == 0;
	return little;
}

void
conclude_findings(const struct run *run, struct section *section)
{
	struct vedrfolnir *own = section->own;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < section->nfindings; i++) {
		struct finding *finding = &section->findings[i];

		if (!is_nothing(run, finding)) {
			section->findings[kept++] = *finding;
			continue;
		}
		own->budgets[finding->collective].little_ps += finding->critical_ps;
		finding_fini(finding);
	}
	section->nfindings = kept;
	for (uint32_t i = 0; i < section->nfindings; i++) {
		const struct run_collective *c = &run->collectives[section->findings[i].collective];
		double share = reported_share(run, c->first_step, c->nsteps);

		section->findings[i].confidence *= share;
		section->findings[i].borne_out *= share;
	}
}

/*
 * Does a finding say more likely than not that the network is at fault? Where some have an effect, one of these; where none
 * has, they do not if time is left that they do not explain.
 * @param sure  set: how far that finding is borne out which is best
 */
static enum claim_kind
blame(const struct section *section, bool left, double *sure)
{
	bool effect = false;
	double most[2] = { 0, 0 };

	for (uint32_t i = 0; i < section->nfindings; i++) {
		const struct finding *finding = &section->findings[i];

		if ((finding->type->traits & FINDING_OF_HOST) != 0)
			continue;
		effect |= !finding->costless;
		most[!finding->costless] = fmax(most[!finding->costless], finding->borne_out);
	}
	*sure = most[effect];
	if (!effect && left)
		return CLAIM_NO_EFFECT;
	return most[effect] > CONCLUDE_LIKELY ? CLAIM_FAULT : CLAIM_UNCERTAIN;
}

struct claim
conclude(const struct run *run, const struct section *section)
{
	bool network = has_finding(section, false), complete = run_complete(run) && section->skipped == 0, too_much;
	double rtt_ps = base_rtt_ps(run);
	struct claim claim = { .ack_share = ack_share(run) };
	uint32_t done = 0, unexplained = 0;
	double sure = 0;

	for (uint32_t i = 0; i < run->nsteps; i++) {
		const struct run_step *step = &run->steps[i];

		claim.slow += step->slow;
		done += step->reported && !step->open;
		if (!step->slow || !needs_reason(run, step))
			continue;
		unexplained++;
		claim.unwatched += !was_watched(run, section->own, i);
	}
	too_much = sum_up(run, section->own, &claim, rtt_ps);
	claim.innocent = !network && claim.slow == 0 && done != 0 && complete && run_finished(run) && !too_much;
	if (network)
		claim.kind = blame(section, claim.unexplained_ps > rtt_ps, &sure);
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
	if (claim.innocent)
		claim.confidence = reported_share(run, 0, run->nsteps);
	else
		claim.confidence = claim.kind == CLAIM_FAULT ? sure : 0;
	return claim;
}
