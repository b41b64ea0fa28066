/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/schedule.h"

#include <assert.h>
#include <stdlib.h>

#include "collectives/algorithm/algorithm.h"
#include "collectives/op/op.h"
#include "common/array.h"

#define ALGORITHM(id, value, name, symbol) [id] = &coll_##symbol,
static const struct coll_algorithm_ops *const algorithms[] = { COLL_ALGORITHMS(ALGORITHM) };

static const char *const op_names[] = { COLL_OPS(ENUM_NAME) };
static const char *const algorithm_names[] = { COLL_ALGORITHMS(ENUM_NAME) };

const struct coll_algorithm_ops *
coll_algorithm_ops(enum coll_algorithm algorithm)
{
	assert((size_t)algorithm < ARRAY_LEN(algorithms));
	return algorithms[algorithm];
}

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
coll_algorithm_has(enum coll_algorithm algorithm, enum coll_op op)
{
	return coll_algorithm_ops(algorithm)->of[op].build != NULL;
}

bool
coll_block_steps(enum coll_algorithm algorithm, enum coll_op op)
{
	return coll_algorithm_ops(algorithm)->of[op].block_steps;
}

void
coll_schedule_destroy(struct coll_schedule *schedule)
{
	if (schedule == NULL)
		return;
	free(schedule->counts);
	free(schedule->pairs);
	free(schedule->member);
	free(schedule->first_step);
	free(schedule->steps);
	free(schedule->deps);
	free(schedule);
}

struct coll_size
coll_size_of(const struct coll_schedule *schedule, uint32_t elem_bytes)
{
	if (schedule->op == COLL_CUSTOM && schedule->of_file.bytes != 0)
		return schedule->of_file;
	return (struct coll_size){
		.op = schedule->op,
		.ranks = schedule->group_ranks,
		.root = schedule->root,
		.bytes = schedule->op == COLL_CUSTOM ? 0 : schedule->count_elems * elem_bytes,
	};
}

double
coll_busbw_factor(enum coll_op op, uint32_t ranks)
{
	return coll_op_ops(op)->busbw_factor(ranks);
}
