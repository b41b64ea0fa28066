/* SPDX-License-Identifier: BSD-3-Clause */
/* External hosts: hosts that take nothing, and PAUSE in every direction. Nothing is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "dpswitch/edge/frame/frame.h"
#include "tests/integration/kernel_host_pair.h"
#include "tests/unit/unit.h"

static const char storm_at_a[] =
	"faults = ( { kind = \"pfc-storm\"; port = \"S1:2\"; start = \"1ms\"; duration = \"4ms\"; } );";

/* b takes nothing for 4 ms: its switch is instructed to stop, a's frames wait at a, and none is lost. */
static void
a_deaf_host_holds_the_fabric_and_loses_nothing(void **state)
{
	struct kernel_host_counters sum;
	struct xrig x = { .hold_bytes = 20000 };

	(void)state;
	kernel_pair_start(&x, "", 2);
	x.ports[PAIR_B]->deaf_from_ns = 1000 * 1000;
	x.ports[PAIR_B]->deaf_until_ns = 5000 * 1000;
	x.ports[PAIR_B]->takes = 3;
	kernel_pair_send(&x, PAIR_A, 6000, 900);
	xrig_run(&x, 80 * PS_PER_MS);
	sum = kernel_pair_counters(&x, PAIR_B);
	assert_true(sum.pauses_sent >= 1);
	assert_true(sum.held_max_bytes > 20000);
	assert_int_equal(sum.held_bytes, 0);
	assert_int_equal(x.nodes[PAIR_B]->status, NODE_RUNNING);
	kernel_pair_expect_all(&x, PAIR_A, 6000);
	assert_true(frig_conserves(&x.f));
	xrig_stop(&x);
}

