/* SPDX-License-Identifier: BSD-3-Clause */
/* One direction of a cable: lanes, order, faults, and that nothing is lost uncounted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/units.h"
#include "dpswitch/fabric/link.h"
#include "tests/unit/unit.h"

/* 1000 B at 100 Gbps are 80 ns, 84 B are 6.72 ns; 250 ns hold three frames and the one under way. */
static const struct link_config config = {
	.rate_bps = 100000000000ULL,
	.delay_ps = 2 * PS_PER_US,
	.window_ps = 250 * PS_PER_NS,
	.min_frame_bytes = 1000,
	.pause_bytes = 84,
	.seed = 1,
	.id = 7,
	.rx_port = 3,
};

static void
start(struct link *link)
{
	assert_int_equal(link_init(link, &config), 0);
}

static void
send(struct link *link, uint32_t parity, uint32_t psn, uint64_t done_ps)
{
	const struct pkt p = { .psn = psn, .wire_bytes = 1000, .flow = 5 };

	link_send(link, parity, &p, done_ps);
}

static void
capacity_follows_the_rate(void **state)
{
	struct link link;

	(void)state;
	start(&link);
	assert_int_equal(link.lane_cap, 250 / 80 + 2);
	assert_int_equal(link.pause_ps, 6720);
	/* an XOFF and an XON for each arrival, a storm as fast as the wire takes it */
	assert_int_equal(link.pause_cap, 2 * 5 + 250000 / 6720 + 32);
	assert_int_equal(link.rx_port, 3);
	link_fini(&link);
}

/* 300 frames and 300 PAUSE frames on a cable a hundred windows long, none of them due. */
static void
a_long_cable_holds_what_its_delay_asks_for(void **state)
{
	struct link_config long_cable = config;
	const struct pause_frame *pauses;
	struct link link;
	struct pkt *pkts;

	(void)state;
	long_cable.delay_ps = 100 * config.window_ps;
	assert_int_equal(link_init(&link, &long_cable), 0);
	for (uint32_t window = 0; window < 100; window++) {
		uint64_t start_ps = window * config.window_ps;

		link_receive(&link, window & 1);
		assert_int_equal(link_arrivals(&link, start_ps + config.window_ps, &pkts), 0);
		for (uint32_t i = 0; i < 3; i++) {
			send(&link, window & 1, 3 * window + i, start_ps + (i + 1) * 80 * PS_PER_NS);
			link_send_pause(&link, window & 1, 8, i & 1, start_ps + (i + 1) * 80 * PS_PER_NS);
		}
	}
	link_receive(&link, 0);
	assert_int_equal(link_arrivals(&link, TIME_NEVER, &pkts), 300);
	assert_int_equal(link_pauses(&link, TIME_NEVER, &pauses), 300);
	for (uint32_t i = 0; i < 300; i++) {
		uint64_t sent_ps = i / 3 * config.window_ps + (i % 3 + 1) * 80 * PS_PER_NS;

		assert_int_equal(pkts[i].psn, i);
		assert_int_equal(pkts[i].time_ps, sent_ps + long_cable.delay_ps);
		assert_int_equal(pauses[i].time_ps, sent_ps + long_cable.delay_ps);
	}
	link_fini(&link);
}

