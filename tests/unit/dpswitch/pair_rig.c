/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/dpswitch/pair_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/hash.h"
#include "common/units.h"
#include "dpswitch/fabric/fabric.h"

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
	echo->nelsewhere += !pthread_equal(pthread_self(), echo->starter);
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

void
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

void
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
		pair->echo[i]->starter = pthread_self();
		fabric_attach(pair->fabric, &pair->echo[i]->node);
	}
	assert_int_equal(fabric_partition(pair->fabric, &pair->err), 0);
}

void
pair_stop(struct pair *pair)
{
	fabric_destroy(pair->fabric);
	free(pair->echo[0]);
	free(pair->echo[1]);
}
