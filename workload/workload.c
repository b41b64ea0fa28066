/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload/workload.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "workload/config.h"

/* Private to the workload*.c files: a workload while it is read. */

struct reading {
	struct workload *workload;
	const struct cfg *cfg;
	const struct topo *topo;
	bool *taken; /* [topo->nnodes] hosts that jobs use */
	struct err *err;
};

/* A job's collectives, as bound. */
struct phases {
	const struct collective_config *configs;
	size_t count;
};

static int read_singles(struct reading *r);
static int read_jobs(struct reading *r);

static int workload_read_job(struct reading *r, const struct work_job_config *config, struct work_job *job);
static int workload_check_name(const struct cfg_where *where, const char *name, struct err *err);
static struct work_item *workload_add(struct reading *r, uint32_t job, const struct collective_config *config,
				      const char *suffix);
static int workload_add_phase(struct reading *r, uint32_t job, const struct phases *phases, int phase, uint32_t stage,
			      const uint32_t *inputs, size_t ninputs, const char *suffix);
static int workload_add_pipeline(struct reading *r, uint32_t job, const struct phases *phases,
				 const struct pipeline_config *config);

struct workload *
workload_create(const struct cfg *cfg, const struct topo *topo, uint64_t seed, struct err *err)
{
	struct reading r = { .cfg = cfg, .topo = topo, .err = err };
	int rc = -ENOMEM;

	r.workload = calloc(1, sizeof(*r.workload));
	r.taken = calloc(topo->nnodes + 1u, sizeof(*r.taken));
	if (r.workload != NULL && r.taken != NULL) {
		r.workload->seed = seed;
		rc = read_singles(&r);
		if (rc == 0)
			rc = read_jobs(&r);
	}
	free(r.taken);
	if (rc == 0)
		return r.workload;
	err_set(err, rc, "out of memory for jobs");
	workload_destroy(r.workload);
	errno = -rc;
	return NULL;
}

void
workload_destroy(struct workload *workload)
{
	if (workload == NULL)
		return;
	for (uint32_t j = 0; j < workload->njobs; j++) {
		free(workload->jobs[j].ranks);
		free((void *)workload->jobs[j].grid.dims);
		free(workload->jobs[j].stragglers);
	}
	free(workload->jobs);
	free(workload->works);
	free(workload->after);
	free(workload);
}

/* Room for the jobs of a list. */
static int
add_jobs(struct workload *workload, size_t count)
{
	struct work_job *jobs = realloc(workload->jobs, (workload->njobs + count + 1) * sizeof(*jobs));

	if (jobs == NULL)
		return -ENOMEM;
	memset(jobs + workload->njobs, 0, (count + 1) * sizeof(*jobs));
	workload->jobs = jobs;
	return 0;
}

/* Names the latest job. @return 0 or -EINVAL: no name, or another job's */
static int
name_job(const struct workload *workload, const char *name, const struct cfg_where *where, struct err *err)
{
	struct work_job *job = &workload->jobs[workload->njobs - 1];
	int rc = workload_check_name(where, name, err);

	for (uint32_t other = 0; rc == 0 && other + 1 < workload->njobs; other++)
		if (strcmp(workload->jobs[other].name, name) == 0)
			rc = cfg_fail(where, "name", err, "\"%s\" is the name of another job", name);
	snprintf(job->name, sizeof(job->name), "%s", name);
	return rc;
}

/* A collective of the top level is a job, of its name. */
static int
read_single(struct reading *r, const struct collective_config *config)
{
	struct workload *workload = r->workload;
	struct work_job *job = &workload->jobs[workload->njobs++];
	struct work_item *work;
	int rc;

	job->where = config->where;
	job->start_ps = config->start_ps;
	job->gap_ps = config->gap_ps;
	job->iterations = (uint32_t)config->iterations;
	job->enabled = config->enabled;
	rc = endpoint_list(r->topo, &config->ranks, &config->where, "ranks", &job->ranks, &job->grid.ranks, r->err);
	if (rc != 0)
		return rc;
	for (uint32_t rank = 0; rank < job->grid.ranks; rank++)
		r->taken[job->ranks[rank].node] = true;
	work = workload_add(r, workload->njobs - 1, config, "");
	if (work == NULL)
		return -EINVAL;
	return name_job(workload, work->name, &config->where, r->err);
}

