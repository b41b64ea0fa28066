/* SPDX-License-Identifier: BSD-3-Clause */
/* ECN, DWRR, FIFO. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dpswitch/queue/dwrr.h"
#include "dpswitch/queue/fifo.h"
#include "tests/unit/unit.h"

static void
ecn_marks_linearly_between_kmin_and_kmax(void **state)
{
	const struct ecn_params params = {
		.kmin_bytes = 400000, .kmax_bytes = 1600000, .ramp_bytes = 1200000, .pmax = 0.2
	};

	(void)state;
	assert_false(ecn_marks(&params, 400000, 0.0));
	/* halfway: 0.1 */
	assert_true(ecn_marks(&params, 1000000, 0.0999));
	assert_false(ecn_marks(&params, 1000000, 0.1001));
	assert_true(ecn_marks(&params, 1600000, 0.1999));
	assert_false(ecn_marks(&params, 1600000, 0.2001));
	assert_true(ecn_marks(&params, 1600001, 0.9999));
}

/* K = 30000 B: marked iff more is queued, whatever chance says and pmax is. */
static void
ecn_with_equal_thresholds_is_a_step(void **state)
{
	const struct ecn_params params = { .kmin_bytes = 30000, .kmax_bytes = 30000, .pmax = 0 };

	(void)state;
	assert_false(ecn_marks(&params, 0, 0.0));
	assert_false(ecn_marks(&params, 30000, 0.0));
	assert_true(ecn_marks(&params, 30001, 0.0));
	assert_true(ecn_marks(&params, 30001, 0.9999));
}

/* Weights 2:1 with equal frames: two of class 3 for one of class 4. */
static void
dwrr_shares_by_weight(void **state)
{
	struct dwrr dwrr = { .quantum_bytes = { 1500, 1500, 1500, 3000, 1500, 1500, 1500, 1500 } };
	uint32_t heads[DWRR_CLASSES] = { [3] = 1500, [4] = 1500 };
	uint32_t count[DWRR_CLASSES] = { 0 };

	(void)state;
	for (int i = 0; i < 300; i++)
		count[dwrr_next(&dwrr, 1u << 3 | 1u << 4, heads)]++;
	assert_int_equal(count[3], 200);
	assert_int_equal(count[4], 100);
}

/* Bytes, not packets: small frames of one class against large ones of another, equal weights. */
static void
dwrr_counts_bytes(void **state)
{
	struct dwrr dwrr = { .quantum_bytes = { 1500, 1500, 1500, 1500, 1500, 1500, 1500, 1500 } };
	uint32_t heads[DWRR_CLASSES] = { [1] = 100, [2] = 1500 };
	uint64_t bytes[DWRR_CLASSES] = { 0 };

	(void)state;
	for (int i = 0; i < 16000; i++) {
		uint8_t c = dwrr_next(&dwrr, 1u << 1 | 1u << 2, heads);

		bytes[c] += heads[c];
	}
	assert_in_range(bytes[1], 1490000, 1510000);
	assert_in_range(bytes[2], 1490000, 1510000);
}

static void
dwrr_goes_round_upwards(void **state)
{
	struct dwrr dwrr = { .quantum_bytes = { 1500, 1500, 1500, 1500, 1500, 1500, 1500, 1500 } };
	uint32_t heads[DWRR_CLASSES] = { [2] = 1500, [3] = 1500, [7] = 1500 };
	static const uint8_t order[] = { 2, 3, 7, 2, 3, 7, 2 };

	(void)state;
	for (size_t i = 0; i < sizeof(order); i++)
		assert_int_equal(dwrr_next(&dwrr, 1u << 2 | 1u << 3 | 1u << 7, heads), order[i]);
}

static void
dwrr_idle_class_saves_no_credit(void **state)
{
	struct dwrr dwrr = { .quantum_bytes = { 1500, 1500, 1500, 1500, 1500, 1500, 1500, 1500 } };
	uint32_t heads[DWRR_CLASSES] = { [1] = 1500, [2] = 1500 };
	uint32_t count[DWRR_CLASSES] = { 0 };

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_int_equal(dwrr_next(&dwrr, 1u << 1, heads), 1);
	for (int i = 0; i < 100; i++)
		count[dwrr_next(&dwrr, 1u << 1 | 1u << 2, heads)]++;
	assert_in_range(count[2], 49, 51);
}

static void
fifo_keeps_order_while_it_grows(void **state)
{
	struct fifo fifo = { 0 };
	uint32_t next = 0;

	(void)state;
	for (uint32_t psn = 0; psn < 1000; psn++) {
		struct pkt p = { .psn = psn, .wire_bytes = 100 };

		assert_true(fifo_push(&fifo, &p));
		if (psn % 3 == 0)
			assert_int_equal(fifo_pop(&fifo)->psn, next++);
	}
	assert_int_equal(fifo_count(&fifo), 1000 - next);
	assert_int_equal(fifo.bytes, (1000 - next) * 100);
	while (!fifo_empty(&fifo))
		assert_int_equal(fifo_pop(&fifo)->psn, next++);
	assert_int_equal(next, 1000);
	assert_int_equal(fifo.bytes, 0);
	fifo_fini(&fifo);
}

UNIT_TEST(queue)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ecn_marks_linearly_between_kmin_and_kmax),
		cmocka_unit_test(ecn_with_equal_thresholds_is_a_step),
		cmocka_unit_test(dwrr_shares_by_weight),
		cmocka_unit_test(dwrr_counts_bytes),
		cmocka_unit_test(dwrr_goes_round_upwards),
		cmocka_unit_test(dwrr_idle_class_saves_no_credit),
		cmocka_unit_test(fifo_keeps_order_while_it_grows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
