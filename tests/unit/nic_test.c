/* SPDX-License-Identifier: BSD-3-Clause */
/* The NIC port: PFC, fair turns and who waited for whom, congestion echo, control packets, polls, storms, several NICs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/host_rig.h"

#define NS PS_PER_NS

static struct rig rig;

/* A telemetry that adds up. */
static struct {
	uint64_t packets[RIG_MAX_FLOWS], bytes[RIG_MAX_FLOWS], depth[RIG_MAX_FLOWS], paused_packets[RIG_MAX_FLOWS];
	uint32_t depth_max;
	uint64_t ahead[RIG_MAX_FLOWS][RIG_MAX_FLOWS];
	uint64_t paused_ps, resumed_ps;
	uint32_t rolls, reports, event, queue_packets, waiting;
	bool paused, pausing;
	uint64_t report_ps;
} seen;

static void
roll(void *ctx, struct node *node, uint64_t now_ps)
{
	seen.rolls++;
}

static void
transmitted(void *ctx, uint16_t nic, const struct nic_batch *batch)
{
	seen.packets[batch->flow] += batch->packets;
	seen.bytes[batch->flow] += batch->bytes;
	seen.depth[batch->flow] += batch->depth_sum;
	seen.paused_packets[batch->flow] += batch->paused_packets;
	seen.depth_max = batch->depth_max > seen.depth_max ? batch->depth_max : seen.depth_max;
}

static void
ahead(void *ctx, uint16_t nic, uint32_t flow, uint32_t other)
{
	seen.ahead[flow][other]++;
}

static void
paused(void *ctx, uint16_t nic, bool now_paused, uint64_t now_ps)
{
	seen.paused = now_paused;
	*(now_paused ? &seen.paused_ps : &seen.resumed_ps) = now_ps;
}

static bool
was_paused(void *ctx, uint16_t nic)
{
	return seen.paused_ps != 0;
}

static void
report(void *ctx, struct node *node, uint16_t nic, const struct nic_present *present, uint32_t event, uint64_t now_ps)
{
	seen.reports++;
	seen.event = event;
	seen.report_ps = now_ps;
	seen.queue_packets = present->queue_packets;
	seen.waiting = present->queue_packets != 0 ? present->waiting[0] : UINT32_MAX;
	seen.pausing = present->pausing;
}

static const struct nic_telemetry telemetry = {
	.epoch_ps = 10 * PS_PER_US, .roll = roll, .transmitted = transmitted, .ahead = ahead, .paused = paused,
	.was_paused = was_paused, .report = report,
};

/* 1300 + 48 B in 107 ns, ACKs of 60 B in 4 ns; telemetry at both hosts. */
static int
setup(void **state)
{
	memset(&seen, 0, sizeof(seen));
	rig_defaults(&rig);
	rig.params.mtu_bytes = 1300;
	rig.params.data_overhead_bytes = 48;
	rig.params.middle_bytes = 1348;
	rig.params.ack_bytes = 60;
	rig.params.control_bytes = 60;
	rig.params.quantum_ps = 1000;
	rig.telemetry[0] = &telemetry;
	return 0;
}

static int
teardown(void **state)
{
	rig_stop(&rig);
	return 0;
}

/* A PAUSE or RESUME from host 1's end of NIC 0, applied at host 0 at time_ps of the next window. */
static void
send_pause(bool xoff, uint8_t mask, uint64_t time_ps)
{
	link_send_pause(&rig.links[rig.nnics], rig.window.parity, mask, xoff, time_ps - RIG_DELAY_PS);
}

