/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hosts outside, on a fabric of real switches: exact bytes, flows that nobody planned, hosts that take nothing, PAUSE
 * in every direction, faults, and no frame or buffer lost on the way.
 */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/wire/arp.h"
#include "common/wire/poll.h"
#include "dpswitch/edge/checksum.h"
#include "dpswitch/edge/pfc_frame.h"
#include "tests/unit/external_rig.h"

#define AT_IP 14
#define HOPS 2 /* switches between a and b */

static const char chain[] =
	"topology = { kind = \"explicit\"; rate = \"10Gbps\"; delay = \"20us\"; switches = [ \"S1\", \"S2\" ]; "
	"hosts = [ \"a\", \"b\", \"c\" ]; links = ( \"S1 S2\", \"S1 a\", \"S2 b\", \"S2 c\" ); };";

static const char *const ab[] = { "a", "b" };

static struct external_counters
counters(const struct xrig *x, uint32_t i)
{
	struct external_counters sum;

	external_sum(x->nodes[i], &sum);
	return sum;
}

static uint32_t
ip_of(const struct xrig *x, const char *host)
{
	return topo_nic_ip(topo_find(x->f.topo, host), 0);
}

/* What must be left of a frame after so many switches. */
static void
expect_frame(const struct port_rig_frame *in, const struct port_rig_frame *out, uint8_t hops)
{
	uint8_t *copy = malloc(in->size);
	uint16_t sum;

	assert_int_equal(out->size, in->size);
	memcpy(copy, in->data, in->size);
	copy[AT_IP + 8] -= hops;
	copy[AT_IP + 10] = copy[AT_IP + 11] = 0;
	sum = checksum_fold(checksum_add(0, copy + AT_IP, (copy[AT_IP] & 0xf) * 4u));
	copy[AT_IP + 10] = (uint8_t)(sum >> 8);
	copy[AT_IP + 11] = (uint8_t)sum;
	assert_memory_equal(out->data, copy, in->size);
	free(copy);
}

/* An IPv4 packet of any protocol. @return its size */
static size_t
ipv4(const struct xrig *x, const char *src, const char *dst, uint8_t protocol, uint16_t sport, uint16_t dport,
     uint32_t bytes, uint8_t frame[XRIG_FRAME_BYTES])
{
	struct wire_eth eth = { .type = htobe16(ETH_TYPE_IPV4) };
	struct wire_ipv4 ip = {
		.version_ihl = IPV4_VERSION_IHL,
		.total_bytes = htobe16((uint16_t)(sizeof(ip) + bytes)),
		.ttl = 64,
		.protocol = protocol,
		.src = htobe32(ip_of(x, src)),
		.dst = htobe32(ip_of(x, dst)),
	};
	uint16_t ports[2] = { htobe16(sport), htobe16(dport) };

	topo_nic_mac(topo_find(x->f.topo, src), 0, eth.src);
	topo_nic_mac(topo_find(x->f.topo, dst), 0, eth.dst);
	ip.checksum = htobe16(checksum_fold(checksum_add(0, &ip, sizeof(ip))));
	memset(frame, 0x5a, sizeof(eth) + sizeof(ip) + bytes);
	memcpy(frame, &eth, sizeof(eth));
	memcpy(frame + sizeof(eth), &ip, sizeof(ip));
	memcpy(frame + sizeof(eth) + sizeof(ip), ports, sizeof(ports));
	return sizeof(eth) + sizeof(ip) + bytes;
}

static void
send_data(struct xrig *x, uint32_t port, uint32_t flow, uint32_t frames, uint32_t payload_bytes, struct prng *prng)
{
	uint8_t bytes[XRIG_FRAME_BYTES];

	for (uint32_t i = 0; i < frames; i++) {
		size_t size = xrig_data(x, flow, i, payload_bytes != 0 ? payload_bytes : 1 + (uint32_t)prng_below(prng, 1000),
					prng, bytes);

		port_rig_send(x->ports[port], bytes, (uint32_t)size);
	}
}

