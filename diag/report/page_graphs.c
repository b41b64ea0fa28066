/* SPDX-License-Identifier: BSD-3-Clause */
/* The provenance graphs of the page, the most telling first. */
#include <stdlib.h>

#include "common/array.h"
#include "common/units.h"
#include "diag/report/facts.h"
#include "diag/report/page.h"
#include "diag/report/page_data.h"
#include "diag/vedrfolnir/section.h"

/* A graph, by what its step is worth. */
struct worth {
	uint32_t graph;
	bool critical;
	double excess;
};

static int
cmp_worth(const void *pa, const void *pb)
{
	const struct worth *a = pa, *b = pb;

	if (a->critical != b->critical)
		return a->critical ? -1 : 1;
	if (a->excess != b->excess)
		return a->excess > b->excess ? -1 : 1;
	return a->graph < b->graph ? -1 : a->graph > b->graph;
}

static json_t *
vertices(const struct provenance *g)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < g->nvertices; i++) {
		const struct provenance_vertex *p = &g->vertices[i];

		if (p->kind == PROVENANCE_PORT)
			array = value_add(array, json_pack("{s:I, s:b, s:b, s:o, s:o, s:o}", "port", (json_int_t)p->ref,
							   "paused", p->paused, "pausing", p->pausing, "packets",
							   value_real(p->packets), "depth_sum", value_real(p->depth_sum),
							   "pause_ns", value_real(p->pause_ps / PS_PER_NS)));
		else
			array = value_add(array, json_pack("{s:I, s:b, s:b}", "flow", (json_int_t)p->ref, "collective",
							   p->collective, "victim", p->victim));
	}
	return array;
}

/* [kind, from, to, weight] */
static json_t *
edges(const struct provenance *g)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < g->nedges; i++) {
		const struct provenance_edge *e = &g->edges[i];

		array = value_add(array, json_pack("[I, I, I, o]", (json_int_t)e->kind, (json_int_t)e->from,
						   (json_int_t)e->to, value_real(e->weight)));
	}
	return array;
}

/* [flow, score], largest first */
static json_t *
scores(const struct provenance *g)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < g->nscores; i++)
		array = value_add(array,
				  json_pack("[I, o]", (json_int_t)g->scores[i].flow, value_real(g->scores[i].score)));
	return array;
}

static json_t *
graph(const struct provenance *g)
{
	return json_pack("{s:I, s:o, s:o, s:b, s:b, s:o, s:o, s:o, s:o}", "step", (json_int_t)g->step, "from_ns",
			 value_ns(g->from_ps), "to_ns", value_ns(g->to_ps), "present", g->present, "cyclic", g->cyclic,
			 "covered_ns", value_real(g->covered_ps / PS_PER_NS), "vertices", vertices(g), "edges", edges(g),
			 "scores", scores(g));
}

/* @return all graphs, the most telling first; NULL: no memory */
static struct worth *
ordered(const struct verdict *v, const struct vedrfolnir *own)
{
	struct worth *order = calloc((size_t)own->ngraphs + 1, sizeof(*order));

	for (uint32_t i = 0; order != NULL && i < own->ngraphs; i++) {
		const struct run_step *step = &v->run.steps[own->graphs[i].step];

		order[i] = (struct worth){ i, vedrfolnir_step(v, step)->critical,
					   facts_excess(facts_exec_ps(step), step->expect_ps) };
	}
	if (order != NULL)
		qsort(order, own->ngraphs, sizeof(*order), cmp_worth);
	return order;
}

json_t *
page_graphs(const struct verdict *v)
{
	static const struct vedrfolnir none;
	const struct vedrfolnir *own = vedrfolnir_of(v) != NULL ? vedrfolnir_of(v) : &none;
	struct worth *order = ordered(v, own);
	json_t *list = order != NULL ? json_array() : NULL;
	uint64_t used = 0;

	for (uint32_t i = 0; order != NULL && i < own->ngraphs; i++) {
		const struct provenance *g = &own->graphs[order[i].graph];

		if (g->nvertices == 0)
			continue;
		used += g->nedges;
		if (used > PAGE_MAX_GRAPH_EDGES && i > 0)
			break;
		list = value_add(list, graph(g));
	}
	free(order);
	return json_pack("{s:o, s:I}", "list", list, "all", (json_int_t)own->ngraphs);
}