/* A queue builds up behind the deaf host: frames leave with CE, their IP checksum and ICRC right. */
static void
a_marked_frame_is_right_in_every_byte(void **state)
{
	struct xrig x = { .hold_bytes = 20000, .ecn = true };
	uint32_t marked = 0;
	struct frame f;

	(void)state;
	kernel_pair_start(&x, "", 2);
	x.ports[PAIR_B]->deaf_until_ns = 5000 * 1000;
	kernel_pair_send(&x, PAIR_A, 4000, 900);
	xrig_run(&x, 20 * PS_PER_MS);
	assert_int_equal(x.ports[PAIR_B]->nout, 4000);
	for (uint32_t i = 0; i < 4000; i++) {
		assert_int_equal(frame_parse(x.ports[PAIR_B]->out[i].data, x.ports[PAIR_B]->out[i].size, &f), FRAME_OK);
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

	(void)state;
	kernel_pair_start(&x, "", 2);
	x.ports[PAIR_B]->deaf_until_ns = 2000 * 1000;
	kernel_pair_send(&x, PAIR_A, 1000, 500);
	xrig_run(&x, 30 * PS_PER_MS);
	assert_int_equal(x.ports[PAIR_B]->nout, 1000);
	assert_true(x.ports[PAIR_A]->port.count.rx_starved != 0);
	xrig_stop(&x);
}

/* S1 pauses a for 4 ms: a's ring is not dequeued beyond a few hundred frames, and what waits is sent after. */
static void
a_pause_holds_the_hosts_own_ring(void **state)
{
	uint64_t asked_last_ns = 0;
	struct xrig x = { 0 };
	uint32_t early = 0;

	(void)state;
	kernel_pair_start(&x, storm_at_a, 2);
	kernel_pair_send(&x, PAIR_A, 6000, 900);
	xrig_run(&x, 20 * PS_PER_MS);
	for (uint32_t i = 0; i < 6000; i++) {
		uint64_t at_ns = x.ports[PAIR_A]->received_ns[i];

		early += at_ns < 1500 * 1000;
		assert_false(at_ns > 1500 * 1000 && at_ns < 4980 * 1000);
		asked_last_ns = at_ns;
	}
	assert_true(early > 1000 && early < 2000 && asked_last_ns > 5000 * 1000);
	assert_int_equal(x.ports[PAIR_B]->nout, 6000);
	assert_true(kernel_pair_counters(&x, PAIR_A).pauses_received > 30);
	assert_in_range(kernel_pair_counters(&x, PAIR_A).paused_ps, 3990 * PS_PER_US, 4050 * PS_PER_US);
	assert_true(frig_conserves(&x.f));
	xrig_stop(&x);
}

/* A peer that speaks PFC receives PAUSE, again before its quanta run out, and then RESUME. */
static void
a_peer_with_pfc_gets_frames(void **state)
{
	uint64_t quanta_us = 65535ull * 512 / 10000; /* at 10 Gbps */
	struct xrig x = { .pfc = true };
	struct pfc_fields fields;

	(void)state;
	kernel_pair_start(&x, storm_at_a, 2);
	xrig_run(&x, 20 * PS_PER_MS);
	/* 4 ms of storm: one frame, two repetitions at half of 3.36 ms, one to continue. */
	assert_int_equal(x.ports[PAIR_A]->nout, 2 + 4000 / (quanta_us / 2));
	for (uint32_t i = 0; i < x.ports[PAIR_A]->nout; i++) {
		const struct port_rig_frame *out = &x.ports[PAIR_A]->out[i];

		assert_int_equal(pfc_frame_parse(out->data, out->size, &fields), 0);
		assert_int_equal(fields.class_enable, 1 << 3);
		assert_int_equal(fields.quanta[3], i + 1 < x.ports[PAIR_A]->nout ? PFC_QUANTA_MAX : 0);
	}
	assert_int_equal(kernel_pair_counters(&x, PAIR_A).pfc_sent, x.ports[PAIR_A]->nout);
	xrig_stop(&x);
}

/*
 * a pauses S1 by PFC frames: S1's port to it pauses until the quanta are over. A peer that is not said to speak it: a
 * drop.
 */
static void
pfc_from_a_peer_pauses_the_switch(void **state)
{
	struct pfc_fields fields = { .class_enable = 1 << 3, .quanta = { [3] = 20000 } }; /* 1.024 ms */
	uint8_t bytes[ETH_MIN_BYTES];

	(void)state;
	pfc_frame_build(&fields, bytes);
	for (int uses_pfc = 0; uses_pfc < 2; uses_pfc++) {
		struct xrig x = { .pfc = uses_pfc != 0 };

		kernel_pair_start(&x, "", 2);
		port_rig_send(x.ports[PAIR_A], bytes, sizeof(bytes));
		kernel_pair_send(&x, PAIR_B, 1000, 900);
		xrig_run(&x, 20 * PS_PER_MS);
		assert_int_equal(x.ports[PAIR_A]->nout, 1000);
		assert_int_equal(kernel_pair_counters(&x, PAIR_A).pfc_received, uses_pfc);
		assert_int_equal(kernel_pair_counters(&x, PAIR_A).dropped[EDGE_DROP_PFC], !uses_pfc);
		if (uses_pfc)
			assert_in_range(x.ports[PAIR_A]->first_taken_ns, 1024 * 1000, 1200 * 1000);
		else
			assert_true(x.ports[PAIR_A]->first_taken_ns < 200 * 1000);
		xrig_stop(&x);
	}
}

/* a's NIC pauses S1 for 2 ms, whatever it has room for; S1 pauses its port to a, and continues after. */
static void
a_storm_at_a_kernel_host_pauses_the_switch(void **state)
{
	static const char fault[] =
		"faults = ( { kind = \"pfc-storm\"; port = \"a:1\"; start = \"0us\"; duration = \"2ms\"; } );";
	struct xrig x = { 0 };

	(void)state;
	kernel_pair_start(&x, fault, 2);
	kernel_pair_send(&x, PAIR_B, 1000, 900);
	xrig_run(&x, 20 * PS_PER_MS);
	assert_int_equal(x.ports[PAIR_A]->nout, 1000);
	assert_in_range(x.ports[PAIR_A]->first_taken_ns, 2000 * 1000, 2200 * 1000);
	assert_int_equal(x.nodes[PAIR_A]->ops->pausing(x.nodes[PAIR_A], 0), 0);
	assert_true(frig_conserves(&x.f));
	xrig_stop(&x);
}

UNIT_TEST(kernel_host_pause)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_deaf_host_holds_the_fabric_and_loses_nothing),
		cmocka_unit_test(a_marked_frame_is_right_in_every_byte),
		cmocka_unit_test(without_mbufs_frames_wait_at_the_peer),
		cmocka_unit_test(a_pause_holds_the_hosts_own_ring),
		cmocka_unit_test(a_peer_with_pfc_gets_frames),
		cmocka_unit_test(pfc_from_a_peer_pauses_the_switch),
		cmocka_unit_test(a_storm_at_a_kernel_host_pauses_the_switch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
