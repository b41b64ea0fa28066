/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages of generators, and the connections that they share. */
#include <errno.h>
#include <stdlib.h>

#include "common/units.h"
#include "workload/plan_build.h"
#include "workload/traffic/generator.h"

/* So many times its length at its NIC's rate, a message is taken to be under way. */
#define BUSY_FACTOR 4
#define MAX_PAIR_CONNECTIONS (PLAN_FIRST_NOTIFY_SPORT - PLAN_FIRST_TRAFFIC_SPORT)

/* While connections are given. */
struct work {
	struct plan_builder *b;
	const struct traffic *traffic;
	const struct traffic_flow *flows; /* [nflows] */
	uint32_t nflows;
	uint32_t *order;   /* [nflows] by pair and generator */
	uint32_t *flow_of; /* [nflows] connection of each */
	uint32_t *slots;   /* [nnodes] connections at each sending host */
	uint64_t *busy_ps; /* [of the generator that allows most] until when a pair's connections are busy */
};

static int allocate(struct work *w);
static int connect_all(struct work *w);
static int add_messages(struct work *w);

int
plan_add_traffic(struct plan_builder *b)
{
	struct work w = {
		.b = b,
		.traffic = b->options->traffic,
		.flows = b->options->traffic->flows,
		.nflows = (uint32_t)b->options->traffic->nflows,
	};
	int rc = allocate(&w);

	if (rc == 0)
		rc = connect_all(&w);
	if (rc == 0)
		rc = add_messages(&w);
	free(w.order);
	free(w.flow_of);
	free(w.slots);
	free(w.busy_ps);
	return rc < 0 ? err_set(b->err, rc, "out of memory for %u generated flows", w.nflows) : 0;
}

static int
allocate(struct work *w)
{
	int64_t most = 1;

	for (uint32_t i = 0; i < w->traffic->ngenerators; i++)
		most = w->traffic->generators[i]->connections > most ? w->traffic->generators[i]->connections : most;
	w->order = calloc(w->nflows + 1u, sizeof(*w->order));
	w->flow_of = calloc(w->nflows + 1u, sizeof(*w->flow_of));
	w->slots = calloc(w->b->topo->nnodes + 1u, sizeof(*w->slots));
	w->busy_ps = calloc((size_t)most, sizeof(*w->busy_ps));
	if (w->order == NULL || w->flow_of == NULL || w->slots == NULL || w->busy_ps == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < w->nflows; i++)
		w->order[i] = i;
	return 0;
}

static int
compare_pairs(const struct traffic_flow *a, const struct traffic_flow *b)
{
	if (a->src_node != b->src_node)
		return a->src_node < b->src_node ? -1 : 1;
	if (a->src_nic != b->src_nic)
		return a->src_nic < b->src_nic ? -1 : 1;
	if (a->dst_node != b->dst_node)
		return a->dst_node < b->dst_node ? -1 : 1;
	return a->dst_nic < b->dst_nic ? -1 : a->dst_nic > b->dst_nic;
}

static int
by_pair(const void *a, const void *b, void *flows)
{
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct traffic_flow *x = (const struct traffic_flow *)flows + i, *y = (const struct traffic_flow *)flows + j;
	int pairs = compare_pairs(x, y);

	if (pairs != 0)
		return pairs;
	if (x->generator != y->generator)
		return x->generator < y->generator ? -1 : 1;
	if (x->start_ps != y->start_ps)
		return x->start_ps < y->start_ps ? -1 : 1;
	return i < j ? -1 : i > j;
}

static int
by_sender(const void *a, const void *b, void *flows)
{
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct traffic_flow *x = (const struct traffic_flow *)flows + i, *y = (const struct traffic_flow *)flows + j;

	if (x->src_node != y->src_node)
		return x->src_node < y->src_node ? -1 : 1;
	if (x->start_ps != y->start_ps)
		return x->start_ps < y->start_ps ? -1 : 1;
	return i < j ? -1 : i > j;
}

/* How many, from here on in the order, are of one pair and generator. */
static uint32_t
run_length(const struct work *w, uint32_t from)
{
	const struct traffic_flow *first = &w->flows[w->order[from]];
	uint32_t end = from + 1;

	while (end < w->nflows && compare_pairs(first, &w->flows[w->order[end]]) == 0 &&
	       w->flows[w->order[end]].generator == first->generator)
		end++;
	return end - from;
}

/* Ports of a generator begin behind all that those before it may have, whether they send or not. */
static uint32_t
connections_before(const struct work *w, uint32_t generator)
{
	int64_t before = 0;

	for (uint32_t i = 0; i < generator; i++)
		before += w->traffic->generators[i]->connections;
	return before < UINT16_MAX ? (uint32_t)before : UINT16_MAX;
}

/* @param connections  that generators before it may have on the pair. @return 0 or -ENOMEM */
static int
add_connections(struct work *w, const struct traffic_flow *like, uint32_t count, uint32_t connections)
{
	const struct generator *g = w->traffic->generators[like->generator];

	for (uint32_t i = 0; i < count; i++) {
		const struct flow flow = {
			.src_node = like->src_node,
			.dst_node = like->dst_node,
			.src_nic = like->src_nic,
			.dst_nic = like->dst_nic,
			.sport = (uint16_t)(PLAN_FIRST_TRAFFIC_SPORT + connections + i),
			.dport = (uint16_t)g->dport,
			.prio = g->prio < 0 ? w->b->options->data_prio : (uint8_t)g->prio,
			.kind = FLOW_TRAFFIC,
		};
		const struct plan_flow of = { .owner = PLAN_NONE, .slot = w->slots[like->src_node]++ };

		if (plan_add_flow(w->b, &flow, &of) == PLAN_NONE)
			return -ENOMEM;
	}
	return 0;
}

