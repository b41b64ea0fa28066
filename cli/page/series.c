/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/page/element.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/run_files.h"
#include "store/schema.h"

/* Series of each of the two tables; further ports or queues are only counted. */
#define MAX_SERIES 512
#define MAX_BINS 1000     /* of a series: samples beyond that are joined */
#define MAX_VALUES 200000 /* of a table's series together: bins of many series are longer */
#define MIN_BINS 50
#define MAX_KEYS 600   /* of the scenario's configuration */
#define SHORTEST_RUN 3 /* equal numbers as one pair [number, times], as in the page's columns */
#define FULL 1000      /* shares are parts per thousand */
#define QUEUE_UNIT 256 /* bytes */
#define FRAME_GAP 20   /* preamble and gap of a frame, which octets of ports leave out (RFC 3635) */

/* Intervals between samples, joined to bins. */
struct grid {
	sqlite3_int64 *ends_ns; /* [samples] */
	size_t samples, joined; /* joined: samples of one bin */
};

/* Quantities that a series adds up in each of its bins. */
enum value {
	UTILIZATION,
	DROPS, /* of a port */
	QUEUE,
	PAUSED,
	PAUSING,
	MARKS,
	VALUES,
};

static const char *const value_keys[VALUES] = { "utilization", "drops", "queue", "paused", "pausing", "marks" };

struct series {
	double *bins[VALUES]; /* [bins_of(grid)]; NULL: not of this table */
	sqlite3_int64 last[VALUES];
};

static size_t
bins_of(const struct grid *grid)
{
	return (grid->samples + grid->joined - 1) / grid->joined;
}

static sqlite3_int64
bin_end_ns(const struct grid *grid, size_t bin)
{
	size_t last = (bin + 1) * grid->joined - 1;

	return grid->ends_ns[last < grid->samples ? last : grid->samples - 1];
}

static double
bin_length_ns(const struct grid *grid, size_t bin)
{
	return (double)(bin_end_ns(grid, bin) - (bin > 0 ? bin_end_ns(grid, bin - 1) : 0));
}

static int
by_time(const void *a, const void *b)
{
	sqlite3_int64 x = *(const sqlite3_int64 *)a, y = *(const sqlite3_int64 *)b;

	return (x > y) - (x < y);
}

/* @return the bin of a sample at this time */
static size_t
bin_at(const struct grid *grid, sqlite3_int64 time_ns)
{
	const sqlite3_int64 *found = bsearch(&time_ns, grid->ends_ns, grid->samples, sizeof(*grid->ends_ns), by_time);

	return found != NULL ? (size_t)(found - grid->ends_ns) / grid->joined : 0;
}

/* One number that a query gives; 0 without one. */
static sqlite3_int64
number_of(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	sqlite3_int64 value = 0;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
		value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return value;
}

#define SAMPLES "SELECT DISTINCT time_ns FROM port_series UNION SELECT DISTINCT time_ns FROM queue_series"
/* The widest of each table: what queued or paused first, then what carried most. */
#define SHOWN_PORTS                                                                                                        \
	"SELECT c.port AS port FROM port_counters c WHERE c.port IN (SELECT DISTINCT port FROM port_series) ORDER BY "     \
	"c.port IN (SELECT port FROM queue_series) DESC, c.tx_bytes DESC LIMIT ?1"
#define SHOWN_QUEUES                                                                                                       \
	"SELECT port, class FROM queue_series GROUP BY port, class "                                                       \
	"ORDER BY max(watermark_bytes) + max(rx_pause_duration_ns) + max(tx_pause_duration_ns) DESC LIMIT ?1"

/* @return 0, or -ENOMEM */
static int
grid_read(sqlite3 *db, struct grid *grid)
{
	sqlite3_int64 series = number_of(db, "SELECT count(DISTINCT port) FROM port_series");
	size_t cap = (size_t)number_of(db, "SELECT count(*) FROM (" SAMPLES ")"), bins;
	sqlite3_stmt *stmt = NULL;

	if (cap == 0)
		return 0;
	grid->ends_ns = calloc(cap, sizeof(*grid->ends_ns));
	if (grid->ends_ns == NULL)
		return -ENOMEM;
	if (sqlite3_prepare_v2(db, SAMPLES " ORDER BY 1", -1, &stmt, NULL) == SQLITE_OK) {
		while (grid->samples < cap && sqlite3_step(stmt) == SQLITE_ROW)
			grid->ends_ns[grid->samples++] = sqlite3_column_int64(stmt, 0);
	}
	sqlite3_finalize(stmt);
	series = series > MAX_SERIES ? MAX_SERIES : series < 1 ? 1 : series;
	bins = MAX_VALUES / (size_t)series;
	bins = bins > MAX_BINS ? MAX_BINS : bins < MIN_BINS ? MIN_BINS : bins;
	grid->joined = (grid->samples + bins - 1) / bins;
	grid->joined = grid->joined > 0 ? grid->joined : 1;
	return 0;
}

