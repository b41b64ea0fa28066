/* SPDX-License-Identifier: BSD-3-Clause */
#include "twin/rerun/suspect.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/err.h"
#include "common/nearest.h"
#include "common/units.h"
#include "emulation/outputs/outputs.h"
#include "scenario/scenario.h"
#include "twin/rerun/text.h"
#include "workload/plan.h"
#include "workload/traffic/generator.h"
#include "workload/workload.h"

/* The next one. @return NULL: no memory */
static struct suspect *
add(struct suspects *suspects, const char *kind)
{
	struct suspect *suspect;

	if (suspects->count == suspects->cap) {
		size_t cap = suspects->cap != 0 ? 2 * suspects->cap : 16;

		suspect = realloc(suspects->at, cap * sizeof(*suspect));
		if (suspect == NULL)
			return NULL;
		suspects->at = suspect;
		suspects->cap = cap;
	}
	suspect = &suspects->at[suspects->count++];
	*suspect = (struct suspect){ .kind = kind,
				     .flows = json_array(),
				     .ports = json_array(),
				     .nodes = json_array(),
				     .losing = json_array(),
				     .late = json_array(),
				     .more_sets = json_array() };
	return suspect;
}

/* Names the latest, with a number where others have the same name, and sets the key that leaves it out. */
static void __attribute__((format(printf, 4, 5)))
name_latest(struct suspects *suspects, const struct cfg_where *where, const char *change, const char *fmt, ...)
{
	struct suspect *suspect = &suspects->at[suspects->count - 1];
	char name[SUSPECT_NAME - 16], path[CFG_WHERE_PATH];
	uint32_t alike = 1;
	va_list args;

	va_start(args, fmt);
	vsnprintf(name, sizeof(name), fmt, args);
	va_end(args);
	for (size_t i = 0; i + 1 < suspects->count; i++)
		alike += strncmp(suspects->at[i].name, name, strlen(name)) == 0 &&
			 strchr("#", suspects->at[i].name[strlen(name)]) != NULL;
	if (alike > 1)
		snprintf(suspect->name, sizeof(suspect->name), "%s#%u", name, alike);
	else
		snprintf(suspect->name, sizeof(suspect->name), "%s", name);
	snprintf(suspect->set, sizeof(suspect->set), "%s.%s", cfg_where_path(where, path), change);
}

static json_t *
flow_json(const struct scenario *scenario, uint32_t flow)
{
	char name[OUTPUT_FLOW_NAME];

	output_flow_name(scenario, flow, name, sizeof(name));
	return json_string(name);
}

static int
list_flows(const struct scenario *scenario, uint32_t job, struct suspects *suspects)
{
	char name[OUTPUT_FLOW_NAME];
	struct suspect *suspect = NULL;

	(void)job;
	for (uint32_t i = 0; i < scenario->plan->nbackgrounds; i++) {
		const struct plan_background *flow = &scenario->plan->backgrounds[i];

		if (flow->start_ps == TIME_NEVER)
			continue;
		if (i != 0 && flow->where.node == flow[-1].where.node) { /* another queue pair of the same flow */
			json_array_append_new(suspect->flows, flow_json(scenario, flow->flow));
			continue;
		}
		suspect = add(suspects, "flow");
		if (suspect == NULL)
			return -ENOMEM;
		json_array_append_new(suspect->flows, flow_json(scenario, flow->flow));
		output_flow_name(scenario, flow->flow, name, sizeof(name));
		name_latest(suspects, &flow->where, "enabled=false", "%s", name);
	}
	return 0;
}

/* The connections that a generator's messages go by. */
static void
add_connections(const struct scenario *scenario, uint32_t generator, struct suspect *suspect)
{
	const struct plan *plan = scenario->plan;

	for (uint32_t i = 0; i < plan->nmessages; i++) {
		uint32_t flow = plan->messages[i].flow;

		/* A connection has messages of one generator; the first is its owner. */
		if (plan->messages[i].generator == generator && plan->of[flow].owner == i)
			json_array_append_new(suspect->flows, flow_json(scenario, flow));
	}
}