static void
test_pause_halts_data_after_the_frame_under_way(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0);

	rig_start(&rig);
	rig_send(&rig, flow, 20 * 1300, 1);
	rig_run(&rig, 1 * PS_PER_US);
	/* 0..9 have started; packet 10 starts at 1070 ns and ends at 1177. */
	send_pause(true, 1 << 3, 1100 * NS);
	rig_run(&rig, 50 * PS_PER_US);
	assert_int_equal(rig.sent[0][PKT_DATA], 11);
	assert_int_equal(seen.paused_ps, 1100 * NS);
	/* Nothing to do before the timeout of the first packet would be due. */
	assert_int_equal(rig.hosts[0].node->ops->next_ps(rig.hosts[0].node), 4 * PS_PER_MS);
	send_pause(false, 1 << 3, 50500 * NS);
	rig_run(&rig, 60 * PS_PER_US);
	assert_int_equal(seen.resumed_ps, 50500 * NS);
	/* 9 more from 50.5 us. */
	assert_int_equal(rig_wc(&rig, 0, WC_SENT, 0)->time_ps, (50500 + 9 * 107 + 2004) * NS);
	assert_int_equal(seen.packets[flow], 20);
	assert_int_equal(seen.bytes[flow], 20 * 1348);
	assert_int_equal(seen.paused_packets[flow], 1); /* the one that would have left */
	assert_int_equal(seen.rolls, 6);
}

static void
test_pause_of_another_class_is_no_matter_and_class_0_never_pauses(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0), back = rig_flow(&rig, 1, 0);

	rig_start(&rig);
	rig_run(&rig, 1 * PS_PER_US);
	send_pause(true, 1 << 4 | 1, 1100 * NS);
	rig_run(&rig, 2 * PS_PER_US);
	rig_send(&rig, flow, 1300, 1);
	rig_send(&rig, back, 1300, 2);
	rig_run(&rig, 6 * PS_PER_US);
	assert_non_null(rig_wc(&rig, 0, WC_SENT, 0));
	assert_non_null(rig_wc(&rig, 1, WC_SENT, 0)); /* host 0's ACKs left */
}

static bool
lose_acks(struct rig *g, uint32_t from, struct pkt *p)
{
	return p->type != PKT_ACK;
}

static void
test_a_paused_port_spends_no_retries(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0);

	rig.params.retry_count = 0;
	rig.filter = lose_acks;
	rig_start(&rig);
	rig_send(&rig, flow, 30 * 1300, 1);
	rig_run(&rig, 1 * PS_PER_US);
	send_pause(true, 1 << 3, 1100 * NS);
	rig_run(&rig, 20 * PS_PER_MS);
	assert_null(rig_wc(&rig, 0, WC_ERROR, 0));
	assert_int_not_equal(rig.hosts[0].node->status, NODE_QP_ERROR);
}

static void
test_two_qps_take_turns_and_wait_for_each_other(void **state)
{
	uint32_t a = rig_flow(&rig, 0, 0), b = rig_flow(&rig, 0, 0);

	rig_start(&rig);
	rig_send(&rig, a, 10 * 1300, 1);
	rig_send(&rig, b, 10 * 1300, 2);
	rig_run(&rig, 6 * PS_PER_US);
	/* b's QP comes first in turn (behind the last sender, QP 0): b a b a ...; the last packet is a's. */
	assert_int_equal(rig_wc(&rig, 0, WC_SENT, 0)->flow, b);
	assert_int_equal(rig_wc(&rig, 0, WC_SENT, 0)->time_ps, (19 * 107 + 2004) * NS);
	assert_int_equal(rig_wc(&rig, 0, WC_SENT, 1)->time_ps, (20 * 107 + 2004) * NS);
	/* Every packet of a had one of b ahead; every one of b but the first had one of a. */
	assert_int_equal(seen.ahead[a][b], 10);
	assert_int_equal(seen.ahead[b][a], 9);
	assert_int_equal(seen.depth[a], 10);
	assert_int_equal(seen.depth[b], 9);
	assert_int_equal(seen.depth_max, 1);
}

