/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames that go round: what comes out begins anew as it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <stdlib.h>
#include <unistd.h>

#include <rte_mbuf.h>
#include <rte_ring.h>

#include "common/clock.h"
#include "dpswitch/edge/frame/frame.h"
#include "dpswitch/edge/kernel_host/classify.h"
#include "dpswitch/edge/port/port_round.h"
#include "tests/integration/port_rig.h"
#include "tests/unit/dpswitch/frame_bytes.h"
#include "tests/unit/unit.h"

#define WAIT_NS 20000000000ULL
#define ROUNDS 5000 /* each of some hundred frames several times */

static void
what_switches_change_is_put_back(void **state)
{
	const struct port_config ends[2] = { { .name = "source" }, { .name = "sink", .mbufs = 511 } };
	const struct flow flow = { .src_ip = 0x0a000001, .dst_ip = 0x0a000002, .sport = 50001, .dst_qpn = 5 };
	struct pkt p = {
		.type = PKT_DATA, .opcode = ROCE_RC_SEND_ONLY, .ttl = PKT_TTL_INIT, .payload_bytes = 100, .prio = 3
	};
	const struct pkt_message message = { 0 };
	uint8_t frame[FRAME_MAX_BYTES], *bytes;
	struct port_round round;
	struct rte_mbuf *mbuf;
	struct err err = { 0 };
	uint32_t size, count = 0;
	struct frame f;

	(void)state;
	frame_from_pkt(&f, &p, &flow, &message, false);
	size = (uint32_t)frame_build(&f, frame, sizeof(frame));
	if (port_round_init(&round, PORT_ROUND_RING, ends, ".", frame, size, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(port_receive(round.ports[0], &mbuf, 1), 1);
	bytes = rte_pktmbuf_mtod(mbuf, uint8_t *);
	p.ttl -= 2; /* two switches, the second of which marks it */
	p.flags |= PKT_CE;
	patch_frame(bytes, size, &p);
	assert_memory_not_equal(bytes, frame, size);
	assert_int_equal(bytes[AT_IP + 1] & 3, 3);
	assert_int_equal(port_transmit(round.ports[1], &mbuf, 1), 1);
	port_round_turn(&round);
	/* Behind all others that were there. */
	for (struct rte_mbuf *next; port_receive(round.ports[0], &next, 1) == 1; count++) {
		assert_memory_equal(rte_pktmbuf_mtod(next, uint8_t *), frame, size);
		rte_pktmbuf_free(next);
	}
	assert_int_equal(count, 1024);
	port_round_fini(&round);
}

/* Over ports with peers: frames come in as soon as peers are up, and what leaves at the sink is at the source again. */
static void
goes_round(enum port_round_kind kind)
{
	const struct port_config ends[2] = { { .name = "source", .mbufs = 2047 }, { .name = "sink", .mbufs = 511 } };
	uint8_t frame[200];
	char dir[] = "/tmp/rocelab-round-XXXXXX";
	uint64_t end_ns = clock_now_ns() + WAIT_NS;
	uint32_t passed = 0, other = 0;
	struct port_round round;
	struct err err = { 0 };

	for (size_t i = 0; i < sizeof(frame); i++)
		frame[i] = (uint8_t)i;
	assert_non_null(mkdtemp(dir));
	if (port_round_init(&round, kind, ends, dir, frame, sizeof(frame), &err) < 0)
		fail_msg("%s", err.text);
	while (passed < ROUNDS && clock_now_ns() < end_ns) {
		struct rte_mbuf *mbufs[PORT_BURST];
		uint16_t n, sent = 0;

		port_round_turn(&round);
		n = port_receive(round.ports[0], mbufs, PORT_BURST);
		for (uint16_t i = 0; i < n; i++) {
			uint8_t *bytes = rte_pktmbuf_mtod(mbufs[i], uint8_t *);

			other += rte_pktmbuf_pkt_len(mbufs[i]) != sizeof(frame) || memcmp(bytes, frame, sizeof(frame)) != 0;
			bytes[AT_IP + 8]--; /* as a switch lowers its TTL */
		}
		while (sent < n && clock_now_ns() < end_ns)
			sent += port_transmit(round.ports[1], mbufs + sent, n - sent);
		rte_pktmbuf_free_bulk(mbufs + sent, n - sent);
		passed += sent;
	}
	port_round_fini(&round);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(other, 0);
	assert_true(passed >= ROUNDS);
}

static void
memif_goes_round(void **state)
{
	(void)state;
	goes_round(PORT_ROUND_MEMIF);
}

static void
vhost_goes_round(void **state)
{
	(void)state;
	goes_round(PORT_ROUND_VHOST);
}

UNIT_TEST(port_round)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_switches_change_is_put_back),
		cmocka_unit_test(memif_goes_round),
		cmocka_unit_test(vhost_goes_round),
	};

	assert_int_equal(port_rig_eal(), 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
