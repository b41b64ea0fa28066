/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UD SENDs whose TTL ends: answered from the interface where they came in, as often as a switch may; all else is
 * dropped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "common/array.h"
#include "dpswitch/edge/frame/checksum.h"
#include "dpswitch/edge/frame/frame.h"
#include "tests/unit/dpswitch/switch_rig.h"
#include "tests/unit/unit.h"
#include "topo/topo.h"

#define GAP_PS (100 * PS_PER_US)

static struct frig rig;

static int
teardown(void **state)
{
	(void)state;
	frig_stop(&rig);
	return 0;
}

static struct pkt
probe(uint32_t flow, uint32_t psn)
{
	return (struct pkt){ .flow = flow,
			     .psn = psn,
			     .wire_bytes = 142,
			     .payload_bytes = 50,
			     .opcode = ROCE_UD_SEND_ONLY,
			     .type = PKT_UD,
			     .prio = 3,
			     .ttl = 1 };
}

/*
 * 25 at once: 16 have an answer, with PSN, switch and port; the rest is dropped by name. Half a second later all are
 * answered again.
 */
static void
answers_are_limited(void **state)
{
	const struct sw *sw;
	uint32_t flow;

	(void)state;
	frig_init(&rig, wide);
	rig.config.trace_gap_ps = GAP_PS;
	flow = frig_flow(&rig, "c", "b", 3);
	start(&rig);
	for (uint32_t i = 0; i < 25; i++) {
		struct pkt p = probe(flow, i);

		frig_send_pkt(&rig, 0, &p);
	}
	for (uint32_t i = 25; i < 35; i++) {
		struct pkt p = probe(flow, i);

		frig_send_pkt(&rig, 5000 * PS_PER_US, &p);
	}
	frig_run(&rig, 6 * PS_PER_MS);
	sw = frig_switch(&rig, "S");
	assert_int_equal(sw->expiry.answered, 26);
	assert_int_equal(sw->expiry.silent, 9);
	assert_int_equal(frig_host(&rig, "b")->ngot, 0);
	assert_int_equal(frig_host(&rig, "c")->ngot, 26);
	for (uint32_t i = 0; i < 26; i++) {
		const struct pkt *p = &frig_host(&rig, "c")->got[i];

		assert_int_equal(p->type, PKT_EXPIRED);
		assert_int_equal(p->psn, i < 16 ? i : i + 9);
		assert_int_equal(p->arg, sw->node.id << EXPIRED_NODE_SHIFT | PORT_C);
		assert_true(p->flags & PKT_REVERSE);
		assert_int_equal(p->prio, 0);
		assert_int_equal(p->wire_bytes, 142 + 28);
	}
	assert_true(frig_conserves(&rig));
}

/* Packets of one window are not in order of time: one that arrived before another that has its answer is answered, too. */
static void
order_of_ports_takes_no_answers(void **state)
{
	static const char *const ends[2] = { "b", "c" };

	(void)state;
	frig_init(&rig, wide);
	rig.config.trace_gap_ps = 1000;
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(frig_flow(&rig, ends[i], ends[1 - i], 3), i);
	start(&rig);
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 2; i++) {
			struct pkt p = probe(i, round);

			frig_send_pkt(&rig, round * 10 * PS_PER_US + (i == round ? 0 : PS_PER_US / 4), &p);
		}
	frig_run(&rig, 100 * PS_PER_US);
	assert_int_equal(frig_switch(&rig, "S")->expiry.answered, 4);
	assert_true(frig_conserves(&rig));
}

/* Data, and whatever a switch does not answer, is lost as it always was. */
static void
others_are_dropped(void **state)
{
	struct pkt p;
	uint32_t flow;

	(void)state;
	frig_init(&rig, wide);
	flow = frig_flow(&rig, "c", "b", 3);
	start(&rig);
	p = probe(flow, 1);
	frig_send_pkt(&rig, 0, &p);
	p.type = PKT_DATA;
	frig_send_pkt(&rig, 0, &p);
	frig_run(&rig, 100 * PS_PER_US);
	assert_int_equal(frig_host(&rig, "c")->ngot, 0);
	assert_int_equal(frig_switch(&rig, "S")->node.count.dropped_packets, 2);
	assert_true(frig_conserves(&rig));
}

