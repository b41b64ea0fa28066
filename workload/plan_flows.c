/* SPDX-License-Identifier: BSD-3-Clause */
/* From steps to flows: which queue pair, with which ports, carries each message. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire/notify.h"
#include "common/wire/poll.h"
#include "workload/plan_build.h"

#define FIRST_QPN 16u

static int check_messages(const struct plan_builder *b, struct plan_collective *c);
static int choose_ports(struct plan_builder *b, const struct plan_collective *c, const struct collective_config *config,
			uint32_t *sport);
static int make_data_flows(struct plan_builder *b, uint32_t index, uint32_t sport, uint16_t dport);
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
		rc = make_data_flows(b, index, sport, (uint16_t)config->dport);
	if (rc == 0)
		rc = plan_measure(b, index, config);
	c->nflows = b->plan->flows.count - c->first_flow;
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
	plan->flows.flows[index].src_qpn = FIRST_QPN + 2 * index;
	plan->flows.flows[index].dst_qpn = FIRST_QPN + 2 * index + 1;
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
	return x->dport < y->dport ? -1 : x->dport > y->dport;
}

/* Two flows with one 5-tuple: the later one is at fault, unless nobody wrote its port. */
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
			uint32_t peer = coll_step_at(s, r, step)->peer;
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
			const struct coll_step *at = coll_step_at(s, r, step);

			if (at->peer != r && at->channel > most)
				most = at->channel;
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

static int
make_data_flows(struct plan_builder *b, uint32_t index, uint32_t sport, uint16_t dport)
{
	struct plan_collective *c = &b->plan->collectives[index];
	const struct coll_schedule *s = c->schedule;

	for (uint32_t r = 0; r < s->ranks; r++)
		for (uint32_t step = 1; step <= coll_steps(s, r); step++) {
			const struct coll_step *at = coll_step_at(s, r, step);
			struct plan_step *known = &c->steps[plan_at(c, r, step)];
			uint32_t before = c->chains->before[plan_at(c, r, step)];

			known->notify_flow = PLAN_NONE;
			known->flow = before != 0 ? c->steps[plan_at(c, r, before)].flow : PLAN_NONE;
			if (at->peer == r || before != 0)
				continue;
			known->flow = plan_add_flow(b,
						    &(struct flow){
							    .src_node = c->ranks[r].node,
							    .src_nic = c->ranks[r].nic,
							    .dst_node = c->ranks[at->peer].node,
							    .dst_nic = c->ranks[at->peer].nic,
							    .sport = (uint16_t)(sport + at->channel),
							    .dport = dport,
							    .prio = b->options->data_prio,
							    .kind = FLOW_COLLECTIVE,
						    },
						    &(struct plan_flow){
							    .owner = index,
							    .rank = r,
							    .peer = at->peer,
							    .slot = c->ranks[r].slot,
							    .peer_slot = c->ranks[at->peer].slot,
							    .out = c->ranks[r].nout++,
							    .in = c->ranks[at->peer].nin++,
							    .first_step = step,
						    });
			if (known->flow == PLAN_NONE)
				return -ENOMEM;
		}
	return 0;
}

/* Whether some step of the receiver waits for the message. */
static bool
is_awaited(const struct plan_collective *c, uint32_t rank, uint32_t step)
{
	size_t at = plan_at(c, rank, step);

	for (uint32_t i = c->chains->first_waiter[at]; i < c->chains->first_waiter[at + 1]; i++)
		if (c->chains->waiters[i].rank != rank)
			return true;
	return false;
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
			uint32_t peer = coll_step_at(s, r, step)->peer;

			if (!is_awaited(c, r, step))
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
			c->steps[plan_at(c, r, step)].notify_flow = to_peer[peer];
		}
	}
	return 0;
}