static int
read_singles(struct reading *r)
{
	void *bound;
	size_t count;
	int rc = cfg_bind_list(r->cfg, &collective_table, NULL, &bound, &count, r->err);
	const struct collective_config *configs = bound;

	if (rc == 0)
		rc = add_jobs(r->workload, count);
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = read_single(r, &configs[i]);
	free(bound);
	return rc;
}

/* @return 0 or -EINVAL: a phase without a pipeline, a straggler before an unknown collective */
static int
check_names(const struct reading *r, uint32_t job, const struct phases *phases, bool has_pipeline)
{
	const struct work_job *of = &r->workload->jobs[job];

	for (size_t i = 0; i < phases->count && !has_pipeline; i++)
		if (phases->configs[i].phase != PHASE_NONE)
			return cfg_fail(&phases->configs[i].where, "phase", r->err, "the job has no pipeline");
	for (size_t i = 0; i < of->nstragglers; i++) {
		bool known = of->stragglers[i].collective == NULL;

		for (uint32_t w = 0; w < r->workload->nworks && !known; w++)
			known = r->workload->works[w].job == job &&
				strcmp(r->workload->works[w].name, of->stragglers[i].collective) == 0;
		if (!known)
			return cfg_fail(&of->stragglers[i].where, "collective", r->err,
					"\"%s\" is no collective of job \"%s\"", of->stragglers[i].collective, of->name);
	}
	return 0;
}

static int
read_collectives(struct reading *r, const struct work_job_config *config, uint32_t job)
{
	struct pipeline_config pipeline = { .dim = NULL };
	struct collective_config *configs;
	struct phases phases;
	void *bound;
	bool has_pipeline;
	int rc = cfg_bind_list_in(r->cfg, &config->where, &job_collective_table, &bound, &phases.count, r->err);

	if (rc != 0)
		return rc;
	phases.configs = configs = bound;
	for (size_t i = 0; i < phases.count; i++) {
		configs[i].has_after = cfg_has(&configs[i].where, "after");
		configs[i].iterations = config->iterations;
		configs[i].start_ps = config->start_ps;
		configs[i].gap_ps = config->gap_ps;
	}
	has_pipeline = cfg_has(&config->where, "pipeline");
	if (phases.count == 0)
		rc = cfg_fail(&config->where, NULL, r->err, "job \"%s\" has no collectives", config->name);
	else if (has_pipeline)
		rc = cfg_bind_in(r->cfg, &config->where, &pipeline_table, &pipeline, r->err);
	if (rc == 0 && has_pipeline)
		rc = workload_add_pipeline(r, job, &phases, &pipeline);
	else if (rc == 0)
		rc = workload_add_phase(r, job, &phases, PHASE_NONE, WORK_NO_STAGE, NULL, 0, "");
	if (rc == 0)
		rc = check_names(r, job, &phases, has_pipeline);
	free(bound);
	return rc;
}

static int
read_jobs(struct reading *r)
{
	struct workload *workload = r->workload;
	uint32_t first = workload->njobs;
	void *bound;
	size_t count;
	int rc = cfg_bind_list(r->cfg, &job_table, NULL, &bound, &count, r->err);
	const struct work_job_config *configs = bound;

	if (rc == 0)
		rc = add_jobs(workload, count);
	for (size_t i = 0; i < count && rc == 0; i++) {
		workload->njobs++;
		rc = name_job(workload, configs[i].name, &configs[i].where, r->err);
	}
	/* Placements see the hosts that others leave. */
	for (int placed = 0; placed <= 1; placed++)
		for (size_t i = 0; i < count && rc == 0; i++)
			if (cfg_has(&configs[i].where, "placement") == placed)
				rc = workload_read_job(r, &configs[i], &workload->jobs[first + i]);
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = read_collectives(r, &configs[i], first + (uint32_t)i);
	free(bound);
	return rc;
}

