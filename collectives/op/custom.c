/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations of a file without a stated purpose: no rank contributes, and nothing is promised. */
#include "collectives/op/op.h"

static uint32_t
pieces(const struct coll_params *params, uint32_t rank, enum coll_side side)
{
	return 0;
}

const struct coll_op_ops coll_custom = {
	.grid = COLL_IN,
	.busbw_factor = coll_factor_one,
	.length = coll_length_vector,
	.pieces = pieces,
};
