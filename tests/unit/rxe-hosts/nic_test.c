/* SPDX-License-Identifier: BSD-3-Clause */
/* The NIC port: PFC, fair turns and who waited for whom, congestion echo, several NICs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "rxe-hosts/roce/cc/algorithms.h"
#include "tests/unit/rxe-hosts/nic_rig.h"
#include "tests/unit/unit.h"

/* A PAUSE or RESUME from host 1's end of NIC 0, applied at host 0 at time_ps of the next window. */
static void
send_pause(bool xoff, uint8_t mask, uint64_t time_ps)
{
	link_send_pause(&rig.links[rig.nnics], rig.window.parity, mask, xoff, time_ps - RIG_DELAY_PS);
}

static void
test_pause_stops_data_after_the_frame_in_flight(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0);

	rig_start(&rig);
	rig_send(&rig, flow, 20 * 1300, 1);
	rig_run(&rig, 1 * PS_PER_US);
	/* 0..9 have started; packet 10 starts at 1070 ns and ends at 1177. */
	send_pause(true, 1 << 3, 1100 * NS);
	rig_run(&rig, 50 * PS_PER_US);
	assert_int_equal(rig.sent[0][PKT_DATA], 11);
	assert_int_equal(rig_nic(0, 0)->telem.epochs.pauses[0].since_ps, 1100 * NS);
	/* Nothing is in flight, but the client looks at the message that cannot continue, once a window. */
	assert_int_equal(rig.hosts[0].node->ops->next_ps(rig.hosts[0].node), 50 * PS_PER_US);
	assert_int_equal(rig.hosts[0].ticks, 50);
	send_pause(false, 1 << 3, 50500 * NS);
	rig_run(&rig, 60 * PS_PER_US);
	assert_int_equal(port_truth_paused_ps(&rig_nic(0, 0)->truth, 60 * PS_PER_US), (50500 - 1100) * NS);
	/* 9 more from 50.5 us. */
	assert_int_equal(rig_wc(&rig, 0, WC_SENT, 0)->time_ps, (50500 + 9 * 107 + 2004) * NS);
	see();
	assert_int_equal(seen.packets[flow], 20);
	assert_int_equal(seen.bytes[flow], 20 * 1348);
	assert_int_equal(seen.paused_packets[flow], 1); /* the one that would have left */
	assert_int_equal(seen.held_ps[flow], (50500 - 1100) * NS);
	assert_int_equal(rig_nic(0, 0)->telem.epochs.open->index, 5);
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

/* ACKs that a NIC sends while its QPs could are counted by whose they are; while these are paused, or have nothing, not. */
static void
test_acks_ahead_of_data_are_counted(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0), back = rig_flow(&rig, 1, 0), key = overtakes_key(back, true);
	const struct epochs *epochs;

	rig_start(&rig);
	epochs = &rig_nic(0, 0)->telem.epochs;
	rig_send(&rig, back, 10 * 1300, 2);
	rig_run(&rig, 5 * PS_PER_US);
	assert_null(epoch_at(epochs, 0)->overtakes);
	rig_send(&rig, flow, 100 * 1300, 1);
	rig_send(&rig, back, 10 * 1300, 3);
	rig_run(&rig, 9 * PS_PER_US);
	assert_non_null(epoch_at(epochs, 0)->overtakes);
	assert_int_equal(epoch_at(epochs, 0)->overtakes->by[key].key, key);
	assert_int_equal(epoch_at(epochs, 0)->overtakes->by[key].packets, 10);
	rig_run(&rig, 10 * PS_PER_US);
	send_pause(true, 1 << 3, 10100 * NS);
	rig_run(&rig, 12 * PS_PER_US);
	rig_send(&rig, back, 10 * 1300, 4);
	rig_run(&rig, 16 * PS_PER_US);
	assert_null(epoch_at(epochs, 1)->overtakes);
}

