/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface of an algorithm. A new one is a file here, its line in meson.build, and a row of COLL_ALGORITHMS
 * (common/wire/collective.h); scenarios, reports and the tests over all algorithms have it then.
 */
#pragma once

#include "collectives/builder.h"

#define COLL_DEFAULT_CHUNKS 8

/* The way in which an algorithm does one operation. */
struct coll_method {
	/* Adds all steps, for parameters that check accepted. NULL: it does not have the operation. */
	void (*build)(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout);
	bool split;       /* the vector is split into one block a rank: it has an element for each */
	bool block_steps; /* every step sends one such block: a scenario may give the length of a step */
	/*
	 * SendRecv: the algorithm decides which ranks exchange messages, not the user. NULL: the user does
	 * @param pairs  [ranks]
	 * @return how many
	 */
	uint32_t (*pairs)(const struct coll_params *params, struct coll_pair *pairs);
	uint32_t chunks; /* a pipeline: its default number of chunks; 0: it is none */
};

struct coll_algorithm_ops {
	/* @return 0, or -EINVAL with err set if it cannot serve that many ranks or elements. NULL: it serves all */
	int (*check)(const struct coll_params *params, struct err *err);
	/* Elements of memory that it needs beside the vectors. NULL: none */
	uint64_t (*scratch)(const struct coll_params *params);
	struct coll_method of[ENUM_COUNT(COLL_OPS)];
};

#define COLL_ALGORITHM_EXTERN(id, value, name, symbol) extern const struct coll_algorithm_ops coll_##symbol;
COLL_ALGORITHMS(COLL_ALGORITHM_EXTERN)

/* @return the operations of a row of COLL_ALGORITHMS */
const struct coll_algorithm_ops *coll_algorithm_ops(enum coll_algorithm algorithm);
