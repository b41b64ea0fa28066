/* SPDX-License-Identifier: BSD-3-Clause */
/* The collectives of a job: their names, groups, and what they come after. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "workload/plan_file.h"
#include "workload/workload_state.h"

int
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

struct work_item *
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

int
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

/* Those of the phase that have been added and whose name it is. @param first  of the phase */
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

/* What the latest comes after. @param first  the phase's first collective  inputs  what that one comes after */
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

int
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
