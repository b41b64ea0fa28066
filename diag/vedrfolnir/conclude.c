/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/conclude.h"

#include "diag/vedrfolnir/section.h"

/* Is there a finding about the network, or about a host? */
static bool
has_finding(const struct section *section, bool host)
{
	for (uint32_t i = 0; i < section->nfindings; i++) {
		if (((section->findings[i].type->traits & FINDING_OF_HOST) != 0) == host)
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

struct claim
conclude(const struct run *run, const struct section *section)
{
	bool network = has_finding(section, false), complete = run_complete(run) && section->skipped == 0;
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
	claim.innocent = !network && (claim.slow == 0 ? done != 0 && run_finished(run) : complete && claim.unwatched == 0);
	if (network)
		claim.kind = CLAIM_FAULT;
	else if (claim.slow == 0)
		claim.kind = has_finding(section, true) ? CLAIM_HOSTS_LATE : done == 0 ? CLAIM_NOTHING_DONE : CLAIM_IN_TIME;
	else if (!complete)
		claim.kind = CLAIM_INCOMPLETE;
	else if (claim.unwatched != 0)
		claim.kind = CLAIM_UNWATCHED;
	else
		claim.kind = unexplained == 0 ? CLAIM_ACKS : CLAIM_NO_SIGN;
	return claim;
}
