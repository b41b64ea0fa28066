/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names come from a stream that may be damaged or hostile: nothing of it reaches a page or a graph unescaped, and none of
 * it that is not plain (common/plain.h).
 */
#pragma once

#include <stdio.h>

/* For text and double-quoted attributes of HTML, SVG and XML. */
void escape_html(FILE *to, const char *text);
/* Formats, then escapes the whole. What is longer than 2 KB is cut. */
void escape_htmlf(FILE *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Formats, then writes as a quoted DOT string, "\n" becoming a line break. What is longer than 2 KB is cut. */
void escape_dotf(FILE *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
