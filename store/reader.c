/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/reader.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/run_files.h"
#include "store/schema.h"

/* @return its version; -1: it is no database */
static int
version_of(sqlite3 *db)
{
	sqlite3_stmt *stmt = NULL;
	int version = -1;

	if (sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &stmt, NULL) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
		version = sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	return version;
}

/* @return 0, or negative errno with err set */
static int
check(const char *path, sqlite3 *db, struct err *err)
{
	int version = version_of(db);

	if (version < 0)
		return err_set(err, -EINVAL, "%s: %s", path, sqlite3_errmsg(db));
	if (version != STORE_VERSION)
		return err_set(err, -EINVAL, "%s is of version %d, and this program reads version %d: run it again", path,
			       version, STORE_VERSION);
	return 0;
}

sqlite3 *
store_read(const char *dir, struct err *err)
{
	char path[PATH_MAX];
	sqlite3 *db = NULL;
	int ret;

	if (snprintf(path, sizeof(path), "%s/" RUN_STORE, dir) >= (int)sizeof(path))
		ret = err_set(err, -ENAMETOOLONG, "%s: too long a path", dir);
	else if (access(path, R_OK) < 0)
		ret = err_set(err, -errno,
			      "%s: %s: a run writes it unless counters.enabled is false; give the folder of one", path,
			      strerror(errno));
	else if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
		ret = err_set(err, -EINVAL, "%s: %s", path, sqlite3_errmsg(db));
	else
		ret = check(path, db, err);
	if (ret == 0)
		return db;
	sqlite3_close(db);
	errno = -ret;
	return NULL;
}

sqlite3_stmt *
store_select(sqlite3 *db, const char *sql, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	const char *rest = "";

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, &rest) != SQLITE_OK) {
		err_set(err, -EINVAL, "%s", sqlite3_errmsg(db));
		return NULL;
	}
	while (isspace((unsigned char)*rest) || *rest == ';')
		rest++;
	if (stmt == NULL || *rest != '\0')
		err_set(err, -EINVAL, "give one statement, a SELECT: %s", stmt == NULL ? "there is none" : rest);
	else if (!sqlite3_stmt_readonly(stmt))
		err_set(err, -EINVAL, "the store of a run is not changed: give a SELECT");
	else
		return stmt;
	sqlite3_finalize(stmt);
	return NULL;
}
