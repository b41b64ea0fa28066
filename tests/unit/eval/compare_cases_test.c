/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The corpus: every fault as often as it has to be, on every fabric; any first part of it has all faults; a seed makes
 * the same again.
 */
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

#include "eval/compare/score.h"
#include "eval/store.h"
#include "plugin/account.h"
#include "scenario/scenario.h"
#include "tests/unit/unit.h"
#include "workload/plan.h"

#define LEAST_CASES 500
#define LEAST_OF_A_FAULT 15
#define SCALE 0.2
#define CIRCLE 4 /* switches of a deadlock */

static char path[UNIT_PATH];

static int
make_path(void **state)
{
	int fd = unit_file(path, "compare");

	(void)state;
	return fd >= 0 ? close(fd) : -1;
}

static int
remove_path(void **state)
{
	(void)state;
	return unlink(path);
}

static void
make(uint32_t number, uint64_t seed)
{
	struct err err = { 0 };

	if (compare_make(number, seed, SCALE, path, &err) < 0)
		fail_msg("case %u, seed %llu: %s", number, (unsigned long long)seed, err.text);
}

static void
every_fault_has_its_cases(void **state)
{
	(void)state;
	assert_true(compare_most_cases() >= LEAST_CASES);
	for (uint32_t f = 0; f < compare_nfaults(); f++) {
		uint32_t cases = 0, sprayed = 0, background = 0;

		for (uint32_t number = 0; number < compare_most_cases(); number++) {
			struct compare_cell cell = compare_cell(number);

			if (cell.fault != &compare_faults[f])
				continue;
			cases++;
			sprayed += cell.fabric->is_sprayed;
			background += cell.has_background;
		}
		assert_true(cases >= LEAST_OF_A_FAULT);
		assert_true(compare_faults[f].ecmp_only || compare_faults[f].full_tree_only
				    ? sprayed == 0
				    : sprayed > 0 && sprayed < cases);
		if (compare_faults[f].is_clean)
			assert_int_equal(background, compare_faults[f].is_busy ? cases : 0);
		else
			assert_in_range(background, cases / 4, cases / 2);
	}
}

static void
a_part_of_it_has_all_faults(void **state)
{
	const uint32_t faults = compare_nfaults();

	(void)state;
	for (uint32_t cases = 1; cases <= compare_most_cases(); cases++)
		for (uint32_t f = 0; f < faults && cases % 37 == 0; f++) {
			uint32_t of = 0;

			for (uint32_t number = 0; number < cases; number++)
				of += compare_cell(number).fault == &compare_faults[f];
			assert_in_range(of, cases / faults, cases / faults + 1);
		}
}

/* What was put in can be left out, one key for each part of it. */
static void
every_fault_can_be_made_and_left_out(void **state)
{
	(void)state;
	for (uint32_t number = 0; number < 2 * compare_nfaults(); number++) {
		const struct compare_cell cell = compare_cell(number);
		struct err err = { 0 };
		struct suspects suspects = { 0 };
		struct scenario *scenario;
		size_t background = 0;

		make(number, 3 + number);
		scenario = scenario_load(&(struct scenario_options){ .path = path }, &err);
		assert_non_null(scenario);
		assert_int_equal(compare_parts(cell.fault, scenario, &suspects, &err), 0);
		for (size_t s = 0; s < suspects.count; s++)
			background += compare_is_background(&suspects.at[s]);
		assert_int_equal(background, cell.has_background);
		assert_true(cell.fault->is_clean ? suspects.count == background : suspects.count > background);
		assert_true(suspects.count + 4 <= COMPARE_MAX_SETS);
		suspects_fini(&suspects);
		scenario_destroy(scenario);
	}
}

/* Do pinned ways lead from one port to itself again: buffers that wait for each other? */
static bool
returns(const struct route_pins *pins, uint32_t from, uint32_t port, uint32_t depth)
{
	for (size_t p = 0; p < pins->count && depth <= CIRCLE; p++)
		for (uint32_t hop = 0; hop + 1 < pins->pins[p].data.hops; hop++) {
			const uint32_t *at = &pins->pins[p].data.ports[hop];

			if (at[0] == port && (at[1] == from || returns(pins, from, at[1], depth + 1)))
				return true;
		}
	return false;
}

