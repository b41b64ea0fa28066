/* SPDX-License-Identifier: BSD-3-Clause */
/* When a step could have started: two iterations of a ring of two ranks, 17 and 18, one step each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/wire/record.h"
#include "tests/unit/diag/case.h"
#include "tests/unit/unit.h"

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
put_step(struct records *r, uint32_t iteration, uint32_t rank, uint64_t start_ps, uint64_t end_ps, uint64_t late_ps)
{
	struct rec_step rec = { .collective = 5,
				.iteration = iteration,
				.step = 1,
				.rank = rank,
				WAITED_NONE,
				.bytes = 1000,
				.acked_bytes = 1000,
				.start_ps = start_ps,
				.end_ps = end_ps,
				.late_ps = late_ps };

	RECORDS_PUT(r, rec, REC_STEP, rank ? H18 : H17, end_ps);
}

static void
step(struct records *r, uint32_t iteration, uint32_t rank, uint64_t start_ps, uint64_t end_ps)
{
	put_step(r, iteration, rank, start_ps, end_ps, 0);
}

/* Ends: 31 ms and 50 ms; then each rank starts when asked. @return how late the two ranks are */
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

#define RTT (10 * PS_PER_US)

static struct rec_schedule
chained(uint32_t rank, uint32_t number)
{
	return (struct rec_schedule){ .collective = 6,
				      .step = number,
				      .rank = rank,
				      .flow = rank ? records_tuple(H18, H17, 5) : records_tuple(H17, H18, 5),
				      .bytes = 1000,
				      .peer = 1 - rank,
				      .depends_rank = number > 1 ? 1 - rank : REC_NONE,
				      .depends_step = number - 1,
				      .ideal_ps = EXPECT,
				      .expect_ps = EXPECT,
				      .base_rtt_ps = RTT };
}

/*
 * A ring of two ranks, two steps each: the second waits for the first, and for the other's first. 17's first ends at 31 ms,
 * 18's when asked; 17's second starts when asked.
 * @param waited  rank whose first step 17's second waited for, as its host says
 * @return how late 17's second is
 */
static uint64_t
second_of_chain(uint64_t end18_ps, uint32_t waited, uint64_t start_ps, uint64_t jitter_ps)
{
	struct rec_collective c = { .id = 6, .job = 2, .ranks = 2, .steps = 4, .rank_steps = 2, .bytes = 1000 };
	struct evidence ev;
	struct run run = { 0 };
	struct err err = { 0 };
	struct records r;
	uint64_t late_ps;

	case_fabric(&r);
	RECORDS_PUT(&r, c, REC_COLLECTIVE, REC_NONE, 0);
	for (uint32_t rank = 0; rank < 2; rank++) {
		for (uint32_t number = 1; number <= 2; number++) {
			struct rec_schedule s = chained(rank, number);
			struct rec_step rec = { .collective = 6,
						.step = number,
						.rank = rank,
						WAITED_NONE,
						.bytes = 1000,
						.acked_bytes = 1000,
						.end_ps = rank ? end18_ps : 31 * MS };

			if (number > 1) {
				rec.waited_collective = 6;
				rec.waited_rank = rank ? 1 : waited;
				rec.waited_step = 1;
				rec.start_ps = rank ? end18_ps : start_ps;
				rec.end_ps = rec.start_ps + EXPECT;
			}
			RECORDS_PUT(&r, s, REC_SCHEDULE, rank ? H18 : H17, 0);
			RECORDS_PUT(&r, rec, REC_STEP, rank ? H18 : H17, rec.end_ps);
		}
	}
	records_end(&r, REC_END_COMPLETE, 200 * MS);
	records_evidence(&r, &ev);
	ev.run.jitter_ps = jitter_ps;
	assert_int_equal(run_build(&run, &ev, &err), 0);
	late_ps = run.steps[5].late_ps;
	assert_int_equal(run.steps[5].late_little, late_ps != 0);
	run_fini(&run);
	evidence_fini(&ev);
	records_fini(&r);
	return late_ps;
}

/* Less than 1 % of the step and a base RTT: what is certain of it counts all the same. */
static void
test_little(void **state)
{
	const uint64_t ack_ps = 2 * PS_PER_US; /* 18 knows so much after 17 has its message */

	assert_int_equal(second_of_chain(20 * MS, 0, 31 * MS, 0), 0);
	assert_int_equal(second_of_chain(20 * MS, 0, 31 * MS + 4, 0), 4);
	/* It waited for its own step: that 18 had its ACK later does not matter. */
	assert_int_equal(second_of_chain(31 * MS + ack_ps, 0, 31 * MS + ack_ps, 0), ack_ps);
	/* It waited for 18's message, and that was there before 18 knew: only from then on it is late for certain. */
	assert_int_equal(second_of_chain(33 * MS, 1, 33 * MS - ack_ps, 0), 0);
	assert_int_equal(second_of_chain(33 * MS, 1, 33 * MS, 0), 0);
	assert_int_equal(second_of_chain(33 * MS, 1, 33 * MS + ack_ps, 0), ack_ps);
	/* The hosts' own scheduling is no delay. */
	assert_int_equal(second_of_chain(20 * MS, 0, 31 * MS + 4, 4), 0);
	assert_int_equal(second_of_chain(20 * MS, 0, 31 * MS + 5, 4), 5);
}

