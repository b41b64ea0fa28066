/* SPDX-License-Identifier: BSD-3-Clause */
/* NICs that fail or are slow, and hosts that stand still. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/rxe-hosts/nic_rig.h"
#include "tests/unit/unit.h"

#define GBPS 1000000000ULL
#define MESSAGE (48 * 1300)

static void
break_nic(uint32_t host, enum nic_failure failure, bool on)
{
	rig.hosts[host].node->ops->fail_nic(rig.hosts[host].node, 0, (uint8_t)failure, on);
}

static uint64_t
faulty(uint32_t host)
{
	return rig.hosts[host].node->ops->nic_faulty(rig.hosts[host].node, 0);
}

static uint64_t
dropped(uint32_t host, enum rec_drop reason)
{
	return rig.hosts[host].node->ops->dropped(rig.hosts[host].node, 0, reason);
}

/* Nothing gets in or out, and no reason is reported; afterwards all is as before. */
static void
a_nic_that_hangs_sends_nothing(void **state)
{
	static const enum nic_failure deaf[] = { NIC_HANGS, NIC_NO_GID };
	uint32_t to = rig_flow(&rig, 0, 0), from = rig_flow(&rig, 1, 0);

	(void)state;
	rig_start(&rig);
	for (uint32_t i = 0; i < 2; i++) {
		break_nic(1, deaf[i], true);
		rig.hosts[0].ndatagrams = rig.hosts[1].ndatagrams = 0;
		assert_int_equal(rig_datagram(&rig, to, PKT_NOTIFY, 1), 0);
		assert_int_equal(rig_datagram(&rig, from, PKT_NOTIFY, 1), 0);
		rig_run(&rig, (5 * i + 3) * PS_PER_US);
		assert_int_equal(rig.hosts[0].ndatagrams + rig.hosts[1].ndatagrams, 0);
		assert_int_equal(faulty(1), 2 * (i + 1));
		break_nic(1, deaf[i], false);
		assert_int_equal(rig_datagram(&rig, to, PKT_NOTIFY, 1), 0);
		assert_int_equal(rig_datagram(&rig, from, PKT_NOTIFY, 1), 0);
		rig_run(&rig, (5 * i + 5) * PS_PER_US);
		assert_int_equal(rig.hosts[0].ndatagrams, 1);
		assert_int_equal(rig.hosts[1].ndatagrams, 1);
	}
	for (uint32_t reason = 0; reason < REC_DROP_REASONS; reason++)
		assert_int_equal(dropped(1, reason), 0);
	assert_true(rig_conserves(&rig));
}

static void
without_routes_it_receives_and_sends_nothing(void **state)
{
	uint32_t to = rig_flow(&rig, 0, 0), from = rig_flow(&rig, 1, 0);

	(void)state;
	rig_start(&rig);
	break_nic(1, NIC_NO_ROUTES, true);
	assert_int_equal(rig_datagram(&rig, to, PKT_NOTIFY, 1), 0);
	assert_int_equal(rig_datagram(&rig, from, PKT_NOTIFY, 1), 0);
	rig_run(&rig, 3 * PS_PER_US);
	assert_int_equal(rig.hosts[1].ndatagrams, 1);
	assert_int_equal(rig.hosts[0].ndatagrams, 0);
	assert_int_equal(dropped(1, REC_DROP_NO_ROUTE), 1);
	assert_true(rig_conserves(&rig));
}

/* Its timer is late by as long as it stood; what came meanwhile is lost, and sent again by its peer. */
static void
a_host_stands_still_and_goes_on(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0);
	struct node *node;

	(void)state;
	rig_start(&rig);
	node = rig.hosts[1].node;
	rig.hosts[1].dev->ops->set_timer(rig.hosts[1].dev, 10 * PS_PER_US);
	node->ops->freeze(node, true, 0);
	assert_true(node->ops->next_ps(node) == TIME_NEVER);
	assert_int_equal(rig_send(&rig, flow, MESSAGE, 7), 0);
	rig_run(&rig, 1 * PS_PER_MS);
	assert_int_equal(rig.hosts[1].timers, 0);
	assert_null(rig_wc(&rig, 1, WC_RECEIVED, 0));
	assert_true(faulty(1) >= 48);
	node->ops->freeze(node, false, rig.window.end_ps);
	rig_run(&rig, 20 * PS_PER_MS);
	assert_int_equal(rig.hosts[1].timers, 1);
	assert_true(rig.hosts[1].timer_ps >= 1 * PS_PER_MS && rig.hosts[1].timer_ps < 1 * PS_PER_MS + 10 * PS_PER_US);
	assert_non_null(rig_wc(&rig, 1, WC_RECEIVED, 0));
	assert_non_null(rig_wc(&rig, 0, WC_SENT, 0));
	assert_true(rig_conserves(&rig));
}

/* What it had begun to send is accounted for up to the end of the window, as that of hosts which run. */
static void
a_host_that_stands_still_has_no_hole_in_its_ledgers(void **state)
{
	uint32_t flow = rig_flow(&rig, 1, 0);
	struct send_times times;
	uint64_t sum_ps = 0;

	(void)state;
	rig_start(&rig);
	assert_int_equal(rig_send(&rig, flow, MESSAGE, 7), 0);
	rig.hosts[1].node->ops->freeze(rig.hosts[1].node, true, 0);
	rig_run(&rig, 1 * PS_PER_MS);
	rig.hosts[1].dev->ops->query_times(rig.hosts[1].dev, flow, &times);
	for (uint32_t i = 0; i < LEDGER_ENTRIES; i++)
		sum_ps += times.ledger_ps[i];
	assert_int_equal(sum_ps, rig.window.end_ps);
}