/* From within by bundles alone; from without a host that gets one of the streams pauses its switch. */
static void
deadlocks_have_a_circle_of_buffers(void **state)
{
	(void)state;
	for (uint32_t number = 0; number < compare_most_cases(); number++) {
		const char *name = compare_cell(number).fault->group.name;
		bool is_elsewhere = strcmp(name, "pfc-deadlock-outside") == 0;
		struct scenario *scenario;
		struct err err = { 0 };
		uint32_t in_circle = 0;

		if (!is_elsewhere && strcmp(name, "pfc-deadlock") != 0)
			continue;
		make(number, 5 + number);
		scenario = scenario_load(&(struct scenario_options){ .path = path }, &err);
		assert_non_null(scenario);
		for (uint32_t port = 0; port < scenario->topo->nports; port++)
			in_circle += returns(scenario->pins, port, port, 1);
		assert_int_equal(in_circle, CIRCLE);
		assert_int_equal(scenario->pins->count, is_elsewhere ? 4 : 2);
		assert_int_equal(scenario->faults.count, is_elsewhere);
		scenario_destroy(scenario);
	}
}

static void
a_seed_makes_the_same_again(void **state)
{
	(void)state;
	for (uint32_t number = 1; number < compare_nfaults(); number += 5) {
		uint64_t first, again;

		make(number, 7);
		first = case_file_digest(path);
		make(number, 7);
		again = case_file_digest(path);
		assert_true(first == again);
		make(number, 8);
		assert_true(case_file_digest(path) != first);
	}
}

static const struct compare_system *
system_of(const char *name)
{
	for (uint32_t s = 0; s < compare_nsystems; s++)
		if (strcmp(compare_systems[s].name, name) == 0)
			return &compare_systems[s];
	fail_msg("no system %s", name);
	return NULL;
}

/* By what it looks at, and where. */
static void
who_can_see_what_is_a_matter_of_rules(void **state)
{
	(void)state;
	for (uint32_t number = 0; number < compare_most_cases(); number++) {
		const struct compare_cell cell = compare_cell(number);
		const char *fault = cell.fault->group.name;

		if (cell.fault->is_clean)
			for (uint32_t s = 0; s < compare_nsystems; s++)
				assert_false(compare_sees(&compare_systems[s], &cell));
		if (strcmp(fault, "silent-loss") == 0) {
			assert_true(compare_sees(system_of("flowpulse"), &cell) == cell.fabric->is_sprayed);
			assert_false(compare_sees(system_of("flowtracer"), &cell));
			assert_true(compare_sees(system_of("pingmesh"), &cell));
		}
		if (strcmp(fault, "slow-host") == 0)
			assert_false(compare_sees(system_of("pingmesh"), &cell));
		if (strcmp(fault, "contention") == 0)
			assert_true(compare_sees(system_of("flowtracer"), &cell) != cell.fabric->is_sprayed);
	}
}

static const struct compare_fault *
fault_of(const char *name)
{
	const struct compare_fault *fault = compare_faults;

	while (strcmp(fault->group.name, name) != 0)
		fault++;
	return fault;
}

static uint32_t
number_of(const char *name, uint32_t round)
{
	return round * compare_nfaults() + (uint32_t)(fault_of(name) - compare_faults);
}

/* Each bundle of a deadlock goes three of four ports along one circle, the first of which is on the job's way. */
static void
a_deadlock_is_a_circle_of_buffers(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < 10; round++) {
		struct err err = { 0 };
		struct route_path paths[2];
		struct scenario *scenario;
		uint32_t count = 0, shared = 0;
		bool used = false;

		make(number_of("pfc-deadlock", round), 5);
		scenario = scenario_load(&(struct scenario_options){ .path = path }, &err);
		assert_non_null(scenario);
		assert_int_equal(scenario->plan->nbackgrounds, 4);
		for (uint32_t i = 0; i < 4; i += 2)
			assert_int_equal(
				scenario_path(scenario, scenario->plan->backgrounds[i].flow, false, &paths[count++]), 0);
		/* The NIC's port comes first: the circle's ports 0, 1, 2 of one are 2, 3, 0 of the other. */
		assert_int_equal(paths[0].ports[1], paths[1].ports[3]);
		assert_int_equal(paths[0].ports[3], paths[1].ports[1]);
		for (uint32_t i = 1; i < 4; i++)
			shared += paths[0].ports[2] == paths[1].ports[i];
		assert_int_equal(shared, 0);
		assert_int_equal(scenario->topo->ports[paths[1].ports[2]].peer,
				 scenario->topo->ports[paths[0].ports[1]].node);
		for (uint32_t flow = 0; flow < scenario->plan->collectives[0].nflows && !used; flow++) {
			struct route_path job;

			assert_int_equal(
				scenario_path(scenario, scenario->plan->collectives[0].first_flow + flow, false, &job), 0);
			for (uint32_t hop = 0; hop < job.hops; hop++)
				used |= job.ports[hop] == paths[0].ports[1];
		}
		assert_true(used);
		scenario_destroy(scenario);
	}
}

