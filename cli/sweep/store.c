/* SPDX-License-Identifier: BSD-3-Clause */
/* DIR/sweep.sqlite: the runs of a sweep, their measures and collectives. docs/outputs.md has its tables. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/store/tables.h"
#include "cli/sweep/sweep.h"
#include "common/array.h"
#include "common/hash.h"
#include "common/outfile.h"
#include "common/run_files.h"
#include "store/schema.h"
#include "twin/rerun/results.h"

/* Measures of a run, each by a query on its run.sqlite: a column of the table "runs". */
static const struct measure {
	const char *name, *type, *unit, *doc, *sql;
	bool plotted; /* a number; before others, if it has values */
} measures[] = {
	{ "end_reason", "TEXT", "", "why the run ended, as in run.json", "(SELECT value FROM run WHERE key = 'end_reason')",
	  false },
	{ "job_ms", "REAL", "ms", "the longest job; NULL: one is not complete, or there is none",
	  "(SELECT CASE WHEN count(*) = count(end_ns) THEN max(end_ns - start_ns) / 1e6 END FROM jobs)", true },
	{ "busbw", "REAL", "GB/s", "bus bandwidth, mean of the complete collectives",
	  "(SELECT avg(busbw) FROM collectives)", true },
	{ "fct_ms", "REAL", "ms", "completion time of flows, mean of the complete ones",
	  "(SELECT avg(fct_ns) / 1e6 FROM flows WHERE end_ns IS NOT NULL)", true },
	{ "slowdown_p99", "REAL", "", "completion time by that on an idle fabric, 99th percentile of the flows",
	  "(SELECT 1.0 * fct_ns / ideal_ns AS slowdown FROM flows WHERE end_ns IS NOT NULL AND ideal_ns > 0 ORDER BY "
	  "slowdown"
	  " LIMIT 1 OFFSET (SELECT count(*) * 99 / 100 FROM flows WHERE end_ns IS NOT NULL AND ideal_ns > 0))",
	  true },
	{ "open_flows", "INTEGER", "flows", "that did not complete", "(SELECT count(*) FROM flows WHERE end_ns IS NULL)",
	  true },
	{ "run_ms", "REAL", "ms", "the run, in its own time", "(SELECT value / 1e6 FROM run WHERE key = 'end_ns')", true },
	{ "paused_ms", "REAL", "ms", "time that ports were paused, summed over ports and classes",
	  "(SELECT coalesce(sum(rx_pause_duration_ns), 0) / 1e6 FROM pfc_counters)", true },
	{ "pause_frames", "INTEGER", "frames", "that ports received",
	  "(SELECT coalesce(sum(rx_pause), 0) FROM pfc_counters)", true },
	{ "ecn_marks", "INTEGER", "packets", "marked CE",
	  "(SELECT coalesce(sum(ecn_marked_packets), 0) FROM queue_counters)", true },
	{ "drops", "INTEGER", "packets", "dropped, for any reason that devices count",
	  "(SELECT coalesce(sum(packets), 0) FROM drops WHERE counted)", true },
	{ "retransmits", "INTEGER", "packets", "sent again", "(SELECT coalesce(sum(retransmits), 0) FROM qps)", true },
	{ "queue_bytes", "INTEGER", "B", "the longest queue", "(SELECT max(watermark_bytes) FROM queue_counters)", true },
	{ "headroom_bytes", "INTEGER", "B", "most headroom in use",
	  "(SELECT max(headroom_watermark_bytes) FROM priority_groups)", true },
	{ "findings", "INTEGER", "", "of the verdict", "(SELECT count(*) FROM findings)", true },
	{ "first_finding", "TEXT", "", "type and root of the first",
	  "(SELECT type || ' ' || root FROM findings WHERE finding = 1)", false },
};

static const char *const probes[] = { "SELECT point, seed, end_reason, first_finding FROM runs",
				      "SELECT number, path FROM paths", "SELECT run, wrong FROM collectives",
				      "SELECT job_ms FROM points", NULL };

bool
sweep_has_measure(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(measures); i++)
		if (measures[i].plotted && strcmp(measures[i].name, name) == 0)
			return true;
	return false;
}

