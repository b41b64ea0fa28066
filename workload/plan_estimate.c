/* SPDX-License-Identifier: BSD-3-Clause */
/* Base RTTs, ideal and expected times of everything in the plan, from the configured paths. */
#include <errno.h>
#include <stdlib.h>

#include "workload/fluid.h"
#include "workload/plan.h"

struct paths {
	struct route_path forward, reverse;
	uint64_t one_way_ps;
};

/* While a collective's times are found. */
struct estimate {
	struct plan *plan;
	const struct plan_network *network;
	struct plan_collective *collective;
	struct expect_port *ports; /* [of the topology] scratch, zero */
	struct paths *paths;       /* [nflows] */
	struct expect_flow *flows; /* [steps] of those that run together */
	struct fluid_step *fluid;  /* [steps] */
	bool acks;
};

static int find_paths(struct plan *plan, const struct plan_network *network, uint32_t flow, struct paths *paths,
		      struct err *err);
static void judge_rtt(struct plan *plan, uint64_t rtt_ps);
static int estimate_connection(struct plan *plan, const struct plan_network *network, uint32_t flow, struct err *err);
static int estimate_collective(struct plan *plan, const struct plan_network *network, struct plan_collective *c,
			       struct expect_port *ports, struct err *err);

int
plan_estimate(struct plan *plan, const struct plan_network *network, struct err *err)
{
	const struct topo *topo = network->routing->topo;
	struct expect_port *ports = calloc(topo->nports, sizeof(*ports));
	int rc = ports == NULL ? err_set(err, -ENOMEM, "no memory for expected times") : 0;

	for (uint32_t i = 0; i < plan->ncollectives && rc == 0; i++)
		rc = estimate_collective(plan, network, &plan->collectives[i], ports, err);
	for (uint32_t i = 0; i < plan->nbackgrounds && rc == 0; i++) {
		struct plan_background *bg = &plan->backgrounds[i];
		struct paths paths;

		rc = find_paths(plan, network, bg->flow, &paths, err);
		if (rc == 0)
			bg->ideal_ps = expect_ideal_ps(topo, &network->frames, &paths.forward, bg->bytes,
						       plan->of[bg->flow].base_rtt_ps);
		if (rc == 0)
			judge_rtt(plan, plan->of[bg->flow].base_rtt_ps);
	}
	for (uint32_t flow = 0; flow < plan->flows.count && rc == 0; flow++)
		if (plan->of[flow].kind == FLOW_TRAFFIC)
			rc = estimate_connection(plan, network, flow, err);
	free(ports);
	return rc;
}

static void
judge_rtt(struct plan *plan, uint64_t rtt_ps)
{
	if (plan->least_rtt_ps == 0 || rtt_ps < plan->least_rtt_ps)
		plan->least_rtt_ps = rtt_ps;
	if (rtt_ps > plan->most_rtt_ps)
		plan->most_rtt_ps = rtt_ps;
}

static int
estimate_connection(struct plan *plan, const struct plan_network *network, uint32_t flow, struct err *err)
{
	struct paths paths;
	int rc = find_paths(plan, network, flow, &paths, err);

	if (rc == 0)
		judge_rtt(plan, plan->of[flow].base_rtt_ps);
	for (uint32_t i = plan->of[flow].owner; i != PLAN_NONE && rc == 0; i = plan->messages[i].next)
		plan->messages[i].ideal_ps = expect_fct_ps(network->routing->topo, &network->frames, &paths.forward,
							   &paths.reverse, plan->messages[i].bytes, network->pipeline_ps);
	return rc;
}

static int
find_paths(struct plan *plan, const struct plan_network *network, uint32_t flow, struct paths *paths, struct err *err)
{
	const struct topo *topo = network->routing->topo;
	const struct flow *f = &plan->flows.flows[flow];
	int rc = route_flow_path(network->routing, f, false, &paths->forward);

	if (rc == 0)
		rc = route_flow_path(network->routing, f, true, &paths->reverse);
	if (rc != 0)
		return err_set(err, rc, "flow %s->%s/%u>%u has no path: %s", topo->nodes[f->src_node].name,
			       topo->nodes[f->dst_node].name, f->sport, f->dport,
			       rc == -ELOOP ? "it loops" : "the hosts are not connected");
	plan->of[flow].base_rtt_ps =
		route_rtt_ps(topo, &paths->forward, &paths->reverse, network->frames.frame_bytes, network->frames.ack_bytes,
			     network->pipeline_ps, network->frames.quantum_ps);
	paths->one_way_ps = route_one_way_ps(topo, &paths->forward, network->frames.frame_bytes, network->pipeline_ps,
					     network->frames.quantum_ps);
	return 0;
}

static int
find_all_paths(struct estimate *e, struct err *err)
{
	struct plan_collective *c = e->collective;

	c->least_rtt_ps = c->nflows != 0 ? UINT64_MAX : 0;
	c->most_rtt_ps = 0;
	for (uint32_t i = 0; i < c->nflows; i++) {
		int rc = find_paths(e->plan, e->network, c->first_flow + i, &e->paths[i], err);
		uint64_t rtt_ps = e->plan->of[c->first_flow + i].base_rtt_ps;

		if (rc != 0)
			return rc;
		c->least_rtt_ps = rtt_ps < c->least_rtt_ps ? rtt_ps : c->least_rtt_ps;
		c->most_rtt_ps = rtt_ps > c->most_rtt_ps ? rtt_ps : c->most_rtt_ps;
	}
	return 0;
}

