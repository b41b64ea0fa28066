/* SPDX-License-Identifier: BSD-3-Clause */
/* What an evaluation is asked for, and what it remembers when it is interrupted. */
#include <errno.h>
#include <pthread.h>
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

#include "common/clock.h"
#include "eval/eval.h"
#include "eval/store.h"
#include "tests/unit/alloc.h"
#include "tests/unit/sql_refusals.h"
#include "tests/unit/unit.h"

static char path[UNIT_PATH];

static int
make_file(void **state)
{
	int fd = unit_file(path, "store");

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int
delete_file(void **state)
{
	(void)state;
	return unlink(path);
}

static struct store *
open_store(void)
{
	struct err err = { 0 };
	struct store *store = store_open(path, 7, 0.1, " --set a=1", &err);

	if (store == NULL)
		fail_msg("%s", err.text);
	return store;
}

static void
what_is_done_is_remembered(void **state)
{
	const struct store_run run = { .family = "storm",
				       .policy = "p",
				       .index = 4,
				       .outcome = OUTCOME_FN,
				       .why = "it's \"so\"",
				       .telemetry_bytes = 1,
				       .collected_bytes = 2,
				       .bandwidth_bytes = 3,
				       .polls = 4,
				       .hops = 5000000000,
				       .cpu_s = 0.5,
				       .wall_s = 0.75 };
	struct store *store = open_store();
	struct store_run *runs;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(store_attempt(store, "storm", 4), -1);
	assert_int_equal(store_next_attempt(store, "storm", 4), 0);
	assert_int_equal(store_exclude(store, "storm", 4, 2, "nothing met", &err), 0);
	assert_int_equal(store_add_case(store, "storm", 4, 3, &err), 0);
	assert_int_equal(store_add_run(store, &run, &err), 0);
	store_close(store);

	store = open_store();
	assert_int_equal(store_attempt(store, "storm", 4), 3);
	assert_int_equal(store_next_attempt(store, "storm", 4), 3);
	assert_int_equal(store_excluded(store, "storm", 5), 1);
	assert_int_equal(store_excluded(store, "storm", 4), 0); /* fewer cases are asked for: it is none of them */
	assert_true(store_has_run(store, "storm", 4, "p"));
	assert_false(store_has_run(store, "storm", 4, "q"));
	assert_false(store_has_run(store, "storm", 3, "p"));
	assert_int_equal(store_runs(store, "storm", "p", 5, &runs, &err), 1);
	assert_int_equal(runs[0].outcome, OUTCOME_FN);
	assert_string_equal(runs[0].why, "it's \"so\"");
	assert_int_equal(runs[0].hops, 5000000000);
	assert_int_equal(runs[0].bandwidth_bytes, 3);
	assert_true(runs[0].wall_s == 0.75);
	free(runs);
	store_close(store);
}

static void
another_evaluation_is_refused(void **state)
{
	char other[sizeof(path) + 8];
	struct err err = { 0 };

	(void)state;
	store_close(open_store());
	assert_null(store_open(path, 8, 0.1, " --set a=1", &err));
	assert_non_null(strstr(err.text, "seed 7"));
	assert_null(store_open(path, 7, 0.2, " --set a=1", &err));
	assert_null(store_open(path, 7, 0.1, "", &err));
	snprintf(other, sizeof(other), "%s.plain", path);
	err = (struct err){ 0 };
	store_close(store_open(other, 7, 0.1, "", &err));
	assert_null(store_open(other, 7, 0.1, " --set a=1", &err));
	assert_non_null(strstr(err.text, "seed 7 at scale 0.1; ask for the same"));
	unlink(other);
	err = (struct err){ 0 };
	assert_null(store_open("/nowhere/at/all", 7, 0.1, "", &err));
	assert_non_null(strstr(err.text, "/nowhere/at/all"));
}

static void
damage_is_reported(void **state)
{
	char other[sizeof(path) + 8];
	struct err err = { 0 };
	struct stat info;

	(void)state;
	snprintf(other, sizeof(other), "%s.other", path);
	store_close(store_open(other, 7, 0.1, "", &err));
	assert_string_equal(err.text, "");
	assert_int_equal(stat(other, &info), 0);
	assert_int_equal(truncate(other, info.st_size * 6 / 10), 0);
	assert_null(store_open(other, 7, 0.1, "", &err));
	assert_non_null(strstr(err.text, other));
	unlink(other);
}

static void
variants_are_overrides(void **state)
{
	char names[VARIANT_MAX][VARIANT_NAME];
	struct variant_sets sets;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(variant_sets("full-polling", &sets, &err), 0);
	assert_int_equal(sets.count, 1);
	assert_string_equal(sets.text[0], "detection.policy=full-polling");
	assert_int_equal(variant_sets("vedrfolnir+detections=1+exporter.budget=1KB", &sets, &err), 0);
	assert_int_equal(sets.count, 3);
	assert_string_equal(sets.text[1], "detection.detections=1");
	assert_string_equal(sets.text[2], "exporter.budget=1KB");
	assert_true(variant_sets("vedrfolnir+detections", &sets, &err) < 0);
	assert_non_null(strstr(err.text, "KEY=VALUE"));
	assert_true(variant_sets("", &sets, &err) < 0);
	assert_true(variant_sets("p+a=1+b=1+c=1+d=1+e=1+f=1+g=1+h=1", &sets, &err) < 0);
	for (const struct ablation *ablation = ablations; ablation->name != NULL; ablation++) {
		uint32_t count = ablation->list(names);

		assert_in_range(count, 2, VARIANT_MAX);
		for (uint32_t i = 0; i < count; i++) {
			assert_int_equal(variant_sets(names[i], &sets, &err), 0);
			for (uint32_t other = 0; other < i; other++)
				assert_string_not_equal(names[i], names[other]);
		}
	}
	assert_null(ablation_find("nonsense"));
}

/* Somebody looks at the results, and lets go after a while. */
static void *
read_for_a_while(void *reader)
{
	clock_sleep_until_ns(clock_now_ns() + 200000000);
	assert_int_equal(sqlite3_exec(reader, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	return NULL;
}

static void
readers_are_waited_for(void **state)
{
	const struct store_run run = { .family = "loop", .policy = "p", .index = 9 };
	struct store *store = open_store();
	struct err err = { 0 };
	pthread_t thread;
	sqlite3 *reader;

	(void)state;
	assert_int_equal(sqlite3_open(path, &reader), SQLITE_OK);
	assert_int_equal(sqlite3_exec(reader, "BEGIN; SELECT * FROM runs", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(pthread_create(&thread, NULL, read_for_a_while, reader), 0);
	if (store_add_run(store, &run, &err) < 0)
		fail_msg("%s", err.text);
	pthread_join(thread, NULL);
	assert_true(store_has_run(store, "loop", 9, "p"));
	sqlite3_close(reader);
	store_close(store);
}

static void
write_text(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void
another_case_does_not_stay(void **state)
{
	char dir[] = "/tmp/rocelab-case-XXXXXX", name[64], aside[80];
	struct err err = { 0 };
	uint64_t first;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(name, sizeof(name), "%s/case.cfg", dir);
	snprintf(aside, sizeof(aside), "%s.before", name);
	assert_int_equal(case_file_set_aside(name), 0);
	write_text(name, "a = 1;");
	assert_int_equal(case_file_check(name, 0, &err), 0);
	first = case_file_digest(name);
	for (uint32_t i = 0; i < 3; i++) { /* however often it is tried */
		uint64_t before = case_file_set_aside(name);

		write_text(name, "a = 2;");
		assert_int_equal(case_file_check(name, before, &err), -EINVAL);
		assert_true(case_file_digest(name) == first);
	}
	assert_true(case_file_set_aside(name) == first); /* and nothing was written, or half of it */
	write_text(name, "a =");
	assert_true(case_file_set_aside(name) == first);
	write_text(name, "a = 1;");
	assert_int_equal(case_file_check(name, first, &err), 0);
	assert_int_equal(access(aside, F_OK), -1);
	assert_int_equal(unlink(name), 0);
	assert_int_equal(rmdir(dir), 0);
}

static void
count_run(void *ctx, const struct store_run *run)
{
	uint32_t *count = ctx;

	assert_true(run->family[0] != '\0' && run->policy[0] != '\0');
	(*count)++;
}

static void
every_run_is_shown(void **state)
{
	struct store_run run = { .family = "storm", .policy = "p", .outcome = OUTCOME_TP };
	struct store *store = open_store();
	struct err err = { 0 };
	uint32_t before = 0, count = 0;

	(void)state;
	assert_int_equal(store_each_run(store, count_run, &before, &err), 0);
	for (run.index = 100; run.index < 103; run.index++, run.outcome++)
		assert_int_equal(store_add_run(store, &run, &err), 0);
	assert_int_equal(store_each_run(store, count_run, &count, &err), 0);
	assert_int_equal(count, before + 3);
	store_close(store);
	store_close(NULL);
}

static const char *opened;

static void
open_and_close(void)
{
	struct err err = { 0 };
	struct store *store = store_open(opened, 7, 0.1, " --set a=1", &err);

	if ((store == NULL) != sql_refused.was || (sql_refused.was && err.text[0] == '\0'))
		fail_msg("\"%s\"", err.text);
	store_close(store);
}

static void
what_fails_is_reported(void **state)
{
	const struct store_run run = { .family = "storm", .policy = "p", .index = 200 };
	struct store_run *runs = NULL;
	struct store *store;
	struct err err = { 0 };
	uint32_t count = 0;

	(void)state;
	assert_int_equal(sql_watch(), SQLITE_OK);
	opened = ":memory:";
	assert_true(sql_refuse_each(&sql_refused.deny, open_and_close) > 10);
	opened = path;
	assert_true(sql_refuse_each(&sql_refused.stop, open_and_close) > 10);
	store = open_store();
	sql_refused.stop = 1;
	assert_int_equal(store_add_run(store, &run, &err), -EIO);
	sql_refused.deny = 1;
	assert_int_equal(store_add_case(store, "storm", 200, 1, &err), -EIO);
	sql_refused.deny = 1;
	assert_int_equal(store_exclude(store, "storm", 200, 1, "", &err), -EIO);
	sql_refused.stop = 1;
	assert_int_equal(store_runs(store, "storm", "p", 1000, &runs, &err), -EIO);
	assert_null(runs);
	sql_refused.stop = 1;
	assert_int_equal(store_each_run(store, count_run, &count, &err), -EIO);
	assert_int_equal(count, 0);
	assert_false(store_has_run(store, "storm", 200, "p"));
	sqlite3_reset_auto_extension();
	alloc_refuse(1);
	assert_int_equal(store_runs(store, "storm", "p", 1000, &runs, &(struct err){ 0 }), -ENOMEM);
	assert_true(alloc_was_refused());
	store_close(store);
	err.text[0] = '\0';
	alloc_refuse(1);
	assert_null(store_open(path, 7, 0.1, "", &err));
	assert_true(alloc_was_refused());
	assert_string_equal(err.text, "out of memory");
}

/* A row that no program writes is not more than was asked for. */
static void
a_row_too_many_is_an_error(void **state)
{
	struct store *store = open_store();
	struct store_run *runs;
	struct err err = { 0 };
	sqlite3 *db;

	(void)state;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(db, "INSERT INTO runs (family, idx, policy, outcome, why) VALUES ('n', -1, 'p', 'TP', '')",
			     NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(store_runs(store, "n", "p", 0, &runs, &err), -EIO);
	assert_int_equal(store_runs(store, "n", "p", 1, &runs, &err), 1);
	free(runs);
	store_close(store);
}

static void
a_case_keeps_its_file(void **state)
{
	struct err err = { 0 };
	uint64_t digest;
	char file[sizeof(path) + 8];
	FILE *to;

	(void)state;
	snprintf(file, sizeof(file), "%s.case", path);
	assert_int_equal(case_file_digest(file), 0);
	to = fopen(file, "w");
	assert_non_null(to);
	fputs("seed = 1;\n", to);
	fclose(to);
	digest = case_file_digest(file);
	assert_int_equal(case_file_check(file, digest, &err), 0);
	assert_int_equal(case_file_check(file, 0, &err), 0); /* there was none */
	assert_int_equal(case_file_check(file, digest + 1, &err), -EINVAL);
	assert_non_null(strstr(err.text, ".case was another case"));
	unlink(file);
}

UNIT_TEST(eval_store)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_done_is_remembered), cmocka_unit_test(another_evaluation_is_refused),
		cmocka_unit_test(damage_is_reported),         cmocka_unit_test(variants_are_overrides),
		cmocka_unit_test(readers_are_waited_for),     cmocka_unit_test(another_case_does_not_stay),
		cmocka_unit_test(every_run_is_shown),         cmocka_unit_test(what_fails_is_reported),
		cmocka_unit_test(a_row_too_many_is_an_error), cmocka_unit_test(a_case_keeps_its_file),
	};

	return cmocka_run_group_tests(tests, make_file, delete_file);
}
