/* SPDX-License-Identifier: BSD-3-Clause */
#include "twin/rerun/rerun_store.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>

#include "twin/rerun/results.h"

struct rerun_store {
	sqlite3 *db;
};

static const char schema[] = RESULTS_OF
	"CREATE TABLE IF NOT EXISTS reruns (family TEXT, idx INTEGER, without INTEGER, draw INTEGER, job INTEGER,"
	" time_ns INTEGER, complete INTEGER, PRIMARY KEY (family, idx, without, draw, job));";

struct rerun_store *
rerun_store_open(const char *path, const char *of, struct err *err)
{
	static const char *const probes[] = {
		"SELECT family, idx, without, draw, job, time_ns, complete FROM reruns",
		NULL,
	};
	struct rerun_store *store = calloc(1, sizeof(*store));

	if (store == NULL) {
		err_set(err, -ENOMEM, "out of memory");
		return NULL;
	}
	store->db = results_open(path, schema, probes, err);
	if (store->db != NULL && results_belong(store->db, of, err) == 0)
		return store;
	rerun_store_close(store);
	return NULL;
}

void
rerun_store_close(struct rerun_store *store)
{
	if (store == NULL)
		return;
	sqlite3_close(store->db);
	free(store);
}

static void
bind_run(sqlite3_stmt *stmt, const struct rerun_result *result)
{
	sqlite3_bind_text(stmt, 1, result->family, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 2, result->index);
	sqlite3_bind_int64(stmt, 3, (int64_t)result->without);
	sqlite3_bind_int64(stmt, 4, result->draw);
	sqlite3_bind_int64(stmt, 5, result->job);
}

int
rerun_store_add(struct rerun_store *store, const struct rerun_result *result, struct err *err)
{
	sqlite3_stmt *stmt = results_prepare(store->db, "INSERT OR REPLACE INTO reruns VALUES (?, ?, ?, ?, ?, ?, ?)");

	bind_run(stmt, result);
	sqlite3_bind_int64(stmt, 6, (int64_t)result->time_ns);
	sqlite3_bind_int64(stmt, 7, result->complete);
	return results_finish(store->db, stmt, err);
}

bool
rerun_store_find(struct rerun_store *store, struct rerun_result *result)
{
	sqlite3_stmt *stmt = results_prepare(store->db, "SELECT time_ns, complete FROM reruns WHERE family = ? AND idx = ?"
							" AND without = ? AND draw = ? AND job = ?");
	bool found;

	bind_run(stmt, result);
	found = stmt != NULL && sqlite3_step(stmt) == SQLITE_ROW;
	result->time_ns = found ? (uint64_t)sqlite3_column_int64(stmt, 0) : 0;
	result->complete = found && sqlite3_column_int64(stmt, 1) != 0;
	sqlite3_finalize(stmt);
	return found;
}
