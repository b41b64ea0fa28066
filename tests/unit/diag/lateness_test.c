/* SPDX-License-Identifier: BSD-3-Clause */
/* How sure a finding may be of what a late machine may account for: two iterations of a ring of two ranks, 17 and 18. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/wire/record.h"
#include "diag/report/facts.h"
#include "diag/run/lateness.h"
#include "tests/unit/diag/case.h"
#include "tests/unit/unit.h"

static const struct finding_type slow_host = { .key = "slow-host" };

static void
begin(struct records *r)
{
	case_fabric(r);
	for (uint32_t iteration = 0; iteration < 2; iteration++) {
		struct rec_collective c = {
			.id = 5, .job = 1, .iteration = iteration, .ranks = 2, .steps = 2, .rank_steps = 1, .bytes = 1000
		};

		RECORDS_PUT(r, c, REC_COLLECTIVE, REC_NONE, 0);
		for (uint32_t rank = 0; rank < 2; rank++) {
			struct rec_schedule s = { .collective = 5,
						  .iteration = iteration,
						  .step = 1,
						  .rank = rank,
						  .flow = rank ? records_tuple(H18, H17, 4) : records_tuple(H17, H18, 4),
						  .bytes = 1000,
						  .peer = 1 - rank,
						  .depends_rank = REC_NONE,
						  .ideal_ps = EXPECT,
						  .expect_ps = EXPECT,
						  .base_rtt_ps = 10 * PS_PER_US };

			RECORDS_PUT(r, s, REC_SCHEDULE, rank ? H18 : H17, 0);
		}
	}
}

static void
step(struct records *r, uint32_t iteration, uint32_t rank, uint64_t start_ps, uint64_t end_ps)
{
	struct rec_step rec = { .collective = 5,
				.iteration = iteration,
				.step = 1,
				.rank = rank,
				WAITED_NONE,
				.bytes = 1000,
				.acked_bytes = 1000,
				.start_ps = start_ps,
				.end_ps = end_ps };

	RECORDS_PUT(r, rec, REC_STEP, rank ? H18 : H17, end_ps);
}

/* A host's processes waited so long in [from, to), or nobody knows. */
static void
waited(struct records *r, uint32_t host, bool measured, uint64_t from_ps, uint64_t to_ps, uint64_t late_ps)
{
	struct rec_lateness rec = { .kind = REC_LATENESS_HOST,
				    .lcore = REC_NONE,
				    .measured = measured,
				    .from_ps = from_ps,
				    .to_ps = to_ps,
				    .late_ps = late_ps };

	RECORDS_PUT(r, rec, REC_LATENESS, host, to_ps);
}

static void
behind(struct records *r, uint64_t from_ps, uint64_t to_ps, uint64_t late_ps)
{
	struct rec_lateness rec = { .kind = REC_LATENESS_WINDOWS,
				    .lcore = REC_NONE,
				    .measured = 1,
				    .from_ps = from_ps,
				    .to_ps = to_ps,
				    .late_ps = late_ps,
				    .most_ps = late_ps,
				    .windows = 100,
				    .late_windows = 10 };

	RECORDS_PUT(r, rec, REC_LATENESS, SW1, to_ps);
}

/* 18 starts its second step at 60 ms, 10 ms after it could. */
static void
late_by_ten(struct records *r)
{
	step(r, 0, 0, 0, 31 * MS);
	step(r, 0, 1, 0, 50 * MS);
	step(r, 1, 0, 50 * MS, 50 * MS + EXPECT);
	step(r, 1, 1, 60 * MS, 60 * MS + EXPECT);
	records_end(r, REC_END_COMPLETE, 200 * MS);
}

/* @return confidence of the slow host 18; below 0: there is no such finding */
static double
confidence(const struct records *r, double *machine)
{
	struct verdict *v = case_diagnose(r);
	double sure = -1;

	assert_int_equal(v->run.steps[7].late_ps, 10 * MS);
	for (uint32_t i = 0; i < v->nfindings; i++) {
		const struct finding *f = &v->findings[i];

		if (strcmp(f->type->key, slow_host.key) != 0)
			continue;
		assert_string_equal(f->root, "18");
		sure = f->confidence;
		*machine = f->machine;
		assert_true(sure <= 1 - f->machine + 1e-9);
	}
	verdict_destroy(v);
	return sure;
}

/* @return the same, where 18's processes waited so long in [50, 60) ms */
static double
sure_after(uint64_t late_ps, double *machine)
{
	struct records r;
	double sure;

	begin(&r);
	waited(&r, H18, true, 0, 50 * MS, 0);
	waited(&r, H18, true, 50 * MS, 60 * MS, late_ps);
	waited(&r, H18, true, 60 * MS, 200 * MS, 0);
	late_by_ten(&r);
	sure = confidence(&r, machine);
	records_fini(&r);
	return sure;
}

