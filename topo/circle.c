/* SPDX-License-Identifier: BSD-3-Clause */
#include "topo/circle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

struct dependencies {
	const struct topo *topo;
	size_t *first; /* [nports + 1] of an egress: where its row of the next switch's ports begins */
	bool *on;      /* rows: does a packet go on by that port? */
};

struct dependencies *
dependencies_create(const struct topo *topo)
{
	struct dependencies *d = calloc(1, sizeof(*d));

	if (d == NULL)
		return NULL;
	d->topo = topo;
	d->first = calloc(topo->nports + 1u, sizeof(*d->first));
	for (uint32_t p = 0; d->first != NULL && p < topo->nports; p++)
		d->first[p + 1] = d->first[p] + topo->nodes[topo->ports[p].peer].nports;
	d->on = d->first != NULL ? calloc(d->first[topo->nports] + 1, sizeof(*d->on)) : NULL;
	if (d->on != NULL)
		return d;
	dependencies_destroy(d);
	errno = ENOMEM;
	return NULL;
}

void
dependencies_destroy(struct dependencies *d)
{
	if (d == NULL)
		return;
	free(d->first);
	free(d->on);
	free(d);
}

/* Switches that packets to one destination reach: a list that grows while it is read. */
struct reached {
	uint32_t *nodes;
	bool *is_in;
	uint32_t count;
};

static void
reach(const struct topo *topo, struct reached *reached, uint32_t node)
{
	if (topo->nodes[node].kind != TOPO_SWITCH || reached->is_in[node])
		return;
	reached->is_in[node] = true;
	reached->nodes[reached->count++] = node;
}

/* Adds dependencies of packets to one NIC, from all hosts. */
static void
add_destination(struct dependencies *d, const struct route_table *routes, uint32_t dst, uint16_t nic,
		struct reached *reached)
{
	const struct topo *topo = d->topo;

	memset(reached->is_in, 0, topo->nnodes * sizeof(*reached->is_in));
	reached->count = 0;
	for (uint32_t h = 0; h < topo->nhosts; h++)
		for (uint16_t p = 0; topo->hosts[h] != dst && p < topo->nodes[topo->hosts[h]].nports; p++)
			reach(topo, reached, topo_port_of(topo, topo->hosts[h], p)->peer);
	for (uint32_t i = 0; i < reached->count; i++) {
		const uint8_t *hops, *next;
		uint32_t nhops = route_next_hops(routes, reached->nodes[i], dst, nic, &hops);

		for (uint32_t a = 0; a < nhops; a++) {
			uint32_t egress = topo->nodes[reached->nodes[i]].first_port + hops[a];
			uint32_t peer = topo->ports[egress].peer, nnext;

			reach(topo, reached, peer);
			if (topo->nodes[peer].kind != TOPO_SWITCH)
				continue;
			nnext = route_next_hops(routes, peer, dst, nic, &next);
			for (uint32_t b = 0; b < nnext; b++)
				d->on[d->first[egress] + next[b]] = true;
		}
	}
}

/* @return whether an earlier NIC is at the same switch: routes to both are the same up to there */
static bool
is_like_earlier(const struct topo *topo, const bool *seen, uint32_t host, uint16_t nic)
{
	return !topo->nodes[host].bonded && seen[topo_port_of(topo, host, nic)->peer];
}

int
dependencies_add_routes(struct dependencies *d, const struct route_table *routes)
{
	const struct topo *topo = d->topo;
	struct reached reached = { .nodes = calloc(topo->nnodes + 1u, sizeof(*reached.nodes)),
				   .is_in = calloc(topo->nnodes + 1u, sizeof(*reached.is_in)) };
	bool *seen = calloc(topo->nnodes + 1u, sizeof(*seen));
	int ret = reached.nodes != NULL && reached.is_in != NULL && seen != NULL ? 0 : -ENOMEM;

	for (uint32_t h = 0; ret == 0 && h < topo->nhosts; h++) {
		uint32_t host = topo->hosts[h];

		for (uint16_t nic = 0; nic < topo->nodes[host].nports; nic++) {
			if (is_like_earlier(topo, seen, host, nic))
				continue;
			seen[topo_port_of(topo, host, nic)->peer] = true;
			add_destination(d, routes, host, nic, &reached);
		}
	}
	free(seen);
	free(reached.is_in);
	free(reached.nodes);
	return ret;
}

void
dependencies_add_path(struct dependencies *d, const struct route_path *path)
{
	for (uint32_t h = 0; h + 1 < path->hops; h++)
		d->on[d->first[path->ports[h]] + d->topo->ports[path->ports[h + 1]].index] = true;
}

void
dependencies_remove(struct dependencies *d, uint32_t port)
{
	memset(&d->on[d->first[port]], 0, (d->first[port + 1] - d->first[port]) * sizeof(*d->on));
}

/* A walk in depth: the ports of the path so far, and which of a port's successors is the next to try. */
enum color { WHITE, GREY, BLACK };

struct walk {
	uint8_t *color;  /* [nports] enum color */
	uint32_t *stack; /* [nports] */
	uint16_t *next;  /* [nports] by port */
	uint32_t depth;
};

/* @return the port that closes a circle on the stack; TOPO_NONE: none is reached from here */
static uint32_t
descend(const struct dependencies *d, struct walk *walk, uint32_t from)
{
	const struct topo *topo = d->topo;

	walk->depth = 0;
	walk->stack[walk->depth++] = from;
	walk->color[from] = GREY;
	while (walk->depth != 0) {
		uint32_t port = walk->stack[walk->depth - 1], peer = topo->ports[port].peer, successor;

		if (walk->next[port] == topo->nodes[peer].nports) {
			walk->color[port] = BLACK;
			walk->depth--;
			continue;
		}
		successor = topo->nodes[peer].first_port + walk->next[port]++;
		if (!d->on[d->first[port] + walk->next[port] - 1] || walk->color[successor] == BLACK)
			continue;
		if (walk->color[successor] == GREY)
			return successor;
		walk->color[successor] = GREY;
		walk->stack[walk->depth++] = successor;
	}
	return TOPO_NONE;
}

int
dependencies_circle(const struct dependencies *d, uint32_t *ports, uint32_t cap)
{
	uint32_t nports = d->topo->nports, closes = TOPO_NONE, from, count;
	struct walk walk = { .color = calloc(nports + 1u, 1),
			     .stack = calloc(nports + 1u, sizeof(*walk.stack)),
			     .next = calloc(nports + 1u, sizeof(*walk.next)) };
	int ret = 0;

	if (walk.color == NULL || walk.stack == NULL || walk.next == NULL)
		ret = -ENOMEM;
	for (uint32_t p = 0; ret == 0 && closes == TOPO_NONE && p < nports; p++)
		if (walk.color[p] == WHITE)
			closes = descend(d, &walk, p);
	if (closes != TOPO_NONE) {
		for (from = walk.depth - 1; walk.stack[from] != closes; from--)
			;
		count = walk.depth - from;
		for (uint32_t i = 0; i < count && i < cap; i++)
			ports[i] = walk.stack[from + i];
		ret = (int)count;
	}
	free(walk.color);
	free(walk.stack);
	free(walk.next);
	return ret;
}
