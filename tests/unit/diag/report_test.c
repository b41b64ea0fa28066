/* SPDX-License-Identifier: BSD-3-Clause */
/* verdict.json and report.txt: what is in them. */
#include <ctype.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>
#include <cmocka.h>

#include "common/array.h"
#include "common/units.h"
#include "diag/report/report.h"
#include "diag/report/text.h"
#include "tests/unit/diag/report_files.h"
#include "tests/unit/diag/report_fixture.h"
#include "tests/unit/unit.h"

static json_t *
read_json(const struct files *files)
{
	char *text = report_files_read(files, "verdict.json");
	json_error_t error;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	if (root == NULL)
		fail_msg("verdict.json:%d: %s", error.line, error.text);
	free(text);
	return root;
}

static const char *
string_at(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	assert_true(json_is_string(value));
	return json_string_value(value);
}

static json_int_t
int_at(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

static void
json_reports_the_case(void **state)
{
	struct files files = report_files_write(fixture_case());
	json_t *root = read_json(&files), *item, *path, *finding;

	assert_int_equal(int_at(root, "schema_version"), 5);
	item = json_array_get(json_object_get(root, "collectives"), 0);
	assert_string_equal(string_at(item, "algorithm"), "ring");
	assert_int_equal(int_at(item, "ranks"), 8);
	assert_int_equal(int_at(item, "step_bytes"), 360000000);
	assert_int_equal(int_at(item, "start_ns"), 2000000000);
	assert_int_equal(int_at(item, "end_ns"), 2270906918); /* 19->12 step 7 */
	assert_true(json_is_true(json_object_get(item, "complete")));
	assert_true(json_is_false(json_object_get(json_object_get(root, "network"), "innocent")));

	path = json_object_get(root, "critical_path");
	assert_int_equal(json_array_size(path), 7);
	assert_string_equal(string_at(json_array_get(path, 1), "flow"), "17->18/10000>10000");
	assert_int_equal(int_at(json_array_get(path, 1), "step"), 2);
	assert_int_equal(int_at(json_array_get(path, 1), "start_ns"), 2046973092);
	assert_int_equal(int_at(json_array_get(path, 1), "end_ns"), 2117106922);
	assert_true(json_is_null(json_object_get(json_array_get(path, 0), "waited_for")));
	assert_int_equal(int_at(json_array_get(path, 1), "rank"), 5);
	assert_int_equal(int_at(json_object_get(json_array_get(path, 1), "waited_for"), "rank"), 5);
	assert_string_equal(string_at(json_array_get(path, 2), "flow"), "18->19/10000>10000");
	assert_int_equal(int_at(json_object_get(json_array_get(path, 2), "waited_for"), "rank"), 5);
	assert_int_equal(int_at(json_object_get(json_array_get(path, 2), "waited_for"), "step"), 2);

	finding = json_array_get(json_object_get(root, "findings"), 1);
	assert_string_equal(string_at(finding, "type"), "pfc-backpressure");
	assert_string_equal(string_at(finding, "root"), "6:2");
	assert_string_equal(json_string_value(json_array_get(json_object_get(finding, "ports"), 0)), "2:3");
	assert_string_equal(json_string_value(json_array_get(json_object_get(finding, "ports"), 1)), "6:2");
	assert_string_equal(json_string_value(json_array_get(json_object_get(finding, "victims"), 0)),
			    "17->18/10000>10000");
	item = json_array_get(json_object_get(finding, "iterations"), 0);
	assert_int_equal(int_at(item, "explained_ns"), int_at(finding, "explained_ns"));
	assert_int_equal(json_array_size(json_object_get(item, "steps")), 2);
	assert_int_equal(int_at(json_array_get(json_object_get(item, "steps"), 1), "step"), 2);

	item = json_array_get(json_object_get(root, "contributors"), 0);
	assert_string_equal(string_at(item, "flow"), "13->19/10001>10001");
	assert_true(json_real_value(json_object_get(item, "score")) == 5.8e7);
	item = json_array_get(json_object_get(item, "per_critical_flow"), 1);
	assert_int_equal(int_at(item, "step"), 2);
	assert_true(json_real_value(json_object_get(item, "score")) == 7.2e7);
	assert_int_equal(int_at(json_object_get(root, "overhead"), "polling_packets"), 61);
	json_decref(root);
	report_files_remove(&files);
}

/* Every key that other programs rely on, in every kind of object. */
static void
json_has_all_keys(void **state)
{
	static const char *const keys[][20] = {
		{ "jobs", "job", "name", "iterations", "unfinished", "start_ns", "end_ns", "lost_ns", "path_ns",
		  "compute_share", "collectives" },
		{ "collectives", "job", "collective", "name", "iteration", "algorithm", "ranks", "step_bytes", "start_ns",
		  "end_ns", "ideal_ns", "expect_ns", "complete", "lost_ns", "unexplained_ns" },
		{ "critical_path", "job", "collective", "iteration", "rank", "host", "flow", "step", "start_ns", "end_ns",
		  "waited_for", "open" },
		{ "findings", "type", "root", "ports", "flows", "victims", "iterations", "start_ns", "end_ns", "score",
		  "evidence", "explained_ns", "flows_explained_ns", "regained_ns", "without_effect", "confidence",
		  "fault" },
		{ "contributors", "flow", "score", "per_critical_flow" },
		{ "overhead", "telemetry_bytes", "records", "polling_packets", "polling_bytes", "notification_packets",
		  "notification_bytes", "report_bytes", "deferred", "dropped", "completeness" },
		{ "network", "innocent", "word", "confidence", "lost_ns", "explained_ns", "without_effect_ns",
		  "late_little_ns", "unexplained_ns", "reason" },
	};
	struct files files = report_files_write(fixture_case());
	json_t *root = read_json(&files);

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		json_t *object = json_object_get(root, keys[i][0]);

		if (json_is_array(object))
			object = json_array_get(object, 0);
		for (size_t k = 1; k < ARRAY_LEN(keys[i]) && keys[i][k] != NULL; k++) {
			if (json_object_get(object, keys[i][k]) == NULL)
				fail_msg("%s: no key %s", keys[i][0], keys[i][k]);
		}
	}
	json_decref(root);
	report_files_remove(&files);
}