/* RFC 792: type 11, from the interface, with the packet that expired in it, and right checksums. */
static void
captures_show_icmp(void **state)
{
	static const uint8_t contents[50] = "traced";
	const struct pkt_message message = { .dst_qpn = 0x800001, .src_qpn = 0x800002, .payload = contents };
	const struct flow flow = { .src_ip = 0x0a000001, .dst_ip = 0x0a000002, .sport = 50000, .dport = ROCEV2_UDP_PORT };
	struct pkt lost = probe(0, 7), p = probe(0, 7);
	uint8_t was[256], is[256];
	struct frame f;
	size_t was_bytes, is_bytes;

	(void)state;
	frame_from_pkt(&f, &lost, &flow, &message, false);
	was_bytes = frame_build(&f, was, sizeof(was));
	p.type = PKT_EXPIRED;
	p.flags = PKT_REVERSE;
	p.arg = 40u << EXPIRED_NODE_SHIFT | 2;
	p.ttl = 63;
	p.prio = 0;
	frame_from_pkt(&f, &p, &flow, &message, false);
	is_bytes = frame_build(&f, is, sizeof(is));
	assert_int_equal(is_bytes, was_bytes + 28);
	assert_int_equal(frame_wire_bytes(&f), 142 + 28);
	assert_int_equal(is[14 + 9], IPV4_PROTOCOL_ICMP);
	assert_int_equal(checksum_fold(checksum_add(0, is + 14, 20)), 0);
	assert_int_equal(checksum_fold(checksum_add(0, is + 34, is_bytes - 34)), 0);
	assert_int_equal(is[34], ICMP_TIME_EXCEEDED);
	assert_memory_equal(is + 30, ((uint8_t[]){ 10, 0, 0, 1 }), 4);
	assert_memory_equal(is + 26, ((uint8_t[]){ 10, 2, 0, 41 }), 4); /* topo_nic_ip(40, 2) */
	assert_memory_equal(is + 42 + 12, was + 26, 8);                 /* its addresses */
	assert_memory_equal(is + 42 + 20, was + 34,
			    was_bytes - 34 - 4); /* from UDP to before the ICRC, which has the TTL left out */
	assert_memory_equal(is + is_bytes - 4, was + was_bytes - 4, 4);
	assert_int_equal(frame_parse(is, is_bytes, &f), FRAME_NOT_UDP);
}

/* An ACK that expires is its receiver's: both addresses are the other way round. */
static void
expired_answers_have_the_other_end(void **state)
{
	const struct pkt_message message = { 0 };
	const struct flow flow = { .src_ip = 0x0a000001, .dst_ip = 0x0a000002, .sport = 50000, .dport = ROCEV2_UDP_PORT };
	struct pkt p = probe(0, 7);
	uint8_t is[256];
	struct frame f;

	(void)state;
	p.type = PKT_EXPIRED;
	p.flags = 0;
	p.arg = 40u << EXPIRED_NODE_SHIFT | 2;
	frame_from_pkt(&f, &p, &flow, &message, false);
	assert_int_not_equal(frame_build(&f, is, sizeof(is)), 0);
	assert_memory_equal(is + 26, ((uint8_t[]){ 10, 2, 0, 41, 10, 0, 0, 2 }), 8);
	assert_memory_equal(is + 42 + 12, ((uint8_t[]){ 10, 0, 0, 2, 10, 0, 0, 1 }), 8);
}

/* Of a packet whose bytes are gone: RFC 792's least, whose every byte is true. */
static void
captures_show_the_least_of_packets_of_kernel_hosts(void **state)
{
	const struct pkt_message message = { 0 };
	const struct flow flow = { .src_ip = 0x0a000001, .dst_ip = 0x0a000002, .sport = 50000, .dport = ROCEV2_UDP_PORT };
	struct pkt p = probe(0, 7);
	uint8_t is[256];
	struct frame f;
	size_t bytes;

	(void)state;
	p.opcode = ROCE_UD_SEND_ONLY_IMM;
	p.type = PKT_EXPIRED;
	p.flags = PKT_REVERSE;
	p.syndrome = 1;
	p.arg = 40u << EXPIRED_NODE_SHIFT | 2;
	p.ttl = 63;
	frame_from_pkt(&f, &p, &flow, &message, false);
	bytes = frame_build(&f, is, sizeof(is));
	assert_int_equal(bytes, 14 + 20 + 8 + EXPIRED_LEAST_BYTES);
	assert_int_equal(frame_wire_bytes(&f), eth_wire_bytes((uint32_t)bytes));
	assert_int_equal(checksum_fold(checksum_add(0, is + 14, 20)), 0);
	assert_int_equal(checksum_fold(checksum_add(0, is + 34, bytes - 34)), 0);
	assert_memory_equal(is + 42 + 2, ((uint8_t[]){ 0, 20 + 8 + 12 + 8 + 4 + 52 + 4 }), 2); /* as long as it was */
	assert_memory_equal(is + 42 + 4, ((uint8_t[]){ 0, 7 }), 2);                            /* its PSN */
	assert_memory_equal(is + 42 + 12, ((uint8_t[]){ 10, 0, 0, 1, 10, 0, 0, 2, 0xc3, 0x50, 0x12, 0xb7 }), 12);
}

UNIT_TEST(expire)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(answers_are_limited, teardown),
		cmocka_unit_test_teardown(order_of_ports_takes_no_answers, teardown),
		cmocka_unit_test_teardown(others_are_dropped, teardown),
		cmocka_unit_test(captures_show_icmp),
		cmocka_unit_test(expired_answers_have_the_other_end),
		cmocka_unit_test(captures_show_the_least_of_packets_of_kernel_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
