/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The points are those that the HPCC artifact (SIGCOMM 2019, github.com/alibaba-edu/High-Precision-Congestion-Control,
 * traffic_gen/) reads the distributions as; evaluations since then take them from there.
 */
#include "workload/traffic/generator.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/cfg/cfg.h"
#include "common/printable.h"
#include "common/units.h"

/* A distribution by points. */

#define MAX_POINTS 100000
#define MAX_LINE 256
#define PERCENT (CDF_ONE / 100)

struct reader {
	const char *name;
	int line;
	struct err *err;
	size_t cap;
};

static int read_line(struct size_cdf *cdf, struct reader *reader, char *text);
static int check_end(const struct size_cdf *cdf, const struct reader *reader);

int
size_cdf_read(struct size_cdf *cdf, const char *path, const char *name, struct err *err)
{
	struct reader reader = { .name = name, .err = err };
	FILE *file = cfg_open_file(path);
	char text[MAX_LINE];
	int ret = 0;

	*cdf = (struct size_cdf){ 0 };
	if (file == NULL)
		return err_set(err, -EINVAL, "%s: %s; a file of lines \"BYTES PERCENT\" would be right", name,
			       strerror(errno));
	while (ret == 0 && fgets(text, sizeof(text), file) != NULL) {
		reader.line++;
		if (strchr(text, '\n') == NULL && strlen(text) == sizeof(text) - 1)
			ret = err_set(err, -EINVAL,
				      "%s:%d: a line of more than %d characters; \"BYTES PERCENT\" would be right", name,
				      reader.line, MAX_LINE - 2);
		else
			ret = read_line(cdf, &reader, reader.line == 1 ? text + (plain_begin(text) - text) : text);
	}
	if (ret == 0 && ferror(file))
		ret = err_set(err, -EIO, "%s: it cannot be read", name);
	fclose(file);
	if (ret == 0)
		ret = check_end(cdf, &reader);
	if (ret < 0)
		size_cdf_fini(cdf);
	return ret;
}

void
size_cdf_fixed(struct size_cdf *cdf, struct cdf_point points[2], uint64_t bytes)
{
	points[0] = (struct cdf_point){ bytes, 0 };
	points[1] = (struct cdf_point){ bytes, CDF_ONE };
	*cdf = (struct size_cdf){ .points = points, .count = 2 };
}

void
size_cdf_fini(struct size_cdf *cdf)
{
	free(cdf->owned);
	*cdf = (struct size_cdf){ 0 };
}

/* "22.93": up to 10 digits behind the point. @return what follows, or NULL */
static const char *
scan_percent(const char *text, uint64_t *share)
{
	uint64_t whole, unit = PERCENT;

	text = number_scan(text, &whole);
	if (text == NULL || whole > 100)
		return NULL;
	*share = whole * PERCENT;
	if (*text != '.')
		return text;
	for (text++; *text >= '0' && *text <= '9'; text++) {
		unit /= 10;
		if (unit == 0)
			return NULL;
		*share += (uint64_t)(*text - '0') * unit;
	}
	return *share <= CDF_ONE ? text : NULL;
}

/* Checks a point against the previous ones. @return 0 or -EINVAL with err set */
static int
check_point(const struct size_cdf *cdf, const struct reader *reader, const struct cdf_point *point)
{
	const struct cdf_point *last = cdf->count != 0 ? &cdf->points[cdf->count - 1] : NULL;

	if (point->bytes > CDF_MAX_BYTES)
		return err_set(reader->err, -EINVAL, "%s:%d: %llu B; a flow is one message, of %llu B at most",
			       reader->name, reader->line, (unsigned long long)point->bytes,
			       (unsigned long long)CDF_MAX_BYTES);
	if (last == NULL && point->share != 0)
		return err_set(
			reader->err, -EINVAL,
			"%s:%d: the first share is %g %%; a first line \"0 0\" would be right, or the smallest size with 0",
			reader->name, reader->line, (double)point->share / PERCENT);
	if (last != NULL && (point->bytes < last->bytes || point->share < last->share))
		return err_set(reader->err, -EINVAL,
			       "%s:%d: \"%llu %g\" falls below \"%llu %g\" before it; sizes and shares that never fall "
			       "would be right",
			       reader->name, reader->line, (unsigned long long)point->bytes, (double)point->share / PERCENT,
			       (unsigned long long)last->bytes, (double)last->share / PERCENT);
	if (cdf->count == MAX_POINTS)
		return err_set(reader->err, -EINVAL, "%s:%d: more than %d points; fewer would be right", reader->name,
			       reader->line, MAX_POINTS);
	return 0;
}

static int
read_line(struct size_cdf *cdf, struct reader *reader, char *text)
{
	struct cdf_point point;
	const char *at, *blank;
	int ret;

	text[strcspn(text, "#\r\n")] = '\0';
	text += strspn(text, " \t");
	if (*text == '\0')
		return 0;
	blank = number_scan(text, &point.bytes);
	at = blank != NULL ? scan_percent(blank + strspn(blank, " \t"), &point.share) : NULL;
	if (at == NULL || at[strspn(at, " \t")] != '\0')
		return err_set(reader->err, -EINVAL,
			       "%s:%d: found \"%s\"; \"BYTES PERCENT\" would be right, as \"10000 15.5\": whole bytes, 0 "
			       "to 100 with "
			       "up to 10 digits behind the point",
			       reader->name, reader->line, text);
	ret = check_point(cdf, reader, &point);
	if (ret < 0)
		return ret;
	cdf->owned = grow(cdf->owned, &reader->cap, cdf->count + 1u, sizeof(*cdf->owned), "sizes of flows");
	cdf->points = cdf->owned;
	cdf->owned[cdf->count++] = point;
	return 0;
}

