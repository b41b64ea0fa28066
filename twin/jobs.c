/* SPDX-License-Identifier: BSD-3-Clause */
#include "twin/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/minmax.h"
#include "common/units.h"

#define MAX_COMPUTES 16384 /* of all jobs; later ones are as planned */

/* The steps of a collective that carry no message: its ranks compute. */
static bool
is_compute(const struct twin_model *model, uint32_t step)
{
	return model->run->steps[step].flow == RUN_NONE && model->run->steps[step].step == 1;
}

/* Where each rank sends or receives. @return 0 or -EINVAL with err */
static int
find_ranks(struct twin_model *model, struct twin_job *job, struct err *err)
{
	const struct run_iteration *first = &model->run->iterations[model->run->jobs[job->job].first_iteration];

	for (uint32_t r = 0; r < job->ranks; r++)
		job->ports[r] = EV_NONE;
	for (uint32_t s = first->first_step; s < first->first_step + first->nsteps; s++) {
		const struct ev_step *step = &model->ev->steps[s];
		uint32_t rank = step->rank, peer = step->peer;

		if (rank >= job->ranks || peer >= job->ranks)
			continue;
		if (step->flow != EV_NONE) {
			job->ports[rank] = model->ev->flows[step->flow].src_port;
			job->ports[peer] = model->ev->flows[step->flow].dst_port;
		} else if (job->ports[rank] == EV_NONE) {
			job->ports[rank] = model->ev->nodes[step->host].first_port;
		}
	}
	for (uint32_t r = 0; r < job->ranks; r++)
		if (job->ports[r] == EV_NONE)
			return err_set(err, -EINVAL, "rank %u of job %s neither sends, receives nor computes", r,
				       model->run->jobs[job->job].name);
	return 0;
}

/* Ports, channels and computation of a collective, as its schedule has them. */
static void
read_work(const struct twin_model *model, struct twin_op *work)
{
	const struct run_collective *of = &model->run->collectives[work->collective];
	bool any = false;

	work->as_goal = of->algorithm == COLL_FILE;
	for (uint32_t s = of->first_step; s < of->first_step + of->nsteps; s++) {
		const struct ev_step *step = &model->ev->steps[s];

		if (is_compute(model, s)) {
			work->computes = true;
			work->compute_ps = max_u64(work->compute_ps, step->ideal_ps);
		}
		if (model->run->steps[s].flow == RUN_NONE)
			continue;
		work->channels = max_u32(work->channels, step->channel + 1);
		if (!any || step->channel == 0) {
			const struct rec_tuple *tuple = &model->ev->flows[step->flow].tuple;

			work->sport = (uint16_t)(tuple->sport - step->channel);
			work->dport = tuple->dport;
		}
		any = true;
	}
}

/* How long a rank really computed before a collective; UINT64_MAX: not reported. */
static uint64_t
computed_ps(const struct run_step *step)
{
	return step->reported && step->started && !step->open ? step->end_ps - step->start_ps : UINT64_MAX;
}

/* The least that any rank computes in any iteration, if all of them do. */
static void
find_least(const struct twin_model *model, struct twin_op *work)
{
	uint64_t least_ps = UINT64_MAX;
	uint32_t computing = 0;

	for (uint32_t c = 0; c < model->run->ncollectives; c++) {
		const struct run_collective *of = &model->run->collectives[c];

		for (uint32_t s = of->first_step; of->id == work->id && s < of->first_step + of->nsteps; s++) {
			if (!is_compute(model, s))
				continue;
			computing += of->iteration == 0;
			least_ps = min_u64(least_ps, computed_ps(&model->run->steps[s]));
		}
	}
	if (computing < model->run->collectives[work->collective].ranks)
		work->compute_ps = 0; /* those that do have it as an extra */
	else if (least_ps != UINT64_MAX)
		work->compute_ps = least_ps;
}

static void
add_compute(struct twin_model *model, uint32_t work, const struct run_collective *of, const struct run_step *step)
{
	uint64_t took_ps = computed_ps(step);

	if (model->ncomputes == MAX_COMPUTES || took_ps == UINT64_MAX || took_ps <= model->works[work].compute_ps)
		return;
	model->computes[model->ncomputes++] = (struct twin_compute){ .work = work,
								     .rank = step->rank,
								     .iteration = of->iteration,
								     .extra_ps = took_ps - model->works[work].compute_ps };
}

