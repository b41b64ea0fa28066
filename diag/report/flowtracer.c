/* SPDX-License-Identifier: BSD-3-Clause */
/* How FlowTracer's section is reported; see diag/diagnoser.h. */
#include "diag/report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/err.h"
#include "common/minmax.h"
#include "common/run_files.h"
#include "diag/diagnoser.h"
#include "diag/flowtracer/section.h"
#include "diag/report/json.h"
#include "diag/report/text.h"
#include "diag/verdict.h"

#define COLLISIONS_SHOWN 6
#define FLOWS_SHOWN 8
#define PAIRS_SHOWN 8
#define PERCENT 100.0

static int write_paths(const struct verdict *v, FILE *to);

const struct diagnoser_file flowtracer_files[FLOWTRACER_FILES] = {
	{ .name = RUN_PATHS, .write = write_paths },
};

static const char *const results[] = { REC_TRACE_RESULTS(ENUM_NAME) };
#define CONNECTION_NAME(id, value, name, meaning) [value] = (name),
static const char *const connections[] = { REC_TRACE_CONNECTIONS(CONNECTION_NAME) };

static const char *
node_name(const struct verdict *v, uint32_t node)
{
	return node < v->run.nnodes ? v->run.nodes[node].name : "?";
}

static const char *
port_name(const struct verdict *v, uint32_t port)
{
	return port < v->run.nports ? v->run.ports[port].name : "";
}

static const char *
flow_name(const struct verdict *v, uint32_t flow)
{
	return flow < v->run.nflows ? v->run.flows[flow].name : "?";
}

/* ---- flowtracer.csv ---- */

static int
write_paths(const struct verdict *v, FILE *to)
{
	const struct section *section = verdict_section(v, FLOWTRACER_NAME);
	const struct flowtracer *own = section->own;

	fputs("flow,round,hop,node,port,choices,result\n", to);
	for (uint32_t i = 0; i < own->npaths; i++) {
		const struct flowtracer_path *p = &own->paths[i];

		for (uint32_t h = 0; h < p->nhops; h++) {
			const struct flowtracer_hop *hop = &own->hops[p->first + h];

			fprintf(to, "%s,%u,%u,%s,%s,%u,%s\n", flow_name(v, p->flow), p->round, h, node_name(v, hop->node),
				port_name(v, hop->port), flowtracer_count(&hop->set),
				h + 1 == p->nhops ? results[p->result] : "");
		}
	}
	return ferror(to) ? -EIO : 0;
}

/* ---- report.txt ---- */

/* "38.5 %", or "unknown". @return buf */
static char *
percent_text(double percent, char buf[24])
{
	if (isnan(percent))
		snprintf(buf, 24, "unknown");
	else
		snprintf(buf, 24, "%.1f %%", percent);
	return buf;
}

static void
print_metric(const struct flowtracer *own, char line[FACTS_TEXT])
{
	char expected[24], expected_all[24];

	fmt_append(line, FACTS_TEXT,
		   " Flow imbalance (FIM, Eq. 1) of links that switches load: %.1f %% (by chance %s); of all %u links: "
		   "%.1f %% (%s).",
		   own->fim, percent_text(own->expected, expected), own->nlinks, own->fim_all,
		   percent_text(own->expected_all, expected_all));
}

static void
print_round(const struct text *text, const struct flowtracer *own)
{
	const struct flowtracer_round *r = own->shown < own->nrounds ? &own->rounds[own->shown] : NULL;
	char line[FACTS_TEXT] = "";

	if (r == NULL) {
		fmt_append(line, sizeof(line), "No round of traces ended.");
	} else {
		uint64_t took_ps = r->end_ps - r->start_ps;

		fmt_append(line, sizeof(line),
			   "%" PRIu64 " of %" PRIu64 " flows of %u host%s were traced in %s, by %" PRIu64
			   " questions over %" PRIu64 " connections (%s), %s on the network of management%s.",
			   r->traced, r->flows, r->hosts, r->hosts == 1 ? "" : "s",
			   fmt_time(fmt_unit_for(took_ps), took_ps).text, r->questions, r->connections,
			   connections[own->config.connections], fmt_bytes(r->bytes).text,
			   r->complete ? "" : "; the run ended before the round did");
		if (own->nrounds > 1)
			fmt_append(line, sizeof(line), " This was round %u of %u.", own->shown + 1, own->nrounds);
	}
	if (own->nlinks != 0)
		print_metric(own, line);
	if (own->sprayed != 0)
		fmt_append(line, sizeof(line),
			   " %u flows are sprayed: each of their packets takes its own path, and they are counted up to "
			   "that switch.",
			   own->sprayed);
	fprintf(text->to, "  ");
	text_wrap(text, line, 2);
}

