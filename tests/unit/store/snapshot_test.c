/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of a running program: what is written is read, and what is not whole, or of another version, is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/prng.h"
#include "store/store.h"
#include "tests/unit/unit.h"

static struct snapshot
example(void)
{
	struct snapshot snapshot = { 0 };
	struct run_store *store = run_store_of_snapshot(&snapshot);

	assert_non_null(store);
	snapshot_begin(&snapshot);
	run_store_row(store, STORE_RUN, (struct store_cell[]){ STORE_TEXT("name"), STORE_TEXT("a \"run\"") });
	run_store_row(store, STORE_RUN, (struct store_cell[]){ STORE_TEXT("end_ns"), STORE_INT(-5) });
	run_store_row(
		store, STORE_ECN,
		(struct store_cell[]){ STORE_INT(3), STORE_INT(1), STORE_NULL, STORE_INT(INT64_MAX), STORE_REAL(0.25) });
	snapshot_end(&snapshot);
	run_store_destroy(store);
	assert_int_equal(snapshot.error, 0);
	return snapshot;
}

/* @param size  of the bytes that arrive */
static sqlite3 *
read_bytes(const uint8_t *bytes, size_t size, struct err *err)
{
	FILE *file = tmpfile();
	sqlite3 *db;

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	rewind(file);
	db = snapshot_read(fileno(file), err);
	fclose(file);
	return db;
}

static void
reads_what_was_written(void **state)
{
	struct snapshot snapshot = example();
	struct err err = { 0 };
	sqlite3 *db = read_bytes(snapshot.bytes, snapshot.size, &err);
	sqlite3_stmt *stmt;

	(void)state;
	assert_non_null(db);
	assert_int_equal(
		sqlite3_prepare_v2(db,
				   "SELECT (SELECT value FROM run WHERE key = 'name'), (SELECT value FROM run WHERE"
				   " key = 'end_ns'), ecn.* FROM ecn",
				   -1, &stmt, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_string_equal(sqlite3_column_text(stmt, 0), "a \"run\"");
	assert_int_equal(sqlite3_column_int64(stmt, 1), -5);
	assert_int_equal(sqlite3_column_int64(stmt, 2), 3);
	assert_int_equal(sqlite3_column_type(stmt, 4), SQLITE_NULL);
	assert_true(sqlite3_column_int64(stmt, 5) == INT64_MAX);
	assert_true(sqlite3_column_double(stmt, 6) == 0.25);
	assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	snapshot_fini(&snapshot);
}

static void
refuses_what_is_not_whole(void **state)
{
	struct snapshot snapshot = example();

	(void)state;
	for (size_t size = 0; size < snapshot.size; size++) {
		struct err err = { 0 };

		assert_null(read_bytes(snapshot.bytes, size, &err));
		assert_string_not_equal(err.text, "");
	}
	for (size_t i = 0; i < 16; i++) { /* of the head: magic, version, columns */
		struct err err = { 0 };

		snapshot.bytes[i] ^= 1;
		assert_null(read_bytes(snapshot.bytes, snapshot.size, &err));
		assert_non_null(strstr(err.text, "another version"));
		snapshot.bytes[i] ^= 1;
	}
	snapshot_fini(&snapshot);
}

/* Bytes that no run sends are refused or read, and break nothing. */
static void
survives_any_bytes(void **state)
{
	const uint32_t cases = unit_wide(60, 2000, "snapshots with other bytes");
	struct prng prng;

	(void)state;
	prng_init(&prng, 1, 0);
	for (uint32_t i = 0; i < cases; i++) {
		struct snapshot snapshot = example();
		struct err err = { 0 };

		for (int n = 0; n < 4; n++)
			snapshot.bytes[16 + prng_below(&prng, snapshot.size - 16)] = (uint8_t)prng_below(&prng, 256);
		sqlite3_close(read_bytes(snapshot.bytes, snapshot.size, &err));
		snapshot_fini(&snapshot);
	}
}

UNIT_TEST(snapshot)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_was_written),
		cmocka_unit_test(refuses_what_is_not_whole),
		cmocka_unit_test(survives_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
