/* SPDX-License-Identifier: BSD-3-Clause */
/* The requester: frame sizes, segmentation, PSNs, window, go-back-N, timeouts, message slots. */
#include <string.h>

#include "tests/unit/rxe-hosts/roce_rig.h"
#include "tests/unit/unit.h"

static void
test_frame_sizes_are_those_of_real_rocev2(void **state)
{
	start("none", 0);
	/* 8 + 14 + 20 + 8 + 12 + 1024 + 4 + 4 + 12 */
	assert_int_equal(roce_data_bytes(&params, 1024, false, false), 1106);
	assert_int_equal(roce_data_bytes(&params, 1024, true, false), 1122);
	assert_int_equal(roce_data_bytes(&params, 1021, false, true), 1110); /* 3 B of padding, ImmDt */
	assert_int_equal(roce_data_bytes(&params, 1, true, true), 106);
	assert_int_equal(params.ack_bytes, 86);
	assert_int_equal(params.cnp_bytes, 98);
	assert_int_equal(roce_ud_bytes(&params, 64), 82 + 8 + 4 + 64);
}

static void
test_frame_sizes_as_labels(void **state)
{
	struct roce_cfg cfg = plain_cfg();
	struct err err = { "" };

	cfg.mtu_bytes = 1300;
	cfg.data_overhead_bytes = 48;
	cfg.ack_bytes = 60;
	assert_int_equal(roce_params_init(&params, &cfg, NULL, 1000, &err), 0);
	assert_int_equal(params.middle_bytes, 1348);
	assert_int_equal(roce_data_bytes(&params, 1300, true, true), 1348);
	assert_int_equal(params.ack_bytes, 60);
	cfg.data_overhead_bytes = 0;
	assert_int_not_equal(roce_params_init(&params, &cfg, NULL, 1000, &err), 0);
	assert_non_null(strstr(err.text, "case.cfg:7"));
	assert_non_null(strstr(err.text, "1300"));
}

static void
test_segments_number_and_size_a_message(void **state)
{
	start("none", 0xfffffe); /* the third packet wraps */
	post(2500, MESSAGE_WRITE);
	struct pkt a = next(0), b = next(s.next_ps), c = next(s.next_ps);

	assert_int_equal(a.psn, 0xfffffe);
	assert_int_equal(a.wire_bytes, 1122);
	assert_int_equal(b.psn, 0xffffff);
	assert_int_equal(b.wire_bytes, 1106);
	assert_int_equal(c.psn, 0);
	assert_int_equal(c.payload_bytes, 452);
	assert_int_equal(c.wire_bytes, 82 + 452 + 4);
	assert_int_equal(a.flags, 0);
	assert_int_equal(c.flags, PKT_LAST | PKT_ACKREQ);
	assert_false(rc_send_ready(&s));
	/* Pacing at line rate: 1122, then 1106 B at 100 Gbps. */
	assert_int_equal(s.sent_ps[0xffffff & s.sent_mask], 89760);
	assert_int_equal(s.sent_ps[0x1000000 & s.sent_mask], 89760 + 88480);
}

static void
test_receiver_accepts_across_the_wrap_and_sender_completes(void **state)
{
	struct rc_post done;
	uint64_t rtt_ps;

	start("none", 0xfffffe);
	post(2500, MESSAGE_WRITE);
	for (int i = 0; i < 3; i++) {
		struct pkt p = next(1000 * (uint64_t)i);

		assert_int_equal(deliver(&p, 0), RC_ACCEPTED | RC_ACK | (i == 2 ? RC_COMPLETE : 0));
	}
	assert_int_equal(r.expected, 1);
	assert_int_equal(r.done_bytes, 2500);
	assert_int_equal(r.imm, 77);
	assert_true(rc_send_ack(&s, &params, 0, 9000, &rtt_ps));
	assert_int_equal(rtt_ps, 7000);
	assert_true(pop(&done));
	assert_int_equal(done.wr_id, 2500);
	assert_false(pop(&done));
	assert_false(rc_send_outstanding(&s));
	assert_int_equal(s.una_byte, 2500);
}

