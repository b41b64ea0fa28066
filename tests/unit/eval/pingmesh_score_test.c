/* SPDX-License-Identifier: BSD-3-Clause */
/* What a verdict on R-Pingmesh's problems is worth. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "eval/pingmesh/study.h"
#include "tests/unit/unit.h"

#define REPORTS(type, node, ports, alike, both, by, end, found)                                                            \
	"{ 'type': '" type "', 'node': " node ", 'ports': [" ports "], 'alike': " #alike ", 'both_directions': " both      \
	", 'by': [" by "], 'end_ns': " #end "e9, 'found_ns': " #found "e9 }"
#define LINK(type, port, both) REPORTS(type, "null", "'" port "'", 1, both, "'votes'", 90, 65.5)
#define VERDICT(problems)                                                                                                  \
	"{ 'pingmesh': { 'problems': [" problems                                                                           \
	"], 'periods': [ { 'rnics_over_10_percent': 2 }, { 'rnics_over_10_percent': 1 } ] } }"

static struct pm_case made;
static struct pm_marks marks;

/* A leaf-spine fabric; the problems are the tests'. */
static int
load(void **state)
{
	static const char text[] =
		"name = \"t\"; topology = { kind = \"leaf-spine\"; leaves = 2; spines = 2; hosts_per_leaf = "
		"2; };\npingmesh = { enabled = true; duration = \"1s\"; };\n";
	char path[] = "/tmp/rocelab-pingmesh-XXXXXX";
	struct scenario_options from = { .path = path };
	struct err err = { 0 };
	int fd = mkstemp(path);

	(void)state;
	if (fd < 0 || write(fd, text, sizeof(text) - 1) < 0)
		return -1;
	close(fd);
	made = (struct pm_case){ .factor = 1, .loaded = scenario_load(&from, &err) };
	unlink(path);
	return made.loaded != NULL ? 0 : -1;
}

static int
unload(void **state)
{
	(void)state;
	pm_case_fini(&made);
	return 0;
}

/* Of 50 s on, until the end. */
static void
put(const char *kind, const char *place)
{
	struct pm_problem problem = { .port = TOPO_NONE, .node = TOPO_NONE, .start_s = 50 };

	for (problem.kind = pm_kinds; strcmp(problem.kind->name, kind) != 0; problem.kind++)
		assert_non_null(problem.kind->name);
	if (strchr(place, ':') != NULL)
		problem.port = topo_find_port(made.loaded->topo, place);
	else
		problem.node = topo_find(made.loaded->topo, place);
	assert_true(problem.port != TOPO_NONE || problem.node != TOPO_NONE);
	made.problems[made.nproblems++] = problem;
}

static int
score(const char *text)
{
	struct err err = { 0 };
	char *json = strdup(text);
	json_t *verdict;
	int ret;

	for (char *p = json; *p != '\0'; p++)
		*p = *p == '\'' ? '"' : *p;
	verdict = json_loads(json, 0, NULL);
	free(json);
	assert_non_null(verdict);
	ret = pm_score(&made, verdict, &marks, &err);
	json_decref(verdict);
	return ret;
}

static int
begin(void **state)
{
	(void)state;
	made.nproblems = 0;
	return 0;
}

static void
a_link_is_found_by_either_end_and_its_direction_by_one(void **state)
{
	(void)state;
	put("corruption", "l0:3");
	assert_int_equal(score(VERDICT(LINK("switch-problem", "l0:3", "false"))), 0);
	assert_true(marks.found[0].found && marks.found[0].alone && marks.found[0].direction && marks.reports[0].accurate);
	assert_true(marks.found[0].after_s == 15.5);
	assert_int_equal(marks.plain_rnics, 3);
	score(VERDICT(LINK("switch-problem", "s0:1", "false")));
	assert_true(marks.found[0].found && !marks.found[0].direction && marks.reports[0].accurate);
	score(VERDICT(LINK("switch-problem", "l0:3", "true")));
	assert_true(marks.found[0].found && !marks.found[0].direction);
}

