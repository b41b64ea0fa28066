/* SPDX-License-Identifier: BSD-3-Clause */
/* The window engine with two trivial nodes on one cable: windows, jumps over idle time, order, ends, threads. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/hash.h"
#include "common/units.h"
#include "dpswitch/fabric/fabric.h"

#define MAX_WINDOWS 100000
#define RATE 100000000000ULL

/* Sends a frame at each of its times and every arrival back, until a packet's TTL is spent. */
struct echo {
	struct node node; /* first */
	const uint64_t *times;
	uint32_t ntimes, next;
	uint32_t ttl;
	struct window windows[MAX_WINDOWS];
	uint32_t nwindows;
	uint64_t arrivals[64];
	uint32_t narrivals;
	uint64_t free_ps;
	/* the window in which it changes its status, and to what */
	uint64_t status_ps;
	enum node_status status;
	uint64_t progress_until_ps; /* a byte of progress a window until then */
};

struct pair {
	struct topo topo;
	struct topo_node nodes[2];
	struct topo_port ports[2];
	struct fabric_config config;
	struct fabric *fabric;
	struct echo *echo[2];
	struct err err;
	uint64_t changes[8]; /* times at which the hook was told of a change */
	uint32_t nchanges;
	uint64_t collected[8];
	uint32_t ncollected;
	bool interrupt;
};

static struct echo *
echo_of(const struct node *node)
{
	return (struct echo *)(uintptr_t)node;
}

static void
echo_send(struct echo *echo, uint64_t at_ps, uint8_t ttl, const struct window *window)
{
	struct pkt p = { .wire_bytes = 1000, .ttl = ttl };
	uint64_t start_ps = at_ps > echo->free_ps ? at_ps : echo->free_ps;

	echo->free_ps = start_ps + units_serialize_ps(1000, RATE, 0);
	link_send(echo->node.tx[0], window->parity, &p, echo->free_ps);
}

static void
echo_run(struct node *node, const struct window *window)
{
	struct echo *echo = echo_of(node);
	struct pkt *pkts;
	uint32_t count;

	assert_true(echo->nwindows < MAX_WINDOWS);
	echo->windows[echo->nwindows++] = *window;
	link_receive(node->rx[0], window->parity);
	count = link_arrivals(node->rx[0], window->end_ps, &pkts);
	for (uint32_t i = 0; i < count; i++) {
		assert_true(pkts[i].time_ps >= window->start_ps);
		if (echo->narrivals < 64)
			echo->arrivals[echo->narrivals++] = pkts[i].time_ps;
		node->count.rx_packets++;
		node->digest = digest_u64(node->digest, pkts[i].time_ps);
		if (pkts[i].ttl > 1)
			echo_send(echo, pkts[i].time_ps, (uint8_t)(pkts[i].ttl - 1), window);
	}
	link_consume(node->rx[0], count, 0);
	for (; echo->next < echo->ntimes && echo->times[echo->next] < window->end_ps; echo->next++) {
		assert_true(echo->times[echo->next] >= window->start_ps);
		echo_send(echo, echo->times[echo->next], (uint8_t)echo->ttl, window);
	}
	node->count.progress += window->start_ps < echo->progress_until_ps;
	if (window->start_ps <= echo->status_ps && echo->status_ps < window->end_ps)
		node->status = echo->status;
}

static uint64_t
echo_next_ps(const struct node *node)
{
	const struct echo *echo = echo_of(node);
	uint64_t next_ps = echo->next < echo->ntimes ? echo->times[echo->next] : TIME_NEVER;

	if (node->status == NODE_RUNNING && echo->status != NODE_RUNNING && echo->status_ps < next_ps)
		next_ps = echo->status_ps;
	return next_ps;
}

static void
echo_held(const struct node *node, uint64_t *packets, uint64_t *bytes)
{
	(void)node;
	(void)packets;
	(void)bytes;
}

static const struct node_ops echo_ops = { .run = echo_run, .next_ps = echo_next_ps, .held = echo_held };