void
sweep_list_measures(FILE *to)
{
	fputs("Measures:\n", to);
	for (size_t i = 0; i < ARRAY_LEN(measures); i++)
		fprintf(to, "  %-14s %-8s %s\n", measures[i].name, measures[i].unit, measures[i].doc);
}

/* ---- the file ---- */

/* @return a sweep's tables, by sqlite3_free() */
static char *
schema_of(const struct sweep *sweep)
{
	sqlite3_str *sql = sqlite3_str_new(NULL);

	sqlite3_str_appendall(sql, RESULTS_OF "CREATE TABLE IF NOT EXISTS paths (number INTEGER PRIMARY KEY, path TEXT);"
					      "CREATE TABLE IF NOT EXISTS sweep (runs INTEGER);"
					      "CREATE TABLE IF NOT EXISTS runs (run INTEGER PRIMARY KEY, point INTEGER");
	for (uint32_t i = 0; i < sweep->npaths; i++)
		sqlite3_str_appendf(sql, ", \"%w\" TEXT", sweep->paths[i].path);
	sqlite3_str_appendall(sql, ", seed INTEGER");
	for (size_t i = 0; i < ARRAY_LEN(measures); i++)
		sqlite3_str_appendf(sql, ", %s %s", measures[i].name, measures[i].type);
	sqlite3_str_appendall(
		sql, ");CREATE TABLE IF NOT EXISTS collectives (run INTEGER, number INTEGER, name TEXT,"
		     " op TEXT, bytes INTEGER, count INTEGER, type TEXT, redop TEXT, root INTEGER, time_us REAL,"
		     " algbw REAL, busbw REAL, wrong INTEGER, iterations INTEGER, PRIMARY KEY (run, number)) WITHOUT ROWID;"
		     "CREATE VIEW IF NOT EXISTS points AS SELECT point");
	for (uint32_t i = 0; i < sweep->npaths; i++)
		sqlite3_str_appendf(sql, ", \"%w\"", sweep->paths[i].path);
	sqlite3_str_appendall(sql, ", count(*) AS seeds, sum(end_reason != 'complete') AS unfinished");
	for (size_t i = 0; i < ARRAY_LEN(measures); i++)
		if (measures[i].plotted)
			sqlite3_str_appendf(sql, ", avg(%s) AS %s", measures[i].name, measures[i].name);
	sqlite3_str_appendall(sql, ", min(job_ms) AS job_ms_min, max(job_ms) AS job_ms_max FROM runs GROUP BY point;");
	return sqlite3_str_finish(sql);
}

/* Adds the scenario with its defaults to a digest: equal for sweeps of the same one. */
static uint64_t
scenario_digest(const struct scenario *scenario)
{
	struct cfg_known known[SCENARIO_MAX_TABLES];
	uint64_t digest = DIGEST_INIT;
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	if (to == NULL)
		return 0;
	cfg_print(scenario->cfg, known, scenario_tables(known, SCENARIO_MAX_TABLES), to);
	fclose(to);
	for (size_t i = 0; i < size; i++)
		digest = digest_u64(digest, (uint8_t)text[i]);
	free(text);
	return digest;
}

/* Describes all inputs that the results depend on. @return by sqlite3_free() */
static char *
identity_of(const struct sweep *sweep, const struct scenario *scenario)
{
	sqlite3_str *text = sqlite3_str_new(NULL);

	sqlite3_str_appendf(text, " %s (%016llx), version %s", basename(sweep->scenario.path),
			    (unsigned long long)scenario_digest(scenario), rocelab_version);
	for (uint32_t i = 0; i < sweep->npaths; i++) {
		sqlite3_str_appendf(text, ", %s=", sweep->paths[i].path);
		for (uint32_t v = 0; v < sweep->paths[i].count; v++)
			sqlite3_str_appendf(text, "%s%s", v != 0 ? "," : "", sweep->paths[i].values[v]);
	}
	sqlite3_str_appendall(text, ", seeds ");
	for (uint32_t i = 0; i < sweep->nseeds; i++)
		sqlite3_str_appendf(text, "%s%llu", i != 0 ? "," : "", (unsigned long long)sweep->seeds[i]);
	return sqlite3_str_finish(text);
}