static int
list_generators(const struct scenario *scenario, uint32_t job, struct suspects *suspects)
{
	const struct traffic *traffic = scenario->traffic;

	(void)job;
	for (uint32_t i = 0; i < traffic->ngenerators; i++) {
		const struct generator *generator = traffic->generators[i];
		struct suspect *suspect;

		if (!generator->enabled)
			continue;
		suspect = add(suspects, "generator");
		if (suspect == NULL)
			return -ENOMEM;
		add_connections(scenario, i, suspect);
		name_latest(suspects, &generator->where, "enabled=false", "generator@%s", generator->name);
	}
	return 0;
}

static int
list_jobs(const struct scenario *scenario, uint32_t job, struct suspects *suspects)
{
	const struct plan *plan = scenario->plan;

	for (uint32_t j = 0; j < scenario->workload->njobs; j++) {
		const struct work_job *other = &scenario->workload->jobs[j];
		struct suspect *suspect;

		if (j == job || !other->enabled)
			continue;
		suspect = add(suspects, "job");
		if (suspect == NULL)
			return -ENOMEM;
		for (uint32_t c = 0; c < plan->ncollectives; c++)
			for (uint32_t f = 0; plan->collectives[c].job == j && f < plan->collectives[c].nflows; f++)
				json_array_append_new(suspect->flows,
						      flow_json(scenario, plan->collectives[c].first_flow + f));
		name_latest(suspects, &other->where, "enabled=false", "job@%s", other->name);
	}
	return 0;
}

/* Where a fault sits: a node, or a port, whose link has another end. */
static void
add_place(const struct scenario *scenario, const char *target, struct suspect *suspect)
{
	const struct topo *topo = scenario->topo;
	char name[64];

	for (uint32_t i = 0; i < topo->nports; i++) {
		if (strcmp(topo_port_name(topo, i, name), target) != 0)
			continue;
		json_array_append_new(suspect->ports, json_string(target));
		json_array_append_new(suspect->ports, json_string(topo_port_name(topo, topo->ports[i].peer_port, name)));
		return;
	}
	json_array_append_new(suspect->nodes, json_string(target));
}

/* Does a flow, or its replies, pass a place? */
static bool
passes(const struct scenario *scenario, uint32_t flow, const struct suspect *suspect)
{
	const struct topo *topo = scenario->topo;
	struct route_path path;
	char name[64];

	for (int reverse = 0; reverse < 2; reverse++) {
		if (scenario_path(scenario, flow, reverse, &path) < 0)
			continue;
		for (uint32_t hop = 0; hop < path.hops; hop++)
			if (json_lists(suspect->ports, topo_port_name(topo, path.ports[hop], name)) ||
			    json_lists(suspect->nodes, topo->nodes[topo->ports[path.ports[hop]].node].name))
				return true;
	}
	return false;
}

/* Flows of the job that pass it. */
static void
add_passing(const struct scenario *scenario, uint32_t job, const struct suspect *suspect, json_t *flows)
{
	const struct plan *plan = scenario->plan;

	for (uint32_t c = 0; c < plan->ncollectives; c++) {
		uint32_t first = plan->collectives[c].first_flow;

		for (uint32_t f = first; plan->collectives[c].job == job && f < first + plan->collectives[c].nflows; f++)
			if (passes(scenario, f, suspect))
				json_array_append_new(flows, flow_json(scenario, f));
	}
}

static int
list_faults(const struct scenario *scenario, uint32_t job, struct suspects *suspects)
{
	for (uint32_t i = 0; i < scenario->faults.count; i++) {
		const struct fault *fault = &scenario->faults.faults[i];
		const struct fault_common *common = fault->params;
		struct suspect *suspect;
		char target[64];

		if (!common->enabled)
			continue;
		suspect = add(suspects, "fault");
		if (suspect == NULL)
			return -ENOMEM;
		suspect->symptoms = fault->ops->symptoms;
		fault->ops->target(fault->params, scenario->topo, target);
		add_place(scenario, target, suspect);
		if (fault->ops->loses_packets)
			add_passing(scenario, job, suspect, suspect->losing);
		if (fault->ops->extra_delay_ps != NULL)
			add_passing(scenario, job, suspect, suspect->late);
		name_latest(suspects, &common->where, "enabled=false", "%s@%s", fault->ops->kind, target);
	}
	return 0;
}