/* A pause between iterations is known as well as its ends: what a rank received was there before its sender knew. */
static void
test_little_pause(void **state)
{
	/* 17 receives until 50 ms, or a base RTT before; so its pause of 0 may be one of 10 us, as long as that of 18. */
	second_starts(50 * MS, 50 * MS + RTT, 0, 0);
	second_starts(50 * MS, 50 * MS + RTT + 3, 0, 3);
	/* 18 waits for its own step: its pause is as reported. */
	second_starts(50 * MS + 3, 50 * MS, 3, 0);
}

/* ACKs that queues or longer paths made late: the message was there earlier by as much. */
static void
test_little_pause_after_late_acks(void **state)
{
	for (uint64_t late_ps = 0; late_ps <= 7; late_ps += 7) {
		struct records r;
		struct verdict *v;

		fabric(&r);
		step(&r, 0, 0, 0, 31 * MS);
		put_step(&r, 0, 1, 0, 50 * MS, late_ps);
		step(&r, 1, 0, 50 * MS, 50 * MS + EXPECT);
		step(&r, 1, 1, 50 * MS + RTT + 7, 50 * MS + RTT + 7 + EXPECT);
		records_end(&r, REC_END_COMPLETE, 200 * MS);
		v = case_diagnose(&r);
		assert_int_equal(v->run.steps[7].late_ps, 7 - late_ps);
		verdict_destroy(v);
		records_fini(&r);
	}
}

/* Steps that take less than a base RTT: what 17 received may have been there at any time before. */
static void
test_pause_after_short_steps(void **state)
{
	struct records r;
	struct verdict *v;

	fabric(&r);
	step(&r, 0, 0, 0, 5 * PS_PER_US);
	step(&r, 0, 1, 0, 8 * PS_PER_US);
	step(&r, 1, 0, 9 * PS_PER_US, 14 * PS_PER_US); /* its message was there at 6 us, and both pause for 3 us */
	step(&r, 1, 1, 11 * PS_PER_US, 19 * PS_PER_US);
	records_end(&r, REC_END_COMPLETE, 200 * MS);
	v = case_diagnose(&r);
	assert_int_equal(v->run.steps[6].late_ps, 0);
	assert_int_equal(v->run.steps[7].late_ps, 0);
	verdict_destroy(v);
	records_fini(&r);
}

/* A step that waits has not begun, however the run ended; one that is open began at 0, without a byte acknowledged. */
static void
test_what_never_began(void **state)
{
	static const struct {
		uint32_t end, open;
	} cases[] = {
		{ REC_END_VIRTUAL_TIME, REC_STEP_WAITS },
		{ REC_END_VIRTUAL_TIME, REC_STEP_OPEN },
		{ REC_END_STALL, REC_STEP_WAITS },
		{ REC_END_STALL, REC_STEP_OPEN },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rec_step open = { .collective = 5, .step = 1, WAITED_NONE, .bytes = 1000, .open = cases[i].open };
		bool began = cases[i].open == REC_STEP_OPEN;
		struct records r;
		struct verdict *v;

		fabric(&r);
		RECORDS_PUT(&r, open, REC_STEP, H17, 200 * MS);
		open.rank = 1;
		RECORDS_PUT(&r, open, REC_STEP, H18, 200 * MS);
		records_end(&r, cases[i].end, 200 * MS);
		v = case_diagnose(&r);
		assert_int_equal(v->run.steps[4].started, began);
		assert_int_equal(v->run.steps[4].slow, began);
		assert_int_equal(v->run.collectives[v->run.steps[4].collective].begun, began);
		assert_int_equal(v->run.collectives[v->run.steps[4].collective].start_ps, began ? 0 : 200 * MS);
		verdict_destroy(v);
		records_fini(&r);
	}
}

UNIT_TEST(late)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_next_iteration),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_first_iteration),
		cmocka_unit_test(test_little),
		cmocka_unit_test(test_little_pause),
		cmocka_unit_test(test_pause_after_short_steps),
		cmocka_unit_test(test_little_pause_after_late_acks),
		cmocka_unit_test(test_what_never_began),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
