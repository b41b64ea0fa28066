/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names come from a stream that may be damaged or hostile: nothing of it reaches a page, a graph or a terminal
 * unescaped. Bytes that are no UTF-8, and control characters, become '?'.
 */
#pragma once

#include <stdio.h>

/* Copies what is safe to print. @param cap  at least 1; a cut never splits a character  @return buf */
char *escape_plain(const char *text, char *buf, size_t cap);

/* For text and double-quoted attributes of HTML, SVG and XML. */
void escape_html(FILE *to, const char *text);
/* Formats, then escapes the whole. What is longer than 2 KB is cut. */
void escape_htmlf(FILE *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Formats, then writes as a quoted DOT string, "\n" becoming a line break. What is longer than 2 KB is cut. */
void escape_dotf(FILE *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
