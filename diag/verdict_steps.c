/* SPDX-License-Identifier: BSD-3-Clause */
/* The verdict's collectives and steps, and the waiting graph over them. */
#include <errno.h>

#include "diag/verdict_internal.h"
#include "diag/waiting/late.h"
#include "diag/waiting/wgraph.h"

/* The run ended because something would not move, so whatever was open is slow, however long it took so far. */
static bool
run_failed(const struct verdict *v)
{
	return !v->truncated &&
	       (v->end_reason == REC_END_STALL || v->end_reason == REC_END_QP_ERROR || v->end_reason == REC_END_HOST_LOST);
}

static void
take_report(struct verdict *v, struct verdict_step *step, const struct ev_step *from)
{
	const struct rec_step *rec = &from->report;
	bool first = from->previous == EV_NONE && from->depends == EV_NONE;
	uint64_t limit_ps = step->expect_ps + step->expect_ps / 100 * VERDICT_SLOW_PERCENT + v->run.jitter_ps;

	step->reported = true;
	step->open = rec->open != 0;
	/* Zero start and end mean "not started", which a step that depends on nothing cannot be. */
	step->started = !step->open || rec->start_ps != 0 || first;
	step->acked_bytes = rec->acked_bytes;
	step->retransmits = rec->retransmits;
	step->start_ps = rec->start_ps;
	step->end_ps = step->open ? v->end_ps : rec->end_ps;
	if (!step->started)
		step->end_ps = 0;
	else if (step->end_ps < step->start_ps)
		step->end_ps = step->start_ps;
	step->slow = step->started && step->expect_ps != 0 &&
		     (step->end_ps - step->start_ps > limit_ps || (step->open && run_failed(v)));
}

static void
fill_step(struct verdict *v, const struct evidence *ev, uint32_t i)
{
	const struct ev_step *from = &ev->steps[i];
	struct verdict_step *step = &v->steps[i];

	*step = (struct verdict_step){
		.collective = from->collective,
		.flow = from->flow,
		.rank = from->sched.rank,
		.step = from->sched.step,
		.host = from->host,
		.bytes = from->sched.bytes,
		.ideal_ps = from->sched.ideal_ps,
		.expect_ps = from->sched.expect_ps != 0 ? from->sched.expect_ps : from->sched.ideal_ps,
		.base_rtt_ps = from->sched.base_rtt_ps,
		.previous = from->previous,
		.depends = from->depends,
		.waited_for = from->waited_for,
		.graph = VERDICT_NONE,
		.completeness = 1,
	};
	if (from->reported)
		take_report(v, step, from);
}

static void
fill_collective(struct verdict *v, const struct evidence *ev, uint32_t c)
{
	const struct rec_collective *rec = EV_AT(ev->collectives, struct rec_collective, c);
	struct verdict_collective *out = &v->collectives[c];
	bool complete = true, any = false;

	out->id = rec->id;
	out->iteration = rec->iteration;
	out->algorithm = rec->algorithm;
	out->op = rec->op;
	out->ranks = rec->ranks;
	out->steps_per_rank = rec->steps;
	out->bytes = rec->bytes;
	out->ideal_ps = rec->ideal_ps;
	out->expect_ps = rec->expect_ps;
	for (uint32_t i = out->first_step; i < out->first_step + out->nsteps; i++) {
		const struct verdict_step *step = &v->steps[i];

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
	out->complete = complete && out->nsteps != 0 && out->nsteps == (uint64_t)out->ranks * out->steps_per_rank;
	if (!out->complete)
		out->end_ps = 0;
}

int
verdict_fill_steps(struct verdict *v, const struct evidence *ev, struct err *err)
{
	v->collectives = verdict_alloc(ev->collectives.count, sizeof(*v->collectives), err);
	v->waiting = verdict_alloc(ev->collectives.count, sizeof(*v->waiting), err);
	v->steps = verdict_alloc(ev->nsteps, sizeof(*v->steps), err);
	if (v->collectives == NULL || v->waiting == NULL || v->steps == NULL)
		return -ENOMEM;
	v->ncollectives = ev->collectives.count;
	v->nsteps = ev->nsteps;
	for (uint32_t i = 0; i < ev->nsteps; i++) {
		struct verdict_collective *coll = &v->collectives[ev->steps[i].collective];

		fill_step(v, ev, i);
		if (coll->nsteps++ == 0)
			coll->first_step = i;
	}
	for (uint32_t c = 0; c < v->ncollectives; c++) {
		struct verdict_waiting *w = &v->waiting[c];
		int rc;

		fill_collective(v, ev, c);
		rc = late_fill(v, c, err);
		if (rc != 0)
			return rc;
		rc = wgraph_build(v->steps, v->collectives[c].first_step, v->collectives[c].nsteps, w, err);
		if (rc != 0)
			return rc;
		for (uint32_t i = 0; i < w->npath; i++)
			v->steps[w->path[i]].critical = true;
	}
	return 0;
}