static void
test_a_paced_qp_waits_for_nobody(void **state)
{
	uint32_t a = rig_flow(&rig, 0, 0), b = rig_flow(&rig, 0, 0);

	rig.params.window_bytes = 1300; /* a: one packet a round trip */
	rig_start(&rig);
	rig_send(&rig, a, 3 * 1300, 1);
	rig_run(&rig, 10 * PS_PER_US);
	rig_send(&rig, b, 3 * 1300, 2);
	rig_run(&rig, 20 * PS_PER_US);
	assert_int_equal(rig_wc(&rig, 0, WC_SENT, 0)->time_ps, 3 * 2111 * NS);
	assert_int_equal(seen.depth[a] + seen.depth[b], 0);
	assert_int_equal(seen.packets[a] + seen.packets[b], 6);
}

static bool
mark_everything(struct rig *g, uint32_t from, struct pkt *p)
{
	if (p->type == PKT_DATA)
		p->flags |= PKT_CE;
	return true;
}

static void
with_dcqcn(bool cnp)
{
	struct dcqcn_cfg cfg = {
		.enabled = true, .g = 1.0 / 256, .alpha_interval_ps = PS_PER_US, .decrease_interval_ps = 4 * PS_PER_US,
		.increase_timer_ps = 900 * PS_PER_US, .ai_bps = 50000000, .hai_bps = 100000000,
		.min_rate_bps = 100000000, .fast_recovery = 1, .echo = cnp ? DCQCN_ECHO_CNP : DCQCN_ECHO_ACK,
		.cnp_interval_ps = 5 * PS_PER_US,
	};
	struct err err = { "" };

	assert_int_equal(dcqcn_params_init(&rig.params.dcqcn, &cfg, &err), 0);
	rig.filter = mark_everything;
}

static void
test_marked_packets_slow_the_sender_by_acks(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0);

	with_dcqcn(false);
	rig_start(&rig);
	rig_send(&rig, flow, 1000 * 1300, 1);
	rig_run(&rig, 10 * PS_PER_US);
	/* First echo at 2111 ns, so line rate until 6111: packets 0..57 (57 x 107 = 6099). */
	uint32_t at_10us = rig.sent[0][PKT_DATA];

	/* From 6206 on at 100 Gbps x (1 - alpha / 2), alpha = 0.9845..1: about 51 Gbps, 212 ns a packet, until 10 us. */
	assert_in_range(at_10us, 58 + 17, 58 + 19);
	rig_run(&rig, 200 * PS_PER_US);
	uint32_t before = rig.sent[0][PKT_DATA];

	rig_run(&rig, 1200 * PS_PER_US);
	assert_true(rig.sent[0][PKT_DATA] - before < 20); /* 100 Mbps: 108 us a packet */
}

static void
test_marked_packets_slow_the_sender_by_cnps(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0);

	with_dcqcn(true);
	rig_start(&rig);
	rig_send(&rig, flow, 10000 * 1300, 1);
	rig_run(&rig, 21 * PS_PER_US);
	/* CNPs at 1.1, 6.2, 11.3, 16.4 us and so on: one in 5 us of marked arrivals. */
	assert_in_range(rig.sent[1][PKT_CNP], 3, 4);
	struct embedded_counters sum;

	embedded_sum(rig.hosts[1].node, &sum);
	assert_int_equal(sum.cnps_sent, rig.sent[1][PKT_CNP]);
	assert_true(rig.sent[0][PKT_DATA] < 150); /* 21 us at line rate would be 196 */
}

static void
test_reset_returns_to_line_rate(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0);

	with_dcqcn(false);
	rig_start(&rig);
	rig_send(&rig, flow, 200 * 1300, 1);
	rig_run(&rig, 30 * PS_PER_MS);
	uint64_t start_ps = rig.window.end_ps;

	assert_non_null(rig_wc(&rig, 0, WC_SENT, 0));
	rig.filter = NULL;
	rig.hosts[0].dev->ops->reset_qp(rig.hosts[0].dev, flow);
	rig_send(&rig, flow, 10 * 1300, 2);
	rig_run(&rig, start_ps + 10 * PS_PER_US);
	assert_int_equal(rig_wc(&rig, 0, WC_SENT, 1)->time_ps, start_ps + (10 * 107 + 2004) * NS);
}

