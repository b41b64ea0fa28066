/* SPDX-License-Identifier: BSD-3-Clause */
#include "twin/rerun/results.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/input_file.h"

#define WAIT_LIMIT_MS 60000 /* for other programs that read or write the file */

int
results_failed(sqlite3 *db, struct err *err)
{
	const char *path = sqlite3_db_filename(db, "main");

	return err_set(err, -EIO, "%s: %s", path != NULL ? path : "results", sqlite3_errmsg(db));
}

sqlite3_stmt *
results_prepare(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt = NULL;

	sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
	return stmt;
}

int
results_finish(sqlite3 *db, sqlite3_stmt *stmt, struct err *err)
{
	int ret = stmt != NULL && sqlite3_step(stmt) == SQLITE_DONE ? 0 : results_failed(db, err);

	sqlite3_finalize(stmt);
	return ret;
}

int64_t
results_number(sqlite3_stmt *stmt, int64_t fallback)
{
	int64_t value = stmt != NULL && sqlite3_step(stmt) == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : fallback;

	sqlite3_finalize(stmt);
	return value;
}

/* Is all of it there, as this program writes it? @return 0 or -EINVAL with err set */
static int
check(sqlite3 *db, const char *path, const char *const *probes, struct err *err)
{
	sqlite3_stmt *stmt = results_prepare(db, "PRAGMA quick_check(1)");
	bool sound = stmt != NULL && sqlite3_step(stmt) == SQLITE_ROW &&
		     strcmp((const char *)sqlite3_column_text(stmt, 0), "ok") == 0;

	sqlite3_finalize(stmt);
	for (; *probes != NULL; probes++) {
		stmt = results_prepare(db, *probes);
		sound = sound && stmt != NULL;
		sqlite3_finalize(stmt);
	}
	return sound ? 0
		     : err_set(err, -EINVAL,
			       "%s is damaged or not of this version; remove its directory, or give another --out", path);
}

/* @return EIO: the disk is full or broken; EINVAL: the file is refused */
static int
reason(sqlite3 *db)
{
	int code = sqlite3_errcode(db), system = sqlite3_system_errno(db);

	return code == SQLITE_FULL || code == SQLITE_IOERR || system == ENOSPC || system == EDQUOT ? EIO : EINVAL;
}

sqlite3 *
results_open(const char *path, const char *schema, const char *const *probes, struct err *err)
{
	sqlite3 *db = NULL;
	struct err not_read = { "" };
	int why = EINVAL, ret;

	ret = input_check(path, &not_read);
	if (ret < 0 && ret != -ENOENT) {
		err_set(err, ret, "%s", not_read.text);
		errno = -ret;
		return NULL;
	}
	if (sqlite3_open(path, &db) != SQLITE_OK || sqlite3_busy_timeout(db, WAIT_LIMIT_MS) != SQLITE_OK) {
		why = reason(db);
		err_set(err, -why, "%s in %s", sqlite3_errmsg(db), path);
	} else if (sqlite3_exec(db, schema, NULL, NULL, NULL) != SQLITE_OK) {
		why = reason(db);
		results_failed(db, err);
	} else if (check(db, path, probes, err) == 0) {
		return db;
	}
	sqlite3_close(db);
	errno = why;
	return NULL;
}

