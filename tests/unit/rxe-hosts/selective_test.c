/* SPDX-License-Identifier: BSD-3-Clause */
/* Selective repeat, packet by packet: what is placed, acknowledged, taken for lost, and when it is over. */
#include <errno.h>
#include <string.h>

#include "common/minmax.h"
#include "common/wire/roce.h"
#include "tests/unit/rxe-hosts/selective_rig.h"
#include "tests/unit/unit.h"

static void
every_packet_is_a_write_of_its_own(void **state)
{
	begin("none", SEL_ADAPTIVE, 0xfffffe);
	post_numbered(2500, 9);
	struct pkt a = next(0), b = next(s.next_ps), c = next(s.next_ps);

	assert_int_equal(a.opcode, ROCE_RC_WRITE_ONLY);
	assert_int_equal(b.opcode, ROCE_RC_WRITE_ONLY);
	assert_int_equal(c.opcode, ROCE_RC_WRITE_ONLY_IMM);
	assert_int_equal(a.wire_bytes, roce_wire_bytes(ROCE_RC_WRITE_ONLY, 1024));
	assert_int_equal(b.wire_bytes, a.wire_bytes);
	assert_int_equal(c.wire_bytes, roce_wire_bytes(ROCE_RC_WRITE_ONLY_IMM, 452));
	assert_int_equal(roce_data_bytes(&params, 1024, false, false), a.wire_bytes);
	assert_false(a.flags & PKT_LAST);
	assert_true(c.flags & PKT_LAST);
	assert_int_equal(c.psn, 0);
}

static void
sends_are_refused(void **state)
{
	struct rc_work work = { .bytes = 10, .send = true };

	begin("none", SEL_ADAPTIVE, 0);
	assert_int_equal(rc_send_post(&s, &params, &work), -ENOTSUP);
}

/* 0 is missing, and the ACKs of 1 and 2 were lost: that of 3 reports them. */
static void
what_an_ack_reports_is_acknowledged(void **state)
{
	struct pkt p = { .psn = 0xffffff, .arg = 0xfffffc };
	uint64_t rtt_ps;

	begin("none", SEL_ADAPTIVE, 0xfffffc);
	post_numbered(5 * 1024, 1);
	for (int k = 0; k < 4; k++)
		next(s.next_ps);
	p.syndrome = AETH_ACK_SELECTIVE | 0x1b; /* 5 and 4 before are of another time; 3 not; 2 and 1 have come */
	assert_int_equal(sel_send_ack(&s, &params, &p, 9 * US, &rtt_ps), 3);
	assert_int_equal(rtt_ps, 9 * US - s.sent_ps[0xffffff & s.sent_mask]);
	assert_int_equal(sel_send_waiting(&s), 1);
	assert_int_equal(s.una, 0xfffffc);
	assert_int_equal(sel_send_ack(&s, &params, &p, 9 * US, &rtt_ps), 0);
	assert_int_equal(rtt_ps, 0);
}

/* The receiver has 0 and 2; ACKs of both come in the other order, the first of them is lost. */
static void
an_ack_makes_up_for_a_lost_one(void **state)
{
	begin("none", SEL_ADAPTIVE, 0);
	post_numbered(4096, 1);
	for (int i = 0; i < 4; i++)
		next(s.next_ps);
	assert_int_equal(ack(2, 1, 9 * US), 2); /* 2 for itself, 0 by what is expected */
	assert_int_equal(s.una, 1);
	assert_int_equal(sel_send_waiting(&s), 2);
	assert_int_equal(ack(0, 1, 9 * US), 0);
	assert_int_equal(ack(3, 1, 9 * US), 1);
	assert_int_equal(ack(1, 4, 9 * US), 1);
	assert_int_equal(s.una, 4);
	assert_int_equal(ack(1, 4, 9 * US), 0);
	assert_int_equal(ack(7, 9, 9 * US), 0); /* of packets that were never sent */
}

