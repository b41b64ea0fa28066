/* SPDX-License-Identifier: BSD-3-Clause */
/* How numbers look to people: one spelling for all reports. Results are values: fmt_count(n).text as an argument. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct fmt {
	char text[48];
};

/* The unit that all times of one report have, so that they can be compared at a glance. */
struct fmt_unit {
	const char *name;
	uint64_t ps;
};

/* @param span_ps  the longest duration to be shown: 10 ms and more in ms, 10 us and more in us, less in ns */
struct fmt_unit fmt_unit_for(uint64_t span_ps);
/* @return a time of a sum or an estimate, in whole picoseconds: 0 of a negative one, 2^63 of a larger one */
uint64_t fmt_ps(double ps);
/* "46.973 ms", three decimals. */
struct fmt fmt_time(struct fmt_unit unit, uint64_t time_ps);
/* "46.973": where the column names the unit. */
struct fmt fmt_time_bare(struct fmt_unit unit, uint64_t time_ps);
/*
 * Rounds the parts of a whole so that they add up to it as a report shows them: those with the largest remainders upwards
 * (Hamilton's method). Parts that miss the whole by more than rounding does are rounded each by itself.
 * @param parts  [count] not negative; replaced by whole steps  @param step  what the last decimal shown is worth
 * @return 0 or -ENOMEM: nothing is changed
 */
int fmt_add_up(double *parts, uint32_t count, double whole, double step);
/* "1,234,567" */
struct fmt fmt_count(uint64_t count);
/* Three digits and a decimal prefix: "0.42", "37.1", "412 k", "1.07 M". */
struct fmt fmt_score(double score);
/* "512 B", "56.3 kB" (decimal). */
struct fmt fmt_bytes(double bytes);
/* A change as a share: 0.528 -> "+52.8 %". */
struct fmt fmt_change(double ratio);

/* Formats behind the text that buf already holds; truncated where cap ends. */
void fmt_append(char *buf, size_t cap, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/*
 * Names are from a stream that may be damaged or hostile: nothing of it reaches a graph unescaped, and only plain text
 * of it does (common/printable.h).
 */

/* Formats, then writes as a quoted DOT string, "\n" becoming a line break. Text over 2 KB is truncated. */
void escape_dotf(FILE *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