static void
frames_come_out_with_their_exact_bytes(void **state)
{
	struct prng prng;
	struct frame f;
	struct xrig x = { 0 };
	uint32_t flow;

	(void)state;
	frig_init(&x.f, chain);
	prng_init(&prng, 1, 0);
	flow = frig_flow(&x.f, "a", "b", 3);
	xrig_start(&x, ab, 2, 8);
	send_data(&x, 0, flow, 2000, 0, &prng);
	xrig_run(&x, 20 * PS_PER_MS);
	assert_int_equal(x.ports[1]->nout, 2000);
	for (uint32_t i = 0; i < 2000; i++) {
		const struct port_rig_frame *out = &x.ports[1]->out[i];

		expect_frame(&x.ports[0]->in[i], out, HOPS);
		assert_int_equal(frame_parse(out->data, out->size, &f), FRAME_OK);
		assert_false(f.corrupt);
		assert_int_equal(f.psn, i);
	}
	assert_int_equal(counters(&x, 0).in_packets, 2000);
	assert_int_equal(counters(&x, 1).out_packets, 2000);
	assert_int_equal(counters(&x, 0).in_bytes, counters(&x, 1).out_bytes);
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
	frig_init(&x.f, chain);
	xrig_start(&x, ab, 2, 8);
	for (uint16_t i = 0; i < 5; i++) {
		size_t size = ipv4(&x, "a", "b", i == 0 ? 1 : i == 1 ? 6 : 17, 1000 + i, 2000, 100, bytes);

		port_rig_send(x.ports[0], bytes, (uint32_t)size);
		port_rig_send(x.ports[0], bytes, (uint32_t)size);
	}
	xrig_run(&x, 5 * PS_PER_MS);
	assert_int_equal(x.ports[1]->nout, 10);
	for (uint32_t i = 0; i < 10; i++)
		expect_frame(&x.ports[0]->in[i], &x.ports[1]->out[i], HOPS);
	edge_sum(x.edge, &sum);
	assert_int_equal(sum.foreign_flows, 5);
	assert_int_equal(sum.bodies, 0);
	assert_int_equal(x.f.flows[1].protocol, 6);
	assert_int_equal(x.f.flows[1].prio, 1);
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
	frig_init(&x.f, chain);
	xrig_start(&x, ab, 2, 2);
	for (uint16_t i = 0; i < 6; i++)
		port_rig_send(x.ports[0], bytes, (uint32_t)ipv4(&x, "a", "b", 17, 1000 + i, 2000, 100, bytes));
	xrig_run(&x, 2 * PS_PER_MS);
	edge_sum(x.edge, &sum);
	assert_int_equal(x.ports[1]->nout, 2);
	assert_int_equal(counters(&x, 0).dropped[EDGE_DROP_NO_SLOT], 4);
	assert_int_equal(sum.foreign_recycled, 0);
	xrig_stop(&x);

	x = (struct xrig){ .idle_ps = 1 };
	frig_init(&x.f, chain);
	xrig_start(&x, ab, 2, 2);
	/* Back to back frames of one flow keep its slot; of six, each takes one that has nothing under way. */
	for (uint16_t i = 0; i < 6; i++) {
		port_rig_send(x.ports[0], bytes, (uint32_t)ipv4(&x, "a", "b", 17, 1000 + i, 2000, 100, bytes));
		port_rig_hold(x.ports[0], (i + 1u) * 1000 * 1000);
	}
	xrig_run(&x, 20 * PS_PER_MS);
	edge_sum(x.edge, &sum);
	assert_int_equal(x.ports[1]->nout, 6);
	assert_int_equal(sum.foreign_flows, 2);
	assert_int_equal(sum.foreign_recycled, 4);
	xrig_stop(&x);
}

static void
answers_belong_to_the_flow_that_runs_the_other_way(void **state)
{
	uint8_t bytes[XRIG_FRAME_BYTES];
	const struct pkt_message message = { .msn = 7 };
	struct pkt p = { .psn = 5, .type = PKT_ACK, .flags = PKT_REVERSE, .ttl = PKT_TTL_INIT, .prio = 0 };
	struct edge_counters sum;
	struct xrig x = { 0 };
	struct frame f;
	uint32_t flow;

	(void)state;
	frig_init(&x.f, chain);
	flow = frig_flow(&x.f, "a", "b", 3);
	xrig_start(&x, ab, 2, 2);
	frame_from_pkt(&f, &p, &x.f.flows[flow], &message, false);
	port_rig_send(x.ports[1], bytes, (uint32_t)frame_build(&f, bytes, sizeof(bytes)));
	xrig_run(&x, 2 * PS_PER_MS);
	assert_int_equal(x.ports[0]->nout, 1);
	expect_frame(&x.ports[1]->in[0], &x.ports[0]->out[0], HOPS);
	edge_sum(x.edge, &sum);
	assert_int_equal(sum.foreign_flows, 0);
	xrig_stop(&x);
}

