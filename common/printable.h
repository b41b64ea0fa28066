/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text from other parties (hosts, files, records) may be damaged or hostile: it passes here before it reaches a
 * terminal or a file that people read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Copies text that is safe to print: bytes that are no UTF-8, and control characters but the line feed, become '?',
 * and so do controls of direction, separators of lines and characters of no width.
 * @param buf  may be text itself
 * @param cap  at least 1; truncation never splits a character
 * @return buf
 */
char *printable_text(const char *text, char *buf, size_t cap);

/*
 * Makes text printable within one line of a table or a sentence: printable_text() that replaces line feeds by '?' as
 * well. Longer text is truncated.
 */
#define PLAIN_LINE_BYTES 4096 /* as long as a path */
struct plain_line {
	char text[PLAIN_LINE_BYTES];
};
struct plain_line plain_line(const char *text);

/*
 * Names the first character that plain_line() would replace: "U+202E", or "byte 0xff" where the text is no UTF-8.
 * @param name  of PLAIN_NAME_BYTES
 * @return false: all characters print
 */
#define PLAIN_NAME_BYTES 16
bool plain_find_unprintable(const char *text, char *name);

/*
 * The byte-order mark that editors of Windows put before a text in UTF-8 has no meaning. @return text, behind its
 * byte-order mark if it has one
 */
const char *plain_begin(const char *text);
