/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/flowtracer/links.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/fim.h"
#include "diag/run/fill.h"

#define TIER_NONE UINT8_MAX
#define TIER_LAST 15 /* so many tiers are told apart: there are fewer layers than FIM_MAX_GROUPS */

/* Breadth first, from all hosts at once. @param queue  [run->nnodes] scratch */
static void
find_tiers(struct flowtracer *own, const struct run *run, uint32_t *queue)
{
	uint32_t head = 0, tail = 0;

	memset(own->tier, TIER_NONE, run->nnodes);
	for (uint32_t i = 0; i < run->nnodes; i++) {
		if (!run->nodes[i].host)
			continue;
		own->tier[i] = 0;
		queue[tail++] = i;
	}
	while (head < tail) {
		const struct run_node *node = &run->nodes[queue[head]];
		uint8_t next = own->tier[queue[head++]];

		next += next < TIER_LAST;
		for (uint32_t p = node->first_port; p < node->first_port + node->nports; p++) {
			uint32_t peer = run->ports[p].peer_node;

			if (peer == RUN_NONE || own->tier[peer] != TIER_NONE)
				continue;
			own->tier[peer] = next;
			own->tiers = next;
			queue[tail++] = peer;
		}
	}
}

/* @return the layer's index; of a new one, it is made. own->layers has room for every pair of neighbouring tiers */
static uint32_t
layer_of(struct flowtracer *own, const struct run *run, uint32_t port)
{
	uint8_t from = own->tier[run->ports[port].node], to = own->tier[run->ports[port].peer_node];
	uint32_t at = own->nlayers;

	for (uint32_t i = 0; i < own->nlayers; i++)
		if (own->layers[i].from == from && own->layers[i].to == to)
			return i;
	if (at == FIM_MAX_GROUPS)
		return at - 1;
	own->layers[own->nlayers++] = (struct flowtracer_layer){ .from = from, .to = to };
	return at;
}

/* As a packet meets them: up, then down. */
static int
cmp_layer(const void *pa, const void *pb)
{
	const struct flowtracer_layer *a = pa, *b = pb;
	bool a_down = a->to < a->from, b_down = b->to < b->from;

	if (a_down != b_down)
		return a_down ? 1 : -1;
	if (a->from != b->from)
		return (a->from < b->from) != a_down ? -1 : 1;
	return a->to < b->to ? -1 : a->to > b->to;
}

static bool
is_shown(const struct flowtracer *own, const struct flowtracer_path *path)
{
	return path->round == own->shown;
}

/* Where flows had a choice, all of what they could have taken is of one layer, or of several. */
static void
mark_chosen(struct flowtracer *own, const struct run *run)
{
	for (uint32_t i = 0; i < own->npaths; i++) {
		const struct flowtracer_path *path = &own->paths[i];

		for (uint32_t h = path->first; is_shown(own, path) && h < path->first + path->nhops; h++) {
			const struct flowtracer_hop *hop = &own->hops[h];

			if (hop->port != RUN_NONE && run->ports[hop->port].peer_node != RUN_NONE &&
			    flowtracer_count(&hop->set) > 1)
				own->layers[layer_of(own, run, hop->port)].chosen = true;
		}
	}
}

/* @param count  [run->nports] set to flows on each, UINT32_MAX: no flow could take it */
static void
count_flows(struct flowtracer *own, const struct run *run, uint32_t *count)
{
	memset(count, 0xff, run->nports * sizeof(*count));
	for (uint32_t i = 0; i < own->npaths; i++) {
		const struct flowtracer_path *path = &own->paths[i];

		own->sprayed += is_shown(own, path) && path->result == REC_TRACE_SPRAYED;
		for (uint32_t h = path->first; is_shown(own, path) && h < path->first + path->nhops; h++) {
			const struct flowtracer_hop *hop = &own->hops[h];
			const struct run_node *node = &run->nodes[hop->node];

			for (uint32_t p = 0; p < node->nports; p++)
				if (flowtracer_has(&hop->set, p) && count[node->first_port + p] == UINT32_MAX)
					count[node->first_port + p] = 0;
			if (hop->port != RUN_NONE)
				count[hop->port] = count[hop->port] == UINT32_MAX ? 1 : count[hop->port] + 1;
		}
	}
}

static void
fill(struct flowtracer *own, const struct run *run, const uint32_t *count, struct fim_link *fim)
{
	for (uint32_t p = 0; p < run->nports; p++)
		if (count[p] != UINT32_MAX && run->ports[p].peer_node != RUN_NONE)
			layer_of(own, run, p);
	qsort(own->layers, own->nlayers, sizeof(*own->layers), cmp_layer);
	for (uint32_t p = 0; p < run->nports; p++) {
		struct flowtracer_link *link = &own->links[own->nlinks];

		if (count[p] == UINT32_MAX || run->ports[p].peer_node == RUN_NONE)
			continue;
		*link = (struct flowtracer_link){ .port = p, .layer = layer_of(own, run, p), .flows = count[p] };
		own->layers[link->layer].flows += count[p];
		fim[own->nlinks++] = (struct fim_link){ .group = (uint16_t)link->layer,
							.flows = count[p],
							.rate_bps = run->ports[p].rate_bps };
	}
}

static void
measure(struct flowtracer *own, struct fim_link *fim)
{
	fim_even(fim, own->nlinks);
	for (uint32_t i = 0; i < own->nlinks; i++)
		own->links[i].ideal = fim[i].ideal;
	for (uint32_t i = 0; i < own->nlayers; i++) {
		struct flowtracer_layer *layer = &own->layers[i];
		struct fim one = fim_of(fim, own->nlinks, (uint16_t)i);

		layer->links = one.links;
		layer->least = one.least;
		layer->most = one.most;
		layer->ideal = one.ideal;
		layer->fim = one.percent;
		layer->expected = layer->chosen ? fim_expected(layer->flows, layer->links) : 0;
	}
	own->fim = fim_of(fim, own->nlinks, FIM_ALL).percent;
}

int
flowtracer_links(struct flowtracer *own, const struct run *run, struct err *err)
{
	uint32_t *count = run_alloc((size_t)run->nports + run->nnodes, sizeof(*count), err);
	struct fim_link *fim = run_alloc(run->nports, sizeof(*fim), err);
	int rc = 0;

	own->tier = run_alloc(run->nnodes, sizeof(*own->tier), err);
	own->links = run_alloc(run->nports, sizeof(*own->links), err);
	own->layers = run_alloc(FIM_MAX_GROUPS, sizeof(*own->layers), err);
	if (count == NULL || fim == NULL || own->tier == NULL || own->links == NULL || own->layers == NULL)
		rc = -ENOMEM;
	if (rc == 0) {
		find_tiers(own, run, count);
		count_flows(own, run, count);
		fill(own, run, count, fim);
		mark_chosen(own, run);
		measure(own, fim);
	}
	free(count);
	free(fim);
	return rc;
}
