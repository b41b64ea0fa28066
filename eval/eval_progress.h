/* SPDX-License-Identifier: BSD-3-Clause */
/* How far an evaluation is, on stderr (common/progress_line.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct eval_progress {
	uint32_t expected, done, wrong; /* wrong: no true positive */
	uint64_t start_ns;
};

/* @param expected  runs */
void eval_progress_begin(struct eval_progress *progress, uint32_t expected);
void eval_progress_done(struct eval_progress *progress, bool wrong);
void eval_progress_show(const struct eval_progress *progress);
void eval_progress_end(void);
