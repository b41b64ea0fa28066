/* SPDX-License-Identifier: BSD-3-Clause */
/* Quantiles are those of the sorted delays, to a sixteenth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/delays.h"
#include "tests/unit/unit.h"

static void
none_has_no_quantile(void **state)
{
	static const struct delays none;

	(void)state;
	assert_int_equal(delays_quantile(&none, 0.5), 0);
	assert_true(delays_mean(&none) == 0);
}

static void
quantiles_are_exact_to_a_sixteenth(void **state)
{
	static const uint64_t most[] = { 10, 1000, 1000003, 5000000000 };
	static struct delays delays;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(most); i++) {
		delays = (struct delays){ 0 };
		for (uint64_t n = 1; n <= 1000; n++)
			delays_note(&delays, most[i] * n / 1000);
		assert_int_equal(delays.count, 1000);
		assert_int_equal(delays.max_ns, most[i]);
		for (uint64_t percent = 10; percent < 100; percent += 10) {
			uint64_t exact = most[i] * (percent * 10 + 1) / 1000,
				 found = delays_quantile(&delays, (double)percent / 100);

			assert_in_range(found, exact, exact + exact / 16 + 1);
		}
		assert_int_equal(delays_quantile(&delays, 1), most[i]);
	}
}

static void
the_longest_delay_has_a_bucket(void **state)
{
	static struct delays delays;

	(void)state;
	delays_note(&delays, 0);
	delays_note(&delays, UINT64_MAX);
	assert_int_equal(delays_quantile(&delays, 0), 0);
	assert_int_equal(delays_quantile(&delays, 0.9), UINT64_MAX);
}

UNIT_TEST(delays)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(none_has_no_quantile),
		cmocka_unit_test(quantiles_are_exact_to_a_sixteenth),
		cmocka_unit_test(the_longest_delay_has_a_bucket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
