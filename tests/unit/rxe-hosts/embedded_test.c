/* SPDX-License-Identifier: BSD-3-Clause */
/* Two hosts back to back: times to the picosecond, loss and its repair, real payload, receiver not ready. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/rxe-hosts/host_rig.h"
#include "tests/unit/unit.h"

static struct rig rig;

static int
teardown(void **state)
{
	rig_stop(&rig);
	return 0;
}

/* The frames of the reference case: 1300 + 48 B, 60 B ACKs, whole nanoseconds. */
static void
as_reference(void)
{
	rig_defaults(&rig);
	rig.params.mtu_bytes = 1300;
	rig.params.data_overhead_bytes = 48;
	rig.params.middle_bytes = 1348;
	rig.params.ack_bytes = 60;
	rig.params.quantum_ps = 1000;
}

static void
test_message_time_is_exact(void **state)
{
	rig_defaults(&rig);
	uint32_t flow = rig_flow(&rig, 0, 0);

	rig_start(&rig);
	assert_int_equal(rig_send(&rig, flow, 10240, 42), 0);
	rig_run(&rig, 5 * PS_PER_US);
	const struct wc *sent = rig_wc(&rig, 0, WC_SENT, 0), *received = rig_wc(&rig, 1, WC_RECEIVED, 0);

	/* 1122 + 8 x 1106 + 1110 B at 100 Gbps = 886.4 ns, 1 us, 86 B of ACK = 6.88 ns, 1 us. */
	assert_int_equal(received->time_ps, 1886400);
	assert_int_equal(received->bytes, 10240);
	assert_int_equal(received->imm, 42);
	assert_int_equal(sent->time_ps, 2893280);
	assert_int_equal(sent->wr_id, 42);
	assert_int_equal(rig.hosts[0].nrtts, 10);
	assert_int_equal(rig.hosts[0].rtts[0], 89760 + 1000000 + 6880 + 1000000);
	assert_int_equal(rig.hosts[0].rtts[9], 88800 + 1000000 + 6880 + 1000000);
	assert_int_equal(rig.hosts[1].node->count.progress, 10240);
	assert_int_equal(rig.hosts[0].node->status, NODE_PASSIVE);
	assert_true(rig_conserves(&rig));
}

static void
test_reference_frames_are_floored_to_nanoseconds(void **state)
{
	as_reference();
	uint32_t flow = rig_flow(&rig, 0, 0);

	rig_start(&rig);
	rig_send(&rig, flow, 5 * 1300, 1);
	rig_run(&rig, 4 * PS_PER_US);
	assert_int_equal(rig_wc(&rig, 0, WC_SENT, 0)->time_ps, (5 * 107 + 1000 + 4 + 1000) * PS_PER_NS);
}

static void
test_acks_leave_first_and_cost_the_reverse_path(void **state)
{
	as_reference();
	uint32_t there = rig_flow(&rig, 0, 0), back = rig_flow(&rig, 1, 0);

	rig_start(&rig);
	rig_send(&rig, there, 20 * 1300, 1);
	rig_send(&rig, back, 20 * 1300, 2);
	rig_run(&rig, 6 * PS_PER_US);
	/*
	 * 11 packets leave back to back, until 1177 ns; the first arrived at 1107 ns, so an ACK follows, and one before
	 * each of the other 9: the last starts at 1181 + 8 x 111 = 2069, ends 2176, arrives 3176, its ACK at 4180.
	 */
	assert_int_equal(rig_wc(&rig, 0, WC_SENT, 0)->time_ps, 4180 * PS_PER_NS);
	assert_int_equal(rig_wc(&rig, 1, WC_SENT, 0)->time_ps, 4180 * PS_PER_NS);
}

static void
test_window_bounds_the_rate(void **state)
{
	as_reference();
	rig.params.window_bytes = 3900; /* three packets in flight */
	uint32_t flow = rig_flow(&rig, 0, 0);

	rig_start(&rig);
	rig_send(&rig, flow, 9 * 1300, 1);
	rig_run(&rig, 10 * PS_PER_US);
	/* Packet k+3 leaves when the ACK of k is in, 2111 ns after k started. The last: 2 rounds, then the third of 3. */
	assert_int_equal(rig_wc(&rig, 0, WC_SENT, 0)->time_ps, (2 * 2111 + 2 * 107 + 2111) * PS_PER_NS);
}

