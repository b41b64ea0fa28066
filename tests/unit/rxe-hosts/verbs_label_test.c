/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rxe-hosts/device/verbs/label.h"

/* The label that the kernel turns into this port, for every port that can be. */
static void
every_port_has_a_label(void **state)
{
	for (uint32_t sport = VERBS_FIRST_SPORT; sport <= UINT16_MAX; sport++) {
		uint32_t label = verbs_flow_label((uint16_t)sport);

		assert_true(verbs_sport_possible((uint16_t)sport));
		assert_int_not_equal(label, 0); /* 0 leaves the port to the device */
		assert_true(label < 1u << 20);
		assert_int_equal(verbs_label_sport(label), sport);
	}
	assert_false(verbs_sport_possible(VERBS_FIRST_SPORT - 1));
	assert_false(verbs_sport_possible(4791));
}

/* rdma_flow_label_to_udp_sport() of Linux 6.1, include/rdma/ib_verbs.h, worked by hand. */
static void
labels_fold_as_in_the_kernel(void **state)
{
	assert_int_equal(verbs_label_sport(0x00001), 0xc001);
	assert_int_equal(verbs_label_sport(0x03fff), 0xffff);
	assert_int_equal(verbs_label_sport(0x04001), 0xc000);
	assert_int_equal(verbs_label_sport(0xfc000), 0xc03f);
	assert_int_equal(verbs_label_sport(0xabcde), 0xc000 | (0x3cde ^ 0x2a));
}

static void
classes_are_class_selectors(void **state)
{
	for (uint8_t prio = 0; prio < 8; prio++) {
		assert_int_equal(verbs_traffic_class(prio) >> 2, 8 * prio); /* DSCP */
		assert_int_equal(verbs_traffic_class(prio) & 3, 2);         /* ECT(0) */
	}
	assert_int_equal(verbs_traffic_class_of_tag(tag_make(0)), 0x0e); /* docs/wire-formats.md */
	assert_int_equal(verbs_traffic_class_of_tag(tag_make(15)), 0xfe);
}

static void
timeouts_are_no_shorter_than_asked(void **state)
{
	assert_int_equal(verbs_timeout(0), 0);
	assert_int_equal(verbs_timeout(1), VERBS_MIN_TIMEOUT);
	assert_int_equal(verbs_timeout(16777216000ull), VERBS_MIN_TIMEOUT);
	assert_int_equal(verbs_timeout(16777216001ull), 13);
	assert_int_equal(verbs_timeout(1073741824000ull), 18);
	assert_int_equal(verbs_timeout(1073741824001ull), 19);
	assert_int_equal(verbs_timeout(UINT64_MAX), VERBS_MAX_TIMEOUT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_port_has_a_label),
		cmocka_unit_test(labels_fold_as_in_the_kernel),
		cmocka_unit_test(classes_are_class_selectors),
		cmocka_unit_test(timeouts_are_no_shorter_than_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
