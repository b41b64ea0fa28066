/* SPDX-License-Identifier: BSD-3-Clause */
/* Which lcore runs which nodes. */
#include <errno.h>
#include <stdlib.h>

#include "dpswitch/fabric/fabric.h"

static bool
is_remote(const struct fabric *fabric, uint32_t node)
{
	return fabric->config.remote != NULL && fabric->config.remote[node];
}

/* A group is a switch with the hosts whose first port leads to it; hosts cost about twice a switch port. */
static uint32_t
group_of(const struct topo *topo, uint32_t node)
{
	return topo->nodes[node].kind == TOPO_HOST ? topo_port_of(topo, node, 0)->peer : node;
}

int
fabric_partition(struct fabric *fabric, struct err *err)
{
	const struct topo *topo = fabric->config.topo;
	uint32_t lcores = fabric->config.lcores;
	uint64_t load[FABRIC_MAX_LCORES] = { 0 };
	uint64_t *weight = calloc(topo->nnodes, sizeof(*weight));
	uint32_t *owner = calloc(topo->nnodes, sizeof(*owner));
	int ret = 0;

	if (lcores == 0 || lcores > FABRIC_MAX_LCORES || weight == NULL || owner == NULL) {
		free(weight);
		free(owner);
		return err_set(err, -EINVAL, "cannot divide %u nodes over %u lcores (1..%u)", topo->nnodes, lcores,
			       FABRIC_MAX_LCORES);
	}
	for (uint32_t i = 0; i < topo->nnodes; i++)
		if (!is_remote(fabric, i))
			weight[group_of(topo, i)] += topo->nodes[i].nports * (topo->nodes[i].kind == TOPO_HOST ? 2 : 1);
	/* Heaviest group first to the lightest lcore; equal weights by node id. */
	for (;;) {
		uint32_t heaviest = 0, lightest = 0;

		for (uint32_t i = 1; i < topo->nnodes; i++)
			if (weight[i] > weight[heaviest])
				heaviest = i;
		if (weight[heaviest] == 0)
			break;
		for (uint32_t i = 1; i < lcores; i++)
			if (load[i] < load[lightest])
				lightest = i;
		load[lightest] += weight[heaviest];
		weight[heaviest] = 0;
		owner[heaviest] = lightest;
	}
	for (uint32_t l = 0; l < lcores; l++) {
		struct fabric_lcore *lcore = &fabric->lcores[l];

		lcore->nodes = calloc(topo->nnodes, sizeof(*lcore->nodes));
		if (lcore->nodes == NULL)
			ret = err_set(err, -ENOMEM, "out of memory for the nodes of %u lcores", lcores);
		for (uint32_t i = 0; ret == 0 && i < topo->nnodes; i++)
			if (owner[group_of(topo, i)] == l && !is_remote(fabric, i))
				lcore->nodes[lcore->nnodes++] = i;
	}
	free(weight);
	free(owner);
	barrier_init(&fabric->barrier, lcores);
	return ret;
}