static void
test_messages_follow_each_other(void **state)
{
	as_reference();
	uint32_t flow = rig_flow(&rig, 0, 0);

	rig_start(&rig);
	for (uint64_t i = 1; i <= 3; i++)
		rig_send(&rig, flow, 1300 * i + 1, i);
	rig_run(&rig, 10 * PS_PER_US);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(rig_wc(&rig, 0, WC_SENT, i)->wr_id, i + 1);
		assert_int_equal(rig_wc(&rig, 1, WC_RECEIVED, i)->imm, i + 1);
		assert_int_equal(rig_wc(&rig, 1, WC_RECEIVED, i)->bytes, 1300 * (i + 1) + 1);
	}
	assert_int_equal(rig.sent[0][PKT_DATA], 2 + 3 + 4);
}

static bool
lose_third_data_packet(struct rig *g, uint32_t from, struct pkt *p)
{
	return p->type != PKT_DATA || ++g->state != 3;
}

static void
fill_region(struct rig_host *host, uint8_t seed)
{
	for (uint32_t i = 0; i < RIG_REGION_BYTES; i++)
		host->region[i] = (uint8_t)(i * 7 + i / 251 + seed);
}

static void
test_loss_is_repaired_and_the_data_is_right(void **state)
{
	rig_defaults(&rig);
	rig.params.real_payload = true;
	rig.filter = lose_third_data_packet;
	uint32_t flow = rig_flow(&rig, 0, 0);

	rig_start(&rig);
	fill_region(&rig.hosts[0], 1);
	struct send_wr wr = { .wr_id = 1, .bytes = 20000, .local_offset = 100, .remote_offset = 3000, .imm = 9 };

	assert_int_equal(rig.hosts[0].dev->ops->post_send(rig.hosts[0].dev, flow, &wr), 0);
	rig_run(&rig, 20 * PS_PER_US);
	const struct wc *sent = rig_wc(&rig, 0, WC_SENT, 0);

	assert_non_null(sent);
	assert_memory_equal(rig.hosts[1].region + 3000, rig.hosts[0].region + 100, 20000);
	assert_int_equal(rig.hosts[1].region[2999] | rig.hosts[1].region[23000], 0);
	assert_int_equal(rig.hosts[1].accepts, 20);
	assert_int_equal(rig.sent[1][PKT_NAK], 1);
	assert_int_equal(sent->retransmits, 18); /* packets 2..19 */
	assert_int_equal(rig.hosts[1].node->count.order_errors, 0);
	assert_true(rig_conserves(&rig));
}

static bool
lose_last_data_packet_once(struct rig *g, uint32_t from, struct pkt *p)
{
	return p->type != PKT_DATA || !(p->flags & PKT_LAST) || g->state++ != 0;
}

static void
test_tail_loss_waits_for_the_timeout(void **state)
{
	as_reference();
	rig.filter = lose_last_data_packet_once;
	uint32_t flow = rig_flow(&rig, 0, 0);

	rig_start(&rig);
	rig_send(&rig, flow, 3 * 1300, 1);
	rig_run(&rig, 5 * PS_PER_MS);
	/* The second ACK is in at 2 x 107 + 2004 ns; 4 ms later the third packet goes again: 107 + 2004 ns. */
	assert_int_equal(rig_wc(&rig, 0, WC_SENT, 0)->time_ps, 4 * PS_PER_MS + (2218 + 2111) * PS_PER_NS);
	assert_int_equal(rig_wc(&rig, 0, WC_SENT, 0)->retransmits, 1);
}

static bool
lose_everything(struct rig *g, uint32_t from, struct pkt *p)
{
	return false;
}

static void
test_retries_exhausted(void **state)
{
	rig_defaults(&rig);
	rig.params.retry_count = 2;
	rig.filter = lose_everything;
	uint32_t flow = rig_flow(&rig, 0, 0);

	rig_start(&rig);
	rig_send(&rig, flow, 1024, 5);
	rig_send(&rig, flow, 1024, 6);
	rig_run(&rig, 27 * PS_PER_MS);
	assert_null(rig_wc(&rig, 0, WC_ERROR, 0));
	assert_int_equal(rig.hosts[0].node->status, NODE_RUNNING);
	rig_run(&rig, 29 * PS_PER_MS); /* 4 + 8 + 16 ms */
	assert_int_equal(rig_wc(&rig, 0, WC_ERROR, 0)->wr_id, 5);
	assert_int_equal(rig_wc(&rig, 0, WC_ERROR, 0)->time_ps, 28 * PS_PER_MS);
	assert_int_equal(rig_wc(&rig, 0, WC_ERROR, 1)->wr_id, 6);
	assert_int_equal(rig.hosts[0].node->status, NODE_QP_ERROR);
	assert_non_null(strstr(rig.hosts[0].node->error, "QP 100"));
	assert_int_not_equal(rig_send(&rig, flow, 1, 7), 0);
	assert_int_equal(rig.sent[0][PKT_DATA], 6); /* two packets, sent three times */
	assert_int_equal(rig.hosts[0].node->ops->next_ps(rig.hosts[0].node), TIME_NEVER);
}