/* Packet 0 is lost; those behind it are acknowledged as they come. It goes out 5 us after it can be known. */
static void
a_lost_packet_is_sent_again_once_later_ones_arrived(void **state)
{
	uint64_t now_ps = 0, sent_ps[100];
	struct pkt p;

	begin("1MB", SEL_ADAPTIVE, 0);
	post_numbered(200 * 1024, 1);
	for (uint32_t i = 0; i < 100; i++) {
		sent_ps[i] = now_ps;
		next(now_ps);
		now_ps = s.next_ps;
	}
	for (uint32_t i = 1; sent_ps[i] < 5 * US; i++) {
		assert_int_equal(ack(i, 0, sent_ps[i] + BASE_RTT_PS), 1);
		assert_int_equal(s.nxt, 100);
	}
	for (uint32_t i = 1; i < 100; i++) {
		if (sent_ps[i] < 5 * US)
			continue;
		assert_int_equal(ack(i, 0, sent_ps[i] + BASE_RTT_PS), 1);
		break;
	}
	assert_int_equal(s.nxt, 0);
	assert_int_equal(s.timeouts, 0);
	p = next(13 * US + 100000);
	assert_int_equal(p.psn, 0);
	assert_int_equal(p.flags & (PKT_RETRANSMIT | PKT_ACKREQ), PKT_RETRANSMIT | PKT_ACKREQ);
	assert_int_equal(s.retransmits, 1);
	assert_int_equal(next(14 * US).psn, 100); /* new data continues */
	/* Its repetition is lost, too: five microseconds more. */
	for (uint32_t i = 57; i < 100; i++)
		ack(i, 0, 14 * US);
	assert_int_equal(s.nxt, 101);
	assert_int_equal(ack(100, 0, 22 * US), 1);
	assert_int_equal(s.nxt, 101);
	while (s.next_ps < 18 * US + 100000)
		next(s.next_ps);
	next(18 * US + 200000);
	assert_int_equal(ack(s.nxt - 1, 0, 27 * US), 1);
	assert_int_equal(s.nxt, 0);
}

/* Packet 10 is lost, and all are sent when ACKs show it: the sender waited for that because of the loss alone. */
static void
a_loss_costs_the_wait_behind_the_last_packet(void **state)
{
	uint64_t end_ps, lost_ps = 0;

	begin("none", SEL_ADAPTIVE, 0);
	post_numbered(100 * 1024, 1);
	ledger_begin(&s.ledger, BASE_RTT_PS / 2, BASE_RTT_PS / 2, 0, 0);
	for (uint32_t i = 0; i < 100; i++)
		next(s.next_ps);
	s.ledger.until_ps = end_ps = s.next_ps;
	for (uint32_t i = 0; i < 100 && s.nxt == 100; i++) {
		lost_ps = s.sent_ps[i] + BASE_RTT_PS;
		if (i != 10)
			ack(i, i < 10 ? i + 1 : 10, lost_ps);
	}
	assert_int_equal(next(lost_ps).psn, 10);
	assert_in_range(lost_ps, end_ps + US, end_ps + BASE_RTT_PS);
	assert_int_equal(s.ledger.ps[LEDGER_NAK], lost_ps - end_ps + s.gap_ps);
	assert_int_equal(s.ledger.ps[LEDGER_WINDOW], 0);
	/* its second copy was not needed: nor was the wait */
	ack(10, 100, lost_ps + US);
	ack(10, 100, lost_ps + BASE_RTT_PS);
	assert_int_equal(s.ledger.ps[LEDGER_REORDERED], lost_ps - end_ps + s.gap_ps);
	assert_int_equal(s.ledger.ps[LEDGER_NAK], 0);
}

