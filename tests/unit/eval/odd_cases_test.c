/* SPDX-License-Identifier: BSD-3-Clause */
/* Every group makes scenarios that load, from every seed, each with something to suspect where its group has that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "eval/odd/odd.h"
#include "scenario/scenario.h"
#include "tests/unit/unit.h"
#include "twin/rerun/suspect.h"

#define SCALE 0.1

static char path[UNIT_PATH];

static int
make_path(void **state)
{
	int fd = unit_file(path, "odd");

	(void)state;
	return fd >= 0 ? close(fd) : -1;
}

static int
remove_path(void **state)
{
	(void)state;
	return unlink(path);
}

static struct odd_case made;

static void
make(const char *group, uint64_t seed)
{
	struct err err = { 0 };

	if (odd_make(&made, odd_group_find(group), seed, (uint32_t)seed % ODD_CASES, SCALE, path, &err) < 0)
		fail_msg("%s, seed %llu: %s", group, (unsigned long long)seed, err.text);
}

static size_t
count_suspects(void)
{
	struct err err = { 0 };
	struct scenario *scenario = scenario_load(&(struct scenario_options){ .path = path }, &err);
	struct suspects suspects = { 0 };
	size_t count;

	assert_non_null(scenario);
	assert_int_equal(suspects_list(scenario, 0, &suspects, &err), 0);
	count = suspects.count;
	suspects_fini(&suspects);
	scenario_destroy(scenario);
	return count;
}

static void
every_seed_has_a_case_of_every_group(void **state)
{
	const uint32_t seeds = unit_wide(3, 200, "seeds of odd cases"), suspected = (seeds + 5) / 6;

	(void)state;
	for (const struct odd_group *group = odd_groups; group->name != NULL; group++) {
		uint32_t with = 0;

		for (uint64_t seed = 1; seed <= seeds; seed++) {
			size_t suspects;

			make(group->name, seed);
			assert_true(made.span_ns > 0);
			if (seed > suspected)
				continue;
			suspects = count_suspects() + (made.remedy[0] != '\0');
			assert_true(suspects <= SUSPECT_MAX);
			with += suspects > 0;
		}
		if (group->clean_of != NULL)
			assert_int_equal(with, 0);
		else
			assert_true(with >= (strcmp(group->name, "window") == 0 ? suspected / 10 : suspected));
	}
}

/* The same network and collective, to the digit, where no setting is the cause. */
static void
a_clean_case_is_the_same_without_its_cause(void **state)
{
	static struct odd_case whole;
	const char *of, *clean;

	(void)state;
	for (const struct odd_group *group = odd_groups; group->name != NULL; group++) {
		if (group->clean_of == NULL || strcmp(group->clean_of, "timers") == 0)
			continue;
		make(group->clean_of, 9);
		whole = made;
		make(group->name, 9);
		of = strstr(whole.head, "topology = ");
		clean = strstr(made.head, "topology = ");
		assert_non_null(of);
		assert_non_null(clean);
		assert_string_equal(of, clean);
		assert_true(whole.lists[ODD_FLOWS].count + whole.lists[ODD_FAULTS].count > 0);
		assert_int_equal(made.lists[ODD_FLOWS].count + made.lists[ODD_FAULTS].count, 0);
	}
}

static void
a_setting_may_be_the_cause(void **state)
{
	(void)state;
	make("timers", 4);
	assert_memory_equal(made.remedy, "host.timeout=", strlen("host.timeout="));
	assert_null(strstr(made.head, made.remedy + strlen("host.timeout=")));
	make("timers-clean", 4);
	assert_string_equal(made.remedy, "");
}

static void
a_seed_makes_the_same_again(void **state)
{
	static struct odd_case first;

	(void)state;
	for (const struct odd_group *group = odd_groups; group->name != NULL; group++) {
		make(group->name, 7);
		first = made;
		make(group->name, 7);
		assert_string_equal(first.head, made.head);
		for (size_t i = 0; i < ODD_LISTS; i++)
			assert_string_equal(first.lists[i].text, made.lists[i].text);
		make(group->name, 8);
		assert_string_not_equal(first.head, made.head);
	}
}

static void
scale_is_of_bytes_and_time(void **state)
{
	struct err err = { 0 };
	uint64_t span_ns;

	(void)state;
	make("loss", 3);
	span_ns = made.span_ns;
	assert_int_equal(odd_make(&made, odd_group_find("loss"), 3, 3, 10 * SCALE, path, &err), 0);
	assert_in_range(made.span_ns, 8 * span_ns, 10 * span_ns);
}

static void
groups_are_found_by_name(void **state)
{
	(void)state;
	assert_ptr_equal(odd_group_find("delay"), &odd_groups[0]);
	assert_null(odd_group_find("nothing"));
}

UNIT_TEST(odd_cases)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_seed_has_a_case_of_every_group),
		cmocka_unit_test(a_seed_makes_the_same_again),
		cmocka_unit_test(a_clean_case_is_the_same_without_its_cause),
		cmocka_unit_test(a_setting_may_be_the_cause),
		cmocka_unit_test(scale_is_of_bytes_and_time),
		cmocka_unit_test(groups_are_found_by_name),
	};

	return cmocka_run_group_tests(tests, make_path, remove_path);
}
