/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/schedule.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "collectives/algorithm/algorithm.h"
#include "collectives/op/op.h"
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

static const struct coll_method *
method_of(enum coll_algorithm algorithm, enum coll_op op)
{
	assert((size_t)algorithm < ARRAY_LEN(algorithms) && (size_t)op < ENUM_COUNT(COLL_OPS));
	return &algorithms[algorithm]->of[op];
}

bool
coll_algorithm_has(enum coll_algorithm algorithm, enum coll_op op)
{
	return method_of(algorithm, op)->build != NULL;
}

bool
coll_block_steps(enum coll_algorithm algorithm, enum coll_op op)
{
	return method_of(algorithm, op)->block_steps;
}

/* @return -EINVAL, with the algorithms that have the operation */
static int
refuse_pair(const struct coll_params *params, struct err *err)
{
	char known[256] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < ARRAY_LEN(algorithms) && used < sizeof(known); i++)
		if (coll_algorithm_has(i, params->op))
			used += (size_t)snprintf(known + used, sizeof(known) - used, "%s\"%s\"", used != 0 ? ", " : "",
						 coll_algorithm_name(i));
	return err_set(err, -EINVAL, "there is no %s by algorithm \"%s\": use %s", coll_op_name(params->op),
		       coll_algorithm_name(params->algorithm), known);
}

static int
check_pipeline(const struct coll_params *params, const struct coll_method *method, struct err *err)
{
	if (params->chunks != 0 && method->chunks == 0)
		return err_set(err, -EINVAL, "%s by algorithm \"%s\" is no pipeline: it has no chunks",
			       coll_op_name(params->op), coll_algorithm_name(params->algorithm));
	if (params->chunks > COLL_MAX_CHUNKS)
		return err_set(err, -EINVAL, "%" PRIu32 " chunks; at most %d are supported", params->chunks,
			       COLL_MAX_CHUNKS);
	return 0;
}

static int
check_params(const struct coll_params *params, const struct coll_method *method, struct err *err)
{
	const struct coll_op_ops *op = coll_op_ops(params->op);
	const struct coll_algorithm_ops *algorithm = algorithms[params->algorithm];
	int rc;

	if (method->build == NULL)
		return refuse_pair(params, err);
	if (params->ranks < 2)
		return err_set(err, -EINVAL, "a collective needs at least 2 ranks, not %" PRIu32, params->ranks);
	if (params->ranks > COLL_MAX_RANKS)
		return err_set(err, -EINVAL, "%" PRIu32 " ranks; at most %d are supported", params->ranks, COLL_MAX_RANKS);
	if (params->count_elems < (method->split ? params->ranks : 1))
		return err_set(err, -EINVAL,
			       "%" PRIu64 " elements for %" PRIu32 " ranks: every rank needs a block of at least one",
			       params->count_elems, params->ranks);
	if (!op->rooted && params->root != 0)
		return err_set(err, -EINVAL, "%s has no root", coll_op_name(params->op));
	if (params->root >= params->ranks)
		return err_set(err, -EINVAL, "root %" PRIu32 ": must be one of the %" PRIu32 " ranks, from 0", params->root,
			       params->ranks);
	rc = check_pipeline(params, method, err);
	if (rc == 0 && op->check != NULL)
		rc = op->check(params, err);
	return rc == 0 && algorithm->check != NULL ? algorithm->check(params, err) : rc;
}

/* Input, result if it is apart, scratch. */
static struct coll_layout
layout_of(const struct coll_params *params)
{
	const struct coll_op_ops *op = coll_op_ops(params->op);
	const struct coll_algorithm_ops *algorithm = algorithms[params->algorithm];
	struct coll_layout layout = { .scratch_elems = op->length(params, COLL_IN) };

	if (op->apart) {
		layout.out_elems = layout.scratch_elems;
		layout.scratch_elems += op->length(params, COLL_OUT);
	}
	layout.memory_elems = layout.scratch_elems;
	if (algorithm->scratch != NULL)
		layout.memory_elems += algorithm->scratch(params);
	return layout;
}

struct coll_schedule *
coll_schedule_create(const struct coll_params *params, struct err *err)
{
	const struct coll_method *method = method_of(params->algorithm, params->op);
	struct coll_layout layout;
	struct coll_builder *builder;
	int rc = check_params(params, method, err);

	if (rc != 0) {
		errno = -rc;
		return NULL;
	}
	builder = coll_builder_create(params->ranks);
	layout = layout_of(params);
	method->build(builder, params, &layout);
	return coll_builder_finish(builder, params, &layout, err);
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

uint64_t
coll_size_bytes(const struct coll_schedule *schedule, uint32_t elem_bytes)
{
	return schedule->count_elems * elem_bytes;
}

double
coll_busbw_factor(enum coll_op op, uint32_t ranks)
{
	return coll_op_ops(op)->busbw_factor(ranks);
}