static void
arp_is_answered_and_noise_is_dropped_by_name(void **state)
{
	uint8_t bytes[XRIG_FRAME_BYTES] = { 0 }, mac[6];
	struct wire_eth eth = { .dst = { 255, 255, 255, 255, 255, 255 }, .type = htobe16(ETH_TYPE_ARP) };
	struct wire_arp arp = {
		.hardware = htobe16(ARP_HARDWARE_ETHERNET),
		.protocol = htobe16(ETH_TYPE_IPV4),
		.hardware_bytes = ETH_ADDR_BYTES,
		.protocol_bytes = 4,
		.operation = htobe16(ARP_REQUEST),
	};
	struct xrig x = { 0 };
	size_t size;

	(void)state;
	frig_init(&x.f, chain);
	xrig_start(&x, ab, 2, 2);
	topo_nic_mac(topo_find(x.f.topo, "a"), 0, eth.src);
	memcpy(arp.sender_mac, eth.src, sizeof(arp.sender_mac));
	arp.sender_ip = htobe32(ip_of(&x, "a"));
	arp.target_ip = htobe32(ip_of(&x, "c"));
	memcpy(bytes, &eth, sizeof(eth));
	memcpy(bytes + sizeof(eth), &arp, sizeof(arp));
	port_rig_send(x.ports[0], bytes, ETH_MIN_BYTES);
	arp.target_ip = htobe32(0x0a000063);
	memcpy(bytes + sizeof(eth), &arp, sizeof(arp));
	port_rig_send(x.ports[0], bytes, ETH_MIN_BYTES); /* nobody */
	arp.target_ip = arp.sender_ip;
	memcpy(bytes + sizeof(eth), &arp, sizeof(arp));
	port_rig_send(x.ports[0], bytes, ETH_MIN_BYTES); /* itself */
	size = ipv4(&x, "a", "b", 17, 1, 2, 100, bytes);
	bytes[0] = 0x33; /* IPv6 multicast's MAC */
	port_rig_send(x.ports[0], bytes, (uint32_t)size);
	size = ipv4(&x, "b", "a", 17, 1, 2, 100, bytes);
	port_rig_send(x.ports[0], bytes, (uint32_t)size); /* b's address */
	size = ipv4(&x, "a", "a", 17, 1, 2, 100, bytes);
	port_rig_send(x.ports[0], bytes, (uint32_t)size);
	size = ipv4(&x, "a", "b", 17, 1, 2, 100, bytes);
	bytes[AT_IP + 9] ^= 1; /* checksum */
	port_rig_send(x.ports[0], bytes, (uint32_t)size);
	size = ipv4(&x, "a", "b", 17, 1, POLL_UDP_PORT, 100, bytes);
	port_rig_send(x.ports[0], bytes, (uint32_t)size);
	memset(bytes, 0, sizeof(bytes));
	port_rig_send(x.ports[0], bytes, XRIG_FRAME_BYTES);
	port_rig_send(x.ports[0], bytes, 10);
	xrig_run(&x, 2 * PS_PER_MS);
	assert_int_equal(x.ports[0]->nout, 1);
	assert_int_equal(x.ports[1]->nout, 0);
	memcpy(&eth, x.ports[0]->out[0].data, sizeof(eth));
	memcpy(&arp, x.ports[0]->out[0].data + sizeof(eth), sizeof(arp));
	topo_nic_mac(topo_find(x.f.topo, "c"), 0, mac);
	assert_memory_equal(arp.sender_mac, mac, 6);
	assert_memory_equal(eth.src, mac, 6);
	assert_int_equal(be32toh(arp.sender_ip), ip_of(&x, "c"));
	assert_int_equal(be16toh(arp.operation), ARP_REPLY);
	topo_nic_mac(topo_find(x.f.topo, "a"), 0, mac);
	assert_memory_equal(eth.dst, mac, 6);
	assert_int_equal(counters(&x, 0).replies, 1);
	assert_int_equal(counters(&x, 0).dropped[EDGE_DROP_ARP], 2);
	assert_int_equal(counters(&x, 0).dropped[EDGE_DROP_MULTICAST], 1);
	assert_int_equal(counters(&x, 0).dropped[EDGE_DROP_SOURCE], 1);
	assert_int_equal(counters(&x, 0).dropped[EDGE_DROP_DESTINATION], 1);
	assert_int_equal(counters(&x, 0).dropped[EDGE_DROP_MALFORMED], 2);
	assert_int_equal(counters(&x, 0).dropped[EDGE_DROP_CONTROL], 1);
	assert_int_equal(counters(&x, 0).dropped[EDGE_DROP_TOO_LONG], 1);
	assert_int_equal(counters(&x, 0).in_packets, 0);
	assert_true(frig_conserves(&x.f));
	xrig_stop(&x);
}