/* Arrays begin small, and change places: each grows to what one window brings, at a time when others are small still. */
static void
lanes_grow_to_what_a_window_holds(void **state)
{
	struct link_config wide = config;
	const struct pause_frame *pauses;
	struct link link;
	struct pkt *pkts;
	uint32_t sent = 0, arrived = 0, paused = 0;

	(void)state;
	wide.window_ps = wide.delay_ps = 100 * PS_PER_US;
	assert_int_equal(link_init(&link, &wide), 0);
	assert_int_equal(link.lane_cap, 100000 / 80 + 2);
	for (uint32_t window = 0; window < 12; window++) {
		uint64_t start_ps = window * wide.window_ps;
		uint32_t frames = window % 3 == 2 ? 1250 : window % 3 == 1 ? 40 : 1, npkts, npauses;

		link_receive(&link, window & 1);
		npkts = link_arrivals(&link, start_ps + wide.window_ps, &pkts);
		npauses = link_pauses(&link, start_ps + wide.window_ps, &pauses);
		for (uint32_t i = 0; i < npkts; i++)
			assert_int_equal(pkts[i].psn, arrived++);
		paused += npauses;
		link_consume(&link, npkts, npauses);
		for (uint32_t i = 0; i < frames; i++) {
			send(&link, window & 1, sent++, start_ps + (i + 1) * 80 * PS_PER_NS - 1);
			link_send_pause(&link, window & 1, 8, i & 1, start_ps + (i + 1) * 80 * PS_PER_NS - 1);
		}
	}
	link_receive(&link, 0);
	assert_int_equal(arrived + link_arrivals(&link, TIME_NEVER, &pkts), sent);
	assert_int_equal(paused + link_pauses(&link, TIME_NEVER, &pauses), sent);
	assert_int_equal(link.sent_frames, sent);
	link_fini(&link);
}

/* A delay that ends: frames of a hundred windows are under way, and those behind them neither overtake nor pile up. */
static void
a_cable_that_shrinks_keeps_order_and_rate(void **state)
{
	struct link link;
	struct pkt *pkts;
	uint32_t sent = 0;

	(void)state;
	start(&link);
	link.stretched = true;
	for (uint32_t window = 0; window < 200; window++) {
		link.extra_ps = window < 100 ? 1000 * config.window_ps : 0;
		link_receive(&link, window & 1);
		for (uint32_t i = 0; i < 3; i++)
			send(&link, window & 1, sent++, window * config.window_ps + (i + 1) * 80 * PS_PER_NS);
	}
	link_receive(&link, 0);
	assert_int_equal(link_arrivals(&link, TIME_NEVER, &pkts), sent);
	for (uint32_t i = 1; i < sent; i++) {
		assert_int_equal(pkts[i].psn, i);
		assert_true(pkts[i].time_ps >= pkts[i - 1].time_ps + 80 * PS_PER_NS);
	}
	link_fini(&link);
}

static void
frames_arrive_one_window_later_and_a_delay_after_they_left(void **state)
{
	struct link link;
	struct pkt *pkts;

	(void)state;
	start(&link);
	send(&link, 0, 1, 80000);
	send(&link, 0, 2, 160000);
	assert_int_equal(link_sent_ps(&link, 0), 2080000);
	assert_int_equal(link_sent_ps(&link, 1), TIME_NEVER);
	assert_int_equal(link_ready_ps(&link), TIME_NEVER);
	/* the receiver of the same window must not see them */
	link_receive(&link, 0);
	assert_int_equal(link_arrivals(&link, TIME_NEVER, &pkts), 0);
	link_receive(&link, 1);
	assert_int_equal(link_ready_ps(&link), 2080000);
	/* the end of a window is not part of it */
	assert_int_equal(link_arrivals(&link, 2080000, &pkts), 0);
	assert_int_equal(link_arrivals(&link, 2080001, &pkts), 1);
	assert_int_equal(pkts[0].psn, 1);
	assert_int_equal(pkts[0].time_ps, 2080000);
	link_consume(&link, 1, 0);
	assert_int_equal(link_arrivals(&link, 2160001, &pkts), 1);
	assert_int_equal(pkts[0].psn, 2);
	link_consume(&link, 1, 0);
	assert_int_equal(link_ready_ps(&link), TIME_NEVER);
	link_fini(&link);
}

/* A long cable: many windows are under way at once, and what is not due yet survives the making of room. */
static void
order_holds_over_many_windows(void **state)
{
	struct link link;
	uint64_t done_ps = 0;
	uint32_t sent = 0, got = 0;

	(void)state;
	start(&link);
	for (uint32_t window = 0; window < 1000; window++) {
		uint64_t end_ps = (window + 1) * config.window_ps;
		struct pkt *pkts;
		uint32_t count;

		link_receive(&link, window & 1);
		count = link_arrivals(&link, end_ps, &pkts);
		for (uint32_t i = 0; i < count; i++, got++) {
			assert_int_equal(pkts[i].psn, got);
			assert_int_equal(pkts[i].time_ps, (got + 1) * 80000ULL + config.delay_ps);
		}
		link_consume(&link, count, 0);
		for (; done_ps < end_ps; sent++) {
			done_ps += 80000;
			send(&link, window & 1, sent, done_ps);
		}
	}
	assert_int_equal(sent, 1000 * 250 / 80);
	/* in flight: what left within the last 2 us, and the frame that arrives just when the last window is over */
	assert_int_equal(sent - got, 2000 / 80 + 1);
	link_fini(&link);
}

