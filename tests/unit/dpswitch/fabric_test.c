/* SPDX-License-Identifier: BSD-3-Clause */
/* The window engine: windows, jumps over idle time, order, changes, threads. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/units.h"
#include "dpswitch/fabric/fabric.h"
#include "tests/unit/dpswitch/pair_rig.h"
#include "tests/unit/unit.h"

static void
windows_follow_each_other_and_are_cut(void **state)
{
	/* 1 us windows, cut at the epochs' 2.5, 5 and 7.5 us and at the limit */
	static const uint64_t ends_ns[] = { 1000, 2000, 2500, 3500, 4500, 5000, 6000, 7000, 7500, 8500, 9500, 9700 };
	uint64_t busy[100];
	struct pair pair;

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		busy[i] = i * 97 * PS_PER_NS;
	pair_init(&pair);
	pair.config.epoch_ps = 2500 * PS_PER_NS;
	pair.config.limit_ps = 9700 * PS_PER_NS;
	pair.echo[0]->times = busy;
	pair.echo[0]->ntimes = 100;
	pair_start(&pair);
	assert_int_equal(pair.fabric->window_ps, PS_PER_US);
	fabric_run(pair.fabric, 0);
	assert_int_equal(pair.echo[0]->nwindows, 12);
	for (uint32_t i = 0; i < 12; i++) {
		const struct window *window = &pair.echo[0]->windows[i];

		assert_int_equal(window->start_ps, i == 0 ? 0 : ends_ns[i - 1] * PS_PER_NS);
		assert_int_equal(window->end_ps, ends_ns[i] * PS_PER_NS);
		assert_int_equal(window->index, i);
		assert_int_equal(window->parity, i & 1);
		assert_memory_equal(window, &pair.echo[1]->windows[i], sizeof(*window));
	}
	assert_int_equal(pair.fabric->end_reason, REC_END_VIRTUAL_TIME);
	pair_stop(&pair);
}

static void
frames_arrive_in_order_at_their_exact_times(void **state)
{
	static const uint64_t times[] = { 0, 10000, 10001, 5000000 };
	struct pair pair;

	(void)state;
	pair_init(&pair);
	pair.echo[0]->times = times;
	pair.echo[0]->ntimes = 4;
	pair.echo[0]->ttl = 2;
	pair_start(&pair);
	fabric_run(pair.fabric, 0);
	/* 80 ns on the wire, 1 us to the receiver's queue; the second and third wait for the transmitter */
	assert_int_equal(pair.echo[1]->narrivals, 4);
	assert_int_equal(pair.echo[1]->arrivals[0], 1080000);
	assert_int_equal(pair.echo[1]->arrivals[1], 1160000);
	assert_int_equal(pair.echo[1]->arrivals[2], 1240000);
	assert_int_equal(pair.echo[1]->arrivals[3], 6080000);
	assert_int_equal(pair.echo[0]->narrivals, 4);
	assert_int_equal(pair.echo[0]->arrivals[0], 2160000);
	assert_int_equal(pair.echo[0]->arrivals[3], 7160000);
	pair_stop(&pair);
}

static void
idle_time_is_jumped_but_no_epoch(void **state)
{
	static const uint64_t times[] = { 0, 700 * PS_PER_MS + 1234 };
	struct pair pair;
	uint64_t epochs = 0;

	(void)state;
	pair_init(&pair);
	pair.config.epoch_ps = 100 * PS_PER_MS;
	pair.config.limit_ps = 900 * PS_PER_MS;
	pair.echo[0]->times = times;
	pair.echo[0]->ntimes = 2;
	pair_start(&pair);
	fabric_run(pair.fabric, 0);
	assert_int_equal(pair.echo[1]->narrivals, 2);
	assert_int_equal(pair.echo[1]->arrivals[1], 700 * PS_PER_MS + 1234 + 1080000);
	/* of 900000 windows a handful was run; each epoch began with one */
	assert_true(pair.echo[0]->nwindows < 40);
	for (uint32_t i = 0; i < pair.echo[0]->nwindows; i++)
		epochs += pair.echo[0]->windows[i].start_ps % (100 * PS_PER_MS) == 0;
	assert_int_equal(epochs, 9);
	assert_int_equal(pair.fabric->window.end_ps, 900 * PS_PER_MS);
	pair_stop(&pair);
}

