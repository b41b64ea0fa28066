/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of next-hop sets. */
#include "topo/route.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define UNREACHED UINT32_MAX

struct set {
	uint32_t first; /* in members */
	uint32_t count;
};

/*
 * NICs at the same switch are reached alike from everywhere else, so sets are kept per (node, switch with hosts), and
 * equal sets of a node share their members.
 */
struct route_table {
	const struct topo *topo;
	uint32_t *edge_of; /* [nnodes] switch -> its number among switches with hosts, or TOPO_NONE */
	uint32_t *edges;   /* [nedges] switch node ids */
	uint32_t nedges;
	struct set *sets; /* [nnodes * nedges] */
	uint8_t *members; /* port indices */
	uint32_t nmembers, room;
	uint8_t *last_hop;     /* [nports] by global id: the port's own index, for sets of one */
	const bool *withdrawn; /* [nlinks] cables that no way leads over; NULL: none */
	uint32_t *distance;    /* [nnodes] scratch */
	uint32_t *queue;       /* [nnodes] scratch */
};

static int
find_edges(struct route_table *table)
{
	const struct topo *topo = table->topo;

	for (uint32_t i = 0; i < topo->nnodes; i++)
		table->edge_of[i] = TOPO_NONE;
	for (uint32_t p = 0; p < topo->nports; p++) {
		const struct topo_port *port = &topo->ports[p];

		table->last_hop[p] = (uint8_t)port->index;
		if (topo->nodes[port->node].kind != TOPO_SWITCH || topo->nodes[port->peer].kind != TOPO_HOST ||
		    table->edge_of[port->node] != TOPO_NONE)
			continue;
		table->edge_of[port->node] = table->nedges;
		table->edges[table->nedges++] = port->node;
	}
	table->sets = calloc((size_t)topo->nnodes * table->nedges + 1, sizeof(*table->sets));
	return table->sets != NULL ? 0 : -ENOMEM;
}

/* Does a way lead over the cable of this port? Hosts' own cables are always part of it. */
static bool
is_usable(const struct route_table *table, const struct topo_port *port)
{
	return table->withdrawn == NULL || !table->withdrawn[port->link];
}

/* Hops from every switch to target, over switches alone; hosts get one more than their nearest switch. */
static void
measure(struct route_table *table, uint32_t target)
{
	const struct topo *topo = table->topo;
	uint32_t head = 0, tail = 0;

	for (uint32_t i = 0; i < topo->nnodes; i++)
		table->distance[i] = UNREACHED;
	table->distance[target] = 0;
	table->queue[tail++] = target;
	while (head < tail) {
		uint32_t node = table->queue[head++];

		for (uint16_t i = 0; i < topo->nodes[node].nports; i++) {
			const struct topo_port *port = topo_port_of(topo, node, i);
			uint32_t peer = port->peer;

			if (table->distance[peer] != UNREACHED || !is_usable(table, port))
				continue;
			table->distance[peer] = table->distance[node] + 1;
			if (topo->nodes[peer].kind == TOPO_SWITCH)
				table->queue[tail++] = peer;
		}
	}
}

/* Keeps a set of node, shared with an equal one of the node's earlier edges. */
static int
keep_set(struct route_table *table, uint32_t node, uint32_t edge, const uint8_t *ports, uint32_t count)
{
	struct set *sets = &table->sets[(size_t)node * table->nedges];

	for (uint32_t e = edge; e-- > 0;)
		if (sets[e].count == count && memcmp(&table->members[sets[e].first], ports, count) == 0) {
			sets[edge] = sets[e];
			return 0;
		}
	if (table->nmembers + count > table->room) {
		uint32_t room = (table->room + count) * 2;
		uint8_t *members = realloc(table->members, room);

		if (members == NULL)
			return -ENOMEM;
		table->members = members;
		table->room = room;
	}
	memcpy(&table->members[table->nmembers], ports, count);
	sets[edge] = (struct set){ table->nmembers, count };
	table->nmembers += count;
	return 0;
}

static int
fill_edge(struct route_table *table, uint32_t edge)
{
	const struct topo *topo = table->topo;

	measure(table, table->edges[edge]);
	for (uint32_t node = 0; node < topo->nnodes; node++) {
		uint32_t distance = table->distance[node], count = 0;
		uint8_t ports[TOPO_MAX_PORTS];

		if (distance == UNREACHED || distance == 0)
			continue;
		for (uint16_t i = 0; i < topo->nodes[node].nports; i++) {
			const struct topo_port *port = topo_port_of(topo, node, i);

			if (topo->nodes[port->peer].kind == TOPO_SWITCH && table->distance[port->peer] == distance - 1 &&
			    is_usable(table, port))
				ports[count++] = (uint8_t)i;
		}
		if (keep_set(table, node, edge, ports, count) != 0)
			return -ENOMEM;
	}
	return 0;
}

int
route_table_update(struct route_table *table, const bool *withdrawn)
{
	int ret = 0;

	table->withdrawn = withdrawn;
	table->nmembers = 0;
	memset(table->sets, 0, (size_t)table->topo->nnodes * table->nedges * sizeof(*table->sets));
	for (uint32_t edge = 0; ret == 0 && edge < table->nedges; edge++)
		ret = fill_edge(table, edge);
	return ret;
}

struct route_table *
route_table_create(const struct topo *topo)
{
	struct route_table *table = calloc(1, sizeof(*table));

	if (table == NULL)
		return NULL;
	table->topo = topo;
	table->edge_of = calloc(topo->nnodes + 1, sizeof(*table->edge_of));
	table->edges = calloc(topo->nnodes + 1, sizeof(*table->edges));
	table->distance = calloc(topo->nnodes + 1, sizeof(*table->distance));
	table->queue = calloc(topo->nnodes + 1, sizeof(*table->queue));
	table->last_hop = calloc(topo->nports + 1, sizeof(*table->last_hop));
	if (table->edge_of == NULL || table->edges == NULL || table->distance == NULL || table->queue == NULL ||
	    table->last_hop == NULL || find_edges(table) != 0 || route_table_update(table, NULL) != 0) {
		route_table_destroy(table);
		errno = ENOMEM;
		return NULL;
	}
	return table;
}

void
route_table_destroy(struct route_table *table)
{
	if (table == NULL)
		return;
	free(table->edge_of);
	free(table->edges);
	free(table->sets);
	free(table->members);
	free(table->last_hop);
	free(table->distance);
	free(table->queue);
	free(table);
}

uint32_t
route_next_hops(const struct route_table *table, uint32_t node, uint32_t dst, uint16_t dst_nic, const uint8_t **ports)
{
	const struct topo *topo = table->topo;
	const struct topo_port *nic;
	const struct set *set;

	*ports = NULL;
	if (node == dst || dst_nic >= topo->nodes[dst].nports)
		return 0;
	nic = topo_port_of(topo, dst, dst_nic);
	if (nic->peer == node) {
		*ports = &table->last_hop[nic->peer_port];
		return 1;
	}
	if (table->edge_of[nic->peer] == TOPO_NONE)
		return 0;
	set = &table->sets[(size_t)node * table->nedges + table->edge_of[nic->peer]];
	*ports = set->count != 0 ? &table->members[set->first] : NULL;
	return set->count;
}
