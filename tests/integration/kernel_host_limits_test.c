/* SPDX-License-Identifier: BSD-3-Clause */
/* External hosts at their limits: too slow, gone, asked while they pause; frames that are not theirs or cannot be made. */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/wire/eth.h"
#include "common/wire/poll.h"
#include "common/wire/record.h"
#include "common/wire/record_rows.h"
#include "tests/integration/kernel_host_pair.h"
#include "tests/unit/unit.h"

/* b takes nothing, and its PAUSE travels for too long: what a lossless class loses then fails the run, by name. */
static void
a_lossless_class_that_overruns_is_named(void **state)
{
	static const char slow_pause[] = "faults = ( { kind = \"delay\"; port = \"b:1\"; extra = \"10ms\"; } );";
	struct xrig x = { .hold_bytes = 20000 };

	(void)state;
	kernel_pair_start(&x, slow_pause, 2);
	x.ports[PAIR_B]->deaf_until_ns = 20000 * 1000;
	kernel_pair_send(&x, PAIR_A, 2000, 900);
	xrig_run(&x, 5 * PS_PER_MS);
	assert_int_equal(x.nodes[PAIR_B]->status, NODE_NO_BUFFER);
	assert_non_null(strstr(x.nodes[PAIR_B]->error, "b:1: the host takes no frames and a lossless class overran the "));
	assert_true(x.nodes[PAIR_B]->ops->dropped(x.nodes[PAIR_B], 0, REC_DROP_NO_BUFFER) > 0);
	assert_true(frig_conserves(&x.f));
	xrig_stop(&x);
}

/* A class without PFC loses what is too much, and nothing fails. */
static void
a_lossy_class_loses_what_a_slow_host_leaves(void **state)
{
	uint8_t bytes[XRIG_FRAME_BYTES];
	struct xrig x = { .hold_bytes = 20000 };
	uint64_t dropped;

	(void)state;
	kernel_pair_start(&x, "", 2);
	x.ports[PAIR_B]->deaf_until_ns = 4000 * 1000;
	for (uint32_t i = 0; i < 100; i++)
		port_rig_send(x.ports[PAIR_A], bytes,
			      (uint32_t)kernel_pair_ipv4(&x, PAIR_A, PAIR_B, 17, 1000, 2000, 900, bytes));
	xrig_run(&x, 10 * PS_PER_MS);
	dropped = x.nodes[PAIR_B]->ops->dropped(x.nodes[PAIR_B], 0, REC_DROP_QUEUE_FULL);
	assert_in_range(dropped, 70, 85); /* 20000 B hold 20 of 958 B */
	assert_int_equal(x.ports[PAIR_B]->nout + dropped, 100);
	assert_int_equal(x.nodes[PAIR_B]->status, NODE_RUNNING);
	assert_true(frig_conserves(&x.f));
	xrig_stop(&x);
}

static void
b_leaves_after_2_ms(void *ctx, const struct window *window)
{
	const struct xrig *x = (const struct xrig *)((const char *)ctx - offsetof(struct xrig, f));

	x->ports[PAIR_B]->gone = window->start_ps >= 2 * PS_PER_MS;
}

/* b held frames when it left: they are lost as on a cable that is down, and a's mbufs are free again. */
static void
frames_held_for_a_host_that_leaves_are_lost(void **state)
{
	struct xrig x = { .hold_bytes = 200000 };

	(void)state;
	kernel_pair_start(&x, "", 2);
	x.f.fabric->hooks.entering = b_leaves_after_2_ms;
	x.ports[PAIR_B]->deaf_until_ns = 100 * 1000 * 1000;
	kernel_pair_send(&x, PAIR_A, 100, 900);
	xrig_run(&x, PS_PER_MS * 4);
	assert_int_equal(x.ports[PAIR_B]->nout, 0);
	assert_int_equal(x.nodes[PAIR_B]->ops->dropped(x.nodes[PAIR_B], 0, REC_DROP_LINK_DOWN), 100);
	assert_false(kernel_host_pending(x.nodes[PAIR_B]));
	assert_int_equal(xrig_in_use(&x), 0);
	assert_true(frig_conserves(&x.f));
	xrig_stop(&x);
}

/* b pauses its switch when a polling packet arrives: its NIC reports that it does, and how much it holds. */
static void
a_host_that_pauses_is_reported(void **state)
{
	const struct pkt poll = { .type = PKT_POLL, .id = 77, .arg = POLL_VICTIM, .ttl = PKT_TTL_INIT };
	const struct pkt_message message = { 0 };
	uint8_t bytes[XRIG_FRAME_BYTES];
	struct xrig x = { .hold_bytes = 20000 };
	const struct rec_port_row *row;
	struct frame f;

	(void)state;
	kernel_pair_start(&x, "", 2);
	x.ports[PAIR_B]->deaf_until_ns = 5000 * 1000;
	kernel_pair_send(&x, PAIR_A, 300, 900);
	frame_from_pkt(&f, &poll, &x.f.flows[PAIR_A], &message, false);
	port_rig_hold(x.ports[PAIR_A], 2000 * 1000);
	port_rig_send(x.ports[PAIR_A], bytes, (uint32_t)frame_build(&f, bytes, sizeof(bytes)));
	xrig_run(&x, 10 * PS_PER_MS);
	assert_non_null(frig_record(x.nodes[PAIR_B], REC_POLL, 0));
	row = frig_record(x.nodes[PAIR_B], REC_PORT_ROW, 0);
	assert_non_null(row);
	assert_int_equal(row->pausing, 1);
	assert_true(row->ingress_bytes > 20000);
	assert_int_equal(row->ingress_xoff_bytes, 20000);
	assert_in_range(row->pausing_since_ps, 1, 2 * PS_PER_MS);
	assert_int_equal(x.ports[PAIR_B]->nout, 300);
	xrig_stop(&x);
}

