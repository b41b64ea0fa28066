/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/op/op.h"

#include <assert.h>

#include "common/array.h"

#define OP(id, value, name, title, symbol) [id] = &coll_##symbol,
static const struct coll_op_ops *const ops[] = { COLL_OPS(OP) };

const struct coll_op_ops *
coll_op_ops(enum coll_op op)
{
	assert((size_t)op < ARRAY_LEN(ops));
	return ops[op];
}

double
coll_factor_moved(uint32_t ranks)
{
	return (double)(ranks - 1) / ranks;
}

double
coll_factor_one(uint32_t ranks)
{
	return 1;
}

uint64_t
coll_length_vector(const struct coll_params *params, enum coll_side side)
{
	return params->count_elems;
}

uint32_t
coll_pieces_one(const struct coll_params *params, uint32_t rank, enum coll_side side)
{
	return 1;
}