static void
test_numbers_run_on_past_2_to_the_24(void **state)
{
	start("none", 0xffffff - 100000);
	uint64_t rtt_ps;
	struct rc_post done;

	for (int m = 0; m < 5000; m++) { /* 5000 messages of 41 packets, the last of them half full */
		post(40 * 1024 + 512, MESSAGE_WRITE);
		while (rc_send_ready(&s)) {
			struct pkt p = next(0);

			assert_true(deliver(&p, 0) & RC_ACCEPTED);
		}
		assert_true(rc_send_ack(&s, &params, r.expected - 1, 0, &rtt_ps));
		assert_true(pop(&done));
	}
	assert_int_equal(r.expected, (0xffffff - 100000 + 5000 * 41) & 0xffffff);
	assert_int_equal(r.duplicates + r.out_of_sequence + r.stale, 0);
}

static void
test_window_counts_payload_in_flight(void **state)
{
	uint64_t rtt_ps;

	start("2049", 0); /* ready while in-flight < 2049: three packets */
	post(10240, MESSAGE_WRITE);
	assert_int_equal(next(0).flags, 0);
	next(0);
	assert_int_equal(next(0).flags, PKT_ACKREQ); /* nothing follows before an ACK: ask for it */
	assert_false(rc_send_ready(&s));
	rc_send_ack(&s, &params, 0, 0, &rtt_ps);
	assert_true(rc_send_ready(&s));
}

static void
test_going_back_opens_the_window(void **state)
{
	start("2049", 0);
	post(10240, MESSAGE_WRITE);
	for (int i = 0; i < 3; i++)
		next(0);
	assert_false(rc_send_ready(&s));
	assert_true(rc_send_timeout(&s, &params, 0));
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(next(0).psn, i);
	assert_false(rc_send_ready(&s));
}

static void
test_nak_goes_back_and_repairs(void **state)
{
	struct rc_post done;
	uint64_t rtt_ps;

	start("none", 0);
	post(5 * 1024, MESSAGE_WRITE);
	struct pkt p[5];

	for (int i = 0; i < 5; i++)
		p[i] = next((uint64_t)i);
	assert_int_equal(deliver(&p[0], 0), RC_ACCEPTED | RC_ACK);
	assert_int_equal(deliver(&p[2], 0), RC_NAK); /* 1 is lost */
	assert_int_equal(deliver(&p[3], 0), 0);      /* one NAK only */
	assert_int_equal(deliver(&p[4], 0), 0);
	assert_int_equal(r.expected, 1);
	assert_true(rc_send_nak(&s, &params, 1, 100)); /* acknowledges 0 */
	assert_int_equal(s.una, 1);
	for (uint32_t i = 1; i < 5; i++) {
		struct pkt again = next(200);

		assert_int_equal(again.psn, i);
		assert_true(again.flags & PKT_RETRANSMIT);
		assert_true(deliver(&again, 0) & RC_ACCEPTED);
	}
	assert_true(rc_send_ack(&s, &params, 4, 300, &rtt_ps));
	assert_int_equal(rtt_ps, 0); /* sent twice: no sample */
	assert_true(pop(&done));
	assert_int_equal(done.retransmits, 4);
	assert_int_equal(sent_times.naks, 1);
	assert_false(rc_send_nak(&s, &params, 1, 400)); /* stale */
	assert_false(rc_send_outstanding(&s));
}

