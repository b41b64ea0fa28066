/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traffic without which some problems show nothing: flows from as many NICs, each as fast as its window allows, whose ways have no link in
 * common but what is to be congested, and what comes behind that.
 */
#include "eval/pingmesh/traffic.h"

#include <stdio.h>
#include <string.h>

#include "topo/route.h"

#define TRIES 4000
#define MOST_FLOWS 4
#define FIRST_PORT 20000u

struct chosen {
	const struct pm_case *c;
	struct flow flows[MOST_FLOWS];
	struct route_path paths[MOST_FLOWS];
	uint32_t before[MOST_FLOWS]; /* hops of a path until the place */
	uint32_t count;
};

static struct flow
draw_flow(struct pm_case *c)
{
	const struct topo *topo = c->loaded->topo;
	struct flow flow = { .src_node = topo->hosts[prng_below(&c->prng, topo->nhosts)],
			     .dst_node = topo->hosts[prng_below(&c->prng, topo->nhosts)],
			     .sport = (uint16_t)(FIRST_PORT + prng_below(&c->prng, FIRST_PORT)),
			     .dport = 4791 };

	flow.src_nic = (uint16_t)prng_below(&c->prng, topo->nodes[flow.src_node].nports);
	flow.dst_nic = (uint16_t)prng_below(&c->prng, topo->nodes[flow.dst_node].nports);
	flow.src_ip = topo_nic_ip(flow.src_node, flow.src_nic);
	flow.dst_ip = topo_nic_ip(flow.dst_node, flow.dst_nic);
	return flow;
}

/* @return hops until the flow is where it leaves by the port, or could by a poor choice; UINT32_MAX: it is never there */
static uint32_t
hops_until(const struct pm_case *c, const struct flow *flow, const struct route_path *path, uint32_t port, bool could)
{
	const struct topo *topo = c->loaded->topo;

	for (uint32_t i = 0; i < path->hops; i++) {
		struct route_choice choice;

		if (path->ports[i] == port)
			return i;
		if (!could || topo->ports[path->ports[i]].node != topo->ports[port].node ||
		    route_choose(&c->loaded->routing, topo->ports[port].node, flow, false, &choice) != 0)
			continue;
		for (uint32_t m = 0; m < choice.nmembers; m++)
			if (choice.members[m] == topo->ports[port].index)
				return i;
	}
	return UINT32_MAX;
}

static bool
is_apart(const struct chosen *chosen, const struct route_path *path, uint32_t before)
{
	for (uint32_t f = 0; f < chosen->count; f++)
		for (uint32_t a = 0; a < before; a++)
			for (uint32_t b = 0; b < chosen->before[f]; b++)
				if (path->ports[a] == chosen->paths[f].ports[b])
					return false;
	return true;
}

static const char *
nic_name(const struct topo *topo, uint32_t node, uint16_t nic, char buf[64])
{
	return topo_port_name(topo, topo->nodes[node].first_port + nic, buf);
}

static void
put(struct pm_case *c, const struct pm_problem *problem, const struct flow *flow)
{
	const struct topo *topo = c->loaded->topo;
	char from[64], to[64];

	c->flows_used +=
		(size_t)snprintf(c->flows + c->flows_used, PM_TEXT - c->flows_used,
				 "%s  { src = \"%s\"; dst = \"%s\"; sport = %u; bytes = \"4MB\"; mode = \"repeat\"; start "
				 "= \"%s\"; until = \"%s\"; }",
				 c->flows_used != 0 ? ",\n" : "", nic_name(topo, flow->src_node, flow->src_nic, from),
				 nic_name(topo, flow->dst_node, flow->dst_nic, to), flow->sport,
				 pm_time(c, problem->start_s).text, pm_time(c, PM_DURATION_S).text);
}

bool
pm_traffic(struct pm_case *c, const struct pm_problem *problem, uint32_t port, uint32_t least, bool could)
{
	struct chosen chosen = { .c = c };

	for (uint32_t i = 0; i < TRIES && chosen.count < MOST_FLOWS; i++) {
		struct flow flow = draw_flow(c);
		struct route_path *path = &chosen.paths[chosen.count];

		if (flow.src_node == flow.dst_node || route_flow_path(&c->loaded->routing, &flow, false, path) != 0)
			continue;
		chosen.before[chosen.count] = hops_until(c, &flow, path, port, could);
		if (chosen.before[chosen.count] == UINT32_MAX || !is_apart(&chosen, path, chosen.before[chosen.count]))
			continue;
		chosen.flows[chosen.count++] = flow;
	}
	for (uint32_t i = 0; chosen.count >= least && i < chosen.count; i++)
		put(c, problem, &chosen.flows[i]);
	return chosen.count >= least;
}
