/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/eval_progress.h"

#include <stdio.h>
#include <unistd.h>

#include "common/clock.h"

void
eval_progress_begin(struct eval_progress *progress, uint32_t expected)
{
	progress->expected = expected;
	progress->on = isatty(STDERR_FILENO);
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

	if (!progress->on)
		return;
	fprintf(stderr, "\r%u of %u runs, %u wrong", progress->done, progress->expected, progress->wrong);
	if (progress->done != 0)
		fprintf(stderr, ", about %.0f:%02.0f min left   ", (double)((uint64_t)left_s / 60),
			(double)((uint64_t)left_s % 60));
}

void
eval_progress_end(const struct eval_progress *progress)
{
	if (progress->on)
		fprintf(stderr, "\r%-60s\r", "");
}
