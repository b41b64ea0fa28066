/* SPDX-License-Identifier: BSD-3-Clause */
/* A host's control packets: notifications, polls, storms; its queues' limits and timers. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "common/wire/record.h"
#include "common/wire/record_rows.h"
#include "tests/unit/rxe-hosts/nic_rig.h"
#include "tests/unit/unit.h"

static void
test_notifications_pass_data(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0), control = rig_flow(&rig, 0, 0);

	rig.flows[control].kind = FLOW_CONTROL;
	rig_start(&rig);
	rig_send(&rig, flow, 100 * 1300, 1);
	rig_run(&rig, 1 * PS_PER_US);
	assert_int_equal(rig_datagram(&rig, control, PKT_NOTIFY, 2), 0);
	rig_run(&rig, 4 * PS_PER_US);
	assert_int_equal(rig.hosts[1].datagram.id, 5);
	assert_int_equal(rig.hosts[1].datagram.arg, 2);
	/* Sent at 1000 ns, while packet 9 leaves until 1070. */
	assert_int_equal(rig.hosts[1].datagram_ps, (1070 + 4 + 1000) * NS);
	assert_int_equal(rig.hosts[0].node->count.control[PKT_NOTIFY].packets, 1);
	assert_int_equal(rig.hosts[0].node->count.control[PKT_NOTIFY].bytes, 60);
}

/*
 * The ping of R-Pingmesh (SIGCOMM 2024): both hosts report when packets left and came in, so that nothing else is
 * measured.
 */
static void
test_pings_report_all_four_times(void **state)
{
	uint32_t there, back;

	rig_flow(&rig, 0, 0);
	there = rig_flow(&rig, 0, 0);
	back = rig_flow(&rig, 1, 0);
	rig_start(&rig);
	rig.hosts[1].answer_on = back;
	rig.hosts[1].dev->ops->post_receive(rig.hosts[1].dev, there, 0, 64);
	rig.hosts[0].dev->ops->post_receive(rig.hosts[0].dev, back, 0, 64);
	assert_int_equal(rig.hosts[0].dev->ops->ud_qpn(rig.hosts[0].dev), 0);
	rig_send(&rig, 0, 100 * 1300, 1); /* the ping has to wait behind a packet of 70 ns */
	rig_run(&rig, 1 * PS_PER_US);
	assert_int_equal(rig_datagram(&rig, there, PKT_UD, 40), 0);
	rig_run(&rig, 6 * PS_PER_US);
	assert_int_equal(rig.hosts[0].departed.wr_id, 40);
	assert_int_equal(rig.hosts[0].departed.flow, there);
	assert_int_equal(rig.hosts[1].datagram.flow, there);
	assert_int_equal(rig.hosts[1].datagram.bytes, 64);
	assert_int_equal(rig.hosts[1].datagram.arg, 40);
	assert_int_equal(rig.hosts[0].datagram.flow, back);
	assert_int_equal(rig.hosts[0].datagram.arg, 41);
	/* One link of 1 us there, and one back. */
	assert_int_equal(rig.hosts[1].datagram_ps - rig.hosts[0].departed.left_ps, 1000 * NS);
	assert_int_equal(rig.hosts[0].datagram_ps - rig.hosts[1].departed.left_ps, 1000 * NS);
	assert_true(rig.hosts[0].departed.left_ps > 1070 * NS);
	assert_true(rig.hosts[1].departed.left_ps >= rig.hosts[1].datagram_ps);
	assert_true(rig_conserves(&rig));
}

static void
test_other_packets_are_no_datagrams(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0);

	rig_start(&rig);
	assert_int_equal(rig_datagram(&rig, flow, PKT_DATA, 0), -ENOTSUP);
	assert_int_equal(rig_datagram(&rig, flow, PKT_ACK, 0), -ENOTSUP);
}

static void
poll_for(uint32_t flow, uint32_t event)
{
	const struct datagram datagram = { .flow = flow, .id = event, .arg = POLL_VICTIM, .type = PKT_POLL };

	assert_int_equal(rig.hosts[0].dev->ops->post_datagram(rig.hosts[0].dev, &datagram), 0);
}

