/* SPDX-License-Identifier: BSD-3-Clause */
/* Maps steps to flows: the queue pair, with its ports, that carries each message. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/minmax.h"
#include "common/units.h"
#include "common/wire/poll.h"
#include "workload/plan_build.h"
#include "workload/traffic/generator.h"

static int check_messages(const struct plan_builder *b, struct plan_collective *c);
static int choose_ports(struct plan_builder *b, const struct plan_collective *c, const struct collective_config *config,
			uint32_t *sport);
static int check_nics(const struct plan_builder *b, const struct plan_collective *c);
static int make_data_flows(struct plan_builder *b, uint32_t index, const struct collective_config *config, uint32_t sport);
static int sort_by_receiver(const struct plan *plan, struct plan_collective *c);
static int make_control_flows(struct plan_builder *b, uint32_t index, uint32_t *to_peer);

int
plan_make_flows(struct plan_builder *b, uint32_t index, const struct collective_config *config)
{
	struct plan_collective *c = &b->plan->collectives[index];
	uint32_t *to_peer = malloc(c->schedule->ranks * sizeof(*to_peer));
	uint32_t sport;
	int rc = to_peer == NULL ? -ENOMEM : check_messages(b, c);

	if (rc == 0)
		rc = choose_ports(b, c, config, &sport);
	c->first_flow = b->plan->flows.count;
	if (rc == 0)
		rc = config->all_nics ? check_nics(b, c) : 0;
	if (rc == 0)
		rc = make_data_flows(b, index, config, sport);
	if (rc == 0)
		rc = plan_measure(b, index, config);
	c->nflows = b->plan->flows.count - c->first_flow;
	if (rc == 0)
		rc = sort_by_receiver(b->plan, c);
	if (rc == 0 && b->options->notify)
		rc = make_control_flows(b, index, to_peer);
	if (rc == 0 && b->plan->flows.count > PLAN_MAX_FLOWS)
		rc = cfg_fail(&c->where, "algorithm", b->err,
			      "%u flows, one from each rank to each of its peers by each channel, with those of "
			      "collectives before it and "
			      "of control packets; a run can have %u: name fewer ranks or channels, or an algorithm of "
			      "fewer peers",
			      b->plan->flows.count, PLAN_MAX_FLOWS);
	free(to_peer);
	return rc;
}

uint32_t
plan_add_flow(struct plan_builder *b, const struct flow *flow, const struct plan_flow *of)
{
	struct plan *plan = b->plan;
	uint32_t index = plan->flows.count;

	if (index == b->cap) {
		uint32_t cap = b->cap != 0 ? 2 * b->cap : 64;
		struct flow *flows = realloc(plan->flows.flows, cap * sizeof(*flows));

		if (flows != NULL)
			plan->flows.flows = flows;
		struct plan_flow *ofs = realloc(plan->of, cap * sizeof(*ofs));
		if (ofs != NULL)
			plan->of = ofs;
		if (flows == NULL || ofs == NULL)
			return PLAN_NONE;
		b->cap = cap;
	}
	plan->flows.flows[index] = *flow;
	plan->flows.flows[index].src_ip = topo_nic_ip(flow->src_node, flow->src_nic);
	plan->flows.flows[index].dst_ip = topo_nic_ip(flow->dst_node, flow->dst_nic);
	plan->flows.flows[index].src_qpn = PLAN_FIRST_QPN + 2 * index;
	plan->flows.flows[index].dst_qpn = PLAN_FIRST_QPN + 2 * index + 1;
	plan->of[index] = *of;
	plan->of[index].kind = flow->kind;
	plan->flows.count++;
	return index;
}

static int
compare_tuples(const void *a, const void *b, void *flows_arg)
{
	const struct flow *flows = flows_arg;
	const struct flow *x = &flows[*(const uint32_t *)a], *y = &flows[*(const uint32_t *)b];

	if (x->src_ip != y->src_ip)
		return x->src_ip < y->src_ip ? -1 : 1;
	if (x->dst_ip != y->dst_ip)
		return x->dst_ip < y->dst_ip ? -1 : 1;
	if (x->sport != y->sport)
		return x->sport < y->sport ? -1 : 1;
	return ORDER(x->dport, y->dport);
}

/* Two flows have the same 5-tuple: the later one is at fault, unless its port was chosen automatically. */
static int
refuse_pair(const struct plan_builder *b, uint32_t one, uint32_t other)
{
	const struct plan *plan = b->plan;
	uint32_t last = one > other ? one : other;

	if (plan->of[last].kind == FLOW_TRAFFIC)
		last = one + other - last;

	const struct flow *f = &plan->flows.flows[last];
	struct cfg_where where = f->kind == FLOW_BACKGROUND ? plan->backgrounds[plan->of[last].owner].where
							    : plan->collectives[plan->of[last].owner].where;

	return cfg_fail(&where, "sport", b->err, "flow %s->%s/%u>%u exists already; give it another port",
			b->topo->nodes[f->src_node].name, b->topo->nodes[f->dst_node].name, f->sport, f->dport);
}

