/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a sender's time goes: each cause that holds a QP back has its entry, and the entries are its time. */
#include "tests/unit/rxe-hosts/roce_rig.h"
#include "tests/unit/unit.h"

#define THERE_PS (4 * PS_PER_US)
#define BACK_PS (3 * PS_PER_US)
#define RTT_PS (THERE_PS + BACK_PS)
#define MESSAGE_BYTES (4 * 1024)

static uint64_t line_ps; /* of a full middle frame */
static uint64_t now_ps;

static void
begin(const char *window)
{
	start(window, 0);
	line_ps = s.gap_ps;
	now_ps = PS_PER_US;
	post(MESSAGE_BYTES, MESSAGE_WRITE);
	ledger_begin(&s.ledger, THERE_PS, BACK_PS, 0, now_ps);
}

/* A frame leaves now, as a NIC's port sends it. @param ready_ps  when the window had room for it */
static void
leave(uint64_t ready_ps)
{
	if (s.ledger.until_ps != now_ps) {
		rc_send_account(&s, &s.ledger, ready_ps, now_ps);
		ledger_charge(&s.ledger, LEDGER_BEHIND, now_ps);
	}
	s.ledger.until_ps = now_ps + units_serialize_ps(next(now_ps).wire_bytes, s.line_bps, params.quantum_ps);
	now_ps = s.ledger.until_ps;
}

static void
acknowledge(uint32_t psn, uint64_t at_ps)
{
	uint64_t rtt_ps;

	now_ps = at_ps;
	rc_send_ack(&s, &params, psn, at_ps, &rtt_ps);
}

/* The message is over now: each entry of expected, by enum ledger_entry, and their sum is its time. */
static void
ends_with(const uint64_t expected[LEDGER_ENTRIES])
{
	struct rc_post done;
	uint64_t sum_ps = 0;

	assert_true(pop(&done));
	for (uint32_t i = 0; i < LEDGER_ENTRIES; i++) {
		if (i > LEDGER_BACK && sent_times.ledger_ps[i] != expected[i])
			fail_msg("entry %u: %llu ps, not %llu", i, (unsigned long long)sent_times.ledger_ps[i],
				 (unsigned long long)expected[i]);
		sum_ps += sent_times.ledger_ps[i];
	}
	assert_int_equal(sum_ps, now_ps - PS_PER_US);
	teardown(NULL);
}

static void
leave_all(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		leave(0);
}

static void
an_idle_path_has_frames_and_the_round_trip(void **state)
{
	uint64_t sent_ps;

	begin("none");
	leave_all(4);
	acknowledge(3, s.sent_ps[3] + RTT_PS);
	sent_ps = s.sent_ps[3];
	ends_with((uint64_t[LEDGER_ENTRIES]){ 0 });
	assert_int_equal(sent_times.ledger_ps[LEDGER_BACK], BACK_PS);
	assert_int_equal(sent_times.ledger_ps[LEDGER_WIRE] + sent_times.ledger_ps[LEDGER_THERE],
			 sent_ps - PS_PER_US + THERE_PS);
}

static void
queues_make_acks_late(void **state)
{
	begin("none");
	leave_all(4);
	acknowledge(3, s.sent_ps[3] + RTT_PS + 5 * PS_PER_US);
	ends_with((uint64_t[LEDGER_ENTRIES]){ [LEDGER_LATE] = 5 * PS_PER_US });
}

static void
other_frames_of_the_nic_go_first(void **state)
{
	begin("none");
	leave(0);
	now_ps += 2 * PS_PER_US;
	leave_all(3);
	acknowledge(3, s.sent_ps[3] + RTT_PS);
	ends_with((uint64_t[LEDGER_ENTRIES]){ [LEDGER_BEHIND] = 2 * PS_PER_US });
}

/* At a quarter of the line's rate, frames are three of their lengths apart; the wait for the NIC begins behind that. */
static void
congestion_control_paces(void **state)
{
	begin("none");
	s.cc.rate_bps /= 4;
	rc_send_congested(&s, &params, now_ps);
	leave(0);
	now_ps = s.next_ps;
	leave(0);
	now_ps = s.next_ps + PS_PER_US;
	leave(0);
	now_ps = s.next_ps;
	leave(0);
	acknowledge(3, s.sent_ps[3] + RTT_PS);
	uint64_t first_ps = units_serialize_ps(1122, s.line_bps, 0),
		 paced_ps = s.sent_ps[3] - s.sent_ps[0] - PS_PER_US - first_ps - 2 * line_ps;
	ends_with((uint64_t[LEDGER_ENTRIES]){ [LEDGER_PACED] = paced_ps, [LEDGER_BEHIND] = PS_PER_US });
	assert_in_range(paced_ps, 9 * line_ps, 10 * line_ps);
}

