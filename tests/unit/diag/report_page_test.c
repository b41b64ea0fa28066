/* SPDX-License-Identifier: BSD-3-Clause */
/* The page's data and the graphs: complete, small, accepted by other programs, and nothing gets in unescaped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <cmocka.h>

#include "common/units.h"
#include "diag/report/json.h"
#include "diag/vedrfolnir/section.h"
#include "tests/unit/diag/report_files.h"
#include "tests/unit/diag/report_fixture.h"
#include "tests/unit/unit.h"

/* The page's data, which stands between what the test's template begins and ends with. */
static json_t *
page_data(const struct files *files)
{
	char *page = report_files_read(files, "report.html");
	size_t head = strlen(REPORT_FILES_HEAD), tail = strlen(REPORT_FILES_TAIL), size = strlen(page);
	json_t *data;

	assert_in_range(size, head + tail + 2, SIZE_MAX);
	assert_memory_equal(page, REPORT_FILES_HEAD, head);
	assert_string_equal(page + size - tail, REPORT_FILES_TAIL);
	assert_null(memchr(page + head, '<', size - head - tail));
	data = json_loadb(page + head, size - head - tail, 0, NULL);
	assert_non_null(data);
	free(page);
	return data;
}

static json_t *
at(const json_t *list, size_t i)
{
	return json_array_get(list, i);
}

static json_t *
get(const json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	if (value == NULL)
		fail_msg("no %s", key);
	return value;
}

/* A number of a column: [n, ...], [n, times] for several equal ones, {"steps": ...} for differences to the row before. */
static json_int_t
cell(const json_t *columns, const char *key, size_t row)
{
	json_t *column = get(columns, key), *steps = json_object_get(column, "steps"), *item;
	json_int_t sum = 0;
	size_t i, first = 0;

	json_array_foreach(steps != NULL ? steps : column, i, item) {
		bool run = json_is_array(item);
		json_int_t value = json_integer_value(run ? at(item, 0) : item);
		size_t times = run ? (size_t)json_integer_value(at(item, 1)) : 1;
		size_t taken = row + 1 - first < times ? row + 1 - first : times;

		sum = steps != NULL ? sum + value * (json_int_t)taken : value;
		first += taken;
		if (first == row + 1)
			return sum;
	}
	fail_msg("%s has no row %zu", key, row);
	return 0;
}

static void
data_names_what_drawings_need(void **state)
{
	struct verdict *v = fixture_case();
	struct files files = report_files_write(v);
	json_t *data = page_data(&files), *finding = at(get(data, "findings"), 0), *steps, *schedule;
	uint32_t slow = fixture_step(v, 5, 2);

	assert_int_equal(json_array_size(get(data, "nodes")), v->run.nnodes);
	assert_int_equal(json_array_size(get(data, "ports")), v->run.nports);
	assert_int_equal(json_array_size(get(data, "flows")), v->run.nflows);
	assert_int_equal(json_array_size(get(get(data, "graphs"), "list")), vedrfolnir_of(v)->ngraphs);
	assert_string_equal(json_string_value(get(at(get(data, "flows"), F17_18), "short")), "17->18");
	assert_int_equal(json_integer_value(get(finding, "root_at")), v->findings[0].root_port);
	assert_int_equal(json_array_size(get(finding, "steps_at")), v->findings[0].nsteps);
	assert_string_equal(json_string_value(get(finding, "type")), v->findings[0].type->key);
	assert_string_equal(json_string_value(get(finding, "family")), v->findings[0].type->badge);
	assert_int_equal(json_integer_value(get(get(data, "run"), "worst")), 0);
	assert_null(json_object_get(data, "critical_path")); /* each step says so itself */
	steps = get(at(get(data, "collectives"), 0), "steps");
	schedule = at(get(data, "schedules"), (size_t)json_integer_value(get(steps, "schedule")));
	assert_int_equal(cell(schedule, "flow", slow), F17_18);
	assert_int_equal(cell(schedule, "step", slow), 2);
	assert_int_equal(cell(steps, "took", slow), (v->run.steps[slow].end_ps - v->run.steps[slow].start_ps) / PS_PER_NS);
	assert_true(cell(steps, "state", slow) & 8); /* on the critical path */
	json_decref(data);
	report_files_remove(&files);
}

