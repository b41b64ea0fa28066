/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport's pure parts: frame sizes, PSNs, window, go-back-N, responder answers, datagrams, message handles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "rxe-hosts/roce/rc_recv.h"
#include "rxe-hosts/roce/rc_send.h"
#include "rxe-hosts/roce/ud.h"

static struct roce_cfg
plain_cfg(void)
{
	return (struct roce_cfg){
		.where = { "case.cfg", 7 },
		.mtu_bytes = 1024, .control_bytes = 84, .ack_every = 1, .window = "none", .data_prio = 3,
		.timeout_ps = 4 * PS_PER_MS, .timeout_doublings = 1, .retry_count = 2,
		.rnr_delay_ps = 20 * PS_PER_US, .rnr_retry = 1, .nak = true,
	};
}

static struct roce_params params;
static struct msg msgs[MSG_SLOTS];
static struct msg_slab slab = { msgs, MSG_SLOTS };
static struct rc_send s;
static struct rc_recv r;

static void
start(const char *window, uint32_t first_psn)
{
	struct roce_cfg cfg = plain_cfg();
	struct err err = { "" };

	cfg.window = window;
	assert_int_equal(roce_params_init(&params, &cfg, NULL, 0, &err), 0);
	struct rc_send_config config = {
		.flow = 5, .prio = 3, .line_bps = 100000000000ULL, .first_psn = first_psn,
		.window_bytes = params.window_bytes, .msgs = msgs,
	};

	assert_int_equal(rc_send_init(&s, &params, &config), 0);
	rc_recv_init(&r, first_psn);
}

static int
teardown(void **state)
{
	rc_send_fini(&s);
	return 0;
}

static void
post(uint64_t bytes, uint8_t opcode)
{
	struct rc_work work = { .wr_id = bytes, .bytes = bytes, .opcode = opcode, .imm = 77 };

	assert_int_equal(rc_send_post(&s, &params, &work), 0);
}

static struct pkt
next(uint64_t now_ps)
{
	struct pkt p;

	rc_send_advance(&s, &params, now_ps);
	assert_true(rc_send_ready(&s));
	rc_send_next(&s, &params, now_ps, &p);
	return p;
}

static uint32_t
deliver(const struct pkt *p, uint64_t now_ps)
{
	return rc_recv_data(&r, &params, p, &slab, 1, now_ps);
}

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
	post(2500, MSG_WRITE_IMM);
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
	post(2500, MSG_WRITE_IMM);
	for (int i = 0; i < 3; i++) {
		struct pkt p = next(1000 * (uint64_t)i);

		assert_int_equal(deliver(&p, 0), RC_ACCEPTED | RC_ACK | (i == 2 ? RC_COMPLETE : 0));
	}
	assert_int_equal(r.expected, 1);
	assert_int_equal(r.done_bytes, 2500);
	assert_int_equal(r.imm, 77);
	assert_true(rc_send_ack(&s, &params, 0, 9000, &rtt_ps));
	assert_int_equal(rtt_ps, 7000);
	assert_true(rc_send_pop(&s, &done));
	assert_int_equal(done.wr_id, 2500);
	assert_false(rc_send_pop(&s, &done));
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
		post(40 * 1024 + 512, MSG_WRITE_IMM);
		while (rc_send_ready(&s)) {
			struct pkt p = next(0);

			assert_true(deliver(&p, 0) & RC_ACCEPTED);
		}
		assert_true(rc_send_ack(&s, &params, r.expected - 1, 0, &rtt_ps));
		assert_true(rc_send_pop(&s, &done));
	}
	assert_int_equal(r.expected, (0xffffff - 100000 + 5000 * 41) & 0xffffff);
	assert_int_equal(r.duplicates + r.out_of_sequence + r.stale, 0);
}

static void
test_window_counts_payload_in_flight(void **state)
{
	uint64_t rtt_ps;

	start("2049", 0); /* ready while in-flight < 2049: three packets */
	post(10240, MSG_WRITE_IMM);
	assert_int_equal(next(0).flags, 0);
	next(0);
	assert_int_equal(next(0).flags, PKT_ACKREQ); /* nothing follows before an ACK: ask for it */
	assert_false(rc_send_ready(&s));
	rc_send_ack(&s, &params, 0, 0, &rtt_ps);
	assert_true(rc_send_ready(&s));
}