static uint64_t
next_change(void *ctx, uint64_t now_ps)
{
	static const uint64_t due_ps[] = { 1300000, 1300500, 5000000, 800 * PS_PER_MS };

	(void)ctx;
	for (uint32_t i = 0; i < 4; i++)
		if (due_ps[i] >= now_ps)
			return due_ps[i];
	return TIME_NEVER;
}

static void
change(void *ctx, uint64_t now_ps)
{
	struct pair *pair = ctx;

	assert_true(pair->nchanges < 8);
	pair->changes[pair->nchanges++] = now_ps;
}

static void
changes_happen_at_their_exact_times(void **state)
{
	static const uint64_t times[] = { 0 };
	struct pair pair;

	(void)state;
	pair_init(&pair);
	pair.config.limit_ps = 900 * PS_PER_MS;
	pair.echo[0]->times = times;
	pair.echo[0]->ntimes = 1;
	pair_start(&pair);
	pair.fabric->hooks = (struct fabric_hooks){ .ctx = &pair, .next_change_ps = next_change, .change = change };
	fabric_run(pair.fabric, 0);
	assert_int_equal(pair.nchanges, 4);
	assert_int_equal(pair.changes[0], 1300000);
	assert_int_equal(pair.changes[1], 1300500);
	assert_int_equal(pair.changes[2], 5000000);
	assert_int_equal(pair.changes[3], 800 * PS_PER_MS);
	pair_stop(&pair);
}

static void
a_cable_without_delay_is_refused(void **state)
{
	struct pair pair;

	(void)state;
	pair_init(&pair);
	pair.config.pipeline_ps = 0;
	pair.ports[1].delay_ps = 0;
	assert_null(fabric_create(&pair.config, &pair.err));
	assert_non_null(strstr(pair.err.text, "timing.pipeline are together 0 ps"));
	assert_non_null(strstr(pair.err.text, "1000 ps at least"));
	pair_stop(&pair);
}

static void
lcores_have_limits(void **state)
{
	struct pair pair;

	(void)state;
	pair_init(&pair);
	pair_start(&pair);
	pair.fabric->config.lcores = 0;
	assert_true(fabric_partition(pair.fabric, &pair.err) < 0);
	pair.fabric->config.lcores = FABRIC_MAX_LCORES + 1;
	memset(&pair.err, 0, sizeof(pair.err));
	assert_true(fabric_partition(pair.fabric, &pair.err) < 0);
	assert_non_null(strstr(pair.err.text, "65 lcores"));
	pair_stop(&pair);
}

static void *
second_lcore(void *arg)
{
	fabric_run(arg, 1);
	return NULL;
}

/* Two nodes that play ball with 20 packets. @return digest */
static uint64_t
play(uint32_t lcores, uint64_t *hops)
{
	struct fabric_totals totals;
	uint64_t times[20], digest;
	struct pair pair;
	pthread_t thread;

	for (uint32_t i = 0; i < 20; i++)
		times[i] = i * i * 37 * PS_PER_NS;
	pair_init(&pair);
	pair.config.limit_ps = PS_PER_MS / 4;
	pair.config.lcores = lcores;
	pair.echo[0]->times = times;
	pair.echo[0]->ntimes = 20;
	pair.echo[0]->ttl = 200;
	pair_start(&pair);
	if (lcores == 2) {
		assert_int_equal(pair.fabric->lcores[0].nnodes, 1);
		assert_int_equal(pair.fabric->lcores[1].nnodes, 1);
		assert_int_equal(pthread_create(&thread, NULL, second_lcore, pair.fabric), 0);
	}
	fabric_run(pair.fabric, 0);
	if (lcores == 2)
		pthread_join(thread, NULL);
	digest = fabric_digest(pair.fabric);
	fabric_sum(pair.fabric, &totals);
	*hops = totals.hops;
	pair_stop(&pair);
	return digest;
}