static void
test_a_pause_stops_each_sender(void **state)
{
	uint32_t early = rig_flow(&rig, 0, 0), late = rig_flow(&rig, 0, 0), after = rig_flow(&rig, 0, 0);

	rig_start(&rig);
	rig_run(&rig, 1 * PS_PER_US);
	send_pause(true, 1 << 3, 1100 * NS);
	rig_run(&rig, 10 * PS_PER_US);
	rig_send(&rig, early, 1300, 1);
	rig_run(&rig, 30 * PS_PER_US);
	rig_send(&rig, late, 1300, 1);
	rig_run(&rig, 50 * PS_PER_US);
	send_pause(false, 1 << 3, 50500 * NS);
	rig_run(&rig, 55 * PS_PER_US);
	rig_send(&rig, after, 1300, 1);
	rig_run(&rig, 70 * PS_PER_US);
	see();
	assert_int_equal(seen.held_ps[early], (50500 - 10000) * NS);
	assert_int_equal(seen.held_ps[late], (50500 - 30000) * NS);
	assert_int_equal(seen.packets[after], 1);
	assert_int_equal(seen.held_ps[after], 0);
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
	see();
	assert_int_equal(seen.ahead[a][b], 10);
	assert_int_equal(seen.ahead[b][a], 9);
	assert_int_equal(seen.depth[a], 10);
	assert_int_equal(seen.depth[b], 9);
	assert_int_equal(seen.depth_max, 1);
}

static void
test_an_arrival_precedes_a_transmission_at_one_instant(void **state)
{
	uint32_t there = rig_flow(&rig, 0, 0), back = rig_flow(&rig, 1, 0);

	rig_start(&rig);
	rig_send(&rig, there, 2000 * 1300, 1);
	rig_run(&rig, 106 * PS_PER_US);
	rig_send(&rig, back, 1300, 2);
	rig_run(&rig, 110 * PS_PER_US);
	/* Arrives at 107107 ns = 1001 x 107, just when a packet of host 0 has left: the ACK goes before the next one. */
	assert_int_equal(rig_wc(&rig, 1, WC_SENT, 0)->time_ps, (107107 + 4 + 1000) * NS);
}

static void
test_a_paced_qp_delays_no_other(void **state)
{
	uint32_t a = rig_flow(&rig, 0, 0), b = rig_flow(&rig, 0, 0);

	rig.params.window_bytes = 1300; /* a: one packet a round trip */
	rig_start(&rig);
	rig_send(&rig, a, 3 * 1300, 1);
	rig_run(&rig, 10 * PS_PER_US);
	rig_send(&rig, b, 3 * 1300, 2);
	rig_run(&rig, 20 * PS_PER_US);
	assert_int_equal(rig_wc(&rig, 0, WC_SENT, 0)->time_ps, 3 * 2111 * NS);
	see();
	assert_int_equal(seen.depth[a] + seen.depth[b], 0);
	assert_int_equal(seen.packets[a] + seen.packets[b], 6);
}

static bool
mark_everything(struct rig *g, uint32_t from, struct pkt *p)
{
	if (p->type == PKT_DATA)
		p->flags |= PKT_CE;
	assert_int_equal(p->prio, p->type == PKT_CNP ? 6 : p->type == PKT_DATA ? 3 : 0);
	return true;
}

