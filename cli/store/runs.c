/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/store/runs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include "common/input_file.h"
#include "common/run_files.h"
#include "common/wire/ledger.h"
#include "store/schema.h"

/* ---- Several runs in one connection ---- */

#define URI_BYTES (3 * PATH_MAX + 64) /* each byte of a path may take three */

/* "file:PATH?mode=ro" of RFC 8089, which a path may hold anything in. */
static void
uri_of(const char *dir, char uri[URI_BYTES])
{
	size_t at = (size_t)snprintf(uri, URI_BYTES, "file:");

	for (const char *c = dir; *c != '\0'; c++)
		at += (size_t)snprintf(
			uri + at, URI_BYTES - at,
			isalnum((unsigned char)*c) || *c == '/' || *c == '.' || *c == '_' || *c == '-' ? "%c" : "%%%02X",
			(unsigned char)*c);
	snprintf(uri + at, URI_BYTES - at, "/" RUN_STORE "?mode=ro");
}

/* @return 0 or negative errno with err set */
static int
attach(sqlite3 *db, const char *dir, uint32_t index, struct err *err)
{
	char uri[URI_BYTES], name[16];
	sqlite3 *alone = store_read(dir, err);
	sqlite3_stmt *stmt = NULL;
	int ret = 0;

	if (alone == NULL)
		return -errno;
	sqlite3_close(alone);
	uri_of(dir, uri);
	snprintf(name, sizeof(name), "r%u", index);
	if (sqlite3_prepare_v2(db, "ATTACH ? AS ?", -1, &stmt, NULL) == SQLITE_OK) {
		sqlite3_bind_text(stmt, 1, uri, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 2, name, -1, SQLITE_STATIC);
	}
	if (stmt == NULL || sqlite3_step(stmt) != SQLITE_DONE)
		ret = err_set(err, -EINVAL, "%s/" RUN_STORE ": %s", dir, sqlite3_errmsg(db));
	sqlite3_finalize(stmt);
	return ret;
}

sqlite3 *
runs_open(const char *const *dirs, uint32_t count, struct err *err)
{
	sqlite3 *db = NULL;
	int ret = 0;

	if (sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, NULL) != SQLITE_OK)
		ret = err_set(err, -ENOMEM, "out of memory for a comparison");
	for (uint32_t i = 0; ret == 0 && i < count; i++)
		ret = attach(db, dirs[i], i, err);
	if (ret == 0)
		return db;
	sqlite3_close(db);
	errno = -ret;
	return NULL;
}

/* ---- Findings ---- */

#define WAIT_MS 10000 /* for programs that read the store */

/* A column of the table, by its key in verdict.json. */
static void
bind(sqlite3_stmt *insert, int column, const json_t *value)
{
	if (json_is_string(value))
		sqlite3_bind_text(insert, column, json_string_value(value), -1, SQLITE_STATIC);
	else if (json_is_real(value))
		sqlite3_bind_double(insert, column, json_real_value(value));
	else if (json_is_integer(value) || json_is_boolean(value))
		sqlite3_bind_int64(insert, column,
				   json_is_integer(value) ? json_integer_value(value) : json_is_true(value));
	else
		sqlite3_bind_null(insert, column);
}

/* @return a result of SQLite */
static int
insert_all(sqlite3 *db, const json_t *findings)
{
	static const char *const keys[] = { "type",       "root",     "fault",  "explained_ns", "regained_ns",
					    "confidence", "start_ns", "end_ns", "evidence" };
	sqlite3_stmt *insert = NULL;
	const json_t *finding;
	size_t i;
	int result =
		sqlite3_prepare_v2(db, "INSERT INTO findings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", -1, &insert, NULL);

	json_array_foreach(findings, i, finding) {
		if (result != SQLITE_OK)
			break;
		sqlite3_bind_int64(insert, 1, (sqlite3_int64)i + 1);
		for (int k = 0; k < (int)ARRAY_LEN(keys); k++)
			bind(insert, k + 2, json_object_get(finding, keys[k]));
		result = sqlite3_step(insert) == SQLITE_DONE ? sqlite3_reset(insert) : sqlite3_errcode(db);
	}
	sqlite3_finalize(insert);
	return result;
}

