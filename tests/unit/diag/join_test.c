/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings of several iterations and jobs: which are one, what of them adds up, and in which order they come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/units.h"
#include "diag/verdict.h"
#include "tests/unit/unit.h"

#define US PS_PER_US
#define RTT (10 * US)

/* Two jobs: one collective of two iterations, and one of one. A step each, of which only the base RTT is of interest. */
static struct run_step steps[] = {
	{ .collective = 0, .base_rtt_ps = RTT },
	{ .collective = 1, .base_rtt_ps = RTT },
	{ .collective = 2, .base_rtt_ps = RTT },
};
#define TAKES .complete = true, .end_ps = 1000 * US
static struct run_collective collectives[] = { { .in = 0, TAKES },
					       { .in = 1, .iteration = 1, TAKES },
					       { .in = 2, .id = 1, TAKES } };
static struct run_iteration iterations[] = { { .job = 0 }, { .job = 0, .iteration = 1 }, { .job = 1 } };
/* A stranger, a flow of each job, and another two strangers. */
static struct run_flow flows[] = { { .name = "stranger" },
				   { .name = "first", .collective = true },
				   { .name = "second", .collective = true },
				   { .name = "other" },
				   { .name = "another" } };
static const struct run run = { .steps = steps,
				.nsteps = 3,
				.collectives = collectives,
				.ncollectives = 3,
				.iterations = iterations,
				.niterations = 3,
				.flows = flows,
				.nflows = 5 };
static const struct finding_type storm = { .key = "pfc-storm" }, contention = { .key = "flow-contention" };

static uint32_t *
one(uint32_t item)
{
	uint32_t *list = malloc(sizeof(*list));

	assert_non_null(list);
	*list = item;
	return list;
}

/* @param culprit  RUN_NONE: it has none */
static struct finding
make(const struct finding_type *type, uint32_t root, uint32_t collective, uint32_t culprit, double us)
{
	struct finding f = { .type = type,
			     .root_port = root,
			     .root = "x",
			     .origin_port = RUN_NONE,
			     .collective = collective,
			     .steps = one(collective),
			     .nsteps = 1,
			     .victims = one(1),
			     .nvictims = 1,
			     .start_ps = collective * 100 * US,
			     .end_ps = (collective * 100 + 50) * US,
			     .explained_ps = 2 * us * US,
			     .critical_ps = us * US,
			     .regained_ps = us * US,
			     .costless = us < 5,
			     .score = 1 };

	if (culprit != RUN_NONE) {
		f.flows = one(culprit);
		f.flow_ps = malloc(sizeof(*f.flow_ps));
		assert_non_null(f.flow_ps);
		f.flow_ps[0] = us * US;
		f.nflows = 1;
	}
	return f;
}

/* @return how many are left */
static uint32_t
join(struct finding *findings, uint32_t count)
{
	struct err err = { 0 };

	assert_int_equal(findings_join(&run, findings, &count, &err), 0);
	return count;
}

static void
drop(struct finding *findings, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		finding_fini(&findings[i]);
}

static void
test_iterations_and_jobs(void **state)
{
	struct finding all[] = { make(&storm, 7, 1, RUN_NONE, 30), make(&storm, 7, 2, RUN_NONE, 20),
				 make(&storm, 7, 0, RUN_NONE, 10), make(&storm, 8, 0, RUN_NONE, 40) };

	(void)state;
	assert_int_equal(join(all, 4), 2);
	assert_int_equal(all[0].root_port, 7); /* 60 us in all are more than 40 */
	assert_int_equal(all[0].critical_ps, 60 * US);
	assert_int_equal(all[0].explained_ps, 120 * US);
	assert_int_equal(all[0].collective, 1);
	assert_int_equal(all[0].nparts, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(all[0].parts[i].collective, i);
		assert_int_equal(all[0].parts[i].critical_ps, (i == 0 ? 10 : i == 1 ? 30 : 20) * US);
	}
	assert_int_equal(all[0].nsteps, 3);
	assert_int_equal(all[0].nvictims, 1);
	assert_int_equal(all[0].start_ps, 0);
	assert_int_equal(all[0].end_ps, 250 * US);
	assert_int_equal(all[1].nparts, 1);
	drop(all, 2);
}

/* A stranger hits both jobs; what the jobs do to each other stays apart, and so do two strangers' keys. */
static void
test_culprits(void **state)
{
	struct finding all[] = { make(&contention, 7, 0, 0, 10), make(&contention, 7, 2, 0, 20),
				 make(&contention, 7, 1, 2, 30), make(&contention, 7, 2, 1, 40),
				 make(&contention, 7, 0, 0, 5) };

	(void)state;
	all[2].key = all[3].key = RUN_NONE;
	all[4].key = 3;
	assert_int_equal(join(all, 5), 4);
	assert_int_equal(all[0].critical_ps, 40 * US);
	assert_int_equal(all[0].flows[0], 1);
	assert_int_equal(all[1].critical_ps, 30 * US); /* of equals the higher score */
	assert_int_equal(all[1].nparts, 2);
	assert_int_equal(all[1].nflows, 1);
	assert_int_equal(all[1].flow_ps[0], 30 * US);
	assert_int_equal(all[1].parts[1].flow_ps[0], 20 * US);
	assert_int_equal(all[2].flows[0], 2);
	assert_int_equal(all[3].critical_ps, 5 * US);
	drop(all, 4);
}

