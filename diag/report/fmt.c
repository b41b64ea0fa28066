/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/report/fmt.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/printable.h"
#include "common/units.h"

struct fmt_unit
fmt_unit_for(uint64_t span_ps)
{
	if (span_ps >= 10 * PS_PER_MS)
		return (struct fmt_unit){ "ms", PS_PER_MS };
	if (span_ps >= 10 * PS_PER_US)
		return (struct fmt_unit){ "us", PS_PER_US };
	return (struct fmt_unit){ "ns", PS_PER_NS };
}

#define MOST_PS 0x1p63

uint64_t
fmt_ps(double ps)
{
	return ps > 0 ? (uint64_t)fmin(ps, MOST_PS) : 0;
}

struct fmt
fmt_time_bare(struct fmt_unit unit, uint64_t time_ps)
{
	struct fmt out;

	snprintf(out.text, sizeof(out.text), "%.3f", (double)time_ps / (double)unit.ps);
	return out;
}

struct fmt
fmt_time(struct fmt_unit unit, uint64_t time_ps)
{
	struct fmt out;

	snprintf(out.text, sizeof(out.text), "%.3f %s", (double)time_ps / (double)unit.ps, unit.name);
	return out;
}

struct remainder {
	double of_step;
	uint32_t at;
};

static int
cmp_remainder(const void *pa, const void *pb)
{
	const struct remainder *a = pa, *b = pb;

	if (a->of_step != b->of_step)
		return a->of_step > b->of_step ? -1 : 1;
	return a->at < b->at ? -1 : 1;
}

static void
round_each(double *parts, uint32_t count, double step)
{
	for (uint32_t i = 0; i < count; i++)
		parts[i] = round(parts[i] / step) * step;
}

int
fmt_add_up(double *parts, uint32_t count, double whole, double step)
{
	struct remainder *order;
	double left = round(whole / step);

	for (uint32_t i = 0; i < count; i++)
		left -= floor(parts[i] / step);
	if (left < 0 || left > count) {
		round_each(parts, count, step);
		return 0;
	}
	order = calloc((size_t)count + 1, sizeof(*order));
	if (order == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		double steps = floor(parts[i] / step);

		order[i] = (struct remainder){ parts[i] / step - steps, i };
		parts[i] = steps * step;
	}
	qsort(order, count, sizeof(*order), cmp_remainder);
	for (uint32_t i = 0; i < (uint32_t)left; i++)
		parts[order[i].at] += step;
	free(order);
	return 0;
}

struct fmt
fmt_count(uint64_t count)
{
	struct fmt out;
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, count), at = 0;

	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			out.text[at++] = ',';
		out.text[at++] = digits[i];
	}
	out.text[at] = '\0';
	return out;
}

/* @param places  decimals where value is below one step of prefixes */
static struct fmt
with_prefix(double value, const char *unit, int places)
{
	static const char *const prefixes[] = { "", "k", "M", "G", "T", "P", "E" };
	size_t i = 0;
	struct fmt out;

	if (!isfinite(value))
		value = 0;
	/* 999.5 would print as 1000 */
	for (; fabs(value) >= 999.5 && i + 1 < ARRAY_LEN(prefixes); i++)
		value /= 1000;
	if (i > 0)
		places = fabs(value) >= 99.95 ? 0 : fabs(value) >= 9.995 ? 1 : 2;
	snprintf(out.text, sizeof(out.text), "%.*f%s%s%s", places, value, i > 0 || unit[0] != '\0' ? " " : "", prefixes[i],
		 unit);
	return out;
}

struct fmt
fmt_score(double score)
{
	double size = fabs(score);

	return with_prefix(score, "", size == 0 || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

struct fmt
fmt_bytes(double bytes)
{
	return with_prefix(bytes, "B", 0);
}

struct fmt
fmt_change(double ratio)
{
	struct fmt out;

	snprintf(out.text, sizeof(out.text), "%+.1f %%", isfinite(ratio) ? 100 * ratio : 0);
	if (strcmp(out.text, "-0.0 %") == 0)
		strcpy(out.text, "+0.0 %");
	return out;
}

void
fmt_append(char *buf, size_t cap, const char *fmt, ...)
{
	va_list ap;
	size_t used = 0;

	while (used + 1 < cap && buf[used] != '\0')
		used++;
	va_start(ap, fmt);
	vsnprintf(buf + used, cap - used, fmt, ap);
	va_end(ap);
}

#define ESCAPE_CAP 2048

void
escape_dotf(FILE *to, const char *fmt, ...)
{
	char text[ESCAPE_CAP], safe[ESCAPE_CAP];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printable_text(text, safe, sizeof(safe));
	fputc('"', to);
	for (const char *p = safe; *p != '\0'; p++) {
		if (*p == '\n') {
			fputs("\\n", to);
			continue;
		}
		if (*p == '"' || *p == '\\')
			fputc('\\', to);
		fputc(*p, to);
	}
	fputc('"', to);
}
