/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names come from a stream that may be damaged or hostile: nothing of it reaches a graph unescaped, and none of it that is
 * not plain (common/printable.h).
 */
#pragma once

#include <stdio.h>

/* Formats, then writes as a quoted DOT string, "\n" becoming a line break. What is longer than 2 KB is cut. */
void escape_dotf(FILE *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
