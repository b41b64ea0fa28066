/* SPDX-License-Identifier: BSD-3-Clause */
/* When a step could have started: two iterations of a ring of two ranks, 17 and 18, one step each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/wire/record.h"
#include "tests/unit/diag/case.h"

static void
fabric(struct records *r)
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

/* Ends: 31 ms and 50 ms; then each rank starts when told. @return how late the two ranks are */
static void
second_starts(uint64_t start17_ps, uint64_t start18_ps, uint64_t late17_ps, uint64_t late18_ps)
{
	struct records r;
	struct verdict *v;

	fabric(&r);
	step(&r, 0, 0, 0, 31 * MS);
	step(&r, 0, 1, 0, 50 * MS);
	step(&r, 1, 0, start17_ps, start17_ps + EXPECT);
	step(&r, 1, 1, start18_ps, start18_ps + EXPECT);
	records_end(&r, REC_END_COMPLETE, 200 * MS);
	v = case_diagnose(&r);
	/* the case's own four steps come first */
	assert_int_equal(v->run.steps[6].late_ps, late17_ps);
	assert_int_equal(v->run.steps[7].late_ps, late18_ps);
	verdict_destroy(v);
	records_fini(&r);
}

static void
test_next_iteration(void **state)
{
	/* 17 has sent at 31 ms, but receives until 50 ms; 18 waits for its own step. */
	second_starts(50 * MS, 50 * MS, 0, 0);
	second_starts(50 * MS, 53 * MS, 0, 3 * MS);
	/* A pause that all make is none of theirs. */
	second_starts(52 * MS, 52 * MS, 0, 0);
	second_starts(55 * MS, 52 * MS, 3 * MS, 0);
}

/* What the first iteration leaves unknown is not held against anyone. */
static void
test_unknown(void **state)
{
	struct records r;
	struct verdict *v;

	fabric(&r);
	step(&r, 0, 0, 0, 31 * MS);
	step(&r, 1, 0, 70 * MS, 70 * MS + EXPECT);
	v = case_diagnose(&r);
	assert_int_equal(v->run.steps[6].late_ps, 0);
	verdict_destroy(v);
	records_fini(&r);
}

static void
test_first_iteration(void **state)
{
	struct records r;
	struct verdict *v;

	fabric(&r);
	step(&r, 0, 0, 0, 31 * MS);
	step(&r, 0, 1, 20 * MS, 51 * MS);
	records_end(&r, REC_END_COMPLETE, 200 * MS);
	v = case_diagnose(&r);
	assert_int_equal(v->run.steps[4].late_ps, 0);
	assert_int_equal(v->run.steps[5].late_ps, 20 * MS);
	verdict_destroy(v);
	records_fini(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_next_iteration),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_first_iteration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