/* b takes nothing for 4 ms: its switch is told to stop, a's frames wait at a, and none is lost. */
static void
a_deaf_host_holds_the_fabric_and_loses_nothing(void **state)
{
	struct external_counters sum;
	struct xrig x = { .hold_bytes = 20000 };
	struct prng prng;
	uint32_t flow;

	(void)state;
	frig_init(&x.f, chain);
	x.f.params.buffer_bytes = 0;
	prng_init(&prng, 2, 0);
	flow = frig_flow(&x.f, "a", "b", 3);
	xrig_start(&x, ab, 2, 2);
	x.ports[1]->deaf_from_ns = 1000 * 1000;
	x.ports[1]->deaf_until_ns = 5000 * 1000;
	x.ports[1]->takes = 3;
	send_data(&x, 0, flow, 6000, 900, &prng);
	xrig_run(&x, 80 * PS_PER_MS);
	sum = counters(&x, 1);
	assert_true(sum.pauses_sent >= 1);
	assert_true(sum.held_max_bytes > 20000);
	assert_int_equal(sum.held_bytes, 0);
	assert_int_equal(x.nodes[1]->status, NODE_RUNNING);
	assert_int_equal(x.ports[1]->nout, 6000);
	for (uint32_t i = 0; i < 6000; i++)
		expect_frame(&x.ports[0]->in[i], &x.ports[1]->out[i], HOPS);
	assert_true(frig_conserves(&x.f));
	xrig_stop(&x);
}

/* A queue builds up behind the deaf host: frames leave with CE, their IP checksum and ICRC right. */
static void
a_marked_frame_is_right_in_every_byte(void **state)
{
	struct xrig x = { .hold_bytes = 20000, .ecn = true };
	uint32_t flow, marked = 0;
	struct prng prng;
	struct frame f;

	(void)state;
	frig_init(&x.f, chain);
	prng_init(&prng, 8, 0);
	flow = frig_flow(&x.f, "a", "b", 3);
	xrig_start(&x, ab, 2, 2);
	x.ports[1]->deaf_until_ns = 5000 * 1000;
	send_data(&x, 0, flow, 4000, 900, &prng);
	xrig_run(&x, 20 * PS_PER_MS);
	assert_int_equal(x.ports[1]->nout, 4000);
	for (uint32_t i = 0; i < 4000; i++) {
		assert_int_equal(frame_parse(x.ports[1]->out[i].data, x.ports[1]->out[i].size, &f), FRAME_OK);
		assert_false(f.corrupt);
		marked += f.ecn == ECN_CE;
	}
	assert_in_range(marked, 10, 3990);
	xrig_stop(&x);
}

/* The same with few mbufs: a's ring holds what has none. */
static void
without_mbufs_frames_wait_at_the_peer(void **state)
{
	struct xrig x = { .mbufs = 63 };
	struct prng prng;
	uint32_t flow;

	(void)state;
	frig_init(&x.f, chain);
	prng_init(&prng, 3, 0);
	flow = frig_flow(&x.f, "a", "b", 3);
	xrig_start(&x, ab, 2, 2);
	x.ports[1]->deaf_until_ns = 2000 * 1000;
	send_data(&x, 0, flow, 1000, 500, &prng);
	xrig_run(&x, 30 * PS_PER_MS);
	assert_int_equal(x.ports[1]->nout, 1000);
	assert_true(x.ports[0]->port.count.rx_starved != 0);
	xrig_stop(&x);
}

static const char storm_at_a[] =
	"faults = ( { kind = \"pfc-storm\"; port = \"S1:2\"; start = \"1ms\"; duration = \"4ms\"; } );";

