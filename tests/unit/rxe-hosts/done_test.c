/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps that are over, packed and read again: every value returns as it was, in any order of reading. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "common/prng.h"
#include "rxe-hosts/steps/done.h"
#include "tests/unit/unit.h"

#define ROWS 4099

static struct step_done rows[ROWS];
static struct done_log done;

static int
teardown(void **state)
{
	done_log_fini(&done);
	return 0;
}

static void
check(size_t index)
{
	struct step_done row = done_log_at(&done, index);

	assert_int_equal(row.start_ps, rows[index].start_ps);
	assert_int_equal(row.end_ps, rows[index].end_ps);
	assert_int_equal(row.waited_for.collective, rows[index].waited_for.collective);
	assert_int_equal(row.waited_for.rank, rows[index].waited_for.rank);
	assert_int_equal(row.waited_for.step, rows[index].waited_for.step);
	assert_int_equal(row.slot, rows[index].slot);
	assert_int_equal(row.iteration, rows[index].iteration);
	assert_int_equal(row.step, rows[index].step);
	assert_int_equal(row.unacked_bytes, rows[index].unacked_bytes);
	assert_int_equal(row.retransmits, rows[index].retransmits);
	assert_int_equal(row.state, rows[index].state);
}

static void
add_all(size_t count)
{
	assert_int_equal(done_log_init(&done, count), 0);
	for (size_t i = 0; i < count; i++) {
		assert_false(done_log_full(&done));
		done_log_add(&done, &rows[i]);
	}
	assert_true(done_log_full(&done));
	assert_int_equal(done.count, count);
	for (size_t i = 0; i < count; i++)
		check(i);
	for (size_t i = count; i-- > 0;)
		check(i);
}

/* As of a ring: each waits for its neighbour's step of the same number, or for the own one in front of it. */
static void
steps_of_a_ring_are_small(void **state)
{
	for (uint32_t i = 0; i < ROWS; i++)
		rows[i] = (struct step_done){
			.start_ps = 1000000u * i,
			.end_ps = 1000000u * i + 900000,
			.waited_for = { i != 0 ? 0 : UINT32_MAX,
					i == 0       ? UINT32_MAX
					: i % 3 == 0 ? 1022
						     : 1023,
					i },
			.step = i + 1,
		};
	add_all(ROWS);
	assert_in_range(done.used_bytes, ROWS, 15 * ROWS);
}

static uint64_t
any(struct prng *prng, uint32_t bits)
{
	return prng_next(prng) >> (64 - bits) >> prng_next(prng) % bits;
}

static void
any_steps(void **state)
{
	struct prng prng;

	prng_init(&prng, 1, 0);
	for (size_t i = 0; i < ROWS; i++) {
		bool waited = any(&prng, 1) != 0 || i % 3 == 0;

		rows[i] = (struct step_done){
			.start_ps = any(&prng, 64),
			.end_ps = any(&prng, 64),
			.waited_for = { UINT32_MAX, UINT32_MAX, 0 },
			.slot = (uint32_t)any(&prng, 32),
			.iteration = (uint32_t)any(&prng, 32),
			.step = (uint32_t)any(&prng, 32),
			.unacked_bytes = (uint32_t)any(&prng, 32),
			.retransmits = (uint32_t)any(&prng, 32),
			.state = (enum rec_step_state)(prng_next(&prng) % 3),
		};
		if (waited)
			rows[i].waited_for = (struct step_ref){ (uint32_t)any(&prng, 32), (uint32_t)any(&prng, 32),
								1 + (uint32_t)any(&prng, 31) };
	}
	add_all(ROWS);
}

static void
largest_steps(void **state)
{
	for (size_t i = 0; i < 9; i++)
		rows[i] = (struct step_done){
			.start_ps = i % 2 == 0 ? UINT64_MAX : 0,
			.end_ps = i % 2 == 0 ? UINT64_MAX / 2 : UINT64_MAX,
			.waited_for = { UINT32_MAX - (uint32_t)i, UINT32_MAX, UINT32_MAX },
			.slot = UINT32_MAX - (uint32_t)i,
			.iteration = UINT32_MAX,
			.step = i % 2 == 0 ? UINT32_MAX : 1,
			.unacked_bytes = UINT32_MAX,
			.retransmits = UINT32_MAX,
			.state = REC_STEP_WAITS,
		};
	add_all(9);
}

UNIT_TEST(done)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(steps_of_a_ring_are_small, teardown),
		cmocka_unit_test_teardown(any_steps, teardown),
		cmocka_unit_test_teardown(largest_steps, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
