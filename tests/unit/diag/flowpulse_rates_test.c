/* SPDX-License-Identifier: BSD-3-Clause */
/* How much faulty links lose: rates of iterations that a fault filled, and their intervals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/wire/record.h"
#include "diag/flowpulse/judged.h"
#include "diag/run/run.h"
#include "tests/unit/unit.h"

#define ALARMS 4
#define PACKETS 10000 /* expected by each alarm, of 1000 B */

/*
 * One fault's alarms, in this order of iterations. @param lost  packets of each @param resent  by hosts, in each
 * iteration
 */
static struct flowpulse_fault
fault_of(const uint32_t iterations[ALARMS], const uint32_t lost[ALARMS], uint64_t resent)
{
	struct rec_volume_alarm alarms[ALARMS] = { 0 };
	struct flowpulse_fault fault = { .first_iteration = iterations[0], .last_iteration = iterations[ALARMS - 1] };
	struct flowpulse own = { .alarms = alarms,
				 .nalarms = ALARMS,
				 .faults = &fault,
				 .nfaults = 1,
				 .is_below = (bool[ALARMS]){ false },
				 .held = (uint8_t[ALARMS]){ FLOWPULSE_JUDGED },
				 .resent = (uint64_t[ALARMS]){ resent, resent, resent, resent } };
	uint32_t of[ALARMS] = { 0 };
	struct run run = { .config.frame_bytes = 1000 };
	struct err err = { 0 };
	struct flowpulse_lost *sums;

	for (uint32_t i = 0; i < ALARMS; i++)
		alarms[i] = (struct rec_volume_alarm){ .iteration = iterations[i],
						       .expected = 1000 * PACKETS,
						       .got = 1000 * (PACKETS - lost[i]),
						       .packets = PACKETS - lost[i],
						       .dispersion_ppm = 10000,
						       .noise = REC_NOISE_LEARNED };
	sums = flowpulse_rates(&own, &run, of, &err);
	assert_non_null(sums);
	free(sums);
	return fault;
}

static void
all_iterations_are_samples_of_one_rate(void **state)
{
	struct flowpulse_fault fault =
		fault_of((uint32_t[]){ 1, 2, 2, 3 }, (uint32_t[]){ 190, 210, 195, 205 }, RESENT_UNKNOWN);

	(void)state;
	assert_float_equal(fault.drop, 0.02, 1e-9);
	/* sqrt((0.98^2 x 0.01 + 0.98 x 0.02) / 40000) = 0.00085 */
	assert_float_equal(fault.low, 0.02 - 1.96 * 0.00085, 1e-5);
	assert_float_equal(fault.high, 0.02 + 1.96 * 0.00085, 1e-5);
}

/* What hosts sent again bounds what was lost, whatever is missing. */
static void
no_more_is_lost_than_was_sent_again(void **state)
{
	const uint32_t iterations[ALARMS] = { 1, 2, 2, 3 }, lost[ALARMS] = { 200, 200, 200, 200 };

	(void)state;
	assert_float_equal(fault_of(iterations, lost, 120).drop, 0.012, 1e-9);
	assert_float_equal(fault_of(iterations, lost, 5000).drop, 0.02, 1e-9);
}

/* A fault that begins or ends within an iteration loses less in it, and that says nothing of its rate. */
static void
an_iteration_that_a_fault_did_not_fill_is_no_sample(void **state)
{
	static const struct {
		uint32_t lost[ALARMS];
		double drop;
	} cases[] = { { { 1500, 3000, 3000, 3000 }, 0.3 },
		      { { 3000, 3000, 3000, 700 }, 0.3 },
		      { { 9000, PACKETS, PACKETS, PACKETS }, 1 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct flowpulse_fault fault = fault_of((uint32_t[]){ 1, 2, 2, 3 }, cases[i].lost, RESENT_UNKNOWN);

		assert_float_equal(fault.drop, cases[i].drop, 1e-9);
		assert_true(fault.low < cases[i].drop && fault.low > cases[i].drop - 0.01);
		assert_true(fault.high >= cases[i].drop);
	}
}

/* Where there is nothing between the first iteration and the last, nothing shows which of them it filled. */
static void
two_iterations_count_both(void **state)
{
	(void)state;
	assert_float_equal(
		fault_of((uint32_t[]){ 1, 1, 2, 2 }, (uint32_t[]){ 1000, 1000, 3000, 3000 }, RESENT_UNKNOWN).drop, 0.2,
		1e-9);
}

UNIT_TEST(flowpulse_rates)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_iterations_are_samples_of_one_rate),
		cmocka_unit_test(no_more_is_lost_than_was_sent_again),
		cmocka_unit_test(an_iteration_that_a_fault_did_not_fill_is_no_sample),
		cmocka_unit_test(two_iterations_count_both),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