/* Records what the sweep consists of, once. @return 0 or negative errno with err set */
static int
record_plan(sqlite3 *db, const struct sweep *sweep, struct err *err)
{
	sqlite3_stmt *stmt = results_prepare(db, "INSERT INTO sweep SELECT ? WHERE NOT EXISTS (SELECT 1 FROM sweep)");
	int ret;

	sqlite3_bind_int64(stmt, 1, sweep_runs(sweep));
	ret = results_finish(db, stmt, err);
	for (uint32_t i = 0; ret == 0 && i < sweep->npaths; i++) {
		stmt = results_prepare(db, "INSERT OR REPLACE INTO paths VALUES (?, ?)");
		sqlite3_bind_int64(stmt, 1, i);
		sqlite3_bind_text(stmt, 2, sweep->paths[i].path, -1, SQLITE_STATIC);
		ret = results_finish(db, stmt, err);
	}
	return ret;
}

sqlite3 *
sweep_store_open(const struct sweep *sweep, struct err *err)
{
	struct scenario *scenario = scenario_load(&sweep->scenario, err);
	char path[PATH_MAX], *schema, *identity;
	sqlite3 *db = NULL;
	int ret = -EINVAL;

	if (scenario == NULL) {
		errno = EINVAL;
		return NULL;
	}
	schema = schema_of(sweep);
	identity = identity_of(sweep, scenario);
	scenario_destroy(scenario);
	if (schema == NULL || identity == NULL) {
		ret = err_set(err, -ENOMEM, "out of memory");
	} else if (snprintf(path, sizeof(path), "%s/" SWEEP_STORE, sweep->dir) < (int)sizeof(path)) {
		db = results_open(path, schema, probes, err);
		ret = db != NULL ? results_belong(db, identity, err) : -errno;
	} else {
		err_set(err, -EINVAL, "%s: too long a path", sweep->dir);
	}
	if (ret == 0)
		ret = record_plan(db, sweep, err);
	sqlite3_free(schema);
	sqlite3_free(identity);
	if (ret == 0)
		return db;
	sqlite3_close(db);
	errno = ret == -EEXIST ? EINVAL : -ret;
	return NULL;
}

bool
sweep_store_has(sqlite3 *db, uint32_t number)
{
	sqlite3_stmt *stmt = results_prepare(db, "SELECT 1 FROM runs WHERE run = ?");

	sqlite3_bind_int64(stmt, 1, number);
	return results_number(stmt, 0) != 0;
}

/* ---- a run ---- */

/* Copies the rows of a query to rows behind columns of the run that are bound already. */
static int
copy_rows(sqlite3 *db, sqlite3_stmt *from, sqlite3_stmt *to, int bound, struct err *err)
{
	int result, ret = 0;

	while (ret == 0 && (result = sqlite3_step(from)) == SQLITE_ROW) {
		for (int i = 0; i < sqlite3_column_count(from); i++)
			sqlite3_bind_value(to, bound + i + 1, sqlite3_column_value(from, i));
		if (sqlite3_step(to) != SQLITE_DONE || sqlite3_reset(to) != SQLITE_OK)
			ret = results_failed(db, err);
	}
	if (ret == 0 && result != SQLITE_DONE)
		ret = err_set(err, -EIO, "%s", sqlite3_errmsg(sqlite3_db_handle(from)));
	return ret;
}

