/* SPDX-License-Identifier: BSD-3-Clause */
/* How every program ends: one table, which `--help` prints (common/args.h). */
#pragma once

#include <stdbool.h>

/* clang-format off */
#define EXIT_CODES(ROW)                                                                                                    \
	ROW(EXIT_DONE, 0, "done")                                                                                          \
	ROW(EXIT_FAILED, 1, "an invariant failed, a program broke, or a file was not written")             \
	ROW(EXIT_USAGE, 2, "wrong usage, or input that is refused")                                                        \
	ROW(EXIT_NOT_BEGUN, 3, "no run began, though the input is good: a host or program is missing")             \
	ROW(EXIT_FINDING, 4, "the verdict has a finding, and --fail-on-finding was given")                                 \
	ROW(EXIT_UNFINISHED, 5, "the run ended before its work did; run.json has the end_reason")                          \
	ROW(EXIT_SKIPPED, 77, "a test was skipped")                                                                        \
	ROW(EXIT_INTERRUPTED, 130, "interrupted by a signal; what was done is kept")
/* clang-format on */

#define EXIT_CODE_VALUE(name, value, text) name = value,
enum exit_code { EXIT_CODES(EXIT_CODE_VALUE) };

/* Whether a run began and ended in order: its files are there, whatever they report. @param status  of child_wait() */
static inline bool
exit_code_is_of_run(int status)
{
	return status == EXIT_DONE || status == EXIT_FAILED || status == EXIT_UNFINISHED || status == EXIT_INTERRUPTED;
}