/* A job: placement and properties of its ranks. */

static int
read_ranks(struct reading *r, const struct work_job_config *config, struct work_job *job)
{
	struct placement_site site = { r->topo, r->taken, r->workload->seed, config->name };
	struct placement placement;
	bool placed = cfg_has(&config->where, "placement");
	int rc = cfg_bind_in(r->cfg, &config->where, &placement_table, &placement, r->err);

	if (rc != 0)
		return rc;
	if (placed && config->ranks.count != 0)
		return cfg_fail(&placement.where, NULL, r->err, "the job's ranks are named; give one of both");
	if (placed)
		return placement_ranks(&placement, &site, &job->ranks, &job->grid.ranks, r->err);
	return endpoint_list(r->topo, &config->ranks, &config->where, "ranks", &job->ranks, &job->grid.ranks, r->err);
}

static int
read_grid(struct reading *r, const struct work_job_config *config, struct work_job *job)
{
	void *dims;
	size_t count;
	int rc = cfg_bind_list_in(r->cfg, &config->where, &dims_table, &dims, &count, r->err);

	if (rc != 0)
		return rc;
	job->grid.dims = dims;
	job->grid.ndims = (uint32_t)count;
	return grid_check(&job->grid, r->err);
}

static int
read_stragglers(struct reading *r, const struct work_job_config *config, struct work_job *job)
{
	void *stragglers;
	int rc = cfg_bind_list_in(r->cfg, &config->where, &straggler_table, &stragglers, &job->nstragglers, r->err);

	job->stragglers = rc == 0 ? stragglers : NULL;
	for (size_t i = 0; rc == 0 && i < job->nstragglers; i++) {
		const struct straggler *straggler = &job->stragglers[i];

		if (straggler->rank >= (int64_t)job->grid.ranks)
			rc = cfg_fail(&straggler->where, "rank", r->err, "%lld: the job has ranks 0 to %u",
				      (long long)straggler->rank, job->grid.ranks - 1);
		else if (straggler->iteration >= (int64_t)job->iterations)
			rc = cfg_fail(&straggler->where, "iteration", r->err, "%lld: the job has iterations 0 to %u",
				      (long long)straggler->iteration, job->iterations - 1);
	}
	return rc;
}

/* Ranks, dims, jitter and stragglers of a job. @return 0, -ENOMEM or -EINVAL with err set */
static int
workload_read_job(struct reading *r, const struct work_job_config *config, struct work_job *job)
{
	int rc;

	job->where = config->where;
	job->start_ps = config->start_ps;
	job->gap_ps = config->gap_ps;
	job->compute_ps = config->compute_ps;
	job->iterations = (uint32_t)config->iterations;
	job->enabled = config->enabled;
	job->measured = config->measured;
	rc = read_ranks(r, config, job);
	if (rc == 0)
		rc = read_grid(r, config, job);
	if (rc == 0)
		rc = cfg_bind_in(r->cfg, &config->where, &jitter_table, &job->jitter, r->err);
	if (rc == 0 && (job->jitter.kind == JITTER_NONE) != (job->jitter.spread_ps == 0))
		rc = cfg_fail(&job->jitter.where, job->jitter.spread_ps != 0 ? "spread" : "kind", r->err,
			      "jitter has a kind and a spread, or neither");
	if (rc == 0)
		rc = read_stragglers(r, config, job);
	for (uint32_t rank = 0; rc == 0 && rank < job->grid.ranks; rank++)
		r->taken[job->ranks[rank].node] = true;
	return rc;
}

/* The collectives of a job: their names, groups and predecessors. */

/* A name of letters, digits, '_', '.' and '-'. @return 0 or -EINVAL with err set */
static int
workload_check_name(const struct cfg_where *where, const char *name, struct err *err)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)name[i]) && strchr("_.-", name[i]) == NULL)
			return cfg_fail(where, "name", err, "\"%s\": letters, digits, '_', '.' and '-' would be right",
					name);
	if (length == 0 || length >= REC_NAME_LEN)
		return cfg_fail(where, "name", err, "\"%s\" has %zu characters; 1 to %d would be right", name, length,
				REC_NAME_LEN - 1);
	return 0;
}