static int
show_layers(const struct text *text, const struct flowtracer *own)
{
	static const char *const columns[] = { "LAYER", "LINKS", "FLOWS", "IDEAL", "LEAST", "MOST", "FIM", "BY CHANCE" };
	static const bool right[] = { false, true, true, true, true, true, true, true };
	struct libscols_table *table = table_create(columns, right, ARRAY_LEN(columns));
	int rc = table != NULL ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < own->nlayers && rc == 0; i++) {
		const struct flowtracer_layer *l = &own->layers[i];
		char name[FIM_LAYER_NAME], cell[7][24];

		snprintf(cell[0], sizeof(cell[0]), "%u", l->links);
		snprintf(cell[1], sizeof(cell[1]), "%u", l->flows);
		snprintf(cell[2], sizeof(cell[2]), "%.2f", l->ideal);
		snprintf(cell[3], sizeof(cell[3]), "%u", l->least);
		snprintf(cell[4], sizeof(cell[4]), "%u", l->most);
		snprintf(cell[5], sizeof(cell[5]), "%.1f %%", l->fim);
		percent_text(l->expected, cell[6]);
		rc = table_row(table, fim_layer_name(&l->tiers, own->most_tier, name), cell[0], cell[1], cell[2], cell[3],
			       cell[4], cell[5], cell[6], NULL);
	}
	if (rc == 0 && own->nlayers != 0)
		rc = table_print(table, text->to);
	table_destroy(table);
	return rc;
}

static void
print_collision(const struct text *text, const struct flowtracer_collision *c)
{
	const struct verdict *v = text->facts.v;
	char line[FACTS_TEXT] = "";

	fmt_append(line, sizeof(line), "%s to %s: %u flow%s at once, where %s of equal cost had %u. ",
		   port_name(v, c->port), node_name(v, v->run.ports[c->port].peer_node), c->most, c->most == 1 ? "" : "s",
		   port_name(v, c->other), c->least);
	if (c->cost_ps > 0)
		fmt_append(line, sizeof(line), "By itself it cost jobs about %s",
			   fmt_time(text->facts.unit, fmt_ps(c->cost_ps)).text);
	else
		fmt_append(line, sizeof(line), "By itself it cost no job time");
	fmt_append(line, sizeof(line), "; %u step%s lost %s. Flows:", c->nsteps, c->nsteps == 1 ? "" : "s",
		   fmt_time(text->facts.unit, fmt_ps(c->steps_ps)).text);
	for (uint32_t i = 0; i < c->nflows && i < FLOWS_SHOWN; i++)
		fmt_append(line, sizeof(line), "%s %s", i != 0 ? "," : "", flow_name(v, c->flows[i]));
	if (c->nflows > FLOWS_SHOWN)
		fmt_append(line, sizeof(line), " and %u more", c->nflows - FLOWS_SHOWN);
	fmt_append(line, sizeof(line), ".");
	text_wrap(text, line, 5);
}

static void
print_cost(const struct text *text, const struct flowtracer *own)
{
	char line[FACTS_TEXT] = "";

	fmt_append(line, sizeof(line),
		   "Flows shared %u link%s while others of equal cost had room. With an even spread, jobs would have taken "
		   "about %s less.",
		   own->ncollisions, own->ncollisions == 1 ? "" : "s",
		   fmt_time(text->facts.unit, fmt_ps(own->cost_ps)).text);
	fprintf(text->to, "  ");
	text_wrap(text, line, 2);
}

static int
cmp_rate(const void *pa, const void *pb)
{
	double a = (*(const struct pair_rate *const *)pa)->bps, b = (*(const struct pair_rate *const *)pb)->bps;

	return ORDER(a, b);
}

