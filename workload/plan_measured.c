/* SPDX-License-Identifier: BSD-3-Clause */
/* What of a collective is measured: which of its data flows have tags, in which class (FlowPulse, 5.1). */
#include <errno.h>
#include <stdlib.h>

#include "workload/plan_build.h"

static void
mark(struct plan_builder *b, uint32_t flow)
{
	b->plan->of[flow].measured = true;
	b->plan->flows.flows[flow].prio = b->options->measured_prio;
}

/* All channels of a pair. @return 0 or -EINVAL with err set */
static int
mark_pair(struct plan_builder *b, const struct plan_collective *c, const char *text)
{
	struct coll_pair pair;
	bool found = false;

	if (!plan_parse_pair(text, &pair) || pair.from >= c->schedule->ranks || pair.to >= c->schedule->ranks)
		return cfg_fail(&c->where, "measured_pairs", b->err,
				"\"%s\": two of the job's ranks, 0 to %u, as \"0 1\", would be right", text,
				c->schedule->ranks - 1);
	for (uint32_t i = c->first_flow; i < b->plan->flows.count; i++) {
		const struct plan_flow *of = &b->plan->of[i];

		if (of->rank != pair.from || of->peer != pair.to)
			continue;
		mark(b, i);
		found = true;
	}
	if (!found)
		return cfg_fail(&c->where, "measured_pairs", b->err, "\"%s\": rank %u sends nothing to rank %u", text,
				pair.from, pair.to);
	return 0;
}

int
plan_measure(struct plan_builder *b, uint32_t index, const struct collective_config *config)
{
	struct plan_collective *c = &b->plan->collectives[index];
	int rc = 0;

	if (!c->measured && config->measured_pairs.count != 0)
		return cfg_fail(&c->where, "measured_pairs", b->err, "needs measured = true");
	for (size_t i = 0; i < config->measured_pairs.count && rc == 0; i++)
		rc = mark_pair(b, c, config->measured_pairs.items[i]);
	for (uint32_t i = c->first_flow; c->measured && config->measured_pairs.count == 0 && i < b->plan->flows.count; i++)
		mark(b, i);
	return rc;
}

/* The switch at a flow's end. */
static uint32_t
leaf_of(const struct topo *topo, uint32_t node, uint16_t nic)
{
	return topo_port_of(topo, node, nic)->peer;
}

int
plan_check_measured(const struct plan_builder *b)
{
	const struct plan *plan = b->plan;
	uint32_t *first = malloc((b->topo->nnodes + 1u) * sizeof(*first)); /* measured collective at each leaf */
	int rc = 0;

	if (first == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->topo->nnodes; i++)
		first[i] = PLAN_NONE;
	for (uint32_t i = 0; i < plan->flows.count && rc == 0; i++) {
		const struct flow *flow = &plan->flows.flows[i];
		uint32_t leaf, owner = plan->of[i].owner;

		if (!plan->of[i].measured || !plan->collectives[owner].enabled)
			continue;
		leaf = leaf_of(b->topo, flow->dst_node, flow->dst_nic);
		if (leaf == leaf_of(b->topo, flow->src_node, flow->src_nic))
			continue;
		if (first[leaf] == PLAN_NONE)
			first[leaf] = owner;
		if (plan->collectives[first[leaf]].job != plan->collectives[owner].job)
			rc = cfg_fail(&plan->collectives[owner].where, "measured", b->err,
				      "switch %s receives measured data of the jobs \"%s\" and \"%s\", whose iterations it "
				      "could not tell apart: measure one of them, or make them one job",
				      b->topo->nodes[leaf].name, b->workload->jobs[plan->collectives[first[leaf]].job].name,
				      b->workload->jobs[plan->collectives[owner].job].name);
	}
	free(first);
	return rc;
}
