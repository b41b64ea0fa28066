/* SPDX-License-Identifier: BSD-3-Clause */
/* Selective repeat, the receiver: what is placed and acknowledged, what an ACK carries, when a message is complete. */
#include "common/array.h"
#include "common/wire/roce.h"
#include "tests/unit/rxe-hosts/selective_rig.h"
#include "tests/unit/unit.h"

static uint8_t
before(uint32_t psn)
{
	uint8_t syndrome = sel_recv_syndrome(&r, sel, psn);

	assert_int_equal(syndrome & ~0x1f, AETH_ACK_SELECTIVE);
	return syndrome & 0x1f;
}

/* Bits of the syndrome: the packet five before is the lowest. */
static void
an_ack_reports_five_packets_before(void **state)
{
	static const uint32_t firsts[] = { 0, 60, 63, 0xfffffd }; /* also across words, and numbers */

	for (size_t i = 0; i < ARRAY_LEN(firsts); i++) {
		struct pkt p[10];

		begin("none", SEL_ADAPTIVE, firsts[i]);
		post_numbered(10 * 1024, 1);
		for (int k = 0; k < 10; k++)
			p[k] = next(s.next_ps);
		receive(&p[0]);
		assert_int_equal(before(p[0].psn), 0x1f);
		receive(&p[2]);
		assert_int_equal(before(p[2].psn), 0x0f); /* 1 is missing */
		receive(&p[3]);
		assert_int_equal(before(p[3].psn), 0x17);
		receive(&p[8]);
		assert_int_equal(before(p[8].psn), 0x01); /* 3 alone */
		receive(&p[9]);
		assert_int_equal(before(p[9].psn), 0x10);
		receive(&p[1]);
		assert_int_equal(before(p[1].psn), 0x1f);
		if (i + 1 < ARRAY_LEN(firsts))
			end(state);
	}
}

/* While nothing is missing, every third packet, and the one that asks; else each. */
static void
packets_in_order_share_acks(void **state)
{
	struct pkt p[8];

	begin("none", SEL_ADAPTIVE, 0);
	params.ack_every = 3;
	post_numbered(8 * 1024, 1);
	for (int k = 0; k < 8; k++)
		p[k] = next(s.next_ps);
	assert_int_equal(receive(&p[0]) & RC_ACK, 0);
	assert_int_equal(receive(&p[1]) & RC_ACK, 0);
	assert_int_equal(receive(&p[2]) & RC_ACK, RC_ACK);
	rc_recv_replied(&r);
	assert_int_equal(receive(&p[3]) & RC_ACK, 0);
	assert_int_equal(receive(&p[5]) & RC_ACK, RC_ACK); /* 4 is missing */
	rc_recv_replied(&r);
	assert_int_equal(receive(&p[6]) & RC_ACK, RC_ACK);
	rc_recv_replied(&r);
	assert_int_equal(receive(&p[4]) & RC_ACK, RC_ACK); /* nothing may come behind it */
	rc_recv_replied(&r);
	assert_int_equal(receive(&p[4]) & RC_ACK, RC_ACK); /* twice: whoever sent it again does not know */
	rc_recv_replied(&r);
	assert_int_equal(receive(&p[7]) & RC_ACK, RC_ACK); /* the last of its message */
}

static void
receiver_takes_any_order_and_completes_messages_in_order(void **state)
{
	struct pkt p[4];

	begin("none", SEL_ADAPTIVE, 0xffffff);
	post_numbered(2048, 1);
	post_numbered(1500, 2);
	for (int i = 0; i < 4; i++)
		p[i] = next(s.next_ps);
	assert_int_equal(receive(&p[3]), RC_ACK | RC_ACCEPTED); /* the end of the second */
	assert_int_equal(receive(&p[2]) & ~(uint32_t)RC_REORDERED, RC_ACK | RC_ACCEPTED);
	assert_int_equal(receive(&p[3]) & ~(uint32_t)RC_REORDERED, RC_ACK); /* twice */
	assert_int_equal(r.duplicates, 1);
	assert_int_equal(receive(&p[1]) & ~(uint32_t)RC_REORDERED, RC_ACK | RC_ACCEPTED);
	assert_int_equal(r.expected, 0xffffff);
	assert_false(sel_recv_pop(&r, sel, &params));
	assert_int_equal(receive(&p[0]) & ~(uint32_t)RC_REORDERED, RC_ACK | RC_ACCEPTED | RC_COMPLETE);
	assert_int_equal(r.expected, 3);
	assert_true(sel_recv_pop(&r, sel, &params));
	assert_int_equal(r.imm, 1);
	assert_int_equal(r.done_bytes, 2048);
	assert_true(sel_recv_pop(&r, sel, &params));
	assert_int_equal(r.imm, 2);
	assert_int_equal(r.done_bytes, 1500);
	assert_false(sel_recv_pop(&r, sel, &params));
	assert_int_equal(sel->ahead, 0);
	assert_int_equal(sel->early, 3);
}

static void
a_packet_beyond_the_window_is_not_acknowledged(void **state)
{
	begin("2048", SEL_ADAPTIVE, 0);
	post_numbered(1024, 1);
	struct pkt p = next(0);

	p.psn = sel->mask + 1;
	assert_int_equal(receive(&p) & (RC_ACK | RC_ACCEPTED), 0);
	assert_int_equal(r.stale, 1);
	p.psn = sel->mask;
	assert_int_equal(receive(&p) & (RC_ACK | RC_ACCEPTED), RC_ACK | RC_ACCEPTED);
}

UNIT_TEST(selective_recv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(an_ack_reports_five_packets_before, end),
		cmocka_unit_test_teardown(packets_in_order_share_acks, end),
		cmocka_unit_test_teardown(receiver_takes_any_order_and_completes_messages_in_order, end),
		cmocka_unit_test_teardown(a_packet_beyond_the_window_is_not_acknowledged, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
