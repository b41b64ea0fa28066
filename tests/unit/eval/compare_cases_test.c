/* SPDX-License-Identifier: BSD-3-Clause */
/* The corpus: every fault as often as it has to be, on every fabric; any first part of it has all faults; a seed makes the same again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "eval/case_file.h"
#include "eval/compare/systems.h"

#define LEAST_CASES 500
#define LEAST_OF_A_FAULT 15
#define SCALE 0.2

static char path[] = "/tmp/rocelab-compare-XXXXXX";

static int
make_path(void **state)
{
	int fd = mkstemp(path);

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
		assert_true(compare_faults[f].ecmp_only ? sprayed == 0 : sprayed > 0 && sprayed < cases);
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
		assert_int_equal(suspects_list(scenario, 0, &suspects, &err), 0);
		for (size_t s = 0; s < suspects.count; s++)
			background += compare_is_background(&suspects.at[s]);
		assert_int_equal(background, cell.has_background);
		assert_true(cell.fault->is_clean ? suspects.count == background : suspects.count > background);
		assert_true(suspects.count + 4 <= COMPARE_MAX_SETS);
		suspects_fini(&suspects);
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

/* A rule of a type that nobody has could never be kept. */
static void
every_rule_is_of_somebodys_type(void **state)
{
	(void)state;
	for (const struct compare_fault *fault = compare_faults; fault->group.name != NULL; fault++) {
		assert_true(fault->is_clean == (fault->rules[0].type == NULL));
		assert_null(fault->rules[COMPARE_RULES - 1].type);
		for (const struct compare_rule *rule = fault->rules; rule->type != NULL; rule++) {
			uint32_t whose = 0;

			for (uint32_t s = 0; s < compare_nsystems; s++)
				whose += compare_is_its(&compare_systems[s], rule->type);
			assert_true(whose > 0);
			for (const struct compare_rule *other = fault->rules; other != rule; other++)
				assert_string_not_equal(other->type, rule->type);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_fault_has_its_cases),
		cmocka_unit_test(a_part_of_it_has_all_faults),
		cmocka_unit_test(every_fault_can_be_made_and_left_out),
		cmocka_unit_test(a_seed_makes_the_same_again),
		cmocka_unit_test(who_can_see_what_is_a_matter_of_rules),
		cmocka_unit_test(every_rule_is_of_somebodys_type),
	};

	return cmocka_run_group_tests(tests, make_path, remove_path);
}
