/* SPDX-License-Identifier: BSD-3-Clause */
/* Tags by the figures of docs/wire-formats.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/tag.h"
#include "tests/unit/unit.h"

static void
a_tag_is_a_dscp_of_pool_2(void **state)
{
	(void)state;
	assert_int_equal(tag_dscp(tag_make(0)), 3);
	assert_int_equal(tag_dscp(tag_make(1)), 7);
	assert_int_equal(tag_dscp(tag_make(15)), 63);
	assert_int_equal(tag_dscp(tag_make(16)), 3);
	assert_int_equal(tag_dscp(tag_make(UINT64_MAX)), 63);
}

static void
a_dscp_is_a_tag_by_its_sentinel_alone(void **state)
{
	uint32_t tags = 0;

	(void)state;
	assert_false(tag_is(0));
	for (uint8_t dscp = 0; dscp < 64; dscp++) {
		uint8_t tag = tag_of_dscp(dscp);

		assert_int_equal(tag_is(tag), dscp % 4 == 3);
		if (!tag_is(tag))
			continue;
		tags++;
		assert_int_equal(tag_iteration4(tag), dscp / 4);
		assert_int_equal(tag, tag_make(dscp / 4));
	}
	assert_int_equal(tags, TAG_ITERATIONS);
}

UNIT_TEST(tag)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tag_is_a_dscp_of_pool_2),
		cmocka_unit_test(a_dscp_is_a_tag_by_its_sentinel_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