static void
test_a_slow_host_is_as_sure_as_its_waits_let_it(void **state)
{
	double machine;

	assert_float_equal(sure_after(0, &machine), 1, 1e-9);
	assert_float_equal(machine, 0, 1e-9);
	assert_float_equal(sure_after(4 * MS, &machine), 0.6, 1e-9);
	assert_float_equal(machine, 0.4, 1e-9);
	/* what is left is less than makes a step late: 1 % of it and a base RTT */
	assert_true(sure_after(10 * MS - EXPECT / 100, &machine) < 0);
	assert_true(sure_after(10 * MS, &machine) < 0);
	/* several tasks at once wait longer than the time is */
	assert_true(sure_after(25 * MS, &machine) < 0);
}

/* The kernel counts a wait when it ends: it may have been before the interval that counts it, by as much. */
static void
test_a_wait_reaches_back(void **state)
{
	struct records r;
	double machine;

	begin(&r);
	waited(&r, H18, true, 0, 59 * MS, 0);
	waited(&r, H18, true, 59 * MS, 61 * MS, 6 * MS);
	waited(&r, H18, true, 61 * MS, 200 * MS, 0);
	late_by_ten(&r);
	assert_float_equal(confidence(&r, &machine), 0.4, 1e-9);
	records_fini(&r);
}

/* Nobody knows what it waited: half, as what is not measured always counts. Others' waits are nothing to it. */
static void
test_what_is_not_measured_counts_half(void **state)
{
	struct records r;
	double machine;

	begin(&r);
	waited(&r, H18, false, 0, 200 * MS, 0);
	waited(&r, H17, true, 0, 200 * MS, 100 * MS);
	late_by_ten(&r);
	assert_float_equal(confidence(&r, &machine), 0.5, 1e-9);
	records_fini(&r);
	begin(&r);
	waited(&r, H18, true, 0, 55 * MS, 0); /* half of the time, and 3 ms of it */
	waited(&r, H18, true, 60 * MS, 62 * MS, 3 * MS);
	late_by_ten(&r);
	assert_float_equal(confidence(&r, &machine), 0.7 * 0.75, 1e-9);
	records_fini(&r);
}

/* In virtual time, or of embedded hosts, nothing is late. */
static void
test_without_records_nothing_changes(void **state)
{
	char text[FACTS_TEXT];
	struct records r;
	struct verdict *v;
	struct facts facts;
	double machine;

	begin(&r);
	late_by_ten(&r);
	assert_float_equal(confidence(&r, &machine), 1, 1e-9);
	assert_float_equal(machine, 0, 1e-9);
	v = case_diagnose(&r);
	facts = facts_of(v);
	assert_null(facts_lateness(&facts, text, sizeof(text)));
	verdict_destroy(v);
	records_fini(&r);
}

/* What a step took: both ends' waits and the time that the fabric was behind, all of its time at most. */
static void
test_what_a_slow_step_lost(void **state)
{
	char text[FACTS_TEXT];
	struct records r;
	struct verdict *v;
	struct facts facts;

	begin(&r);
	waited(&r, H17, true, 0, 200 * MS, 9 * MS);
	waited(&r, H18, true, 0, 60 * MS, 5 * MS);
	waited(&r, H18, false, 60 * MS, 200 * MS, 0);
	behind(&r, 0, 10 * MS, 2 * MS);
	behind(&r, 10 * MS, 200 * MS, 0);
	step(&r, 0, 0, 0, 31 * MS);
	step(&r, 0, 1, 0, 45 * MS);
	step(&r, 1, 0, 45 * MS, 45 * MS + EXPECT);
	step(&r, 1, 1, 45 * MS, 95 * MS);
	records_end(&r, REC_END_COMPLETE, 200 * MS);
	v = case_diagnose(&r);
	assert_true(v->run.steps[5].slow); /* 14.25 ms */
	assert_int_equal(v->run.starved[5].machine_ps, 16 * MS);
	assert_true(run_is_machines(&v->run, &v->run.steps[5]));
	assert_true(v->run.steps[7].slow); /* 19.25 ms */
	assert_int_equal(v->run.starved[7].machine_ps, 14 * MS);
	assert_float_equal(v->run.starved[7].machine_unmeasured, 35.0 / 50, 1e-9);
	assert_false(run_is_machines(&v->run, &v->run.steps[7]));
	facts = facts_of(v);
	assert_non_null(facts_lateness(&facts, text, sizeof(text)));
	assert_non_null(strstr(text, "17's processes waited for a processor for 9.000 ms of 200.000 ms (4 %)"));
	assert_non_null(strstr(text, "the fabric was behind its clock for 2.000 ms, by up to 2.000 ms."));
	assert_non_null(strstr(text, "1 slow steps and 0 late starts lost no more than that may explain"));
	verdict_destroy(v);
	records_fini(&r);
}

UNIT_TEST(lateness)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_slow_host_is_as_sure_as_its_waits_let_it),
		cmocka_unit_test(test_a_wait_reaches_back),
		cmocka_unit_test(test_what_is_not_measured_counts_half),
		cmocka_unit_test(test_without_records_nothing_changes),
		cmocka_unit_test(test_what_a_slow_step_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
