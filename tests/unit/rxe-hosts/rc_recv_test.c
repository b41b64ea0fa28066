/* SPDX-License-Identifier: BSD-3-Clause */
/* The responder: order, NAKs, coalesced ACKs, congestion echo, stale handles, posted receives, datagrams. */
#include "rxe-hosts/roce/ud.h"
#include "tests/unit/rxe-hosts/roce_rig.h"

static void
test_a_second_gap_gets_a_second_nak(void **state)
{
	start("none", 0);
	post(6 * 1024, MSG_WRITE_IMM);
	struct pkt p[6];

	for (int i = 0; i < 6; i++)
		p[i] = next(0);
	deliver(&p[0], 0);
	assert_int_equal(deliver(&p[2], 0), RC_NAK);
	assert_true(deliver(&p[1], 0) & RC_ACCEPTED);
	assert_true(deliver(&p[2], 0) & RC_ACCEPTED);
	assert_int_equal(deliver(&p[4], 0), RC_NAK);
	assert_int_equal(r.naks, 2);
}

static void
test_overtaken_packets_are_reordering_and_repetitions_are_not(void **state)
{
	start("none", 0);
	post(4 * 1024, MSG_WRITE_IMM);
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

static void
test_stale_handles_are_not_followed(void **state)
{
	start("none", 0);
	post(1024, MSG_WRITE_IMM);
	struct pkt p = next(0);

	p.gen++;
	assert_int_equal(deliver(&p, 0), 0);
	assert_int_equal(r.stale, 1);
	assert_int_equal(r.expected, 0);
	p.gen--;
	p.arg = MSG_SLOTS; /* past the slab */
	assert_int_equal(deliver(&p, 0), 0);
	p.arg = 0;
	assert_true(deliver(&p, 0) & RC_COMPLETE);
}

static void
test_ack_coalescing(void **state)
{
	start("none", 0);
	params.ack_every = 3;
	post(5 * 1024, MSG_WRITE_IMM);
	uint32_t expected[] = { 0, 0, RC_ACK, 0, RC_ACK };

	for (int i = 0; i < 5; i++) {
		struct pkt p = next(0);
		uint32_t answer = deliver(&p, 0);

		assert_int_equal(answer & RC_ACK, expected[i]);
		if (answer & RC_ACK)
			rc_recv_answered(&r);
	}
}

static void
test_ce_is_echoed_in_the_ack_or_by_spaced_cnps(void **state)
{
	start("none", 0);
	params.dcqcn.enabled = true;
	params.ack_every = 2;
	post(8 * 1024, MSG_WRITE_IMM);
	struct pkt p = next(0);

	p.flags |= PKT_CE;
	assert_int_equal(deliver(&p, 0), RC_ACCEPTED);
	p = next(0);
	assert_int_equal(deliver(&p, 0), RC_ACCEPTED | RC_ACK);
	assert_true(r.ce); /* remembered over the coalesced packet */
	rc_recv_answered(&r);
	assert_false(r.ce);
	params.dcqcn.echo_cnp = true;
	params.dcqcn.cnp_interval_ps = 50 * PS_PER_US;
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
	post(2 * 1024, MSG_SEND_IMM);
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
	post(1024, MSG_SEND_IMM);
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

int
main(void)
{
#define T(name) cmocka_unit_test_teardown(test_##name, teardown)
	const struct CMUnitTest tests[] = {
		T(a_second_gap_gets_a_second_nak),
		T(overtaken_packets_are_reordering_and_repetitions_are_not),
		T(stale_handles_are_not_followed),
		T(ack_coalescing),
		T(ce_is_echoed_in_the_ack_or_by_spaced_cnps),
		T(send_consumes_receives_and_rnr_waits),
		T(datagrams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