int
plan_check_tuples(const struct plan_builder *b)
{
	const struct plan *plan = b->plan;
	uint32_t *order = malloc((plan->flows.count + 1) * sizeof(*order));
	int rc = 0;

	if (order == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < plan->flows.count; i++)
		order[i] = i;
	qsort_r(order, plan->flows.count, sizeof(*order), compare_tuples, plan->flows.flows);
	for (uint32_t i = 1; i < plan->flows.count && rc == 0; i++)
		if (compare_tuples(&order[i], &order[i - 1], plan->flows.flows) == 0)
			rc = refuse_pair(b, order[i], order[i - 1]);
	free(order);
	return rc;
}

static int
check_messages(const struct plan_builder *b, struct plan_collective *c)
{
	const struct coll_schedule *s = c->schedule;

	for (uint32_t r = 0; r < s->ranks; r++)
		for (uint32_t step = 1; step <= coll_steps(s, r); step++) {
			uint32_t peer = coll_step_get(s, r, step).peer;
			uint64_t bytes = plan_step_bytes(c, r, step);

			if (peer == r)
				continue;
			if (bytes == 0 || bytes > COLL_MAX_MESSAGE_BYTES)
				return cfg_fail(&c->where, NULL, b->err,
						"step %u of rank %u sends %llu B; a message has 1 B to 2 GiB", step, r,
						(unsigned long long)bytes);
			c->ranks[peer].receives++;
		}
	return 0;
}

static bool
is_between(uint32_t port, uint32_t first, uint32_t last)
{
	return port >= first && port <= last;
}

/* A port a channel, in a row. @param sport  out: of channel 0 */
static int
choose_ports(struct plan_builder *b, const struct plan_collective *c, const struct collective_config *config,
	     uint32_t *sport)
{
	const struct coll_schedule *s = c->schedule;
	uint32_t most = 0, last;

	for (uint32_t r = 0; r < s->ranks; r++)
		for (uint32_t step = 1; step <= coll_steps(s, r); step++) {
			const struct coll_step at = coll_step_get(s, r, step);

			if (at.peer != r && at.channel > most)
				most = at.channel;
		}
	*sport = config->sport != 0 ? (uint32_t)config->sport : b->next_sport;
	if (most > UINT16_MAX - *sport)
		return cfg_fail(&c->where, "sport", b->err, "%u: channel %u would have port %llu; ports end at 65535: %s",
				*sport, most, (unsigned long long)*sport + most,
				config->sport != 0 ? "begin lower" : "give some collectives ports below 49152");
	last = *sport + most;
	if (is_between(POLL_UDP_PORT, *sport, last) || is_between(NOTIFY_UDP_PORT, *sport, last))
		return cfg_fail(&c->where, "sport", b->err,
				"%u: its %u channels have ports up to %u; %u and %u are those of polling and notification "
				"packets",
				*sport, most + 1, last, POLL_UDP_PORT, NOTIFY_UDP_PORT);
	b->next_sport += most + 1;
	return 0;
}

/* @return the NIC that a channel of a rank uses. A bond is one NIC, whatever ports it has. */
static uint16_t
nic_of(const struct plan_builder *b, const struct plan_rank *rank, uint32_t channel)
{
	const struct topo_node *node = &b->topo->nodes[rank->node];

	return node->bonded ? rank->nic : (uint16_t)((rank->nic + channel) % node->nports);
}

/* @return 0; -EINVAL with err set: no channel would use another NIC than its rank's own */
static int
check_nics(const struct plan_builder *b, const struct plan_collective *c)
{
	for (uint32_t r = 0; r < c->schedule->ranks; r++)
		for (uint32_t step = 1; step <= coll_steps(c->schedule, r); step++)
			if (nic_of(b, &c->ranks[r], coll_step_get(c->schedule, r, step).channel) != c->ranks[r].nic)
				return 0;
	return cfg_fail(
		&c->where, "all_nics", b->err,
		"needs hosts with several NICs, and channels of 2 at least: here every channel would use its rank's own");
}