/* Doubles an array where it is full. @return 0 or -ENOMEM */
static int
make_room(void **array, size_t *cap, size_t count, size_t elem_bytes)
{
	size_t more = *cap != 0 ? 2 * *cap : 16;
	void *larger;

	if (count < *cap)
		return 0;
	larger = realloc(*array, more * elem_bytes);
	if (larger == NULL)
		return -ENOMEM;
	*array = larger;
	*cap = more;
	return 0;
}

/*
 * Appends a collective; the caller sets grid and stages in the result.
 * @param suffix  of its name, "" or ".m0.s1"; without a name it is OPERATION-NUMBER
 * @return NULL with err set: no memory, or a name that is invalid or taken in its job
 */
static struct work_item *
workload_add(struct reading *r, uint32_t job, const struct collective_config *config, const char *suffix)
{
	struct workload *workload = r->workload;
	char name[256];
	struct work_item *work;

	if (config->name != NULL)
		snprintf(name, sizeof(name), "%.200s%s", config->name, suffix);
	else
		snprintf(name, sizeof(name), "%s-%u%s",
			 plan_has_file(config) ? "schedule" : coll_op_name((enum coll_op)config->op), workload->nworks,
			 suffix);
	if (workload_check_name(&config->where, name, r->err) != 0)
		return NULL;
	for (uint32_t w = 0; w < workload->nworks; w++)
		if (workload->works[w].job == job && strcmp(workload->works[w].name, name) == 0) {
			cfg_fail(&config->where, "name", r->err, "\"%s\" is the name of another collective of the job",
				 name);
			return NULL;
		}
	if (make_room((void **)&workload->works, &workload->works_cap, workload->nworks, sizeof(*work)) != 0) {
		err_set(r->err, -ENOMEM, "out of memory for collectives");
		return NULL;
	}
	work = &workload->works[workload->nworks++];
	*work = (struct work_item){
		.config = *config,
		.job = job,
		.dims = GRID_ALL,
		.stage = WORK_NO_STAGE,
		.to_stage = WORK_NO_STAGE,
		.compute_ps = config->compute_ps,
		.first_after = workload->nafter,
	};
	snprintf(work->name, sizeof(work->name), "%.*s", REC_NAME_LEN - 1, name);
	return work;
}

/* Adds a predecessor to the latest collective. @return 0 or -ENOMEM */
static int
workload_add_after(struct reading *r, uint32_t after)
{
	struct workload *workload = r->workload;
	struct work_item *work = &workload->works[workload->nworks - 1];

	for (uint32_t i = 0; i < work->nafter; i++)
		if (workload->after[work->first_after + i] == after)
			return 0;
	if (make_room((void **)&workload->after, &workload->after_cap, workload->nafter, sizeof(*workload->after)) != 0)
		return err_set(r->err, -ENOMEM, "out of memory for collectives");
	workload->after[workload->nafter++] = after;
	work->nafter++;
	return 0;
}

/*
 * Adds a dependency on the collective of this name that the phase already has.
 * @param first  of the phase @return 0 or -EINVAL with err set: there is none
 */
static int
add_named(struct reading *r, const struct collective_config *config, const char *name, uint32_t first)
{
	struct workload *workload = r->workload;

	for (uint32_t w = first; w + 1 < workload->nworks; w++)
		if (workload->works[w].config.name != NULL && strcmp(workload->works[w].config.name, name) == 0)
			return workload_add_after(r, w);
	return cfg_fail(&config->where, "after", r->err,
			"\"%s\" is no collective before it in the job's list%s; a name from there would be right", name,
			config->phase != PHASE_NONE ? " and of its phase" : "");
}