static void
what_is_elsewhere_or_else_or_before_is_wrong(void **state)
{
	static const char *const wrong[] = {
		VERDICT(LINK("switch-problem", "l0:4", "false")),
		VERDICT(LINK("rnic-problem", "l0:3", "false")),
		VERDICT(LINK("high-rtt", "l0:3", "false")),
		VERDICT(REPORTS("switch-problem", "'l0'", "", 0, "false", "'votes'", 90, 65.5)),
		VERDICT(REPORTS("switch-problem", "null", "", 0, "false", "'votes'", 90, 65.5)),
		VERDICT(REPORTS("switch-problem", "null", "'l0:3'", 1, "false", "'votes'", 49, 65.5)),
	};

	(void)state;
	put("corruption", "l0:3");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		assert_int_equal(score(wrong[i]), 0);
		assert_int_equal(marks.nreports, 1);
		assert_false(marks.found[0].found || marks.reports[0].accurate);
	}
}

static void
one_of_several_places_is_found_but_not_alone(void **state)
{
	(void)state;
	put("flapping", "l1:4");
	score(VERDICT(REPORTS("switch-problem", "null", "'l0:3', 's1:2'", 2, "true", "'votes'", 90, 45.5)));
	assert_true(marks.found[0].found && !marks.found[0].alone && !marks.found[0].direction);
	assert_true(marks.found[0].after_s == 0);
	assert_string_equal(marks.reports[0].place, "l0:3 or s1:2");
}

static void
a_switch_is_found_as_such_or_by_a_link_of_its_own(void **state)
{
	(void)state;
	put("pairs", "s1");
	score(VERDICT(REPORTS("switch-problem", "'s1'", "", 0, "false", "'votes'", 90, 65.5)));
	assert_true(marks.found[0].found && marks.found[0].alone && marks.found[0].direction);
	score(VERDICT(LINK("switch-problem", "l0:4", "false")));
	assert_true(marks.found[0].found);
	score(VERDICT(LINK("switch-problem", "l0:3", "false")));
	assert_false(marks.found[0].found);
}

static void
rnics_that_a_starved_cpu_is_blamed_on_are_counted(void **state)
{
	(void)state;
	put("starved", "h2");
	put("rnic-loss", "h0:1");
	score(VERDICT(REPORTS("cpu-overload", "'h2'", "", 0, "false", "'several-rnics', 'delay'", 90, 65.5) ", " LINK(
		"rnic-problem", "h2:1", "true") ", " LINK("rnic-problem", "l0:1", "true") ", " LINK("rnic-problem", "h3:1",
												    "true")));
	assert_true(marks.found[0].found && marks.found[0].several && marks.found[0].delay);
	assert_true(marks.found[1].found && marks.found[1].direction);
	assert_true(marks.reports[0].accurate && marks.reports[2].accurate);
	assert_true(!marks.reports[1].accurate && marks.reports[1].at_starved);
	assert_true(!marks.reports[3].accurate && !marks.reports[3].at_starved);
}

static void
another_verdict_is_refused(void **state)
{
	(void)state;
	assert_int_equal(score("{ 'findings': [] }"), -EINVAL);
	assert_int_equal(score(VERDICT(LINK("nonsense", "l0:3", "true"))), -EINVAL);
}

UNIT_TEST(pingmesh_score)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_link_is_found_by_either_end_and_its_direction_by_one, begin),
		cmocka_unit_test_setup(what_is_elsewhere_or_else_or_before_is_wrong, begin),
		cmocka_unit_test_setup(one_of_several_places_is_found_but_not_alone, begin),
		cmocka_unit_test_setup(a_switch_is_found_as_such_or_by_a_link_of_its_own, begin),
		cmocka_unit_test_setup(rnics_that_a_starved_cpu_is_blamed_on_are_counted, begin),
		cmocka_unit_test_setup(another_verdict_is_refused, begin),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