int
results_belong(sqlite3 *db, const char *of, struct err *err)
{
	sqlite3_stmt *stmt =
		results_prepare(db, "INSERT INTO results_of SELECT ? WHERE NOT EXISTS (SELECT 1 FROM results_of)");
	int ret;

	sqlite3_bind_text(stmt, 1, of, -1, SQLITE_STATIC);
	ret = results_finish(db, stmt, err);
	if (ret < 0)
		return ret;
	stmt = results_prepare(db, "SELECT text FROM results_of");
	if (sqlite3_step(stmt) != SQLITE_ROW)
		ret = results_failed(db, err);
	else if (strcmp((const char *)sqlite3_column_text(stmt, 0), of) != 0)
		ret = err_set(err, -EEXIST, "%s holds results of%s; ask for the same, or give another --out",
			      sqlite3_db_filename(db, "main"), (const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	return ret;
}

/* ---- merge ---- */

/* All of from, to a file that does not exist yet. @return 0 or negative errno with err set */
static int
copy_all(const char *to, const char *from, struct err *err)
{
	sqlite3 *source = NULL, *db = NULL;
	sqlite3_backup *backup = NULL;
	int ret = 0;

	if (sqlite3_open_v2(from, &source, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK || sqlite3_open(to, &db) != SQLITE_OK)
		ret = err_set(err, -EINVAL, "%s: %s", from, sqlite3_errmsg(db != NULL ? db : source));
	else
		backup = sqlite3_backup_init(db, "main", source, "main");
	if (ret == 0 && (backup == NULL || sqlite3_backup_step(backup, -1) != SQLITE_DONE))
		ret = err_set(err, -reason(db), "%s: %s", from, sqlite3_errmsg(db));
	if (backup != NULL)
		sqlite3_backup_finish(backup);
	sqlite3_close(source);
	sqlite3_close(db);
	if (ret < 0)
		unlink(to);
	return ret;
}

/* The rows of a table as one text, by sqlite3_free(). */
static char *
rows_text(sqlite3 *db, const char *of, const char *table)
{
	char *sql = sqlite3_mprintf("SELECT * FROM %s.\"%w\"", of, table);
	sqlite3_stmt *stmt = sql != NULL ? results_prepare(db, sql) : NULL;
	sqlite3_str *text = sqlite3_str_new(db);

	while (stmt != NULL && sqlite3_step(stmt) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(stmt); i++) {
			const char *value = (const char *)sqlite3_column_text(stmt, i);

			sqlite3_str_appendf(text, "%s%s", value != NULL && value[0] == ' ' ? "" : " ", value);
		}
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
	return sqlite3_str_finish(text);
}

/* @return 0, or -EINVAL with err set: the results are of something else */
static int
check_origin(sqlite3 *db, const char *table, const char *from, struct err *err)
{
	char *ours = rows_text(db, "main", table), *theirs = rows_text(db, "shard", table);
	int ret = 0;

	if (ours == NULL || theirs == NULL || strcmp(ours, theirs) != 0)
		ret = err_set(err, -EINVAL, "%s holds results of%s, and the first shard of%s", from,
			      theirs != NULL ? theirs : " nothing", ours != NULL ? ours : " nothing");
	sqlite3_free(ours);
	sqlite3_free(theirs);
	return ret;
}

/* Those with a primary key (or without) of the file that is attached. @return 0 or negative errno with err set */
static int
each_table(sqlite3 *db, bool with_key, const char *from, struct err *err)
{
	sqlite3_stmt *tables = results_prepare(
		db, "SELECT t.name, EXISTS (SELECT 1 FROM pragma_table_info(t.name, 'shard') WHERE pk > 0)"
		    " FROM shard.sqlite_schema AS t WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
		    " ORDER BY t.rowid");
	int step = SQLITE_DONE, ret = tables != NULL ? 0 : results_failed(db, err);

	while (ret == 0 && (step = sqlite3_step(tables)) == SQLITE_ROW) {
		const char *table = (const char *)sqlite3_column_text(tables, 0);
		char *sql;

		if ((sqlite3_column_int(tables, 1) != 0) != with_key)
			continue;
		if (!with_key) {
			ret = check_origin(db, table, from, err);
			continue;
		}
		sql = sqlite3_mprintf("INSERT OR IGNORE INTO main.\"%w\" SELECT * FROM shard.\"%w\"", table, table);
		if (sql == NULL || sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
			ret = results_failed(db, err);
		sqlite3_free(sql);
	}
	if (ret == 0 && step != SQLITE_DONE)
		ret = results_failed(db, err);
	sqlite3_finalize(tables);
	return ret;
}

/* @param db  of the merge, with the shard attached */
static int
add_rows(sqlite3 *db, const char *from, struct err *err)
{
	int ret = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK ? 0 : results_failed(db, err);

	if (ret < 0)
		return ret;
	ret = each_table(db, false, from, err);
	if (ret == 0)
		ret = each_table(db, true, from, err);
	if (sqlite3_exec(db, ret == 0 ? "COMMIT" : "ROLLBACK", NULL, NULL, NULL) != SQLITE_OK && ret == 0)
		ret = results_failed(db, err);
	return ret;
}

int
results_merge(const char *to, const char *from, struct err *err)
{
	struct stat ours, theirs;
	sqlite3_stmt *attach;
	sqlite3 *db = NULL;
	int ret;

	if (access(from, R_OK) < 0 || stat(from, &theirs) < 0)
		return err_set(err, -EINVAL, "%s: %s", from, strerror(errno));
	if (input_check(from, err) < 0)
		return -EINVAL;
	if (stat(to, &ours) < 0)
		return copy_all(to, from, err);
	if (ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino)
		return 0;
	if (sqlite3_open(to, &db) != SQLITE_OK || sqlite3_busy_timeout(db, WAIT_LIMIT_MS) != SQLITE_OK) {
		ret = err_set(err, -EIO, "%s in %s", sqlite3_errmsg(db), to);
	} else {
		attach = results_prepare(db, "ATTACH ? AS shard");
		sqlite3_bind_text(attach, 1, from, -1, SQLITE_STATIC);
		ret = results_finish(db, attach, err);
		if (ret == 0)
			ret = add_rows(db, from, err);
	}
	sqlite3_close(db);
	return ret;
}
