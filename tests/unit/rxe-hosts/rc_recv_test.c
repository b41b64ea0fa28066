/* SPDX-License-Identifier: BSD-3-Clause */
/* The responder: order, NAKs, coalesced ACKs, congestion echo, headers, malformed messages, posted receives, datagrams. */
#include "common/wire/roce.h"
#include "rxe-hosts/roce/ud.h"
#include "tests/unit/rxe-hosts/roce_rig.h"
#include "tests/unit/unit.h"

static void
test_a_second_gap_gets_a_second_nak(void **state)
{
	start("none", 0);
	post(6 * 1024, MESSAGE_WRITE);
	struct pkt p[6];

	for (int i = 0; i < 6; i++)
		p[i] = next(0);
	deliver(&p[0], 0);
	assert_int_equal(deliver(&p[2], 0), RC_NAK);
	assert_true(deliver(&p[1], 0) & RC_ACCEPTED);
	assert_true(deliver(&p[2], 0) & RC_ACCEPTED);
	assert_int_equal(deliver(&p[4], 0), RC_NAK);
	assert_int_equal(r.naks, 2);
	assert_int_equal(r.most_missing, 1);
}

static void
test_overtaken_packets_are_reordering_and_repetitions_are_not(void **state)
{
	start("none", 0);
	post(4 * 1024, MESSAGE_WRITE);
	struct pkt p[4];

	for (int i = 0; i < 4; i++)
		p[i] = next(0);
	deliver(&p[0], 0);
	assert_int_equal(deliver(&p[2], 0), RC_NAK);
	assert_true(deliver(&p[1], 0) & RC_REORDERED);
	rc_send_nak(&s, &params, 2, 0);
	struct pkt again = next(0);

	assert_int_equal(again.psn, 2);
	assert_false(deliver(&again, 0) & RC_REORDERED);
	assert_false(deliver(&again, 0) & RC_REORDERED); /* a duplicate of a repetition */
	assert_true(deliver(&p[1], 0) & RC_REORDERED);   /* a duplicate of an original */
}

/* What a receiver acts on it has from the packet: opcode, immediate, number. */
static void
test_packets_carry_their_headers(void **state)
{
	static const uint8_t write[] = { ROCE_RC_WRITE_FIRST, ROCE_RC_WRITE_MIDDLE, ROCE_RC_WRITE_LAST_IMM,
					 ROCE_RC_WRITE_ONLY_IMM };
	static const uint8_t send[] = { ROCE_RC_SEND_FIRST, ROCE_RC_SEND_MIDDLE, ROCE_RC_SEND_LAST_IMM,
					ROCE_RC_SEND_ONLY_IMM };

	start("none", 0);
	post(3 * 1024, MESSAGE_WRITE);
	post(1, MESSAGE_WRITE);
	post(3 * 1024, MESSAGE_SEND);
	post(1024, MESSAGE_SEND);
	recv_ring_push(&r.receives, 8192, 3 * 1024);
	recv_ring_push(&r.receives, 0, 1024);
	for (uint32_t i = 0; i < 8; i++) {
		struct pkt p = next(s.next_ps);

		assert_int_equal(p.opcode, i < 4 ? write[i] : send[i - 4]);
		assert_int_equal(p.arg, 77);
		assert_int_equal(p.message, i / 4 * 2 + (i % 4 == 3));
		assert_true(deliver(&p, 0) & RC_ACCEPTED);
		assert_int_equal(r.imm, 77);
		assert_int_equal(r.place, i < 4 ? PLACE : i < 7 ? 8192 : 0);
		assert_int_equal(r.msn, i < 2 ? 0 : i < 3 ? 1 : i < 6 ? 2 : i < 7 ? 3 : 4);
	}
}

static uint32_t
deliver_checked(uint32_t psn, uint8_t opcode, uint16_t payload_bytes, uint64_t room_bytes)
{
	const struct rc_reth reth = { .place = PLACE, .room_bytes = room_bytes };
	bool last = opcode != ROCE_RC_WRITE_FIRST && opcode != ROCE_RC_WRITE_MIDDLE;
	struct pkt p = {
		.psn = psn,
		.arg = 5,
		.payload_bytes = payload_bytes,
		.opcode = opcode,
		.flags = last ? PKT_LAST | PKT_RETRANSMIT : PKT_RETRANSMIT,
	};

	return rc_recv_checked(&r, &params, &p, &reth, 0);
}

static void
test_malformed_messages_are_refused(void **state)
{
	start("none", 0);
	assert_int_equal(deliver_checked(0, ROCE_RC_WRITE_MIDDLE, 256, 1000), 0); /* of no message */
	assert_int_equal(deliver_checked(0, ROCE_RC_WRITE_FIRST, 256, 255), 0);   /* past its room */
	assert_int_equal(r.stale, 2);
	assert_int_equal(r.expected, 0);
	assert_true(deliver_checked(0, ROCE_RC_WRITE_FIRST, 256, 300) & RC_ACCEPTED);
	assert_int_equal(deliver_checked(1, ROCE_RC_WRITE_FIRST, 256, 300), 0); /* one is under way */
	assert_int_equal(deliver_checked(1, ROCE_RC_WRITE_LAST, 45, 300), 0);   /* 301 B */
	assert_int_equal(r.stale, 4);
	assert_true(deliver_checked(1, ROCE_RC_WRITE_LAST_IMM, 44, 300) & RC_COMPLETE);
	assert_int_equal(r.imm, 5);
	assert_int_equal(deliver_checked(2, ROCE_RC_WRITE_ONLY, 44, 300) & (RC_ACCEPTED | RC_COMPLETE), RC_ACCEPTED);
	assert_int_equal(r.imm, 0);
	assert_int_equal(r.msn, 2);
}