static void
test_ack_coalescing_on_the_wire(void **state)
{
	rig_defaults(&rig);
	rig.params.ack_every = 4;
	uint32_t flow = rig_flow(&rig, 0, 0);

	rig_start(&rig);
	rig_send(&rig, flow, 10 * 1024, 1);
	rig_run(&rig, 6 * PS_PER_US);
	assert_int_equal(rig.sent[1][PKT_ACK], 3); /* after 4, 8, and the last */
	assert_int_equal(rig.hosts[0].nrtts, 3);
	assert_non_null(rig_wc(&rig, 0, WC_SENT, 0));
}

static void
test_corrupt_packets_are_dropped_and_counted(void **state)
{
	rig_defaults(&rig);
	rig.filter = rig_corrupts_second;
	uint32_t flow = rig_flow(&rig, 0, 0);

	rig_start(&rig);
	rig_send(&rig, flow, 4 * 1024, 1);
	rig_run(&rig, 10 * PS_PER_US);
	assert_non_null(rig_wc(&rig, 0, WC_SENT, 0));
	assert_int_equal(rig.hosts[1].node->count.dropped_packets, 1);
	assert_true(rig_conserves(&rig));
}

/* Holds back the ACKs of host 1 until the sender has timed out; its repetitions are then under way. */
static bool
lose_acks_at_first(struct rig *g, uint32_t from, struct pkt *p)
{
	return p->type != PKT_ACK || g->window.end_ps > 4 * PS_PER_MS;
}

static void
test_retransmission_never_reads_a_reused_buffer(void **state)
{
	rig_defaults(&rig);
	rig.params.real_payload = true;
	rig.params.timeout_ps += 850 * PS_PER_NS;
	rig.filter = lose_acks_at_first;
	uint32_t flow = rig_flow(&rig, 0, 0);
	uint8_t before[40 * 1024];

	rig_start(&rig);
	fill_region(&rig.hosts[0], 1);
	memcpy(before, rig.hosts[0].region, sizeof(before));
	rig_send(&rig, flow, sizeof(before), 1);
	/*
	 * All data has arrived, no ACK has. After 4.00085 ms everything goes again; 2.1 us later, shortly before the
	 * window's end, the ACK of the first repetition covers it all, with the repetitions of the last us in flight.
	 */
	rig_run(&rig, 4 * PS_PER_MS + 3 * PS_PER_US);
	assert_non_null(rig_wc(&rig, 0, WC_SENT, 0));
	assert_true(rig_wc(&rig, 0, WC_SENT, 0)->time_ps > 4 * PS_PER_MS);
	assert_memory_equal(rig.hosts[1].region, before, sizeof(before));
	assert_int_equal(rig.hosts[1].accepts, 40);

	struct embedded_counters sum;
	embedded_sum(rig.hosts[1].node, &sum);
	uint64_t duplicates = sum.duplicates;

	assert_true(duplicates + 5 < rig.sent[0][PKT_DATA] - 40); /* repetitions are still in flight */
	/* The buffer is the application's again: it writes into it, and sends it under the same message slots. */
	memset(rig.hosts[0].region, 0xee, RIG_REGION_BYTES);
	for (uint64_t i = 0; i < 64; i++) {
		struct send_wr wr = { .wr_id = 2 + i, .bytes = 16, .remote_offset = 50000 };

		assert_int_equal(rig.hosts[0].dev->ops->post_send(rig.hosts[0].dev, flow, &wr), 0);
	}
	rig_run(&rig, 4 * PS_PER_MS + 20 * PS_PER_US);
	embedded_sum(rig.hosts[1].node, &sum);
	assert_true(sum.duplicates > duplicates + 5);
	assert_memory_equal(rig.hosts[1].region, before, sizeof(before));
	assert_int_equal(rig.hosts[1].accepts, 40 + 64);
	assert_int_equal(rig.hosts[1].region[50000], 0xee);
}