/* The second step's sender reported where its time went; the first one's did not. */
static void
json_has_ledgers(void **state)
{
	struct verdict *v = fixture_case();
	struct files files;
	json_t *root, *path, *ledger;

	vedrfolnir_of(v)->ledgers[1].ps[LEDGER_WIRE] = 30 * PS_PER_US;
	vedrfolnir_of(v)->ledgers[1].ps[LEDGER_LATE] = 7 * PS_PER_US;
	files = report_files_write(v);
	root = read_json(&files);
	path = json_object_get(root, "critical_path");
	ledger = json_object_get(json_array_get(path, 1), "ledger");
	assert_true(json_is_null(json_object_get(json_array_get(path, 0), "ledger")));
	assert_int_equal(json_object_size(ledger), LEDGER_ENTRIES);
	assert_int_equal(int_at(ledger, "wire_ns"), 30000);
	assert_int_equal(int_at(ledger, "late_ns"), 7000);
	assert_int_equal(int_at(ledger, "nic_ns"), 0);
	json_decref(root);
	report_files_remove(&files);
}

/* Of the message that lost most, and of the critical path: parts add up as they are shown. */
static const char ledger_lines[] = "Where senders' time went (ms)\n"
				   "  ENTRY    17->18 STEP 2  CRITICAL PATH  MEANING\n"
				   "  wire             1.729          3.457  own frames on the wire, each once\n"
				   "  paused           2.117          2.117  paused by PFC\n"
				   "  unknown         66.288        265.333  no entry has it\n"
				   "  all             70.134        270.907  until each step's last ACK\n";