/* Steps by depth, in their order: which ones run together. @return [steps], NULL with err set */
static uint32_t *
order_steps(const struct estimate *e, const uint32_t *depths, struct err *err)
{
	uint32_t all = coll_all_steps(e->collective->schedule);
	uint32_t *order = calloc(all + 1u, sizeof(*order)), *first = calloc(all + 2u, sizeof(*first));

	if (order == NULL || first == NULL) {
		err_set(err, -ENOMEM, "no memory for the order of %u steps", all);
		free(order);
		free(first);
		return NULL;
	}
	for (uint32_t i = 0; i < all; i++)
		first[depths[i] + 1]++;
	for (uint32_t d = 1; d <= all + 1; d++)
		first[d] += first[d - 1];
	for (uint32_t i = 0; i < all; i++)
		order[first[depths[i]]++] = i;
	free(first);
	return order;
}

static struct expect_flow
flow_of(const struct estimate *e, uint32_t index)
{
	const struct plan_collective *c = e->collective;
	const struct paths *paths = &e->paths[c->steps[index].flow - c->first_flow];

	return (struct expect_flow){
		.bytes = c->schedule->steps[index].count_elems * coll_elem_bytes(c->type),
		.forward = &paths->forward,
		.reverse = &paths->reverse,
		.base_rtt_ps = e->plan->of[c->steps[index].flow].base_rtt_ps,
	};
}

static void
set_fluid(const struct estimate *e, uint32_t index, const struct expect_flow *flow)
{
	uint32_t of = e->collective->steps[index].flow;

	e->fluid[index] = (struct fluid_step){
		.bytes = flow->bytes,
		.wire_ps = flow->wire_ps,
		.tx_ps = flow->tx_ps,
		.rx_ps = flow->rx_ps,
		.arrive_ps = e->paths[of - e->collective->first_flow].one_way_ps,
		.ack_ps = e->plan->of[of].base_rtt_ps,
		.tx = flow->forward->ports[0],
		.rx = flow->forward->ports[flow->forward->hops - 1],
	};
}

/* What each step of one depth takes when it has its NICs for itself. @return past them in order */
static uint32_t
estimate_together(const struct estimate *e, const uint32_t *order, const uint32_t *depths, uint32_t from)
{
	const struct topo *topo = e->network->routing->topo;
	uint32_t all = coll_all_steps(e->collective->schedule), count = 0, end = from;

	for (; end < all && depths[order[end]] == depths[order[from]]; end++)
		if (e->collective->steps[order[end]].flow != PLAN_NONE)
			e->flows[count++] = flow_of(e, order[end]);
	if (e->acks)
		expect_steps(topo, &e->network->frames, e->flows, count, e->ports);
	else
		for (uint32_t i = 0; i < count; i++)
			expect_ideal_step(topo, &e->network->frames, &e->flows[i]);
	count = 0;
	for (uint32_t i = from; i < end; i++)
		if (e->collective->steps[order[i]].flow != PLAN_NONE)
			set_fluid(e, order[i], &e->flows[count++]);
		else
			e->fluid[order[i]] = (struct fluid_step){
				.wire_ps = e->collective->schedule->steps[order[i]].compute_ps,
				.tx = FLUID_LOCAL,
				.rx = FLUID_LOCAL,
			};
	return end;
}

/* The undisturbed run, with ACKs (what is expected) or without (the ideal). */
static int
run_collective(struct estimate *e, const uint32_t *order, const uint32_t *depths, bool acks, struct err *err)
{
	struct plan_collective *c = e->collective;
	uint32_t all = coll_all_steps(c->schedule);
	int rc;

	e->acks = acks;
	for (uint32_t i = 0; i < all;)
		i = estimate_together(e, order, depths, i);
	rc = fluid_run(c->chains, e->fluid, e->network->routing->topo->nports, acks ? &c->expect_ps : &c->ideal_ps);
	for (uint32_t i = 0; i < all && rc == 0; i++)
		*(acks ? &c->steps[i].expect_ps : &c->steps[i].ideal_ps) = e->fluid[i].takes_ps;
	return rc == 0 ? 0 : err_set(err, rc, "no memory for the expected times of %u steps", all);
}

static int
estimate_collective(struct plan *plan, const struct plan_network *network, struct plan_collective *c,
		    struct expect_port *ports, struct err *err)
{
	size_t all = coll_all_steps(c->schedule);
	struct estimate e = {
		.plan = plan,
		.network = network,
		.collective = c,
		.ports = ports,
		.paths = calloc(c->nflows + 1u, sizeof(*e.paths)),
		.flows = calloc(all + 1, sizeof(*e.flows)),
		.fluid = calloc(all + 1, sizeof(*e.fluid)),
	};
	uint32_t *depths = chains_depths(c->chains), *order = NULL;
	int rc;

	if (e.paths == NULL || e.flows == NULL || e.fluid == NULL || (depths == NULL && errno == ENOMEM))
		rc = err_set(err, -ENOMEM, "no memory for the expected times of %zu steps", all);
	else if (depths == NULL)
		rc = cfg_fail(&c->where, NULL, err, "some of its steps wait for each other: none of them can ever start");
	else
		rc = find_all_paths(&e, err);
	if (rc == 0)
		order = order_steps(&e, depths, err);
	if (rc == 0 && order == NULL)
		rc = -ENOMEM;
	if (rc == 0)
		rc = run_collective(&e, order, depths, false, err);
	if (rc == 0)
		rc = run_collective(&e, order, depths, true, err);
	free(e.paths);
	free(e.flows);
	free(e.fluid);
	free(depths);
	free(order);
	return rc;
}