static void
test_send_waits_for_a_posted_receive(void **state)
{
	as_reference();
	uint32_t flow = rig_flow(&rig, 0, 0);

	rig_start(&rig);
	struct send_wr wr = { .wr_id = 1, .bytes = 2600, .imm = 3, .send = true };

	rig.hosts[0].dev->ops->post_send(rig.hosts[0].dev, flow, &wr);
	rig_run(&rig, 10 * PS_PER_US);
	assert_null(rig_wc(&rig, 1, WC_RECEIVED, 0));
	assert_int_equal(rig.sent[1][PKT_NAK], 1);
	assert_int_equal(rig.hosts[1].dev->ops->post_receive(rig.hosts[1].dev, flow, 0, 4096), 0);
	rig_run(&rig, 30 * PS_PER_US);
	/* First packet at 1107, its RNR NAK back at 2111; 20 us later 2 x 107 and the way. */
	assert_int_equal(rig_wc(&rig, 1, WC_RECEIVED, 0)->time_ps, (2111 + 20000 + 214 + 1000) * PS_PER_NS);
	assert_int_equal(rig_wc(&rig, 0, WC_SENT, 0)->retransmits, 2);
}

static void
test_numbers_wrap_on_the_wire(void **state)
{
	rig_defaults(&rig);
	rig.first_psn = 0xfffff0;
	rig.params.real_payload = true;
	rig.filter = lose_third_data_packet;
	rig.state = (uint32_t)-17; /* loses packet 19, behind the wrap */
	uint32_t flow = rig_flow(&rig, 0, 0);

	rig_start(&rig);
	fill_region(&rig.hosts[0], 3);
	rig_send(&rig, flow, 40 * 1024, 1);
	rig_run(&rig, 20 * PS_PER_US);
	assert_non_null(rig_wc(&rig, 0, WC_SENT, 0));
	assert_memory_equal(rig.hosts[1].region, rig.hosts[0].region, 40 * 1024);
}

static void
test_datagrams_need_a_posted_receive(void **state)
{
	rig_defaults(&rig);
	uint32_t flow = rig_flow(&rig, 0, 0);
	struct embedded_counters sum;

	rig_start(&rig);
	assert_int_equal(rig_datagram(&rig, flow, PKT_UD, 7), 0);
	rig_run(&rig, 3 * PS_PER_US);
	embedded_sum(rig.hosts[1].node, &sum);
	assert_int_equal(sum.datagrams_unposted, 1);
	rig.hosts[1].dev->ops->post_receive(rig.hosts[1].dev, flow, 0, 64);
	assert_int_equal(rig_datagram(&rig, flow, PKT_UD, 8), 0);
	rig_run(&rig, 6 * PS_PER_US);
	/* Posted at 3 us: 8 + 14 + 20 + 8 + 12 + 8 + 4 + 64 + 4 + 4 + 12 = 158 B, 12.64 ns. */
	assert_int_equal(rig.hosts[1].datagram_ps, 3000000 + 12640 + 1000000);
	assert_int_equal(rig.hosts[1].datagram.arg, 8);
	assert_int_equal(rig.hosts[1].ndatagrams, 1);
	assert_true(rig_conserves(&rig));
}

static void
test_query_shows_flow_control(void **state)
{
	struct qp_state qp;

	as_reference();
	uint32_t flow = rig_flow(&rig, 0, 0);

	rig_start(&rig);
	rig_send(&rig, flow, 100 * 1300, 1);
	rig_run(&rig, 3 * PS_PER_US);
	rig.hosts[0].dev->ops->query_qp(rig.hosts[0].dev, flow, &qp);
	/* At 3 us: packets 0..28 have started (28 x 107 = 2996); ACKs up to packet 8 are in (2111 + 8 x 107 = 2967). */
	assert_int_equal(qp.outstanding_bytes, 20 * 1300);
	assert_int_equal(qp.acked_bytes, 9 * 1300);
	assert_int_equal(qp.oldest_unacked_ps, 9 * 107 * PS_PER_NS);
	assert_int_equal(qp.last_rtt_ps, 2111 * PS_PER_NS);
	assert_int_equal(rig.hosts[0].ticks, 3);
}

UNIT_TEST(embedded)
{
#define T(name) cmocka_unit_test_teardown(test_##name, teardown)
	const struct CMUnitTest tests[] = {
		T(message_time_is_exact),
		T(reference_frames_are_floored_to_nanoseconds),
		T(acks_leave_first_and_cost_the_reverse_path),
		T(window_bounds_the_rate),
		T(messages_follow_each_other),
		T(loss_is_repaired_and_the_data_is_right),
		T(tail_loss_waits_for_the_timeout),
		T(retries_exhausted),
		T(ack_coalescing_on_the_wire),
		T(corrupt_packets_are_dropped_and_counted),
		T(retransmission_never_reads_a_reused_buffer),
		T(send_waits_for_a_posted_receive),
		T(numbers_wrap_on_the_wire),
		T(datagrams_need_a_posted_receive),
		T(query_shows_flow_control),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
