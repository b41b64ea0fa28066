/* SPDX-License-Identifier: BSD-3-Clause */
/* Time, rate and size: one unit each inside the program, many spellings in files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PS_PER_NS 1000ULL
#define PS_PER_US 1000000ULL
#define PS_PER_MS 1000000000ULL
#define PS_PER_S 1000000000000ULL
#define TIME_NEVER UINT64_MAX

/* "2us", "1.5ms", "600 ns", "10ps", "3s" -> picoseconds. A bare number is refused. @return 0 or -EINVAL, -ERANGE */
int units_parse_time(const char *text, uint64_t *time_ps);
/* "100Gbps", "25 Gb/s", "50Mb/s", "1000bps" -> bits per second (decimal prefixes). @return 0 or -EINVAL, -ERANGE */
int units_parse_rate(const char *text, uint64_t *rate_bps);
/* "360MB" (decimal), "64KiB" (binary), "4096B", "4096" -> bytes. @return 0 or -EINVAL, -ERANGE */
int units_parse_bytes(const char *text, uint64_t *size_bytes);

/* The shortest exact spelling with a unit; always NUL-terminated. @return buf */
char *units_format_time(uint64_t time_ps, char *buf, size_t cap);
char *units_format_rate(uint64_t rate_bps, char *buf, size_t cap);
char *units_format_bytes(uint64_t size_bytes, char *buf, size_t cap);

/*
 * How long bytes occupy a link.
 * @param quantum_ps 0 for exact (rounded to the nearest picosecond), else the result is floored to a multiple of it
 */
static inline uint64_t
units_serialize_ps(uint64_t bytes, uint64_t rate_bps, uint64_t quantum_ps)
{
	unsigned __int128 bits_ps = (unsigned __int128)bytes * 8 * PS_PER_S;
	uint64_t ps = (uint64_t)((bits_ps + rate_bps / 2) / rate_bps);

	return quantum_ps != 0 ? (uint64_t)(bits_ps / rate_bps) / quantum_ps * quantum_ps : ps;
}

/* Whole numbers as people write them: decimal digits alone, where strtoull() takes blanks, signs and overflows too. */

/* Reads the number that text begins with. @return what stands behind it, or NULL without value: no digits, or too large */
const char *number_scan(const char *text, uint64_t *value);

/* @return whether all of text is a number from min to max; value is left alone otherwise */
bool number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *value);