static int
add_measures(sqlite3 *db, const struct sweep *sweep, const struct sweep_run *run, sqlite3 *of, struct err *err)
{
	sqlite3_str *select = sqlite3_str_new(NULL), *insert = sqlite3_str_new(NULL);
	int bound = (int)sweep->npaths + 3, ret;
	sqlite3_stmt *from = NULL, *to = NULL;
	char *text;

	for (size_t i = 0; i < ARRAY_LEN(measures); i++)
		sqlite3_str_appendf(select, "%s%s", i != 0 ? ", " : "SELECT ", measures[i].sql);
	sqlite3_str_appendall(insert, "INSERT OR REPLACE INTO runs VALUES (?");
	for (size_t i = 1; i < (size_t)bound + ARRAY_LEN(measures); i++)
		sqlite3_str_appendall(insert, ", ?");
	sqlite3_str_appendall(insert, ")");
	text = sqlite3_str_finish(select);
	from = text != NULL ? store_select(of, text, err) : NULL;
	sqlite3_free(text);
	text = sqlite3_str_finish(insert);
	to = text != NULL ? results_prepare(db, text) : NULL;
	sqlite3_free(text);
	ret = from == NULL ? -EINVAL : to == NULL ? results_failed(db, err) : 0;
	if (ret == 0) {
		sqlite3_bind_int64(to, 1, run->number);
		sqlite3_bind_int64(to, 2, run->point);
		for (uint32_t i = 0; i < sweep->npaths; i++)
			sqlite3_bind_text(to, (int)i + 3, sweep->paths[i].values[run->values[i]], -1, SQLITE_STATIC);
		sqlite3_bind_int64(to, bound, (int64_t)run->seed);
		ret = copy_rows(db, from, to, bound, err);
	}
	sqlite3_finalize(from);
	sqlite3_finalize(to);
	return ret;
}

static int
add_collectives(sqlite3 *db, const struct sweep_run *run, sqlite3 *of, struct err *err)
{
	sqlite3_stmt *from = store_select(of,
					  "SELECT row_number() OVER (ORDER BY job, collective), " NCCL_COLUMNS
					  " FROM collectives GROUP BY job, collective ORDER BY job, collective",
					  err);
	sqlite3_stmt *to =
		results_prepare(db, "INSERT OR REPLACE INTO collectives VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
	int ret = from == NULL ? -EINVAL : to == NULL ? results_failed(db, err) : 0;

	if (ret == 0) {
		sqlite3_bind_int64(to, 1, run->number);
		ret = copy_rows(db, from, to, 1, err);
	}
	sqlite3_finalize(from);
	sqlite3_finalize(to);
	return ret;
}

int
sweep_store_add(sqlite3 *db, const struct sweep *sweep, const struct sweep_run *run, const char *dir, struct err *err)
{
	sqlite3 *of = store_read(dir, err);
	int ret;

	if (of == NULL)
		return -ENODATA;
	ret = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK ? 0 : results_failed(db, err);
	if (ret == 0) {
		ret = add_collectives(db, run, of, err);
		if (ret == 0)
			ret = add_measures(db, sweep, run, of, err);
		if (sqlite3_exec(db, ret == 0 ? "COMMIT" : "ROLLBACK", NULL, NULL, NULL) != SQLITE_OK && ret == 0)
			ret = results_failed(db, err);
	}
	sqlite3_close(of);
	return ret;
}

/* ---- shards ---- */

sqlite3 *
sweep_store_merge(const char *dir, const struct shard *shard, struct err *err)
{
	char path[PATH_MAX], from[PATH_MAX];
	uint32_t have, all;
	sqlite3 *db = NULL;
	int ret = 0;

	snprintf(path, sizeof(path), "%s/" SWEEP_STORE, dir);
	for (size_t i = 0; ret == 0 && i < shard->folders.gl_pathc; i++) {
		snprintf(from, sizeof(from), "%s/" SWEEP_STORE, shard->folders.gl_pathv[i]);
		if (access(from, R_OK) < 0)
			ret = err_set(err, -EINVAL,
				      "%s: there is no sweep's store: give folders that `rocelab sweep --shard` wrote",
				      from);
		else
			ret = results_merge(path, from, err);
	}
	if (ret == 0)
		db = results_open(path, RESULTS_OF, probes, err);
	else
		errno = -ret;
	if (db == NULL)
		return NULL;
	have = sweep_store_count(db, &all);
	if (have == all)
		return db;
	err_set(err, -ENODATA, "%u of %u runs are there: give the folders of all shards, each complete", have, all);
	sqlite3_close(db);
	errno = EINVAL;
	return NULL;
}

/* ---- what is printed ---- */

uint32_t
sweep_store_count(sqlite3 *db, uint32_t *all)
{
	*all = (uint32_t)results_number(results_prepare(db, "SELECT runs FROM sweep"), 0);
	return (uint32_t)results_number(results_prepare(db, "SELECT count(*) FROM runs"), 0);
}

/* @return whether any run has a value of this measure other than 0 */
static bool
has_values(sqlite3 *db, const char *name)
{
	char *sql = sqlite3_mprintf("SELECT 1 FROM runs WHERE \"%w\" IS NOT NULL AND \"%w\" != 0 LIMIT 1", name, name);
	bool found = sql != NULL && results_number(results_prepare(db, sql), 0) != 0;

	sqlite3_free(sql);
	return found;
}

const char *
sweep_first_measure(sqlite3 *db)
{
	for (size_t i = 0; i < ARRAY_LEN(measures); i++)
		if (measures[i].plotted && strcmp(measures[i].name, "busbw") != 0 && has_values(db, measures[i].name))
			return measures[i].name;
	return "run_ms";
}

const char *
sweep_measure_unit(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(measures); i++)
		if (strcmp(measures[i].name, name) == 0)
			return measures[i].unit;
	return "";
}