static void
test_nak_goes_back_and_repairs(void **state)
{
	struct rc_post done;
	uint64_t rtt_ps;

	start("none", 0);
	post(5 * 1024, MSG_WRITE_IMM);
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
	assert_true(rc_send_pop(&s, &done));
	assert_int_equal(done.retransmits, 4);
	assert_false(rc_send_nak(&s, &params, 1, 400)); /* stale */
	assert_false(rc_send_outstanding(&s));
}

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
test_ack_past_the_cursor_after_going_back(void **state)
{
	uint64_t rtt_ps;
	struct rc_post done;

	start("none", 0);
	post(2 * 1024, MSG_WRITE_IMM);
	post(3 * 1024, MSG_WRITE_IMM);
	for (int i = 0; i < 5; i++)
		next(0);
	assert_true(rc_send_timeout(&s, &params, 100));
	assert_int_equal(next(100).psn, 0);
	/* The originals had arrived: their ACK reaches into the second message. */
	assert_true(rc_send_ack(&s, &params, 2, 200, &rtt_ps));
	assert_int_equal(rtt_ps, 0);
	assert_true(rc_send_pop(&s, &done));
	assert_false(rc_send_pop(&s, &done));
	assert_int_equal(s.una_byte, 3 * 1024);
	struct pkt p = next(300);

	assert_int_equal(p.psn, 3);
	assert_int_equal(p.arg, 1); /* the second message's handle */
	assert_int_equal(rc_send_acked_bytes(&s, &params), 1024);
	assert_int_equal(rc_send_outstanding_bytes(&s, &params), 2 * 1024);
}

static void
test_timeouts_double_and_then_give_up(void **state)
{
	uint64_t acked;
	struct rc_post lost;

	start("none", 0);
	post(3 * 1024, MSG_WRITE_IMM);
	assert_true(rc_send_deadline(&s, &params) == TIME_NEVER);
	next(1000);
	next(2000);
	assert_int_equal(rc_send_deadline(&s, &params), 1000 + 4 * PS_PER_MS);
	assert_true(rc_send_timeout(&s, &params, 10000));
	assert_int_equal(rc_send_deadline(&s, &params), 10000 + 8 * PS_PER_MS);
	assert_true(rc_send_timeout(&s, &params, 20000));
	assert_int_equal(rc_send_deadline(&s, &params), 20000 + 8 * PS_PER_MS); /* one doubling at most */
	assert_false(rc_send_timeout(&s, &params, 30000)); /* retry_count 2 */
	rc_send_fail(&s, 9);
	assert_false(rc_send_ready(&s));
	assert_true(rc_send_flush(&s, &params, &lost, &acked));
	assert_int_equal(acked, 0);
	assert_int_equal(lost.wr_id, 3 * 1024);
	assert_false(rc_send_flush(&s, &params, &lost, &acked));
	/* Receivers heed the failure from the next window on, in window 9 either way. */
	assert_non_null(msg_find(&slab, 0, 0, 9));
	assert_null(msg_find(&slab, 0, 0, 10));
	struct rc_work work = { .bytes = 1 };

	assert_int_not_equal(rc_send_post(&s, &params, &work), 0);
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
test_slots_run_out_and_come_back(void **state)
{
	struct rc_work work = { .bytes = 1 };
	struct rc_post done;
	uint64_t rtt_ps;

	start("none", 0);
	for (int i = 0; i < MSG_SLOTS; i++)
		post(1, MSG_WRITE_IMM);
	assert_int_not_equal(rc_send_post(&s, &params, &work), 0);
	next(0);
	rc_send_ack(&s, &params, 0, 0, &rtt_ps);
	assert_true(rc_send_pop(&s, &done));
	post(1, MSG_WRITE_IMM);
	assert_int_equal(msgs[0].gen, 1); /* the slot's second message */
	assert_int_equal(msgs[0].first_psn, MSG_SLOTS);
	work.bytes = 0;
	assert_int_not_equal(rc_send_post(&s, &params, &work), 0);
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
		T(frame_sizes_are_those_of_real_rocev2),
		cmocka_unit_test(test_frame_sizes_as_labels),
		T(segments_number_and_size_a_message),
		T(receiver_accepts_across_the_wrap_and_sender_completes),
		T(numbers_run_on_past_2_to_the_24),
		T(window_counts_payload_in_flight),
		T(nak_goes_back_and_repairs),
		T(a_second_gap_gets_a_second_nak),
		T(overtaken_packets_are_reordering_and_repetitions_are_not),
		T(ack_past_the_cursor_after_going_back),
		T(timeouts_double_and_then_give_up),
		T(stale_handles_are_not_followed),
		T(slots_run_out_and_come_back),
		T(ack_coalescing),
		T(ce_is_echoed_in_the_ack_or_by_spaced_cnps),
		T(send_consumes_receives_and_rnr_waits),
		T(datagrams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
