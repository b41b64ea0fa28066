/* SPDX-License-Identifier: BSD-3-Clause */
/* What a finding is worth by its type and place; intervals; sums over cases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/array.h"
#include "dpswitch/faults/fault.h"
#include "eval/bootstrap.h"
#include "eval/compare/score.h"
#include "rxe-hosts/faults/host_faults.h"
#include "scenario/scenario.h"
#include "tests/unit/unit.h"

static const char text[] = "topology = { kind = \"leaf-spine\"; leaves = 2; spines = 2; hosts_per_leaf = 2; rate = "
			   "\"100Gbps\"; delay = \"1us\"; };\n"
			   "collectives = ( { op = \"allgather\"; algorithm = \"ring\"; bytes = \"4MB\"; } );\n"
			   "flows = ( { src = \"h0\"; dst = \"h2\"; sport = 30000; bytes = \"1MB\"; } );\n"
			   "faults = ( { kind = \"loss\"; port = \"l0:3\"; rate = 0.1; }, { kind = \"blackhole\"; switch = "
			   "\"s1\"; dst = \"h1\"; },\n"
			   "           { kind = \"loss\"; port = \"l0:4\"; rate = 0.1; }, { kind = \"loss\"; port = "
			   "\"l1:4\"; rate = 0.1; } );\n";

static struct scenario *scenario;
static struct suspects suspects;

static int
load(void **state)
{
	char path[] = "/tmp/rocelab-rules-XXXXXX";
	struct err err = { 0 };
	int fd = mkstemp(path);
	FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;

	(void)state;
	if (file == NULL)
		return -1;
	fputs(text, file);
	fclose(file);
	scenario = scenario_load(&(struct scenario_options){ .path = path }, &err);
	unlink(path);
	return scenario != NULL ? suspects_list(scenario, 0, &suspects, &err) : -1;
}

static int
unload(void **state)
{
	(void)state;
	suspects_fini(&suspects);
	scenario_destroy(scenario);
	return 0;
}

static const struct compare_fault *
fault_of(const char *name)
{
	const struct compare_fault *fault = compare_faults;

	while (strcmp(fault->group.name, name) != 0)
		fault++;
	return fault;
}

static const struct suspect *
suspect_of(const char *name)
{
	for (size_t i = 0; i < suspects.count; i++)
		if (strncmp(suspects.at[i].name, name, strlen(name)) == 0)
			return &suspects.at[i];
	fail_msg("no suspect %s", name);
	return NULL;
}

/* @param of  one suspect, or two that are the fault together */
static enum compare_grade
grade(const char *fault, const char *one, const char *two, const char *finding)
{
	const struct suspect *of[2] = { suspect_of(one), two != NULL ? suspect_of(two) : NULL };
	struct compare_place place;
	struct err err = { 0 };
	json_t *json = json_loads(finding, 0, NULL);
	enum compare_grade is;

	assert_non_null(json);
	assert_int_equal(compare_place_init(&place, scenario, of, two != NULL ? 2 : 1, &err), 0);
	is = compare_grade(fault_of(fault), &place, json);
	compare_place_fini(&place);
	json_decref(json);
	return is;
}

static void
a_link_is_both_of_its_ends(void **state)
{
	(void)state;
	assert_int_equal(grade("loss", "loss@l0:3", NULL,
			       "{\"type\": \"packet-loss\", \"root\": \"l0:3\", \"ports\": [\"l0:3\", \"s0:1\"]}"),
			 COMPARE_RIGHT);
	assert_int_equal(grade("loss", "loss@l0:3", NULL,
			       "{\"type\": \"switch-problem\", \"root\": \"s0:1\", \"ports\": [\"s0:1\"]}"),
			 COMPARE_RIGHT);
	assert_int_equal(
		grade("loss", "loss@l0:3", NULL, "{\"type\": \"switch-problem\", \"root\": \"l0\", \"ports\": []}"),
		COMPARE_PARTLY);
	assert_int_equal(grade("loss", "loss@l0:3", NULL,
			       "{\"type\": \"silent-fault\", \"root\": \"l0:3 or s0:2\", \"ports\": [\"l0:3\", \"s0:2\"]}"),
			 COMPARE_PARTLY);
	assert_int_equal(grade("loss", "loss@l0:3", NULL,
			       "{\"type\": \"switch-problem\", \"root\": \"s1:1\", \"ports\": [\"s1:1\"]}"),
			 COMPARE_ELSEWHERE);
	assert_int_equal(grade("loss", "loss@l0:3", NULL, "{\"type\": \"slow-host\", \"root\": \"h0\", \"ports\": []}"),
			 COMPARE_FALSE);
}