/* Rows of the ledger, whole steps of the page's last decimal; null where no host reported one. */
static void
data_has_the_ledger(void **state)
{
	struct verdict *v = fixture_case();
	struct files files = report_files_write(v);
	json_t *data = page_data(&files), *ledger;

	(void)state;
	assert_true(json_is_null(get(data, "ledger")));
	json_decref(data);
	report_files_remove(&files);
	v = fixture_case();
	vedrfolnir_of(v)->ledgers[1].ps[LEDGER_WIRE] = 1728400 * PS_PER_NS;
	files = report_files_write(v);
	data = page_data(&files);
	ledger = get(data, "ledger");
	assert_int_equal(json_integer_value(get(ledger, "step")), fixture_step(v, 5, 2));
	assert_string_equal(json_string_value(get(at(get(ledger, "rows"), 0), "entry")), "wire");
	assert_int_equal(json_integer_value(get(at(get(ledger, "rows"), 0), "step_ns")), 1728000);
	assert_string_equal(json_string_value(get(at(get(ledger, "rows"), 1), "entry")), "unknown");
	json_decref(data);
	report_files_remove(&files);
}

static void
innocent_and_unfinished_runs_have_pages(void **state)
{
	struct verdict *(*const make[])(void) = { fixture_clean, fixture_stalled };

	for (size_t i = 0; i < 2; i++) {
		struct files files = report_files_write(make[i]());
		json_t *data = page_data(&files), *collective = at(get(data, "collectives"), 0);

		assert_int_equal(json_is_true(get(get(data, "network"), "innocent")), i == 0);
		assert_int_equal(json_is_true(get(collective, "complete")), i == 0);
		assert_int_equal(json_integer_value(get(collective, "done")) <
					 json_integer_value(get(collective, "nsteps")),
				 i == 1);
		assert_true(json_integer_value(get(get(data, "run"), "root")) < 0);
		json_decref(data);
		report_files_remove(&files);
	}
}

/* 32,512 steps: all are there, in less than 40 bytes each. */
static void
data_of_large_run_is_small(void **state)
{
	struct files files = report_files_write(fixture_large(128, 254));
	char *page = report_files_read(&files, "report.html");
	json_t *data = page_data(&files), *steps;

	assert_in_range(strlen(page), 100000, 1300000);
	steps = get(at(get(data, "collectives"), 0), "steps");
	assert_int_equal(json_integer_value(get(steps, "count")), 128 * 254);
	assert_int_equal(cell(steps, "start", 128 * 254 - 1), files.v->run.steps[128 * 254 - 1].start_ps / PS_PER_NS);
	json_decref(data);
	free(page);
	report_files_remove(&files);
}

static uint32_t
count_of(const char *text, const char *part)
{
	uint32_t count = 0;

	for (const char *at = strstr(text, part); at != NULL; at = strstr(at + strlen(part), part))
		count++;
	return count;
}

/* Graphviz lays out no graph of 32,512 steps: its critical path is drawn, and the file says so. */
static void
graph_of_large_run_is_its_critical_path(void **state)
{
	struct files small = report_files_write(fixture_large(16, 30)), large = report_files_write(fixture_large(128, 254));
	char *whole = report_files_read(&small, "waiting.dot"), *path = report_files_read(&large, "waiting.dot");
	uint32_t npath = vedrfolnir_of(large.v)->waiting[0].npath;

	assert_null(strstr(whole, "critical path"));
	assert_int_equal(count_of(whole, " step "), 2 * 16 * 30);
	assert_non_null(strstr(path, "Of its 32512 steps, those beside the critical path are not here"));
	assert_true(npath > 0 && npath < 32512);
	assert_int_equal(count_of(path, " step "), 2 * npath);
	free(whole);
	free(path);
	report_files_remove(&small);
	report_files_remove(&large);
}

static void
dot_accepts(const struct files *files, const char *name, const char *expected)
{
	char command[512], *svg;

	snprintf(command, sizeof(command), "dot -Tsvg -o %s/out.svg %s/%s 2>%s/out.err && ! test -s %s/out.err", files->dir,
		 files->dir, name, files->dir, files->dir);
	assert_int_equal(system(command), 0);
	svg = report_files_read(files, "out.svg");
	assert_non_null(strstr(svg, expected));
	free(svg);
	snprintf(command, sizeof(command), "rm %s/out.svg %s/out.err", files->dir, files->dir);
	assert_int_equal(system(command), 0);
}

