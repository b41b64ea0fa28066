/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/store.h"

#include <errno.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/err.h"
#include "common/hash.h"
#include "common/input_file.h"
#include "eval/judge.h"
#include "twin/rerun/results.h"

struct store {
	sqlite3 *db;
};

static const char schema[] =
	"CREATE TABLE IF NOT EXISTS evaluation (seed INTEGER NOT NULL, scale REAL NOT NULL, sets TEXT NOT NULL);"
	"CREATE TABLE IF NOT EXISTS cases (family TEXT, idx INTEGER, attempt INTEGER, PRIMARY KEY (family, idx));"
	"CREATE TABLE IF NOT EXISTS excluded (family TEXT, idx INTEGER, attempt INTEGER, why TEXT,"
	" PRIMARY KEY (family, idx, attempt));"
	"CREATE TABLE IF NOT EXISTS runs (family TEXT, idx INTEGER, policy TEXT, outcome TEXT, why TEXT,"
	" telemetry_bytes INTEGER, collected_bytes INTEGER, bandwidth_bytes INTEGER, polls INTEGER, hops INTEGER,"
	" cpu_s REAL, wall_s REAL, PRIMARY KEY (family, idx, policy));";

#define RUN_COLUMNS                                                                                                        \
	"family, idx, policy, outcome, why, telemetry_bytes, collected_bytes, bandwidth_bytes, polls, hops, cpu_s, wall_s"

/* The first program to open it records the evaluation's options; all others must have the same. */
static int
belong(struct store *store, uint64_t seed, double scale, const char *sets, struct err *err)
{
	sqlite3_stmt *stmt = results_prepare(
		store->db, "INSERT INTO evaluation SELECT ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM evaluation)");
	int ret;

	sqlite3_bind_int64(stmt, 1, (int64_t)seed);
	sqlite3_bind_double(stmt, 2, scale);
	sqlite3_bind_text(stmt, 3, sets, -1, SQLITE_STATIC);
	ret = results_finish(store->db, stmt, err);
	if (ret < 0)
		return ret;
	stmt = results_prepare(store->db, "SELECT seed, scale, sets FROM evaluation");
	if (sqlite3_step(stmt) != SQLITE_ROW)
		ret = results_failed(store->db, err);
	else if (sqlite3_column_int64(stmt, 0) != (int64_t)seed || sqlite3_column_double(stmt, 1) != scale ||
		 strcmp((const char *)sqlite3_column_text(stmt, 2), sets) != 0)
		ret = err_set(err, -EEXIST, "%s holds seed %lld at scale %g%s%s; ask for the same, or give another --out",
			      sqlite3_db_filename(store->db, "main"), (long long)sqlite3_column_int64(stmt, 0),
			      sqlite3_column_double(stmt, 1), sqlite3_column_bytes(stmt, 2) != 0 ? " with" : "",
			      (const char *)sqlite3_column_text(stmt, 2));
	sqlite3_finalize(stmt);
	return ret;
}

struct store *
store_open(const char *path, uint64_t seed, double scale, const char *sets, struct err *err)
{
	static const char *const probes[] = { "SELECT attempt FROM cases WHERE family = '' AND idx = 0",
					      "SELECT why FROM excluded WHERE family = '' AND idx = 0 AND attempt = 0",
					      "SELECT " RUN_COLUMNS " FROM runs", NULL };
	struct store *store = calloc(1, sizeof(*store));
	int ret;

	if (store == NULL) {
		err_set(err, -ENOMEM, "out of memory");
		return NULL;
	}
	store->db = results_open(path, schema, probes, err);
	ret = store->db != NULL ? belong(store, seed, scale, sets, err) : -errno;
	if (ret == 0)
		return store;
	store_close(store);
	errno = ret == -EEXIST ? EINVAL : -ret;
	return NULL;
}

void
store_close(struct store *store)
{
	if (store == NULL)
		return;
	sqlite3_close(store->db);
	free(store);
}

