/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations and algorithms of collectives: in records (struct rec_collective), scenarios and reports. */
#pragma once

#include "common/wire/enum.h"

/* Value, name, title, the file's symbol (collectives/op/op.h). */
#define COLL_OPS(ROW)                                                                                                      \
	ROW(COLL_ALLGATHER, 0, "allgather", "AllGather", allgather)                                                        \
	ROW(COLL_REDUCESCATTER, 1, "reducescatter", "ReduceScatter", reducescatter)                                        \
	ROW(COLL_ALLREDUCE, 2, "allreduce", "AllReduce", allreduce)                                                        \
	ROW(COLL_CUSTOM, 3, "custom", "Custom", custom)                                                                    \
	ROW(COLL_FLOWS, 4, "flows", "Flows", flows)

enum coll_op { COLL_OPS(ENUM_VALUE) };

/* Value, name, the file's symbol (collectives/algorithm/algorithm.h). */
#define COLL_ALGORITHMS(ROW)                                                                                               \
	ROW(COLL_RING, 0, "ring", ring)                                                                                    \
	ROW(COLL_HALVING_DOUBLING, 1, "halving-doubling", halving_doubling)                                                \
	ROW(COLL_FILE, 2, "file", file)

enum coll_algorithm { COLL_ALGORITHMS(ENUM_VALUE) };