static void
test_ack_past_the_cursor_after_going_back(void **state)
{
	uint64_t rtt_ps;
	struct rc_post done;

	start("none", 0);
	post(2 * 1024, MESSAGE_WRITE);
	post(3 * 1024, MESSAGE_WRITE);
	for (int i = 0; i < 5; i++)
		next(0);
	assert_true(rc_send_timeout(&s, &params, 100));
	assert_int_equal(next(100).psn, 0);
	/* The originals had arrived: their ACK reaches into the second message. */
	assert_true(rc_send_ack(&s, &params, 2, 200, &rtt_ps));
	assert_int_equal(rtt_ps, 0);
	assert_true(pop(&done));
	assert_false(pop(&done));
	assert_int_equal(s.una_byte, 3 * 1024);
	struct pkt p = next(300);

	assert_int_equal(p.psn, 3);
	assert_int_equal(p.message, 1); /* the second message */
	assert_int_equal(rc_send_acked_bytes(&s, &params), 1024);
	assert_int_equal(rc_send_outstanding_bytes(&s, &params), 2 * 1024);
}

/* What is sent again has the tag of its own message, whatever has been sent since. */
static void
test_packets_have_the_tags_of_their_messages(void **state)
{
	const uint8_t tags[] = { 0x83, 0x83, 0x87, 0, 0x83, 0x83, 0x87, 0 };
	struct rc_work work = { .bytes = 2048, .tag = 0x83 };

	start("none", 0);
	assert_int_equal(rc_send_post(&s, &params, &work), 0);
	work = (struct rc_work){ .bytes = 1024, .tag = 0x87 };
	assert_int_equal(rc_send_post(&s, &params, &work), 0);
	work = (struct rc_work){ .bytes = 1024 };
	assert_int_equal(rc_send_post(&s, &params, &work), 0);
	for (size_t i = 0; i < sizeof(tags); i++) {
		struct pkt p;

		if (i == 4)
			assert_true(rc_send_timeout(&s, &params, s.next_ps));
		p = next(s.next_ps);
		assert_int_equal(p.psn, i % 4);
		assert_int_equal(p.tag, tags[i]);
	}
}

static void
test_timeouts_double_and_then_give_up(void **state)
{
	uint64_t acked;
	struct rc_post lost;

	start("none", 0);
	post(3 * 1024, MESSAGE_WRITE);
	assert_true(rc_send_deadline(&s, &params) == TIME_NEVER);
	next(1000);
	next(2000);
	assert_int_equal(rc_send_deadline(&s, &params), 1000 + 4 * PS_PER_MS);
	assert_true(rc_send_timeout(&s, &params, 10000));
	assert_int_equal(rc_send_deadline(&s, &params), 10000 + 8 * PS_PER_MS);
	assert_true(rc_send_timeout(&s, &params, 20000));
	assert_int_equal(rc_send_deadline(&s, &params), 20000 + 8 * PS_PER_MS); /* one doubling at most */
	assert_false(rc_send_timeout(&s, &params, 30000));                      /* retry_count 2 */
	rc_send_fail(&s);
	assert_false(rc_send_ready(&s));
	assert_true(rc_send_flush(&s, &params, 30000, &lost, &sent_times, &acked));
	assert_int_equal(acked, 0);
	assert_int_equal(lost.wr_id, 3 * 1024);
	assert_false(rc_send_flush(&s, &params, 30000, &lost, &sent_times, &acked));
	struct rc_work work = { .bytes = 1 };

	assert_int_not_equal(rc_send_post(&s, &params, &work), 0);
}

static void
test_slots_run_out_and_return(void **state)
{
	struct rc_work work = { .bytes = 1 };
	struct rc_post done;
	struct pkt first;
	uint64_t rtt_ps;

	start("none", 0);
	for (int i = 0; i < MSG_SLOTS; i++)
		post(1, MESSAGE_WRITE);
	assert_int_not_equal(rc_send_post(&s, &params, &work), 0);
	first = next(0);
	assert_ptr_equal(rc_send_message(&s, &first), rc_messages_at(&s, 0));
	rc_send_ack(&s, &params, 0, 0, &rtt_ps);
	assert_true(pop(&done));
	post(1, MESSAGE_WRITE);
	assert_null(rc_send_message(&s, &first)); /* its slot is the second message's */
	work.bytes = 0;
	assert_int_not_equal(rc_send_post(&s, &params, &work), 0);
}

