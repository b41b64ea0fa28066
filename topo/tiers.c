/* SPDX-License-Identifier: BSD-3-Clause */
#include "topo/tiers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Breadth first from all hosts. @param queue  [nnodes] */
static void
find_tiers(struct tiers *tiers, const struct topo *topo, uint32_t *queue)
{
	uint32_t head = 0, tail = 0;

	memset(tiers->of, 0xff, topo->nnodes);
	for (uint32_t i = 0; i < topo->nhosts; i++) {
		tiers->of[topo->hosts[i]] = 0;
		queue[tail++] = topo->hosts[i];
	}
	while (head < tail) {
		const struct topo_node *node = &topo->nodes[queue[head]];
		uint8_t below = tiers->of[queue[head++]];

		for (uint16_t i = 0; i < node->nports; i++) {
			uint32_t peer = topo->ports[node->first_port + i].peer;

			if (peer == TOPO_NONE || tiers->of[peer] != 0xff)
				continue;
			tiers->of[peer] = below < TIERS_MAX ? below + 1 : TIERS_MAX;
			queue[tail++] = peer;
		}
	}
	for (uint32_t i = 0; i < topo->nnodes; i++) {
		if (tiers->of[i] == 0xff) /* no host anywhere */
			tiers->of[i] = 1;
		if (tiers->of[i] > tiers->most)
			tiers->most = tiers->of[i];
	}
}

static bool
is_within(const struct tiers *tiers, uint8_t tier, uint32_t node)
{
	return node != TOPO_NONE && tiers->of[node] != 0 && tiers->of[node] <= tier;
}

/* All that are connected with a switch of the tier, which stands for them. @param stack  [nnodes] */
static void
mark(const struct tiers *tiers, const struct topo *topo, uint8_t tier, uint32_t from, uint32_t *stack)
{
	uint32_t *group = tiers->group[tier - 1], top = 0;

	stack[top++] = from;
	group[from] = from;
	while (top != 0) {
		const struct topo_node *node = &topo->nodes[stack[--top]];

		for (uint16_t i = 0; i < node->nports; i++) {
			uint32_t peer = topo->ports[node->first_port + i].peer;

			if (!is_within(tiers, tier, peer) || group[peer] != TOPO_NONE)
				continue;
			group[peer] = from;
			stack[top++] = peer;
		}
	}
}

/*
 * Finds the groups of a tier. Its own switches represent them, the lowest number of each; in a group without any, a
 * switch below does.
 */
static int
find_groups(struct tiers *tiers, const struct topo *topo, uint8_t tier, uint32_t *stack)
{
	uint32_t *group = malloc(topo->nnodes * sizeof(*group));

	tiers->group[tier - 1] = group;
	if (group == NULL)
		return -ENOMEM;
	memset(group, 0xff, topo->nnodes * sizeof(*group)); /* TOPO_NONE */
	for (uint8_t of = tier; of > 0; of--)
		for (uint32_t i = 0; i < topo->nnodes; i++)
			if (tiers->of[i] == of && group[i] == TOPO_NONE)
				mark(tiers, topo, tier, i, stack);
	return 0;
}

int
tiers_init(struct tiers *tiers, const struct topo *topo)
{
	uint32_t *room = malloc(topo->nnodes * sizeof(*room));
	int ret = 0;

	memset(tiers, 0, sizeof(*tiers));
	tiers->of = malloc(topo->nnodes);
	if (room == NULL || tiers->of == NULL)
		ret = -ENOMEM;
	if (ret == 0)
		find_tiers(tiers, topo, room);
	for (uint8_t tier = 1; tier <= tiers->most && ret == 0; tier++)
		ret = find_groups(tiers, topo, tier, room);
	free(room);
	return ret;
}

void
tiers_fini(struct tiers *tiers)
{
	for (uint32_t i = 0; i < TIERS_MAX; i++)
		free(tiers->group[i]);
	free(tiers->of);
	memset(tiers, 0, sizeof(*tiers));
}

bool
tiers_is_uplink(const struct tiers *tiers, const struct topo_port *port)
{
	return tiers->of[port->node] != 0 && port->peer != TOPO_NONE && tiers->of[port->peer] > tiers->of[port->node];
}

uint32_t
tiers_group_of(const struct tiers *tiers, const struct topo *topo, uint8_t tier, uint32_t host_port)
{
	uint32_t leaf = topo->ports[host_port].peer;

	return leaf != TOPO_NONE ? tiers->group[tier - 1][leaf] : TOPO_NONE;
}