/* Culprits of one finding in different iterations: the worst of all first, and parts in the same order. */
static void
test_worst_first(void **state)
{
	struct finding all[] = { make(&contention, 7, 0, 1, 30), make(&contention, 7, 1, 2, 50) };

	(void)state;
	all[0].key = all[1].key = RUN_NONE;
	assert_int_equal(join(all, 2), 1);
	assert_int_equal(all[0].nflows, 2);
	assert_int_equal(all[0].flows[0], 2);
	assert_int_equal(all[0].flow_ps[0], 50 * US);
	assert_int_equal(all[0].flow_ps[1], 30 * US);
	assert_int_equal(all[0].parts[0].flow_ps[0], 0);
	assert_int_equal(all[0].parts[0].flow_ps[1], 30 * US);
	assert_int_equal(all[0].parts[1].flow_ps[0], 50 * US);
	drop(all, 1);
}

/* Too little in each iteration, and a base RTT in all; without effect comes last, whatever its score. */
static void
test_effect(void **state)
{
	struct finding little[] = { make(&storm, 7, 0, RUN_NONE, 4), make(&storm, 7, 1, RUN_NONE, 4),
				    make(&storm, 8, 0, RUN_NONE, 6) };
	struct finding enough[] = { make(&storm, 7, 0, RUN_NONE, 4), make(&storm, 7, 1, RUN_NONE, 4),
				    make(&storm, 7, 2, RUN_NONE, 4), make(&storm, 8, 0, RUN_NONE, 1) };

	(void)state;
	little[0].score = 100;
	assert_int_equal(join(little, 3), 2);
	assert_int_equal(little[0].root_port, 8);
	assert_true(little[1].costless && !little[0].costless);
	drop(little, 2);
	assert_int_equal(join(enough, 4), 2);
	assert_true(!enough[0].costless && enough[0].nparts == 3 && enough[1].costless);
	drop(enough, 2);
	assert_int_equal(join(NULL, 0), 0);
}

/* Three strangers, each too little to have an effect, at one port; the jobs' own flows are none of them. */
static void
test_crowd(void **state)
{
	static const uint32_t strangers[] = { 0, 3, 4 };
	struct finding all[5];

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		all[i] = make(&contention, 7, i == 2, strangers[i], i + 1);
		all[i].key = strangers[i];
	}
	all[3] = make(&contention, 7, 0, 1, 1);
	all[4] = make(&contention, 8, 0, 0, 1);
	assert_int_equal(join(all, 5), 3);
	/* 6 us of 2 ms are little, and so are they together */
	assert_true(all[0].costless && all[0].nflows == 3 && all[0].nparts == 2);
	assert_int_equal(all[0].flows[0], 4);
	assert_int_equal(all[0].parts[0].critical_ps, 3 * US);
	assert_int_equal(all[0].parts[1].critical_ps, 3 * US);
	assert_int_equal(all[0].parts[1].flow_ps[0], 3 * US);
	drop(all, 3);
	for (uint32_t i = 0; i < 3; i++) {
		all[i] = make(&contention, 7, 0, strangers[i], 2);
		all[i].key = strangers[i];
	}
	/* 6 us of 1 ms are more than 0.5 % */
	assert_int_equal(join(all, 3), 1);
	assert_true(!all[0].costless && all[0].nparts == 1);
	assert_int_equal(all[0].critical_ps, 6 * US);
	drop(all, 1);
}

/* Of little confidence: last in its group, whatever it cost, so that those that are listed have numbers in a row. */
static void
test_folded_last(void **state)
{
	static const struct finding_type untimed = { .key = "loop", .traits = FINDING_UNTIMED };
	static const double confidence[] = { 0.29, 0.31, 1, 0.1, 0.9, 0.2, 1 };
	static const uint32_t roots[] = { 3, 2, 1, 6, 5, 8, 7 }; /* in the order that is right, from 1 */
	struct finding all[] = { make(&storm, 3, 0, RUN_NONE, 50), make(&storm, 2, 0, RUN_NONE, 20),
				 make(&storm, 1, 0, RUN_NONE, 30), make(&storm, 6, 0, RUN_NONE, 4),
				 make(&storm, 5, 0, RUN_NONE, 3),  make(&untimed, 8, 0, RUN_NONE, 0),
				 make(&untimed, 7, 0, RUN_NONE, 0) };
	static const uint32_t expected[] = { 1, 2, 3, 5, 6, 7, 8 };

	(void)state;
	for (uint32_t i = 0; i < ARRAY_LEN(all); i++) {
		assert_int_equal(all[i].root_port, roots[i]);
		all[i].confidence = confidence[i];
	}
	assert_int_equal(join(all, ARRAY_LEN(all)), ARRAY_LEN(all));
	for (uint32_t i = 0; i < ARRAY_LEN(all); i++)
		assert_int_equal(all[i].root_port, expected[i]);
	drop(all, ARRAY_LEN(all));
}

UNIT_TEST(join)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_iterations_and_jobs),
		cmocka_unit_test(test_culprits),
		cmocka_unit_test(test_worst_first),
		cmocka_unit_test(test_effect),
		cmocka_unit_test(test_crowd),
		cmocka_unit_test(test_folded_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
