/* SPDX-License-Identifier: BSD-3-Clause */
/* Shards: how they are named, which runs are whose, and the union of their folders. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>
#include <cmocka.h>

#include "common/array.h"
#include "common/private_dir.h"
#include "tests/unit/unit.h"
#include "twin/rerun/results.h"
#include "twin/rerun/shard.h"

static struct private_dir top;

static char *
path_of(const char *name)
{
	static char paths[4][4096];
	static unsigned next;
	char *path = paths[next++ % ARRAY_LEN(paths)];

	snprintf(path, sizeof(paths[0]), "%s/%s", top.path, name);
	return path;
}

static int
make_top(void **state)
{
	struct err err = { 0 };

	(void)state;
	return private_dir_create(&top, &err);
}

static int
remove_top(void **state)
{
	(void)state;
	private_dir_remove(&top);
	return 0;
}

static void
put(const char *name, const char *text)
{
	FILE *file = fopen(path_of(name), "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void
has_text(const char *name, const char *text)
{
	char have[64] = "";
	FILE *file = fopen(path_of(name), "r");

	assert_non_null(file);
	assert_non_null(fgets(have, sizeof(have), file));
	fclose(file);
	assert_string_equal(have, text);
}

/* A store of results of something, with one row. */
static void
put_store(const char *name, const char *of, int row, const char *value)
{
	char *sql =
		sqlite3_mprintf("CREATE TABLE results_of (text TEXT NOT NULL); INSERT INTO results_of VALUES (%Q);"
				"CREATE TABLE runs (run INTEGER PRIMARY KEY, value TEXT); INSERT INTO runs VALUES (%d, %Q)",
				of, row, value);
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path_of(name), &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_free(sql);
	sqlite3_close(db);
}

static int64_t
number_in(const char *name, const char *sql)
{
	sqlite3 *db;
	int64_t number;

	assert_int_equal(sqlite3_open(path_of(name), &db), SQLITE_OK);
	number = results_number(results_prepare(db, sql), -1);
	sqlite3_close(db);
	return number;
}

static int
merge(struct shard *shard, const char *to, struct err *err)
{
	static const char *const kept[] = { "corpus.json", NULL };
	int ret = shard_merge(shard, path_of(to), kept, err);

	shard_fini(shard);
	return ret;
}

static void
every_run_has_one_shard(void **state)
{
	static const char *const wrong[] = { "", "1", "0/2", "3/2", "1/0", "-1/2", "1/2x", "a/2", "1/10001" };
	struct shard shard = { 0 };
	struct err err;
	char text[16];

	(void)state;
	assert_true(shard_has(NULL, 7) && shard_has(&shard, 7) && !shard_is_part(&shard));
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		snprintf(text, sizeof(text), "%s", wrong[i]);
		assert_int_equal(shard_parse(&shard, text, &err), -EINVAL);
	}
	for (uint64_t run = 0; run < 9; run++) {
		int owners = 0;

		for (int i = 1; i <= 4; i++) {
			snprintf(text, sizeof(text), "%d/4", i);
			assert_int_equal(shard_parse(&shard, text, &err), 0);
			owners += shard_has(&shard, run);
		}
		assert_int_equal(owners, 1);
	}
	assert_true(shard_is_part(&shard));
	assert_string_equal(shard_folder(&shard, "out/x", text, sizeof(text)), "out/x-4-of-4");
}

static void
folders_become_one(void **state)
{
	struct shard shard = { 0 };
	struct err err = { 0 };

	(void)state;
	for (int i = 1; i <= 2; i++) {
		static const char *const names[2][3] = { { "part-1", "part-1/3", "part-1/3/a" },
							 { "part-2", "part-2/3", "part-2/3/b" } };

		for (int k = 0; k < 2; k++)
			assert_int_equal(mkdir(path_of(names[i - 1][k]), 0700), 0);
		put(names[i - 1][2], names[i - 1][2]);
	}
	put("part-1/corpus.json", "corpus");
	put("part-2/corpus.json", "corpus");
	put("part-1/table.json", "one");
	put("part-2/table.json", "two");
	put_store("part-1/eval.sqlite", " odd", 1, "first");
	put_store("part-2/eval.sqlite", " odd", 2, "second");
	assert_int_equal(shard_add_folders(&shard, path_of("part-*"), &err), 0);
	assert_int_equal(shard.folders.gl_pathc, 2);
	assert_int_equal(shard_check(&shard, 1, &err), -ENODATA);
	assert_int_equal(shard_check(&shard, 0, &err), 0);
	assert_int_equal(merge(&shard, "all", &err), 0);
	has_text("all/3/a", "part-1/3/a");
	has_text("all/3/b", "part-2/3/b");
	has_text("all/corpus.json", "corpus");
	assert_int_equal(access(path_of("all/table.json"), F_OK), -1);
	assert_int_equal(number_in("all/eval.sqlite", "SELECT sum(run) FROM runs"), 3);
	assert_int_equal(number_in("all/eval.sqlite", "SELECT count(*) FROM results_of"), 1);
}

/* What is there stays, and nothing is mixed. */
static void
others_are_refused(void **state)
{
	struct shard shard = { 0 };
	struct err err = { 0 };

	(void)state;
	assert_int_equal(mkdir(path_of("other"), 0700), 0);
	put("other/corpus.json", "another");
	assert_int_equal(shard_add_folders(&shard, path_of("other"), &err), 0);
	assert_int_equal(merge(&shard, "all", &err), -EINVAL);
	assert_non_null(strstr(err.text, "differ"));
	has_text("all/corpus.json", "corpus");
	err = (struct err){ 0 };
	put_store("other.sqlite", " even", 1, "x");
	assert_int_equal(results_merge(path_of("all/eval.sqlite"), path_of("other.sqlite"), &err), -EINVAL);
	assert_non_null(strstr(err.text, "holds results of even, and the first shard of odd"));
	put_store("same.sqlite", " odd", 1, "later");
	assert_int_equal(results_merge(path_of("all/eval.sqlite"), path_of("same.sqlite"), &err), 0);
	assert_int_equal(number_in("all/eval.sqlite", "SELECT count(*) FROM runs WHERE value = 'first'"), 1);
	put("text.sqlite", "no database, whatever its name says");
	assert_int_equal(results_merge(path_of("new.sqlite"), path_of("text.sqlite"), &err), -EINVAL);
	assert_int_equal(access(path_of("new.sqlite"), F_OK), -1);
	assert_int_equal(results_merge(path_of("new.sqlite"), path_of("none.sqlite"), &err), -EINVAL);
	assert_int_equal(shard_add_folders(&shard, path_of("none"), &err), 0);
	assert_int_equal(merge(&shard, "all", &err), -EINVAL);
	assert_int_equal(shard_add_folders(&shard, path_of("all"), &err), 0);
	assert_int_equal(merge(&shard, "all", &err), 0); /* of itself */
}

UNIT_TEST(shard)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_run_has_one_shard),
		cmocka_unit_test(folders_become_one),
		cmocka_unit_test(others_are_refused),
	};

	return cmocka_run_group_tests(tests, make_top, remove_top);
}
