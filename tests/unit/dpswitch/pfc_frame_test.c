/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "dpswitch/edge/frame/frame.h"
#include "tests/unit/unit.h"

static const struct pfc_fields fields = {
	.src_mac = { 2, 0, 10, 0, 0, 1 },
	.class_enable = 0x09,
	.quanta = { 0xffff, 0x1111, 0, 0 },
};

/* By hand from IEEE 802.1Q 36.2 / 802.3 31B. */
static void
bytes_are_the_standards(void **state)
{
	static const uint8_t expected[60] = {
		0x01, 0x80, 0xc2, 0x00, 0x00, 0x01, 2, 0, 10, 0, 0, 1, 0x88, 0x08, /* MAC Control */
		0x01, 0x01, 0x00, 0x09,                                            /* opcode, classes 0 and 3 */
		0xff, 0xff, 0,    0,    0,    0,    0, 0, 0,  0, 0, 0, 0,    0,
		0,    0, /* class 1 is not enabled: 0; class 3 resumes */
	};
	uint8_t bytes[60];

	pfc_frame_build(&fields, bytes);
	assert_memory_equal(bytes, expected, sizeof(bytes));
}

static void
fields_return(void **state)
{
	struct pfc_fields back;
	uint8_t bytes[60];

	pfc_frame_build(&fields, bytes);
	assert_int_equal(pfc_frame_parse(bytes, sizeof(bytes), &back), 0);
	assert_memory_equal(back.src_mac, fields.src_mac, 6);
	assert_int_equal(back.class_enable, 0x09);
	assert_int_equal(back.quanta[0], 0xffff);
	assert_int_equal(back.quanta[1], 0);
	assert_int_equal(back.quanta[3], 0);
}

static void
others_are_refused(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
		int rc;
	} cases[] = {
		{ 12, 0x08, -ENOENT },  /* IPv4 */
		{ 15, 0x02, -ENOENT },  /* another opcode */
		{ 14, 0x00, -ENOENT },  /* 0x0001: a PAUSE for all classes */
		{ 5, 0x02, -EBADMSG },  /* another multicast address */
		{ 16, 0x01, -EBADMSG }, /* ninth class */
	};
	struct pfc_fields back;
	uint8_t bytes[61];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		pfc_frame_build(&fields, bytes);
		bytes[cases[i].at] = cases[i].value;
		assert_int_equal(pfc_frame_parse(bytes, 60, &back), cases[i].rc);
	}
	pfc_frame_build(&fields, bytes);
	for (size_t size = 0; size < 60; size++) {
		uint8_t *cut = malloc(size);

		memcpy(cut, bytes, size);
		assert_int_equal(pfc_frame_parse(cut, size, &back), size < 16 ? -ENOENT : -EBADMSG);
		free(cut);
	}
	assert_int_equal(pfc_frame_parse(bytes, 61, &back), -EBADMSG);
}

UNIT_TEST(pfc_frame)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_are_the_standards),
		cmocka_unit_test(fields_return),
		cmocka_unit_test(others_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