static void
pauses_travel_beside_frames(void **state)
{
	const struct pause_frame *pauses;
	struct link link;
	struct pkt *pkts;

	(void)state;
	start(&link);
	send(&link, 0, 1, 80000);
	link_send_pause(&link, 0, 1 << 3, true, 50000);
	link_send_pause(&link, 0, 1 << 3, false, 90000);
	assert_int_equal(link_sent_ps(&link, 0), 2050000);
	link_receive(&link, 1);
	assert_int_equal(link_ready_ps(&link), 2050000);
	assert_int_equal(link_pauses(&link, 2050000, &pauses), 0);
	assert_int_equal(link_pauses(&link, 2090000, &pauses), 1);
	assert_int_equal(link_pauses(&link, 2090001, &pauses), 2);
	assert_int_equal(pauses[0].time_ps, 2050000);
	assert_true(pauses[0].xoff);
	assert_false(pauses[1].xoff);
	assert_int_equal(pauses[1].prio_mask, 1 << 3);
	link_consume(&link, 0, 1);
	assert_int_equal(link_pauses(&link, TIME_NEVER, &pauses), 1);
	assert_false(pauses[0].xoff);
	assert_int_equal(link_arrivals(&link, TIME_NEVER, &pkts), 1);
	link_fini(&link);
}

/* Sends 4 frames a window for some windows. @param which  set to those that arrived. @return their number */
static uint32_t
pass(struct link *link, uint32_t windows, uint32_t *corrupt, uint64_t *which)
{
	uint32_t through = 0;

	*corrupt = 0;
	*which = 0;
	for (uint32_t window = 0; window < windows; window++) {
		struct pkt *pkts;
		uint32_t count;

		for (uint32_t i = 0; i < 4; i++)
			send(link, 0, window * 4 + i, (window * 4 + i + 1) * 80000ULL);
		link_receive(link, 1);
		count = link_arrivals(link, TIME_NEVER, &pkts);
		for (uint32_t i = 0; i < count; i++) {
			*corrupt += (pkts[i].flags & PKT_CORRUPT) != 0;
			*which = *which * 1000003 + pkts[i].psn;
		}
		through += count;
		link_consume(link, count, 0);
	}
	return through;
}

static void
loss_is_random_repeatable_and_counted(void **state)
{
	struct link link;
	uint32_t corrupt, through, again;
	uint64_t which, which_again;

	(void)state;
	start(&link);
	link_set_loss(&link, 1);
	assert_int_equal(pass(&link, 10, &corrupt, &which), 0);
	assert_int_equal(link.injected_packets, 40);
	assert_int_equal(link.injected_bytes, 40000);
	link_fini(&link);

	start(&link);
	link_set_loss(&link, 0.25);
	through = pass(&link, 1000, &corrupt, &which);
	/* 4000 draws: the standard deviation is 27 */
	assert_in_range(through, 3000 - 150, 3000 + 150);
	assert_int_equal(link.injected_packets, 4000 - through);
	assert_int_equal(corrupt, 0);
	link_fini(&link);

	start(&link);
	link_set_loss(&link, 0.25);
	again = pass(&link, 1000, &corrupt, &which_again);
	assert_int_equal(again, through);
	assert_true(which == which_again);
	link_fini(&link);
}