/* As a asks for the MAC of b. @param tagged  with a VLAN tag. @return its size */
static size_t
make_arp(const struct xrig *x, bool tagged, uint8_t bytes[ETH_MIN_BYTES])
{
	struct wire_eth eth = { .dst = { 255, 255, 255, 255, 255, 255 },
				.type = htobe16(tagged ? ETH_TYPE_VLAN : ETH_TYPE_ARP) };
	struct wire_vlan vlan = { .type = htobe16(ETH_TYPE_ARP) };
	struct wire_arp arp = {
		.hardware = htobe16(ARP_HARDWARE_ETHERNET),
		.protocol = htobe16(ETH_TYPE_IPV4),
		.hardware_bytes = ETH_ADDR_BYTES,
		.protocol_bytes = 4,
		.operation = htobe16(ARP_REQUEST),
		.sender_ip = htobe32(kernel_pair_ip(x, "a")),
		.target_ip = htobe32(kernel_pair_ip(x, "b")),
	};
	size_t at = sizeof(eth);

	topo_nic_mac(topo_find(x->f.topo, "a"), 0, eth.src);
	memset(bytes, 0, ETH_MIN_BYTES);
	memcpy(bytes, &eth, sizeof(eth));
	if (tagged) {
		memcpy(bytes + at, &vlan, sizeof(vlan));
		at += sizeof(vlan);
	}
	memcpy(bytes + at, &arp, sizeof(arp));
	return at + sizeof(arp);
}

static void
arp_is_read_as_far_as_it_goes(void **state)
{
	uint8_t bytes[ETH_MIN_BYTES];
	struct xrig x = { 0 };
	struct wire_arp arp;
	size_t size;

	(void)state;
	kernel_pair_start(&x, "", 2);
	for (int tagged = 0; tagged < 2; tagged++) {
		size = make_arp(&x, tagged, bytes);
		port_rig_send(x.ports[PAIR_A], bytes, (uint32_t)size);
		port_rig_send(x.ports[PAIR_A], bytes, (uint32_t)size - 1);
	}
	xrig_run(&x, PS_PER_MS);
	assert_int_equal(x.ports[PAIR_A]->nout, 2);
	for (uint32_t i = 0; i < 2; i++) {
		memcpy(&arp, x.ports[PAIR_A]->out[i].data + sizeof(struct wire_eth), sizeof(arp)); /* without the tag */
		assert_int_equal(be16toh(arp.operation), ARP_REPLY);
		assert_int_equal(be32toh(arp.sender_ip), kernel_pair_ip(&x, "b"));
	}
	assert_int_equal(kernel_pair_counters(&x, PAIR_A).dropped[EDGE_DROP_ARP], 2);
	xrig_stop(&x);
}

/* A host that takes nothing, and asks and asks: replies that there is no room for are dropped by name. */
static void
replies_to_a_deaf_host_are_bounded(void **state)
{
	uint8_t bytes[ETH_MIN_BYTES];
	struct kernel_host_counters sum;
	struct xrig x = { 0 };
	size_t size;

	(void)state;
	kernel_pair_start(&x, "", 2);
	x.ports[PAIR_A]->deaf_until_ns = 3000 * 1000;
	size = make_arp(&x, false, bytes);
	for (uint32_t i = 0; i < 200; i++)
		port_rig_send(x.ports[PAIR_A], bytes, (uint32_t)size);
	xrig_run(&x, 5 * PS_PER_MS);
	sum = kernel_pair_counters(&x, PAIR_A);
	assert_int_equal(sum.replies + sum.dropped[EDGE_DROP_REPLY], 200);
	assert_in_range(sum.replies, 64, 100);
	assert_int_equal(x.ports[PAIR_A]->nout, sum.replies);
	assert_int_equal(xrig_in_use(&x), 0);
	xrig_stop(&x);
}

