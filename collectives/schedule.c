/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/schedule.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "collectives/algorithm.h"
#include "common/array.h"

#define ALGORITHM(id, value, name, symbol) [id] = &coll_##symbol,
static const struct coll_algorithm_ops *const algorithms[] = { COLL_ALGORITHMS(ALGORITHM) };

static const char *const op_names[] = { COLL_OPS(ENUM_NAME) };
static const char *const algorithm_names[] = { COLL_ALGORITHMS(ENUM_NAME) };

const char *
coll_op_name(enum coll_op op)
{
	assert((size_t)op < ARRAY_LEN(op_names));
	return op_names[op];
}

const char *
coll_algorithm_name(enum coll_algorithm algorithm)
{
	assert((size_t)algorithm < ARRAY_LEN(algorithms));
	return algorithm_names[algorithm];
}

bool
coll_block_steps(enum coll_algorithm algorithm)
{
	assert((size_t)algorithm < ARRAY_LEN(algorithms));
	return algorithms[algorithm]->block_steps;
}

static int
check_arguments(const struct coll_algorithm_ops *ops, uint32_t ranks, uint64_t count_elems, struct err *err)
{
	if (ranks < 2)
		return err_set(err, -EINVAL, "a collective needs at least 2 ranks, not %" PRIu32, ranks);
	if (ranks > COLL_MAX_RANKS)
		return err_set(err, -EINVAL, "%" PRIu32 " ranks; at most %d are supported", ranks, COLL_MAX_RANKS);
	if (count_elems < ranks)
		return err_set(err, -EINVAL,
			       "%" PRIu64 " elements for %" PRIu32 " ranks: every rank needs a block of at least one",
			       count_elems, ranks);
	return ops->check_ranks(ranks, err);
}

struct coll_schedule *
coll_schedule_create(const struct coll_params *params, struct err *err)
{
	const struct coll_algorithm_ops *ops;
	struct coll_builder *builder;
	int rc;

	assert((size_t)params->algorithm < ARRAY_LEN(algorithms));
	ops = algorithms[params->algorithm];
	rc = check_arguments(ops, params->ranks, params->count_elems, err);
	if (rc != 0) {
		errno = -rc;
		return NULL;
	}
	builder = coll_builder_create(params->ranks);
	ops->build(builder, params);
	return coll_builder_finish(builder, params->op, params->algorithm, params->count_elems, params->count_elems, err);
}

void
coll_schedule_destroy(struct coll_schedule *schedule)
{
	if (schedule == NULL)
		return;
	free(schedule->first_step);
	free(schedule->steps);
	free(schedule->deps);
	free(schedule);
}

uint64_t
coll_size_bytes(const struct coll_schedule *schedule, uint32_t elem_bytes)
{
	return schedule->count_elems * elem_bytes;
}

double
coll_busbw_factor(enum coll_op op, uint32_t ranks)
{
	double moved = (double)(ranks - 1) / ranks;

	return op == COLL_ALLREDUCE ? 2 * moved : moved;
}
