/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * External hosts: every byte of what crosses, flows that nobody planned, ARP and noise, polling packets and
 * notifications.
 */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/wire/eth.h"
#include "common/wire/poll.h"
#include "common/wire/record.h"
#include "tests/integration/kernel_host_pair.h"
#include "tests/unit/unit.h"

static void
frames_leave_with_their_exact_bytes(void **state)
{
	struct frame f;
	struct xrig x = { 0 };

	(void)state;
	kernel_pair_start(&x, "", 8);
	kernel_pair_send(&x, PAIR_A, 2000, 0);
	xrig_run(&x, 20 * PS_PER_MS);
	kernel_pair_expect_all(&x, PAIR_A, 2000);
	for (uint32_t i = 0; i < 2000; i++) {
		const struct port_rig_frame *out = &x.ports[PAIR_B]->out[i];

		assert_int_equal(frame_parse(out->data, out->size, &f), FRAME_OK);
		assert_false(f.corrupt);
		assert_int_equal(f.psn, i);
	}
	assert_int_equal(kernel_pair_counters(&x, PAIR_A).in_packets, 2000);
	assert_int_equal(kernel_pair_counters(&x, PAIR_B).out_packets, 2000);
	assert_int_equal(kernel_pair_counters(&x, PAIR_A).in_bytes, kernel_pair_counters(&x, PAIR_B).out_bytes);
	assert_true(frig_conserves(&x.f));
	xrig_stop(&x);
}

static void
other_traffic_crosses_in_a_lossy_class_of_its_own_flow(void **state)
{
	uint8_t bytes[XRIG_FRAME_BYTES];
	struct edge_counters sum;
	struct xrig x = { 0 };

	(void)state;
	kernel_pair_start(&x, "", 8);
	for (uint16_t i = 0; i < 5; i++) {
		size_t size = kernel_pair_ipv4(&x, PAIR_A, PAIR_B,
					       i == 0   ? 1
					       : i == 1 ? 6
							: 17,
					       1000 + i, 2000, 100, bytes);

		port_rig_send(x.ports[PAIR_A], bytes, (uint32_t)size);
		port_rig_send(x.ports[PAIR_A], bytes, (uint32_t)size);
	}
	xrig_run(&x, 5 * PS_PER_MS);
	kernel_pair_expect_all(&x, PAIR_A, 10);
	edge_sum(x.edge, &sum);
	assert_int_equal(sum.unplanned_flows, 5);
	assert_int_equal(xrig_in_use(&x), 0);
	assert_int_equal(x.f.flows[PAIR_FLOWS + 1].protocol, 6);
	assert_int_equal(x.f.flows[PAIR_FLOWS + 1].prio, 1);
	assert_true(frig_conserves(&x.f));
	xrig_stop(&x);
}

/* With two spare slots and six flows one after the other, slots go round; with six at once the rest is a named drop. */
static void
spare_slots_are_given_away_when_idle(void **state)
{
	uint8_t bytes[XRIG_FRAME_BYTES];
	struct edge_counters sum;
	struct xrig x = { .idle_ps = PS_PER_MS };

	(void)state;
	kernel_pair_start(&x, "", 2);
	for (uint16_t i = 0; i < 6; i++)
		port_rig_send(x.ports[PAIR_A], bytes,
			      (uint32_t)kernel_pair_ipv4(&x, PAIR_A, PAIR_B, 17, 1000 + i, 2000, 100, bytes));
	xrig_run(&x, 2 * PS_PER_MS);
	edge_sum(x.edge, &sum);
	assert_int_equal(x.ports[PAIR_B]->nout, 2);
	assert_int_equal(kernel_pair_counters(&x, PAIR_A).dropped[EDGE_DROP_NO_SLOT], 4);
	assert_int_equal(sum.unplanned_recycled, 0);
	xrig_stop(&x);

	x = (struct xrig){ .idle_ps = 1 };
	kernel_pair_start(&x, "", 2);
	/* Back to back frames of one flow keep its slot; of six, each takes one that has nothing under way. */
	for (uint16_t i = 0; i < 6; i++) {
		port_rig_send(x.ports[PAIR_A], bytes,
			      (uint32_t)kernel_pair_ipv4(&x, PAIR_A, PAIR_B, 17, 1000 + i, 2000, 100, bytes));
		port_rig_hold(x.ports[PAIR_A], (i + 1u) * 1000 * 1000);
	}
	xrig_run(&x, 20 * PS_PER_MS);
	edge_sum(x.edge, &sum);
	assert_int_equal(x.ports[PAIR_B]->nout, 6);
	assert_int_equal(sum.unplanned_flows, 2);
	assert_int_equal(sum.unplanned_recycled, 4);
	xrig_stop(&x);
}