/* The last record of a kind, NULL: none. */
static const void *
last_record(const struct node *node, uint16_t type)
{
	const void *found = NULL;

	for (size_t at = 0; at < node->records.used_bytes;) {
		const struct rec_hdr *hdr = (const void *)(node->records.data + at);

		if (hdr->type == type)
			found = hdr;
		at += hdr->size;
	}
	return found;
}

static const struct rec_poll *
last_poll(const struct node *node)
{
	return last_record(node, REC_POLL);
}

static const struct rec_port_row *
last_port_row(const struct node *node)
{
	return last_record(node, REC_PORT_ROW);
}

static void
test_poll_reports_the_victims_own_port_first(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0);
	const struct rec_poll *poll;

	rig.telemetry[1] = &telemetry;
	rig_start(&rig);
	rig_send(&rig, flow, 100 * 1300, 1);
	rig_run(&rig, 1 * PS_PER_US);
	poll_for(flow, 31);
	poll = last_poll(rig.hosts[0].node);
	assert_int_equal(poll->hdr.event, 31);
	assert_int_equal(poll->in_port, REC_NO_PORT);
	assert_int_equal(poll->out_port, 0);
	assert_int_equal(poll->out_paused, 0);
	assert_int_equal(poll->victim.src_ip, topo_nic_ip(0, 0));
	assert_int_equal(poll->victim.sport, 10000);
	assert_int_equal(last_port_row(rig.hosts[0].node)->hdr.event, 31);
	rig_run(&rig, 4 * PS_PER_US);
	assert_null(last_poll(rig.hosts[1].node)); /* the destination: the path ends, nothing is reported */
	assert_int_equal(rig.hosts[1].node->records.used_bytes, 0);
	assert_int_equal(rig.hosts[0].node->count.reports.unkept_reports, 0);
	assert_int_equal(rig.hosts[0].node->count.control[PKT_POLL].packets, 1);
	assert_true(rig_conserves(&rig));
}

/* A destination that dropped packets says so: nobody else knows. */
static void
test_poll_is_answered_where_packets_were_dropped(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0);
	const struct node *node;

	rig.filter = rig_corrupts_second;
	rig_start(&rig);
	node = rig.hosts[1].node;
	rig_send(&rig, flow, 10 * 1024, 1);
	rig_run(&rig, 10 * PS_PER_US);
	poll_for(flow, 31);
	rig_run(&rig, 20 * PS_PER_US);
	assert_non_null(last_poll(node));
	assert_int_equal(last_poll(node)->out_port, REC_NO_PORT);
	assert_int_equal(last_poll(node)->flags, POLL_VICTIM);
	assert_int_equal(node->records.used_bytes, sizeof(struct rec_poll) + sizeof(struct rec_drop_row));
}

/* Asked for the way of the ACKs, the host where the path ends sends a packet back, once an event, and reports its NIC. */
static void
test_poll_is_sent_back(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0);
	const struct node *node;
	struct datagram datagram = { .flow = flow, .id = 31, .arg = POLL_VICTIM | POLL_ACKS, .type = PKT_POLL };

	rig_start(&rig);
	node = rig.hosts[1].node;
	for (int i = 0; i < 2; i++)
		assert_int_equal(rig.hosts[0].dev->ops->post_datagram(rig.hosts[0].dev, &datagram), 0);
	rig_run(&rig, 10 * PS_PER_US);
	assert_int_equal(last_poll(node)->hdr.event, 31);
	assert_int_equal(last_poll(node)->flags, POLL_VICTIM | POLL_BACK);
	assert_int_equal(last_poll(node)->in_port, REC_NO_PORT);
	assert_int_equal(last_poll(node)->out_port, 0);
	assert_int_equal(node->count.control[PKT_POLL].packets, 1);
	assert_int_equal(node->count.detections, 0);
	assert_int_equal(rig.hosts[0].node->count.control[PKT_POLL].packets, 2);
	assert_true(rig_conserves(&rig));
}