static void
list_computes(struct twin_model *model, struct twin_job *job)
{
	job->first_compute = model->ncomputes;
	for (uint32_t w = job->first_work; w < job->first_work + job->nworks; w++) {
		find_least(model, &model->works[w]);
		for (uint32_t c = 0; c < model->run->ncollectives; c++) {
			const struct run_collective *of = &model->run->collectives[c];

			for (uint32_t s = of->first_step; of->id == model->works[w].id && s < of->first_step + of->nsteps;
			     s++)
				if (is_compute(model, s))
					add_compute(model, w, of, &model->run->steps[s]);
		}
	}
	job->ncomputes = model->ncomputes - job->first_compute;
}

/* When a rank began an iteration; UINT64_MAX: not known. */
static uint64_t
rank_start_ps(const struct run *run, const struct run_iteration *iteration, uint32_t rank)
{
	uint64_t start_ps = UINT64_MAX;

	for (uint32_t s = iteration->first_step; s < iteration->first_step + iteration->nsteps; s++)
		if (run->steps[s].rank == rank && run->steps[s].started)
			start_ps = min_u64(start_ps, run->steps[s].start_ps);
	return start_ps;
}

/* When a rank had done its part of it. */
static uint64_t
rank_done_ps(const struct run *run, const struct run_iteration *iteration, uint32_t rank)
{
	uint64_t done_ps = 0;

	for (uint32_t c = iteration->first_collective; c < iteration->first_collective + iteration->ncollectives; c++) {
		const struct run_collective *of = &run->collectives[c];

		if (rank < of->nranks)
			done_ps = max_u64(done_ps, run->ranks[of->first_rank + rank].done_ps);
	}
	return done_ps;
}

/* The pause between iterations: the shortest that a rank made. */
static uint64_t
find_gap_ps(const struct twin_model *model, const struct twin_job *job)
{
	const struct run_job *of = &model->run->jobs[job->job];
	uint64_t gap_ps = UINT64_MAX;

	for (uint32_t i = of->first_iteration + 1; i < of->first_iteration + of->niterations; i++) {
		for (uint32_t r = 0; r < job->ranks; r++) {
			uint64_t done_ps = rank_done_ps(model->run, &model->run->iterations[i - 1], r);
			uint64_t start_ps = rank_start_ps(model->run, &model->run->iterations[i], r);

			if (done_ps == RUN_UNKNOWN || start_ps == UINT64_MAX)
				continue;
			gap_ps = min_u64(gap_ps, start_ps > done_ps ? start_ps - done_ps : 0);
		}
	}
	return gap_ps != UINT64_MAX ? gap_ps : 0;
}

static int
infer_job(struct twin_model *model, uint32_t index, struct err *err)
{
	struct twin_job *job = &model->jobs[index];
	const struct run_job *of = &model->run->jobs[index];
	const struct run_iteration *first = &model->run->iterations[of->first_iteration];

	*job = (struct twin_job){ .job = index, .first_work = model->nworks };
	for (uint32_t c = first->first_collective; c < first->first_collective + first->ncollectives; c++) {
		const struct run_collective *collective = &model->run->collectives[c];

		if (run_is_flows(collective))
			return err_set(err, -EINVAL, "%s is a list of flows, of which no twin is made", of->name);
		job->ranks = collective->ranks;
		model->works[model->nworks] = (struct twin_op){ .id = collective->id, .collective = c };
		read_work(model, &model->works[model->nworks++]);
		job->nworks++;
	}
	job->ports = calloc((size_t)job->ranks + 1, sizeof(*job->ports));
	if (job->ports == NULL)
		return err_set(err, -ENOMEM, "out of memory for %u ranks", job->ranks);
	job->start_ps = first->start_ps;
	job->gap_ps = find_gap_ps(model, job);
	list_computes(model, job);
	return find_ranks(model, job, err);
}

int
twin_jobs_infer(struct twin_model *model, struct err *err)
{
	const struct run *run = model->run;
	int ret = 0;

	if (run->njobs == 0)
		return err_set(err, -EINVAL, "the records have no job whose time could be regained");
	model->jobs = calloc((size_t)run->njobs + 1, sizeof(*model->jobs));
	model->works = calloc((size_t)run->ncollectives + 1, sizeof(*model->works));
	model->computes = calloc(MAX_COMPUTES, sizeof(*model->computes));
	if (model->jobs == NULL || model->works == NULL || model->computes == NULL)
		return err_set(err, -ENOMEM, "out of memory for %u jobs", run->njobs);
	for (uint32_t j = 0; j < run->njobs && ret == 0; j++) {
		ret = infer_job(model, j, err);
		model->njobs += ret == 0 || model->jobs[j].ports != NULL;
	}
	return ret;
}
