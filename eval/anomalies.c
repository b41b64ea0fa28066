/* SPDX-License-Identifier: BSD-3-Clause */
/* What may be wrong in a case, kind by kind. */
#include <stddef.h>
#include <string.h>

#include "common/array.h"
#include "eval/judge.h"

/* @return one of the findings has this type and root */
static bool
has_finding(const json_t *findings, const char *type, const char *root)
{
	const json_t *finding;
	size_t i;

	json_array_foreach(findings, i, finding) if (strcmp(truth_text(finding, "type"), type) == 0 &&
						     strcmp(truth_text(finding, "root"), root) == 0) return true;
	return false;
}

/* ---- contention and incast: the flows that really collided with the collective's are named, all of them ---- */

static bool
queues_touch(const struct truth *truth, const json_t *anomaly)
{
	const json_t *flow;
	size_t i;

	json_array_foreach(json_object_get(anomaly, "flows"), i,
			   flow) if (truth_collided(truth, json_string_value(flow))) return true;
	return false;
}

static bool
is_culprit(const json_t *findings, const char *flow)
{
	const json_t *finding;
	size_t i;

	json_array_foreach(findings, i, finding) if (truth_lists(json_object_get(finding, "flows"), flow)) return true;
	return false;
}

static bool
queues_found(const struct truth *truth, const json_t *anomaly, const json_t *findings, struct err *why)
{
	const json_t *flow;
	size_t i;

	json_array_foreach(json_object_get(anomaly, "flows"), i, flow)
	{
		const char *name = json_string_value(flow);

		if (truth_collided(truth, name) && !is_culprit(findings, name)) {
			err_set(why, 0, "%s is not found", name);
			return false;
		}
	}
	return true;
}

/* ---- storm: the port that sends PAUSE ---- */

static bool
storm_affects(const struct truth *truth, const json_t *anomaly)
{
	return truth_held_ns(truth, truth_text(anomaly, "halts")) >= truth->earnest_ns;
}

static bool
storm_found(const struct truth *truth, const json_t *anomaly, const json_t *findings, struct err *why)
{
	if (has_finding(findings, "pfc-storm", truth_text(anomaly, "root")))
		return true;
	err_set(why, 0, "the storm of %s is not found", truth_text(anomaly, "root"));
	return false;
}

static bool
storm_confirms(const json_t *anomaly, const json_t *finding)
{
	return strcmp(truth_text(finding, "type"), "pfc-storm") == 0 &&
	       strcmp(truth_text(finding, "root"), truth_text(anomaly, "root")) == 0;
}

/* ---- backpressure: the port whose queue begins it; one of those, where flows meet at several ---- */

static bool
backpressure_affects(const struct truth *truth, const json_t *anomaly)
{
	const json_t *root;
	size_t i;

	json_array_foreach(
		json_object_get(anomaly, "roots"), i,
		root) if (truth_pauses_lead(truth, json_string_value(root), json_object_get(anomaly, "halts"))) return true;
	return false;
}

static bool
backpressure_found(const struct truth *truth, const json_t *anomaly, const json_t *findings, struct err *why)
{
	const json_t *roots = json_object_get(anomaly, "roots"), *root;
	size_t i;

	json_array_foreach(roots, i, root)
	{
		const char *name = json_string_value(root);

		if (has_finding(findings, "pfc-backpressure", name) &&
		    truth_pauses_lead(truth, name, json_object_get(anomaly, "halts")))
			return true;
	}
	err_set(why, 0, "backpressure from %s%s is not found", json_string_value(json_array_get(roots, 0)),
		json_array_size(roots) > 1 ? " or another port" : "");
	return false;
}

/* ---- ring: what collides with itself by chance; who was slowed by whom is told for every flow that was ---- */

static bool
ring_affects(const struct truth *truth, const json_t *anomaly)
{
	(void)truth;
	(void)anomaly;
	return true;
}

static bool
ring_found(const struct truth *truth, const json_t *anomaly, const json_t *findings, struct err *why)
{
	const json_t *flow, *finding;
	size_t i, k;

	(void)anomaly;
	json_array_foreach(truth->collective_flows, i, flow)
	{
		const char *name = json_string_value(flow);
		bool named = !truth_collided(truth, name);

		json_array_foreach(findings, k, finding) named |= truth_lists(json_object_get(finding, "flows"), name) ||
								  truth_lists(json_object_get(finding, "victims"), name);
		if (!named) {
			err_set(why, 0, "%s, which collided with its own collective, is not named", name);
			return false;
		}
	}
	return true;
}

/* ---- deadlock: a circle of halted ports, and the port beyond it that began it, if one did ---- */

static bool
names_port_of(const json_t *finding, const json_t *ports)
{
	const json_t *port;
	size_t i;

	json_array_foreach(json_object_get(finding, "ports"), i,
			   port) if (truth_lists(ports, json_string_value(port))) return true;
	return truth_lists(ports, truth_text(finding, "root"));
}

static bool
deadlock_affects(const struct truth *truth, const json_t *anomaly)
{
	const json_t *port;
	size_t i;

	json_array_foreach(json_object_get(anomaly, "ports"), i,
			   port) if (!truth_paused_at_end(truth, json_string_value(port))) return false;
	return true;
}

