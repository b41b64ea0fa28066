/* SPDX-License-Identifier: BSD-3-Clause */
/* How VEDRFOLNIR's section is reported; see diag/diagnoser.h. */
#include "diag/report/report.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>

#include "common/err.h"
#include "common/run_files.h"
#include "diag/diagnoser.h"
#include "diag/flowtracer/section.h"
#include "diag/pingmesh/section.h"
#include "diag/report/facts.h"
#include "diag/report/flows.h"
#include "diag/report/fmt.h"
#include "diag/report/jobs.h"
#include "diag/report/json.h"
#include "diag/report/ledger.h"
#include "diag/report/text.h"
#include "diag/vedrfolnir/section.h"
#include "diag/verdict.h"

static void
write_waiting_vertex(const struct facts *facts, uint32_t graph, uint32_t index, FILE *to)
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

/* How much of an iteration's graph is drawn. */
enum drawn { DRAWN_NOTHING, DRAWN_PATH, DRAWN_WHOLE };

/* Steps that the file has room for: whole graphs, and critical paths of the others. */
struct room {
	uint64_t whole, paths;
};

/* Graphs from the first on while there is room, then critical paths; that of the iteration to look at first always. */
static enum drawn
drawn_of(const struct facts *facts, uint32_t iteration, struct room *room)
{
	const struct run *run = &facts->v->run;
	uint64_t steps = run->iterations[iteration].nsteps, path = vedrfolnir_of(facts->v)->waiting[iteration].npath;
	bool first = facts->worst != RUN_NONE && run->collectives[facts->worst].in == iteration;

	if (steps <= room->whole) {
		room->whole -= steps;
		return DRAWN_WHOLE;
	}
	if (path <= room->paths) {
		room->paths -= path;
		return DRAWN_PATH;
	}
	return first ? DRAWN_PATH : DRAWN_NOTHING;
}

static void
write_iteration(const struct facts *facts, uint32_t graph, enum drawn drawn, FILE *to)
{
	const struct run_iteration *iteration = &facts->v->run.iterations[graph];
	const struct waiting_graph *w = &vedrfolnir_of(facts->v)->waiting[graph];

	fprintf(to, "  subgraph cluster_%u {\n    label=", graph);
	write_label(facts->v, iteration, to);
	fprintf(to, ";\n");
	if (drawn != DRAWN_WHOLE)
		fprintf(to, "    // Of its %u steps, those %s are not here: steps.csv has all.\n", iteration->nsteps,
			drawn == DRAWN_PATH ? "beside the critical path" : "of all paths");
	for (uint32_t i = 0; drawn != DRAWN_NOTHING && i < w->nvertices; i++)
		if (drawn == DRAWN_WHOLE || w->vertices[i].critical)
			write_waiting_vertex(facts, graph, i, to);
	for (uint32_t i = 0; drawn != DRAWN_NOTHING && i < w->nedges; i++)
		if (drawn == DRAWN_WHOLE || w->edges[i].critical)
			write_edge(facts, graph, &w->edges[i], to);
	fprintf(to, "  }\n");
}

int
dot_write_waiting(const struct verdict *v, FILE *to)
{
	struct facts facts = facts_of(v);
	struct room room = { WAITING_DRAWN_STEPS, WAITING_DRAWN_STEPS };

	fprintf(to, "// An arrow leads from what waited to what it waited for.\n"
		    "digraph waiting {\n"
		    "  rankdir=RL;\n"
		    "  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n"
		    "  edge [fontname=\"sans-serif\", fontsize=9];\n");
	for (uint32_t c = 0; c < v->run.niterations; c++)
		write_iteration(&facts, c, drawn_of(&facts, c, &room), to);
	fprintf(to, "}\n");
	return ferror(to) ? -EIO : 0;
}