static int
check_end(const struct size_cdf *cdf, const struct reader *reader)
{
	const struct cdf_point *last = cdf->count != 0 ? &cdf->points[cdf->count - 1] : NULL;

	if (last == NULL)
		return err_set(reader->err, -EINVAL, "%s: it has no points; lines \"BYTES PERCENT\" would be right",
			       reader->name);
	if (last->share != CDF_ONE)
		return err_set(reader->err, -EINVAL, "%s:%d: the last share is %g %%; a last line with 100 would be right",
			       reader->name, reader->line, (double)last->share / PERCENT);
	if (last->bytes == 0)
		return err_set(reader->err, -EINVAL, "%s:%d: every flow has 0 B; sizes above 0 would be right",
			       reader->name, reader->line);
	return 0;
}

uint64_t
size_cdf_mean(const struct size_cdf *cdf)
{
	unsigned __int128 twice = 0; /* shares x bytes */

	for (uint32_t i = 1; i < cdf->count; i++) {
		const struct cdf_point *a = &cdf->points[i - 1], *b = &cdf->points[i];

		twice += (unsigned __int128)(b->share - a->share) * (a->bytes + b->bytes);
	}
	return (uint64_t)(twice * CDF_MEAN_ONE / (2 * CDF_ONE));
}

uint64_t
size_cdf_draw(const struct size_cdf *cdf, struct prng *prng)
{
	uint64_t share = prng_below(prng, CDF_ONE), span, bytes;
	uint32_t low = 0, high = cdf->count - 1;

	while (high - low > 1) { /* points[low].share <= share < points[high].share */
		uint32_t middle = low + (high - low) / 2;

		if (cdf->points[middle].share <= share)
			low = middle;
		else
			high = middle;
	}
	span = cdf->points[high].share - cdf->points[low].share;
	bytes = (uint64_t)(((unsigned __int128)(cdf->points[high].bytes - cdf->points[low].bytes) *
				    (share - cdf->points[low].share) +
			    span / 2) /
			   span);
	bytes += cdf->points[low].bytes;
	return bytes != 0 ? bytes : 1;
}

#define P(bytes, hundredths)                                                                                               \
	{                                                                                                                  \
		bytes, (uint64_t)(hundredths) * (CDF_ONE / 10000)                                                          \
	}

/* DCTCP (Alizadeh et al., SIGCOMM 2010), Fig. 4. */
static const struct cdf_point websearch[] = {
	P(0, 0),         P(10000, 1500),   P(20000, 2000),   P(30000, 3000),   P(50000, 4000),    P(80000, 5300),
	P(200000, 6000), P(1000000, 7000), P(2000000, 8000), P(5000000, 9000), P(10000000, 9700), P(30000000, 10000),
};

/* Inside the Social Network's (Datacenter) Network (Roy et al., SIGCOMM 2015): Hadoop. */
static const struct cdf_point hadoop[] = {
	P(0, 0),         P(100, 100),     P(200, 200),      P(300, 500),      P(350, 1500),
	P(400, 2000),    P(500, 3000),    P(600, 4000),     P(700, 5000),     P(1000, 6000),
	P(2000, 6700),   P(7000, 7000),   P(30000, 7200),   P(50000, 8200),   P(80000, 8700),
	P(120000, 9000), P(300000, 9500), P(1000000, 9750), P(2000000, 9900), P(10000000, 10000),
};

/* Storage traffic of Alibaba, 2019 (HPCC, Li et al., SIGCOMM 2019). */
static const struct cdf_point alistorage[] = {
	P(0, 0),        P(4000, 2293),   P(8000, 6921),   P(16000, 8061),    P(32000, 9047),
	P(64000, 9353), P(128000, 9677), P(256000, 9753), P(2000000, 10000),
};

#undef P

#define SIZES(X)                                                                                                           \
	X(websearch, "Web search: DCTCP, SIGCOMM 2010, Fig. 4; 1.7 MB on average")                                         \
	X(hadoop, "Facebook's Hadoop: Roy et al., SIGCOMM 2015; 120 kB on average")                                        \
	X(alistorage, "Alibaba's storage, 2019: HPCC, SIGCOMM 2019; 41 kB on average")

enum sizes_value {
	SIZES_NONE,
#define VALUE(name, doc) SIZES_##name,
	SIZES(VALUE)
};

const struct cfg_choice traffic_sizes[] = {
#define CHOICE(name_, doc_) { .name = #name_, .value = SIZES_##name_, .doc = doc_ },
	SIZES(CHOICE){ 0 },
};

static const struct size_cdf cdfs[] = {
#define CDF(name, doc) [SIZES_##name] = { .points = name, .count = ARRAY_LEN(name) },
	SIZES(CDF)
};

struct size_cdf
traffic_sizes_cdf(int choice)
{
	return cdfs[choice];
}