static void
answers_belong_to_the_reverse_flow(void **state)
{
	uint8_t bytes[XRIG_FRAME_BYTES];
	const struct pkt_message message = { 0 };
	struct pkt p = {
		.psn = 5, .arg = 7, .opcode = ROCE_RC_ACK, .type = PKT_ACK, .flags = PKT_REVERSE, .ttl = PKT_TTL_INIT
	};
	struct edge_counters sum;
	struct xrig x = { 0 };
	struct frame f;

	(void)state;
	kernel_pair_start(&x, "", 2);
	frame_from_pkt(&f, &p, &x.f.flows[PAIR_A], &message, false);
	port_rig_send(x.ports[PAIR_B], bytes, (uint32_t)frame_build(&f, bytes, sizeof(bytes)));
	xrig_run(&x, 2 * PS_PER_MS);
	kernel_pair_expect_all(&x, PAIR_B, 1);
	edge_sum(x.edge, &sum);
	assert_int_equal(sum.unplanned_flows, 0);
	xrig_stop(&x);
}

/* a asks for the MAC of an address. */
static void
send_arp(struct xrig *x, uint32_t target_ip)
{
	uint8_t bytes[ETH_MIN_BYTES] = { 0 };
	struct wire_eth eth = { .dst = { 255, 255, 255, 255, 255, 255 }, .type = htobe16(ETH_TYPE_ARP) };
	struct wire_arp arp = {
		.hardware = htobe16(ARP_HARDWARE_ETHERNET),
		.protocol = htobe16(ETH_TYPE_IPV4),
		.hardware_bytes = ETH_ADDR_BYTES,
		.protocol_bytes = 4,
		.operation = htobe16(ARP_REQUEST),
		.sender_ip = htobe32(kernel_pair_ip(x, "a")),
		.target_ip = htobe32(target_ip),
	};

	topo_nic_mac(topo_find(x->f.topo, "a"), 0, eth.src);
	memcpy(arp.sender_mac, eth.src, sizeof(arp.sender_mac));
	memcpy(bytes, &eth, sizeof(eth));
	memcpy(bytes + sizeof(eth), &arp, sizeof(arp));
	port_rig_send(x->ports[PAIR_A], bytes, sizeof(bytes));
}

/* One of each that the fabric does not take from a; two are malformed. */
static void
send_noise(struct xrig *x)
{
	uint8_t bytes[XRIG_FRAME_BYTES];
	size_t size = kernel_pair_ipv4(x, PAIR_A, PAIR_B, 17, 1, 2, 100, bytes);

	bytes[0] = 0x33; /* IPv6 multicast's MAC */
	port_rig_send(x->ports[PAIR_A], bytes, (uint32_t)size);
	size = kernel_pair_ipv4(x, PAIR_B, PAIR_A, 17, 1, 2, 100, bytes);
	port_rig_send(x->ports[PAIR_A], bytes, (uint32_t)size); /* b's address */
	size = kernel_pair_ipv4(x, PAIR_A, PAIR_A, 17, 1, 2, 100, bytes);
	port_rig_send(x->ports[PAIR_A], bytes, (uint32_t)size);
	size = kernel_pair_ipv4(x, PAIR_A, PAIR_B, 17, 1, 2, 100, bytes);
	bytes[sizeof(struct wire_eth) + 9] ^= 1; /* checksum */
	port_rig_send(x->ports[PAIR_A], bytes, (uint32_t)size);
	size = kernel_pair_ipv4(x, PAIR_A, PAIR_B, 17, 1, POLL_UDP_PORT, 100, bytes);
	port_rig_send(x->ports[PAIR_A], bytes, (uint32_t)size);
	memset(bytes, 0, sizeof(bytes));
	port_rig_send(x->ports[PAIR_A], bytes, XRIG_FRAME_BYTES);
	port_rig_send(x->ports[PAIR_A], bytes, 10);
}