/* A cable of 500 ns, receivers of 500 ns: windows of 1 us. */
static void
pair_init(struct pair *pair)
{
	memset(pair, 0, sizeof(*pair));
	pair->topo = (struct topo){ .nodes = pair->nodes, .ports = pair->ports, .nnodes = 2, .nports = 2 };
	for (uint32_t i = 0; i < 2; i++) {
		pair->nodes[i] = (struct topo_node){ .name = "n", .kind = TOPO_SWITCH, .nports = 1, .first_port = i };
		pair->ports[i] = (struct topo_port){
			.node = i,
			.peer = 1 - i,
			.peer_port = 1 - i,
			.rate_bps = RATE,
			.delay_ps = 500 * PS_PER_NS,
		};
		pair->echo[i] = calloc(1, sizeof(*pair->echo[i]));
		assert_non_null(pair->echo[i]);
		pair->echo[i]->status_ps = TIME_NEVER;
		pair->echo[i]->ttl = 1;
	}
	pair->config = (struct fabric_config){
		.topo = &pair->topo,
		.pipeline_ps = 500 * PS_PER_NS,
		.epoch_ps = PS_PER_MS,
		.limit_ps = 10 * PS_PER_US,
		.stall_ps = PS_PER_S,
		.min_frame_bytes = 64,
		.pause_bytes = 84,
		.lcores = 1,
	};
}

static void
pair_start(struct pair *pair)
{
	pair->fabric = fabric_create(&pair->config, &pair->err);
	if (pair->fabric == NULL)
		fail_msg("%s", pair->err.text);
	for (uint32_t i = 0; i < 2; i++) {
		pair->echo[i]->node = (struct node){
			.ops = &echo_ops,
			.id = i,
			.nports = 1,
			.topo = &pair->topo,
			.status = NODE_RUNNING,
		};
		fabric_attach(pair->fabric, &pair->echo[i]->node);
	}
	assert_int_equal(fabric_partition(pair->fabric, &pair->err), 0);
}

static void
pair_stop(struct pair *pair)
{
	fabric_destroy(pair->fabric);
	free(pair->echo[0]);
	free(pair->echo[1]);
}

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
	assert_int_equal(pair.fabric->end_reason, REC_END_LIMIT);
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
ends_by_status(enum node_status status, enum rec_end_reason reason, uint32_t at_node)
{
	struct pair pair;

	pair_init(&pair);
	pair.config.limit_ps = PS_PER_MS;
	pair.echo[0]->status_ps = pair.echo[1]->status_ps = 50 * PS_PER_US + 1;
	pair.echo[1]->status = status;
	/* completion needs both, an error one */
	pair.echo[0]->status = status == NODE_PASSIVE ? NODE_PASSIVE : NODE_RUNNING;
	pair_start(&pair);
	fabric_run(pair.fabric, 0);
	assert_int_equal(pair.fabric->end_reason, reason);
	assert_int_equal(pair.fabric->end_node, at_node);
	assert_in_range(pair.fabric->window.end_ps, 50 * PS_PER_US + 1, 70 * PS_PER_US);
	pair_stop(&pair);
}

static void
a_run_ends_as_its_nodes_say(void **state)
{
	(void)state;
	ends_by_status(NODE_PASSIVE, REC_END_COMPLETE, REC_NONE);
	ends_by_status(NODE_QP_ERROR, REC_END_QP_ERROR, 1);
	ends_by_status(NODE_NO_BUFFER, REC_END_INVARIANT, 1);
}

static void
one_running_node_keeps_the_run_going(void **state)
{
	struct pair pair;

	(void)state;
	pair_init(&pair);
	pair.echo[1]->status_ps = 0;
	pair.echo[1]->status = NODE_PASSIVE;
	pair_start(&pair);
	fabric_run(pair.fabric, 0);
	assert_int_equal(pair.fabric->end_reason, REC_END_LIMIT);
	assert_int_equal(pair.fabric->window.end_ps, 10 * PS_PER_US);
	pair_stop(&pair);
}

static void
without_progress_a_run_stalls(void **state)
{
	struct pair pair;

	(void)state;
	pair_init(&pair);
	pair.config.limit_ps = 100 * PS_PER_MS;
	pair.config.stall_ps = 3 * PS_PER_MS;
	pair.config.epoch_ps = PS_PER_MS / 2;
	pair.echo[0]->progress_until_ps = 4 * PS_PER_MS;
	pair_start(&pair);
	fabric_run(pair.fabric, 0);
	assert_int_equal(pair.fabric->end_reason, REC_END_STALL);
	/* the last progress was in the window that began at 3.5 ms; 3 ms later it is over, seen at once */
	assert_in_range(pair.fabric->window.end_ps, 6500 * PS_PER_US, 6510 * PS_PER_US);
	pair_stop(&pair);
}