static void
test_notifications_pass_data(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0), control = rig_flow(&rig, 0, 0);

	rig.flows[control].kind = FLOW_CONTROL;
	rig_start(&rig);
	rig_send(&rig, flow, 100 * 1300, 1);
	rig_run(&rig, 1 * PS_PER_US);
	rig.hosts[0].dev->ops->send_notification(rig.hosts[0].dev, control, 5, 2);
	rig_run(&rig, 4 * PS_PER_US);
	assert_int_equal(rig.hosts[1].notified_step, 5);
	assert_int_equal(rig.hosts[1].notified_detections, 2);
	/* Sent at 1000 ns, while packet 9 leaves until 1070. */
	assert_int_equal(rig.hosts[1].notified_ps, (1070 + 4 + 1000) * NS);
	assert_int_equal(rig.hosts[0].node->count.notification_packets, 1);
	assert_int_equal(rig.hosts[0].node->count.notification_bytes, 60);
}

static const struct rec_poll *
last_poll(const struct node *node)
{
	const struct rec_poll *found = NULL;

	for (size_t at = 0; at < node->records.used_bytes;) {
		const struct rec_hdr *hdr = (const void *)(node->records.data + at);

		if (hdr->type == REC_POLL)
			found = (const void *)hdr;
		at += hdr->size;
	}
	return found;
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
	rig.hosts[0].dev->ops->send_poll(rig.hosts[0].dev, flow, 31, POLL_VICTIM);
	poll = last_poll(rig.hosts[0].node);
	assert_int_equal(poll->hdr.event, 31);
	assert_int_equal(poll->in_port, REC_NO_PORT);
	assert_int_equal(poll->out_port, 0);
	assert_int_equal(poll->out_paused, 0);
	assert_int_equal(poll->victim.src_ip, topo_nic_ip(0, 0));
	assert_int_equal(poll->victim.sport, 10000);
	assert_int_equal(seen.reports, 1);
	assert_int_equal(seen.event, 31);
	rig_run(&rig, 4 * PS_PER_US);
	poll = last_poll(rig.hosts[1].node);
	assert_int_equal(poll->out_port, REC_NO_PORT); /* the destination: the path ends, nothing is reported */
	assert_int_equal(poll->flags, POLL_VICTIM);
	assert_int_equal(seen.reports, 1);
	assert_int_equal(rig.hosts[0].node->count.polling_packets, 1);
	assert_true(rig_conserves(&rig));
}

static void
test_poll_from_a_paused_port_traces_pauses(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0);

	rig_start(&rig);
	rig_run(&rig, 1 * PS_PER_US);
	embedded_storm(rig.hosts[1].node, 0, 1 << 3, 1 * PS_PER_US, 10 * PS_PER_US);
	rig_send(&rig, flow, 30 * 1300, 1);
	rig_run(&rig, 20 * PS_PER_US);
	rig.hosts[0].dev->ops->send_poll(rig.hosts[0].dev, flow, 8, POLL_VICTIM);
	assert_int_equal(last_poll(rig.hosts[0].node)->out_paused, 1);
	assert_int_equal(seen.queue_packets, 1); /* the packet that cannot leave */
	assert_int_equal(seen.waiting, flow);
	rig.hosts[0].node->records.used_bytes = 0;
	memset(&seen, 0, sizeof(seen));
	rig_stop(&rig);
	/* The other end: the host that pauses reports itself. */
	setup(state);
	rig.telemetry[0] = NULL;
	rig.telemetry[1] = &telemetry;
	flow = rig_flow(&rig, 0, 0);
	rig_start(&rig);
	embedded_storm(rig.hosts[1].node, 0, 1 << 3, 0, 10 * PS_PER_US);
	rig_send(&rig, flow, 30 * 1300, 1);
	rig_run(&rig, 5 * PS_PER_US);
	rig.hosts[0].dev->ops->send_poll(rig.hosts[0].dev, flow, 8, POLL_VICTIM);
	rig_run(&rig, 8 * PS_PER_US);
	assert_int_equal(last_poll(rig.hosts[1].node)->flags, POLL_BOTH);
	assert_int_equal(seen.reports, 1);
	assert_true(seen.pausing);
}