static void
write_provenance_vertex(const struct facts *facts, uint32_t graph, uint32_t index, FILE *to)
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
		write_provenance_vertex(facts, graph, i, to);
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

	fprintf(to,
		"// flow -> port: packet-waits of the flow there (blue); port -> flow: what the flow contributed (red);\n"
		"// port -> port: share of the paused port's traffic that is sent to the other (violet).\n"
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

const struct diagnoser_file vedrfolnir_files[VEDRFOLNIR_FILES] = {
	{ .name = RUN_WAITING, .write = dot_write_waiting },
	{ .name = RUN_PROVENANCE, .write = dot_write_provenance },
};

/* ---- verdict.json ---- */

/* A step of the same iteration, null: none. */
static json_t *
waited_for(const struct verdict *v, const struct run_step *step)
{
	const struct run_step *on;

	if (step->waited_for == RUN_NONE)
		return json_null();
	on = &v->run.steps[step->waited_for];
	return json_pack("{s:I, s:I, s:I}", "collective", (json_int_t)v->run.collectives[on->collective].id, "rank",
			 (json_int_t)on->rank, "step", (json_int_t)on->step);
}

/* Its entries by name; null where its host reported none. */
static json_t *
ledger_json(const struct vedrfolnir_ledger *ledger)
{
#define LEDGER_KEY(id, value, name, member, title, meaning) [id] = name "_ns",
	static const char *const keys[LEDGER_ENTRIES] = { LEDGER_ROWS(LEDGER_KEY) };
	json_t *entries = json_object();
	uint64_t sum_ps = 0;

	for (int i = 0; i < LEDGER_ENTRIES; i++) {
		sum_ps += ledger->ps[i];
		entries = value_set(entries, keys[i], value_ns(ledger->ps[i]));
	}
	if (sum_ps != 0)
		return entries;
	json_decref(entries);
	return json_null();
}

static json_t *
path_step(const struct verdict *v, const struct run_step *step, const struct vedrfolnir_ledger *ledger)
{
	json_t *more = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o}", "host",
				 value_text(v->run.nodes[step->host].name), "flow", value_flow(v, step->flow), "start_ns",
				 value_ns(step->start_ps), "end_ns", value_ns(step->end_ps), "expect_ns",
				 value_ns(step->expect_ps), "waited_for", waited_for(v, step), "open", step->open,
				 "completeness", value_real(step->completeness), "ledger", ledger_json(ledger));

	return value_step(v, step, more);
}

static json_t *
critical_path(const struct verdict *v, const struct vedrfolnir *own)
{
	json_t *array = json_array();
	uint32_t at = 0;

	for (uint32_t g = 0; g < own->nwaiting; g++) {
		for (uint32_t i = 0; i < own->waiting[g].npath; i++)
			array = value_add(array, path_step(v, &v->run.steps[own->waiting[g].path[i]], &own->ledgers[at++]));
	}
	return array;
}

static json_t *
shares(const struct verdict *v, const struct contributor *contributor)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < contributor->nshares; i++) {
		const struct run_step *step = &v->run.steps[contributor->shares[i].step];

		array = value_add(array, value_step(v, step,
						    json_pack("{s:o, s:o}", "flow", value_flow(v, step->flow), "score",
							      value_real(contributor->shares[i].score))));
	}
	return array;
}

static json_t *
contributors(const struct verdict *v, const struct vedrfolnir *own)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < own->ncontributors; i++)
		array = value_add(array, json_pack("{s:o, s:o, s:o}", "flow", value_flow(v, own->contributors[i].flow),
						   "score", value_real(own->contributors[i].score), "per_critical_flow",
						   shares(v, &own->contributors[i])));
	return array;
}

/* Into the collectives, which are there already. */
static int
add_budgets(const struct vedrfolnir *own, json_t *collectives)
{
	json_t *collective;
	size_t i;

	json_array_foreach(collectives, i, collective) {
		const struct time_budget *budget = &own->budgets[i];
		json_t *more = json_pack("{s:o, s:o}", "lost_ns", value_cost(budget->lost_ps), "unexplained_ns",
					 value_cost(time_budget_unexplained_ps(budget)));
		int rc = json_object_update(collective, more);

		json_decref(more);
		if (rc != 0)
			return -ENOMEM;
	}
	return 0;
}

/* ---- tests whose preconditions do not hold ---- */

#define UNJUDGED 6