static void
test_ack_coalescing(void **state)
{
	start("none", 0);
	params.ack_every = 3;
	post(5 * 1024, MESSAGE_WRITE);
	uint32_t expected[] = { 0, 0, RC_ACK, 0, RC_ACK };

	for (int i = 0; i < 5; i++) {
		struct pkt p = next(0);
		uint32_t reply = deliver(&p, 0);

		assert_int_equal(reply & RC_ACK, expected[i]);
		if (reply & RC_ACK)
			rc_recv_replied(&r);
	}
}

static void
test_ce_is_echoed_in_the_ack_or_by_spaced_cnps(void **state)
{
	start("none", 0);
	params.cc.echo = CC_ECHO_ACK;
	params.ack_every = 2;
	post(8 * 1024, MESSAGE_WRITE);
	struct pkt p = next(0);

	p.flags |= PKT_CE;
	assert_int_equal(deliver(&p, 0), RC_ACCEPTED);
	p = next(0);
	assert_int_equal(deliver(&p, 0), RC_ACCEPTED | RC_ACK);
	assert_true(r.ce); /* remembered over the coalesced packet */
	rc_recv_replied(&r);
	assert_false(r.ce);
	params.cc.echo = CC_ECHO_CNP;
	params.cc.cnp_interval_ps = 50 * PS_PER_US;
	uint64_t times[] = { 1, 2, 50 * PS_PER_US, 50 * PS_PER_US + 1 };
	uint32_t cnps[] = { RC_CNP, 0, 0, RC_CNP };

	for (int i = 0; i < 4; i++) {
		p = next(0);
		p.flags |= PKT_CE;
		assert_int_equal(deliver(&p, times[i]) & RC_CNP, cnps[i]);
		assert_false(r.ce);
	}
}

static void
test_send_consumes_receives_and_rnr_waits(void **state)
{
	start("none", 0);
	post(2 * 1024, MESSAGE_SEND);
	struct pkt a = next(0), b = next(0);

	assert_int_equal(deliver(&a, 0), RC_RNR);
	assert_int_equal(deliver(&b, 0), 0);
	assert_true(rc_send_rnr(&s, &params, 0, 1000));
	assert_int_equal(s.next_ps, 1000 + 20 * PS_PER_US);
	assert_int_equal(rc_send_deadline(&s, &params), 1000 + 20 * PS_PER_US + 4 * PS_PER_MS);
	assert_true(recv_ring_push(&r.receives, 4096, 2048));
	a = next(s.next_ps);
	b = next(s.next_ps);
	assert_true(deliver(&a, 0) & RC_ACCEPTED);
	assert_int_equal(r.place, 4096);
	assert_true(deliver(&b, 0) & RC_COMPLETE);
	post(1024, MESSAGE_SEND);
	next(s.next_ps);
	assert_true(rc_send_rnr(&s, &params, 2, 2000));  /* acknowledges the first message: counts anew */
	assert_false(rc_send_rnr(&s, &params, 2, 3000)); /* rnr_retry 1 */
}

static void
test_datagrams(void **state)
{
	struct ud_send us = { 0 };
	struct ud_recv ur = { 0 };
	struct recv_slot slot;
	struct pkt p;

	start("none", 0);
	assert_int_not_equal(ud_send_make(&us, &params, 1, 3, 0, 0, &p), 0);
	assert_int_not_equal(ud_send_make(&us, &params, 1, 3, 1025, 0, &p), 0);
	assert_int_equal(ud_send_make(&us, &params, 1, 3, 64, 0xabcd, &p), 0);
	assert_int_equal(p.type, PKT_UD);
	assert_int_equal(p.arg, 0xabcd);
	assert_false(ud_recv_take(&ur, &r.receives, &p, &slot));
	recv_ring_push(&r.receives, 0, 63);
	assert_false(ud_recv_take(&ur, &r.receives, &p, &slot)); /* too short */
	assert_int_equal(ur.unposted, 2);
	recv_ring_pop(&r.receives, &slot);
	recv_ring_push(&r.receives, 128, 64);
	assert_true(ud_recv_take(&ur, &r.receives, &p, &slot));
	assert_int_equal(slot.offset, 128);
}

UNIT_TEST(rc_recv)
{
#define T(name) cmocka_unit_test_teardown(test_##name, teardown)
	const struct CMUnitTest tests[] = {
		T(a_second_gap_gets_a_second_nak),
		T(overtaken_packets_are_reordering_and_repetitions_are_not),
		T(packets_carry_their_headers),
		T(malformed_messages_are_refused),
		T(ack_coalescing),
		T(ce_is_echoed_in_the_ack_or_by_spaced_cnps),
		T(send_consumes_receives_and_rnr_waits),
		T(datagrams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
