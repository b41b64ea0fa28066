/* SPDX-License-Identifier: BSD-3-Clause */
/* A datagram built for a raw socket is byte by byte what soft-RoCE of Linux 6.1 sends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rxe-hosts/device/verbs/raw_ud.h"
#include "tests/unit/unit.h"

#define CONTENTS_AT 52
#define CONTENTS_BYTES 50

/* Captured behind the Ethernet header, to the ICRC: QP 0xb2 of 10.0.0.1 to QP 0x11f of 10.0.0.4. */
static const uint8_t captured[CONTENTS_AT + CONTENTS_BYTES + 2 + 4] = {
	0x45, 0x62, 0x00, 0x6c, 0x84, 0x98, 0x40, 0x00, 0x40, 0x11, 0xa1, 0x82, 0x0a, 0x00, 0x00,         0x01, 0x0a, 0x00,
	0x00, 0x04, 0xff, 0x5b, 0x12, 0xb7, 0x00, 0x58, 0x00, 0x00, 0x65, 0x20, 0xff, 0xff, 0x00,         0x00, 0x01, 0x1f,
	0x00, 0x00, 0x00, 0x00, 0x11, 0x11, 0x11, 0x11, 0x00, 0x00, 0x00, 0xb2, 0x00, 0x00, 0x00,         0x04, 0x52, 0x4d,
	0x47, 0x50, 0x01, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xeb, [104] = 0x3f, 0x1c, 0x4e, 0xcf,
};

static void
it_is_what_the_kernel_sends(void **state)
{
	const struct raw_ud ud = {
		.src_ip = 0x0a000001,
		.dst_ip = 0x0a000004,
		.sport = 0xff5b,
		.ip_id = 0x8498,
		.tos = 0x62,
		.ttl = 64,
		.src_qpn = 0xb2,
		.dst_qpn = 0x11f,
		.qkey = 0x11111111,
		.imm = 4,
		.contents = captured + CONTENTS_AT,
		.bytes = CONTENTS_BYTES,
	};
	uint8_t bytes[RAW_UD_BYTES];

	(void)state;
	assert_int_equal(raw_ud_build(bytes, &ud), sizeof(captured));
	assert_memory_equal(bytes, captured, sizeof(captured));
}

/* On its way the TTL changes, and the ICRC does not. */
static void
its_ttl_is_not_covered(void **state)
{
	struct raw_ud ud = { .ttl = 1, .contents = captured, .bytes = DEVICE_UD_BYTES };
	uint8_t one[RAW_UD_BYTES], two[RAW_UD_BYTES];

	(void)state;
	assert_int_equal(raw_ud_build(one, &ud), RAW_UD_BYTES);
	ud.ttl = 2;
	assert_int_equal(raw_ud_build(two, &ud), RAW_UD_BYTES);
	assert_int_equal(one[8], 1);
	assert_int_equal(two[8], 2);
	assert_memory_equal(one + 12, two + 12, RAW_UD_BYTES - 12);
}

UNIT_TEST(verbs_raw_ud)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_what_the_kernel_sends),
		cmocka_unit_test(its_ttl_is_not_covered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
