/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The findings that are right for a fault. A rule is of one type of finding, of any system, and grades it by its place:
 *
 *   at    its root is the fault's place: an end of the link, the node or a port of it or to it; or it names a flow that
 *         is the fault
 *   near  the fault's place is among the ports that it names, or its root is a node at an end of the link; for a flow,
 *         its root is a port on that flow's path
 *   path  its root is a flow of the job that passes the fault's place, and no port is reported
 *
 * A type without a rule has nothing to do with the fault. A system can see a fault if one of its types has a rule.
 */
#include "eval/compare/corpus.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "common/wire/layout.h"
#include "emulation/outputs/outputs.h"
#include "eval/odd/odd.h"
#include "eval/truth.h"
#include "scenario/scenario.h"
#include "twin/rerun/suspect.h"
#include "workload/plan.h"

static const char *const names[] = { COMPARE_GRADES(ENUM_NAME) };

const char *
compare_grade_name(enum compare_grade grade)
{
	return names[grade];
}

/* ---- places ---- */

static void
add_name(json_t *to, const char *name)
{
	if (!json_lists(to, name))
		json_array_append_new(to, json_string(name));
}

static void
add_all(json_t *to, const json_t *names_of)
{
	const json_t *name;
	size_t i;

	json_array_foreach(names_of, i, name)
		add_name(to, json_string_value(name));
}

/* The ends of a port's link, and the nodes there: where a flow of others goes. */
static void
add_near(struct compare_place *place, const struct topo *topo, uint32_t port)
{
	char name[64];

	add_name(place->near_ports, topo_port_name(topo, port, name));
	add_name(place->near_ports, topo_port_name(topo, topo->ports[port].peer_port, name));
	add_name(place->near, topo->nodes[topo->ports[port].node].name);
	add_name(place->near, topo->nodes[topo->ports[port].peer].name);
}

static void
add_flow(struct compare_place *place, const struct scenario *scenario, uint32_t flow)
{
	struct route_path path;
	char name[OUTPUT_FLOW_NAME];

	output_flow_name(scenario, flow, name, sizeof(name));
	if (!json_lists(place->flows, name) || scenario_path(scenario, flow, false, &path) < 0)
		return;
	for (uint32_t hop = 0; hop < path.hops; hop++)
		add_near(place, scenario->topo, path.ports[hop]);
}

/* Nodes at the ends of a link are near it. */
static void
add_ends(struct compare_place *place, const struct topo *topo)
{
	char name[64];

	for (uint32_t port = 0; port < topo->nports; port++)
		if (json_lists(place->ports, topo_port_name(topo, port, name)))
			add_name(place->near, topo->nodes[topo->ports[port].node].name);
}

/* Ports of a node, and to it, are where it is. */
static void
add_ports(struct compare_place *place, const struct topo *topo)
{
	char name[64];

	for (uint32_t port = 0; port < topo->nports; port++) {
		if (!json_lists(place->nodes, topo->nodes[topo->ports[port].node].name))
			continue;
		add_name(place->ports, topo_port_name(topo, port, name));
		add_name(place->ports, topo_port_name(topo, topo->ports[port].peer_port, name));
	}
}

/* The node that all of several faults have a link to is where they are. */
static void
add_common(struct compare_place *place, const struct topo *topo, const struct suspect *const *of, size_t count)
{
	for (uint32_t node = 0; node < topo->nnodes; node++) {
		size_t has = 0;

		for (size_t i = 0; i < count; i++) {
			bool here = false;
			const json_t *port;
			size_t k;

			json_array_foreach(of[i]->ports, k, port)
				here |= topo->ports[topo_find_port(topo, json_string_value(port))].node == node;
			has += here;
		}
		if (count > 1 && has == count)
			add_name(place->nodes, topo->nodes[node].name);
	}
}

int
compare_place_init(struct compare_place *place, const struct scenario *scenario, const struct suspect *const *of,
		   size_t count, struct err *err)
{
	*place = (struct compare_place){ .ports = json_array(),
					 .nodes = json_array(),
					 .near_ports = json_array(),
					 .near = json_array(),
					 .flows = json_array(),
					 .path = json_array() };
	for (size_t i = 0; i < count; i++) {
		add_all(place->ports, of[i]->ports);
		add_all(place->nodes, of[i]->nodes);
		add_all(place->flows, of[i]->flows);
		add_all(place->path, of[i]->losing);
		add_all(place->path, of[i]->late);
	}
	add_common(place, scenario->topo, of, count);
	add_ends(place, scenario->topo);
	add_ports(place, scenario->topo);
	for (uint32_t flow = 0; flow < scenario->plan->flows.count; flow++)
		add_flow(place, scenario, flow);
	return place->ports != NULL && place->nodes != NULL && place->near_ports != NULL && place->near != NULL &&
			       place->flows != NULL && place->path != NULL
		       ? 0
		       : err_set(err, -ENOMEM, "out of memory");
}

void
compare_place_fini(struct compare_place *place)
{
	json_decref(place->ports);
	json_decref(place->nodes);
	json_decref(place->near_ports);
	json_decref(place->near);
	json_decref(place->flows);
	json_decref(place->path);
}

/* ---- findings ---- */

bool
compare_names(const json_t *finding, const json_t *flows)
{
	const json_t *flow;
	size_t i;

	json_array_foreach(json_object_get(finding, "flows"), i, flow) {
		if (json_lists(flows, json_string_value(flow)))
			return true;
	}
	return false;
}

static bool
any_listed(const json_t *array, const json_t *names_of)
{
	const json_t *name;
	size_t i;

	json_array_foreach(names_of, i, name) {
		if (json_lists(array, json_string_value(name)))
			return true;
	}
	return false;
}

/* The grade by a rule of a finding's place. */
static enum compare_grade
placed(const struct compare_rule *rule, const struct compare_place *place, const json_t *finding)
{
	const char *root = json_text(finding, "root");
	const json_t *ports = json_object_get(finding, "ports");

	if (json_lists(place->ports, root) || json_lists(place->nodes, root) || compare_names(finding, place->flows))
		return rule->at;
	if (any_listed(place->ports, ports) || json_lists(place->near, root) || json_lists(place->near_ports, root))
		return rule->near;
	if (json_lists(place->path, root))
		return rule->path;
	return COMPARE_ELSEWHERE;
}

enum compare_grade
compare_grade(const struct compare_fault *fault, const struct compare_place *place, const json_t *finding)
{
	for (const struct compare_rule *rule = fault->rules; rule->type != NULL; rule++)
		if (strcmp(rule->type, json_text(finding, "type")) == 0)
			return placed(rule, place, finding);
	return COMPARE_FALSE;
}
