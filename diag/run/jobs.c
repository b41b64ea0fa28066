/* SPDX-License-Identifier: BSD-3-Clause */
/* The run's jobs, their iterations, the collectives of these and who takes part in them. */
#include <errno.h>
#include <stdio.h>

#include "common/minmax.h"
#include "diag/run/fill.h"

static void
name(char *to, const char *from)
{
	snprintf(to, REC_NAME_LEN + 1, "%.*s", REC_NAME_LEN, from);
}

static void
fill_collective(struct run_collective *out, const struct rec_collective *rec)
{
	out->id = rec->id;
	out->iteration = rec->iteration;
	name(out->name, rec->name);
	out->algorithm = rec->algorithm;
	out->op = rec->op;
	out->ranks = rec->ranks;
	out->group_ranks = rec->group_ranks != 0 ? rec->group_ranks : rec->ranks;
	out->rank_steps = rec->rank_steps;
	out->steps = rec->steps;
	out->bytes = rec->bytes;
	out->ideal_ps = rec->ideal_ps;
	out->expect_ps = rec->expect_ps;
}

/* Collectives are sorted by (job, iteration): a new job or iteration begins where one differs from the one before. */
static void
group(struct run *run, const struct rec_collective *rec, uint32_t index)
{
	bool new_job = run->njobs == 0 || run->jobs[run->njobs - 1].id != rec->job;

	if (new_job) {
		struct run_job *job = &run->jobs[run->njobs++];

		job->id = rec->job;
		name(job->name, rec->job_name);
		job->first_iteration = run->niterations;
	}
	if (new_job || run->iterations[run->niterations - 1].iteration != rec->iteration) {
		run->iterations[run->niterations++] = (struct run_iteration){ .job = run->njobs - 1,
									      .iteration = rec->iteration,
									      .first_collective = index };
		run->jobs[run->njobs - 1].niterations++;
	}
	run->iterations[run->niterations - 1].ncollectives++;
	run->collectives[index].in = run->niterations - 1;
}

/* FOLLOW records are sorted by (collective, after). */
static void
list_after(struct run *run, const struct evidence *ev, struct run_collective *out)
{
	uint32_t lo = 0, hi = ev->follows.count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (EV_AT(ev->follows, struct rec_follow, mid)->collective < out->id)
			lo = mid + 1;
		else
			hi = mid;
	}
	out->first_after = run->nafter;
	for (; lo < ev->follows.count && EV_AT(ev->follows, struct rec_follow, lo)->collective == out->id; lo++) {
		uint32_t after = evidence_collective(ev, EV_AT(ev->follows, struct rec_follow, lo)->after, out->iteration);

		if (after != EV_NONE)
			run->after[run->nafter++] = after;
	}
	out->nafter = run->nafter - out->first_after;
}

/* How many FOLLOW records apply, over all iterations. */
static size_t
count_after(const struct evidence *ev)
{
	size_t count = 0;

	for (uint32_t p = 0, f = 0; p < ev->collectives.count; p++) { /* both by the collective's id */
		while (f < ev->follows.count && EV_AT(ev->follows, struct rec_follow, f)->collective < ev->places[p].id)
			f++;
		for (uint32_t i = f;
		     i < ev->follows.count && EV_AT(ev->follows, struct rec_follow, i)->collective == ev->places[p].id; i++)
			count++;
	}
	return count;
}

int
run_fill_jobs(struct run *run, const struct evidence *ev, struct err *err)
{
	run->ncollectives = ev->collectives.count;
	run->collectives = run_alloc(run->ncollectives, sizeof(*run->collectives), err);
	run->jobs = run_alloc(run->ncollectives, sizeof(*run->jobs), err);
	run->iterations = run_alloc(run->ncollectives, sizeof(*run->iterations), err);
	run->after = run_alloc(count_after(ev), sizeof(*run->after), err);
	if (run->collectives == NULL || run->jobs == NULL || run->iterations == NULL || run->after == NULL)
		return -ENOMEM;
	for (uint32_t c = 0; c < run->ncollectives; c++) {
		const struct rec_collective *rec = EV_AT(ev->collectives, struct rec_collective, c);

		fill_collective(&run->collectives[c], rec);
		group(run, rec, c);
		list_after(run, ev, &run->collectives[c]);
	}
	return 0;
}

void
run_sum_up_iterations(struct run *run)
{
	for (uint32_t i = 0; i < run->niterations; i++) {
		struct run_iteration *it = &run->iterations[i];
		bool any = false;

		it->complete = true;
		it->first_step = run->collectives[it->first_collective].first_step;
		for (uint32_t c = it->first_collective; c < it->first_collective + it->ncollectives; c++) {
			const struct run_collective *coll = &run->collectives[c];

			it->complete &= coll->complete;
			if (coll->nsteps == 0)
				continue;
			if (it->nsteps == 0)
				it->first_step = coll->first_step;
			it->nsteps += coll->nsteps;
			it->start_ps = !any || coll->start_ps < it->start_ps ? coll->start_ps : it->start_ps;
			it->end_ps = coll->end_ps > it->end_ps ? coll->end_ps : it->end_ps;
			any = true;
		}
		if (!it->complete)
			it->end_ps = 0;
	}
}

/* @param sends  else it receives: its sender knows of that when the ACK is back */
static void
take_part(struct run_rank *rank, const struct run_step *step, bool sends)
{
	uint64_t earliest_ps = step->end_ps - (sends ? 0 : min_u64(step->end_ps, step->base_rtt_ps));

	rank->part = true;
	if (!step->reported || step->open) {
		rank->done_ps = rank->earliest_ps = RUN_UNKNOWN;
		return;
	}
	rank->done_ps = max_u64(rank->done_ps, step->end_ps);
	rank->earliest_ps = max_u64(rank->earliest_ps, earliest_ps);
}

int
run_fill_ranks(struct run *run, struct err *err)
{
	uint64_t count = 0;

	for (uint32_t c = 0; c < run->ncollectives; c++) {
		struct run_collective *coll = &run->collectives[c];

		coll->first_rank = (uint32_t)count;
		coll->nranks = count + coll->ranks <= RUN_MAX_RANKS ? coll->ranks : 0;
		count += coll->nranks;
	}
	run->ranks = run_alloc(count, sizeof(*run->ranks), err);
	if (run->ranks == NULL)
		return -ENOMEM;
	run->nranks = (uint32_t)count;
	for (uint32_t i = 0; i < run->nsteps; i++) {
		const struct run_step *step = &run->steps[i];
		const struct run_collective *coll = &run->collectives[step->collective];

		if (coll->nranks == 0)
			continue;
		take_part(&run->ranks[coll->first_rank + step->rank], step, true);
		take_part(&run->ranks[coll->first_rank + step->peer], step, false);
	}
	return 0;
}