static void
bind_case(sqlite3_stmt *stmt, const char *family, uint32_t index)
{
	sqlite3_bind_text(stmt, 1, family, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 2, index);
}

int
store_add_case(struct store *store, const char *family, uint32_t index, uint32_t attempt, struct err *err)
{
	sqlite3_stmt *stmt = results_prepare(store->db, "INSERT OR REPLACE INTO cases VALUES (?, ?, ?)");

	bind_case(stmt, family, index);
	sqlite3_bind_int64(stmt, 3, attempt);
	return results_finish(store->db, stmt, err);
}

int
store_exclude(struct store *store, const char *family, uint32_t index, uint32_t attempt, const char *why, struct err *err)
{
	sqlite3_stmt *stmt = results_prepare(store->db, "INSERT OR REPLACE INTO excluded VALUES (?, ?, ?, ?)");

	bind_case(stmt, family, index);
	sqlite3_bind_int64(stmt, 3, attempt);
	sqlite3_bind_text(stmt, 4, why, -1, SQLITE_STATIC);
	return results_finish(store->db, stmt, err);
}

int
store_add_run(struct store *store, const struct store_run *run, struct err *err)
{
	sqlite3_stmt *stmt =
		results_prepare(store->db, "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");

	bind_case(stmt, run->family, run->index);
	sqlite3_bind_text(stmt, 3, run->policy, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 4, score_name(run->outcome), -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 5, run->why, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 6, (int64_t)run->telemetry_bytes);
	sqlite3_bind_int64(stmt, 7, (int64_t)run->collected_bytes);
	sqlite3_bind_int64(stmt, 8, (int64_t)run->bandwidth_bytes);
	sqlite3_bind_int64(stmt, 9, (int64_t)run->polls);
	sqlite3_bind_int64(stmt, 10, (int64_t)run->hops);
	sqlite3_bind_double(stmt, 11, run->cpu_s);
	sqlite3_bind_double(stmt, 12, run->wall_s);
	return results_finish(store->db, stmt, err);
}

int64_t
store_attempt(struct store *store, const char *family, uint32_t index)
{
	sqlite3_stmt *stmt = results_prepare(store->db, "SELECT attempt FROM cases WHERE family = ? AND idx = ?");

	bind_case(stmt, family, index);
	return results_number(stmt, -1);
}

uint32_t
store_next_attempt(struct store *store, const char *family, uint32_t index)
{
	sqlite3_stmt *stmt = results_prepare(
		store->db, "SELECT ifnull(max(attempt), -1) + 1 FROM excluded WHERE family = ? AND idx = ?");

	bind_case(stmt, family, index);
	return (uint32_t)results_number(stmt, 0);
}

uint32_t
store_excluded(struct store *store, const char *family, uint32_t cases)
{
	sqlite3_stmt *stmt = results_prepare(store->db, "SELECT count(*) FROM excluded WHERE family = ? AND idx < ?");

	bind_case(stmt, family, cases);
	return (uint32_t)results_number(stmt, 0);
}

bool
store_has_run(struct store *store, const char *family, uint32_t index, const char *policy)
{
	sqlite3_stmt *stmt = results_prepare(store->db, "SELECT 1 FROM runs WHERE family = ? AND idx = ? AND policy = ?");

	bind_case(stmt, family, index);
	sqlite3_bind_text(stmt, 3, policy, -1, SQLITE_STATIC);
	return results_number(stmt, 0) != 0;
}

static enum outcome
outcome_of(const char *name)
{
	enum outcome outcome = OUTCOME_TP;

	while (outcome < OUTCOME_FN && strcmp(score_name(outcome), name) != 0)
		outcome++;
	return outcome;
}

