/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of tests that fail in each manner, for run_test.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static void
well(void **state)
{
	assert_true(getpid() > 0);
}

static void
wrong(void **state)
{
	assert_int_equal(getpid(), 0);
}

static void
broken(void **state)
{
	abort();
}

static void
endless(void **state)
{
	const char *reports_to = getenv("RUN_RIG_HANGS"); /* a descriptor */

	if (reports_to == NULL)
		return;
	assert_int_equal(write(atoi(reports_to), "h", 1), 1);
	for (;;)
		pause();
}

UNIT_TEST(passes)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(well) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

UNIT_TEST(fails)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(well), cmocka_unit_test(wrong) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

UNIT_TEST(breaks)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(well), cmocka_unit_test(broken) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

UNIT_TEST(hangs)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(well), cmocka_unit_test(endless) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
