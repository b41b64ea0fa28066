/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/fabric/shares.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/minmax.h"
#include "dpswitch/fabric/fabric.h"

static bool
is_remote(const struct shares *shares, uint32_t node)
{
	return shares->remote != NULL && shares->remote[node];
}

static uint32_t
group_of(const struct topo *topo, uint32_t node)
{
	return topo->nodes[node].kind == TOPO_HOST ? topo_port_of(topo, node, 0)->peer : node;
}

int
shares_init(struct shares *shares, const struct topo *topo, const bool *remote, uint32_t lcores)
{
	*shares = (struct shares){
		.topo = topo,
		.remote = remote,
		.lcores = lcores,
		.weight = calloc(topo->nnodes, sizeof(*shares->weight)),
		.owner = calloc(topo->nnodes, sizeof(*shares->owner)),
		.other = calloc(topo->nnodes, sizeof(*shares->other)),
		.seen_packets = calloc(topo->nnodes, sizeof(*shares->seen_packets)),
	};
	if (shares->weight == NULL || shares->owner == NULL || shares->other == NULL || shares->seen_packets == NULL)
		return -ENOMEM;
	/* Hosts cost about twice a switch port. */
	for (uint32_t i = 0; i < topo->nnodes; i++)
		if (!is_remote(shares, i))
			shares->weight[group_of(topo, i)] +=
				topo->nodes[i].nports * (topo->nodes[i].kind == TOPO_HOST ? 2 : 1);
	shares_assign(shares->weight, topo->nnodes, lcores, shares->owner);
	return 0;
}

void
shares_fini(struct shares *shares)
{
	free(shares->weight);
	free(shares->owner);
	free(shares->other);
	free(shares->seen_packets);
	*shares = (struct shares){ 0 };
}

uint64_t
shares_assign(uint64_t *weight, uint32_t count, uint32_t lcores, uint32_t *owner)
{
	uint64_t load[FABRIC_MAX_LCORES] = { 0 }, most = 0;

	for (;;) {
		uint32_t heaviest = 0, lightest = 0;

		for (uint32_t i = 1; i < count; i++)
			if (weight[i] > weight[heaviest])
				heaviest = i;
		if (weight[heaviest] == 0)
			return most;
		for (uint32_t i = 1; i < lcores; i++)
			if (load[i] < load[lightest])
				lightest = i;
		load[lightest] += weight[heaviest];
		most = max_u64(most, load[lightest]);
		weight[heaviest] = 0;
		owner[heaviest] = lightest;
	}
}

/* Packets that arrived at a group's nodes, and ports that were examined. */
static void
weigh(struct shares *shares, struct node *const *nodes, uint64_t windows)
{
	const struct topo *topo = shares->topo;

	for (uint32_t i = 0; i < topo->nnodes; i++) {
		uint64_t packets = is_remote(shares, i) ? 0 : nodes[i]->count.rx_packets;

		if (is_remote(shares, i))
			continue;
		shares->weight[group_of(topo, i)] +=
			packets - shares->seen_packets[i] + windows * topo->nodes[i].nports / FABRIC_PORTS_A_PACKET;
		shares->seen_packets[i] = packets;
	}
}

bool
shares_look(struct shares *shares, struct node *const *nodes, uint64_t windows)
{
	uint64_t load[FABRIC_MAX_LCORES] = { 0 }, now = 0, then;
	uint32_t *was = shares->owner;

	if (windows - shares->seen_windows < SHARES_WINDOWS)
		return false;
	weigh(shares, nodes, windows - shares->seen_windows);
	shares->seen_windows = windows;
	for (uint32_t i = 0; i < shares->topo->nnodes; i++) {
		load[was[i]] += shares->weight[i];
		now = max_u64(now, load[was[i]]);
	}
	memcpy(shares->other, was, shares->topo->nnodes * sizeof(*was));
	then = shares_assign(shares->weight, shares->topo->nnodes, shares->lcores, shares->other);
	if (then * 100 >= now * SHARES_BETTER_PERCENT)
		return false;
	shares->owner = shares->other;
	shares->other = was;
	return true;
}

/* The nodes of a group that are here. @return their number */
static uint32_t
members_of(const struct shares *shares, uint32_t group, uint32_t *nodes)
{
	const struct topo *topo = shares->topo;
	const struct topo_node *node = &topo->nodes[group];
	uint32_t count = 0;

	if (node->kind != TOPO_HOST && !is_remote(shares, group))
		nodes[count++] = group;
	for (uint16_t port = 0; port < node->nports; port++) {
		const struct topo_port *cable = topo_port_of(topo, group, port);
		uint32_t host = cable->peer;

		/* A host counts once, at its first port: it may have several to this switch. */
		if (topo->nodes[host].kind == TOPO_HOST && topo->nodes[host].first_port == cable->peer_port &&
		    !is_remote(shares, host))
			nodes[count++] = host;
	}
	return count;
}

uint32_t
shares_groups(const struct shares *shares, uint32_t lcore, uint32_t *nodes, struct shares_group *groups)
{
	uint32_t ngroups = 0, nnodes = 0;

	for (uint32_t id = 0; id < shares->topo->nnodes; id++) {
		struct shares_group group = { .from = nnodes, .lcore = lcore };
		uint32_t at = ngroups;

		if (shares->owner[id] != lcore)
			continue;
		group.count = members_of(shares, id, &nodes[nnodes]);
		if (group.count == 0)
			continue;
		for (uint32_t i = 0; i < group.count; i++)
			group.weight +=
				shares->seen_packets[nodes[nnodes + i]] + shares->topo->nodes[nodes[nnodes + i]].nports;
		nnodes += group.count;
		for (; at > 0 && groups[at - 1].weight < group.weight; at--)
			groups[at] = groups[at - 1];
		groups[at] = group;
		ngroups++;
	}
	return ngroups;
}