static void
arp_is_answered_and_noise_is_dropped_by_name(void **state)
{
	struct xrig x = { 0 };
	struct wire_eth eth;
	struct wire_arp arp;
	uint8_t mac[6];

	(void)state;
	kernel_pair_start(&x, "", 2);
	send_arp(&x, kernel_pair_ip(&x, "c"));
	send_arp(&x, 0x0a000063);              /* nobody */
	send_arp(&x, kernel_pair_ip(&x, "a")); /* itself */
	send_noise(&x);
	xrig_run(&x, 2 * PS_PER_MS);
	assert_int_equal(x.ports[PAIR_A]->nout, 1);
	assert_int_equal(x.ports[PAIR_B]->nout, 0);
	memcpy(&eth, x.ports[PAIR_A]->out[0].data, sizeof(eth));
	memcpy(&arp, x.ports[PAIR_A]->out[0].data + sizeof(eth), sizeof(arp));
	topo_nic_mac(topo_find(x.f.topo, "c"), 0, mac);
	assert_memory_equal(arp.sender_mac, mac, 6);
	assert_memory_equal(eth.src, mac, 6);
	assert_int_equal(be32toh(arp.sender_ip), kernel_pair_ip(&x, "c"));
	assert_int_equal(be16toh(arp.operation), ARP_REPLY);
	topo_nic_mac(topo_find(x.f.topo, "a"), 0, mac);
	assert_memory_equal(eth.dst, mac, 6);
	assert_int_equal(kernel_pair_counters(&x, PAIR_A).replies, 1);
	assert_int_equal(kernel_pair_counters(&x, PAIR_A).dropped[EDGE_DROP_ARP], 2);
	assert_int_equal(kernel_pair_counters(&x, PAIR_A).dropped[EDGE_DROP_MULTICAST], 1);
	assert_int_equal(kernel_pair_counters(&x, PAIR_A).dropped[EDGE_DROP_SOURCE], 1);
	assert_int_equal(kernel_pair_counters(&x, PAIR_A).dropped[EDGE_DROP_DESTINATION], 1);
	assert_int_equal(kernel_pair_counters(&x, PAIR_A).dropped[EDGE_DROP_MALFORMED], 2);
	assert_int_equal(kernel_pair_counters(&x, PAIR_A).dropped[EDGE_DROP_CONTROL], 1);
	assert_int_equal(kernel_pair_counters(&x, PAIR_A).dropped[EDGE_DROP_TOO_LONG], 1);
	assert_int_equal(kernel_pair_counters(&x, PAIR_A).in_packets, 0);
	assert_true(frig_conserves(&x.f));
	xrig_stop(&x);
}

static void
send_control(struct xrig *x, uint32_t flow, uint8_t type, uint32_t id, uint32_t arg)
{
	const struct pkt p = { .type = type, .id = id, .arg = arg, .ttl = PKT_TTL_INIT };
	const struct pkt_message message = { 0 };
	uint8_t bytes[XRIG_FRAME_BYTES];
	struct frame f;

	frame_from_pkt(&f, &p, &x->f.flows[flow], &message, false);
	port_rig_send(x->ports[PAIR_A], bytes, (uint32_t)frame_build(&f, bytes, sizeof(bytes)));
}

/*
 * The NIC of the victim's host reports itself, then lets the polling packet go; at b the path ends, and b's own kernel
 * never hears of it. A notification is delivered as it was.
 */
static void
polls_are_answered_and_notifications_delivered(void **state)
{
	const struct rec_flow_row *row;
	const struct rec_poll *poll;
	struct xrig x = { 0 };
	struct frame f;

	(void)state;
	kernel_pair_start(&x, "", 2);
	kernel_pair_send(&x, PAIR_A, 20, 900);
	send_control(&x, PAIR_A, PKT_POLL, 77, POLL_VICTIM);
	send_control(&x, PAIR_CONTROL, PKT_NOTIFY, 5, 3);
	xrig_run(&x, 5 * PS_PER_MS);
	poll = frig_record(x.nodes[PAIR_A], REC_POLL, 0);
	assert_non_null(poll);
	assert_int_equal(poll->hdr.event, 77);
	assert_int_equal(poll->out_port, 0);
	row = frig_record(x.nodes[PAIR_A], REC_FLOW_ROW, 0);
	assert_non_null(row);
	assert_int_equal(row->packets, 20);
	assert_int_equal(row->flow.sport, x.f.flows[PAIR_A].sport);
	assert_null(frig_record(x.nodes[PAIR_B], REC_POLL, 0)); /* it neither pauses nor dropped anything */
	assert_int_equal(x.ports[PAIR_B]->nout, 21);
	for (uint32_t i = 0, notified = 0; i < 21; i++) {
		assert_int_equal(frame_parse(x.ports[PAIR_B]->out[i].data, x.ports[PAIR_B]->out[i].size, &f), FRAME_OK);
		if (f.kind == FRAME_ROCE)
			continue;
		assert_int_equal(f.control->type, PKT_NOTIFY);
		assert_int_equal(f.control_fields.id, 5);
		assert_int_equal(f.control_fields.arg, 3);
		assert_int_equal(++notified, 1);
	}
	assert_true(frig_conserves(&x.f));
	xrig_stop(&x);
}

