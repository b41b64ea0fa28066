/* SPDX-License-Identifier: BSD-3-Clause */
/* The flows that R-Pingmesh's agents probe by. */
#include <errno.h>
#include <stdlib.h>

#include "workload/plan_build.h"

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