/* The next one in turn that is not likely to be busy; else the one that is free first. */
static uint32_t
pick(const struct work *w, uint32_t count, uint32_t turn, uint64_t now_ps)
{
	uint32_t best = turn % count;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = (turn + i) % count;

		if (w->busy_ps[at] <= now_ps)
			return at;
		if (w->busy_ps[at] < w->busy_ps[best])
			best = at;
	}
	return best;
}

/* Those of one pair and generator, in order of time. */
static void
share_out(struct work *w, uint32_t from, uint32_t length, uint32_t count, uint32_t first)
{
	const struct traffic_flow *like = &w->flows[w->order[from]];
	uint64_t rate_bps = topo_port_of(w->b->topo, like->src_node, like->src_nic)->rate_bps;

	for (uint32_t i = 0; i < count; i++)
		w->busy_ps[i] = 0;
	for (uint32_t i = 0; i < length; i++) {
		const struct traffic_flow *flow = &w->flows[w->order[from + i]];
		uint32_t at = pick(w, count, i, flow->start_ps);
		uint64_t begin_ps = w->busy_ps[at] > flow->start_ps ? w->busy_ps[at] : flow->start_ps;

		w->busy_ps[at] = begin_ps + BUSY_FACTOR * units_serialize_ps(flow->bytes, rate_bps, 0);
		w->flow_of[w->order[from + i]] = first + at;
	}
}

static uint32_t
connections_of(const struct work *w, uint32_t from, uint32_t length)
{
	int64_t most = w->traffic->generators[w->flows[w->order[from]].generator]->connections;

	return length < (uint64_t)most ? length : (uint32_t)most;
}

static int
check_count(const struct work *w)
{
	uint64_t total = w->b->plan->flows.count;

	for (uint32_t i = 0, length; i < w->nflows; i += length) {
		length = run_length(w, i);
		total += connections_of(w, i, length);
	}
	if (total <= PLAN_MAX_FLOWS)
		return 0;
	return err_set(w->b->err, -EINVAL,
		       "generators: %llu connections with all other flows; a run can have %u: lower their connections, or "
		       "name fewer hosts",
		       (unsigned long long)total, PLAN_MAX_FLOWS);
}

static int
connect_all(struct work *w)
{
	int rc;

	qsort_r(w->order, w->nflows, sizeof(*w->order), by_pair, (void *)(uintptr_t)w->flows);
	rc = check_count(w);
	for (uint32_t i = 0, length; rc == 0 && i < w->nflows; i += length) {
		const struct traffic_flow *like = &w->flows[w->order[i]];
		uint32_t connections = connections_before(w, like->generator), count;

		length = run_length(w, i);
		count = connections_of(w, i, length);
		if (connections + count > MAX_PAIR_CONNECTIONS)
			return cfg_fail(
				&w->traffic->generators[like->generator]->where, "connections", w->b->err,
				"a pair of hosts may have %u with those of generators before it; %u in all would be right",
				connections + count, MAX_PAIR_CONNECTIONS);
		rc = add_connections(w, like, count, connections);
		if (rc == 0)
			share_out(w, i, length, count, w->b->plan->flows.count - count);
	}
	return rc;
}

/* Those of one generator and host count from 1. */
static void
number_steps(struct plan *plan, uint32_t nnodes)
{
	for (uint32_t node = 0; node < nnodes; node++) {
		uint32_t steps[TRAFFIC_MAX_GENERATORS] = { 0 };

		for (uint32_t i = plan->first_message[node]; i < plan->first_message[node + 1]; i++)
			plan->messages[i].step = ++steps[plan->messages[i].generator];
	}
}

/* In the order in which hosts send them; a connection's messages follow each other. */
static int
add_messages(struct work *w)
{
	struct plan *plan = w->b->plan;

	plan->messages = calloc(w->nflows + 1u, sizeof(*plan->messages));
	plan->first_message = calloc(w->b->topo->nnodes + 1u, sizeof(*plan->first_message));
	if (plan->messages == NULL || plan->first_message == NULL)
		return -ENOMEM;
	plan->nmessages = w->nflows;
	qsort_r(w->order, w->nflows, sizeof(*w->order), by_sender, (void *)(uintptr_t)w->flows);
	for (uint32_t i = 0; i < w->nflows; i++)
		plan->first_message[w->flows[w->order[i]].src_node + 1]++;
	for (uint32_t node = 0; node < w->b->topo->nnodes; node++)
		plan->first_message[node + 1] += plan->first_message[node];
	for (uint32_t i = w->nflows; i-- > 0;) { /* from the last, so that each knows who is behind it */
		const struct traffic_flow *flow = &w->flows[w->order[i]];
		struct plan_flow *of = &plan->of[w->flow_of[w->order[i]]];

		plan->messages[i] = (struct plan_message){
			.start_ps = flow->start_ps,
			.bytes = flow->bytes,
			.flow = w->flow_of[w->order[i]],
			.generator = flow->generator,
			.next = of->owner,
		};
		of->owner = i;
	}
	number_steps(plan, w->b->topo->nnodes);
	return 0;
}
