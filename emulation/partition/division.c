/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/partition/division.h"

#include <errno.h>
#include <metis.h>
#include <stdio.h>
#include <stdlib.h>

#define UNSET UINT32_MAX
/* METIS draws: everybody from here. */
#define DIVISION_SEED 17

/* The switch that a node goes with: itself, or that of a host's first port. */
static uint32_t
group_of(const struct topo *topo, uint32_t node)
{
	return topo->nodes[node].kind == TOPO_HOST ? topo_port_of(topo, node, 0)->peer : node;
}

/* Names are known, and each stands once: the scenario was checked. */
static void
assign_named(const struct scenario *sc, uint32_t *partition)
{
	for (size_t g = 0; g < sc->npartitions; g++)
		for (size_t i = 0; i < sc->partitions[g].names.count; i++)
			partition[topo_find(sc->topo, sc->partitions[g].names.items[i])] = (uint32_t)g;
}

/* The graph of switches in METIS's format: neighbours of vertex v are adjncy[xadj[v] .. xadj[v + 1]). */
struct graph {
	idx_t *xadj, *adjncy, *cables, *weight, *partition; /* cables: the number of them to a neighbour */
	uint32_t *vertex;                                   /* [nnodes] of a switch */
	idx_t count, edges;
};

static void
graph_fini(struct graph *g)
{
	free(g->xadj);
	free(g->adjncy);
	free(g->cables);
	free(g->weight);
	free(g->partition);
	free(g->vertex);
}

/* A cable to a neighbour: one more to the same, or the first. */
static void
graph_add(struct graph *g, idx_t from, idx_t neighbour)
{
	idx_t at = from;

	while (at < g->edges && g->adjncy[at] != neighbour)
		at++;
	g->adjncy[at] = neighbour;
	g->cables[at]++;
	g->edges += at == g->edges;
}

static int
graph_init(struct graph *g, const struct topo *topo)
{
	*g = (struct graph){
		.xadj = calloc(topo->nswitches + 1u, sizeof(idx_t)),
		.adjncy = calloc(topo->nports + 1u, sizeof(idx_t)),
		.cables = calloc(topo->nports + 1u, sizeof(idx_t)),
		.weight = calloc(topo->nswitches + 1u, sizeof(idx_t)),
		.partition = calloc(topo->nswitches + 1u, sizeof(idx_t)),
		.vertex = calloc(topo->nnodes + 1u, sizeof(uint32_t)),
	};
	if (g->xadj == NULL || g->adjncy == NULL || g->cables == NULL || g->weight == NULL || g->partition == NULL ||
	    g->vertex == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < topo->nnodes; i++)
		if (topo->nodes[i].kind == TOPO_SWITCH)
			g->vertex[i] = (uint32_t)g->count++;
	for (uint32_t i = 0; i < topo->nnodes; i++) {
		uint32_t group = group_of(topo, i);
		idx_t from = g->edges;

		g->weight[g->vertex[group]] += topo->nodes[i].nports * (topo->nodes[i].kind == TOPO_HOST ? 2 : 1);
		for (uint16_t p = 0; topo->nodes[i].kind == TOPO_SWITCH && p < topo->nodes[i].nports; p++) {
			uint32_t peer = topo_port_of(topo, i, p)->peer;

			if (topo->nodes[peer].kind == TOPO_SWITCH)
				graph_add(g, from, (idx_t)g->vertex[peer]);
		}
		if (topo->nodes[i].kind == TOPO_SWITCH)
			g->xadj[g->vertex[i] + 1] = g->edges;
	}
	return 0;
}

static int
assign_by_metis(const struct topo *topo, uint32_t partitions, uint32_t *partition, struct err *err)
{
	idx_t options[METIS_NOPTIONS], one = 1, count = (idx_t)partitions, boundary = 0;
	struct graph g;
	int ret = graph_init(&g, topo);

	METIS_SetDefaultOptions(options);
	options[METIS_OPTION_SEED] = DIVISION_SEED;
	if (ret == 0 && METIS_PartGraphRecursive(&g.count, &one, g.xadj, g.adjncy, g.weight, NULL, g.cables, &count, NULL,
						 NULL, options, &boundary, g.partition) != METIS_OK)
		ret = -EINVAL;
	for (uint32_t i = 0; ret == 0 && i < topo->nnodes; i++)
		if (topo->nodes[i].kind == TOPO_SWITCH)
			partition[i] = (uint32_t)g.partition[g.vertex[i]];
	graph_fini(&g);
	return ret == 0 ? 0 : err_set(err, ret, "this topology could not be divided into %u partitions", partitions);
}

int
division_make(const struct scenario *sc, uint32_t partitions, uint32_t *partition, struct err *err)
{
	const struct topo *topo = sc->topo;
	int ret = 0;

	if (sc->npartitions != 0 && sc->npartitions != partitions)
		return cfg_fail(&sc->partitions[0].where, NULL, err,
				"the scenario has %zu partitions, and %u are asked for", sc->npartitions, partitions);
	if (partitions > topo->nswitches)
		return err_set(err, -EINVAL, "%s: %u partitions of %u switches: every partition needs a switch",
			       cfg_file(sc->cfg), partitions, topo->nswitches);
	for (uint32_t i = 0; i < topo->nnodes; i++)
		partition[i] = UNSET;
	if (sc->npartitions != 0)
		assign_named(sc, partition);
	else
		ret = assign_by_metis(topo, partitions, partition, err);
	for (uint32_t i = 0; ret == 0 && i < topo->nnodes; i++)
		if (partition[i] == UNSET)
			partition[i] = partition[group_of(topo, i)];
	for (uint32_t p = 0; ret == 0 && p < partitions; p++) {
		bool any = false;

		for (uint32_t i = 0; i < topo->nnodes; i++)
			any |= partition[i] == p;
		if (!any)
			ret = err_set(err, -EINVAL,
				      "%s: partition %u of %u would have no node: ask for fewer, or name switches in "
				      "\"partitions\"",
				      cfg_file(sc->cfg), p, partitions);
	}
	return ret;
}

char *
division_name(const struct topo *topo, const uint32_t *partition, uint32_t which, char *buf)
{
	uint32_t count = 0, shown = 0;
	int at = snprintf(buf, DIVISION_NAME, "partition %u (", which);

	for (uint32_t i = 0; i < topo->nnodes; i++) {
		count += partition[i] == which;
		if (partition[i] != which || shown == 3)
			continue;
		at += snprintf(buf + at, DIVISION_NAME - (size_t)at, "%s%s", shown != 0 ? ", " : "", topo->nodes[i].name);
		shown++;
	}
	if (count > shown)
		snprintf(buf + at, DIVISION_NAME - (size_t)at, " and %u more)", count - shown);
	else
		snprintf(buf + at, DIVISION_NAME - (size_t)at, ")");
	return buf;
}
