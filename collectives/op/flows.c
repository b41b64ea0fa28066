/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of generators (workload/traffic): no collective, but named like one in records. No algorithm makes it. */
#include "collectives/op/op.h"

static double
factor(uint32_t ranks)
{
	return 1;
}

static uint32_t
pieces(const struct coll_params *params, uint32_t rank, enum coll_side side)
{
	return 0;
}

const struct coll_op_ops coll_flows = {
	.grid = COLL_IN,
	.busbw_factor = factor,
	.length = coll_length_vector,
	.pieces = pieces,
};
