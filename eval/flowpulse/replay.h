/* SPDX-License-Identifier: BSD-3-Clause */
/* What monitors with another detector would have said of counts that were recorded: the switches' own code on the same numbers. */
#pragma once

#include "common/wire/volume.h"
#include "eval/flowpulse/grid.h"

#define FP_REPLAY_RATE 1e-4 /* false alarms of a sender at a leaf in an iteration: the scenario's default */

struct fp_outcome {
	struct fp_alarm *alarms; /* [count], by leaf */
	size_t count, cap;
};

/*
 * Judges all iterations of all leaves anew, with what was predicted of them and thresholds as scenarios have them by default.
 * @param said  set; free(said->alarms)
 * @return 0 or -ENOMEM
 */
int fp_replay(const struct fp_grid *grid, enum rec_detector detector, struct fp_outcome *outcome);
