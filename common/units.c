/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/units.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

/* Whole numbers. */

const char *
number_scan(const char *text, uint64_t *value)
{
	uint64_t read;
	char *end;

	if (*text < '0' || *text > '9')
		return NULL;
	errno = 0;
	read = strtoull(text, &end, 10);
	if (errno != 0)
		return NULL;
	*value = read;
	return end;
}

bool
number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	uint64_t read;
	const char *end = number_scan(text, &read);

	if (end == NULL || *end != '\0' || read < min || read > max)
		return false;
	*value = read;
	return true;
}

/* Units. */

/* One spelling of a unit. Formatting tries those with print set, parsing takes all. */
struct unit {
	const char *name;
	uint64_t scale;
	bool print;
};

static const struct unit time_units[] = {
	{ "s", PS_PER_S, true },   { "ms", PS_PER_MS, true }, { "us", PS_PER_US, true },
	{ "ns", PS_PER_NS, true }, { "ps", 1, true },
};

static const struct unit rate_units[] = {
	{ "Tbps", 1000000000000ULL, true },
	{ "Gbps", 1000000000ULL, true },
	{ "Mbps", 1000000ULL, true },
	{ "Kbps", 1000ULL, true },
	{ "bps", 1, true },
	{ "kbps", 1000ULL, false },
	{ "Tb/s", 1000000000000ULL, false },
	{ "Gb/s", 1000000000ULL, false },
	{ "Mb/s", 1000000ULL, false },
	{ "Kb/s", 1000ULL, false },
	{ "kb/s", 1000ULL, false },
	{ "b/s", 1, false },
	{ "bit/s", 1, false },
	{ "Gbit/s", 1000000000ULL, false },
	{ "Mbit/s", 1000000ULL, false },
};

static const struct unit bytes_units[] = {
	{ "TB", 1000000000000ULL, true },
	{ "GB", 1000000000ULL, true },
	{ "MB", 1000000ULL, true },
	{ "KB", 1000ULL, true },
	{ "B", 1, true },
	{ "kB", 1000ULL, false },
	{ "TiB", 1ULL << 40, true },
	{ "GiB", 1ULL << 30, true },
	{ "MiB", 1ULL << 20, true },
	{ "KiB", 1ULL << 10, true },
	{ "", 1, false },
};

#define MAX_DIGITS 19 /* a decimal of this many fits uint64_t */

/* "12.5xyz" -> 125, 1 fractional digit, rest at "xyz". */
static int
parse_decimal(const char *text, uint64_t *mantissa, unsigned int *fraction_digits, const char **rest)
{
	unsigned int digits = 0, significant = 0;
	bool point = false;

	*mantissa = 0;
	*fraction_digits = 0;
	for (; isdigit((unsigned char)*text) || (*text == '.' && !point); text++) {
		if (*text == '.') {
			point = true;
			continue;
		}
		digits++;
		significant += *mantissa != 0 || *text != '0';
		if (significant > MAX_DIGITS || (point && *fraction_digits == MAX_DIGITS))
			return -ERANGE;
		*mantissa = *mantissa * 10 + (uint64_t)(*text - '0');
		*fraction_digits += point;
	}
	*rest = text;
	return digits != 0 && !(point && *fraction_digits == 0) ? 0 : -EINVAL;
}

/* @param whole  a value between two integers is refused instead of rounded */
static int
parse_unit(const char *text, const struct unit *units, size_t count, bool whole, uint64_t *value)
{
	unsigned __int128 scaled, divisor = 1;
	unsigned int fraction_digits;
	const char *rest;
	uint64_t mantissa;
	int rc;

	while (isspace((unsigned char)*text))
		text++;
	rc = parse_decimal(text, &mantissa, &fraction_digits, &rest);
	if (rc != 0)
		return rc;
	while (*rest == ' ')
		rest++;
	for (size_t i = 0; i < count; i++) {
		if (strcmp(rest, units[i].name) != 0)
			continue;
		while (fraction_digits-- != 0)
			divisor *= 10;
		scaled = (unsigned __int128)mantissa * units[i].scale;
		if (whole && scaled % divisor != 0)
			return -EINVAL;
		scaled = (scaled + divisor / 2) / divisor;
		if (scaled >= UINT64_MAX)
			return -ERANGE;
		*value = (uint64_t)scaled;
		return 0;
	}
	return -EINVAL;
}

int
units_parse_time(const char *text, uint64_t *time_ps)
{
	return parse_unit(text, time_units, ARRAY_LEN(time_units), false, time_ps);
}

int
units_parse_rate(const char *text, uint64_t *rate_bps)
{
	return parse_unit(text, rate_units, ARRAY_LEN(rate_units), true, rate_bps);
}

int
units_parse_bytes(const char *text, uint64_t *size_bytes)
{
	return parse_unit(text, bytes_units, ARRAY_LEN(bytes_units), true, size_bytes);
}

/* value / scale with all its decimals; false where they do not end within the buffer's digits (binary units). */
static bool
format_one(uint64_t value, const struct unit *unit, char *buf, size_t cap)
{
	uint64_t remainder = value % unit->scale;
	int used = snprintf(buf, cap, "%llu", (unsigned long long)(value / unit->scale));

	if (remainder != 0) {
		buf[used++] = '.';
		for (int digit = 0; remainder != 0; digit++) {
			unsigned __int128 next = (unsigned __int128)remainder * 10;

			if (digit == 12)
				return false;
			buf[used++] = (char)('0' + (int)(next / unit->scale));
			remainder = (uint64_t)(next % unit->scale);
		}
	}
	snprintf(buf + used, cap - (size_t)used, "%s", unit->name);
	return true;
}

static char *
format_unit(uint64_t value, const struct unit *units, size_t count, char *buf, size_t cap)
{
	char best[64] = "", text[64];

	for (size_t i = 0; i < count; i++) {
		if (!units[i].print || (value < units[i].scale && units[i].scale != 1))
			continue;
		if (format_one(value, &units[i], text, sizeof(text)) && (best[0] == '\0' || strlen(text) < strlen(best)))
			memcpy(best, text, sizeof(best));
	}
	snprintf(buf, cap, "%s", best);
	return buf;
}

char *
units_format_time(uint64_t time_ps, char *buf, size_t cap)
{
	if (time_ps == TIME_NEVER) {
		snprintf(buf, cap, "never");
		return buf;
	}
	return format_unit(time_ps, time_units, ARRAY_LEN(time_units), buf, cap);
}

char *
units_format_rate(uint64_t rate_bps, char *buf, size_t cap)
{
	return format_unit(rate_bps, rate_units, ARRAY_LEN(rate_units), buf, cap);
}

char *
units_format_bytes(uint64_t size_bytes, char *buf, size_t cap)
{
	return format_unit(size_bytes, bytes_units, ARRAY_LEN(bytes_units), buf, cap);
}