/* Both ends of a flow that lost a packet report it: one sent it again, the other missed it. */
static void
test_both_ends_report_what_was_lost(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0);
	struct datagram datagram = { .flow = flow, .id = 31, .arg = POLL_VICTIM | POLL_ACKS, .type = PKT_POLL };
	const struct rec_passage *row;

	rig.filter = rig_corrupts_second;
	rig_start(&rig);
	rig_send(&rig, flow, 10 * 1300, 1);
	rig_run(&rig, 20 * PS_PER_US);
	assert_int_equal(rig.hosts[0].dev->ops->post_datagram(rig.hosts[0].dev, &datagram), 0);
	row = last_record(rig.hosts[0].node, REC_PASSAGE);
	assert_non_null(row);
	assert_int_equal(row->in_port, REC_NO_PORT);
	assert_int_equal(row->waiting, 0);
	assert_int_equal(row->resent, 9);
	assert_int_equal(row->flow_packets, 10 + 9);
	assert_int_equal(row->naks, 1);
	assert_int_equal(row->timeouts, 0);
	rig_run(&rig, 40 * PS_PER_US);
	row = last_record(rig.hosts[1].node, REC_PASSAGE);
	assert_non_null(row);
	assert_int_equal(row->out_port, REC_NO_PORT);
	assert_int_equal(row->in_frames, 10 + 9); /* damaged ones too */
	assert_int_equal(row->sent_frames, row->in_frames);
	assert_int_equal(row->out_of_sequence, 8);
	assert_int_equal(row->most_missing, 1);
	assert_int_equal(row->naks, 1);
	assert_int_equal(row->duplicates, 0);
	row = last_record(rig.hosts[0].node, REC_PASSAGE); /* it returned */
	assert_int_equal(row->out_port, REC_NO_PORT);
	assert_int_equal(row->sent_frames, row->in_frames);
}

/* Of the second host. */
static void
storm(uint16_t nic, uint8_t prio, bool on, uint64_t now_ps, uint64_t interval_ps)
{
	rig.hosts[1].node->ops->storm(rig.hosts[1].node, nic, prio, on, now_ps, interval_ps);
}

static void
test_poll_from_a_paused_port_traces_pauses(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0);

	rig_start(&rig);
	rig_run(&rig, 1 * PS_PER_US);
	storm(0, 3, true, 1 * PS_PER_US, 10 * PS_PER_US);
	rig_send(&rig, flow, 30 * 1300, 1);
	rig_run(&rig, 20 * PS_PER_US);
	poll_for(flow, 8);
	assert_int_equal(last_poll(rig.hosts[0].node)->out_paused, 1);
	assert_int_equal(last_port_row(rig.hosts[0].node)->queue_packets, 1); /* the packet that cannot leave */
	assert_int_equal(((const struct rec_flow_row *)last_record(rig.hosts[0].node, REC_FLOW_ROW))->flow.sport,
			 10000 + flow);
	rig_stop(&rig);
	/* The other end: the host that pauses reports itself. */
	setup(state);
	rig.telemetry[0] = NULL;
	rig.telemetry[1] = &telemetry;
	flow = rig_flow(&rig, 0, 0);
	rig_start(&rig);
	storm(0, 3, true, 0, 10 * PS_PER_US);
	rig_send(&rig, flow, 30 * 1300, 1);
	rig_run(&rig, 5 * PS_PER_US);
	poll_for(flow, 8);
	rig_run(&rig, 8 * PS_PER_US);
	assert_int_equal(last_poll(rig.hosts[1].node)->flags, POLL_BOTH);
	assert_true(last_port_row(rig.hosts[1].node)->pausing);
}

static void
test_storm_pauses_until_its_one_resume(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0);
	struct embedded_counters sum;

	rig_start(&rig);
	storm(0, 3, true, 0, 10 * PS_PER_US);
	rig_run(&rig, 35 * PS_PER_US);
	rig_send(&rig, flow, 1300, 1);
	rig_run(&rig, 50 * PS_PER_US);
	embedded_sum(rig.hosts[0].node, &sum);
	assert_int_equal(sum.pauses_received, 5); /* sent at 0, 10, .. 40 us */
	assert_int_equal(rig.sent[0][PKT_DATA], 0);
	storm(0, 3, false, 50 * PS_PER_US, 0);
	rig_run(&rig, 70 * PS_PER_US);
	embedded_sum(rig.hosts[0].node, &sum);
	assert_int_equal(sum.pauses_received, 5);
	/* RESUME: 84 B in 6 ns, 1 us. */
	assert_int_equal(port_truth_paused_ps(&rig_nic(0, 0)->truth, 70 * PS_PER_US), 50 * PS_PER_US);
	assert_int_equal(rig_wc(&rig, 0, WC_SENT, 0)->time_ps, (51006 + 2111) * NS);
}

