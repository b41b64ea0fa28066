/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of next-hop sets, and what follows from it: paths of flows, members of bonds, shares of sprayed packets. */
#include "topo/route.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/units.h"
#include "topo/pins.h"
#include "topo/tiers.h"

#define UNREACHED UINT32_MAX

struct set {
	uint32_t first; /* in members */
	uint32_t count;
};

/*
 * NICs at the same switch are reached alike from everywhere else, so sets are kept per (node, switch with hosts), and
 * equal sets of a node share their members. A bonded host is reached by any of its leaves: bonds with the same leaves
 * are one more such edge. Hosts whose ports lead to the same switches have the same sets, and one row of them.
 */
struct route_table {
	const struct topo *topo;
	void *block;                /* of the arrays of a node or port each */
	uint32_t *edge_of;          /* [nnodes] switch -> its number among switches with hosts, or TOPO_NONE */
	uint32_t *edges;            /* [nedges] node ids: of switches, then of a bonded host for each set of leaves */
	uint32_t nedges, nswitches; /* all; of one switch */
	uint32_t *edge_of_bond;     /* [nnodes] bonded host -> its edge */
	struct set *at_leaf; /* [nports] by global id of a bond's port: those of its host at the same leaf, in leaf_ports */
	uint8_t *leaf_ports; /* [nports] indices on the leaf */
	uint32_t *row_of;    /* [nnodes] of the node's sets */
	uint32_t *owners;    /* [nrows] the first node of each row */
	uint32_t nrows;
	size_t nsets;
	struct set *sets; /* [nrows * nedges] */
	uint8_t *members; /* port indices */
	uint32_t nmembers, room;
	uint8_t *last_hop;     /* [nports] by global id: the port's own index, for sets of one */
	const bool *withdrawn; /* [nlinks] cables that no path uses; NULL: none */
	uint32_t *distance;    /* [nnodes] scratch */
	uint32_t *queue;       /* [nnodes] scratch */
	struct order *order;   /* of up-down routes; NULL: routes are shortest paths */
};

/* Up-down routes: an order of all switches, in which a packet goes up and then down. */
struct order {
	struct tiers tiers;
	void *block;
	uint64_t *sorted;    /* [nswitches of topo] the highest first: its key << 32, and its node id */
	uint32_t *rank;      /* [nnodes] of a switch: its place in sorted */
	uint32_t *component; /* [nnodes] switches that cables connect have the same; of the last tree */
	bool *falls;         /* [nnodes] for the edge that is measured: a path leads down from this switch on */
};

static void
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
		table->edge_of[port->node] = table->nswitches;
		table->edges[table->nswitches++] = port->node;
		table->nedges = table->nswitches;
	}
}

/* Does a path use the cable of this port? Cables of hosts that are not bonded are always part of it. */
static bool
is_usable(const struct route_table *table, const struct topo_port *port)
{
	return table->withdrawn == NULL || !table->withdrawn[port->link];
}

/*
 * Is a bond's port one that its host is reached by? Where all its cables are withdrawn, none of them is worse than
 * others.
 */
static bool
is_member(const struct route_table *table, const struct topo_port *port)
{
	const struct topo_node *host = &table->topo->nodes[port->node];
	bool any = false;

	for (uint32_t p = host->first_port; p < host->first_port + host->nports; p++)
		any |= is_usable(table, &table->topo->ports[p]);
	return !any || is_usable(table, port);
}

/* Finds the nodes where paths to an edge end: its switch, or a bond's leaves. @return their number, at the queue's head */
static uint32_t
find_targets(struct route_table *table, uint32_t edge)
{
	const struct topo_node *host = &table->topo->nodes[table->edges[edge]];
	uint32_t count = 0;

	if (edge < table->nswitches) {
		table->queue[count++] = table->edges[edge];
		table->distance[table->edges[edge]] = 0;
		return count;
	}
	for (uint32_t p = host->first_port; p < host->first_port + host->nports; p++) {
		const struct topo_port *port = &table->topo->ports[p];

		if (table->distance[port->peer] == 0 || !is_member(table, port))
			continue;
		table->distance[port->peer] = 0;
		table->queue[count++] = port->peer;
	}
	return count;
}