/* Predecessors of the latest. @param first  the phase's first collective  inputs  predecessors of that one */
static int
add_order(struct reading *r, const struct collective_config *config, uint32_t first, const uint32_t *inputs, size_t ninputs)
{
	struct workload *workload = r->workload;
	uint32_t latest = workload->nworks - 1;
	bool is_head;
	int rc = 0;

	for (size_t i = 0; config->has_after && i < config->after.count && rc == 0; i++)
		rc = add_named(r, config, config->after.items[i], first);
	if (!config->has_after && latest != first)
		rc = workload_add_after(r, latest - 1);
	is_head = workload->works[latest].nafter == 0;
	for (size_t i = 0; is_head && i < ninputs && rc == 0; i++)
		rc = workload_add_after(r, inputs[i]);
	return rc;
}

/* The groups that a collective is for. @return 0 or -EINVAL with err set */
static int
set_groups(struct reading *r, struct work_item *work, uint32_t stage)
{
	const struct collective_config *config = &work->config;
	const struct work_job *job = &r->workload->jobs[work->job];
	int rc = grid_parse(&job->grid, config->group, &config->where, "group", &work->dims, r->err);

	work->stage = stage;
	if (rc != 0 || stage == WORK_NO_STAGE)
		return rc;
	if ((work->dims & job->pipeline) != 0)
		return cfg_fail(&config->where, "group", r->err,
				"\"%s\" goes along the pipeline, which a phase has a stage of at a time", config->group);
	if (work->dims == GRID_ALL)
		work->dims = ((1u << job->grid.ndims) - 1) & ~job->pipeline;
	return 0;
}

/*
 * Appends a job's collectives that have the phase, in order, each after those that it names, else after the previous
 * one.
 * @param phase   enum collective_phase
 * @param inputs  [ninputs] predecessors of those without others
 * @param suffix  of their names, "" or ".m0.s1"
 * @return 0, -ENOMEM or -EINVAL with err set
 */
static int
workload_add_phase(struct reading *r, uint32_t job, const struct phases *phases, int phase, uint32_t stage,
		   const uint32_t *inputs, size_t ninputs, const char *suffix)
{
	struct workload *workload = r->workload;
	uint32_t first = workload->nworks;
	int rc = 0;

	for (size_t i = 0; i < phases->count && rc == 0; i++) {
		struct work_item *work;

		if (phases->configs[i].phase != phase)
			continue;
		work = workload_add(r, job, &phases->configs[i], suffix);
		if (work == NULL)
			return -EINVAL;
		rc = set_groups(r, work, stage);
		if (rc == 0)
			rc = add_order(r, &phases->configs[i], first, inputs, ninputs);
		if (workload->works[workload->nworks - 1].nafter == 0)
			workload->works[workload->nworks - 1].compute_ps += workload->jobs[job].compute_ps;
	}
	return rc;
}

int
workload_groups(const struct workload *workload, uint32_t index, struct work_groups *groups)
{
	const struct work_item *work = &workload->works[index];
	const struct work_job *job = &workload->jobs[work->job];
	const struct grid *grid = &job->grid;
	bool sends = work->to_stage != WORK_NO_STAGE;
	uint32_t dims = sends ? job->pipeline : work->dims, all;

	*groups = (struct work_groups){ .ranks = sends ? 2 : grid_group_ranks(grid, dims) };
	groups->rank_of = malloc((2ull * grid->ranks + 1) * sizeof(*groups->rank_of));
	if (groups->rank_of == NULL)
		return -ENOMEM;
	all = grid->ranks / grid_group_ranks(grid, dims);
	for (uint32_t g = 0; g < all; g++) {
		uint32_t *rank_of = &groups->rank_of[(size_t)groups->groups * groups->ranks];

		if (sends) {
			rank_of[0] = grid_rank(grid, dims, g, work->stage);
			rank_of[1] = grid_rank(grid, dims, g, work->to_stage);
		} else if (work->stage == WORK_NO_STAGE ||
			   grid_member(grid, job->pipeline, grid_rank(grid, dims, g, 0)) == work->stage) {
			for (uint32_t member = 0; member < groups->ranks; member++)
				rank_of[member] =
					grid_rank(grid, dims, g, (uint32_t)(member * work->config.stride % groups->ranks));
		} else {
			continue;
		}
		groups->groups++;
	}
	return 0;
}