static bool
deadlock_confirms(const json_t *anomaly, const json_t *finding)
{
	if (strcmp(truth_text(finding, "type"), "pfc-deadlock") == 0)
		return names_port_of(finding, json_object_get(anomaly, "ports"));
	return storm_confirms(anomaly, finding); /* the root out of the loop, if there is one */
}

static bool
deadlock_found(const struct truth *truth, const json_t *anomaly, const json_t *findings, struct err *why)
{
	const char *root = truth_text(anomaly, "root");
	const json_t *finding;
	bool found = false;
	size_t i;

	json_array_foreach(findings, i, finding) found |=
		strcmp(truth_text(finding, "type"), "pfc-deadlock") == 0 && deadlock_confirms(anomaly, finding);
	if (!found)
		err_set(why, 0, "the deadlock is not found");
	else if (root[0] != '\0' && !has_finding(findings, "pfc-storm", root))
		err_set(why, 0, "what began the deadlock, the storm of %s, is not found", root);
	return why->text[0] == '\0';
}

/* ---- loop: one of its ports ---- */

static bool
loop_affects(const struct truth *truth, const json_t *anomaly)
{
	return truth_any_paused(truth, json_object_get(anomaly, "ports"));
}

static bool
loop_confirms(const json_t *anomaly, const json_t *finding)
{
	const char *type = truth_text(finding, "type");

	if (strcmp(type, "forwarding-loop") == 0)
		return truth_lists(json_object_get(anomaly, "ports"), truth_text(finding, "root"));
	/* Packets that come back fill both buffers, and wait for each other. */
	return strcmp(type, "pfc-deadlock") == 0 && names_port_of(finding, json_object_get(anomaly, "ports"));
}

static bool
loop_found(const struct truth *truth, const json_t *anomaly, const json_t *findings, struct err *why)
{
	const json_t *finding;
	size_t i;

	json_array_foreach(findings, i, finding) if (strcmp(truth_text(finding, "type"), "forwarding-loop") == 0 &&
						     loop_confirms(anomaly, finding)) return true;
	err_set(why, 0, "the forwarding loop is not found");
	return false;
}

/* ---- load imbalance: one of the ports that flows of the collective share while an equally good one idles ---- */

static bool
imbalance_affects(const struct truth *truth, const json_t *anomaly)
{
	const json_t *flow;
	size_t i;

	json_array_foreach(truth->collective_flows, i,
			   flow) if (truth_collided(truth, json_string_value(flow))) return true;
	return false;
}

static bool
imbalance_confirms(const json_t *anomaly, const json_t *finding)
{
	return strcmp(truth_text(finding, "type"), "load-imbalance") == 0 &&
	       truth_lists(json_object_get(anomaly, "ports"), truth_text(finding, "root"));
}

static bool
imbalance_found(const struct truth *truth, const json_t *anomaly, const json_t *findings, struct err *why)
{
	const json_t *finding;
	size_t i;

	json_array_foreach(findings, i, finding) if (imbalance_confirms(anomaly, finding)) return true;
	err_set(why, 0, "load imbalance is not found");
	return false;
}

/* ---- slow host: the host and the step ---- */

static bool
slow_host_affects(const struct truth *truth, const json_t *anomaly)
{
	return true;
}

static bool
slow_host_confirms(const json_t *anomaly, const json_t *finding)
{
	return strcmp(truth_text(finding, "type"), "slow-host") == 0 &&
	       strcmp(truth_text(finding, "root"), truth_text(anomaly, "host")) == 0;
}

/* Is it about steps of this number, in any iteration? */
static bool
has_step(const json_t *finding, json_int_t step)
{
	const json_t *iteration, *named;
	size_t i, k;

	json_array_foreach(json_object_get(finding, "iterations"), i, iteration)
	{
		json_array_foreach(json_object_get(iteration, "steps"), k,
				   named) if (json_integer_value(json_object_get(named, "step")) == step) return true;
	}
	return false;
}

static bool
slow_host_found(const struct truth *truth, const json_t *anomaly, const json_t *findings, struct err *why)
{
	json_int_t step = json_integer_value(json_object_get(anomaly, "step"));
	const json_t *finding;
	size_t i;

	json_array_foreach(findings, i,
			   finding) if (slow_host_confirms(anomaly, finding) && has_step(finding, step)) return true;
	err_set(why, 0, "slow host %s in step %d is not found", truth_text(anomaly, "host"), (int)step);
	return false;
}

static const struct anomaly_kind kinds[] = {
	{ "contention", false, queues_touch, queues_found, NULL },
	{ "incast", false, queues_touch, queues_found, NULL },
	{ "pfc-storm", false, storm_affects, storm_found, storm_confirms },
	{ "backpressure", false, backpressure_affects, backpressure_found, NULL },
	{ "ring", false, ring_affects, ring_found, NULL },
	{ "deadlock", false, deadlock_affects, deadlock_found, deadlock_confirms },
	{ "loop", false, loop_affects, loop_found, loop_confirms },
	{ "imbalance", false, imbalance_affects, imbalance_found, imbalance_confirms },
	{ "slow-host", true, slow_host_affects, slow_host_found, slow_host_confirms },
};

const struct anomaly_kind *
judge_kind(const json_t *anomaly)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (strcmp(kinds[i].name, truth_text(anomaly, "kind")) == 0)
			return &kinds[i];
	return NULL;
}