static void
text_has_the_ledger(void **state)
{
	struct verdict *v = fixture_case();
	struct vedrfolnir *own = vedrfolnir_of(v);
	struct files files;
	char *text;

	(void)state;
	assert_int_equal(own->waiting[0].path[1], fixture_step(v, 5, 2));
	own->ledgers[1].ps[LEDGER_WIRE] = 1728400 * PS_PER_NS;
	own->ledgers[1].ps[LEDGER_PAUSED] = 2117400 * PS_PER_NS;
	own->ledgers[0].ps[LEDGER_WIRE] = 1728400 * PS_PER_NS;
	files = report_files_write(v);
	text = report_files_read(&files, "report.txt");
	assert_non_null(strstr(text, ledger_lines));
	free(text);
	report_files_remove(&files);
	files = report_files_write(fixture_case());
	text = report_files_read(&files, "report.txt");
	assert_null(strstr(text, "Where senders' time went")); /* no host reported one */
	free(text);
	report_files_remove(&files);
}

static void
json_of_unfinished(void **state)
{
	struct files files = report_files_write(fixture_stalled());
	json_t *root = read_json(&files), *path = json_object_get(root, "critical_path");
	json_t *last = json_array_get(path, json_array_size(path) - 1);

	assert_true(json_is_null(json_object_get(json_array_get(json_object_get(root, "collectives"), 0), "end_ns")));
	assert_true(json_is_true(json_object_get(last, "open")));
	assert_string_equal(string_at(last, "flow"), "17->18/10000>10000");
	assert_int_equal(int_at(last, "step"), 6);
	json_decref(root);
	report_files_remove(&files);
}

/* A host that no longer answered is named, where it is not the reason itself. */
static void
text_names_who_no_longer_answered(void **state)
{
	struct verdict *v = fixture_stalled();
	char expected[128], *text;
	struct files files;

	(void)state;
	v->run.end_node = 2;
	snprintf(expected, sizeof(expected), "the run stalled (host %s no longer answered) after", v->run.nodes[2].name);
	files = report_files_write(v);
	text = report_files_read(&files, "report.txt");
	for (char *c = text; *c != '\0'; c++)
		*c = *c == '\n' ? ' ' : *c;
	assert_non_null(strstr(text, expected));
	free(text);
	report_files_remove(&files);
}

static void
same_verdict_same_bytes(void **state)
{
	struct files files = report_files_write(fixture_case());
	char *first[REPORT_FILES];
	struct err err = { 0 };

	for (size_t i = 0; i < REPORT_FILES; i++)
		first[i] = report_files_read(&files, report_file_names[i]);
	verdict_destroy(files.v);
	files.v = fixture_case();
	assert_int_equal(report_write(files.v, files.dir, REPORT_FILES_PAGE, &err), 0);
	for (size_t i = 0; i < REPORT_FILES; i++) {
		char *second = report_files_read(&files, report_file_names[i]);

		assert_string_equal(first[i], second);
		free(second);
		free(first[i]);
	}
	report_files_remove(&files);
}

static void
check_lines(const char *text)
{
	size_t column = 0;

	for (const char *p = text; *p != '\0'; p++) {
		assert_true(isprint((unsigned char)*p) || *p == '\n'); /* no colors in a file */
		if (*p == '\n')
			assert_true(p == text || p[-1] != ' ');
		column = *p == '\n' ? 0 : column + 1;
		assert_true(column <= 100);
	}
}