/* A peer that speaks PFC sends something else of that type: it changes nothing, and is counted. */
static void
pfc_frames_that_are_none_are_dropped(void **state)
{
	struct pfc_fields fields = { .class_enable = 1 << 3, .quanta = { 0, 0, 0, 65535 } };
	uint8_t bytes[ETH_MIN_BYTES];
	struct xrig x = { .pfc = true };

	(void)state;
	kernel_pair_start(&x, "", 2);
	pfc_frame_build(&fields, bytes);
	bytes[sizeof(struct wire_eth) + 1] ^= 0xff; /* opcode */
	port_rig_send(x.ports[PAIR_A], bytes, sizeof(bytes));
	xrig_run(&x, PS_PER_MS);
	assert_int_equal(kernel_pair_counters(&x, PAIR_A).pfc_received, 0);
	assert_int_equal(kernel_pair_counters(&x, PAIR_A).dropped[EDGE_DROP_PFC], 1);
	assert_int_equal(x.nodes[PAIR_A]->ops->pausing(x.nodes[PAIR_A], 0), 0);
	xrig_stop(&x);
}

/* S2 sends to b what is for c. */
static void
frames_for_another_host_end_at_the_nic(void **state)
{
	static const char astray[] = "faults = ( { kind = \"misroute\"; dst = \"c\"; port = \"S2:2\"; } );";
	uint8_t bytes[XRIG_FRAME_BYTES];
	struct xrig x = { 0 };

	(void)state;
	kernel_pair_start(&x, astray, 2);
	for (uint32_t i = 0; i < 3; i++) {
		size_t size = kernel_pair_ipv4(&x, PAIR_A, PAIR_B, 17, 1, 2, 100, bytes);

		kernel_pair_address(bytes, kernel_pair_ip(&x, "a"), kernel_pair_ip(&x, "c"));
		port_rig_send(x.ports[PAIR_A], bytes, (uint32_t)size);
	}
	xrig_run(&x, PS_PER_MS);
	assert_int_equal(x.ports[PAIR_B]->nout, 0);
	assert_int_equal(x.nodes[PAIR_B]->ops->dropped(x.nodes[PAIR_B], 0, REC_DROP_NO_ROUTE), 3);
	assert_int_equal(xrig_in_use(&x), 0);
	assert_true(frig_conserves(&x.f));
	xrig_stop(&x);
}

/* An embedded host's packets have no bytes; of those whose message nobody can describe no frame can be made. */
static void
packets_without_a_message_are_undeliverable(void **state)
{
	static const char *const hosts[] = { "a" };
	struct kernel_host_counters sum;
	struct xrig x = { 0 };

	(void)state;
	frig_init(&x.f, "topology = { kind = \"explicit\"; rate = \"10Gbps\"; delay = \"20us\"; switches = [ \"S\" ]; "
			"hosts = [ \"a\", \"b\" ]; links = ( \"S a\", \"S b\" ); };");
	frig_flow(&x.f, "b", "a", 3);
	xrig_start(&x, hosts, 1, 1);
	frig_send(&x.f, 0, 0, 1000, 5);
	xrig_run(&x, PS_PER_MS);
	kernel_host_sum(x.nodes[0], &sum);
	assert_int_equal(sum.undeliverable, 5);
	assert_int_equal(x.ports[0]->nout, 0);
	assert_int_equal(x.nodes[0]->ops->dropped(x.nodes[0], 0, REC_DROP_NO_ROUTE), 5);
	assert_true(frig_conserves(&x.f));
	xrig_stop(&x);
}

/* What a's ring holds is work to do; what is drained is not. */
static void
a_host_with_frames_in_its_ring_has_work(void **state)
{
	struct xrig x = { 0 };

	(void)state;
	kernel_pair_start(&x, "", 2);
	kernel_pair_send(&x, PAIR_A, 1, 100);
	assert_true(kernel_host_pending(x.nodes[PAIR_A]));
	assert_false(kernel_host_pending(x.nodes[PAIR_B]));
	xrig_run(&x, PS_PER_MS);
	assert_false(kernel_host_pending(x.nodes[PAIR_A]));
	xrig_stop(&x);
}

static void
each_reason_of_a_drop_has_a_name_of_its_own(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < EDGE_DROP_REASONS; i++) {
		assert_true(strlen(edge_drop_name((enum edge_drop)i)) > 2);
		for (uint32_t j = 0; j < i; j++)
			assert_string_not_equal(edge_drop_name((enum edge_drop)i), edge_drop_name((enum edge_drop)j));
	}
}

UNIT_TEST(kernel_host_limits)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lossless_class_that_overruns_is_named),
		cmocka_unit_test(a_lossy_class_loses_what_a_slow_host_leaves),
		cmocka_unit_test(frames_held_for_a_host_that_leaves_are_lost),
		cmocka_unit_test(a_host_that_pauses_is_reported),
		cmocka_unit_test(arp_is_read_as_far_as_it_goes),
		cmocka_unit_test(replies_to_a_deaf_host_are_bounded),
		cmocka_unit_test(pfc_frames_that_are_none_are_dropped),
		cmocka_unit_test(frames_for_another_host_end_at_the_nic),
		cmocka_unit_test(packets_without_a_message_are_undeliverable),
		cmocka_unit_test(a_host_with_frames_in_its_ring_has_work),
		cmocka_unit_test(each_reason_of_a_drop_has_a_name_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