static bool
is_above(const struct order *order, uint32_t a, uint32_t b)
{
	return order->rank[a] < order->rank[b];
}

/*
 * Measures distances breadth first from all switches that a path leads down from.
 * @param tail  of the queue, which has the targets
 */
static void
measure_down(struct route_table *table, uint32_t tail)
{
	const struct topo *topo = table->topo;
	struct order *order = table->order;

	memset(order->falls, 0, topo->nnodes * sizeof(*order->falls));
	for (uint32_t head = 0; head < tail; head++) {
		uint32_t node = table->queue[head];

		order->falls[node] = true;
		for (uint16_t i = 0; i < topo->nodes[node].nports; i++) {
			const struct topo_port *port = topo_port_of(topo, node, i);

			if (topo->nodes[port->peer].kind != TOPO_SWITCH || table->distance[port->peer] != UNREACHED ||
			    !is_usable(table, port) || !is_above(order, port->peer, node))
				continue;
			table->distance[port->peer] = table->distance[node] + 1;
			table->queue[tail++] = port->peer;
		}
	}
}

/* One hop more than the nearest peer that is a switch, and above this one. */
static void
measure_up(struct route_table *table, uint32_t node)
{
	const struct topo *topo = table->topo;
	bool is_host = topo->nodes[node].kind == TOPO_HOST;
	uint32_t least = UNREACHED;

	for (uint16_t i = 0; i < topo->nodes[node].nports; i++) {
		const struct topo_port *port = topo_port_of(topo, node, i);

		if (topo->nodes[port->peer].kind == TOPO_SWITCH && is_usable(table, port) &&
		    (is_host || is_above(table->order, port->peer, node)) && table->distance[port->peer] < least)
			least = table->distance[port->peer];
	}
	if (least != UNREACHED)
		table->distance[node] = least + 1;
}

/*
 * Hops by up-down routes. A switch from which a path leads down never sends up, so what arrives from above goes on down:
 * the next hop depends on no more than the destination.
 */
static void
measure_up_down(struct route_table *table, uint32_t tail)
{
	const struct topo *topo = table->topo;

	measure_down(table, tail);
	for (uint32_t i = 0; i < topo->nswitches; i++)
		if (!table->order->falls[(uint32_t)table->order->sorted[i]])
			measure_up(table, (uint32_t)table->order->sorted[i]);
	for (uint32_t h = 0; h < topo->nhosts; h++)
		measure_up(table, topo->hosts[h]);
}