/* What left in the window that has ended left in it, and not before; a poll that was sent back is counted. */
static uint32_t sent_back;

static void
look_at_times(void *ctx, const struct window *window)
{
	const struct xrig *x = (const struct xrig *)((const char *)ctx - offsetof(struct xrig, f));

	for (uint32_t i = 0; i < x->f.topo->nports; i++) {
		const struct link *link = &x->f.fabric->links[i];
		const struct link_lane *lane = &link->lane[window->parity];

		for (uint32_t n = 0; n < lane->npkts; n++) {
			assert_true(lane->pkts[n].time_ps - link->delay_ps >= window->start_ps);
			sent_back += x->f.topo->ports[i].node == x->nodes[PAIR_B]->id && lane->pkts[n].type == PKT_POLL;
		}
	}
}

/* A NIC that is where a victim's path ends sends the poll back when it has arrived, whether it was busy before or not. */
static void
polls_are_sent_back_on_arrival(void **state)
{
	struct xrig x = { 0 };

	(void)state;
	sent_back = 0;
	kernel_pair_start(&x, "", 2);
	x.f.fabric->hooks.sent = look_at_times;
	send_control(&x, PAIR_A, PKT_POLL, 77, POLL_VICTIM | POLL_ACKS);
	kernel_pair_send(&x, PAIR_A, 20, 900);
	send_control(&x, PAIR_A, PKT_POLL, 78, POLL_VICTIM | POLL_ACKS);
	xrig_run(&x, 5 * PS_PER_MS);
	assert_int_equal(sent_back, 2);
	assert_true(frig_conserves(&x.f));
	xrig_stop(&x);
}

/* One whose NIC is full, and paused, sends polls back all the same; it takes no more of its host's frames for that. */
static void
a_full_nic_stays_so_when_polls_turn(void **state)
{
	static const char storm[] =
		"faults = ( { kind = \"pfc-storm\"; port = \"S2:2\"; start = \"1ms\"; duration = \"4ms\"; } );";
	struct xrig x = { 0 };

	(void)state;
	sent_back = 0;
	kernel_pair_start(&x, storm, 2);
	x.f.fabric->hooks.sent = look_at_times;
	for (uint32_t i = 0; i < 200; i++) {
		port_rig_hold(x.ports[PAIR_A], (1500 + 13 * i) * UINT64_C(1000));
		send_control(&x, PAIR_A, PKT_POLL, 100 + i, POLL_VICTIM | POLL_ACKS);
	}
	kernel_pair_send(&x, PAIR_B, 6000, 900);
	xrig_run(&x, 20 * PS_PER_MS);
	assert_in_range(sent_back, 100, 200);
	for (uint32_t i = 0; i < 6000; i++) {
		uint64_t at_ns = x.ports[PAIR_B]->received_ns[i];

		if (at_ns > 1500 * 1000 && at_ns < 4980 * 1000)
			fail_msg("frame %u was taken at %llu ns", i, (unsigned long long)at_ns);
	}
	assert_int_equal(x.ports[PAIR_A]->nout, 6000);
	assert_true(frig_conserves(&x.f));
	xrig_stop(&x);
}

UNIT_TEST(kernel_host_frames)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_leave_with_their_exact_bytes),
		cmocka_unit_test(other_traffic_crosses_in_a_lossy_class_of_its_own_flow),
		cmocka_unit_test(spare_slots_are_given_away_when_idle),
		cmocka_unit_test(answers_belong_to_the_reverse_flow),
		cmocka_unit_test(arp_is_answered_and_noise_is_dropped_by_name),
		cmocka_unit_test(polls_are_answered_and_notifications_delivered),
		cmocka_unit_test(polls_are_sent_back_on_arrival),
		cmocka_unit_test(a_full_nic_stays_so_when_polls_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