static const struct unjudged_row {
	const char *test, *because;
	size_t at; /* in struct vedrfolnir_unjudged */
} unjudged_rows[UNJUDGED] = {
	{ "packet-loss", "their senders sent packets again by time alone, and no receiver's counts show a loss",
	  offsetof(struct vedrfolnir_unjudged, resends) },
	{ "path-delay", "their packets take paths that differ in rate or length",
	  offsetof(struct vedrfolnir_unjudged, paths) },
	{ "path-delay",
	  "their packets were in flight for too large a part of an epoch to know which of several switches' reports are "
	  "about the same packets",
	  offsetof(struct vedrfolnir_unjudged, epochs) },
	{ "pfc-storm", "ports were paused, and no report shows the buffer of the switch behind them then",
	  offsetof(struct vedrfolnir_unjudged, storms) },
	{ "forwarding-loop", "the answers of ports to the first arrival of their polling packets were lost",
	  offsetof(struct vedrfolnir_unjudged, loops) },
	{ "forwarding-loop", "traceroutes of R-Pingmesh's agents may be all that expired",
	  offsetof(struct vedrfolnir_unjudged, traces) },
};

static uint32_t
unjudged_count(const struct vedrfolnir *own, const struct unjudged_row *row)
{
	return *(const uint32_t *)((const char *)&own->unjudged + row->at);
}

static json_t *
unjudged_json(const struct vedrfolnir *own)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < UNJUDGED; i++)
		if (unjudged_count(own, &unjudged_rows[i]) != 0)
			array = value_add(array, json_pack("{s:s, s:s, s:I}", "test", unjudged_rows[i].test, "because",
							   unjudged_rows[i].because, "steps",
							   (json_int_t)unjudged_count(own, &unjudged_rows[i])));
	return array;
}

int
vedrfolnir_json(const struct verdict *v, const struct section *section, json_t *root)
{
	int rc = json_object_set_new(root, "jobs", jobs_json(v));

	if (rc == 0)
		rc = add_budgets(section->own, json_object_get(root, "collectives"));
	if (rc == 0)
		rc = json_object_set_new(root, "critical_path", critical_path(v, section->own));
	if (rc == 0)
		rc = json_object_set_new(root, "contributors", contributors(v, section->own));
	if (rc == 0)
		rc = json_object_set_new(root, "unjudged", unjudged_json(section->own));
	return rc == 0 ? 0 : -ENOMEM;
}

/* ---- report.txt ---- */

static int
write_path(const struct text *text, const struct vedrfolnir *own)
{
	uint32_t worst = text->facts.worst;
	char title[128];

	if (worst == RUN_NONE || own->waiting[text->facts.v->run.collectives[worst].in].npath == 0)
		return 0;
	snprintf(title, sizeof(title),
		 flows_alone(text->facts.v) ? "Slow flows (%s): those that lost most time"
					    : "Critical path (%s): each step waited for the one above",
		 text->facts.unit.name);
	text_title(text, title);
	return text_path(&text->facts, text->facts.v->run.collectives[worst].in, text->to);
}

static int
write_contributors(const struct text *text, const struct vedrfolnir *own)
{
	if (own->ncontributors == 0)
		return 0;
	text_title(text, flows_alone(text->facts.v)
				 ? "The paper's rating (Eq. 3: packet-waits caused in those flows, weighted by time lost)"
				 : "The paper's rating of other flows (Eq. 3: packet-waits, "
				   "weighted by time lost)");
	return text_contributors(&text->facts, text->to);
}

static void
write_unjudged(const struct text *text, const struct vedrfolnir *own)
{
	bool titled = false;

	for (uint32_t i = 0; i < UNJUDGED; i++) {
		const struct unjudged_row *row = &unjudged_rows[i];
		uint32_t steps = unjudged_count(own, row);
		char line[256];

		if (steps == 0)
			continue;
		if (!titled)
			text_title(text, "Not judged");
		titled = true;
		snprintf(line, sizeof(line), "  %s: cannot judge %u slow step%s, because %s", row->test, steps,
			 steps == 1 ? "" : "s", row->because);
		text_wrap(text, line, 2);
		fputc('\n', text->to);
	}
}

int
vedrfolnir_text(const struct text *text, const struct section *section)
{
	int rc = jobs_text(text);

	if (rc == 0)
		rc = write_path(text, section->own);
	if (rc == 0)
		rc = ledger_text(text);
	if (rc == 0)
		rc = write_contributors(text, section->own);
	if (rc == 0)
		write_unjudged(text, section->own);
	return rc;
}