static void
two_threads_make_the_same_run_as_one(void **state)
{
	uint64_t hops[3], digest = play(1, &hops[0]);

	(void)state;
	assert_true(hops[0] > 1000);
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(play(2, &hops[1]) == digest);
		assert_int_equal(hops[1], hops[0]);
	}
	assert_true(play(1, &hops[2]) == digest);
}

struct sharing {
	double elsewhere; /* share of nodes' windows that another thread ran */
	bool alone;       /* how the run ended: the first lcore ran windows by itself */
};

/* @param frames  that go to and fro all the time */
static struct sharing
share_windows(uint64_t delay_ps, uint32_t frames)
{
	uint64_t times[400] = { 0 };
	struct sharing sharing;
	struct pair pair;
	pthread_t thread;

	pair_init(&pair);
	pair.ports[0].delay_ps = pair.ports[1].delay_ps = delay_ps;
	pair.config.limit_ps = 400 * delay_ps;
	pair.config.lcores = 2;
	pair.echo[0]->times = times;
	pair.echo[0]->ntimes = frames;
	pair.echo[0]->ttl = 255;
	pair_start(&pair);
	assert_int_equal(pthread_create(&thread, NULL, second_lcore, pair.fabric), 0);
	fabric_run(pair.fabric, 0);
	pthread_join(thread, NULL);
	/* Whoever runs them, each node runs once a window. */
	assert_int_equal(pair.echo[0]->nwindows, pair.fabric->window.index);
	assert_int_equal(pair.echo[1]->nwindows, pair.fabric->window.index);
	assert_true(pair.echo[1]->nwindows > 100);
	sharing.elsewhere = (pair.echo[0]->nelsewhere + pair.echo[1]->nelsewhere) / (2.0 * pair.echo[1]->nwindows);
	sharing.alone = pair.fabric->alone;
	pair_stop(&pair);
	return sharing;
}

static void
windows_with_little_in_them_are_one_lcores(void **state)
{
	struct sharing sharing = share_windows(PS_PER_US, 1);

	(void)state;
	/* all but those before the first look at them */
	assert_true(sharing.alone && sharing.elsewhere <= 2.0 * FABRIC_HOUSEKEEPING / 100);
	assert_false(share_windows(20 * PS_PER_US, 400).alone);
}

struct flow_contention {
	struct barrier barrier;
	uint32_t rounds[2];
};

static void *
arrive_late(void *arg)
{
	struct flow_contention *contention = arg;

	for (uint32_t i = 0; i < 20; i++) {
		clock_sleep_until_ns(clock_now_ns() + (i % 4 == 0 ? 3000000 : 0));
		contention->rounds[1]++;
		barrier_wait(&contention->barrier);
		barrier_wait(&contention->barrier);
	}
	return NULL;
}

static void
who_waits_for_long_sleeps_and_is_woken(void **state)
{
	struct flow_contention contention = { .rounds = { 0 } };
	pthread_t thread;

	(void)state;
	barrier_init(&contention.barrier, 2);
	assert_int_equal(pthread_create(&thread, NULL, arrive_late, &contention), 0);
	for (uint32_t i = 0; i < 20; i++) {
		contention.rounds[0]++;
		barrier_wait(&contention.barrier);
		assert_int_equal(contention.rounds[1], contention.rounds[0]);
		/* the other one sleeps in turn */
		clock_sleep_until_ns(clock_now_ns() + (i % 5 == 0 ? 3000000 : 0));
		barrier_wait(&contention.barrier);
	}
	pthread_join(thread, NULL);
	assert_int_equal(atomic_load(&contention.barrier.sleepers), 0);
}

UNIT_TEST(fabric)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_follow_each_other_and_are_cut),
		cmocka_unit_test(frames_arrive_in_order_at_their_exact_times),
		cmocka_unit_test(idle_time_is_jumped_but_no_epoch),
		cmocka_unit_test(changes_happen_at_their_exact_times),
		cmocka_unit_test(a_cable_without_delay_is_refused),
		cmocka_unit_test(lcores_have_limits),
		cmocka_unit_test(two_threads_make_the_same_run_as_one),
		cmocka_unit_test(windows_with_little_in_them_are_one_lcores),
		cmocka_unit_test(who_waits_for_long_sleeps_and_is_woken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