static void
with_dcqcn(bool cnp)
{
	struct dcqcn_params own = {
		.g = 1.0 / 256,
		.alpha_interval_ps = PS_PER_US,
		.decrease_interval_ps = 4 * PS_PER_US,
		.increase_timer_ps = 900 * PS_PER_US,
		.ai_bps = 50000000,
		.hai_bps = 100000000,
		.min_rate_bps = 100000000,
		.fast_recovery = 1,
		.echo = cnp ? CC_ECHO_CNP : CC_ECHO_ACK,
		.cnp_interval_ps = 5 * PS_PER_US,
		.cnp_prio = 6,
	};
	struct err err = { "" };

	rig.params.cc = (struct cc_params){ .ops = &cc_dcqcn };
	memcpy(rig.params.cc.own, &own, sizeof(own));
	assert_int_equal(cc_dcqcn.prepare(&rig.params.cc, &err), 0);
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

/* @return how many CNPs answer two flows to one NIC in 21 us, all of whose packets are marked */
static uint64_t
cnps_of_two_flows(enum cnp_scope scope)
{
	struct dcqcn_params *own = (struct dcqcn_params *)rig.params.cc.own;
	struct err err = { "" };
	uint32_t flows[] = { rig_flow(&rig, 0, 0), rig_flow(&rig, 0, 0) };

	with_dcqcn(true);
	own->cnp_scope = scope;
	assert_int_equal(cc_dcqcn.prepare(&rig.params.cc, &err), 0);
	rig_start(&rig);
	rig_send(&rig, flows[0], 10000 * 1300, 1);
	rig_send(&rig, flows[1], 10000 * 1300, 2);
	rig_run(&rig, 21 * PS_PER_US);
	return rig.sent[1][PKT_CNP];
}

static void
test_cnps_are_spaced_by_flow(void **state)
{
	assert_in_range(cnps_of_two_flows(CNP_OF_QP), 6, 8);
}

static void
test_cnps_are_spaced_by_port(void **state)
{
	assert_in_range(cnps_of_two_flows(CNP_OF_PORT), 3, 4);
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
test_nics_are_independent_and_acks_return_where_data_arrived(void **state)
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

static uint32_t
flow_of_class(uint8_t prio)
{
	uint32_t flow = rig_flow(&rig, 0, 0);

	rig.flows[flow].prio = prio;
	return flow;
}

static uint64_t
sent_ps(uint32_t flow)
{
	for (uint32_t i = 0; i < rig.hosts[0].nwcs; i++)
		if (rig.hosts[0].wcs[i].opcode == WC_SENT && rig.hosts[0].wcs[i].flow == flow)
			return rig.hosts[0].wcs[i].time_ps;
	return 0;
}

/* Classes 5 and 6 are strict: 6 first, its two QPs in turn, then 5, and what is left is shared by 3 and 4. */
static void
test_strict_classes_go_first(void **state)
{
	uint32_t shares = flow_of_class(3), strict = flow_of_class(5), first = flow_of_class(6), beside = flow_of_class(6),
		 other = flow_of_class(4);
	uint32_t key = overtakes_key(strict, false);
	const struct epochs *epochs;

	rig.strict = 1 << 5 | 1 << 6;
	rig_start(&rig);
	epochs = &rig_nic(0, 0)->telem.epochs;
	for (uint32_t flow = shares; flow <= other; flow++)
		rig_send(&rig, flow, 10 * 1300, flow);
	rig_run(&rig, 9 * PS_PER_US);
	assert_int_equal(sent_ps(first), (19 * 107 + 2004) * NS);
	assert_int_equal(sent_ps(beside), (20 * 107 + 2004) * NS);
	assert_int_equal(sent_ps(strict), (30 * 107 + 2004) * NS);
	assert_int_equal(sent_ps(other), (49 * 107 + 2004) * NS);
	assert_int_equal(sent_ps(shares), (50 * 107 + 2004) * NS);
	see();
	assert_int_equal(seen.packets[strict], 10);
	assert_int_equal(epoch_at(epochs, 0)->overtakes->by[key % OVERTAKES_SLOTS].key, key);
	assert_int_equal(epoch_at(epochs, 0)->overtakes->by[key % OVERTAKES_SLOTS].packets, 10);
	assert_true(rig_conserves(&rig));
}

static void
test_a_strict_class_that_is_paused_lets_others_go(void **state)
{
	uint32_t shares = flow_of_class(3), strict = flow_of_class(5);

	rig.strict = 1 << 5;
	rig_start(&rig);
	rig_run(&rig, 1 * PS_PER_US);
	send_pause(true, 1 << 5, 1100 * NS);
	rig_run(&rig, 2 * PS_PER_US);
	rig_send(&rig, strict, 5 * 1300, 1);
	rig_send(&rig, shares, 20 * 1300, 2);
	rig_run(&rig, 3 * PS_PER_US);
	send_pause(false, 1 << 5, 3100 * NS);
	rig_run(&rig, 9 * PS_PER_US);
	/* Ten of those that share started by 3.1 us; the eleventh ends at 3.177. */
	assert_int_equal(sent_ps(strict), (2000 + 11 * 107 + 5 * 107 + 2004) * NS);
	assert_int_equal(sent_ps(shares), (2000 + 25 * 107 + 2004) * NS);
}

UNIT_TEST(nic)
{
#define T(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(pause_stops_data_after_the_frame_in_flight),
		T(pause_of_another_class_is_no_matter_and_class_0_never_pauses),
		T(acks_ahead_of_data_are_counted),
		T(a_pause_stops_each_sender),
		T(a_paused_port_spends_no_retries),
		T(two_qps_take_turns_and_wait_for_each_other),
		T(an_arrival_precedes_a_transmission_at_one_instant),
		T(a_paced_qp_delays_no_other),
		T(marked_packets_slow_the_sender_by_acks),
		T(marked_packets_slow_the_sender_by_cnps),
		T(cnps_are_spaced_by_flow),
		T(cnps_are_spaced_by_port),
		T(reset_returns_to_line_rate),
		T(strict_classes_go_first),
		T(a_strict_class_that_is_paused_lets_others_go),
		T(nics_are_independent_and_acks_return_where_data_arrived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