/* @return NULL where all are 0, or without memory */
static json_t *
column(const double *values, size_t count, double unit, double most)
{
	json_t *array = json_array();
	bool some = false;

	for (size_t i = 0, n; i < count; i += n) {
		double value = fmin(round(values[i] / unit), most);

		for (n = 1; i + n < count && fmin(round(values[i + n] / unit), most) == value; n++)
			;
		if (n < SHORTEST_RUN)
			n = 1;
		some |= value != 0;
		json_array_append_new(array, n == 1 ? json_integer((json_int_t)value)
						    : json_pack("[I, I]", (json_int_t)value, (json_int_t)n));
	}
	if (some)
		return array;
	json_decref(array);
	return NULL;
}

static json_t *
times(const struct grid *grid)
{
	json_t *array = json_array();

	for (size_t i = 0; i < bins_of(grid); i++)
		json_array_append_new(array, json_integer(bin_end_ns(grid, i) - (i > 0 ? bin_end_ns(grid, i - 1) : 0)));
	return array;
}

/* @return the increase of a cumulative counter since the previous row */
static double
gained(struct series *series, enum value of, sqlite3_int64 now)
{
	sqlite3_int64 before = series->last[of];

	series->last[of] = now;
	return now > before ? (double)(now - before) : 0;
}

/* Shares of time or rate: from what was added up to parts per thousand. */
static void
to_shares(double *bins, const struct grid *grid, double per_ns)
{
	for (size_t i = 0; i < bins_of(grid); i++)
		bins[i] = bin_length_ns(grid, i) > 0 ? FULL * bins[i] / (bin_length_ns(grid, i) * per_ns) : 0;
}

/* @param item  gets a column of each value that is not 0 throughout */
static void
series_put(struct series *series, const struct grid *grid, json_t *item)
{
	for (int of = 0; of < VALUES; of++) {
		bool share = of == UTILIZATION || of == PAUSED || of == PAUSING;
		json_t *values = series->bins[of] == NULL ? NULL
							  : column(series->bins[of], bins_of(grid),
								   of == QUEUE ? QUEUE_UNIT : 1, share ? FULL : HUGE_VAL);

		if (values != NULL)
			json_object_set_new(item, value_keys[of], values);
	}
}

static void
series_reset(struct series *series, const struct grid *grid)
{
	for (int of = 0; of < VALUES; of++) {
		if (series->bins[of] != NULL)
			memset(series->bins[of], 0, bins_of(grid) * sizeof(double));
		series->last[of] = 0;
	}
}

/* @param first, last  of enum value  @return 0, or -ENOMEM: series_fini() frees what there is */
static int
series_init(struct series *series, const struct grid *grid, enum value first, enum value last)
{
	for (int of = (int)first; of <= (int)last; of++) {
		series->bins[of] = calloc(bins_of(grid) > 0 ? bins_of(grid) : 1, sizeof(double));
		if (series->bins[of] == NULL)
			return -ENOMEM;
	}
	return 0;
}

static void
series_fini(struct series *series)
{
	for (int of = 0; of < VALUES; of++)
		free(series->bins[of]);
}

static void
port_row(struct series *series, const struct grid *grid, sqlite3_stmt *stmt)
{
	size_t bin = bin_at(grid, sqlite3_column_int64(stmt, 3));
	sqlite3_int64 bytes = sqlite3_column_int64(stmt, 4) + FRAME_GAP * sqlite3_column_int64(stmt, 5);

	series->bins[UTILIZATION][bin] += gained(series, UTILIZATION, bytes);
	series->bins[DROPS][bin] += gained(series, DROPS, sqlite3_column_int64(stmt, 6));
}

static void
queue_row(struct series *series, const struct grid *grid, sqlite3_stmt *stmt)
{
	size_t bin = bin_at(grid, sqlite3_column_int64(stmt, 3));
	double depth = sqlite3_column_double(stmt, 4);

	if (depth > series->bins[QUEUE][bin])
		series->bins[QUEUE][bin] = depth;
	series->bins[PAUSED][bin] += gained(series, PAUSED, sqlite3_column_int64(stmt, 5));
	series->bins[PAUSING][bin] += gained(series, PAUSING, sqlite3_column_int64(stmt, 6));
	series->bins[MARKS][bin] += gained(series, MARKS, sqlite3_column_int64(stmt, 7));
}

/* A table of the store, and what becomes of its rows: name, rate, class, time, then its own. */
struct source {
	const char *key, *sql, *all; /* all: counts its series */
	enum value first, last;
	void (*row)(struct series *series, const struct grid *grid, sqlite3_stmt *stmt);
};

static const struct source sources[] = {
	{ .key = "ports",
	  .sql = "SELECT p.name, p.rate_bps, -1, s.time_ns, s.tx_bytes, s.tx_packets, s.drops FROM port_series s "
		 "JOIN ports p USING (port) WHERE s.port IN (" SHOWN_PORTS ") ORDER BY s.port, s.time_ns",
	  .all = "SELECT count(DISTINCT port) FROM port_series",
	  .first = UTILIZATION,
	  .last = DROPS,
	  .row = port_row },
	{ .key = "queues",
	  .sql = "SELECT p.name, p.rate_bps, s.class, s.time_ns, max(s.bytes, s.watermark_bytes), s.rx_pause_duration_ns, "
		 "s.tx_pause_duration_ns, s.ecn_marked_packets FROM queue_series s JOIN ports p USING (port) WHERE "
		 "(s.port, "
		 "s.class) IN (" SHOWN_QUEUES ") ORDER BY s.port, s.class, s.time_ns",
	  .all = "SELECT count(*) FROM (SELECT DISTINCT port, class FROM queue_series)",
	  .first = QUEUE,
	  .last = MARKS,
	  .row = queue_row },
};