/* What is no part of a scenario has a remedy, and a place. */
static void
polarisation_is_at_the_second_tier(void **state)
{
	struct suspects suspects = { 0 };
	struct err err = { 0 };
	struct scenario *scenario;
	const struct suspect *remedy;

	(void)state;
	make(number_of("polarisation", 0), 5);
	scenario = scenario_load(&(struct scenario_options){ .path = path }, &err);
	assert_non_null(scenario);
	assert_int_equal(compare_parts(fault_of("polarisation"), scenario, &suspects, &err), 0);
	remedy = &suspects.at[suspects.count - 1];
	assert_string_equal(remedy->set, "load_balancing.seeds=own");
	assert_false(compare_is_background(remedy));
	assert_int_equal(json_array_size(remedy->nodes), 8);
	assert_string_equal(json_string_value(json_array_get(remedy->nodes, 0)), "a0");
	suspects_fini(&suspects);
	scenario_destroy(scenario);
}

/* A program of others is a system like any, of whose types and reach nothing is known. */
static void
programs_are_systems(void **state)
{
	const struct compare_cell cell = compare_cell(number_of("slow-host", 0)), clean = compare_cell(0);
	const uint32_t ours = compare_nsystems;
	const char *names[COMPARE_MAX_SYSTEMS], *paths[COMPARE_MAX_SYSTEMS];
	struct err err = { 0 };
	size_t count;

	(void)state;
	assert_null(compare_program(0));
	assert_int_equal(compare_add_program("there/deep_ports.py", &err), 0);
	assert_int_equal(compare_nsystems, ours + 1);
	assert_int_equal(compare_add_program("elsewhere/deep_ports.sh", &err), -EINVAL);
	assert_non_null(strstr(err.text, "the same name, ./deep_ports"));
	assert_ptr_equal(compare_program(0), system_of("./deep_ports"));
	assert_string_equal(compare_row_of(compare_program(0))->title, "./deep_ports");
	assert_true(compare_is_its(compare_program(0), "any-type"));
	assert_true(compare_sees(compare_program(0), &cell));
	assert_false(compare_sees(compare_program(0), &clean));
	count = compare_diagnosers(&compare_runs[0], names, paths);
	assert_string_equal(names[count - 1], "./deep_ports");
	assert_string_equal(paths[count - 1], "there/deep_ports.py");
	assert_null(paths[0]);
	for (uint32_t i = 1; i < PLUGIN_PROGRAMS; i++)
		assert_int_equal(compare_add_program((const char *[]){ "", "./b", "./c", "./d" }[i], &err), 0);
	assert_int_equal(compare_add_program("./e", &err), -EINVAL);
	assert_int_equal(compare_nsystems, COMPARE_MAX_SYSTEMS);
}

/* A rule of a type that nobody has could never be kept; deep-queue is that of a program that comes with rocelab. */
static void
every_rule_is_of_somebodys_type(void **state)
{
	(void)state;
	for (const struct compare_fault *fault = compare_faults; fault->group.name != NULL; fault++) {
		assert_true(fault->is_clean == (fault->rules[0].type == NULL));
		assert_null(fault->rules[COMPARE_RULES - 1].type);
		for (const struct compare_rule *rule = fault->rules; rule->type != NULL; rule++) {
			uint32_t whose = strcmp(rule->type, "deep-queue") == 0;

			for (uint32_t s = 0; s < compare_nsystems; s++)
				whose += compare_is_its(&compare_systems[s], rule->type);
			assert_true(whose > 0);
			for (const struct compare_rule *other = fault->rules; other != rule; other++)
				assert_string_not_equal(other->type, rule->type);
		}
	}
}

UNIT_TEST(compare_cases)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_fault_has_its_cases),
		cmocka_unit_test(a_part_of_it_has_all_faults),
		cmocka_unit_test(every_fault_can_be_made_and_left_out),
		cmocka_unit_test(deadlocks_have_a_circle_of_buffers),
		cmocka_unit_test(a_seed_makes_the_same_again),
		cmocka_unit_test(who_can_see_what_is_a_matter_of_rules),
		cmocka_unit_test(a_deadlock_is_a_circle_of_buffers),
		cmocka_unit_test(polarisation_is_at_the_second_tier),
		cmocka_unit_test(every_rule_is_of_somebodys_type),
		cmocka_unit_test(programs_are_systems),
	};

	return cmocka_run_group_tests(tests, make_path, remove_path);
}
