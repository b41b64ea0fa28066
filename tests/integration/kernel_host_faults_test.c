/* SPDX-License-Identifier: BSD-3-Clause */
/* External hosts: cut cables, damage, hosts that are gone, and faults at random. No frame or buffer is lost unseen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/integration/kernel_host_pair.h"
#include "tests/unit/unit.h"

/* The cable of a is cut for 2 ms: what crosses meanwhile is lost and counted, what comes after arrives. */
static void
a_cut_cable_loses_and_counts(void **state)
{
	static const char fault[] =
		"faults = ( { kind = \"link-down\"; port = \"a:1\"; start = \"300us\"; duration = \"2ms\"; } );";
	struct fabric_totals totals;
	struct xrig x = { 0 };

	(void)state;
	kernel_pair_start(&x, fault, 2);
	kernel_pair_send(&x, PAIR_A, 6000, 900);
	xrig_run(&x, 20 * PS_PER_MS);
	fabric_sum(x.f.fabric, &totals);
	assert_in_range(totals.lost_packets, 2000, 3500); /* 2 ms of 0.78 us each */
	assert_int_equal(x.ports[PAIR_B]->nout + totals.lost_packets, 6000);
	assert_int_equal(xrig_in_use(&x), 0);
	assert_true(frig_conserves(&x.f));
	xrig_stop(&x);
}

static void
a_corrupt_frame_leaves_with_a_wrong_icrc(void **state)
{
	static const char fault[] = "faults = ( { kind = \"corruption\"; port = \"S2:2\"; rate = 0.5; } );";
	uint32_t corrupt = 0;
	struct xrig x = { 0 };
	struct frame f;

	(void)state;
	kernel_pair_start(&x, fault, 2);
	kernel_pair_send(&x, PAIR_A, 400, 0);
	xrig_run(&x, 10 * PS_PER_MS);
	assert_int_equal(x.ports[PAIR_B]->nout, 400);
	for (uint32_t i = 0; i < 400; i++) {
		assert_int_equal(frame_parse(x.ports[PAIR_B]->out[i].data, x.ports[PAIR_B]->out[i].size, &f), FRAME_OK);
		corrupt += f.corrupt;
		if (!f.corrupt)
			kernel_pair_expect_frame(&x, PAIR_A, i);
	}
	assert_in_range(corrupt, 150, 250);
	assert_int_equal(corrupt, frig_link(&x.f, "S2:2")->corrupted_packets);
	xrig_stop(&x);
}

/* Between switches, the one that takes it in drops it. */
static void
a_corrupt_frame_goes_no_further(void **state)
{
	static const char fault[] = "faults = ( { kind = \"corruption\"; port = \"S1:1\"; rate = 0.5; } );";
	struct xrig x = { 0 };

	(void)state;
	kernel_pair_start(&x, fault, 2);
	kernel_pair_send(&x, PAIR_A, 400, 0);
	xrig_run(&x, 10 * PS_PER_MS);
	assert_in_range(x.ports[PAIR_B]->nout, 150, 250);
	assert_int_equal(x.ports[PAIR_B]->nout + frig_link(&x.f, "S1:1")->corrupted_packets, 400);
	assert_int_equal(xrig_in_use(&x), 0);
	assert_true(frig_conserves(&x.f));
	xrig_stop(&x);
}

static void
frames_for_a_host_that_is_gone_are_dropped(void **state)
{
	struct xrig x = { 0 };

	(void)state;
	kernel_pair_start(&x, "", 2);
	x.ports[PAIR_B]->gone = true;
	kernel_pair_send(&x, PAIR_A, 500, 0);
	xrig_run(&x, 10 * PS_PER_MS);
	assert_int_equal(x.nodes[PAIR_B]->count.dropped_packets, 500);
	assert_int_equal(kernel_pair_counters(&x, PAIR_B).pauses_sent, 0);
	assert_true(frig_conserves(&x.f));
	xrig_stop(&x);
}

/* Four faults of any kind anywhere. */
static void
random_faults(struct prng *prng, char *text, size_t cap)
{
	static const char *const kinds[] = { "loss", "corruption", "link-down", "pfc-storm", "blackhole" };
	static const char *const places[] = { "S1:1", "S1:2", "S2:1", "S2:2", "a:1", "b:1" };
	size_t n = (size_t)snprintf(text, cap, "faults = (");

	for (uint32_t i = 0; i < 4; i++) {
		const char *kind = kinds[prng_below(prng, 5)], *place = places[prng_below(prng, 6)];
		bool rate = kind == kinds[0] || kind == kinds[1];

		n += (size_t)snprintf(text + n, cap - n, "%s { kind = \"%s\"; ", i == 0 ? "" : ",", kind);
		if (kind == kinds[4])
			n += (size_t)snprintf(text + n, cap - n, "switch = \"S2\"; dst = \"b\"; ");
		else
			n += (size_t)snprintf(text + n, cap - n, "port = \"%s\"; ", place);
		n += (size_t)snprintf(text + n, cap - n, "%s start = \"%uus\"; duration = \"%uus\"; }",
				      rate ? "rate = 0.3;" : "", (unsigned int)prng_below(prng, 3000),
				      100 + (unsigned int)prng_below(prng, 2000));
	}
	snprintf(text + n, cap - n, " );");
}

