/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab list: the runs below a folder. */
#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/store/runs.h"
#include "cli/store/tables.h"
#include "common/log.h"
#include "common/run_files.h"
#include "store/schema.h"

#define LISTED_ROWS 1000

struct list_options {
	const char *parent;
	uint64_t most;
	enum tables_format format;
};

static const struct argp_option options[] = {
	{ "limit", 'n', "N", 0, "Print at most N rows of a table (default 1000; 0: all)", 0 },
	{ "json", 'j', NULL, 0, "Print JSON", 0 },
	{ "csv", 'c', NULL, 0, "Print CSV", 0 },
	{ 0 },
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct list_options *list = state->input;

	switch (key) {
	case 'n':
		list->most = args_number(state, "--limit", arg, 0, INT64_MAX);
		return 0;
	case 'j':
		list->format = TABLES_JSON;
		return 0;
	case 'c':
		list->format = TABLES_CSV;
		return 0;
	case ARGP_KEY_ARG:
		if (list->parent != NULL)
			args_error(state, "one folder at a time: \"%s\" is the second", arg);
		list->parent = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[FOLDER]",
	.doc = "Lists the runs below a folder (default: out), by their stores: how each ended, the time of its longest "
	       "job, the "
	       "first of its findings.",
};

/* Columns of a run in the list; its folder precedes them. */
static const char of_run[] =
	"SELECT (SELECT value FROM run WHERE key = 'name') AS name, (SELECT value FROM run WHERE key = 'seed') AS seed,"
	" (SELECT value FROM run WHERE key = 'end_reason') AS end_reason,"
	" (SELECT value FROM run WHERE key = 'end_ns') / 1e6 AS run_ms,"
	" (SELECT max(end_ns - start_ns) FROM jobs) / 1e6 AS job_ms, iif(?1, (SELECT count(*) FROM findings), NULL) AS "
	"findings,"
	" (SELECT type || ' ' || root FROM findings WHERE finding = 1 AND ?1) AS first_finding";

#define LISTED_COLUMNS 7

/* Adds a run's row. A folder that is no run's is passed over. @return 0 or negative errno with err set */
static int
add_run(sqlite3_stmt *insert, const char *dir, const char *name, struct err *err)
{
	struct err none = { 0 };
	sqlite3 *db = store_read(dir, &none);
	sqlite3_stmt *stmt;
	int ret = 0;

	if (db == NULL)
		return 0;
	stmt = store_select(db, of_run, err);
	sqlite3_bind_int(stmt, 1, findings_known(dir));
	if (stmt == NULL || sqlite3_step(stmt) != SQLITE_ROW)
		ret = err_set(err, -EIO, "%s: %s", dir, sqlite3_errmsg(db));
	sqlite3_bind_text(insert, 1, name, -1, SQLITE_TRANSIENT);
	for (int i = 0; ret == 0 && i < LISTED_COLUMNS; i++)
		sqlite3_bind_value(insert, i + 2, sqlite3_column_value(stmt, i));
	if (ret == 0 && (sqlite3_step(insert) != SQLITE_DONE || sqlite3_reset(insert) != SQLITE_OK))
		ret = err_set(err, -ENOMEM, "out of memory for a list");
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return ret;
}

static int
gather(sqlite3 *db, const char *parent, struct err *err)
{
	struct dirent *entry;
	sqlite3_stmt *insert = NULL;
	DIR *dir = opendir(parent);
	int ret = dir != NULL ? 0 : err_set(err, -errno, "%s: %s", parent, strerror(errno));

	if (ret == 0 &&
	    (sqlite3_exec(db, "CREATE TABLE runs (folder, name, seed, end_reason, run_ms, job_ms, findings, first_finding)",
			  NULL, NULL, NULL) != SQLITE_OK ||
	     sqlite3_prepare_v2(db, "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", -1, &insert, NULL) != SQLITE_OK))
		ret = err_set(err, -ENOMEM, "out of memory for a list");
	while (ret == 0 && (entry = readdir(dir)) != NULL) {
		char path[PATH_MAX];

		if (entry->d_name[0] != '.' &&
		    snprintf(path, sizeof(path), "%s/%s", parent, entry->d_name) < (int)sizeof(path))
			ret = add_run(insert, path, entry->d_name, err);
	}
	sqlite3_finalize(insert);
	if (dir != NULL)
		closedir(dir);
	return ret;
}

int
command_list(int argc, char **argv)
{
	struct list_options list = { .most = LISTED_ROWS };
	struct err err = { 0 };
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db = NULL;
	int ret;

	argv[0] = "rocelab list";
	if (args_parse(&argp, argc, argv, 0, &list) != 0)
		return EXIT_USAGE;
	if (sqlite3_open(":memory:", &db) != SQLITE_OK)
		ret = err_set(&err, -ENOMEM, "out of memory for a list");
	else
		ret = gather(db, list.parent != NULL ? list.parent : "out", &err);
	if (ret == 0)
		stmt = store_select(db, "SELECT * FROM runs ORDER BY folder", &err);
	if (stmt != NULL)
		ret = tables_print(stmt, list.format, list.most, stdout, &err);
	if (ret == 0 && list.format == TABLES_JSON)
		putchar('\n');
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	if (err.text[0] != '\0')
		log_error("%s", err.text);
	return ret == 0 && stmt != NULL ? EXIT_DONE : EXIT_USAGE;
}