/* A table for people has the measures that differ from 0, and no more decimals than they need. @return by sqlite3_free() */
static char *
points_query(sqlite3 *db)
{
	sqlite3_stmt *paths = results_prepare(db, "SELECT path FROM paths ORDER BY number");
	sqlite3_str *sql = sqlite3_str_new(NULL);

	sqlite3_str_appendall(sql, "SELECT ");
	while (paths != NULL && sqlite3_step(paths) == SQLITE_ROW)
		sqlite3_str_appendf(sql, "\"%w\", ", (const char *)sqlite3_column_text(paths, 0));
	sqlite3_finalize(paths);
	sqlite3_str_appendall(sql, "seeds");
	if (results_number(results_prepare(db, "SELECT sum(unfinished) FROM points"), 0) != 0)
		sqlite3_str_appendall(sql, ", unfinished");
	for (size_t i = 0; i < ARRAY_LEN(measures); i++) {
		const char *name = measures[i].name;

		if (!measures[i].plotted || !has_values(db, name))
			continue;
		sqlite3_str_appendf(sql, ", iif(%s = CAST(%s AS INTEGER), CAST(%s AS INTEGER), round(%s, 4)) AS %s", name,
				    name, name, name, name);
		if (strcmp(name, "job_ms") == 0 &&
		    results_number(results_prepare(db, "SELECT max(seeds) FROM points"), 0) > 1)
			sqlite3_str_appendall(sql, ", round(job_ms_min, 4) AS min, round(job_ms_max, 4) AS max");
	}
	sqlite3_str_appendall(sql, " FROM points ORDER BY point");
	return sqlite3_str_finish(sql);
}

int
sweep_print(sqlite3 *db, enum tables_format format, FILE *to, struct err *err)
{
	char *sql = format == TABLES_TEXT ? points_query(db) : sqlite3_mprintf("SELECT * FROM points ORDER BY point");
	sqlite3_stmt *stmt = sql != NULL ? store_select(db, sql, err) : NULL;
	int ret = stmt != NULL ? tables_print(stmt, format, 0, to, err) : -EINVAL;

	if (ret == 0 && format == TABLES_JSON)
		fputc('\n', to);
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
	return ret;
}

int
sweep_print_nccl(sqlite3 *db, bool json, const char *const *args, FILE *to, struct err *err)
{
	sqlite3_stmt *stmt = store_select(
		db,
		"SELECT name, op, bytes, count, type, redop, root, avg(time_us), avg(algbw),"
		" avg(collectives.busbw), sum(wrong),"
		" sum(iterations) FROM collectives JOIN runs USING (run) GROUP BY number, point ORDER BY number, point",
		err);
	int ret = stmt != NULL ? nccl_print(stmt, json, args, to, err) : -EINVAL;

	sqlite3_finalize(stmt);
	return ret;
}

int
sweep_write_csv(sqlite3 *db, const char *dir, struct err *err)
{
	sqlite3_stmt *stmt = store_select(db, "SELECT * FROM runs ORDER BY run", err);
	struct outfile out;
	int ret = stmt != NULL ? outfile_open(&out, dir, SWEEP_CSV, err) : -EINVAL;

	if (ret == 0)
		ret = outfile_close(&out, tables_print(stmt, TABLES_CSV, 0, out.file, err), err);
	sqlite3_finalize(stmt);
	return ret;
}