/* Both hosts send data and other traffic, and take nothing for a while, or slowly. */
static void
random_traffic(struct xrig *x)
{
	uint8_t bytes[XRIG_FRAME_BYTES];

	for (uint32_t i = PAIR_A; i <= PAIR_B; i++) {
		x->ports[i]->deaf_from_ns = prng_below(&x->prng, 3000000);
		x->ports[i]->deaf_until_ns = x->ports[i]->deaf_from_ns + prng_below(&x->prng, 1000000);
		x->ports[i]->takes = 1 + (uint32_t)prng_below(&x->prng, 32);
		for (uint32_t k = 0; k < 60; k++) {
			size_t size;

			kernel_pair_send(x, i, 40, 0);
			size = kernel_pair_ipv4(x, i, !i, 17, (uint16_t)prng_below(&x->prng, 8), 9, 200, bytes);
			port_rig_send(x->ports[i], bytes, (uint32_t)size);
		}
	}
}

/* @param over  long after the last frame was sent. @param lost  what cables lost is added */
static void
expect_all_found(const struct xrig *x, uint64_t seed, bool over, uint64_t *lost)
{
	uint64_t packets = 0, held_bytes = 0;
	struct fabric_totals totals;

	fabric_sum(x->f.fabric, &totals);
	*lost += totals.lost_packets;
	if (!frig_conserves(&x->f))
		fail_msg("seed %u: packets are missing", (unsigned int)seed);
	if (!over)
		return;
	for (uint32_t i = 0; i < x->f.topo->nnodes; i++)
		x->f.fabric->nodes[i]->ops->held(x->f.fabric->nodes[i], &packets, &held_bytes);
	assert_int_equal(x->ports[PAIR_A]->next, x->ports[PAIR_A]->nin);
	assert_int_equal(packets + totals.in_flight_packets, 0);
	if (xrig_in_use(x) != 0)
		fail_msg("seed %u: %u frames are left", (unsigned int)seed, xrig_in_use(x));
}

/*
 * Loss, corruption, cut cables, a blackhole and storms at random while data, other traffic and answers cross, two slow
 * hosts: every frame is delivered, dropped by name, or somewhere; every mbuf is found at the end.
 */
static void
leak_nothing(uint32_t lcores, uint64_t seeds)
{
	uint64_t lost = 0, delivered = 0;

	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct xrig x = { .hold_bytes = 10000, .mbufs = 511, .lcores = lcores, .idle_ps = 100 * PS_PER_US };
		bool over = seed % 2 == 0;
		struct prng prng;
		char faults[1024];

		prng_init(&prng, seed, 0);
		random_faults(&prng, faults, sizeof(faults));
		kernel_pair_start(&x, faults, 4);
		x.prng = prng;
		random_traffic(&x);
		xrig_run(&x, over ? 40 * PS_PER_MS : 2 * PS_PER_MS + prng_below(&x.prng, PS_PER_MS));
		expect_all_found(&x, seed, over, &lost);
		delivered += x.ports[PAIR_A]->nout + x.ports[PAIR_B]->nout;
		xrig_stop(&x);
	}
	assert_true(lost > 200 && delivered > 500);
}

static void
random_faults_leak_nothing(void **state)
{
	(void)state;
	leak_nothing(1, unit_wide(6, 30, "faults of chance, on one lcore"));
}

static void
random_faults_leak_nothing_on_two_lcores(void **state)
{
	(void)state;
	leak_nothing(2, unit_wide(6, 8, "faults of chance, on two lcores"));
}

/*
 * Twice as many flows as there are slots for, all begun at once: some get one between windows, the others are refused
 * by name.
 */
static void
flows_begun_on_two_lcores_get_slots_or_are_refused(void **state)
{
	struct xrig x = { .lcores = 2, .idle_ps = PS_PER_S };
	uint8_t bytes[XRIG_FRAME_BYTES];
	struct edge_counters sum;

	(void)state;
	kernel_pair_start(&x, "", 20);
	for (uint16_t i = 0; i < 40; i++) {
		port_rig_send(x.ports[PAIR_A], bytes,
			      (uint32_t)kernel_pair_ipv4(&x, PAIR_A, PAIR_B, 17, (uint16_t)(1000 + i), 2000, 100, bytes));
		port_rig_send(x.ports[PAIR_B], bytes,
			      (uint32_t)kernel_pair_ipv4(&x, PAIR_B, PAIR_A, 17, (uint16_t)(1000 + i), 2000, 100, bytes));
	}
	xrig_run(&x, 10 * PS_PER_MS);
	edge_sum(x.edge, &sum);
	assert_int_equal(sum.unplanned_flows, 20);
	assert_int_equal(x.ports[PAIR_A]->nout + x.ports[PAIR_B]->nout, 20);
	assert_int_equal(kernel_pair_counters(&x, PAIR_A).dropped[EDGE_DROP_NO_SLOT] +
				 kernel_pair_counters(&x, PAIR_B).dropped[EDGE_DROP_NO_SLOT],
			 60);
	assert_int_equal(xrig_in_use(&x), 0);
	assert_true(frig_conserves(&x.f));
	xrig_stop(&x);
}

UNIT_TEST(kernel_host_faults)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cut_cable_loses_and_counts),
		cmocka_unit_test(a_corrupt_frame_leaves_with_a_wrong_icrc),
		cmocka_unit_test(a_corrupt_frame_goes_no_further),
		cmocka_unit_test(frames_for_a_host_that_is_gone_are_dropped),
		cmocka_unit_test(random_faults_leak_nothing),
		cmocka_unit_test(random_faults_leak_nothing_on_two_lcores),
		cmocka_unit_test(flows_begun_on_two_lcores_get_slots_or_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
