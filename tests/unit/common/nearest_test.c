/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/nearest.h"
#include "tests/unit/unit.h"

static const char *const known[] = { "contention", "pfc-storm", "pfc-backpressure", "slow-host", "halving-doubling" };

/* @return which of the known words is near, NULL: none */
static const char *
meant(const char *word)
{
	static struct nearest nearest;

	nearest = (struct nearest){ .word = word };
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		nearest_offer(&nearest, known[i], strlen(known[i]));
	return nearest_is_near(&nearest) ? nearest.best : NULL;
}

static void
test_typing_errors_and_other_spellings(void **state)
{
	assert_string_equal(meant("contntion"), "contention");
	assert_string_equal(meant("pfc_storm"), "pfc-storm");
	assert_string_equal(meant("slowhost"), "slow-host");
	assert_string_equal(meant("halving_doubling"), "halving-doubling");
}

static void
test_a_word_of_a_longer_name(void **state)
{
	assert_string_equal(meant("storm"), "pfc-storm");
	assert_string_equal(meant("backpressure"), "pfc-backpressure");
	assert_string_equal(meant("host"), "slow-host");
}

static void
test_nothing_near(void **state)
{
	char longer[2 * NEAREST_MAX_WORD];

	assert_null(meant("meteor"));
	assert_null(meant("rage"));
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_null(meant(longer));
}

static void
test_a_part_of_a_path_is_offered(void **state)
{
	struct nearest nearest = { .word = "pfg" };

	nearest_offer(&nearest, "pfc.headroom", 3);
	assert_string_equal(nearest.best, "pfc");
	assert_true(nearest_is_near(&nearest));
}

UNIT_TEST(nearest)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_typing_errors_and_other_spellings),
		cmocka_unit_test(test_a_word_of_a_longer_name),
		cmocka_unit_test(test_nothing_near),
		cmocka_unit_test(test_a_part_of_a_path_is_offered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
