/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/report/topology_layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A node while its layer is put in order. */
struct rank {
	uint32_t node;
	double key;
};

static void choose_shown(struct layout *layout, const struct verdict *v, uint32_t limit);
static void find_layers(struct layout *layout, const struct verdict *v, uint32_t *queue);
static void order_layer(struct layout *layout, const struct verdict *v, uint32_t layer, struct rank *ranks);

int
layout_init(struct layout *layout, const struct verdict *v, uint32_t limit)
{
	uint32_t *queue = calloc((size_t)v->run.nnodes + 1, sizeof(*queue));
	struct rank *ranks = calloc((size_t)v->run.nnodes + 1, sizeof(*ranks));
	int rc = -ENOMEM;

	memset(layout, 0, sizeof(*layout));
	layout->nodes = calloc((size_t)v->run.nnodes + 1, sizeof(*layout->nodes));
	layout->width = calloc((size_t)v->run.nnodes + 2, sizeof(*layout->width));
	if (queue != NULL && ranks != NULL && layout->nodes != NULL && layout->width != NULL) {
		choose_shown(layout, v, limit);
		find_layers(layout, v, queue);
		for (uint32_t layer = 0; layer < layout->nlayers; layer++)
			order_layer(layout, v, layer, ranks);
		rc = 0;
	} else {
		layout_fini(layout);
	}
	free(ranks);
	free(queue);
	return rc;
}

void
layout_fini(struct layout *layout)
{
	free(layout->nodes);
	free(layout->width);
	memset(layout, 0, sizeof(*layout));
}

static void
show(struct layout *layout, uint32_t node, uint32_t *shown, uint32_t limit)
{
	if (!layout->nodes[node].shown && *shown < limit) {
		layout->nodes[node].shown = true;
		(*shown)++;
	}
}

/* The most telling first: ports named by findings, then ports with rows, then paths. */
static void
choose_shown(struct layout *layout, const struct verdict *v, uint32_t limit)
{
	uint32_t shown = 0;

	for (uint32_t i = 0; i < v->nfindings && v->run.nnodes > limit; i++) {
		for (uint32_t p = 0; p < v->findings[i].nports; p++)
			show(layout, v->run.ports[v->findings[i].ports[p]].node, &shown, limit);
	}
	for (uint32_t p = 0; p < v->run.nports && v->run.nnodes > limit; p++) {
		if (v->run.ports[p].reported)
			show(layout, v->run.ports[p].node, &shown, limit);
	}
	for (uint32_t h = 0; h < v->run.nhops && v->run.nnodes > limit; h++)
		show(layout, v->run.ports[v->run.hops[h].port].node, &shown, limit);
	for (uint32_t n = 0; n < v->run.nnodes && v->run.nnodes <= limit; n++)
		show(layout, n, &shown, limit);
	layout->hidden = v->run.nnodes - shown;
}

/* Breadth first from all hosts at once. Switches that no host reaches count as served by hosts. */
static void
find_layers(struct layout *layout, const struct verdict *v, uint32_t *queue)
{
	uint32_t nqueue = 0;

	for (uint32_t n = 0; n < v->run.nnodes; n++) {
		layout->nodes[n].layer = v->run.nodes[n].host ? 0 : RUN_NONE;
		if (v->run.nodes[n].host)
			queue[nqueue++] = n;
	}
	for (uint32_t i = 0; i < nqueue; i++) {
		const struct run_node *node = &v->run.nodes[queue[i]];

		for (uint32_t p = node->first_port; p < node->first_port + node->nports; p++) {
			uint32_t peer = v->run.ports[p].peer_node;

			if (peer >= v->run.nnodes || layout->nodes[peer].layer != RUN_NONE)
				continue;
			layout->nodes[peer].layer = layout->nodes[queue[i]].layer + 1;
			queue[nqueue++] = peer;
		}
	}
	for (uint32_t n = 0; n < v->run.nnodes; n++) {
		struct layout_node *at = &layout->nodes[n];

		if (at->layer == RUN_NONE)
			at->layer = 1;
		if (at->shown && at->layer + 1 > layout->nlayers)
			layout->nlayers = at->layer + 1;
	}
}

static int
cmp_rank(const void *pa, const void *pb)
{
	const struct rank *a = pa, *b = pb;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

/* Hosts: by the lowest switch they hang on. Switches: by the mean place, 0..1, of their neighbours one layer below. */
static double
order_key(const struct layout *layout, const struct verdict *v, uint32_t node)
{
	const struct layout_node *at = &layout->nodes[node];
	uint32_t count = 0, lowest = v->run.nnodes;
	double sum = 0;

	for (uint32_t p = v->run.nodes[node].first_port; p < v->run.nodes[node].first_port + v->run.nodes[node].nports;
	     p++) {
		uint32_t peer = v->run.ports[p].peer_node;

		if (peer >= v->run.nnodes || !layout->nodes[peer].shown)
			continue;
		lowest = peer < lowest ? peer : lowest;
		if (layout->nodes[peer].layer + 1 != at->layer)
			continue;
		sum += (layout->nodes[peer].place + 0.5) / layout->width[layout->nodes[peer].layer];
		count++;
	}
	if (at->layer == 0)
		return lowest;
	return count > 0 ? sum / count : 1;
}

static void
order_layer(struct layout *layout, const struct verdict *v, uint32_t layer, struct rank *ranks)
{
	uint32_t count = 0;

	for (uint32_t n = 0; n < v->run.nnodes; n++) {
		if (layout->nodes[n].shown && layout->nodes[n].layer == layer) {
			ranks[count] = (struct rank){ n, order_key(layout, v, n) };
			count++;
		}
	}
	qsort(ranks, count, sizeof(*ranks), cmp_rank);
	for (uint32_t i = 0; i < count; i++)
		layout->nodes[ranks[i].node].place = i;
	layout->width[layer] = count;
}
