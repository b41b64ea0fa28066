/* SPDX-License-Identifier: BSD-3-Clause */
/* The run's collectives and steps. */
#include <errno.h>

#include "common/wire/ending.h"
#include "diag/run/fill.h"
#include "diag/run/late.h"

/* The run ended because something would not move, so whatever was open is slow, however long it took so far. */
static bool
run_failed(const struct run *run)
{
	return !run->truncated && (run->end_reason == REC_END_STALL || run->end_reason == REC_END_QP_ERROR ||
				   run->end_reason == REC_END_HOST_LOST);
}

static void
take_report(struct run *run, struct run_step *step, const struct ev_step *from)
{
	const struct rec_step *rec = from->report;
	bool first = from->previous == EV_NONE && from->depends == EV_NONE;
	uint64_t limit_ps = step->expect_ps + step->expect_ps / 100 * RUN_SLOW_PERCENT + run->config.jitter_ps;

	step->reported = true;
	step->open = rec->open != 0;
	/* Zero start and end mean "not started", which a step that depends on nothing cannot be. */
	step->started = !step->open || rec->start_ps != 0 || first;
	step->acked_bytes = rec->acked_bytes;
	step->retransmits = rec->retransmits;
	step->start_ps = rec->start_ps;
	step->end_ps = step->open ? run->end_ps : rec->end_ps;
	if (!step->started)
		step->end_ps = 0;
	else if (step->end_ps < step->start_ps)
		step->end_ps = step->start_ps;
	step->slow = step->started && step->expect_ps != 0 &&
		     (step->end_ps - step->start_ps > limit_ps || (step->open && run_failed(run)));
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
		.host = from->host,
		.bytes = from->sched->bytes,
		.ideal_ps = from->sched->ideal_ps,
		.expect_ps = from->sched->expect_ps != 0 ? from->sched->expect_ps : from->sched->ideal_ps,
		.base_rtt_ps = from->sched->base_rtt_ps,
		.previous = from->previous,
		.depends = from->depends,
		.waited_for = from->waited_for,
		.completeness = 1,
	};
	if (from->report != NULL)
		take_report(run, step, from);
}

static void
fill_collective(struct run *run, const struct evidence *ev, uint32_t c)
{
	const struct rec_collective *rec = EV_AT(ev->collectives, struct rec_collective, c);
	struct run_collective *out = &run->collectives[c];
	bool complete = true, any = false;

	out->id = rec->id;
	out->iteration = rec->iteration;
	out->algorithm = rec->algorithm;
	out->op = rec->op;
	out->ranks = rec->ranks;
	out->rank_steps = rec->rank_steps;
	out->steps = rec->steps;
	out->bytes = rec->bytes;
	out->ideal_ps = rec->ideal_ps;
	out->expect_ps = rec->expect_ps;
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
	run->collectives = run_alloc(ev->collectives.count, sizeof(*run->collectives), err);
	run->steps = run_alloc(ev->nsteps, sizeof(*run->steps), err);
	if (run->collectives == NULL || run->steps == NULL)
		return -ENOMEM;
	run->ncollectives = ev->collectives.count;
	run->nsteps = ev->nsteps;
	for (uint32_t i = 0; i < ev->nsteps; i++) {
		struct run_collective *coll = &run->collectives[ev->steps[i].collective];

		fill_step(run, ev, i);
		if (coll->nsteps++ == 0)
			coll->first_step = i;
	}
	for (uint32_t c = 0; c < run->ncollectives; c++) {
		int rc;

		fill_collective(run, ev, c);
		rc = late_fill(run, c, err);
		if (rc != 0)
			return rc;
	}
	return 0;
}