struct compute
workload_compute(const struct workload *workload, uint32_t index)
{
	const struct work_item *work = &workload->works[index];
	const struct work_job *job = &workload->jobs[work->job];

	return (struct compute){
		.seed = workload->seed,
		.job = job->name,
		.collective = work->name,
		.jitter = job->jitter,
		.stragglers = job->stragglers,
		.nstragglers = job->nstragglers,
	};
}

/* A job with a pipeline, written out: stage by stage and micro-batch by micro-batch. */

#define NO_WORK UINT32_MAX

/* A pipeline while it is written out. */
struct writing {
	struct reading *reading;
	uint32_t job;
	const struct phases *phases;
	const struct pipeline_config *config;
	uint32_t stages, micro_batches;
	uint32_t *turns;       /* [stages] turns that are written */
	uint32_t *first, *end; /* [stages] collectives of the latest turn */
	uint32_t *activations; /* [stages * micro_batches] that the stage receives; NO_WORK: not yet */
	uint32_t *gradients;
	uint32_t *inputs; /* of a turn */
};

/* @return whether a turn's input from other stages exists. @param input  out: it; NO_WORK: the turn needs none */
static bool
is_due(const struct writing *w, uint32_t stage, struct pipeline_turn turn, uint32_t *input)
{
	bool edge = turn.backward ? stage + 1 == w->stages : stage == 0;

	*input = (turn.backward ? w->gradients : w->activations)[stage * w->micro_batches + turn.micro_batch];
	return edge || *input != NO_WORK;
}

/* Adds the message that a stage sends to its neighbour at the end of a turn. */
static int
add_transfer(struct writing *w, uint32_t stage, struct pipeline_turn turn)
{
	struct collective_config config = w->phases->configs[0];
	uint32_t to = turn.backward ? stage - 1 : stage + 1, from;
	struct work_item *work;
	char suffix[32];
	int rc = 0;

	config.name = turn.backward ? "gradients" : "activations";
	config.where = w->config->where;
	config.op = COLL_SENDRECV;
	config.algorithm = COLL_LINEAR;
	config.root = 0;
	config.chunks = 0;
	config.pairs.count = 0;
	config.stride = 1;
	config.measured = false;
	config.measured_pairs.count = 0;
	config.bytes = w->config->bytes;
	config.step_bytes = 0;
	config.sport = 0;
	config.compute_ps = 0;
	snprintf(suffix, sizeof(suffix), ".m%u.s%u", turn.micro_batch, stage);
	work = workload_add(w->reading, w->job, &config, suffix);
	if (work == NULL)
		return -EINVAL;
	work->stage = stage;
	work->to_stage = to;
	for (from = w->first[stage]; from < w->end[stage] && rc == 0; from++)
		rc = workload_add_after(w->reading, from);
	(turn.backward ? w->gradients : w->activations)[to * w->micro_batches + turn.micro_batch] =
		w->reading->workload->nworks - 1;
	return rc;
}

static int
add_turn(struct writing *w, uint32_t stage, struct pipeline_turn turn, uint32_t input)
{
	bool last = turn.backward ? stage == 0 : stage + 1 == w->stages;
	size_t ninputs = 0;
	char suffix[32];
	int rc;

	for (uint32_t before = w->first[stage]; before < w->end[stage]; before++)
		w->inputs[ninputs++] = before;
	if (input != NO_WORK)
		w->inputs[ninputs++] = input;
	snprintf(suffix, sizeof(suffix), ".m%u.s%u", turn.micro_batch, stage);
	w->first[stage] = w->reading->workload->nworks;
	rc = workload_add_phase(w->reading, w->job, w->phases, turn.backward ? PHASE_BACKWARD : PHASE_FORWARD, stage,
				w->inputs, ninputs, suffix);
	w->end[stage] = w->reading->workload->nworks;
	w->turns[stage]++;
	return rc == 0 && !last ? add_transfer(w, stage, turn) : rc;
}

