/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "diag/report/dot.h"
#include "diag/report/escape.h"
#include "diag/report/facts.h"

static void
write_vertex(const struct facts *facts, uint32_t graph, uint32_t index, FILE *to)
{
	const struct verdict *v = facts->v;
	const struct waiting_vertex *vertex = &vedrfolnir_of(v)->waiting[graph].vertices[index];
	const struct run_step *step;
	char flow[96];

	fprintf(to, "    c%u_%u [label=", graph, index);
	if (vertex->kind == WAITING_ITERATION_END) {
		escape_dotf(to, "end\n%s", fmt_time(facts->unit, vertex->time_ps).text);
		fprintf(to, ", shape=doublecircle");
	} else {
		step = &v->run.steps[vertex->step];
		escape_dotf(to, "%s step %u\n%s %s", facts_doer(v, step, flow, sizeof(flow)), step->step,
			    vertex->kind == WAITING_START ? "start"
			    : step->open                  ? "open at"
							  : "end",
			    fmt_time(facts->unit, vertex->time_ps).text);
	}
	if (vertex->critical)
		fprintf(to, ", penwidth=2.5, color=\"#c2410c\"");
	else if (vertex->pruned)
		fprintf(to, ", color=grey, fontcolor=grey, style=dashed");
	fprintf(to, "];\n");
}

static void
write_edge(const struct facts *facts, uint32_t graph, const struct waiting_edge *edge, FILE *to)
{
	fprintf(to, "    c%u_%u -> c%u_%u [label=", graph, edge->from, graph, edge->to);
	if (edge->kind == WAITING_EXEC)
		escape_dotf(to, "%s", fmt_time(facts->unit, edge->weight_ps).text);
	else
		escape_dotf(to, "%s", edge->kind == WAITING_OWN ? "own" : edge->kind == WAITING_DATA ? "data" : "");
	if (edge->critical)
		fprintf(to, ", penwidth=2.5, color=\"#c2410c\"");
	else if (edge->pruned)
		fprintf(to, ", color=grey, fontcolor=grey, style=dashed");
	else if (edge->kind != WAITING_EXEC)
		fprintf(to, ", color=\"#64748b\"");
	fprintf(to, "];\n");
}

static void
write_label(const struct verdict *v, const struct run_iteration *iteration, FILE *to)
{
	const struct run_collective *first = &v->run.collectives[iteration->first_collective];

	if (iteration->ncollectives == 1)
		escape_dotf(to, "%s, iteration %u: %s", first->name, iteration->iteration, facts_op_name(first->op));
	else
		escape_dotf(to, "job %s, iteration %u: %u collectives", v->run.jobs[iteration->job].name,
			    iteration->iteration, iteration->ncollectives);
}

int
dot_write_waiting(const struct verdict *v, FILE *to)
{
	struct facts facts = facts_of(v);

	fprintf(to, "// An arrow leads from what waited to what it waited for.\n"
		    "digraph waiting {\n"
		    "  rankdir=RL;\n"
		    "  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n"
		    "  edge [fontname=\"sans-serif\", fontsize=9];\n");
	for (uint32_t c = 0; c < v->run.niterations; c++) {
		const struct waiting_graph *w = &vedrfolnir_of(v)->waiting[c];

		fprintf(to, "  subgraph cluster_%u {\n    label=", c);
		write_label(v, &v->run.iterations[c], to);
		fprintf(to, ";\n");
		for (uint32_t i = 0; i < w->nvertices; i++)
			write_vertex(&facts, c, i, to);
		for (uint32_t i = 0; i < w->nedges; i++)
			write_edge(&facts, c, &w->edges[i], to);
		fprintf(to, "  }\n");
	}
	fprintf(to, "}\n");
	return ferror(to) ? -EIO : 0;
}