static const char *const straggler_symptoms[] = { "slow-host", NULL };

static int
list_stragglers(const struct scenario *scenario, uint32_t job, struct suspects *suspects)
{
	(void)job;
	for (uint32_t j = 0; j < scenario->workload->njobs; j++) {
		const struct work_job *of = &scenario->workload->jobs[j];

		for (size_t i = 0; of->enabled && i < of->nstragglers; i++) {
			const struct straggler *straggler = &of->stragglers[i];
			struct suspect *suspect;

			if (straggler->delay_ps == 0)
				continue;
			suspect = add(suspects, "straggler");
			if (suspect == NULL)
				return -ENOMEM;
			suspect->symptoms = straggler_symptoms;
			json_array_append_new(suspect->nodes,
					      json_string(scenario->topo->nodes[of->ranks[straggler->rank].node].name));
			name_latest(suspects, &straggler->where, "delay=0ps", "straggler@%s/%lld", of->name,
				    (long long)straggler->rank);
		}
	}
	return 0;
}

const struct suspect_kind suspect_kinds[] = {
	{ "flow", "a background flow, SRC->DST/SPORT>DPORT", list_flows },
	{ "generator", "all that a generator sends, generator@NAME", list_generators },
	{ "job", "another job, job@NAME; a collective of the top level is one", list_jobs },
	{ "fault", "a fault, KIND@PORT or KIND@NODE", list_faults },
	{ "straggler", "a rank that computes longer, straggler@JOB/RANK", list_stragglers },
	{ NULL, NULL, NULL },
};

int
suspects_list(const struct scenario *scenario, uint32_t job, struct suspects *suspects, struct err *err)
{
	for (const struct suspect_kind *kind = suspect_kinds; kind->name != NULL; kind++)
		if (kind->list(scenario, job, suspects) < 0)
			return err_set(err, -ENOMEM, "out of memory for suspects");
	return 0;
}

void
suspect_fini(struct suspect *suspect)
{
	json_decref(suspect->flows);
	json_decref(suspect->ports);
	json_decref(suspect->nodes);
	json_decref(suspect->losing);
	json_decref(suspect->late);
	json_decref(suspect->more_sets);
}

void
suspects_fini(struct suspects *suspects)
{
	for (size_t i = 0; i < suspects->count; i++)
		suspect_fini(&suspects->at[i]);
	free(suspects->at);
	*suspects = (struct suspects){ 0 };
}

int
suspects_add_remedy(struct suspects *suspects, const char *set, struct err *err)
{
	const char *equals = strchr(set, '=');
	struct suspect *suspect;

	if (equals == NULL || equals == set || equals[1] == '\0' || strlen(set) >= SUSPECT_NAME)
		return err_set(err, -EINVAL, "\"%s\" is no remedy: write PATH=VALUE as --set does, at most %d characters",
			       set, SUSPECT_NAME - 1);
	suspect = add(suspects, "remedy");
	if (suspect == NULL)
		return err_set(err, -ENOMEM, "out of memory for suspects");
	snprintf(suspect->name, sizeof(suspect->name), "%s", set);
	snprintf(suspect->set, sizeof(suspect->set), "%s", set);
	return 0;
}

