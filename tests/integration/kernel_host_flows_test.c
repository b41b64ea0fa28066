/* SPDX-License-Identifier: BSD-3-Clause */
/* External hosts: frames of flows that nobody planned, and whose they are once others have begun. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "dpswitch/edge/kernel_host/state.h"
#include "tests/integration/kernel_host_pair.h"
#include "tests/unit/unit.h"

#define SPORT_AT 34 /* of UDP, in a frame without a tag */
#define NS_PER_MS 1000000ULL

static void
send_udp(struct xrig *x, uint16_t sport)
{
	uint8_t bytes[XRIG_FRAME_BYTES];
	size_t size = kernel_pair_ipv4(x, PAIR_A, PAIR_B, 17, sport, 2000, 100, bytes);

	port_rig_send(x->ports[PAIR_A], bytes, (uint32_t)size);
}

static uint16_t
sport_of(const struct port_rig_frame *frame)
{
	return (uint16_t)(frame->data[SPORT_AT] << 8 | frame->data[SPORT_AT + 1]);
}

/*
 * Of two slots both are idle. A new flow takes the one idle for longest; behind its frame comes one of the other slot's
 * flow, and then one of another new flow, which must not take the slot that the frame before it needs.
 */
static void
frames_that_wait_hold_their_slots(void **state)
{
	static const uint16_t delivered[] = { 1, 2, 3, 2 };
	struct xrig x = { .lcores = 2, .idle_ps = 2 * PS_PER_MS };

	(void)state;
	kernel_pair_start(&x, "", 2);
	send_udp(&x, 1);
	port_rig_hold(x.ports[PAIR_A], NS_PER_MS / 2);
	send_udp(&x, 2);
	port_rig_hold(x.ports[PAIR_A], 10 * NS_PER_MS);
	send_udp(&x, 3);
	send_udp(&x, 2);
	send_udp(&x, 4);
	xrig_run(&x, 20 * PS_PER_MS);
	assert_int_equal(kernel_pair_counters(&x, PAIR_A).dropped[EDGE_DROP_NO_SLOT], 1);
	assert_int_equal(x.ports[PAIR_B]->nout, 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(sport_of(&x.ports[PAIR_B]->out[i]), delivered[i]);
	assert_int_equal(xrig_in_use(&x), 0);
	xrig_stop(&x);
}

/* A RoCE frame with UDP source port 777, of no planned flow. */
static void
send_roce(struct xrig *x, enum pair_host from, enum pkt_type type, uint32_t psn)
{
	const struct flow flow = {
		.src_ip = kernel_pair_ip(x, from == PAIR_A ? "a" : "b"),
		.dst_ip = kernel_pair_ip(x, from == PAIR_A ? "b" : "a"),
		.sport = 777,
		.dst_qpn = 0x123,
	};
	const struct pkt p = {
		.type = (uint8_t)type,
		.opcode = type == PKT_ACK ? ROCE_RC_ACK : ROCE_RC_SEND_ONLY,
		.psn = psn & ROCE_24BIT_MASK,
		.prio = 3,
		.ttl = PKT_TTL_INIT,
		.payload_bytes = type == PKT_ACK ? 0 : 100,
	};
	const struct pkt_message message = { 0 };
	uint8_t bytes[XRIG_FRAME_BYTES];
	struct frame f;

	frame_from_pkt(&f, &p, &flow, &message, false);
	port_rig_send(x->ports[from], bytes, (uint32_t)frame_build(&f, bytes, sizeof(bytes)));
}

/* An ACK of nothing that is known has a flow of its own; once there is data the other way, the next one answers that. */
static void
an_answer_belongs_to_the_flow_that_has_begun_since(void **state)
{
	const struct kernel_host_nic *nic;
	struct xrig x = { .idle_ps = PS_PER_S };

	(void)state;
	kernel_pair_start(&x, "", 4);
	send_roce(&x, PAIR_A, PKT_ACK, 1);
	port_rig_hold(x.ports[PAIR_B], NS_PER_MS);
	send_roce(&x, PAIR_B, PKT_DATA, 1);
	port_rig_hold(x.ports[PAIR_A], 2 * NS_PER_MS);
	send_roce(&x, PAIR_A, PKT_ACK, 2);
	xrig_run(&x, 5 * PS_PER_MS);
	assert_int_equal(x.ports[PAIR_B]->nout, 2);
	assert_int_equal(x.ports[PAIR_A]->nout, 1);
	nic = &kernel_host_of(x.nodes[PAIR_A])->nics[0];
	assert_int_equal(nic->from_host.memo.p.type, PKT_ACK);
	assert_true(nic->from_host.memo.p.flags & PKT_REVERSE);
	assert_int_equal(x.f.flows[nic->from_host.memo.p.flow].src_node, x.ids[PAIR_B]);
	xrig_stop(&x);
}

UNIT_TEST(kernel_host_flows)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_that_wait_hold_their_slots),
		cmocka_unit_test(an_answer_belongs_to_the_flow_that_has_begun_since),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
