/* SPDX-License-Identifier: BSD-3-Clause */
/* Of what a raw socket shows, that a datagram of this host's ended at a switch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rxe-hosts/device/verbs/raw_ud.h"
#include "tests/unit/unit.h"

/* From 10.1.0.6, of a datagram from port 50000 of 10.0.0.1 to 10.0.0.4; PSN 0x1234 */
static const uint8_t whole[] = {
	0x45, 0,    0,    56,   0x12, 0x34, 0x40, 0, 64, 1,  0, 0, 10, 1, 0, 6, 10, 0, 0, 1, /* IPv4 */
	11,   0,    0,    0,    0,    0,    0,    0,                                         /* ICMP */
	0x45, 0x62, 0,    108,  0x12, 0x34, 0x40, 0, 1,  17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 4, /* IPv4, quoted */
	0xc3, 0x50, 0x12, 0xb7, 0,    88,   0,    0,                                         /* UDP, quoted */
};

static void
what_expired_is_read(void **state)
{
	struct icmp_expired expired;

	(void)state;
	assert_true(icmp_expired_read(&expired, whole, sizeof(whole)));
	assert_int_equal(expired.from_ip, 0x0a010006);
	assert_int_equal(expired.src_ip, 0x0a000001);
	assert_int_equal(expired.dst_ip, 0x0a000004);
	assert_int_equal(expired.sport, 50000);
	assert_int_equal(expired.ip_id, 0x1234);
}

static void
other_messages_are_not(void **state)
{
	static const struct {
		size_t at;
		uint8_t is;
	} changes[] = {
		{ 0, 0x65 },  /* not IPv4 */
		{ 0, 0x44 },  /* a header that is too short */
		{ 0, 0x4f },  /* options that end in the quotation */
		{ 9, 17 },    /* not ICMP */
		{ 20, 3 },    /* unreachable */
		{ 21, 1 },    /* in reassembly */
		{ 28, 0x46 }, /* quoted options, and no UDP behind them */
		{ 37, 6 },    /* TCP */
		{ 51, 0xb8 }, /* another port */
	};
	struct icmp_expired expired;

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		uint8_t bytes[sizeof(whole)];

		memcpy(bytes, whole, sizeof(bytes));
		bytes[changes[i].at] = changes[i].is;
		assert_false(icmp_expired_read(&expired, bytes, sizeof(bytes)));
	}
	for (size_t size = 0; size < sizeof(whole); size++) {
		uint8_t *cut = malloc(size + 1);

		assert_non_null(cut);
		memcpy(cut, whole, size);
		assert_false(icmp_expired_read(&expired, cut, size));
		free(cut);
	}
}

UNIT_TEST(verbs_icmp)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_expired_is_read),
		cmocka_unit_test(other_messages_are_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