/* Columns of the table ledgers, by their names in critical_path[] of verdict.json, and in its ledger. @return as above */
static int
insert_ledgers(sqlite3 *db, const json_t *path)
{
#define LEDGER_KEY(id, value, name, member, title, meaning) name "_ns",
#define LEDGER_PLACE(id, value, name, member, title, meaning) ", ?"
	static const char *const keys[] = { "job",  "collective", "iteration", "rank",   "step",
					    "host", "flow",       "start_ns",  "end_ns", "expect_ns" };
	static const char *const entries[] = { LEDGER_ROWS(LEDGER_KEY) };
	sqlite3_stmt *insert = NULL;
	const json_t *step;
	size_t i;
	int result = sqlite3_prepare_v2(
		db, "INSERT INTO ledgers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?" LEDGER_ROWS(LEDGER_PLACE) ")", -1, &insert,
		NULL);

	json_array_foreach(path, i, step) {
		const json_t *ledger = json_object_get(step, "ledger");

		if (result != SQLITE_OK)
			break;
		for (int k = 0; k < (int)ARRAY_LEN(keys); k++)
			bind(insert, k + 1, json_object_get(step, keys[k]));
		for (int k = 0; k < (int)ARRAY_LEN(entries); k++)
			bind(insert, (int)ARRAY_LEN(keys) + k + 1, json_object_get(ledger, entries[k]));
		result = sqlite3_step(insert) == SQLITE_DONE ? sqlite3_reset(insert) : sqlite3_errcode(db);
	}
	sqlite3_finalize(insert);
	return result;
}

static int
replace(sqlite3 *db, const json_t *root)
{
	/* A store of an older version has no ledgers. */
	bool ledgers =
		sqlite3_table_column_metadata(db, NULL, "ledgers", "step", NULL, NULL, NULL, NULL, NULL) == SQLITE_OK;
	int result = sqlite3_exec(db, "BEGIN IMMEDIATE; DELETE FROM findings", NULL, NULL, NULL);

	if (result == SQLITE_OK)
		result = insert_all(db, json_object_get(root, "findings"));
	if (result == SQLITE_OK && ledgers)
		result = sqlite3_exec(db, "DELETE FROM ledgers", NULL, NULL, NULL);
	if (result == SQLITE_OK && ledgers)
		result = insert_ledgers(db, json_object_get(root, "critical_path"));
	return result == SQLITE_OK ? sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) : result;
}

int
findings_store(const char *dir, struct err *err)
{
	char path[PATH_MAX], verdict[PATH_MAX];
	sqlite3 *db = NULL;
	json_error_t error;
	json_t *root;
	int ret = 0;

	if (snprintf(path, sizeof(path), "%s/" RUN_STORE, dir) >= (int)sizeof(path) ||
	    snprintf(verdict, sizeof(verdict), "%s/" RUN_VERDICT, dir) >= (int)sizeof(verdict))
		return err_set(err, -ENAMETOOLONG, "%s: too long a path", dir);
	if (access(path, F_OK) < 0 || access(verdict, F_OK) < 0)
		return 0;
	root = input_json(verdict, 0, &error);
	if (root == NULL)
		return err_set(err, -EINVAL, "%s: %s", verdict, error.text);
	if (input_check(path, err) < 0)
		ret = -EINVAL;
	else if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
		 sqlite3_busy_timeout(db, WAIT_MS) != SQLITE_OK || replace(db, root) != SQLITE_OK)
		ret = err_set(err, -EIO, "%s: its findings and ledgers cannot be written: %s", path, sqlite3_errmsg(db));
	sqlite3_close(db);
	json_decref(root);
	return ret;
}

bool
findings_known(const char *dir)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/" RUN_VERDICT, dir) < (int)sizeof(path) && access(path, F_OK) == 0;
}

/* ---- Runs below a folder ---- */

static bool
is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec > b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

int
latest_run(const char *parent, bool goes_on, char path[PATH_MAX], struct err *err)
{
	struct timespec latest = { 0 };
	DIR *dir = opendir(parent);
	struct dirent *entry;
	bool found = false;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		char file[PATH_MAX];
		struct stat st;

		if (entry->d_name[0] == '.' ||
		    snprintf(file, sizeof(file), "%s/%s/%s", parent, entry->d_name, goes_on ? RUN_LIVE : RUN_SUMMARY) >=
			    (int)sizeof(file) ||
		    stat(file, &st) < 0 || (found && !is_later(&st.st_mtim, &latest)))
			continue;
		found = true;
		latest = st.st_mtim;
		snprintf(path, PATH_MAX, "%s/%s", parent, entry->d_name);
	}
	if (dir != NULL)
		closedir(dir);
	return found ? 0
		     : err_set(err, -ENOENT, "no run %sbelow %s/: give the folder of one", goes_on ? "goes on " : "",
			       parent);
}