/* @return PLAN_NONE without memory */
static uint32_t
add_data_flow(struct plan_builder *b, uint32_t index, const struct collective_config *config, uint32_t sport, uint32_t rank,
	      uint32_t step)
{
	struct plan_collective *c = &b->plan->collectives[index];
	const struct coll_step at = coll_step_get(c->schedule, rank, step);
	struct plan_rank *from = &c->ranks[rank], *to = &c->ranks[at.peer];
	uint32_t spread = config->all_nics ? at.channel : 0;

	return plan_add_flow(b,
			     &(struct flow){
				     .src_node = from->node,
				     .src_nic = nic_of(b, from, spread),
				     .dst_node = to->node,
				     .dst_nic = nic_of(b, to, spread),
				     .sport = (uint16_t)(sport + at.channel),
				     .dport = (uint16_t)config->dport,
				     .prio = b->options->data_prio,
				     .kind = FLOW_COLLECTIVE,
			     },
			     &(struct plan_flow){
				     .owner = index,
				     .rank = rank,
				     .peer = at.peer,
				     .slot = from->slot,
				     .peer_slot = to->slot,
				     .out = from->nout++,
				     .in = to->nin++,
				     .first_step = step,
			     });
}

static int
make_data_flows(struct plan_builder *b, uint32_t index, const struct collective_config *config, uint32_t sport)
{
	struct plan_collective *c = &b->plan->collectives[index];
	const struct coll_schedule *s = c->schedule;

	for (uint32_t r = 0; r < s->ranks; r++)
		for (uint32_t step = 1; step <= coll_steps(s, r); step++) {
			const struct coll_step at = coll_step_get(s, r, step);
			struct plan_step known = { .flow = PLAN_NONE, .notify_flow = PLAN_NONE };
			uint32_t before = chains_before(c->chains, r, step);

			if (before != 0)
				known.flow = plan_step_at(c, r, before)->flow;
			else if (at.peer != r)
				known.flow = add_data_flow(b, index, config, sport, r, step);
			if (at.peer != r && known.flow == PLAN_NONE)
				return -ENOMEM;
			if (plan_know(c, plan_at(c, r, step), &known) != 0)
				return -ENOMEM;
		}
	return 0;
}

static int
sort_by_receiver(const struct plan *plan, struct plan_collective *c)
{
	uint32_t count = 0;

	c->in_flows = malloc((c->nflows + (size_t)1) * sizeof(*c->in_flows));
	if (c->in_flows == NULL)
		return -ENOMEM;
	for (uint32_t r = 0; r < c->schedule->ranks; r++) {
		c->ranks[r].first_in = count;
		count += c->ranks[r].nin;
	}
	for (uint32_t f = c->first_flow; f < c->first_flow + c->nflows; f++)
		c->in_flows[c->ranks[plan->of[f].peer].first_in + plan->of[f].in] = f;
	return 0;
}

/* @param to_peer  scratch, [ranks] */
static int
make_control_flows(struct plan_builder *b, uint32_t index, uint32_t *to_peer)
{
	struct plan_collective *c = &b->plan->collectives[index];
	const struct coll_schedule *s = c->schedule;

	for (uint32_t r = 0; r < s->ranks; r++) {
		memset(to_peer, 0xff, s->ranks * sizeof(*to_peer));
		for (uint32_t step = 1; step <= coll_steps(s, r); step++) {
			uint32_t peer = coll_step_get(s, r, step).peer;
			struct plan_step known;

			if (plan_needed_by(c, r, step) == 0)
				continue;
			if (to_peer[peer] == PLAN_NONE)
				to_peer[peer] = plan_add_flow(b,
							      &(struct flow){
								      .src_node = c->ranks[r].node,
								      .src_nic = c->ranks[r].nic,
								      .dst_node = c->ranks[peer].node,
								      .dst_nic = c->ranks[peer].nic,
								      .sport = (uint16_t)(PLAN_FIRST_NOTIFY_SPORT + index),
								      .dport = ROCEV2_UDP_PORT,
								      .prio = b->options->control_prio,
								      .kind = FLOW_CONTROL,
							      },
							      &(struct plan_flow){
								      .owner = index,
								      .rank = r,
								      .peer = peer,
								      .slot = c->ranks[r].slot,
								      .peer_slot = c->ranks[peer].slot,
							      });
			if (to_peer[peer] == PLAN_NONE)
				return -ENOMEM;
			known = *plan_step_at(c, r, step);
			known.notify_flow = to_peer[peer];
			if (plan_know(c, plan_at(c, r, step), &known) != 0)
				return -ENOMEM;
		}
	}
	return 0;
}

/* The messages of generators, and the connections that they share. */