/* Least and mean of the samples of each message by itself; a packet that was sent twice gives none. */
static void
test_round_trips_of_a_message(void **state)
{
	struct rc_post done;
	uint64_t rtt_ps;

	start("none", 0);
	post(3072, MESSAGE_WRITE);
	post(1024, MESSAGE_WRITE);
	for (uint64_t i = 0; i < 4; i++)
		next(1000 * i);
	rc_send_ack(&s, &params, 0, 9000, &rtt_ps);
	rc_send_ack(&s, &params, 1, 8000, &rtt_ps);
	assert_int_equal(s.rtt.min_ps, 7000);
	assert_int_equal(rtt_sum_mean_ps(&s.rtt), 8000);
	rc_send_ack(&s, &params, 2, 13000, &rtt_ps);
	assert_true(pop(&done));
	assert_int_equal(sent_times.rtt.min_ps, 7000);
	assert_int_equal(sent_times.rtt.count, 3);
	assert_int_equal(rtt_sum_mean_ps(&sent_times.rtt), 9000);
	assert_int_equal(s.rtt.count, 0);
	assert_true(rc_send_timeout(&s, &params, 20000));
	next(20000);
	rc_send_ack(&s, &params, 3, 30000, &rtt_ps);
	assert_int_equal(rtt_ps, 0);
	assert_true(pop(&done));
	assert_int_equal(sent_times.rtt.count, 0);
	assert_int_equal(rtt_sum_mean_ps(&sent_times.rtt), 0);
}

/* Bytes behind the last packet are paid for at the rate that changes meanwhile. */
static void
test_new_rate_applies_to_the_wait(void **state)
{
	uint64_t line_ps, rate_bps, due_ps;

	start("none", 0);
	params.rate_at_once = true;
	line_ps = s.gap_ps;
	rate_bps = s.cc.rate_bps;
	post(8192, MESSAGE_WRITE);
	next(0);
	next(1000000);
	s.cc.rate_bps = rate_bps / 1000;
	rc_send_congested(&s, &params, 1000000 + line_ps / 2); /* half of the packet is paid for */
	assert_in_range(s.next_ps, 1000000 + 500 * line_ps, 1000000 + 501 * line_ps);
	s.cc.due_ps = 2000000;
	assert_int_equal(rc_send_wake_ps(&s, &params, 1500000), 2000000);
	assert_int_equal(rc_send_wake_ps(&s, &params, 2500000), 2500000);
	s.cc.rate_bps = rate_bps;
	due_ps = s.next_ps - 100 * line_ps;
	rc_send_congested(&s, &params, due_ps);
	assert_in_range(s.next_ps, due_ps + line_ps / 10 - 1, due_ps + line_ps / 10 + 1);
	params.rate_at_once = false;
	assert_int_equal(rc_send_wake_ps(&s, &params, 0), s.next_ps);
}

UNIT_TEST(rc_send)
{
#define T(name) cmocka_unit_test_teardown(test_##name, teardown)
	const struct CMUnitTest tests[] = {
		T(frame_sizes_are_those_of_real_rocev2),
		T(new_rate_applies_to_the_wait),
		cmocka_unit_test(test_frame_sizes_as_labels),
		T(segments_number_and_size_a_message),
		T(receiver_accepts_across_the_wrap_and_sender_completes),
		T(numbers_run_on_past_2_to_the_24),
		T(window_counts_payload_in_flight),
		T(going_back_opens_the_window),
		T(nak_goes_back_and_repairs),
		T(ack_past_the_cursor_after_going_back),
		T(packets_have_the_tags_of_their_messages),
		T(timeouts_double_and_then_give_up),
		T(slots_run_out_and_return),
		T(round_trips_of_a_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