/* S1 tells a to stop for 4 ms: a's ring is not dequeued beyond a few hundred frames, and what waits is sent after. */
static void
a_pause_holds_the_hosts_own_ring(void **state)
{
	char text[sizeof(chain) + sizeof(storm_at_a)];
	uint64_t asked_last_ns = 0;
	struct xrig x = { 0 };
	struct prng prng;
	uint32_t flow, early = 0;

	(void)state;
	snprintf(text, sizeof(text), "%s%s", chain, storm_at_a);
	frig_init(&x.f, text);
	prng_init(&prng, 4, 0);
	flow = frig_flow(&x.f, "a", "b", 3);
	xrig_start(&x, ab, 2, 2);
	send_data(&x, 0, flow, 6000, 900, &prng);
	xrig_run(&x, 20 * PS_PER_MS);
	for (uint32_t i = 0; i < 6000; i++) {
		uint64_t at_ns = x.ports[0]->received_ns[i];

		early += at_ns < 1500 * 1000;
		assert_false(at_ns > 1500 * 1000 && at_ns < 4980 * 1000);
		asked_last_ns = at_ns;
	}
	assert_true(early > 1000 && early < 2000 && asked_last_ns > 5000 * 1000);
	assert_int_equal(x.ports[1]->nout, 6000);
	assert_true(counters(&x, 0).pauses_received > 30);
	assert_in_range(counters(&x, 0).paused_ps, 3990 * PS_PER_US, 4050 * PS_PER_US);
	assert_true(frig_conserves(&x.f));
	xrig_stop(&x);
}

/* A peer that speaks PFC is told so, again before its quanta run out, and then to go on. */
static void
a_peer_that_speaks_pfc_gets_frames(void **state)
{
	char text[sizeof(chain) + sizeof(storm_at_a)];
	uint64_t quanta_us = 65535ull * 512 / 10000; /* at 10 Gbps */
	struct xrig x = { .pfc = true };
	struct pfc_fields fields;

	(void)state;
	snprintf(text, sizeof(text), "%s%s", chain, storm_at_a);
	frig_init(&x.f, text);
	xrig_start(&x, ab, 2, 2);
	xrig_run(&x, 20 * PS_PER_MS);
	/* 4 ms of storm: one frame, two repetitions at half of 3.36 ms, one to go on. */
	assert_int_equal(x.ports[0]->nout, 2 + 4000 / (quanta_us / 2));
	for (uint32_t i = 0; i < x.ports[0]->nout; i++) {
		const struct port_rig_frame *out = &x.ports[0]->out[i];

		assert_int_equal(pfc_frame_parse(out->data, out->size, &fields), 0);
		assert_int_equal(fields.class_enable, 1 << 3);
		assert_int_equal(fields.quanta[3], i + 1 < x.ports[0]->nout ? PFC_QUANTA_MAX : 0);
	}
	assert_int_equal(counters(&x, 0).pfc_sent, x.ports[0]->nout);
	xrig_stop(&x);
}

/* a pauses S1 by PFC frames: S1's port to it halts until the quanta are over. A peer that is not said to speak it: a drop. */
static void
pfc_from_a_peer_halts_the_switch(void **state)
{
	struct pfc_fields fields = { .class_enable = 1 << 3, .quanta = { [3] = 20000 } }; /* 1.024 ms */
	uint8_t bytes[ETH_MIN_BYTES];

	(void)state;
	pfc_frame_build(&fields, bytes);
	for (int speaks = 0; speaks < 2; speaks++) {
		struct xrig x = { .pfc = speaks != 0 };
		struct prng prng;
		uint32_t flow;

		frig_init(&x.f, chain);
		prng_init(&prng, 5, 0);
		flow = frig_flow(&x.f, "b", "a", 3);
		xrig_start(&x, ab, 2, 2);
		port_rig_send(x.ports[0], bytes, sizeof(bytes));
		send_data(&x, 1, flow, 1000, 900, &prng);
		xrig_run(&x, 20 * PS_PER_MS);
		assert_int_equal(x.ports[0]->nout, 1000);
		assert_int_equal(counters(&x, 0).pfc_received, speaks);
		assert_int_equal(counters(&x, 0).dropped[EDGE_DROP_PFC], !speaks);
		if (speaks)
			assert_in_range(x.ports[0]->first_taken_ns, 1024 * 1000, 1200 * 1000);
		else
			assert_true(x.ports[0]->first_taken_ns < 200 * 1000);
		xrig_stop(&x);
	}
}