/* A message is assumed in flight for this multiple of its length at its NIC's rate. */
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
	return ORDER(a->dst_nic, b->dst_nic);
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
	return ORDER(i, j);
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
	return ORDER(i, j);
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

/* Ports of a generator begin behind all that earlier generators may have, whether they send or not. */
static uint32_t
connections_before(const struct work *w, uint32_t generator)
{
	int64_t before = 0;

	for (uint32_t i = 0; i < generator; i++)
		before += w->traffic->generators[i]->connections;
	return before < UINT16_MAX ? (uint32_t)before : UINT16_MAX;
}

/* @param connections  that earlier generators may have on the pair. @return 0 or -ENOMEM */
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

/* Picks the next in turn that should be free by now; else the one that is free first. */
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

/* Shares the messages of one pair and generator among connections, in order of time. */
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

/* Numbers the messages of each generator and host from 1. */
static void
number_steps(struct plan *plan, uint32_t nnodes)
{
	for (uint32_t node = 0; node < nnodes; node++) {
		uint32_t steps[TRAFFIC_MAX_GENERATORS] = { 0 };

		for (uint32_t i = plan->first_message[node]; i < plan->first_message[node + 1]; i++)
			plan->messages[i].step = ++steps[plan->messages[i].generator];
	}
}

/* Adds the messages in the order in which hosts send them; a connection's messages follow each other. */
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
	for (uint32_t i = w->nflows; i-- > 0;) { /* from the last, so that each has its successor */
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

/* The flows that R-Pingmesh's agents probe by. */

/* A tuple to RoCEv2's port as numbers to sort by. */
struct tuple {
	uint64_t ends; /* both NICs' addresses */
	uint32_t sport;
	uint32_t probe; /* of options->probes; PLAN_NONE: a flow has it already */
};

static int
by_tuple(const void *a, const void *b)
{
	const struct tuple *x = a, *y = b;

	if (x->ends != y->ends)
		return x->ends < y->ends ? -1 : 1;
	if (x->sport != y->sport)
		return x->sport < y->sport ? -1 : 1;
	return x->probe > y->probe ? -1 : x->probe < y->probe; /* flows first */
}

static int
add(struct plan_builder *b, const struct plan_probe *probe)
{
	const struct flow flow = {
		.src_node = probe->src_node,
		.src_nic = probe->src_nic,
		.dst_node = probe->dst_node,
		.dst_nic = probe->dst_nic,
		.sport = probe->sport,
		.dport = ROCEV2_UDP_PORT,
		.prio = b->options->data_prio,
		.kind = FLOW_PROBE,
	};

	if (b->plan->flows.count == PLAN_MAX_FLOWS)
		return err_set(b->err, -EINVAL,
			       "pingmesh: its 5-tuples and the flows of the run are more than %u, which a run can have: "
			       "probe fewer hosts, or for less time",
			       PLAN_MAX_FLOWS);
	return plan_add_flow(b, &flow, &(struct plan_flow){ .owner = PLAN_NONE }) == PLAN_NONE ? -ENOMEM : 0;
}

static uint64_t
ends_of(uint32_t src_ip, uint32_t dst_ip)
{
	return (uint64_t)src_ip << 32 | dst_ip;
}

int
plan_add_probes(struct plan_builder *b)
{
	const struct plan_options *options = b->options;
	uint32_t had = b->plan->flows.count, count = 0;
	struct tuple *tuples = calloc((size_t)had + options->nprobes, sizeof(*tuples));
	int rc = 0;

	if (tuples == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < had; i++) {
		const struct flow *flow = &b->plan->flows.flows[i];

		if (flow->dport == ROCEV2_UDP_PORT)
			tuples[count++] = (struct tuple){ ends_of(flow->src_ip, flow->dst_ip), flow->sport, PLAN_NONE };
	}
	for (uint32_t i = 0; i < options->nprobes; i++) {
		const struct plan_probe *probe = &options->probes[i];

		tuples[count++] = (struct tuple){ ends_of(topo_nic_ip(probe->src_node, probe->src_nic),
							  topo_nic_ip(probe->dst_node, probe->dst_nic)),
						  probe->sport, i };
	}
	qsort(tuples, count, sizeof(*tuples), by_tuple);
	for (uint32_t i = 0; i < count && rc == 0; i++) {
		bool again = i > 0 && tuples[i - 1].ends == tuples[i].ends && tuples[i - 1].sport == tuples[i].sport;

		if (tuples[i].probe != PLAN_NONE && !again)
			rc = add(b, &options->probes[tuples[i].probe]);
	}
	free(tuples);
	return rc;
}