/* Nothing is due before 20 ms. */
static bool
due_later(void *ctx, uint64_t now_ps)
{
	(void)ctx;
	return now_ps >= 20 * PS_PER_MS;
}

/* A clock of its own: half as fast as the run's. */
static uint64_t
lived_half(void *ctx)
{
	return ((struct pair *)ctx)->fabric->window.end_ps / 2;
}

/* Silence is no stall while nothing is due; from then on it lasts as long as its clock says. */
static void
a_stall_needs_something_due(void **state)
{
	struct pair pair;

	(void)state;
	pair_init(&pair);
	pair.config.limit_ps = 100 * PS_PER_MS;
	pair.config.stall_ps = 3 * PS_PER_MS;
	pair.config.epoch_ps = PS_PER_MS / 2;
	pair_start(&pair);
	pair.fabric->hooks = (struct fabric_hooks){ .ctx = &pair, .due = due_later };
	fabric_run(pair.fabric, 0);
	assert_int_equal(pair.fabric->end_reason, REC_END_STALL);
	assert_in_range(pair.fabric->window.end_ps, 22 * PS_PER_MS, 23010 * PS_PER_US);
	pair_stop(&pair);
}

static void
silence_has_a_clock_of_its_own(void **state)
{
	struct pair pair;

	(void)state;
	pair_init(&pair);
	pair.config.limit_ps = 100 * PS_PER_MS;
	pair.config.stall_ps = 3 * PS_PER_MS;
	pair.config.epoch_ps = PS_PER_MS / 2;
	pair_start(&pair);
	pair.fabric->hooks = (struct fabric_hooks){ .ctx = &pair, .lived_ps = lived_half };
	fabric_run(pair.fabric, 0);
	assert_int_equal(pair.fabric->end_reason, REC_END_STALL);
	assert_in_range(pair.fabric->window.end_ps, 6 * PS_PER_MS, 6510 * PS_PER_US);
	pair_stop(&pair);
}

static void
collect(void *ctx, uint64_t now_ps)
{
	struct pair *pair = ctx;

	if (pair->ncollected < 8)
		pair->collected[pair->ncollected] = now_ps;
	pair->ncollected++;
}

static bool
interrupted(void *ctx)
{
	return ((struct pair *)ctx)->ncollected >= 3;
}

static void
housekeeping_collects_and_hears_interrupts(void **state)
{
	uint64_t busy[1000];
	struct pair pair;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		busy[i] = i * 500 * PS_PER_NS;
	pair_init(&pair);
	pair.config.limit_ps = PS_PER_MS;
	pair.echo[0]->times = busy;
	pair.echo[0]->ntimes = 1000;
	pair_start(&pair);
	pair.fabric->hooks = (struct fabric_hooks){ .ctx = &pair, .collect = collect, .interrupted = interrupted };
	fabric_run(pair.fabric, 0);
	assert_int_equal(pair.fabric->end_reason, REC_END_INTERRUPT);
	/* every 16 windows of 1 us, and once more at the end */
	assert_int_equal(pair.ncollected, 4);
	assert_int_equal(pair.collected[0], 16 * PS_PER_US);
	assert_int_equal(pair.collected[1], 32 * PS_PER_US);
	assert_int_equal(pair.collected[2], 48 * PS_PER_US);
	assert_int_equal(pair.collected[3], 48 * PS_PER_US);
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
	assert_non_null(strstr(pair.err.text, "timing.pipeline"));
	assert_non_null(strstr(pair.err.text, "timing.pipeline"));
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_follow_each_other_and_are_cut),
		cmocka_unit_test(frames_arrive_in_order_at_their_exact_times),
		cmocka_unit_test(idle_time_is_jumped_but_no_epoch),
		cmocka_unit_test(changes_happen_at_their_exact_times),
		cmocka_unit_test(a_run_ends_as_its_nodes_say),
		cmocka_unit_test(one_running_node_keeps_the_run_going),
		cmocka_unit_test(without_progress_a_run_stalls),
		cmocka_unit_test(a_stall_needs_something_due),
		cmocka_unit_test(silence_has_a_clock_of_its_own),
		cmocka_unit_test(housekeeping_collects_and_hears_interrupts),
		cmocka_unit_test(a_cable_without_delay_is_refused),
		cmocka_unit_test(lcores_have_limits),
		cmocka_unit_test(two_threads_make_the_same_run_as_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