/* Of the last packets nothing follows: the oldest goes again by itself, and what its ACK shows goes behind. */
static void
the_last_packets_are_probed_for(void **state)
{
	uint64_t due_ps;

	begin("none", SEL_ADAPTIVE, 0);
	post_numbered(3 * 1024, 1);
	for (int i = 0; i < 3; i++)
		next(s.next_ps);
	due_ps = rc_send_deadline(&s, &params);
	assert_int_equal(due_ps, s.sent_ps[2] + BASE_RTT_PS + 5 * US);
	assert_true(rc_send_timeout(&s, &params, due_ps));
	assert_int_equal(next(due_ps).psn, 0);
	assert_false(rc_send_ready(&s));
	assert_int_equal(s.timeouts, 1);
	assert_int_equal(s.ledger.ps[LEDGER_TIMEOUT], due_ps + s.gap_ps);
	assert_int_equal(ack(0, 1, due_ps + BASE_RTT_PS), 1);
	assert_int_equal(next(due_ps + 9 * US).psn, 1);
	assert_int_equal(next(due_ps + 10 * US).psn, 2);
	assert_int_equal(s.retransmits, 3);
}

/*
 * Packet 0 is known to be lost, and all others are, too: those in flight fill the window, and nothing will acknowledge
 * them.
 */
static void
a_full_window_does_not_keep_the_probe_back(void **state)
{
	uint64_t sent_ps = 0;

	begin("3000", SEL_ADAPTIVE, 0);
	post_numbered(10 * 1024, 1);
	for (int i = 0; i < 3; i++)
		next(s.next_ps);
	sent_ps = 6 * US;
	assert_int_equal(ack(1, 0, sent_ps), 1);
	next(sent_ps); /* 3, a good while after 0 */
	assert_int_equal(ack(2, 0, sent_ps), 1);
	next(sent_ps + 1 * US);
	assert_int_equal(ack(3, 0, sent_ps + BASE_RTT_PS), 1);
	assert_int_equal(s.nxt, 0); /* lost */
	next(sent_ps + BASE_RTT_PS);
	next(sent_ps + BASE_RTT_PS + 1 * US);
	assert_false(rc_send_ready(&s)); /* 0 again, 4 and 5 */
	assert_true(rc_send_timeout(&s, &params, rc_send_deadline(&s, &params)));
	assert_true(rc_send_ready(&s));
	assert_int_equal(next(100 * US).psn, 0);
	assert_false(rc_send_ready(&s));
}

/* An answer sooner than any round trip is that of the first time: it does not make others lost. */
static void
an_ack_too_soon_is_of_the_first_time(void **state)
{
	uint64_t due_ps;

	begin("none", SEL_ADAPTIVE, 0);
	post_numbered(3 * 1024, 1);
	for (int i = 0; i < 3; i++)
		next(s.next_ps);
	due_ps = rc_send_deadline(&s, &params);
	assert_true(rc_send_timeout(&s, &params, due_ps));
	next(due_ps);
	assert_int_equal(ack(0, 1, due_ps + 2 * US), 1);
	assert_false(rc_send_ready(&s));
	assert_int_equal(ack(2, 3, due_ps + 3 * US), 2);
	assert_int_equal(s.retransmits, 1);
}

/*
 * Twelve packets, a microsecond apart, of which the first is late; it is acknowledged when it was sent again, and once
 * more if both copies come. @return so many microseconds later a packet was sent whose ACK made it taken for lost
 */
static uint32_t
miss_the_first(uint64_t from_ps, bool twice)
{
	uint32_t first = s.max, after = 0;

	for (uint32_t i = 0; i < 12; i++)
		next(from_ps + i * US);
	for (uint32_t i = 1; i < 12; i++) {
		assert_int_equal(ack(first + i, first, from_ps + i * US + BASE_RTT_PS), 1);
		if (after == 0 && s.nxt == first)
			after = i;
	}
	assert_int_equal(next(from_ps + 20 * US).psn, first);
	assert_int_equal(ack(first, first + 12, from_ps + 21 * US), 1);
	if (twice)
		assert_int_equal(ack(first, first + 12, from_ps + 28 * US), 0);
	return after;
}

/* RFC 8985, 6.2 step 4: it is no longer than a round trip, 8 us here, and the first one again after 16 recoveries. */
static void
what_arrives_twice_widens_the_window(void **state)
{
	uint64_t now_ps = 0;

	begin("1MB", SEL_ADAPTIVE, 0);
	post_numbered(300 * 1024, 1);
	assert_int_equal(miss_the_first(now_ps, false), 5);
	assert_int_equal(miss_the_first(now_ps += 40 * US, true), 5);
	for (int i = 0; i < SEL_PERSIST; i++)
		assert_int_equal(miss_the_first(now_ps += 40 * US, false), 8);
	assert_int_equal(miss_the_first(now_ps += 40 * US, false), 5);
}

