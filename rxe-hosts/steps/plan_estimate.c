/* SPDX-License-Identifier: BSD-3-Clause */
/* Base RTTs, ideal and expected times of everything in the plan, from the configured paths. */
#include <errno.h>
#include <stdlib.h>

#include "rxe-hosts/steps/plan.h"

struct paths {
	struct route_path forward, reverse;
};

static int find_paths(struct plan *plan, const struct plan_network *network, uint32_t flow, struct paths *paths,
		      struct err *err);
static int estimate_collective(struct plan *plan, const struct plan_network *network, struct plan_collective *c,
			       uint64_t *busy_ps, struct err *err);

int
plan_estimate(struct plan *plan, const struct plan_network *network, struct err *err)
{
	const struct topo *topo = network->routing->topo;
	uint64_t *busy_ps = calloc(topo->nports, sizeof(*busy_ps));
	int rc = busy_ps == NULL ? err_set(err, -ENOMEM, "no memory for expected times") : 0;

	for (uint32_t i = 0; i < plan->ncollectives && rc == 0; i++)
		rc = estimate_collective(plan, network, &plan->collectives[i], busy_ps, err);
	for (uint32_t i = 0; i < plan->nbackgrounds && rc == 0; i++) {
		struct plan_background *bg = &plan->backgrounds[i];
		struct paths paths;

		rc = find_paths(plan, network, bg->flow, &paths, err);
		if (rc == 0)
			bg->ideal_ps = expect_ideal_ps(topo, &network->frames, &paths.forward, bg->bytes,
						       plan->of[bg->flow].base_rtt_ps);
	}
	free(busy_ps);
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
	return 0;
}

/* All ranks' steps with one number together: their ACKs meet each other's data. */
static void
estimate_step(const struct plan *plan, const struct plan_network *network, struct plan_collective *c, uint32_t step,
	      const struct paths *paths, struct expect_flow *flows, uint64_t *busy_ps)
{
	const struct topo *topo = network->routing->topo;
	uint32_t ranks = c->schedule->ranks;
	uint64_t ideal_ps = 0, expect_ps = 0;

	for (uint32_t r = 0; r < ranks; r++) {
		uint32_t flow = c->steps[plan_at(c, r, step)].flow;
		const struct paths *path = &paths[flow - c->first_flow];

		flows[r] = (struct expect_flow){
			.bytes = plan_step_bytes(c, r, step),
			.base_rtt_ps = plan->of[flow].base_rtt_ps,
			.forward = &path->forward,
			.reverse = &path->reverse,
		};
	}
	expect_steps(topo, &network->frames, flows, ranks, busy_ps);
	for (uint32_t r = 0; r < ranks; r++) {
		struct plan_step *known = &c->steps[plan_at(c, r, step)];

		known->ideal_ps =
			expect_ideal_ps(topo, &network->frames, flows[r].forward, flows[r].bytes, flows[r].base_rtt_ps);
		known->expect_ps = flows[r].expect_ps;
		if (known->ideal_ps > ideal_ps)
			ideal_ps = known->ideal_ps;
		if (known->expect_ps > expect_ps)
			expect_ps = known->expect_ps;
	}
	c->ideal_ps += ideal_ps;
	c->expect_ps += expect_ps;
}

static int
estimate_collective(struct plan *plan, const struct plan_network *network, struct plan_collective *c, uint64_t *busy_ps,
		    struct err *err)
{
	struct paths *paths = calloc(c->nflows, sizeof(*paths));
	struct expect_flow *flows = calloc(c->schedule->ranks, sizeof(*flows));
	int rc = 0;

	if (paths == NULL || flows == NULL)
		rc = err_set(err, -ENOMEM, "no memory for the paths of %u flows", c->nflows);
	c->least_rtt_ps = UINT64_MAX;
	c->most_rtt_ps = 0;
	for (uint32_t i = 0; i < c->nflows && rc == 0; i++) {
		uint64_t rtt_ps;

		rc = find_paths(plan, network, c->first_flow + i, &paths[i], err);
		rtt_ps = plan->of[c->first_flow + i].base_rtt_ps;
		c->least_rtt_ps = rtt_ps < c->least_rtt_ps ? rtt_ps : c->least_rtt_ps;
		c->most_rtt_ps = rtt_ps > c->most_rtt_ps ? rtt_ps : c->most_rtt_ps;
	}
	c->ideal_ps = 0;
	c->expect_ps = 0;
	for (uint32_t step = 1; step <= coll_max_steps(c->schedule) && rc == 0; step++)
		estimate_step(plan, network, c, step, paths, flows, busy_ps);
	free(paths);
	free(flows);
	return rc;
}