/* The one that a name means. @return its index, or -EINVAL with err set */
static int
find(const struct suspects *suspects, const char *name, struct err *err)
{
	struct nearest near = { .word = name };
	size_t length = strlen(name);
	int found = -1;

	for (size_t i = 0; i < suspects->count; i++) {
		const char *has = suspects->at[i].name;

		nearest_offer(&near, has, NEAREST_MAX_WORD);
		if (strcmp(has, name) == 0)
			return (int)i;
		if (strcmp(suspects->at[i].kind, "flow") != 0 || strncmp(has, name, length) != 0 || has[length] != '/')
			continue;
		if (found >= 0)
			return err_set(err, -EINVAL, "\"%s\" may be %s or %s: write the whole name", name,
				       suspects->at[found].name, has);
		found = (int)i;
	}
	if (found >= 0)
		return found;
	if (nearest_is_near(&near))
		return err_set(err, -EINVAL, "no suspect \"%s\" in this scenario; did you mean \"%s\"?", name, near.best);
	return err_set(err, -EINVAL, "no suspect \"%s\" in this scenario; without --without all of them are listed", name);
}

int
suspects_keep(struct suspects *suspects, const char *const *names, size_t count, struct err *err)
{
	struct suspects kept = { 0 };
	int ret = 0;

	kept.at = calloc(count + 1, sizeof(*kept.at));
	if (kept.at == NULL)
		return err_set(err, -ENOMEM, "out of memory for suspects");
	kept.cap = count + 1;
	for (size_t n = 0; n < count && ret == 0; n++) {
		int index = find(suspects, names[n], err);

		ret = index < 0 ? index : 0;
		for (size_t k = 0; ret == 0 && k < kept.count; k++)
			if (strcmp(kept.at[k].name, suspects->at[index].name) == 0)
				ret = err_set(err, -EINVAL, "\"%s\" is named twice", names[n]);
		if (ret < 0)
			break;
		kept.at[kept.count] = suspects->at[index];
		json_incref(kept.at[kept.count].flows);
		json_incref(kept.at[kept.count].ports);
		json_incref(kept.at[kept.count].nodes);
		json_incref(kept.at[kept.count].losing);
		json_incref(kept.at[kept.count].late);
		json_incref(kept.at[kept.count].more_sets);
		kept.count++;
	}
	if (ret < 0) {
		suspects_fini(&kept);
		return ret;
	}
	suspects_fini(suspects);
	*suspects = kept;
	return 0;
}

/* Adds to the suspects that fit, evenly. @return whether any does */
static bool
share(struct claims *claims, const struct suspects *suspects, const bool *fits, bool costly, double ns)
{
	size_t count = 0;

	for (size_t s = 0; s < suspects->count; s++)
		count += fits[s];
	for (size_t s = 0; s < suspects->count; s++) {
		if (!fits[s])
			continue;
		claims->ns[s] += ns / (double)count;
		claims->named[s] |= costly && ns > 0;
	}
	return count != 0;
}

/* @param iteration  has a word of its own where a twin was run @param flow  of the finding; NULL: the finding as a whole */
static bool
is_costly(const json_t *finding, const json_t *iteration, const char *flow)
{
	return !json_is_true(json_object_get(finding, "without_effect")) &&
	       !json_is_true(json_object_get(iteration, "without_effect")) &&
	       (flow == NULL || !json_lists(json_object_get(iteration, "flows_without_effect"), flow));
}

/* A finding that names flows: each has its part. @param iteration  of the job */
static void
claim_flows(struct claims *claims, const struct suspects *suspects, const json_t *finding, const json_t *iteration)
{
	const json_t *parts = json_object_get(iteration, "flows_explained_ns"), *flow;
	size_t i;

	json_array_foreach(json_object_get(finding, "flows"), i, flow) {
		double part_ns = json_number_value(json_array_get(parts, i));
		bool fits[SUSPECT_MAX];

		for (size_t s = 0; s < suspects->count; s++)
			fits[s] = json_lists(suspects->at[s].flows, json_string_value(flow));
		if (!share(claims, suspects, fits, is_costly(finding, iteration, json_string_value(flow)), part_ns))
			claims->others_ns += part_ns;
	}
}

/* May a finding of this type name the suspect, where it shares its place with others? */
static bool
is_meant(const char *type, const struct suspect *suspect)
{
	for (size_t i = 0; suspect->symptoms != NULL && suspect->symptoms[i] != NULL; i++)
		if (strcmp(suspect->symptoms[i], type) == 0)
			return true;
	return false;
}