static void
corruption_marks_and_delivers(void **state)
{
	struct link link;
	uint32_t corrupt;
	uint64_t which;

	(void)state;
	start(&link);
	link_set_corruption(&link, 1, 0);
	assert_int_equal(pass(&link, 10, &corrupt, &which), 40);
	assert_int_equal(corrupt, 40);
	assert_int_equal(link.corrupted_packets, 40);
	assert_int_equal(link.injected_packets, 0);
	link_fini(&link);
}

/* Frames arrive every 80 ns: in intervals of 800 ns all ten are damaged, or none is. */
static void
bursts_damage_whole_intervals(void **state)
{
	uint32_t damaged[200] = { 0 }, bad = 0;
	struct link link;

	(void)state;
	start(&link);
	link_set_corruption(&link, 0.25, 800000);
	for (uint32_t i = 0; i < 2000; i++) {
		struct pkt *pkts;

		send(&link, 0, i, (i + 1) * 80000ULL);
		link_receive(&link, 1);
		assert_int_equal(link_arrivals(&link, TIME_NEVER, &pkts), 1);
		damaged[pkts[0].time_ps / 800000 % 200] += (pkts[0].flags & PKT_CORRUPT) != 0;
		link_consume(&link, 1, 0);
	}
	for (uint32_t i = 0; i < 200; i++) {
		assert_true(damaged[i] % 10 == 0);
		bad += damaged[i] == 10;
	}
	assert_in_range(bad, 50 - 19, 50 + 19); /* three standard deviations of 200 draws */
	link_fini(&link);
}

static void
loss_may_be_of_some_types_alone(void **state)
{
	struct link link;
	uint32_t corrupt;
	uint64_t which;

	(void)state;
	start(&link);
	link_set_loss(&link, 1);
	link.loss_types = 1u << PKT_CNP;
	assert_int_equal(pass(&link, 10, &corrupt, &which), 40);
	link.loss_types = 1u << PKT_DATA;
	assert_int_equal(pass(&link, 10, &corrupt, &which), 0);
	link_fini(&link);
}

static void
a_cut_loses_what_is_in_flight(void **state)
{
	const struct pause_frame *pauses;
	uint64_t packets = 0, bytes = 0;
	struct link link;
	struct pkt *pkts;

	(void)state;
	start(&link);
	send(&link, 0, 1, 80000);
	link_receive(&link, 1);
	send(&link, 1, 2, 160000);
	link_send_pause(&link, 1, 1 << 3, true, 170000);
	link_in_flight(&link, &packets, &bytes);
	assert_int_equal(packets, 2);
	assert_int_equal(bytes, 2000);
	link_set_down(&link, true);
	assert_int_equal(link.down_packets, 2);
	assert_int_equal(link.down_bytes, 2000);
	send(&link, 1, 3, 240000);
	link_send_pause(&link, 1, 1 << 3, true, 250000);
	assert_int_equal(link.down_packets, 3);
	link_set_down(&link, false);
	link_receive(&link, 0);
	assert_int_equal(link_arrivals(&link, TIME_NEVER, &pkts), 0);
	assert_int_equal(link_pauses(&link, TIME_NEVER, &pauses), 0);
	/* mended, it carries again */
	send(&link, 0, 4, 320000);
	link_receive(&link, 1);
	assert_int_equal(link_arrivals(&link, TIME_NEVER, &pkts), 1);
	assert_int_equal(pkts[0].psn, 4);
	assert_int_equal(link.down_packets, 3);
	link_fini(&link);
}

