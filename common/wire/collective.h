/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations and algorithms of collectives: in records (struct rec_collective), scenarios and reports. */
#pragma once

#include "common/wire/layout.h"

/* Value, name, title, the file's symbol (collectives/op/op.h). */
#define COLL_OPS(ROW)                                                                                                      \
	ROW(COLL_ALLGATHER, 0, "allgather", "AllGather", allgather)                                                        \
	ROW(COLL_REDUCESCATTER, 1, "reducescatter", "ReduceScatter", reducescatter)                                        \
	ROW(COLL_ALLREDUCE, 2, "allreduce", "AllReduce", allreduce)                                                        \
	ROW(COLL_ALLTOALL, 3, "alltoall", "AllToAll", alltoall)                                                            \
	ROW(COLL_ALLTOALLV, 4, "alltoallv", "AllToAllv", alltoallv)                                                        \
	ROW(COLL_BROADCAST, 5, "broadcast", "Broadcast", broadcast)                                                        \
	ROW(COLL_REDUCE, 6, "reduce", "Reduce", reduce)                                                                    \
	ROW(COLL_SENDRECV, 7, "sendrecv", "SendRecv", sendrecv)                                                            \
	ROW(COLL_CUSTOM, 8, "custom", "Custom", custom)                                                                    \
	ROW(COLL_FLOWS, 9, "flows", "Flows", flows)

enum coll_op { COLL_OPS(ENUM_VALUE) };

/* Value, name, the file's symbol (collectives/algorithm/algorithm.h). */
#define COLL_ALGORITHMS(ROW)                                                                                               \
	ROW(COLL_RING, 0, "ring", ring)                                                                                    \
	ROW(COLL_HALVING_DOUBLING, 1, "halving-doubling", halving_doubling)                                                \
	ROW(COLL_LINEAR, 2, "linear", linear)                                                                              \
	ROW(COLL_PAIRWISE, 3, "pairwise", pairwise)                                                                        \
	ROW(COLL_BRUCK, 4, "bruck", bruck)                                                                                 \
	ROW(COLL_BINOMIAL_TREE, 5, "binomial-tree", binomial_tree)                                                         \
	ROW(COLL_DOUBLE_BINARY_TREE, 6, "double-binary-tree", double_binary_tree)                                          \
	ROW(COLL_PIPELINE, 7, "pipeline", pipeline)                                                                        \
	ROW(COLL_FILE, 8, "file", file)

enum coll_algorithm { COLL_ALGORITHMS(ENUM_VALUE) };
