/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A line of progress on a terminal, written over again and again, from threads that must not wait: a terminal that is held
 * (Ctrl-S), or that nobody reads any more, gets none.
 */
#pragma once

/* Shows a line in the place of the last one; where standard error is no terminal, a line a minute. */
void progress_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