/* ---- Stores of partitions, as one ---- */

/* Rows of nodes and ports, of which each has one partition. */
static const enum store_table of_nodes[] = {
	STORE_ECN,          STORE_PORT_COUNTERS, STORE_QUEUE_COUNTERS, STORE_PRIORITY_GROUPS,
	STORE_PFC_COUNTERS, STORE_DROPS,         STORE_NIC_COUNTERS,   STORE_PORT_SERIES,
	STORE_QUEUE_SERIES, STORE_PFC_WATCHDOG,  STORE_BUFFER_POOLS,
};

/* Both ends of a connection may be known to different partitions, each with NULL for what is not its own. */
static const char join_qps[] =
	"CREATE TEMP TABLE joined AS SELECT qp, src, dst, sport, dport, class, max(retransmits), max(packet_seq_err),"
	" max(local_ack_timeout_err), max(rnr_nak_retry_err), max(rp_cnp_handled), max(out_of_sequence),"
	" max(duplicate_request), max(np_ecn_marked_roce_packets), max(np_cnp_sent)"
	" FROM (SELECT * FROM main.qps UNION ALL SELECT * FROM part.qps) GROUP BY qp;"
	"DELETE FROM main.qps; INSERT INTO main.qps SELECT * FROM joined; DROP TABLE joined";

/* @return a result of SQLite */
static int
add_tables(sqlite3 *db)
{
	int result = SQLITE_OK;

	for (size_t i = 0; result == SQLITE_OK && i < ARRAY_LEN(of_nodes); i++) {
		const char *name = store_schemas[of_nodes[i]].name;
		char sql[256];

		snprintf(sql, sizeof(sql), "INSERT INTO main.%s SELECT * FROM part.%s", name, name);
		result = sqlite3_exec(db, sql, NULL, NULL, NULL);
	}
	return result == SQLITE_OK ? sqlite3_exec(db, join_qps, NULL, NULL, NULL) : result;
}

/* @return a result of SQLite */
static int
add_partition(sqlite3 *db, const char *path)
{
	sqlite3_stmt *stmt = NULL;
	int result = sqlite3_prepare_v2(db, "ATTACH ? AS part", -1, &stmt, NULL);

	if (result == SQLITE_OK) {
		sqlite3_bind_text(stmt, 1, path, -1, SQLITE_STATIC);
		result = sqlite3_step(stmt) == SQLITE_DONE ? SQLITE_OK : sqlite3_errcode(db);
	}
	sqlite3_finalize(stmt);
	if (result == SQLITE_OK)
		result = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	if (result == SQLITE_OK)
		result = add_tables(db);
	if (result == SQLITE_OK)
		result = sqlite3_exec(db, "COMMIT; DETACH part", NULL, NULL, NULL);
	return result;
}

int
partitions_store(const char *dir, uint32_t partitions, struct err *err)
{
	char path[PATH_MAX], part[PATH_MAX];
	sqlite3 *db = NULL;
	int ret = 0;

	if (snprintf(path, sizeof(path), "%s/" RUN_STORE, dir) >= (int)sizeof(path))
		return err_set(err, -ENAMETOOLONG, "%s: too long a path", dir);
	if (access(path, F_OK) < 0)
		return 0;
	if (input_check(path, err) < 0)
		return -EINVAL;
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
		ret = err_set(err, -EIO, "%s: %s", path, sqlite3_errmsg(db));
	for (uint32_t i = 1; ret == 0 && i < partitions; i++) {
		if (snprintf(part, sizeof(part), "%s/" RUN_PARTITIONS "/%u/" RUN_STORE, dir, i) >= (int)sizeof(part) ||
		    access(part, F_OK) < 0)
			continue; /* its program reported why */
		if (add_partition(db, part) != SQLITE_OK)
			ret = err_set(err, -EIO, "%s: %s cannot be added: %s", path, part, sqlite3_errmsg(db));
	}
	sqlite3_close(db);
	return ret;
}