/* Of several that fit a place, those of the finding's kind, if there are any. */
static void
keep_meant(const struct suspects *suspects, const char *type, bool *fits)
{
	bool any = false;

	for (size_t s = 0; s < suspects->count; s++)
		any |= fits[s] && is_meant(type, &suspects->at[s]);
	for (size_t s = 0; s < suspects->count; s++)
		fits[s] &= !any || is_meant(type, &suspects->at[s]);
}

/* Is the root a port of one of these nodes, "l1:3" of "l1"? */
static bool
is_port_of(const char *root, const json_t *nodes)
{
	const json_t *node;
	size_t i;

	json_array_foreach(nodes, i, node) {
		size_t length = json_string_length(node);

		if (strncmp(root, json_string_value(node), length) == 0 && root[length] == ':')
			return true;
	}
	return false;
}

/* Those at the place of a finding that names no flows. */
static void
find_at_place(const struct suspects *suspects, const json_t *finding, bool *fits)
{
	const char *root = json_text(finding, "root"), *type = json_text(finding, "type");
	bool delayed = strcmp(type, "path-delay") == 0;

	for (size_t s = 0; s < suspects->count; s++)
		fits[s] = json_lists(suspects->at[s].ports, root) || json_lists(suspects->at[s].nodes, root) ||
			  json_lists(delayed ? suspects->at[s].late : suspects->at[s].losing, root) ||
			  (is_meant(type, &suspects->at[s]) && is_port_of(root, suspects->at[s].nodes));
	keep_meant(suspects, type, fits);
}

static void
claim_place(struct claims *claims, const struct suspects *suspects, const json_t *finding, const json_t *iteration)
{
	double explained_ns = json_number_value(json_object_get(iteration, "explained_ns"));
	bool fits[SUSPECT_MAX];

	find_at_place(suspects, finding, fits);
	if (!share(claims, suspects, fits, is_costly(finding, iteration, NULL), explained_ns))
		claims->others_ns += explained_ns;
}

static void
claim(struct claims *claims, const struct suspects *suspects, const json_t *finding, uint32_t job)
{
	const json_t *iteration;
	size_t i;

	json_array_foreach(json_object_get(finding, "iterations"), i, iteration) {
		if (json_integer_value(json_object_get(iteration, "job")) != (json_int_t)job)
			continue;
		if (json_array_size(json_object_get(finding, "flows")) != 0)
			claim_flows(claims, suspects, finding, iteration);
		else
			claim_place(claims, suspects, finding, iteration);
	}
}

void
claims_read(const json_t *verdict, const struct suspects *suspects, uint32_t job, struct claims *claims)
{
	const json_t *finding;
	size_t i;

	*claims = (struct claims){ 0 };
	json_array_foreach(json_object_get(verdict, "findings"), i, finding)
		claim(claims, suspects, finding, job);
}

json_t *
suspect_flows_named(const struct suspect *suspect, const json_t *finding)
{
	json_t *flows = json_array();
	json_t *flow;
	size_t i;

	json_array_foreach(json_object_get(finding, "flows"), i, flow)
		if (json_lists(suspect->flows, json_string_value(flow)))
			json_array_append(flows, flow);
	return flows;
}

bool
suspect_is_named(const struct suspects *suspects, size_t index, const json_t *finding)
{
	json_t *flows = suspect_flows_named(&suspects->at[index], finding);
	bool named = json_array_size(flows) != 0, fits[SUSPECT_MAX];

	json_decref(flows);
	if (json_array_size(json_object_get(finding, "flows")) != 0)
		return named;
	find_at_place(suspects, finding, fits);
	return fits[index];
}

double
suspect_claim_ns(const struct suspects *suspects, size_t index, const json_t *finding, uint32_t job)
{
	struct claims claims = { 0 };

	claim(&claims, suspects, finding, job);
	return claims.ns[index];
}

double
claims_share(const struct claims *claims, const struct suspects *suspects, size_t index)
{
	double sum = 0;

	for (size_t s = 0; s < suspects->count; s++)
		sum += claims->ns[s];
	return sum > 0 ? claims->ns[index] / sum : 0;
}
