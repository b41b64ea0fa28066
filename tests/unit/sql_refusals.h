/* SPDX-License-Identifier: BSD-3-Clause */
/* What the programs under test do when SQLite fails: any statement, or any step of one, of databases opened since. */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static struct {
	bool is_full;
	uint32_t deny, stop; /* the nth statement, step of one, from 1: no more */
	bool was;
} sql_refused;

static int
sql_authorize(void *ctx, int action, const char *a, const char *b, const char *database, const char *trigger)
{
	(void)ctx, (void)action, (void)a, (void)b, (void)database, (void)trigger;
	if (sql_refused.deny == 0 || --sql_refused.deny != 0)
		return SQLITE_OK;
	sql_refused.was = true;
	return SQLITE_DENY;
}

static int
sql_progress(void *ctx)
{
	(void)ctx;
	if (sql_refused.stop == 0 || --sql_refused.stop != 0)
		return 0;
	sql_refused.was = true;
	return 1;
}

static int
sql_at_open(sqlite3 *db, char **why, const void *api)
{
	(void)why, (void)api;
	sqlite3_set_authorizer(db, sql_authorize, NULL);
	sqlite3_progress_handler(db, 1, sql_progress, NULL);
	return sql_refused.is_full ? sqlite3_exec(db, "PRAGMA max_page_count = 1", NULL, NULL, NULL) : SQLITE_OK;
}

/* Until sqlite3_reset_auto_extension(). @return SQLITE_OK, or SQLite's error */
static inline int
sql_watch(void)
{
	return sqlite3_auto_extension((void (*)(void))sql_at_open);
}

/*
 * Refuses each in turn, until none is left.
 * @param place  sql's deny or stop
 * @param open   opens a database and closes it; fails the test unless it has an error where sql_refused.was, and only there
 * @return how many there were
 */
static inline uint32_t
sql_refuse_each(uint32_t *place, void (*open)(void))
{
	uint32_t count = 0;

	do {
		*place = ++count;
		sql_refused.was = false;
		open();
		*place = 0;
	} while (sql_refused.was);
	return count - 1;
}