static void
graphviz_draws_the_graphs(void **state)
{
	struct files files;

	if (system("command -v dot >/dev/null") != 0) {
		print_message("SKIPPED: graphviz is not installed\n");
		skip();
	}
	files = report_files_write(fixture_case());
	dot_accepts(&files, "waiting.dot", "70.134 ms");
	dot_accepts(&files, "provenance.dot", "6:2");
	report_files_remove(&files);
}

/* Names that would end a string, a tag or a line, and bytes that are no text at all. */
static void
hostile_names_do_no_harm(void **state)
{
	struct verdict *v = fixture_case();
	struct files files;
	char *text, *dot, *json;
	json_t *root, *data;

	strcpy(v->run.nodes[6].name, "\"><script>alert(1)</script>");
	strcpy(v->run.ports[fixture_port(v, "6:2")].name, "\\\"<&'\x1b[31m\xff\xc3");
	strcpy(v->run.flows[F17_18].name, "</title>\"\\\n\x9b"
					  "31m");
	strcpy(v->findings[0].root, "]]>\x01\xf0\x9f");
	strcpy(v->run.name, "<b>&\"\xed\xa0\x80");
	files = report_files_write(v);
	data = page_data(&files);
	assert_string_equal(json_string_value(get(at(get(data, "nodes"), 6), "name")), "\"><script>alert(1)</script>");
	assert_string_equal(json_string_value(get(get(data, "run"), "name")), "<b>&\"???");
	json_decref(data);
	text = report_files_read(&files, "report.txt");
	assert_null(strchr(text, '\x1b'));
	assert_null(strchr(text, '\x9b'));
	assert_null(strchr(text, '\x01'));
	json = report_files_read(&files, "verdict.json");
	root = json_loads(json, 0, NULL);
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(json_object_get(root, "findings"), 0), "root")), "]]>???");
	json_decref(root);
	free(json);
	dot = report_files_read(&files, "provenance.dot");
	assert_null(strchr(dot, '\x1b'));
	if (system("command -v dot >/dev/null") == 0)
		dot_accepts(&files, "provenance.dot", "svg");
	free(dot);
	free(text);
	report_files_remove(&files);
}

/* Numbers of a list as their text, and all else, are what the library's own writer makes of the same values. */
static void
lists_are_written_as_arrays(void **state)
{
	static const json_int_t numbers[] = { 0, -1, 9, 10, 1234567890123, INT64_MAX, INT64_MIN };
	json_t *list, *array = json_array(), *own, *whole;
	struct value_list text = { 0 }, none = { 0 };
	char *want, *got = NULL;
	size_t size = 0;
	FILE *to;

	(void)state;
	for (uint32_t i = 0; i < 3000; i++) { /* more than the text has room for at first */
		json_int_t number = numbers[i % (sizeof(numbers) / sizeof(numbers[0]))];

		value_list_number(&text, number);
		value_list_pair(&text, number, i);
		json_array_append_new(array, json_integer(number));
		json_array_append_new(array, json_pack("[I, I]", number, (json_int_t)i));
	}
	list = value_list_end(&text);
	own = json_pack("{s:o, s:[o, {}, [], f, b, n, s], s:o}", "list", list, "a \"key\"", value_list_end(&none), 0.1, 1,
			"\\ \"\n\x01\u00e9 /", "last", json_integer(INT64_MIN));
	whole = json_pack("{s:o, s:[[], {}, [], f, b, n, s], s:o}", "list", array, "a \"key\"", 0.1, 1,
			  "\\ \"\n\x01\u00e9 /", "last", json_integer(INT64_MIN));
	assert_non_null(own);
	want = json_dumps(whole, JSON_COMPACT | JSON_REAL_PRECISION(7));
	to = open_memstream(&got, &size);
	assert_non_null(to);
	assert_int_equal(json_write_page(own, 7, to), 0);
	fclose(to);
	assert_string_equal(got, want);
	free(got);
	free(want);
	json_decref(own);
	json_decref(whole);
}

UNIT_TEST(report_page)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_has_the_ledger),
		cmocka_unit_test(data_names_what_drawings_need),
		cmocka_unit_test(innocent_and_unfinished_runs_have_pages),
		cmocka_unit_test(data_of_large_run_is_small),
		cmocka_unit_test(graph_of_large_run_is_its_critical_path),
		cmocka_unit_test(graphviz_draws_the_graphs),
		cmocka_unit_test(hostile_names_do_no_harm),
		cmocka_unit_test(lists_are_written_as_arrays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