static void
a_fixed_timer_looks_at_nothing_else(void **state)
{
	begin("none", SEL_FIXED, 0);
	post_numbered(3 * 1024, 1);
	next(0);
	next(1 * US);
	next(2 * US);
	assert_int_equal(rc_send_deadline(&s, &params), 13 * US);
	assert_int_equal(ack(2, 0, 12 * US), 1);
	assert_true(rc_send_timeout(&s, &params, 13 * US));
	/* of the one that left at 0 */
	assert_int_equal(rc_send_times(&s, &params, &s.ledger, s.ledger.until_ps).waited_ps, 13 * US);
	assert_int_equal(next(13 * US).psn, 0);
	assert_false(rc_send_ready(&s));
	assert_int_equal(ack(0, 1, 13500000), 1); /* it was only late */
	assert_int_equal(rc_send_deadline(&s, &params), 14 * US);
}

/* Where the round trip is short, the timeout is the paper's. */
static void
the_timeout_is_5_us_where_round_trips_are_short(void **state)
{
	struct roce_cfg cfg = plain_cfg();

	begin("none", SEL_ADAPTIVE, 0);
	assert_int_equal(s.sel->timeout_ps, BASE_RTT_PS + 5 * US);
	end(state);
	cfg.transport = TRANSPORT_SELECTIVE;
	cfg.selective = (struct sel_cfg){ .repeat_after_ps = 16 * US, .windows = 4 };
	begin_with(&cfg, 0);
	assert_int_equal(s.sel->timeout_ps, 16 * US);
}

/* Nothing ever comes: the timeout doubles up to host.timeout, and so many of that length later it is over. */
static void
retries_are_those_of_the_host(void **state)
{
	uint64_t now_ps = 0, waits = 0;

	begin("none", SEL_ADAPTIVE, 0); /* 13 us << 9 is more than 4 ms; two retries */
	post_numbered(5 * 1024, 1);
	for (int i = 0; i < 5; i++)
		next(s.next_ps);
	for (;; waits++) {
		now_ps = rc_send_deadline(&s, &params);
		if (!rc_send_timeout(&s, &params, now_ps))
			break;
		assert_int_equal(next(now_ps).psn, 0);
		assert_false(rc_send_ready(&s));
	}
	assert_int_equal(waits, 9 + 2);
	assert_true(now_ps > (4 + 8 + 8) * PS_PER_MS);
	rc_send_fail(&s);
	assert_int_equal(rc_send_deadline(&s, &params), TIME_NEVER);
}

/* A port that is instructed to wait repeats nothing: no timer runs off meanwhile. */
static void
held_timeouts_begin_anew(void **state)
{
	static const int timers[] = { SEL_ADAPTIVE, SEL_FIXED };

	for (int i = 0; i < 2; i++) {
		begin("none", timers[i], 0);
		post_numbered(1024, 1);
		next(0);
		rc_send_hold(&s, 20 * US);
		assert_int_equal(rc_send_deadline(&s, &params), 33 * US);
		if (i == 0)
			end(state);
	}
}

/* Queues make round trips twenty times as long: the adaptive timer repeats nothing, the fixed one does, in vain. */
static void
long_queues_are_no_loss(void **state)
{
	static const int timers[] = { SEL_ADAPTIVE, SEL_FIXED };
	uint64_t resent[2];

	for (int i = 0; i < 2; i++) {
		uint64_t now_ps = 0;

		begin("none", timers[i], 0);
		post_numbered(4000 * 1024, 1);
		for (uint32_t sent = 0, acked = 0; acked < 4000;) {
			uint64_t due_ps = rc_send_deadline(&s, &params);

			/* The queue lets a packet go every 177 ns, half the rate at which they come. */
			uint64_t ack_ps = acked < sent ? BASE_RTT_PS + (acked + 1) * 177000ULL : TIME_NEVER;
			uint64_t send_ps = rc_send_ready(&s) ? max_u64(s.next_ps, now_ps) : TIME_NEVER;

			now_ps = min_u64(min_u64(ack_ps, send_ps), due_ps);
			if (now_ps == ack_ps) {
				assert_int_equal(ack(acked, acked + 1, now_ps), 1);
				acked++;
			} else if (now_ps == send_ps) {
				sent += !(next(now_ps).flags & PKT_RETRANSMIT);
			} else {
				assert_true(rc_send_timeout(&s, &params, now_ps));
			}
		}
		resent[i] = s.retransmits;
		if (i == 0)
			end(state);
	}
	assert_int_equal(resent[0], 0);
	assert_true(resent[1] > 1000);
}