/* A cable that is longer for a while keeps the order of its frames when it is itself again. */
static void
a_slow_cable_keeps_order(void **state)
{
	const struct pause_frame *pauses;
	struct link link;
	struct pkt *pkts;
	uint64_t before_ps = 0;

	(void)state;
	start(&link);
	link.extra_ps = 10 * PS_PER_US;
	link.jitter_ps = 1 * PS_PER_US;
	link.stretched = true;
	send(&link, 0, 0, 80 * PS_PER_NS);
	send(&link, 0, 1, 160 * PS_PER_NS);
	link_send_pause(&link, 0, 8, true, 170 * PS_PER_NS);
	link_receive(&link, 1);
	assert_int_equal(link_arrivals(&link, 12 * PS_PER_US, &pkts), 0); /* nothing early */
	link.extra_ps = link.jitter_ps = 0;
	send(&link, 1, 2, 300 * PS_PER_NS);
	link_send_pause(&link, 1, 8, false, 310 * PS_PER_NS);
	link_receive(&link, 0);
	assert_int_equal(link_arrivals(&link, 14 * PS_PER_US, &pkts), 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(pkts[i].psn, i);
		assert_in_range(pkts[i].time_ps, before_ps, 14 * PS_PER_US);
		before_ps = pkts[i].time_ps;
	}
	assert_int_equal(link_pauses(&link, 14 * PS_PER_US, &pauses), 2);
	assert_true(pauses[0].xoff && !pauses[1].xoff && pauses[0].time_ps <= pauses[1].time_ps);
	link_consume(&link, 3, 2);
	send(&link, 0, 3, 20 * PS_PER_US);
	link_receive(&link, 1);
	assert_int_equal(link_arrivals(&link, 23 * PS_PER_US, &pkts), 1);
	assert_int_equal(pkts[0].time_ps, 22 * PS_PER_US);
	assert_false(link.stretched);
	link_fini(&link);
}

/* An array serves one cable after another, and is kept while frames are left in it; both lcores end up with as many. */
static void
arrays_go_round(void **state)
{
	struct link_pool pool = { 0 }, other = { 0 };
	struct link_config pooled = config;
	const struct pkt *array;
	struct link a, b;
	struct pkt *pkts;

	(void)state;
	pooled.pool = &pool;
	assert_int_equal(link_init(&a, &pooled), 0);
	assert_int_equal(link_init(&b, &pooled), 0);
	send(&a, 0, 0, 80 * PS_PER_NS);
	send(&a, 0, 1, 160 * PS_PER_NS);
	array = a.lane[0].pkts;
	link_receive(&a, 1);
	assert_int_equal(link_arrivals(&a, 2080001, &pkts), 1);
	assert_ptr_equal(pkts, array);
	link_consume(&a, 1, 0);
	assert_int_equal(pool.count, 0); /* a frame is left */
	send(&a, 1, 2, 300 * PS_PER_NS);
	link_receive(&a, 0);
	assert_int_equal(pool.count, 1); /* it stands before the next one in the other array */
	send(&b, 0, 0, 400 * PS_PER_NS);
	assert_ptr_equal(b.lane[0].pkts, array);
	assert_int_equal(link_arrivals(&a, TIME_NEVER, &pkts), 2);
	assert_int_equal(pkts[0].psn, 1);
	assert_int_equal(pkts[1].psn, 2);
	link_consume(&a, 2, 0);
	link_set_down(&b, true);
	assert_int_equal(b.down_packets, 1);
	send(&b, 0, 1, 480 * PS_PER_NS);
	assert_int_equal(b.down_packets, 2);
	assert_int_equal(pool.count, 2);
	link_pool_even(&other, &pool);
	assert_int_equal(pool.count, 1);
	assert_int_equal(other.count, 1);
	link_fini(&a);
	link_fini(&b);
	link_pool_fini(&pool);
	link_pool_fini(&other);
}

UNIT_TEST(link)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slow_cable_keeps_order),
		cmocka_unit_test(arrays_go_round),
		cmocka_unit_test(capacity_follows_the_rate),
		cmocka_unit_test(a_long_cable_holds_what_its_delay_asks_for),
		cmocka_unit_test(lanes_grow_to_what_a_window_holds),
		cmocka_unit_test(a_cable_that_shrinks_keeps_order_and_rate),
		cmocka_unit_test(frames_arrive_one_window_later_and_a_delay_after_they_left),
		cmocka_unit_test(order_holds_over_many_windows),
		cmocka_unit_test(pauses_travel_beside_frames),
		cmocka_unit_test(loss_is_random_repeatable_and_counted),
		cmocka_unit_test(corruption_marks_and_delivers),
		cmocka_unit_test(bursts_damage_whole_intervals),
		cmocka_unit_test(loss_may_be_of_some_types_alone),
		cmocka_unit_test(a_cut_loses_what_is_in_flight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
