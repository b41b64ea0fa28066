/* SPDX-License-Identifier: BSD-3-Clause */
/* What the MACs at both ends of a cable count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/units.h"
#include "dpswitch/fabric/link.h"
#include "tests/unit/unit.h"

static void
start(struct link *link)
{
	const struct link_config config = {
		.rate_bps = 100000000000ULL,
		.delay_ps = 2 * PS_PER_US,
		.window_ps = 250 * PS_PER_NS,
		.min_frame_bytes = 1000,
		.pause_bytes = 84,
		.seed = 1,
	};

	assert_int_equal(link_init(link, &config), 0);
}

static void
send(struct link *link, uint32_t parity, uint32_t psn, uint64_t done_ps)
{
	const struct pkt p = { .psn = psn, .wire_bytes = 1000, .flow = 5 };

	link_send(link, parity, &p, done_ps);
}

/* As MACs count: what one end has sent, what has come in at the other. A cut takes back what was on its way. */
static void
both_ends_count(void **state)
{
	struct link link;
	struct pkt *pkts;

	(void)state;
	start(&link);
	send(&link, 0, 1, 80000);
	link_send_pause(&link, 0, 1 << 3 | 1 << 5, true, 90000);
	link_receive(&link, 1);
	assert_int_equal(link.sent_bytes, 1000);
	assert_int_equal(link.received_bytes, 1000);
	assert_int_equal(link.sent_pauses[3], 1);
	assert_int_equal(link.received_pauses[5], 1);
	assert_int_equal(link.received_pauses[4], 0);
	link_consume(&link, link_arrivals(&link, TIME_NEVER, &pkts), 1);
	send(&link, 1, 2, 160000);
	link_receive(&link, 0);
	link_send_pause(&link, 0, 1 << 3, false, 170000);
	link_set_down(&link, true);
	assert_int_equal(link.sent_bytes, 2000);
	assert_int_equal(link.received_bytes, 1000);
	assert_int_equal(link.sent_pauses[3], 2);
	assert_int_equal(link.received_pauses[3], 1);
	link_set_down(&link, false);
	link_set_loss(&link, 1);
	send(&link, 1, 3, 320000);
	link_receive(&link, 0);
	assert_int_equal(link.sent_bytes, 3000);
	assert_int_equal(link.received_bytes, 1000);
	link.silent = true;
	send(&link, 0, 4, 400000);
	link_receive(&link, 1);
	assert_int_equal(link.received_bytes, 2000);
	assert_int_equal(link.received_bytes, 1000 * link.received_frames);
	assert_int_equal(link.sent_bytes, 1000 * link.sent_frames);
	link_fini(&link);
}

UNIT_TEST(link_counts)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ends_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