static void
test_queues_report_when_they_are_full(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0), control = rig_flow(&rig, 0, 0), posted = 0;

	rig.flows[control].kind = FLOW_CONTROL;
	rig_start(&rig);
	while (rig_datagram(&rig, flow, PKT_UD, posted) == 0)
		posted++;
	assert_int_equal(posted, 64);
	for (uint32_t i = 0; i < 1030; i++)
		rig_datagram(&rig, control, PKT_NOTIFY, i);
	assert_int_equal(rig.hosts[0].node->count.dropped_packets, 6);
	/* In 1 us 250 of 4 ns leave; as many fit again, behind what is left. */
	rig_run(&rig, 1 * PS_PER_US);
	for (uint32_t i = 0; i < 250; i++)
		rig_datagram(&rig, control, PKT_NOTIFY, 2000 + i);
	assert_int_equal(rig.hosts[0].node->count.dropped_packets, 6);
	rig_run(&rig, 8 * PS_PER_US);
	assert_int_equal(rig.hosts[1].datagram.arg, 2249);
	assert_int_equal(rig.sent[0][PKT_UD], 64);
	assert_true(rig_conserves(&rig));
}

static void
test_timer_and_expected_work(void **state)
{
	rig_flow(&rig, 0, 0);
	rig_start(&rig);
	struct node *node = rig.hosts[0].node;
	struct device *dev = rig.hosts[0].dev;

	dev->ops->set_timer(dev, 2500 * NS);
	assert_int_equal(node->ops->next_ps(node), 2500 * NS);
	rig_run(&rig, 5 * PS_PER_US);
	assert_int_equal(rig.hosts[0].timers, 1);
	assert_int_equal(rig.hosts[0].timer_ps, 2500 * NS);
	assert_int_equal(node->ops->next_ps(node), TIME_NEVER);
	assert_int_equal(rig.hosts[0].ticks, 0); /* nothing outstanding */
	assert_int_equal(node->status, NODE_PASSIVE);
	node->ops->expect_work(node, true);
	rig_run(&rig, 6 * PS_PER_US);
	assert_int_equal(node->status, NODE_RUNNING);
}

/* Windows of real time do not join: what is posted between two of them leaves at the second one's start. */
static void
test_posted_between_windows_leaves_with_the_next(void **state)
{
	rig_defaults(&rig);
	uint32_t flow = rig_flow(&rig, 0, 0);

	rig_start(&rig);
	rig_run(&rig, 1 * PS_PER_US);
	rig_send(&rig, flow, 1024, 1);
	rig.hosts[0].dev->ops->set_timer(rig.hosts[0].dev, 2 * PS_PER_US);
	rig.window.end_ps += 3 * PS_PER_US;
	rig_run(&rig, 7 * PS_PER_US);
	/* 8 + 14 + 20 + 8 + 12 + 16 + 4 + 1024 + 4 + 4 + 12 = 1126 B from 4 us on: RETH and immediate in one packet. */
	assert_int_equal(rig_wc(&rig, 1, WC_RECEIVED, 0)->time_ps, 4000000 + 90080 + 1000000);
	assert_int_equal(rig.hosts[0].timer_ps, 4 * PS_PER_US);
	assert_true(rig_conserves(&rig));
}

UNIT_TEST(host_control)
{
#define T(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(notifications_pass_data),
		T(pings_report_all_four_times),
		T(other_packets_are_no_datagrams),
		T(poll_reports_the_victims_own_port_first),
		T(poll_is_sent_back),
		T(poll_is_answered_where_packets_were_dropped),
		T(both_ends_report_what_was_lost),
		T(poll_from_a_paused_port_traces_pauses),
		T(storm_pauses_until_its_one_resume),
		T(queues_report_when_they_are_full),
		T(timer_and_expected_work),
		T(posted_between_windows_leaves_with_the_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