static void
read_run(sqlite3_stmt *stmt, struct store_run *run)
{
	*run = (struct store_run){ 0 };
	snprintf(run->family, sizeof(run->family), "%s", (const char *)sqlite3_column_text(stmt, 0));
	run->index = (uint32_t)sqlite3_column_int64(stmt, 1);
	snprintf(run->policy, sizeof(run->policy), "%s", (const char *)sqlite3_column_text(stmt, 2));
	run->outcome = outcome_of((const char *)sqlite3_column_text(stmt, 3));
	snprintf(run->why, sizeof(run->why), "%s", (const char *)sqlite3_column_text(stmt, 4));
	run->telemetry_bytes = (uint64_t)sqlite3_column_int64(stmt, 5);
	run->collected_bytes = (uint64_t)sqlite3_column_int64(stmt, 6);
	run->bandwidth_bytes = (uint64_t)sqlite3_column_int64(stmt, 7);
	run->polls = (uint64_t)sqlite3_column_int64(stmt, 8);
	run->hops = (uint64_t)sqlite3_column_int64(stmt, 9);
	run->cpu_s = sqlite3_column_double(stmt, 10);
	run->wall_s = sqlite3_column_double(stmt, 11);
}

int64_t
store_runs(struct store *store, const char *family, const char *policy, uint32_t cases, struct store_run **runs,
	   struct err *err)
{
	sqlite3_stmt *stmt = results_prepare(
		store->db, "SELECT " RUN_COLUMNS " FROM runs WHERE family = ? AND idx < ? AND policy = ? ORDER BY idx");
	int64_t count = 0;
	int step;

	*runs = calloc((size_t)cases + 1, sizeof(**runs));
	if (*runs == NULL) {
		sqlite3_finalize(stmt);
		return err_set(err, -ENOMEM, "out of memory for %u cases", cases);
	}
	bind_case(stmt, family, cases);
	sqlite3_bind_text(stmt, 3, policy, -1, SQLITE_STATIC);
	while ((step = sqlite3_step(stmt)) == SQLITE_ROW && count < cases)
		read_run(stmt, &(*runs)[count++]);
	if (step != SQLITE_DONE) {
		count = results_failed(store->db, err);
		free(*runs);
		*runs = NULL;
	}
	sqlite3_finalize(stmt);
	return count;
}

int
store_each_run(struct store *store, void (*each)(void *ctx, const struct store_run *run), void *ctx, struct err *err)
{
	sqlite3_stmt *stmt = results_prepare(store->db, "SELECT " RUN_COLUMNS " FROM runs ORDER BY family, policy, idx");
	struct store_run run;
	int step, ret;

	while ((step = sqlite3_step(stmt)) == SQLITE_ROW) {
		read_run(stmt, &run);
		each(ctx, &run);
	}
	ret = step == SQLITE_DONE ? 0 : results_failed(store->db, err);
	sqlite3_finalize(stmt);
	return ret;
}

uint64_t
case_file_digest(const char *path)
{
	struct err why = { "" };
	FILE *file = input_fopen(path, &why);
	uint64_t digest = DIGEST_INIT;
	int byte;

	if (file == NULL)
		return 0;
	while ((byte = getc(file)) != EOF)
		digest = digest_u64(digest, (uint64_t)byte);
	fclose(file);
	return digest;
}

#define ASIDE ".before"

struct aside {
	char path[PATH_MAX + 256];
};

static struct aside
aside_of(const char *path)
{
	struct aside aside;

	snprintf(aside.path, sizeof(aside.path), "%s" ASIDE, path);
	return aside;
}

uint64_t
case_file_set_aside(const char *path)
{
	struct aside aside = aside_of(path);

	/* An existing file is left by a command that ended before its check: the results are that command's. */
	if (access(aside.path, F_OK) != 0)
		rename(path, aside.path);
	return case_file_digest(aside.path);
}

int
case_file_check(const char *path, uint64_t before, struct err *err)
{
	struct aside aside = aside_of(path);

	if (before == 0)
		return 0;
	if (before == case_file_digest(path)) {
		unlink(aside.path);
		return 0;
	}
	rename(aside.path, path);
	return err_set(err, -EINVAL,
		       "%s was another case, of another scenario or version; remove it with its results, or give "
		       "another --out",
		       path);
}
