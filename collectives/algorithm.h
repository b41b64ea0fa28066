/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an algorithm provides. A new one is a file here, its line in meson.build, and a row of COLL_ALGORITHMS
 * (common/wire/collective.h); scenarios, reports and the tests over all algorithms have it then.
 */
#pragma once

#include <stdint.h>

#include "collectives/builder.h"
#include "collectives/schedule.h"

struct coll_algorithm_ops {
	bool block_steps; /* every step sends one block: a scenario may say how long a step is */
	/* @return 0, or -EINVAL with err set if the algorithm cannot serve that many ranks */
	int (*check_ranks)(uint32_t ranks, struct err *err);
	/* Adds all steps, for a number of ranks that check_ranks accepted. */
	void (*build)(struct coll_builder *builder, const struct coll_params *params);
};

#define COLL_ALGORITHM_EXTERN(id, value, name, symbol) extern const struct coll_algorithm_ops coll_##symbol;
COLL_ALGORITHMS(COLL_ALGORITHM_EXTERN)