/* Writes every turn once its input is written, so that each collective stands behind its predecessors. */
static int
add_turns(struct writing *w)
{
	uint32_t left = 2 * w->micro_batches * w->stages, input;
	int rc = 0;

	while (left != 0 && rc == 0)
		for (uint32_t stage = 0; stage < w->stages && rc == 0; stage++) {
			struct pipeline_turn turn;

			if (w->turns[stage] == 2 * w->micro_batches)
				continue;
			turn = pipeline_turn((enum pipeline_schedule)w->config->order, w->stages, stage, w->micro_batches,
					     w->turns[stage]);
			if (!is_due(w, stage, turn, &input))
				continue;
			rc = add_turn(w, stage, turn, input);
			left--;
		}
	return rc;
}

/* Collectives without a phase follow the last ones of all stages, and all that the stages received. */
static int
add_rest(struct writing *w)
{
	size_t ninputs = 0;

	for (uint32_t stage = 0; stage < w->stages; stage++) {
		uint32_t received = w->gradients[stage * w->micro_batches + w->micro_batches - 1];

		for (uint32_t last = w->first[stage]; last < w->end[stage]; last++)
			w->inputs[ninputs++] = last;
		if (received != NO_WORK)
			w->inputs[ninputs++] = received;
	}
	return workload_add_phase(w->reading, w->job, w->phases, PHASE_NONE, WORK_NO_STAGE, w->inputs, ninputs, "");
}

/* @return 0 or -EINVAL: a phase without collectives */
static int
check_phases(const struct writing *w)
{
	size_t forward = 0, backward = 0;

	for (size_t i = 0; i < w->phases->count; i++) {
		forward += w->phases->configs[i].phase == PHASE_FORWARD;
		backward += w->phases->configs[i].phase == PHASE_BACKWARD;
	}
	if (forward != 0 && backward != 0)
		return 0;
	return cfg_fail(
		&w->config->where, NULL, w->reading->err,
		"the job has no collective of phase \"%s\": what does a stage do then? In groups of one rank it only "
		"computes",
		forward == 0 ? "forward" : "backward");
}

/* Appends the collectives of a job with a pipeline, micro-batch by micro-batch. @return as above */
static int
workload_add_pipeline(struct reading *r, uint32_t job, const struct phases *phases, const struct pipeline_config *config)
{
	const struct grid *grid = &r->workload->jobs[job].grid;
	struct writing w = { r, job, phases, config, .micro_batches = (uint32_t)config->micro_batches };
	uint32_t mask, *memory;
	size_t cells;
	int rc = grid_parse(grid, config->dim, &config->where, "dim", &mask, r->err);

	if (rc != 0)
		return rc;
	if (mask == GRID_ALL || (mask & (mask - 1)) != 0)
		return cfg_fail(&config->where, "dim", r->err, "\"%s\": one of the job's dims would be right", config->dim);
	r->workload->jobs[job].pipeline = mask;
	w.stages = grid_group_ranks(grid, mask);
	if (w.stages < 2)
		return cfg_fail(&config->where, "dim", r->err, "\"%s\" has size 1; a pipeline has 2 stages or more",
				config->dim);
	rc = check_phases(&w);
	if (rc != 0)
		return rc;
	cells = (size_t)w.stages * w.micro_batches;
	memory = calloc(3 * w.stages + 2 * cells + (phases->count + 1) * w.stages + 1, sizeof(*memory));
	if (memory == NULL)
		return err_set(r->err, -ENOMEM, "out of memory for a pipeline");
	w.turns = memory;
	w.first = w.turns + w.stages;
	w.end = w.first + w.stages;
	w.activations = w.end + w.stages;
	w.gradients = w.activations + cells;
	w.inputs = w.gradients + cells;
	memset(w.activations, 0xff, 2 * cells * sizeof(*memory));
	rc = add_turns(&w);
	if (rc == 0)
		rc = add_rest(&w);
	free(memory);
	return rc;
}