static void
a_slow_receiver_sends_as_before(void **state)
{
	static const struct nic_dma dma = { .rate_bps = 10 * GBPS, .xoff_bytes = 16384 };
	uint32_t flow = rig_flow(&rig, 0, 0), back = rig_flow(&rig, 1, 0);
	const struct wc *wc;

	(void)state;
	rig_start(&rig);
	rig.hosts[1].node->ops->slow_nic(rig.hosts[1].node, 0, NIC_DMA_DRAIN, &dma);
	assert_int_equal(rig_send(&rig, flow, MESSAGE, 7), 0);
	for (uint32_t us = 1; us <= 100; us++)
		rig_run(&rig, us * PS_PER_US);
	wc = rig_wc(&rig, 1, WC_RECEIVED, 0);
	assert_non_null(wc);
	assert_true(wc->time_ps >= 51763 * NS && wc->time_ps < 54 * PS_PER_US);
	assert_int_equal(rig_send(&rig, back, MESSAGE, 8), 0);
	rig_run(&rig, 200 * PS_PER_US);
	wc = rig_wc(&rig, 0, WC_RECEIVED, 0);
	assert_non_null(wc);
	assert_true(wc->time_ps < 110 * PS_PER_US);
	assert_true(rig_conserves(&rig));
}

/* It takes in at the rate of its DMA; its peer is paused before the buffer is full, and continues at the end. */
static void
slow_dma_pauses_the_peer(void **state)
{
	static const struct nic_dma dma = { .rate_bps = 10 * GBPS, .xoff_bytes = 16384 }, none = { 0 };
	uint32_t flow = rig_flow(&rig, 0, 0), back = rig_flow(&rig, 1, 0);
	struct node *node;
	const struct wc *wc;
	bool paused = false;
	uint64_t acted;

	(void)state;
	rig_start(&rig);
	node = rig.hosts[1].node;
	node->ops->slow_nic(node, 0, NIC_DMA_LINK, &dma);
	assert_int_equal(rig_send(&rig, flow, MESSAGE, 7), 0);
	for (uint32_t us = 1; us <= 100; us++) {
		rig_run(&rig, us * PS_PER_US);
		paused |= rig_nic(0, 0)->paused == 1 << 3;
	}
	wc = rig_wc(&rig, 1, WC_RECEIVED, 0);
	assert_non_null(wc);
	/* 48 frames of 1348 B at 10 Gbps, behind the first one's way */
	assert_true(wc->time_ps >= 51763 * NS && wc->time_ps < 54 * PS_PER_US);
	assert_true(paused);
	assert_int_equal(rig_nic(0, 0)->paused, 0);
	assert_true(faulty(1) > 44);
	/* what it sends is no faster, and the fault acts on that, too */
	acted = faulty(1);
	assert_int_equal(rig_send(&rig, back, MESSAGE, 8), 0);
	rig_run(&rig, 200 * PS_PER_US);
	wc = rig_wc(&rig, 0, WC_RECEIVED, 0);
	assert_non_null(wc);
	assert_true(wc->time_ps >= 100 * PS_PER_US + 51763 * NS && wc->time_ps < 154 * PS_PER_US);
	assert_int_equal(faulty(1) - acted, 48);
	node->ops->slow_nic(node, 0, NIC_DMA_LINK, &none);
	assert_int_equal(rig_send(&rig, flow, MESSAGE, 9), 0);
	rig_run(&rig, 220 * PS_PER_US);
	assert_non_null(rig_wc(&rig, 1, WC_RECEIVED, 1));
	assert_true(rig_wc(&rig, 1, WC_RECEIVED, 1)->time_ps < 209 * PS_PER_US);
	assert_false(rig_nic(1, 0)->ailing);
	assert_true(rig_conserves(&rig));
}

/* A detour costs time, no rate; when it is over nothing overtakes what is still on it. */
static void
a_detour_delays(void **state)
{
	static const struct nic_dma dma = { .delay_ps = 5 * PS_PER_US }, none = { 0 };
	uint32_t flow = rig_flow(&rig, 0, 0);
	struct node *node;
	uint64_t first_ps;

	(void)state;
	rig_start(&rig);
	node = rig.hosts[1].node;
	assert_int_equal(rig_datagram(&rig, flow, PKT_NOTIFY, 1), 0);
	rig_run(&rig, 10 * PS_PER_US);
	first_ps = rig.hosts[1].datagram_ps;
	node->ops->slow_nic(node, 0, NIC_DMA_PATH, &dma);
	assert_int_equal(rig_datagram(&rig, flow, PKT_NOTIFY, 2), 0);
	rig_run(&rig, 20 * PS_PER_US);
	assert_int_equal(rig.hosts[1].datagram_ps, 10 * PS_PER_US + first_ps + 5 * PS_PER_US);
	assert_int_equal(rig_datagram(&rig, flow, PKT_NOTIFY, 3), 0);
	rig_run(&rig, 22 * PS_PER_US);
	node->ops->slow_nic(node, 0, NIC_DMA_PATH, &none);
	rig_run(&rig, 24 * PS_PER_US);
	assert_int_equal(rig.hosts[1].ndatagrams, 3);
	assert_int_equal(rig.hosts[1].datagram.arg, 3);
	assert_false(rig_nic(1, 0)->ailing);
	assert_true(rig_conserves(&rig));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

UNIT_TEST(nic_faults)
{
	const struct CMUnitTest tests[] = {
		T(a_nic_that_hangs_sends_nothing),
		T(without_routes_it_receives_and_sends_nothing),
		T(a_host_stands_still_and_goes_on),
		T(slow_dma_pauses_the_peer),
		T(a_host_that_stands_still_has_no_hole_in_its_ledgers),
		T(a_slow_receiver_sends_as_before),
		T(a_detour_delays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