static void
test_storm_pauses_until_its_one_resume(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0);
	struct embedded_counters sum;

	rig_start(&rig);
	embedded_storm(rig.hosts[1].node, 0, 1 << 3, 0, 10 * PS_PER_US);
	rig_run(&rig, 35 * PS_PER_US);
	rig_send(&rig, flow, 1300, 1);
	rig_run(&rig, 50 * PS_PER_US);
	embedded_sum(rig.hosts[0].node, &sum);
	assert_int_equal(sum.pauses_received, 5); /* sent at 0, 10, .. 40 us */
	assert_int_equal(rig.sent[0][PKT_DATA], 0);
	embedded_storm(rig.hosts[1].node, 0, 0, 50 * PS_PER_US, 0);
	rig_run(&rig, 70 * PS_PER_US);
	embedded_sum(rig.hosts[0].node, &sum);
	assert_int_equal(sum.pauses_received, 5);
	/* RESUME: 84 B in 6 ns, 1 us. */
	assert_int_equal(seen.resumed_ps, 51006 * NS);
	assert_int_equal(rig_wc(&rig, 0, WC_SENT, 0)->time_ps, (51006 + 2111) * NS);
}

static void
test_nics_are_independent_and_acks_return_where_data_came(void **state)
{
	rig.nnics = 2;
	uint32_t a = rig_flow(&rig, 0, 0), b = rig_flow(&rig, 0, 1), c = rig_flow(&rig, 1, 1);

	rig_start(&rig);
	rig_send(&rig, a, 10 * 1300, 1);
	rig_send(&rig, b, 10 * 1300, 2);
	rig_run(&rig, 1 * PS_PER_US);
	send_pause(true, 1 << 3, 1100 * NS); /* NIC 0 of host 0 */
	rig_send(&rig, a, 1300, 4);
	rig_send(&rig, c, 1300, 3);
	rig_run(&rig, 10 * PS_PER_US);
	/* Both at full rate side by side; then the pause of one port holds that one only. */
	assert_int_equal(rig_wc(&rig, 0, WC_SENT, 0)->time_ps, (10 * 107 + 2004) * NS);
	assert_int_equal(rig_wc(&rig, 0, WC_SENT, 1)->time_ps, (10 * 107 + 2004) * NS);
	assert_int_equal(rig_wc(&rig, 0, WC_SENT, 0)->flow, a); /* at one instant: by port */
	assert_int_equal(rig_wc(&rig, 0, WC_SENT, 1)->flow, b);
	assert_null(rig_wc(&rig, 0, WC_SENT, 3));
	assert_int_equal(rig_wc(&rig, 1, WC_SENT, 0)->flow, c);
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
	embedded_expect_work(node, true);
	rig_run(&rig, 6 * PS_PER_US);
	assert_int_equal(node->status, NODE_RUNNING);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(pause_halts_data_after_the_frame_under_way),
		T(pause_of_another_class_is_no_matter_and_class_0_never_pauses),
		T(a_paused_port_spends_no_retries),
		T(two_qps_take_turns_and_wait_for_each_other),
		T(a_paced_qp_waits_for_nobody),
		T(marked_packets_slow_the_sender_by_acks),
		T(marked_packets_slow_the_sender_by_cnps),
		T(reset_returns_to_line_rate),
		T(notifications_pass_data),
		T(poll_reports_the_victims_own_port_first),
		T(poll_from_a_paused_port_traces_pauses),
		T(storm_pauses_until_its_one_resume),
		T(nics_are_independent_and_acks_return_where_data_came),
		T(timer_and_expected_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