/* Hops from every switch to an edge, over switches alone; hosts get one more than their nearest switch. */
static void
measure(struct route_table *table, uint32_t edge)
{
	const struct topo *topo = table->topo;
	uint32_t head = 0, tail;

	for (uint32_t i = 0; i < topo->nnodes; i++)
		table->distance[i] = UNREACHED;
	tail = find_targets(table, edge);
	if (table->order != NULL) {
		measure_up_down(table, tail);
		return;
	}
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

static struct set *
sets_of(const struct route_table *table, uint32_t node)
{
	return &table->sets[(size_t)table->row_of[node] * table->nedges];
}

/* Keeps a set of node, shared with an equal one of the node's earlier edges. */
static int
keep_set(struct route_table *table, uint32_t node, uint32_t edge, const uint8_t *ports, uint32_t count)
{
	struct set *sets = sets_of(table, node);

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

/* Does a route lead over this port of a node, a hop nearer to the edge that is measured? */
static bool
leads_on(const struct route_table *table, const struct topo_port *port)
{
	const struct order *order = table->order;

	if (table->topo->nodes[port->peer].kind != TOPO_SWITCH ||
	    table->distance[port->peer] != table->distance[port->node] - 1 || !is_usable(table, port))
		return false;
	if (order == NULL || table->topo->nodes[port->node].kind == TOPO_HOST)
		return true;
	return order->falls[port->node] ? order->falls[port->peer] && is_above(order, port->node, port->peer)
					: is_above(order, port->peer, port->node);
}

static int
fill_edge(struct route_table *table, uint32_t edge)
{
	const struct topo *topo = table->topo;

	measure(table, edge);
	for (uint32_t row = 0; row < table->nrows; row++) {
		uint32_t node = table->owners[row], distance = table->distance[node], count = 0;
		uint8_t ports[TOPO_MAX_PORTS];

		if (distance == UNREACHED || distance == 0)
			continue;
		for (uint16_t i = 0; i < topo->nodes[node].nports; i++)
			if (leads_on(table, topo_port_of(topo, node, i)))
				ports[count++] = (uint8_t)i;
		if (keep_set(table, node, edge, ports, count) != 0)
			return -ENOMEM;
	}
	return 0;
}

/* Are two bonded hosts reached by the same leaves? */
static bool
have_same_leaves(const struct route_table *table, uint32_t a, uint32_t b)
{
	const struct topo *topo = table->topo;

	if (topo->nodes[a].nports != topo->nodes[b].nports)
		return false;
	for (uint16_t i = 0; i < topo->nodes[a].nports; i++) {
		const struct topo_port *pa = topo_port_of(topo, a, i), *pb = topo_port_of(topo, b, i);

		if (pa->peer != pb->peer || is_member(table, pa) != is_member(table, pb))
			return false;
	}
	return true;
}

/* Lists, for each leaf of a bonded host, its ports to that host as one set. */
static void
list_leaf_ports(struct route_table *table, uint32_t host, uint32_t *count)
{
	const struct topo *topo = table->topo;
	uint16_t nports = topo->nodes[host].nports;

	for (uint16_t i = 0; i < nports; i++) {
		const struct topo_port *port = topo_port_of(topo, host, i), *other;
		struct set *set = &table->at_leaf[topo->nodes[host].first_port + i];
		uint16_t k = 0;

		while ((other = topo_port_of(topo, host, k))->peer != port->peer)
			k++;
		if (k < i) {
			*set = table->at_leaf[topo->nodes[host].first_port + k];
			continue;
		}
		*set = (struct set){ *count, 0 };
		for (; k < nports; k++) {
			other = topo_port_of(topo, host, k);
			if (other->peer == port->peer && is_member(table, other))
				table->leaf_ports[set->first + set->count++] = (uint8_t)other->peer_index;
		}
		*count += set->count;
	}
}

/* The edges of bonded hosts, as cables are now. */
static void
find_bonds(struct route_table *table)
{
	const struct topo *topo = table->topo;
	uint32_t count = 0;

	table->nedges = table->nswitches;
	for (uint32_t h = 0; topo->nbonds != 0 && h < topo->nhosts; h++) {
		uint32_t host = topo->hosts[h], edge = table->nswitches;

		if (!topo->nodes[host].bonded)
			continue;
		while (edge < table->nedges && !have_same_leaves(table, host, table->edges[edge]))
			edge++;
		if (edge == table->nedges)
			table->edges[table->nedges++] = host;
		table->edge_of_bond[host] = edge;
		list_leaf_ports(table, host, &count);
	}
}

/* Do the ports of two hosts lead to the same switches, as cables are now? */
static bool
have_same_cables(const struct route_table *table, uint32_t a, uint32_t b)
{
	const struct topo *topo = table->topo;

	if (topo->nodes[a].nports != topo->nodes[b].nports)
		return false;
	for (uint16_t i = 0; i < topo->nodes[a].nports; i++) {
		const struct topo_port *pa = topo_port_of(topo, a, i), *pb = topo_port_of(topo, b, i);

		if (pa->peer != pb->peer || is_usable(table, pa) != is_usable(table, pb))
			return false;
	}
	return true;
}

/* A row for each switch, and for hosts that differ from the one before them at their first port's switch. */
static void
find_rows(struct route_table *table)
{
	const struct topo *topo = table->topo;
	uint32_t *latest = table->queue;

	table->nrows = 0;
	for (uint32_t i = 0; i < topo->nnodes; i++)
		latest[i] = TOPO_NONE;
	for (uint32_t node = 0; node < topo->nnodes; node++) {
		bool shares = topo->nodes[node].kind == TOPO_HOST && topo->nodes[node].nports != 0;
		uint32_t *before = shares ? &latest[topo_port_of(topo, node, 0)->peer] : NULL;

		if (shares && *before != TOPO_NONE && have_same_cables(table, *before, node)) {
			table->row_of[node] = table->row_of[*before];
			continue;
		}
		if (shares)
			*before = node;
		table->owners[table->nrows] = node;
		table->row_of[node] = table->nrows++;
	}
}

/* Makes room for a set of every row and edge, all empty. */
static int
clear_sets(struct route_table *table)
{
	size_t nsets = (size_t)table->nrows * table->nedges + 1;

	if (nsets > table->nsets) {
		struct set *sets = realloc(table->sets, nsets * sizeof(*sets));

		if (sets == NULL)
			return -ENOMEM;
		table->sets = sets;
		table->nsets = nsets;
	}
	memset(table->sets, 0, nsets * sizeof(*table->sets));
	table->nmembers = 0;
	return 0;
}

static int
compare_keys(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Sorts all switches by their keys, in ascending order. */
static void
sort_switches(struct route_table *table)
{
	struct order *order = table->order;

	qsort(order->sorted, table->topo->nswitches, sizeof(*order->sorted), compare_keys);
	for (uint32_t i = 0; i < table->topo->nswitches; i++)
		order->rank[(uint32_t)order->sorted[i]] = i;
}

static void
order_by_tiers(struct route_table *table)
{
	const struct topo *topo = table->topo;
	struct order *order = table->order;
	uint32_t count = 0;

	for (uint32_t i = 0; i < topo->nnodes; i++)
		if (topo->nodes[i].kind == TOPO_SWITCH)
			order->sorted[count++] = (uint64_t)(TIERS_MAX - order->tiers.of[i]) << 32 | i;
	sort_switches(table);
}

/* Orders each connected component breadth first from its highest switch. Expects the order by tiers. */
static void
order_by_tree(struct route_table *table)
{
	const struct topo *topo = table->topo;
	struct order *order = table->order;
	uint32_t tail = 0, count = 0;

	for (uint32_t i = 0; i < topo->nnodes; i++)
		table->distance[i] = UNREACHED;
	for (uint32_t root = 0; root < topo->nswitches; root++) {
		uint32_t head = tail, from = (uint32_t)order->sorted[root];

		if (table->distance[from] != UNREACHED)
			continue;
		table->distance[from] = 0;
		table->queue[tail++] = from;
		for (; head < tail; head++) {
			uint32_t node = table->queue[head];

			order->component[node] = from;
			for (uint16_t i = 0; i < topo->nodes[node].nports; i++) {
				const struct topo_port *port = topo_port_of(topo, node, i);

				if (topo->nodes[port->peer].kind != TOPO_SWITCH || !is_usable(table, port) ||
				    table->distance[port->peer] != UNREACHED)
					continue;
				table->distance[port->peer] = table->distance[node] + 1;
				table->queue[tail++] = port->peer;
			}
		}
	}
	for (uint32_t i = 0; i < tail; i++)
		order->sorted[count++] = (uint64_t)table->distance[table->queue[i]] << 32 | table->queue[i];
	sort_switches(table);
}

/* Has each switch with hosts a route to each edge that cables connect it with? */
static bool
reaches_all(struct route_table *table)
{
	const uint32_t *component = table->order->component;

	for (uint32_t edge = 0; edge < table->nedges; edge++) {
		measure(table, edge); /* the head of the queue is a target */
		for (uint32_t e = 0; e < table->nswitches; e++)
			if (table->distance[table->edges[e]] == UNREACHED &&
			    component[table->edges[e]] == component[table->queue[0]])
				return false;
	}
	return true;
}

static void
choose_order(struct route_table *table)
{
	if (table->order == NULL)
		return;
	order_by_tiers(table);
	order_by_tree(table); /* which finds components, too */
	order_by_tiers(table);
	if (!reaches_all(table))
		order_by_tree(table);
}

int
route_table_update(struct route_table *table, const bool *withdrawn)
{
	int ret;

	table->withdrawn = withdrawn;
	find_bonds(table);
	choose_order(table);
	find_rows(table);
	ret = clear_sets(table);
	for (uint32_t edge = 0; ret == 0 && edge < table->nedges; edge++)
		ret = fill_edge(table, edge);
	return ret;
}

static void
order_destroy(struct order *order)
{
	if (order == NULL)
		return;
	tiers_fini(&order->tiers);
	free(order->block);
	free(order);
}

/* @return NULL: out of memory */
static struct order *
order_create(const struct topo *topo)
{
	struct order *order = calloc(1, sizeof(*order));

	if (order == NULL)
		return NULL;
	order->block = slab_alloc(
		(const struct slab_row[]){
			SLAB_ROW(order->sorted, topo->nswitches + 1),
			SLAB_ROW(order->rank, topo->nnodes + 1),
			SLAB_ROW(order->component, topo->nnodes + 1),
			SLAB_ROW(order->falls, topo->nnodes + 1),
		},
		4);
	if (order->block != NULL && tiers_init(&order->tiers, topo) == 0)
		return order;
	order_destroy(order);
	return NULL;
}

struct route_table *
route_table_create(const struct topo *topo, enum route_rule rule)
{
	struct route_table *table = calloc(1, sizeof(*table));

	if (table == NULL)
		return NULL;
	table->topo = topo;
	table->block = slab_alloc(
		(const struct slab_row[]){
			SLAB_ROW(table->edge_of, topo->nnodes + 1),
			SLAB_ROW(table->edges, topo->nnodes + 1),
			SLAB_ROW(table->edge_of_bond, topo->nnodes + 1),
			SLAB_ROW(table->at_leaf, topo->nports + 1),
			SLAB_ROW(table->leaf_ports, topo->nports + 1),
			SLAB_ROW(table->row_of, topo->nnodes + 1),
			SLAB_ROW(table->owners, topo->nnodes + 1),
			SLAB_ROW(table->distance, topo->nnodes + 1),
			SLAB_ROW(table->queue, topo->nnodes + 1),
			SLAB_ROW(table->last_hop, topo->nports + 1),
		},
		10);
	if (table->block == NULL)
		goto fail;
	if (rule == ROUTE_UP_DOWN) {
		table->order = order_create(topo);
		if (table->order == NULL)
			goto fail;
	}
	find_edges(table);
	if (route_table_update(table, NULL) == 0)
		return table;
fail:
	route_table_destroy(table);
	errno = ENOMEM;
	return NULL;
}

void
route_table_destroy(struct route_table *table)
{
	if (table == NULL)
		return;
	order_destroy(table->order);
	free(table->block);
	free(table->sets);
	free(table->members);
	free(table);
}

size_t
route_table_bytes(const struct route_table *table)
{
	return table->nsets * sizeof(*table->sets) + table->room;
}

/* Towards a bond: at one of its leaves the ports to it, elsewhere those to all of its nearest leaves. */
static uint32_t
bond_next_hops(const struct route_table *table, uint32_t node, uint32_t dst, const uint8_t **ports)
{
	const struct topo_node *host = &table->topo->nodes[dst];
	const struct set *set = &sets_of(table, node)[table->edge_of_bond[dst]];
	const uint8_t *members = table->members;

	for (uint32_t p = host->first_port; p < host->first_port + host->nports; p++)
		if (table->topo->ports[p].peer == node && table->at_leaf[p].count != 0) {
			set = &table->at_leaf[p];
			members = table->leaf_ports;
		}
	*ports = set->count != 0 ? &members[set->first] : NULL;
	return set->count;
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
	if (__builtin_expect(topo->nodes[dst].bonded, 0))
		return bond_next_hops(table, node, dst, ports);
	nic = topo_port_of(topo, dst, dst_nic);
	if (nic->peer == node) {
		*ports = &table->last_hop[nic->peer_port];
		return 1;
	}
	if (table->edge_of[nic->peer] == TOPO_NONE)
		return 0;
	set = &sets_of(table, node)[table->edge_of[nic->peer]];
	*ports = set->count != 0 ? &table->members[set->first] : NULL;
	return set->count;
}

/* The path of one flow: choice, path, delay. */

/* @return the fields that switches hash for one direction of a flow */
static struct route_fields
hashed_fields(const struct routing *routing, const struct flow *flow, bool reverse)
{
	const struct route_tuple tuple = route_tuple_of(flow, reverse);

	return route_fields(&routing->hashing, &tuple);
}

static int
choose(const struct routing *routing, uint32_t node, const struct flow *flow, bool reverse,
       const struct route_fields *fields, struct route_choice *choice)
{
	const struct route_pin *pin;
	int pinned;

	*choice = (struct route_choice){ 0 };
	if (routing->topo->nodes[node].kind == TOPO_HOST) {
		choice->port = (uint8_t)(reverse ? flow->dst_nic : flow->src_nic);
		return choice->port < routing->topo->nodes[node].nports ? 0 : -EHOSTUNREACH;
	}
	choice->nmembers = route_next_hops(routing->table, node, reverse ? flow->src_node : flow->dst_node,
					   reverse ? flow->src_nic : flow->dst_nic, &choice->members);
	choice->hash = route_fields_hash(fields, route_switch_seed(&routing->hashing, routing->seed, node));
	pin = route_pins_find(routing->pins, flow);
	pinned = route_pin_egress(pin, routing->topo, node, reverse);
	if (pinned >= 0) {
		choice->port = (uint8_t)pinned;
		choice->is_pinned = true;
		choice->pin = pin->where;
		return 0;
	}
	if (choice->nmembers == 0)
		return -EHOSTUNREACH;
	choice->port = choice->members[route_hash_index(choice->hash, choice->nmembers)];
	return 0;
}

int
route_choose(const struct routing *routing, uint32_t node, const struct flow *flow, bool reverse,
	     struct route_choice *choice)
{
	const struct route_fields fields = hashed_fields(routing, flow, reverse);

	return choose(routing, node, flow, reverse, &fields, choice);
}

int
route_flow_path(const struct routing *routing, const struct flow *flow, bool reverse, struct route_path *path)
{
	uint32_t node = reverse ? flow->dst_node : flow->src_node, dst = reverse ? flow->src_node : flow->dst_node;
	const struct route_fields fields = hashed_fields(routing, flow, reverse);
	struct route_choice choice;

	for (path->hops = 0; path->hops < ROUTE_MAX_HOPS; path->hops++) {
		const struct topo_port *port;
		int rc;

		/* A flow between two NICs of a host leaves it first. */
		if (path->hops != 0 && node == dst)
			return 0;
		/* Only the sender is a host: a packet that reaches another has no path on. */
		if (path->hops != 0 && routing->topo->nodes[node].kind == TOPO_HOST)
			return -EHOSTUNREACH;
		rc = choose(routing, node, flow, reverse, &fields, &choice);
		if (rc != 0)
			return rc;
		port = topo_port_of(routing->topo, node, choice.port);
		path->ports[path->hops] = routing->topo->nodes[node].first_port + choice.port;
		node = port->peer;
	}
	return node == dst ? 0 : -ELOOP;
}

uint64_t
route_one_way_ps(const struct topo *topo, const struct route_path *path, uint32_t frame_bytes, uint64_t pipeline_ps,
		 uint64_t quantum_ps)
{
	uint64_t sum_ps = 0;

	for (uint32_t i = 0; i < path->hops; i++) {
		const struct topo_port *port = &topo->ports[path->ports[i]];

		sum_ps += port->delay_ps + pipeline_ps + units_serialize_ps(frame_bytes, port->rate_bps, quantum_ps);
	}
	return sum_ps;
}

uint64_t
route_rtt_ps(const struct topo *topo, const struct route_path *forward, const struct route_path *reverse,
	     uint32_t frame_bytes, uint32_t reply_bytes, uint64_t pipeline_ps, uint64_t quantum_ps)
{
	return route_one_way_ps(topo, forward, frame_bytes, pipeline_ps, quantum_ps) +
	       route_one_way_ps(topo, reverse, reply_bytes, pipeline_ps, quantum_ps);
}

/* Bonds of hosts. */

uint16_t
bond_member(const struct topo *topo, uint64_t seed, uint32_t host, const struct flow *flow, bool reverse,
	    const bool *is_down)
{
	static const struct route_hashing own_seed;
	const struct route_tuple tuple = route_tuple_of(flow, reverse);
	uint16_t members[TOPO_MAX_PORTS], count = 0;

	for (uint16_t i = 0; i < topo->nodes[host].nports; i++)
		if (is_down == NULL || !is_down[i])
			members[count++] = i;
	if (count == 0)
		return bond_member(topo, seed, host, flow, reverse, NULL);
	return members[route_select(&own_seed, seed, host, &tuple, count)];
}

void
bond_place(const struct routing *routing, struct flow *flow)
{
	const struct topo *topo = routing->topo;
	const struct route_pin *pin;

	if (topo->nodes[flow->src_node].bonded)
		flow->src_nic = bond_member(topo, routing->seed, flow->src_node, flow, false, NULL);
	if (topo->nodes[flow->dst_node].bonded)
		flow->dst_nic = bond_member(topo, routing->seed, flow->dst_node, flow, true, NULL);
	pin = route_pins_find(routing->pins, flow);
	if (pin != NULL && pin->data.nic >= 0)
		flow->src_nic = (uint16_t)pin->data.nic;
	if (pin != NULL && pin->ack.nic >= 0)
		flow->dst_nic = (uint16_t)pin->ack.nic;
}

/* Packets that are sprayed evenly. */

/* A path through the network: what all functions of it need. */
struct visit {
	const struct topo *topo;
	const struct route_table *routes;
	const double *kept;
	uint32_t dst, at;
	uint16_t dst_nic;
	double share[TOPO_MAX_PORTS]; /* share of the sent packets that arrives at each port of at */
	double again[TOPO_MAX_PORTS]; /* the same if each link lost the share twice */
	double whole;                 /* share that arrives at the destination */
};

/*
 * Shortest paths have no loops: it ends at the destination.
 * @param part   of the packets that reach this switch so
 * @param again  the same if each link lost of them twice
 */
static void
walk(struct visit *visit, uint32_t node, double part, double again, uint32_t hops)
{
	const uint8_t *ports;
	uint32_t count = route_next_hops(visit->routes, node, visit->dst, visit->dst_nic, &ports);

	for (uint32_t i = 0; i < count && hops < ROUTE_MAX_HOPS; i++) {
		uint32_t id = visit->topo->nodes[node].first_port + ports[i];
		const struct topo_port *port = &visit->topo->ports[id];
		double kept = visit->kept != NULL ? visit->kept[id] : 1, arriving = part / count * kept;
		double returns = again / count * kept * kept;

		if (port->peer == visit->at) {
			visit->share[port->peer_index] += arriving;
			visit->again[port->peer_index] += returns;
		}
		if (visit->topo->nodes[port->peer].kind == TOPO_SWITCH)
			walk(visit, port->peer, arriving, returns, hops + 1);
		else
			visit->whole += arriving;
	}
}

void
spread_add(const struct topo *topo, const struct route_table *routes, const double *kept, uint32_t from, uint32_t dst,
	   uint16_t dst_nic, uint32_t at, double *share, double *again)
{
	struct visit visit = { .topo = topo, .routes = routes, .kept = kept, .dst = dst, .at = at, .dst_nic = dst_nic };

	if (from == at)
		return;
	walk(&visit, from, 1, 1, 0);
	for (uint32_t i = 0; i < topo->nodes[at].nports && visit.whole > 0; i++) {
		share[i] += visit.share[i] / visit.whole;
		if (again != NULL)
			again[i] += visit.again[i] / visit.whole;
	}
}

#define WALK_NAME(id, value, name, text) [value] = (name),
#define WALK_TEXT(id, value, name, text) [value] = (text),

const char *const topo_walk_names[] = { TOPO_WALKS(WALK_NAME) }, *const topo_walk_texts[] = { TOPO_WALKS(WALK_TEXT) };

static void
end(struct topo_walk *walk, enum topo_walk_state state)
{
	walk->state = (uint8_t)state;
}

/* Over the cable of a port. @return as topo_walk_on() */
static bool
cross(struct topo_walk *walk, const struct topo *topo, uint16_t index)
{
	const struct topo_port *port = topo_port_of(topo, walk->node, index);
	uint32_t id = topo->nodes[walk->node].first_port + index;

	for (uint32_t i = 0; i < walk->path.hops; i++)
		if (walk->path.ports[i] == id || walk->path.hops == ROUTE_MAX_HOPS) {
			end(walk, WALK_LOOPS);
			return false;
		}
	walk->path.ports[walk->path.hops++] = id;
	walk->node = port->peer;
	walk->in_port = port->peer_index;
	if (topo->nodes[walk->node].kind == TOPO_SWITCH)
		return true;
	end(walk, walk->node == walk->dst ? WALK_ARRIVED : WALK_LOST);
	return false;
}

void
topo_walk_begin(struct topo_walk *walk, const struct topo *topo, uint32_t host, uint16_t nic, uint32_t dst_ip)
{
	uint16_t dst_nic;

	*walk = (struct topo_walk){ .node = host };
	if (!topo_find_nic(topo, dst_ip, &walk->dst, &dst_nic))
		walk->dst = TOPO_NONE;
	if (nic >= topo->nodes[host].nports)
		end(walk, WALK_CONTRADICTED);
	else
		cross(walk, topo, nic);
}

bool
topo_walk_on(struct topo_walk *walk, const struct topo *topo, const struct swm_egress *answer)
{
	switch (answer->result) {
	case SWM_FORWARDED:
		if (answer->port < topo->nodes[walk->node].nports)
			return cross(walk, topo, answer->port);
		end(walk, WALK_CONTRADICTED);
		return false;
	case SWM_SPRAYED:
		end(walk, WALK_SPRAYED);
		return false;
	case SWM_DROPPED:
		end(walk, WALK_DROPPED);
		walk->reason = answer->reason;
		return false;
	default: /* an ingress or an address that it does not know, though the topology has it */
		end(walk, WALK_CONTRADICTED);
		return false;
	}
}

void
topo_walk_unanswered(struct topo_walk *walk)
{
	end(walk, WALK_UNANSWERED);
}
