/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "diag/report/dot.h"
#include "diag/report/escape.h"
#include "diag/report/facts.h"

static void
write_vertex(const struct facts *facts, uint32_t graph, uint32_t index, FILE *to)
{
	const struct verdict *v = facts->v;
	const struct provenance_vertex *vertex = &vedrfolnir_of(v)->graphs[graph].vertices[index];

	fprintf(to, "    g%u_%u [label=", graph, index);
	if (vertex->kind == PROVENANCE_PORT) {
		escape_dotf(to, "%s%s\n%s packets", v->run.ports[vertex->ref].name, vertex->paused ? " (paused)" : "",
			    fmt_score(vertex->packets).text);
		fprintf(to, ", shape=box, style=filled, fillcolor=\"%s\"", vertex->paused ? "#ddd6fe" : "#f1f5f9");
	} else {
		escape_dotf(to, "%s", v->run.flows[vertex->ref].name);
		fprintf(to, ", shape=ellipse, color=\"%s\"", vertex->collective ? "#2563eb" : "#dc2626");
		if (vertex->victim)
			fprintf(to, ", penwidth=3");
	}
	fprintf(to, "];\n");
}

static void
write_graph(const struct facts *facts, uint32_t graph, FILE *to)
{
	static const char *const colors[] = {
		[PROVENANCE_FLOW_PORT] = "#2563eb", [PROVENANCE_PORT_FLOW] = "#dc2626", [PROVENANCE_PORT_PORT] = "#7c3aed"
	};
	const struct verdict *v = facts->v;
	const struct provenance *g = &vedrfolnir_of(v)->graphs[graph];
	const struct run_step *step = &v->run.steps[g->step];

	fprintf(to, "  subgraph cluster_%u {\n    label=", graph);
	escape_dotf(to, "%s step %u (%s%s)", v->run.flows[step->flow].name, step->step, facts_change(step).text,
		    vedrfolnir_step(v, step)->critical ? ", critical" : "");
	fprintf(to, "%s;\n", vedrfolnir_step(v, step)->critical ? "; penwidth=2" : "");
	for (uint32_t i = 0; i < g->nvertices; i++)
		write_vertex(facts, graph, i, to);
	for (uint32_t i = 0; i < g->nedges; i++) {
		const struct provenance_edge *edge = &g->edges[i];

		fprintf(to, "    g%u_%u -> g%u_%u [label=", graph, edge->from, graph, edge->to);
		escape_dotf(to, "%s", fmt_score(edge->weight).text);
		fprintf(to, ", color=\"%s\"];\n", colors[edge->kind <= PROVENANCE_PORT_PORT ? edge->kind : 0]);
	}
	fprintf(to, "  }\n");
}

int
dot_write_provenance(const struct verdict *v, FILE *to)
{
	struct facts facts = facts_of(v);

	fprintf(to, "// flow -> port: packet-waits of the flow there (blue); port -> flow: what the flow contributed "
		    "(red);\n"
		    "// port -> port: share of what the halted port sends that goes to the other (violet).\n"
		    "digraph provenance {\n"
		    "  rankdir=LR;\n"
		    "  node [fontname=\"sans-serif\", fontsize=10];\n"
		    "  edge [fontname=\"sans-serif\", fontsize=9];\n");
	for (uint32_t g = 0; g < vedrfolnir_of(v)->ngraphs; g++)
		if (vedrfolnir_of(v)->graphs[g].nvertices != 0)
			write_graph(&facts, g, to);
	fprintf(to, "}\n");
	return ferror(to) ? -EIO : 0;
}