static void
what_it_shows_is_a_part(void **state)
{
	(void)state;
	assert_int_equal(
		grade("loss", "loss@l0:3", NULL, "{\"type\": \"blackhole\", \"root\": \"l0:3\", \"ports\": [\"l0:3\"]}"),
		COMPARE_PARTLY);
	assert_int_equal(
		grade("loss", "loss@l0:3", NULL, "{\"type\": \"blackhole\", \"root\": \"l1:4\", \"ports\": [\"l1:4\"]}"),
		COMPARE_ELSEWHERE);
}

static void
a_switch_is_its_ports_and_those_to_it(void **state)
{
	(void)state;
	assert_int_equal(grade("blackhole", "blackhole@s1", NULL,
			       "{\"type\": \"blackhole\", \"root\": \"s1:2\", \"ports\": [\"s1:2\"]}"),
			 COMPARE_RIGHT);
	assert_int_equal(
		grade("blackhole", "blackhole@s1", NULL, "{\"type\": \"switch-problem\", \"root\": \"s1\", \"ports\": []}"),
		COMPARE_RIGHT);
	assert_int_equal(grade("blackhole", "blackhole@s1", NULL,
			       "{\"type\": \"blackhole\", \"root\": \"l0:4\", \"ports\": [\"l0:4\"]}"),
			 COMPARE_RIGHT);
	assert_int_equal(grade("blackhole", "blackhole@s1", NULL,
			       "{\"type\": \"blackhole\", \"root\": \"s0:1\", \"ports\": [\"s0:1\"]}"),
			 COMPARE_ELSEWHERE);
}

/* Faults of all links of a switch are the switch's. */
static void
what_several_have_in_common_is_the_place(void **state)
{
	(void)state;
	assert_int_equal(grade("switch-loss", "loss@l0:4", "loss@l1:4",
			       "{\"type\": \"switch-problem\", \"root\": \"s1\", \"ports\": []}"),
			 COMPARE_RIGHT);
	assert_int_equal(grade("switch-loss", "loss@l0:4", "loss@l1:4",
			       "{\"type\": \"switch-problem\", \"root\": \"l0\", \"ports\": []}"),
			 COMPARE_PARTLY);
	assert_int_equal(grade("switch-loss", "loss@l0:4", "loss@l1:4",
			       "{\"type\": \"switch-problem\", \"root\": \"s0\", \"ports\": []}"),
			 COMPARE_ELSEWHERE);
}

static void
a_flow_is_named_or_on_the_path(void **state)
{
	(void)state;
	assert_int_equal(grade("contention", "h0->h2", NULL,
			       "{\"type\": \"flow-contention\", \"root\": \"h3:1\", \"ports\": [], \"flows\": "
			       "[\"h0->h2/30000>4791\"]}"),
			 COMPARE_RIGHT);
	assert_int_equal(grade("contention", "h0->h2", NULL,
			       "{\"type\": \"flow-contention\", \"root\": \"l1:1\", \"ports\": [], \"flows\": []}"),
			 COMPARE_PARTLY);
	assert_int_equal(grade("contention", "h0->h2", NULL,
			       "{\"type\": \"flow-contention\", \"root\": \"l1:2\", \"ports\": [], \"flows\": []}"),
			 COMPARE_ELSEWHERE);
	assert_int_equal(
		grade("contention", "h0->h2", NULL, "{\"type\": \"high-rtt\", \"root\": \"l1:1\", \"ports\": [\"l1:1\"]}"),
		COMPARE_PARTLY);
}

/* Of the literature: Newcombe, Statistics in Medicine 17 (1998), table I, method 3: 81/263 and 0/20. */
static void
intervals_are_wilsons(void **state)
{
	double low, high;

	(void)state;
	wilson_interval(81, 263, &low, &high);
	assert_in_range((int)(1e4 * low + 0.5), 2552, 2554);
	assert_in_range((int)(1e4 * high + 0.5), 3661, 3663);
	wilson_interval(0, 20, &low, &high);
	assert_true(low == 0);
	assert_in_range((int)(1e4 * high + 0.5), 1610, 1612);
}

