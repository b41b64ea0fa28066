/* SPDX-License-Identifier: BSD-3-Clause */
/* FlowTracer's part of verdict.json. */
#include <errno.h>
#include <math.h>

#include <jansson.h>

#include "diag/flowtracer/section.h"
#include "diag/report/flowtracer.h"
#include "diag/report/value.h"

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
					    "cost_ns", value_ns((uint64_t)c->cost_ps), "steps_cost_ns",
					    value_ns((uint64_t)c->steps_ps), "flows", flows_json(v, c->flows, c->nflows),
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
				expected_json(own->expected_all), "cost_ns", value_ns((uint64_t)own->cost_ps), "sprayed",
				(json_int_t)own->sprayed, "unjudged_steps", (json_int_t)own->unjudged, "rounds",
				rounds_json(own), "layers", layers_json(own), "links", links_json(v, own), "pairs",
				pairs_json(v, own), "paths", paths_json(v, own), "collisions", collisions_json(v, own));

	return json_object_set_new(root, FLOWTRACER_NAME, all) == 0 ? 0 : -ENOMEM;
}
