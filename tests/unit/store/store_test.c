/* SPDX-License-Identifier: BSD-3-Clause */
/* The store of a run: what is streamed and written is there, and what cannot be is reported. */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/schema.h"
#include "store/store.h"
#include "tests/unit/unit.h"

#define CELLS 4096

static char dir[] = "/tmp/rocelab-store-XXXXXX";

static int
make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) != NULL ? 0 : -1;
}

static int
remove_file(void **state)
{
	char path[PATH_MAX];

	(void)state;
	snprintf(path, sizeof(path), "%s/run.sqlite", dir);
	return unlink(path);
}

/* Nothing is left in it. */
static int
remove_dir(void **state)
{
	(void)state;
	return rmdir(dir);
}

static struct run_store *
create(void)
{
	struct err err = { 0 };
	struct run_store *store = run_store_create(dir, CELLS, &err);

	if (store == NULL)
		fail_msg("%s", err.text);
	return store;
}

/* The number that a query gives. */
static int64_t
number(const char *sql)
{
	struct err err = { 0 };
	sqlite3 *db = store_read(dir, &err);
	sqlite3_stmt *stmt = db != NULL ? store_select(db, sql, &err) : NULL;
	int64_t value;

	if (stmt == NULL)
		fail_msg("%s", err.text);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return value;
}

/* As many rows as the buffer has no room for at once, of two tables in turn; a batch is never full at the end. */
static void
streams_what_it_is_given(void **state)
{
	struct run_store *store = create();
	struct err err = { 0 };
	int64_t row[STORE_MAX_COLUMNS] = { 0 };
	uint32_t rows = 5003;

	(void)state;
	for (uint32_t i = 0; i < rows; i++) {
		enum store_table table = i % 3 == 0 ? STORE_QUEUE_SERIES : STORE_PORT_SERIES;

		while (run_store_room(store) < run_store_columns(store, table) + 1)
			run_store_commit(store);
		row[0] = i;
		run_store_stream(store, table, row);
		run_store_commit(store);
	}
	run_store_settle(store);
	run_store_settle(store);
	run_store_row(store, STORE_RUN, (struct store_cell[]){ STORE_TEXT("name"), STORE_TEXT("it's \"so\"") });
	run_store_row(store, STORE_RUN, (struct store_cell[]){ STORE_TEXT("none"), STORE_NULL });
	assert_int_equal(run_store_close(store, &err), 0);
	run_store_destroy(store);
	assert_int_equal(number("SELECT count(*) FROM port_series"), rows - (rows + 2) / 3);
	assert_int_equal(number("SELECT count(*) FROM queue_series"), (rows + 2) / 3);
	assert_int_equal(number("SELECT sum(time_ns) FROM (SELECT time_ns FROM port_series UNION ALL "
				"SELECT time_ns FROM queue_series)"),
			 (int64_t)rows * (rows - 1) / 2);
	assert_int_equal(number("SELECT count(*) FROM (SELECT time_ns, lag(time_ns) OVER (ORDER BY rowid) AS before FROM "
				"port_series) WHERE before > time_ns"),
			 0);
	assert_int_equal(number("SELECT count(*) FROM run WHERE value = 'it''s \"so\"' OR value IS NULL"), 2);
}

static void
reads_and_changes_nothing(void **state)
{
	struct err err = { 0 }, no_sql = { 0 }, two = { 0 }, writes = { 0 };
	struct run_store *store = create();
	sqlite3 *db;

	(void)state;
	assert_null(store_read("/nowhere", &err));
	assert_int_equal(errno, ENOENT);
	assert_non_null(strstr(err.text, "counters.enabled"));
	assert_int_equal(run_store_close(store, &err), 0);
	run_store_destroy(store);
	db = store_read(dir, &err);
	assert_non_null(db);
	assert_null(store_select(db, "SELEKT 1", &no_sql));
	assert_null(store_select(db, "SELECT 1; SELECT 2", &two));
	assert_null(store_select(db, "DELETE FROM run", &writes));
	assert_non_null(strstr(writes.text, "not changed"));
	sqlite3_close(db);
}

/* A file that must not grow: the error is kept, what follows is thrown away, and no file is left. */
static void
a_full_disk_is_reported_once(void **state)
{
	struct rlimit before, limit = { 20000, 20000 };
	struct run_store *store = create();
	struct err err = { 0 };
	char text[200];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	limit.rlim_max = before.rlim_max;
	setrlimit(RLIMIT_FSIZE, &limit);
	run_store_settle(store);
	for (int i = 0; i < 1000; i++)
		run_store_row(store, STORE_RUN, (struct store_cell[]){ STORE_TEXT(text), STORE_INT(i) });
	assert_int_equal(run_store_close(store, &err), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(run_store_errno(store), EFBIG);
	assert_int_equal(run_store_room(store), 0);
	run_store_destroy(store);
	assert_non_null(strstr(err.text, "run.sqlite: File too large"));
	assert_null(store_read(dir, &err));
}

/* One that is never closed leaves nothing. */
static void
an_abandoned_one_is_removed(void **state)
{
	struct err err = { 0 };

	(void)state;
	run_store_destroy(create());
	run_store_destroy(NULL);
	assert_null(store_read(dir, &err));
}

UNIT_TEST(store)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(streams_what_it_is_given, remove_file),
		cmocka_unit_test_teardown(reads_and_changes_nothing, remove_file),
		cmocka_unit_test(a_full_disk_is_reported_once),
		cmocka_unit_test(an_abandoned_one_is_removed),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