/* a's NIC pauses S1 for 2 ms, whatever it has room for; S1 halts its port to a, and goes on after. */
static void
a_storm_at_a_host_outside_halts_the_switch(void **state)
{
	static const char fault[] = "faults = ( { kind = \"pfc-storm\"; port = \"a:1\"; start = \"0us\"; duration = \"2ms\"; } );";
	char text[sizeof(chain) + sizeof(fault)];
	struct xrig x = { 0 };
	struct prng prng;
	uint32_t flow;

	(void)state;
	snprintf(text, sizeof(text), "%s%s", chain, fault);
	frig_init(&x.f, text);
	prng_init(&prng, 9, 0);
	flow = frig_flow(&x.f, "b", "a", 3);
	xrig_start(&x, ab, 2, 2);
	xrig_host_faults(&x);
	send_data(&x, 1, flow, 1000, 900, &prng);
	xrig_run(&x, 20 * PS_PER_MS);
	assert_int_equal(x.ports[0]->nout, 1000);
	assert_in_range(x.ports[0]->first_taken_ns, 2000 * 1000, 2200 * 1000);
	assert_int_equal(external_pausing(x.nodes[0], 0), 0);
	assert_true(frig_conserves(&x.f));
	xrig_stop(&x);
}

/* The cable of a is cut for 2 ms: what crosses meanwhile is lost and counted, what comes after arrives. */
static void
a_cut_cable_loses_and_counts(void **state)
{
	static const char fault[] = "faults = ( { kind = \"link-down\"; port = \"a:1\"; start = \"300us\"; duration = \"2ms\"; } );";
	char text[sizeof(chain) + sizeof(fault)];
	struct edge_counters sum;
	struct fabric_totals totals;
	struct xrig x = { 0 };
	struct prng prng;
	uint32_t flow;

	(void)state;
	snprintf(text, sizeof(text), "%s%s", chain, fault);
	frig_init(&x.f, text);
	prng_init(&prng, 10, 0);
	flow = frig_flow(&x.f, "a", "b", 3);
	xrig_start(&x, ab, 2, 2);
	xrig_host_faults(&x);
	send_data(&x, 0, flow, 6000, 900, &prng);
	xrig_run(&x, 20 * PS_PER_MS);
	fabric_sum(x.f.fabric, &totals);
	edge_sum(x.edge, &sum);
	assert_in_range(totals.lost_packets, 2000, 3500); /* 2 ms of 0.78 us each */
	assert_int_equal(x.ports[1]->nout + totals.lost_packets, 6000);
	assert_int_equal(sum.bodies, 0);
	assert_true(frig_conserves(&x.f));
	xrig_stop(&x);
}

static void
send_control(struct xrig *x, uint32_t flow, uint8_t type, uint32_t psn, uint32_t arg)
{
	const struct pkt p = { .type = type, .psn = psn, .arg = arg, .ttl = PKT_TTL_INIT };
	const struct pkt_message message = { 0 };
	uint8_t bytes[XRIG_FRAME_BYTES];
	struct frame f;

	frame_from_pkt(&f, &p, &x->f.flows[flow], &message, false);
	port_rig_send(x->ports[0], bytes, (uint32_t)frame_build(&f, bytes, sizeof(bytes)));
}

/*
 * The NIC of the victim's host reports itself, then lets the polling packet go; at b the path ends, and b's own kernel never
 * hears of it. A notification is delivered as it was.
 */
static void
polls_are_answered_and_notifications_delivered(void **state)
{
	const struct rec_flow_row *row;
	const struct rec_poll *poll;
	uint32_t flow, control;
	struct xrig x = { 0 };
	struct prng prng;
	struct frame f;

	(void)state;
	frig_init(&x.f, chain);
	prng_init(&prng, 11, 0);
	flow = frig_flow(&x.f, "a", "b", 3);
	control = frig_flow(&x.f, "a", "b", 0);
	x.f.flows[control].kind = FLOW_CONTROL;
	xrig_start(&x, ab, 2, 2);
	send_data(&x, 0, flow, 20, 900, &prng);
	send_control(&x, flow, PKT_POLL, 77, POLL_VICTIM);
	send_control(&x, control, PKT_NOTIFY, 5, 3);
	xrig_run(&x, 5 * PS_PER_MS);
	poll = frig_record(x.nodes[0], REC_POLL, 0);
	assert_non_null(poll);
	assert_int_equal(poll->hdr.event, 77);
	assert_int_equal(poll->out_port, 0);
	row = frig_record(x.nodes[0], REC_FLOW_ROW, 0);
	assert_non_null(row);
	assert_int_equal(row->packets, 20);
	assert_int_equal(row->flow.sport, x.f.flows[flow].sport);
	assert_null(frig_record(x.nodes[1], REC_POLL, 0)); /* it neither pauses nor dropped anything */
	assert_int_equal(x.ports[1]->nout, 21);
	for (uint32_t i = 0, notified = 0; i < 21; i++) {
		assert_int_equal(frame_parse(x.ports[1]->out[i].data, x.ports[1]->out[i].size, &f), FRAME_OK);
		if (f.kind == FRAME_ROCE)
			continue;
		assert_int_equal(f.kind, FRAME_NOTIFY);
		assert_int_equal(f.step, 5);
		assert_int_equal(f.detections, 3);
		assert_int_equal(++notified, 1);
	}
	assert_true(frig_conserves(&x.f));
	xrig_stop(&x);
}

