/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/eval_progress.h"

#include <stdio.h>

#include "common/clock.h"
#include "common/progress_line.h"

void
eval_progress_begin(struct eval_progress *progress, uint32_t expected)
{
	progress->expected = expected;
	progress->start_ns = clock_now_ns();
}

void
eval_progress_done(struct eval_progress *progress, bool wrong)
{
	progress->done++;
	progress->wrong += wrong;
}

void
eval_progress_show(const struct eval_progress *progress)
{
	double elapsed_s = (double)(clock_now_ns() - progress->start_ns) / 1e9;
	double left_s = progress->done != 0 ? elapsed_s / progress->done * (progress->expected - progress->done) : 0;
	char left[48] = "";

	if (progress->done != 0)
		snprintf(left, sizeof(left), ", about %.0f:%02.0f min left", (double)((uint64_t)left_s / 60),
			 (double)((uint64_t)left_s % 60));
	progress_line("%u of %u runs, %u wrong%s", progress->done, progress->expected, progress->wrong, left);
}

void
eval_progress_end(void)
{
	progress_line("%s", "");
}