/* A frame of a QP alone at its NIC leaves now. */
static void
leave(uint64_t now_ps)
{
	rc_send_account(&s, &s.ledger, now_ps, now_ps);
	s.ledger.until_ps = now_ps + units_serialize_ps(next(now_ps).wire_bytes, s.line_bps, params.quantum_ps);
}

/*
 * A timer sends the first packet again, and while that leaves a late ACK of the last one shows others as lost, too, before
 * one has all acknowledged: what is left of the frame costs the message nothing, whatever the ledger charges by then.
 */
static void
an_ack_of_all_while_a_frame_leaves(void **state)
{
	uint64_t now_ps, sum_ps = 0;
	struct rc_post done;

	(void)state;
	begin("none", SEL_ADAPTIVE, 0);
	s.line_bps = 2000000000;
	rc_send_reset(&s, &params);
	s.ledger.on = true;
	post_numbered(4 * 1024, 1);
	ledger_begin(&s.ledger, BASE_RTT_PS / 2, BASE_RTT_PS / 2, 0, 0);
	for (int i = 0; i < 4; i++)
		leave(s.next_ps);
	now_ps = rc_send_deadline(&s, &params);
	assert_true(rc_send_timeout(&s, &params, now_ps));
	leave(now_ps);
	assert_int_equal(ack(3, 0, now_ps + US), 1);
	assert_int_equal(s.ledger.again, LEDGER_NAK);
	now_ps += 2 * US;
	assert_int_equal(ack(2, 4, now_ps), 3);
	assert_true(s.ledger.until_ps > now_ps);
	assert_true(pop(&done));
	for (uint32_t i = 0; i < LEDGER_ENTRIES; i++)
		sum_ps += sent_times.ledger_ps[i];
	assert_int_equal(sum_ps, now_ps);
	assert_int_equal(sent_times.ledger_ps[LEDGER_NAK], 0);
}

UNIT_TEST(selective)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(every_packet_is_a_write_of_its_own, end),
		cmocka_unit_test_teardown(sends_are_refused, end),
		cmocka_unit_test_teardown(what_an_ack_reports_is_acknowledged, end),
		cmocka_unit_test_teardown(an_ack_makes_up_for_a_lost_one, end),
		cmocka_unit_test_teardown(a_lost_packet_is_sent_again_once_later_ones_arrived, end),
		cmocka_unit_test_teardown(a_loss_costs_the_wait_behind_the_last_packet, end),
		cmocka_unit_test_teardown(the_last_packets_are_probed_for, end),
		cmocka_unit_test_teardown(a_full_window_does_not_keep_the_probe_back, end),
		cmocka_unit_test_teardown(an_ack_too_soon_is_of_the_first_time, end),
		cmocka_unit_test_teardown(what_arrives_twice_widens_the_window, end),
		cmocka_unit_test_teardown(a_fixed_timer_looks_at_nothing_else, end),
		cmocka_unit_test_teardown(the_timeout_is_5_us_where_round_trips_are_short, end),
		cmocka_unit_test_teardown(retries_are_those_of_the_host, end),
		cmocka_unit_test_teardown(held_timeouts_begin_anew, end),
		cmocka_unit_test_teardown(long_queues_are_no_loss, end),
		cmocka_unit_test_teardown(an_ack_of_all_while_a_frame_leaves, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
