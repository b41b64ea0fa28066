/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases for R-Pingmesh's analyzer load, from every seed, and a seed has as many problems as the paper's month. */
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
#include "eval/store.h"
#include "tests/unit/unit.h"

static char path[UNIT_PATH];
static struct pm_case made;

static int
make_path(void **state)
{
	int fd = unit_file(path, "pingmesh");

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
make(uint64_t seed, uint32_t index)
{
	struct err err = { 0 };

	if (pm_case_make(&made, seed, index, path, &err) < 0)
		fail_msg("seed %llu, case %u: %s", (unsigned long long)seed, index, err.text);
}

/* Its place is of its class, and nobody else's. */
static void
check_problem(uint32_t p)
{
	const struct topo *topo = made.loaded->topo;
	const struct pm_problem *problem = &made.problems[p];
	bool is_link = problem->port != TOPO_NONE;

	assert_true(is_link != (problem->node != TOPO_NONE));
	assert_true(problem->start_s >= PM_PERIOD_S && problem->start_s + 3 * PM_PERIOD_S < PM_DURATION_S);
	if (is_link) {
		const struct topo_port *port = &topo->ports[problem->port];
		bool of_host = topo->nodes[port->node].kind == TOPO_HOST || topo->nodes[port->peer].kind == TOPO_HOST;

		assert_int_equal(of_host, problem->kind->class == PM_RNIC);
	} else {
		assert_int_equal(topo->nodes[problem->node].kind == TOPO_HOST,
				 problem->kind->class == PM_CPU || problem->kind->class == PM_HOST);
	}
	for (uint32_t i = 0; is_link && i < p; i++)
		assert_true(made.problems[i].port == TOPO_NONE ||
			    topo->ports[made.problems[i].port].link != topo->ports[problem->port].link);
}

static void
a_seed_has_enough_problems_of_every_kind(void **state)
{
	uint32_t classes[PM_NCLASSES] = { 0 }, clean = 0, several = 0, jobs = 0, plain = 0, kinds = 0;
	bool seen[64] = { false };

	(void)state;
	for (uint32_t index = 0; index < PM_CASES; index++) {
		make(1, index);
		for (uint32_t p = 0; p < made.nproblems; p++) {
			check_problem(p);
			classes[made.problems[p].kind->class]++;
			seen[made.problems[p].kind - pm_kinds] = true;
		}
		clean += made.nproblems == 0;
		several += made.nproblems > 1;
		jobs += made.has_job;
		plain += made.factor == 1;
		pm_case_fini(&made);
	}
	for (const struct pm_kind *kind = pm_kinds; kind->name != NULL; kind++)
		kinds += seen[kind - pm_kinds] ? 0 : 1;
	assert_int_equal(kinds, 0);
	assert_true(classes[PM_SWITCH] >= 157 && classes[PM_RNIC] >= 20 && classes[PM_CPU] >= 30);
	assert_true(clean == PM_CASES / 12 && several == PM_CASES / 4 && jobs > PM_CASES / 5);
	assert_int_equal(plain, PM_CASES / PM_PLAIN_EVERY);
}

static void
other_seeds_load_as_well(void **state)
{
	const uint32_t seeds = unit_wide(60, 200, "seeds of scenarios with agents");

	(void)state;
	for (uint64_t seed = 2; seed < seeds; seed++) {
		struct scenario *whole;
		struct err err = { 0 };

		make(seed, (uint32_t)seed % PM_CASES);
		pm_case_fini(&made);
		whole = scenario_load(&(struct scenario_options){ .path = path }, &err);
		if (whole == NULL)
			fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
		scenario_destroy(whole);
	}
}

static void
the_same_seed_makes_the_same_case(void **state)
{
	uint64_t first;

	(void)state;
	make(7, 10);
	pm_case_fini(&made);
	first = case_file_digest(path);
	make(7, 11);
	pm_case_fini(&made);
	assert_true(case_file_digest(path) != first);
	make(7, 10);
	pm_case_fini(&made);
	assert_true(case_file_digest(path) == first && first != 0);
}

UNIT_TEST(pingmesh_cases)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_seed_has_enough_problems_of_every_kind),
		cmocka_unit_test(other_seeds_load_as_well),
		cmocka_unit_test(the_same_seed_makes_the_same_case),
	};

	return cmocka_run_group_tests(tests, make_path, remove_path);
}