static void
a_corrupt_frame_leaves_with_a_wrong_icrc(void **state)
{
	static const char fault[] = "faults = ( { kind = \"corruption\"; port = \"S1:1\"; rate = 0.5; } );";
	char text[sizeof(chain) + sizeof(fault)];
	uint32_t flow, corrupt = 0;
	struct xrig x = { 0 };
	struct prng prng;
	struct frame f;

	(void)state;
	snprintf(text, sizeof(text), "%s%s", chain, fault);
	frig_init(&x.f, text);
	prng_init(&prng, 6, 0);
	flow = frig_flow(&x.f, "a", "b", 3);
	xrig_start(&x, ab, 2, 2);
	send_data(&x, 0, flow, 400, 0, &prng);
	xrig_run(&x, 10 * PS_PER_MS);
	assert_int_equal(x.ports[1]->nout, 400);
	for (uint32_t i = 0; i < 400; i++) {
		assert_int_equal(frame_parse(x.ports[1]->out[i].data, x.ports[1]->out[i].size, &f), FRAME_OK);
		corrupt += f.corrupt;
		if (!f.corrupt)
			expect_frame(&x.ports[0]->in[i], &x.ports[1]->out[i], HOPS);
	}
	assert_in_range(corrupt, 150, 250);
	assert_int_equal(corrupt, frig_link(&x.f, "S1:1")->corrupted_packets);
	xrig_stop(&x);
}

static void
frames_for_a_host_that_is_gone_are_dropped(void **state)
{
	struct xrig x = { 0 };
	struct prng prng;
	uint32_t flow;

	(void)state;
	frig_init(&x.f, chain);
	prng_init(&prng, 7, 0);
	flow = frig_flow(&x.f, "a", "b", 3);
	xrig_start(&x, ab, 2, 2);
	x.ports[1]->gone = true;
	send_data(&x, 0, flow, 500, 0, &prng);
	xrig_run(&x, 10 * PS_PER_MS);
	assert_int_equal(x.nodes[1]->count.dropped_packets, 500);
	assert_int_equal(counters(&x, 1).pauses_sent, 0);
	assert_true(frig_conserves(&x.f));
	xrig_stop(&x);
}

/*
 * Loss, corruption, cut cables, a blackhole and storms at random while data, other traffic and answers cross, two slow
 * hosts: every frame is delivered, dropped by name, or somewhere; every mbuf is found at the end.
 */
