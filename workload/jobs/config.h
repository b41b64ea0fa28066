/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs as bound from the scenario's tables; ranks are not placed yet. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/cfg/cfg.h"

/* One group of "jobs". */
struct work_job_config {
	struct cfg_where where;
	const char *name;
	struct cfg_strings ranks; /* empty: a placement's, or every host at its first NIC */
	uint64_t start_ps, gap_ps, compute_ps;
	int64_t iterations;
	bool enabled;
	bool measured; /* all its collectives are */
};

enum pipeline_schedule { PIPELINE_1F1B, PIPELINE_GPIPE };

/* The group "pipeline" of a job. */
struct pipeline_config {
	struct cfg_where where;
	const char *dim; /* of the job's dims: its places are the stages */
	int64_t micro_batches;
	int order;      /* enum pipeline_schedule */
	uint64_t bytes; /* of activations, and of gradients, of a micro-batch between two ranks */
};

extern const struct cfg_table job_table, pipeline_table;

/* In which order a stage of a pipeline works on its micro-batches. Pure. */

/* What a stage does at a time: one micro-batch, forward or backward. */
struct pipeline_turn {
	uint32_t micro_batch;
	bool backward;
};

/*
 * The turn number i, from 0 to 2 * micro_batches - 1, of a stage.
 * 1f1b: stages - stage - 1 forward, or all if there are fewer; then one forward and one backward in turns; then the
 * backward ones that remain. gpipe: all forward, then all backward.
 */
struct pipeline_turn pipeline_turn(enum pipeline_schedule schedule, uint32_t stages, uint32_t stage, uint32_t micro_batches,
				   uint32_t i);