/* Is the row of another port, or class, than the item? */
static bool
is_other(const json_t *item, sqlite3_stmt *stmt)
{
	const char *name = json_string_value(json_object_get(item, "port"));

	return name == NULL || strcmp(name, (const char *)sqlite3_column_text(stmt, 0)) != 0 ||
	       json_integer_value(json_object_get(item, "class")) != sqlite3_column_int64(stmt, 2);
}

static void
item_end(json_t *item, struct series *series, const struct grid *grid, double rate_bps)
{
	static const int of_time[] = { PAUSED, PAUSING };

	if (item == NULL)
		return;
	if (series->bins[UTILIZATION] != NULL)
		to_shares(series->bins[UTILIZATION], grid, rate_bps / 8e9);
	for (size_t i = 0; i < ARRAY_LEN(of_time); i++) {
		if (series->bins[of_time[i]] != NULL)
			to_shares(series->bins[of_time[i]], grid, 1);
	}
	series_put(series, grid, item);
	series_reset(series, grid);
}

/* @param root  gets the table's series  @return 0 or negative errno with err */
static int
add_table(sqlite3 *db, const struct source *source, const struct grid *grid, json_t *root, struct err *err)
{
	struct series series = { 0 };
	json_t *list = json_array(), *item = NULL;
	sqlite3_stmt *stmt = store_select(db, source->sql, err);
	double rate_bps = 0;

	if (stmt == NULL || series_init(&series, grid, source->first, source->last) < 0) {
		json_decref(list);
		series_fini(&series);
		sqlite3_finalize(stmt);
		return stmt == NULL ? -EINVAL : err_set(err, -ENOMEM, "out of memory for the page's series");
	}
	sqlite3_bind_int64(stmt, 1, MAX_SERIES);
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		if (is_other(item, stmt)) {
			item_end(item, &series, grid, rate_bps);
			item = json_pack("{s:s, s:I}", "port", sqlite3_column_text(stmt, 0), "class",
					 (json_int_t)sqlite3_column_int64(stmt, 2));
			json_array_append_new(list, item);
			rate_bps = sqlite3_column_double(stmt, 1);
		}
		source->row(&series, grid, stmt);
	}
	item_end(item, &series, grid, rate_bps);
	sqlite3_finalize(stmt);
	series_fini(&series);
	json_object_set_new(json_object_get(root, "all"), source->key, json_integer(number_of(db, source->all)));
	json_object_set_new(root, source->key, list);
	return 0;
}

/* Keys of the scenario that remedies name: flows, generators, jobs, and what switches and hosts do. */
static json_t *
keys(sqlite3 *db)
{
	static const char sql[] =
		"SELECT path, value FROM config WHERE path GLOB 'flows.*' OR path GLOB 'generators.*name' OR path GLOB "
		"'jobs.*].name' OR path GLOB 'collectives.*].name' OR path GLOB 'host.*' OR path GLOB 'load_balancing.*' "
		"OR path GLOB 'switch.*' LIMIT ?1";
	json_t *object = json_object();
	sqlite3_stmt *stmt = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK) {
		sqlite3_bind_int(stmt, 1, MAX_KEYS);
		while (sqlite3_step(stmt) == SQLITE_ROW)
			json_object_set_new(object, (const char *)sqlite3_column_text(stmt, 0),
					    json_string((const char *)sqlite3_column_text(stmt, 1)));
	}
	sqlite3_finalize(stmt);
	return object;
}

int
page_series(const char *run, const char *dir, struct err *err)
{
	char path[PATH_MAX + 32];
	struct grid grid = { .joined = 1 };
	json_t *root;
	sqlite3 *db;
	int ret;

	snprintf(path, sizeof(path), "%s/" RUN_STORE, run);
	if (access(path, R_OK) < 0)
		return 0;
	db = store_read(run, err);
	if (db == NULL) { /* of another version: the page stands without it */
		*err = (struct err){ 0 };
		return 0;
	}
	ret = grid_read(db, &grid);
	root = json_pack("{s:I, s:o, s:{}, s:o}", "queue_unit", (json_int_t)QUEUE_UNIT, "times", times(&grid), "all",
			 "config", keys(db));
	if (ret < 0)
		err_set(err, ret, "out of memory for the page's series");
	for (size_t i = 0; ret == 0 && i < ARRAY_LEN(sources); i++)
		ret = add_table(db, &sources[i], &grid, root, err);
	sqlite3_close(db);
	if (ret == 0)
		ret = page_element(dir, "series", root, err);
	json_decref(root);
	free(grid.ends_ns);
	return ret;
}