/* Fig. 3(a): the distribution, and the flows that got least. */
static int
show_pairs(const struct text *text, const struct flowtracer *own)
{
	const struct pair_rate **by = calloc(own->npairs + 1u, sizeof(struct pair_rate *));
	const struct verdict *v = text->facts.v;
	uint32_t n = own->npairs;
	char line[FACTS_TEXT] = "";

	if (by == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		by[i] = &own->pairs[i];
	qsort(by, n, sizeof(*by), cmp_rate);
	if (n != 0)
		fmt_append(line, sizeof(line),
			   "Throughput of %u pairs of hosts, the sum of their flows' while they sent, in Gbps: least %.1f, "
			   "median %.1f, most %.1f. "
			   "Least had",
			   n, by[0]->bps / 1e9, by[n / 2]->bps / 1e9, by[n - 1]->bps / 1e9);
	for (uint32_t i = 0; i < n && i < PAIRS_SHOWN; i++)
		fmt_append(line, sizeof(line), "%s %s to %s (%.1f)", i != 0 ? "," : "", node_name(v, by[i]->src),
			   node_name(v, by[i]->dst), by[i]->bps / 1e9);
	free(by);
	if (n == 0)
		return 0;
	fmt_append(line, sizeof(line), ".");
	fprintf(text->to, "  ");
	text_wrap(text, line, 2);
	return 0;
}

int
flowtracer_text(const struct text *text, const struct section *section)
{
	const struct flowtracer *own = section->own;
	int rc;

	text_title(text, "Paths of flows (FlowTracer)");
	print_round(text, own);
	rc = show_layers(text, own);
	if (rc == 0)
		rc = show_pairs(text, own);
	if (rc == 0 && own->ncollisions != 0)
		print_cost(text, own);
	for (uint32_t i = 0; i < own->ncollisions && i < COLLISIONS_SHOWN && rc == 0; i++) {
		fprintf(text->to, "  %u. ", i + 1);
		print_collision(text, &own->collisions[i]);
	}
	if (own->ncollisions > COLLISIONS_SHOWN)
		fprintf(text->to, "  ... and %u more, in verdict.json\n", own->ncollisions - COLLISIONS_SHOWN);
	if (own->ncollisions == 0 && own->nlinks != 0)
		fprintf(text->to, "  No step was slower because flows shared a link while links of equal cost had room.\n");
	if (own->unjudged != 0)
		fprintf(text->to, "  The %u shortest steps were not looked at.\n", own->unjudged);
	return rc;
}

/* FlowTracer's part of verdict.json. */

static json_t *
rounds_json(const struct flowtracer *own)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < own->nrounds; i++) {
		const struct flowtracer_round *r = &own->rounds[i];

		array = value_add(array,
				  json_pack("{s:I, s:I, s:I, s:I, s:I, s:b, s:o, s:o, s:I}", "hosts", (json_int_t)r->hosts,
					    "flows", (json_int_t)r->flows, "traced", (json_int_t)r->traced, "questions",
					    (json_int_t)r->questions, "connections", (json_int_t)r->connections, "complete",
					    r->complete, "start_ns", value_ns(r->start_ps), "end_ns", value_ns(r->end_ps),
					    "management_bytes", (json_int_t)r->bytes));
	}
	return array;
}

/* null: unknown */
static json_t *
expected_json(double percent)
{
	return isnan(percent) ? json_null() : value_real(percent);
}

static json_t *
layers_json(const struct flowtracer *own)
{
	json_t *array = json_array();
	char name[FIM_LAYER_NAME];

	for (uint32_t i = 0; i < own->nlayers; i++) {
		const struct flowtracer_layer *l = &own->layers[i];

		array = value_add(array,
				  json_pack("{s:s, s:I, s:I, s:o, s:I, s:I, s:o, s:o}", "layer",
					    fim_layer_name(&l->tiers, own->most_tier, name), "links", (json_int_t)l->links,
					    "flows", (json_int_t)l->flows, "ideal", value_real(l->ideal), "least",
					    (json_int_t)l->least, "most", (json_int_t)l->most, "fim_percent",
					    value_real(l->fim), "fim_by_chance_percent", expected_json(l->expected)));
	}
	return array;
}

