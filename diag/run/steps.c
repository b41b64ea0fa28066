/* SPDX-License-Identifier: BSD-3-Clause */
/* The run's steps. */
#include <errno.h>
#include <string.h>

#include "common/wire/ending.h"
#include "diag/run/fill.h"
#include "diag/run/late.h"

/* The run ended because something would not move, so whatever was open is slow, however long it took so far. */
static bool
run_failed(const struct run *run)
{
	return !run->truncated && (run->end_reason == REC_END_STALL || run->end_reason == REC_END_QP_ERROR ||
				   run->end_reason == REC_END_HOST_LOST || run->end_reason == REC_END_PART_LOST);
}

/*
 * Zero start and end mean "not started", or started at zero: so a step may that waits for nothing at all, of a collective of
 * which something shows that it began; or everything was due and nothing would move.
 */
static bool
began_at_zero(const struct run *run, const struct run_step *step)
{
	const struct run_collective *collective = &run->collectives[step->collective];

	return step->ndeps == 0 && collective->iteration == 0 && collective->nafter == 0 && !run_is_flows(collective) &&
	       (collective->began || run_failed(run));
}

static bool
shows_beginning(const struct rec_step *rec)
{
	return rec != NULL && (rec->open == 0 || rec->start_ps != 0 || rec->acked_bytes != 0 || rec->retransmits != 0);
}

static void
take_report(struct run *run, struct run_step *step, const struct rec_step *rec)
{
	bool flows = run_is_flows(&run->collectives[step->collective]);
	uint64_t limit_ps = step->expect_ps + step->expect_ps / 100 * (flows ? RUN_SLOW_FLOW_PERCENT : RUN_SLOW_PERCENT) +
			    run->config.jitter_ps;
	uint64_t exec_ps;

	step->reported = true;
	step->open = rec->open != 0;
	step->started = !step->open || rec->start_ps != 0 || began_at_zero(run, step);
	step->acked_bytes = rec->acked_bytes;
	step->retransmits = rec->retransmits;
	step->rtt_min_ps = rec->rtt_min_ps;
	step->rtt_mean_ps = rec->rtt_mean_ps;
	step->rtt_samples = rec->rtt_samples;
	step->paced_ps = rec->paced_ps;
	step->stalled_ps = rec->stalled_ps;
	step->waited_ps = rec->waited_ns * UINT64_C(1000);
	step->start_ps = rec->start_ps;
	step->end_ps = step->open ? run->end_ps : rec->end_ps;
	if (!step->started)
		step->end_ps = 0;
	else if (step->end_ps < step->start_ps)
		step->end_ps = step->start_ps;
	if (!step->started)
		return;
	exec_ps = step->end_ps - step->start_ps;
	if (!run_is_local(step))
		step->slow = step->expect_ps != 0 && (exec_ps > limit_ps || (step->open && run_failed(run)));
	else if (exec_ps > limit_ps)
		step->long_ps = exec_ps - step->expect_ps;
}

static void
fill_step(struct run *run, const struct evidence *ev, uint32_t i)
{
	const struct ev_step *from = &ev->steps[i];
	struct run_step *step = &run->steps[i];

	*step = (struct run_step){
		.collective = from->collective,
		.flow = from->flow,
		.rank = from->sched->rank,
		.step = from->sched->step,
		.peer = from->sched->peer,
		.channel = from->sched->channel,
		.host = from->host,
		.bytes = from->sched->bytes,
		.ideal_ps = from->sched->ideal_ps,
		.expect_ps = from->sched->expect_ps != 0 ? from->sched->expect_ps : from->sched->ideal_ps,
		.base_rtt_ps = from->sched->base_rtt_ps,
		.first_dep = from->first_dep,
		.ndeps = from->ndeps,
		.waited_for = from->waited_for,
		.completeness = 1,
	};
	if (from->report != NULL)
		take_report(run, step, from->report);
}

/* How a collective fared, from its steps. */
static void
sum_up(struct run *run, struct run_collective *out)
{
	bool complete = true, any = false;

	for (uint32_t i = out->first_step; i < out->first_step + out->nsteps; i++) {
		const struct run_step *step = &run->steps[i];

		complete &= step->reported && !step->open;
		if (step->bytes > out->step_bytes)
			out->step_bytes = step->bytes;
		if (!step->started)
			continue;
		if (!any || step->start_ps < out->start_ps)
			out->start_ps = step->start_ps;
		if (step->end_ps > out->end_ps)
			out->end_ps = step->end_ps;
		any = true;
	}
	out->complete = complete && out->nsteps != 0 && out->nsteps == out->steps;
	if (!out->complete)
		out->end_ps = 0;
}

int
run_fill_steps(struct run *run, const struct evidence *ev, struct err *err)
{
	int rc = run_fill_jobs(run, ev, err);

	if (rc != 0)
		return rc;
	run->steps = run_alloc(ev->nsteps, sizeof(*run->steps), err);
	run->depends = run_alloc(ev->ndeps, sizeof(*run->depends), err);
	if (run->steps == NULL || run->depends == NULL)
		return -ENOMEM;
	run->nsteps = ev->nsteps;
	run->ndepends = ev->ndeps;
	memcpy(run->depends, ev->deps, ev->ndeps * sizeof(*run->depends));
	for (uint32_t i = 0; i < ev->nsteps; i++)
		run->collectives[ev->steps[i].collective].began |= shows_beginning(ev->steps[i].report);
	for (uint32_t i = 0; i < ev->nsteps; i++) {
		struct run_collective *coll = &run->collectives[ev->steps[i].collective];

		fill_step(run, ev, i);
		if (coll->nsteps++ == 0)
			coll->first_step = i;
	}
	for (uint32_t c = 0; c < run->ncollectives; c++)
		sum_up(run, &run->collectives[c]);
	run_sum_up_iterations(run);
	rc = run_fill_ranks(run, err);
	if (rc == 0)
		late_fill(run);
	return rc;
}