static void
random_faults_leak_nothing(void **state)
{
	static const char *const kinds[] = { "loss", "corruption", "link-down", "pfc-storm", "blackhole" };
	static const char *const places[] = { "S1:1", "S1:2", "S2:1", "S2:2", "a:1", "b:1" };

	(void)state;
	for (uint64_t seed = 1; seed <= 30; seed++) {
		char text[sizeof(chain) + 2048];
		uint8_t bytes[XRIG_FRAME_BYTES];
		struct edge_counters sum;
		struct xrig x = { .hold_bytes = 10000, .mbufs = 511, .max_bodies = 600, .idle_ps = 100 * PS_PER_US };
		uint64_t packets = 0, held_bytes = 0;
		struct fabric_totals totals;
		struct prng prng;
		uint32_t flows[2];
		int n;

		prng_init(&prng, seed, 0);
		n = snprintf(text, sizeof(text), "%s faults = (", chain);
		for (uint32_t i = 0; i < 4; i++) {
			const char *kind = kinds[prng_below(&prng, 5)], *place = places[prng_below(&prng, 6)];
			bool rate = kind == kinds[0] || kind == kinds[1];

			n += snprintf(text + n, sizeof(text) - (size_t)n, "%s { kind = \"%s\"; ", i == 0 ? "" : ",", kind);
			if (kind == kinds[4])
				n += snprintf(text + n, sizeof(text) - (size_t)n, "switch = \"S2\"; dst = \"b\"; ");
			else
				n += snprintf(text + n, sizeof(text) - (size_t)n, "port = \"%s\"; ", place);
			n += snprintf(text + n, sizeof(text) - (size_t)n,
				      "%s start = \"%uus\"; duration = \"%uus\"; }", rate ? "rate = 0.3;" : "",
				      (unsigned int)prng_below(&prng, 3000), 100 + (unsigned int)prng_below(&prng, 2000));
		}
		snprintf(text + n, sizeof(text) - (size_t)n, " );");
		frig_init(&x.f, text);
		flows[0] = frig_flow(&x.f, "a", "b", 3);
		flows[1] = frig_flow(&x.f, "b", "a", 3);
		xrig_start(&x, ab, 2, 4);
		xrig_host_faults(&x);
		for (uint32_t i = 0; i < 2; i++) {
			x.ports[i]->deaf_from_ns = prng_below(&prng, 3000000);
			x.ports[i]->deaf_until_ns = x.ports[i]->deaf_from_ns + prng_below(&prng, 1000000);
			x.ports[i]->takes = 1 + (uint32_t)prng_below(&prng, 32);
			for (uint32_t k = 0; k < 60; k++) {
				send_data(&x, i, flows[i], 40, 0, &prng);
				port_rig_send(x.ports[i], bytes,
					      (uint32_t)ipv4(&x, ab[i], ab[1 - i], 17, (uint16_t)prng_below(&prng, 8), 9,
							     200, bytes));
			}
		}
		/* Ends in the middle of it for odd seeds, long after it for the others. */
		xrig_run(&x, seed & 1 ? 2 * PS_PER_MS + prng_below(&prng, PS_PER_MS) : 40 * PS_PER_MS);
		edge_sum(x.edge, &sum);
		fabric_sum(x.f.fabric, &totals);
		if (!frig_conserves(&x.f))
			fail_msg("seed %u: packets are missing", (unsigned int)seed);
		for (uint32_t i = 0; i < x.f.topo->nnodes; i++)
			x.f.fabric->nodes[i]->ops->held(x.f.fabric->nodes[i], &packets, &held_bytes);
		if (!(seed & 1)) {
			assert_int_equal(x.ports[0]->next, x.ports[0]->nin);
			assert_int_equal(packets + totals.in_flight_packets, 0);
			if (sum.bodies != 0)
				fail_msg("seed %u: %u bodies are left", (unsigned int)seed, (unsigned int)sum.bodies);
			assert_int_equal(port_rig_in_use(x.ports[0]) + port_rig_in_use(x.ports[1]), 0);
		}
		xrig_stop(&x);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_come_out_with_their_exact_bytes),
		cmocka_unit_test(other_traffic_crosses_in_a_lossy_class_of_its_own_flow),
		cmocka_unit_test(spare_slots_are_given_away_when_idle),
		cmocka_unit_test(answers_belong_to_the_flow_that_runs_the_other_way),
		cmocka_unit_test(arp_is_answered_and_noise_is_dropped_by_name),
		cmocka_unit_test(a_deaf_host_holds_the_fabric_and_loses_nothing),
		cmocka_unit_test(a_marked_frame_is_right_in_every_byte),
		cmocka_unit_test(without_mbufs_frames_wait_at_the_peer),
		cmocka_unit_test(a_pause_holds_the_hosts_own_ring),
		cmocka_unit_test(a_peer_that_speaks_pfc_gets_frames),
		cmocka_unit_test(pfc_from_a_peer_halts_the_switch),
		cmocka_unit_test(a_storm_at_a_host_outside_halts_the_switch),
		cmocka_unit_test(a_cut_cable_loses_and_counts),
		cmocka_unit_test(polls_are_answered_and_notifications_delivered),
		cmocka_unit_test(a_corrupt_frame_leaves_with_a_wrong_icrc),
		cmocka_unit_test(frames_for_a_host_that_is_gone_are_dropped),
		cmocka_unit_test(random_faults_leak_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