/* A case that cost time and was found by some, one that cost nothing, one that is clean. */
static void
fill(struct compare_row *rows)
{
	for (uint32_t i = 0; i < 3; i++) {
		rows[i] = (struct compare_row){ .number = i,
						.cell = compare_cell(i != 2 ? 2 : 0),
						.base_ns = 100,
						.base_complete = true,
						.costs = i == 0 };
		for (uint32_t s = 0; s < compare_nsystems; s++)
			rows[i].marks[s] = (struct compare_marks){
				.sees = i != 2, .acted = i != 2, .after_ns = -1, .job_ns = 110, .complete = true
			};
	}
	rows[0].marks[1].best = COMPARE_RIGHT;
	rows[0].marks[1].findings[COMPARE_RIGHT] = 1;
	rows[0].marks[1].findings[COMPARE_FALSE] = 2;
	rows[0].marks[1].findings[COMPARE_OWN] = 5;
	rows[0].marks[1].after_ns = 7;
	rows[1].marks[1].seen = COMPARE_PARTLY;
	rows[2].marks[0].findings[COMPARE_FALSE] = 1;
}

static void
sums_are_those_of_the_cases(void **state)
{
	struct compare_row rows[3];
	struct compare_study study = { .rows = rows, .nrows = 3 };
	struct compare_summary sum;
	struct err err = { 0 };

	(void)state;
	fill(rows);
	assert_int_equal(compare_summarize(&study, &sum, &err), 0);
	assert_int_equal(sum.costly, 1);
	assert_int_equal(sum.harmless, 1);
	assert_int_equal(sum.clean, 1);
	assert_int_equal(sum.none_found, 0);
	assert_int_equal(sum.systems[1].recall.part, 1);
	assert_int_equal(sum.systems[0].recall.part, 0);
	assert_int_equal(sum.systems[0].recall.of, 1);
	assert_int_equal(sum.systems[1].precision.part, 1);
	assert_int_equal(sum.systems[1].precision.of, 3);
	assert_int_equal(sum.systems[1].own, 5);
	assert_int_equal(sum.systems[1].alone, 1);
	assert_int_equal(sum.systems[1].harmless.part, 1);
	assert_int_equal(sum.systems[0].harmless.part, 0);
	assert_int_equal(sum.systems[0].false_alarms.part, 1);
	assert_int_equal(sum.systems[1].false_alarms.part, 0);
	assert_int_equal(sum.systems[1].after_ns.count, 1);
	assert_true(sum.systems[1].after_ns.median == 7);
	assert_in_range((int)(1e6 * sum.systems[1].slowdown.median), 99999, 100001);
	/* Every pair with the one that found it. */
	for (uint32_t i = 0; i < sum.npairs; i++)
		assert_int_equal(sum.pairs[i].recall.part, sum.pairs[i].first == 1 || sum.pairs[i].second == 1);
	assert_int_equal(sum.pairs[0].recall.part, 1);
}

/* A symptom of a fault is a finding of one of the systems. */
static void
symptoms_are_findings(void **state)
{
	const struct fault_ops *const *const folders[] = { switch_faults, host_faults };

	(void)state;
	for (size_t f = 0; f < ARRAY_LEN(folders); f++) {
		for (const struct fault_ops *const *kind = folders[f]; *kind != NULL; kind++) {
			assert_non_null((*kind)->symptoms[0]);
			for (const char *const *symptom = (*kind)->symptoms; *symptom != NULL; symptom++) {
				bool is_finding = false;

				for (uint32_t s = 0; s < compare_nsystems; s++)
					is_finding |= compare_systems[s].types != NULL &&
						      compare_is_its(&compare_systems[s], *symptom);
				if (!is_finding)
					fail_msg("%s: no system has a finding \"%s\"", (*kind)->kind, *symptom);
			}
		}
	}
}

UNIT_TEST(compare_rules)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(symptoms_are_findings),
		cmocka_unit_test(a_link_is_both_of_its_ends),
		cmocka_unit_test(what_it_shows_is_a_part),
		cmocka_unit_test(a_switch_is_its_ports_and_those_to_it),
		cmocka_unit_test(what_several_have_in_common_is_the_place),
		cmocka_unit_test(a_flow_is_named_or_on_the_path),
		cmocka_unit_test(intervals_are_wilsons),
		cmocka_unit_test(sums_are_those_of_the_cases),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