static void
text_reports_the_case(void **state)
{
	static const char *const reported[] = {
		"Ring AllGather over 8 ranks took 270.907 ms, 25.8 % longer than the 215.299 ms expected.\n",
		"Flow contention at 6:2: 13->19 ahead of 17->18 in steps 1-2",
		"PFC backpressure from 6:2 pauses 2:3; filled by 13->19; delays 17->18 in steps 1-2",
		"  2880000000  allgather/ring                     8      7      270907      215299   10.63   9.30\n",
		"     2  17->18  2046.973  70.134    30.757  +128.0 %  contention 6:2 by 13->19, backpressure 6:2\n",
		"     3  18->19  2117.107  30.746    30.757\n",
		"  13->19/10001>10001  58.0 M  98.4 %  17->18 step 1: 24.0 M, 17->18 step 2: 72.0 M\n",
		"  15->18/10001>10001   930 k   1.6 %  17->18 step 1: 3.20 M\n",
		"1,187 records, 96.8 kB of telemetry; 61 polling packets (5.37 kB)",
	};
	struct files files = report_files_write(fixture_case());
	char *text = report_files_read(&files, "report.txt"), line[160];

	for (size_t i = 0; i < ARRAY_LEN(reported); i++) {
		if (strstr(text, reported[i]) == NULL)
			fail_msg("report.txt does not say: %s\nbut:\n%s", reported[i], text);
	}
	snprintf(line, sizeof(line), "\nReport: %s/report.html\n", files.dir);
	assert_string_equal(text + strlen(text) - strlen(line), line);
	check_lines(text);
	free(text);
	report_files_remove(&files);
}

static void
text_of_nothing_wrong(void **state)
{
	struct files files = report_files_write(fixture_clean());
	char *text = report_files_read(&files, "report.txt");

	assert_non_null(strstr(text, "took 215.343 ms, as expected (215.299 ms).\nThe network is innocent. Every "
				     "step"));
	assert_null(strstr(text, "Root causes"));
	assert_null(strstr(text, "Contributors"));
	check_lines(text);
	free(text);
	report_files_remove(&files);
}

static void
text_of_unfinished(void **state)
{
	struct files files = report_files_write(fixture_stalled());
	char *text = report_files_read(&files, "report.txt");

	assert_non_null(strstr(text, "did not finish: the run stalled after 253.806 ms, with 54 of 56"));
	assert_non_null(strstr(text, "STILL OPEN, 118 MB of 360 MB acknowledged"));
	assert_non_null(strstr(text, "Incomplete evidence: The exporter's budget dropped 412 records and held 37 back"));
	assert_non_null(strstr(text, "unfinished\n"));
	check_lines(text);
	free(text);
	report_files_remove(&files);
}

/* Colors on a terminal, none with NO_COLOR. */
static void
terminal_gets_colors(void **state)
{
	struct verdict *v = fixture_clean();

	for (int colors = 1; colors >= 0; colors--) {
		int terminal = posix_openpt(O_RDWR | O_NOCTTY);
		char text[4096] = "";
		FILE *to;

		assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
		to = fopen(ptsname(terminal), "w");
		assert_non_null(to);
		if (colors)
			unsetenv("NO_COLOR");
		else
			setenv("NO_COLOR", "1", 1);
		assert_int_equal(text_write(v, NULL, to), 0);
		fclose(to);
		assert_true(read(terminal, text, sizeof(text) - 1) > 0);
		close(terminal);
		if (colors)
			assert_memory_equal(text, "\033[1;32mRing AllGather", 21);
		else
			assert_null(strchr(text, '\033'));
		assert_null(strstr(text, "Report:"));
	}
	verdict_destroy(v);
}

static void
reports_what_it_cannot_write(void **state)
{
	struct verdict *v = fixture_clean();
	struct err err = { 0 };

	assert_true(report_write(v, "/dev/null/x", PAGE_DATA_MARK, &err) < 0);
	assert_non_null(strstr(err.text, "/dev/null"));
	verdict_destroy(v);
}

UNIT_TEST(report)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_reports_the_case), cmocka_unit_test(json_has_all_keys),
		cmocka_unit_test(json_has_ledgers),      cmocka_unit_test(text_has_the_ledger),
		cmocka_unit_test(json_of_unfinished),    cmocka_unit_test(same_verdict_same_bytes),
		cmocka_unit_test(text_reports_the_case), cmocka_unit_test(text_of_nothing_wrong),
		cmocka_unit_test(text_of_unfinished),    cmocka_unit_test(text_names_who_no_longer_answered),
		cmocka_unit_test(terminal_gets_colors),  cmocka_unit_test(reports_what_it_cannot_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
