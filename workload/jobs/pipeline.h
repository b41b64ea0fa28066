/* SPDX-License-Identifier: BSD-3-Clause */
/* In which order a stage of a pipeline works on its micro-batches. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "workload/jobs/config.h"

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