/* Two packets in flight: the window is full for the rest of a round trip, and for as long as the ACK is late. */
static void
a_window_is_full_and_acks_are_late(void **state)
{
	uint64_t closed_ps;

	begin("2KiB");
	leave_all(2);
	closed_ps = s.sent_ps[0] + RTT_PS - now_ps;
	acknowledge(0, s.sent_ps[0] + RTT_PS + PS_PER_US);
	leave(now_ps);
	acknowledge(1, now_ps);
	leave(0);
	acknowledge(3, s.sent_ps[3] + RTT_PS);
	ends_with((uint64_t[LEDGER_ENTRIES]){ [LEDGER_WINDOW] = closed_ps, [LEDGER_LATE] = PS_PER_US });
}

/* A control that cuts the window holds the packets back itself. */
static void
a_window_cut_by_congestion_control_paces(void **state)
{
	uint64_t closed_ps, first_ps;

	begin("2KiB");
	s.cc.window_bytes = 1024;
	rc_send_congested(&s, &params, now_ps);
	leave(0);
	first_ps = now_ps - s.sent_ps[0];
	closed_ps = s.sent_ps[0] + RTT_PS - now_ps;
	for (uint32_t psn = 0; psn < 3; psn++) {
		acknowledge(psn, s.sent_ps[psn] + RTT_PS);
		leave(now_ps);
	}
	acknowledge(3, s.sent_ps[3] + RTT_PS);
	ends_with((uint64_t[LEDGER_ENTRIES]){ [LEDGER_PACED] = 3 * closed_ps + 2 * (first_ps - line_ps) });
}

/*
 * The last two frames are sent again: had none been lost, the sender would have waited for their ACKs alone. A packet that
 * was only overtaken is acknowledged sooner than its second copy can be.
 */
static void
frames_are_sent_again_after_a_nak(void **state)
{
	static const struct {
		uint64_t ack_ps; /* behind the second copy of the first of them */
		enum ledger_entry entry;
	} cases[] = { { RTT_PS, LEDGER_NAK }, { RTT_PS / 2, LEDGER_REORDERED } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t expected[LEDGER_ENTRIES] = { 0 }, again_ps;

		begin("none");
		leave_all(4);
		again_ps = s.ledger.until_ps;
		now_ps = s.sent_ps[1] + RTT_PS;
		rc_send_nak(&s, &params, 2, now_ps);
		leave_all(2);
		again_ps = now_ps - again_ps;
		acknowledge(2, s.sent_ps[2] + cases[i].ack_ps);
		acknowledge(3, s.sent_ps[3] + RTT_PS);
		expected[cases[i].entry] = again_ps;
		ends_with(expected);
	}
}

/* A packet that was only overtaken is acknowledged before it is sent again: the last frame alone is. */
static void
overtaken_packets_are_acknowledged_first(void **state)
{
	uint64_t again_ps;

	begin("none");
	leave_all(4);
	again_ps = s.ledger.until_ps;
	now_ps = s.sent_ps[3] + RTT_PS;
	rc_send_nak(&s, &params, 2, now_ps);
	acknowledge(2, now_ps);
	leave_all(1);
	again_ps = now_ps - again_ps;
	acknowledge(3, s.sent_ps[3] + RTT_PS);
	ends_with((uint64_t[LEDGER_ENTRIES]){ [LEDGER_REORDERED] = again_ps });
}

/* A NAK that arrives while a frame leaves makes no one wait: frames sent again cost their time alone. */
static void
an_overtaking_is_seen_while_frames_leave(void **state)
{
	uint64_t again_ps;

	begin("none");
	leave_all(3);
	rc_send_nak(&s, &params, 1, now_ps - line_ps / 2);
	acknowledge(1, now_ps - line_ps / 4);
	again_ps = now_ps = s.ledger.until_ps;
	leave_all(1);
	again_ps = now_ps - again_ps;
	leave_all(1);
	acknowledge(3, s.sent_ps[3] + RTT_PS);
	ends_with((uint64_t[LEDGER_ENTRIES]){ [LEDGER_REORDERED] = again_ps });
}

