/* SPDX-License-Identifier: BSD-3-Clause */
/* Causes have consequences: a link that is down leaves fewer paths, full queues drop, and what is dropped is sent again. */
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "diag/verdict.h"

/* Where a consequence is, as seen from its cause. */
enum relation {
	AT_PORT, /* at its port, or with that among the ports involved */
	AT_LINK, /* at a port of either end's node, or where flows of it have fewer paths without the link */
	AT_NODE, /* at a port of its node */
};

#define MAX_KINDS 6

/* By types of findings. */
static const struct rule {
	const char *cause;
	enum relation at;
	const char *of[MAX_KINDS];
} rules[] = {
	{ "link-down", AT_LINK, { "flow-contention", "incast", "load-imbalance", "pfc-backpressure", "blackhole" } },
	{ "link-rate", AT_PORT, { "flow-contention", "incast", "load-imbalance", "pfc-backpressure" } },
	{ "tail-drop", AT_PORT, { "packet-loss", "reordering", "blackhole" } },
	{ "pfc-watchdog", AT_NODE, { "packet-loss", "tail-drop", "blackhole" } },
	{ "pfc-storm", AT_PORT, { "pfc-backpressure", "pfc-watchdog", "pfc-deadlock" } },
	{ "forwarding-loop", AT_NODE, { "pfc-deadlock", "packet-loss", "tail-drop" } },
};

static bool
is_kind(const struct rule *rule, const struct finding *finding)
{
	for (uint32_t i = 0; i < MAX_KINDS && rule->of[i] != NULL; i++)
		if (strcmp(rule->of[i], finding->type->key) == 0)
			return true;
	return false;
}

static bool
has_port(const struct finding *finding, uint32_t port)
{
	for (uint32_t i = 0; i < finding->nports; i++)
		if (finding->ports[i] == port)
			return true;
	return finding->root_port == port;
}

/* The hops from a node to all others; RUN_NONE: no path. Hosts forward nothing. @param hops, queue  [run->nnodes] */
static void
count_hops(const struct run *run, uint32_t from, uint32_t *hops, uint32_t *queue)
{
	uint32_t head = 0, tail = 0;

	for (uint32_t n = 0; n < run->nnodes; n++)
		hops[n] = RUN_NONE;
	hops[from] = 0;
	queue[tail++] = from;
	while (head < tail) {
		uint32_t node = queue[head++];
		const struct run_node *at = &run->nodes[node];

		for (uint32_t p = at->first_port; p < at->first_port + at->nports; p++) {
			uint32_t next = run->ports[p].peer_node;

			if (next == RUN_NONE || hops[next] != RUN_NONE || (at->host && node != from))
				continue;
			hops[next] = hops[node] + 1;
			queue[tail++] = next;
		}
	}
}

/* Hops to all nodes from both ends of a link, and from both ends of a finding's link. */
struct detour {
	uint32_t *ends[2], *root, *next;
};

/* A sum of hops of which none may be RUN_NONE. */
static uint64_t
sum_hops(uint32_t a, uint32_t b, uint32_t c)
{
	return a == RUN_NONE || b == RUN_NONE || c == RUN_NONE ? UINT64_MAX : (uint64_t)a + b + c;
}

/*
 * Would a path of a flow lead by the link, in either direction, that is no longer than its own by the finding's port, and
 * not by that port as well?
 */
static bool
leads_by(const struct run *run, const struct detour *d, const struct run_port *root, uint32_t flow)
{
	uint32_t src = run->flows[flow].src, dst = run->flows[flow].dst;
	uint64_t own;

	if (src == RUN_NONE || dst == RUN_NONE)
		return false;
	own = sum_hops(d->root[src], 1, d->next[dst]);
	for (uint32_t e = 0; e < 2 && own != UINT64_MAX; e++) {
		const uint32_t *from = d->ends[e], *to = d->ends[!e];
		uint64_t by_link = sum_hops(from[src], 1, to[dst]);
		uint64_t port_first = sum_hops(d->root[src], 1, from[root->peer_node]);
		uint64_t link_first = sum_hops(from[src], 1, to[root->node]);

		if (by_link > own)
			continue;
		port_first = port_first != UINT64_MAX && to[dst] != RUN_NONE ? port_first + 1 + to[dst] : UINT64_MAX;
		link_first = link_first != UINT64_MAX ? link_first + 1 + d->next[dst] : UINT64_MAX;
		if (port_first != by_link && link_first != by_link)
			return true;
	}
	return false;
}

/*
 * Had flows of a finding fewer paths that avoid its port because a link is down? Without memory it is not known, and no.
 */
static bool
lacks_link(const struct run *run, const struct run_port *link, const struct finding *finding)
{
	const struct run_port *root = &run->ports[finding->root_port];
	const uint32_t nodes[2] = { link->node, link->peer_node };
	uint32_t *hops;
	struct detour d;
	bool lacks = false;

	if (run->nnodes == 0 || link->peer_node == RUN_NONE || root->peer_node == RUN_NONE)
		return false;
	hops = calloc(5 * (size_t)run->nnodes, sizeof(*hops));
	if (hops == NULL)
		return false;
	d = (struct detour){ { hops, hops + run->nnodes }, hops + 2 * (size_t)run->nnodes, hops + 3 * (size_t)run->nnodes };
	count_hops(run, nodes[0], d.ends[0], hops + 4 * (size_t)run->nnodes);
	count_hops(run, nodes[1], d.ends[1], hops + 4 * (size_t)run->nnodes);
	count_hops(run, root->node, d.root, hops + 4 * (size_t)run->nnodes);
	count_hops(run, root->peer_node, d.next, hops + 4 * (size_t)run->nnodes);
	for (uint32_t f = 0; f < finding->nflows && !lacks; f++)
		lacks = leads_by(run, &d, root, finding->flows[f]);
	for (uint32_t f = 0; f < finding->nvictims && !lacks; f++)
		lacks = leads_by(run, &d, root, finding->victims[f]);
	free(hops);
	return lacks;
}

static bool
is_there(const struct run *run, const struct rule *rule, const struct finding *cause, const struct finding *finding)
{
	const struct run_port *port = &run->ports[cause->root_port];
	uint32_t node;

	if (rule->at == AT_PORT)
		return has_port(finding, cause->root_port) ||
		       (port->peer_port != RUN_NONE && has_port(finding, port->peer_port));
	if (finding->root_port == RUN_NONE)
		return has_port(finding, cause->root_port);
	node = run->ports[finding->root_port].node;
	return node == port->node || (rule->at == AT_LINK && (node == port->peer_node || lacks_link(run, port, finding)));
}

static bool
follows(const struct run *run, const struct finding *cause, const struct finding *finding)
{
	if (cause->root_port == RUN_NONE || finding->end_ps < cause->start_ps)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(rules); i++)
		if (strcmp(rules[i].cause, cause->type->key) == 0 && is_kind(&rules[i], finding) &&
		    is_there(run, &rules[i], cause, finding))
			return true;
	return false;
}

uint32_t
verdict_cause_of(const struct verdict *v, uint32_t finding)
{
	for (uint32_t i = 0; i < v->nfindings; i++)
		if (i != finding && follows(&v->run, &v->findings[i], &v->findings[finding]))
			return i;
	return RUN_NONE;
}