static json_t *
links_json(const struct verdict *v, const struct flowtracer *own)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < own->nlinks; i++) {
		const struct flowtracer_link *l = &own->links[i];

		array = value_add(array, json_pack("{s:o, s:o, s:I, s:I, s:o}", "port", value_text(port_name(v, l->port)),
						   "to", value_text(node_name(v, v->run.ports[l->port].peer_node)), "layer",
						   (json_int_t)l->layer, "flows", (json_int_t)l->flows, "ideal",
						   value_real(l->ideal)));
	}
	return array;
}

static json_t *
pairs_json(const struct verdict *v, const struct flowtracer *own)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < own->npairs; i++) {
		const struct pair_rate *p = &own->pairs[i];

		array = value_add(array, json_pack("{s:o, s:o, s:I, s:I, s:o}", "from", value_text(node_name(v, p->src)),
						   "to", value_text(node_name(v, p->dst)), "flows", (json_int_t)p->flows,
						   "bytes", (json_int_t)p->bytes, "gbps", value_real(p->bps / 1e9)));
	}
	return array;
}

static json_t *
path_json(const struct verdict *v, const struct flowtracer *own, const struct flowtracer_path *path)
{
	json_t *array = json_array();

	for (uint32_t h = path->first; h < path->first + path->nhops; h++)
		array = value_add(array, own->hops[h].port != RUN_NONE ? value_text(port_name(v, own->hops[h].port))
								       : value_text(node_name(v, own->hops[h].node)));
	return array;
}

static json_t *
paths_json(const struct verdict *v, const struct flowtracer *own)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < own->npaths; i++) {
		const struct flowtracer_path *p = &own->paths[i];

		if (p->round == own->shown)
			array = value_add(array, json_pack("{s:o, s:o, s:s}", "flow", value_flow(v, p->flow), "ports",
							   path_json(v, own, p), "result", results[p->result]));
	}
	return array;
}

static json_t *
flows_json(const struct verdict *v, const uint32_t *flows, uint32_t count)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < count; i++)
		array = value_add(array, value_flow(v, flows[i]));
	return array;
}

static json_t *
collisions_json(const struct verdict *v, const struct flowtracer *own)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < own->ncollisions; i++) {
		const struct flowtracer_collision *c = &own->collisions[i];

		array = value_add(array,
				  json_pack("{s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:I, s:o, s:o}", "port",
					    value_text(port_name(v, c->port)), "other", value_text(port_name(v, c->other)),
					    "flows_at_once", (json_int_t)c->most, "flows_on_other", (json_int_t)c->least,
					    "cost_ns", value_ns(fmt_ps(c->cost_ps)), "steps_cost_ns",
					    value_ns(fmt_ps(c->steps_ps)), "flows", flows_json(v, c->flows, c->nflows),
					    "steps", (json_int_t)c->nsteps, "start_ns", value_ns(c->start_ps), "end_ns",
					    value_ns(c->end_ps)));
	}
	return array;
}

int
flowtracer_json(const struct verdict *v, const struct section *section, json_t *root)
{
	const struct flowtracer *own = section->own;
	json_t *all = json_pack("{s:o, s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}",
				"rtt_ns", value_ns(own->config.rtt_ps), "connections", connections[own->config.connections],
				"processes", (json_int_t)own->config.processes, "threads", (json_int_t)own->config.threads,
				"fim_percent", value_real(own->fim), "fim_by_chance_percent", expected_json(own->expected),
				"fim_all_percent", value_real(own->fim_all), "fim_all_by_chance_percent",
				expected_json(own->expected_all), "cost_ns", value_ns(fmt_ps(own->cost_ps)), "sprayed",
				(json_int_t)own->sprayed, "unjudged_steps", (json_int_t)own->unjudged, "rounds",
				rounds_json(own), "layers", layers_json(own), "links", links_json(v, own), "pairs",
				pairs_json(v, own), "paths", paths_json(v, own), "collisions", collisions_json(v, own));

	return json_object_set_new(root, FLOWTRACER_NAME, all) == 0 ? 0 : -ENOMEM;
}