/* Behind a full window the sender had waited in any case, as long as on an idle path. */
static void
a_full_window_precedes_a_nak(void **state)
{
	uint64_t closed_ps, again_ps;

	begin("2KiB");
	leave_all(2);
	closed_ps = s.sent_ps[0] + RTT_PS - now_ps;
	again_ps = now_ps = s.sent_ps[0] + RTT_PS;
	rc_send_nak(&s, &params, 1, now_ps);
	leave(0);
	again_ps = now_ps - again_ps;
	leave(0);
	closed_ps += s.sent_ps[1] + RTT_PS - now_ps;
	acknowledge(1, s.sent_ps[1] + RTT_PS);
	leave(now_ps);
	acknowledge(3, s.sent_ps[3] + RTT_PS);
	ends_with((uint64_t[LEDGER_ENTRIES]){ [LEDGER_WINDOW] = closed_ps, [LEDGER_NAK] = again_ps });
}

/*
 * The time until the timer and the frames sent again. ACKs sooner than a round trip are of first copies: what was sent
 * again of these went for nothing. Where nothing was lost, the sender waited for a late ACK, as without the timer.
 */
static void
the_sender_stands_until_a_timeout(void **state)
{
	static const struct {
		const char *window;   /* of the frames before the timeout, unless all are sent */
		uint32_t sent, early; /* of these, with an early ACK */
	} cases[] = { { "none", 4, 0 }, { "none", 4, 1 }, { "3KiB", 3, 2 }, { "3KiB", 3, 3 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t expected[LEDGER_ENTRIES] = { 0 }, stands_ps, again_ps;
		uint32_t sent = cases[i].sent, early = cases[i].early;
		bool all = early == sent;

		begin(cases[i].window);
		leave_all(sent);
		stands_ps = s.ledger.until_ps;
		now_ps = rc_send_deadline(&s, &params);
		assert_true(rc_send_timeout(&s, &params, now_ps));
		stands_ps = now_ps - stands_ps;
		again_ps = now_ps;
		leave_all(sent);
		again_ps = now_ps - again_ps;
		expected[LEDGER_EARLY] = (uint64_t)((double)early / (double)sent * (double)again_ps);
		expected[LEDGER_TIMEOUT] = again_ps - expected[LEDGER_EARLY] + (all ? 0 : stands_ps);
		expected[LEDGER_WINDOW] = all ? RTT_PS : 0;
		expected[LEDGER_LATE] = all ? stands_ps - RTT_PS : 0;
		if (early != 0)
			acknowledge(early - 1, s.ledger.until_ps);
		leave_all(4 - sent);
		acknowledge(3, s.sent_ps[3] + RTT_PS);
		ends_with(expected);
	}
}

/* All had been sent, and had arrived: the sender waited for the last ACK, as long as it takes and as it was late. */
static void
all_has_arrived_before_a_timeout(void **state)
{
	uint64_t stands_ps, again_ps, frame_ps;

	begin("none");
	leave_all(4);
	frame_ps = s.ledger.until_ps - s.sent_ps[3];
	stands_ps = s.ledger.until_ps;
	now_ps = rc_send_deadline(&s, &params);
	assert_true(rc_send_timeout(&s, &params, now_ps));
	stands_ps = now_ps - stands_ps;
	again_ps = now_ps;
	leave_all(3);
	again_ps = now_ps - again_ps;
	acknowledge(2, now_ps);
	acknowledge(3, now_ps + line_ps);
	ends_with((uint64_t[LEDGER_ENTRIES]){
		[LEDGER_EARLY] = again_ps, [LEDGER_LATE] = stands_ps - (RTT_PS - frame_ps) + line_ps });
	assert_int_equal(sent_times.ledger_ps[LEDGER_THERE] + sent_times.ledger_ps[LEDGER_BACK], RTT_PS - frame_ps);
}

/* Another message is posted behind one that was sent. */
static void
no_window_is_full_without_one(void **state)
{
	struct ledger copy;

	begin("none");
	leave_all(4);
	now_ps += 2 * RTT_PS;
	copy = s.ledger;
	rc_send_account_idle(&s, &params, &copy, now_ps);
	assert_int_equal(copy.ps[LEDGER_WINDOW], 0);
	assert_int_equal(copy.ps[LEDGER_BACK], BACK_PS);
	assert_int_equal(copy.until_ps, now_ps);
	teardown(NULL);
}

static void
a_receiver_is_not_ready(void **state)
{
	uint64_t waits_ps;

	begin("none");
	leave_all(4);
	now_ps = s.sent_ps[0] + RTT_PS;
	waits_ps = s.ledger.until_ps;
	assert_true(rc_send_rnr(&s, &params, 0, now_ps));
	now_ps = s.next_ps;
	leave_all(4);
	waits_ps = now_ps - waits_ps;
	acknowledge(3, s.sent_ps[3] + RTT_PS);
	ends_with((uint64_t[LEDGER_ENTRIES]){ [LEDGER_PEER] = waits_ps });
}

/*
 * The ACK of the first copy arrives while the copy sent again leaves: what was charged beyond the end goes back, from the
 * entry that has it by now, although another loss was seen since it began.
 */
static void
what_was_charged_beyond_the_end_goes_back(void **state)
{
	struct ledger l = { .again = LEDGER_NAK };

	(void)state;
	l.ps[LEDGER_BEHIND] = 36;
	ledger_lost(&l, LEDGER_TIMEOUT, true);
	ledger_sent_again(&l, 247);
	ledger_lost(&l, LEDGER_NAK, true);
	l.ps[LEDGER_NAK] = 3;
	ledger_give_back(l.ps, (enum ledger_entry)l.leaving, 2);
	assert_int_equal(l.ps[LEDGER_TIMEOUT], 245);
	ledger_give_back(l.ps, (enum ledger_entry)l.leaving, 246);
	assert_int_equal(l.ps[LEDGER_TIMEOUT], 0);
	assert_int_equal(l.ps[LEDGER_NAK], 2);
	assert_int_equal(l.ps[LEDGER_BEHIND], 36);

	ledger_sent_again(&l, 10); /* and turns out to be sent for nothing */
	ledger_spurious(&l, LEDGER_REORDERED, 10);
	ledger_give_back(l.ps, (enum ledger_entry)l.leaving, 4);
	assert_int_equal(l.ps[LEDGER_REORDERED], 6);
	assert_int_equal(l.ps[LEDGER_NAK], 2);
}

/* The QP fails, or is asked, now: its message's ledger has the time until now, whatever was under way. */
static void
add_up_to_now(bool failed)
{
	struct rc_post lost;
	struct ledger copy = s.ledger;
	uint64_t sum_ps = 0, acked;

	if (failed) {
		rc_send_fail(&s);
		assert_true(rc_send_flush(&s, &params, now_ps, &lost, &sent_times, &acked));
	} else {
		rc_send_account_idle(&s, &params, &copy, now_ps);
		sent_times = rc_send_times(&s, &params, &copy, now_ps);
	}
	for (uint32_t i = 0; i < LEDGER_ENTRIES; i++)
		sum_ps += sent_times.ledger_ps[i];
	assert_int_equal(sum_ps, now_ps - PS_PER_US);
}

static void
a_frame_still_leaves(void **state)
{
	for (uint32_t failed = 0; failed < 2; failed++) {
		begin("none");
		leave_all(3);
		now_ps -= line_ps / 2;
		add_up_to_now(failed);
		teardown(NULL);
	}
}

/* Retries are spent, or the receiver refuses the message, while its sender waits for ACKs. */
static void
acks_are_missing(void **state)
{
	for (uint32_t failed = 0; failed < 2; failed++) {
		begin("none");
		leave_all(4);
		now_ps += 5 * PS_PER_US;
		add_up_to_now(failed);
		teardown(NULL);
	}
}

static void
the_receiver_is_still_not_ready(void **state)
{
	for (uint32_t failed = 0; failed < 2; failed++) {
		begin("none");
		leave_all(4);
		now_ps = s.sent_ps[0] + RTT_PS;
		assert_true(rc_send_rnr(&s, &params, 0, now_ps));
		now_ps += params.rnr_delay_ps / 3;
		add_up_to_now(failed);
		teardown(NULL);
	}
}

UNIT_TEST(ledger)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_idle_path_has_frames_and_the_round_trip),
		cmocka_unit_test(queues_make_acks_late),
		cmocka_unit_test(other_frames_of_the_nic_go_first),
		cmocka_unit_test(congestion_control_paces),
		cmocka_unit_test(a_window_is_full_and_acks_are_late),
		cmocka_unit_test(a_window_cut_by_congestion_control_paces),
		cmocka_unit_test(frames_are_sent_again_after_a_nak),
		cmocka_unit_test(overtaken_packets_are_acknowledged_first),
		cmocka_unit_test(an_overtaking_is_seen_while_frames_leave),
		cmocka_unit_test(a_full_window_precedes_a_nak),
		cmocka_unit_test(the_sender_stands_until_a_timeout),
		cmocka_unit_test(all_has_arrived_before_a_timeout),
		cmocka_unit_test(no_window_is_full_without_one),
		cmocka_unit_test(a_receiver_is_not_ready),
		cmocka_unit_test(what_was_charged_beyond_the_end_goes_back),
		cmocka_unit_test(a_frame_still_leaves),
		cmocka_unit_test(acks_are_missing),
		cmocka_unit_test(the_receiver_is_still_not_ready),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
