/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/judge.h"

#include <stddef.h>
#include <string.h>

static bool
contended_with_one_of(const struct truth *truth, const char *port, const char *flow, const json_t *others)
{
	const json_t *other;
	size_t i;

	json_array_foreach(others, i, other) if (truth_contended(truth, port, flow, json_string_value(other))) return true;
	return false;
}

/* Every culprit stood in the root's queue, with one of these flows or (NULL) with any. */
static bool
culprits_contended(const struct truth *truth, const json_t *finding, const json_t *others, struct err *why)
{
	const char *root = truth_text(finding, "root");
	const json_t *flow;
	size_t i;

	if (others != NULL && json_array_size(json_object_get(finding, "flows")) == 0) {
		err_set(why, 0, "%s at %s names no culprit", truth_text(finding, "type"), root);
		return false;
	}
	json_array_foreach(json_object_get(finding, "flows"), i, flow)
	{
		const char *name = json_string_value(flow);

		if (others != NULL ? !contended_with_one_of(truth, root, name, others)
				   : !truth_contended(truth, root, name, NULL)) {
			err_set(why, 0, "%s at %s: %s met nobody there", truth_text(finding, "type"), root, name);
			return false;
		}
	}
	return true;
}

/* Flows that meet at one last hop: each stood there with a victim or with another of them. */
static bool
incast_borne_out(const struct truth *truth, const json_t *finding, struct err *why)
{
	json_t *all = json_copy(json_object_get(finding, "victims"));
	bool borne_out;

	json_array_extend(all, json_object_get(finding, "flows"));
	borne_out = culprits_contended(truth, finding, all, why);
	json_decref(all);
	return borne_out;
}

static bool
queue_borne_out(const struct truth *truth, const json_t *finding, struct err *why)
{
	return culprits_contended(truth, finding, json_object_get(finding, "victims"), why);
}

static bool
pauses_borne_out(const struct truth *truth, const json_t *finding, struct err *why)
{
	const json_t *port;
	bool paused = false;
	size_t i;

	json_array_foreach(json_object_get(finding, "ports"), i, port) paused |=
		truth_paused_ns(truth, json_string_value(port)) > 0;
	if (!paused)
		err_set(why, 0, "pfc-backpressure from %s: no port was halted", truth_text(finding, "root"));
	return paused && culprits_contended(truth, finding, NULL, why);
}

/* Every culprit, or where none is named somebody, sent frames ahead of data at the root. */
static bool
overtaking_borne_out(const struct truth *truth, const json_t *finding, struct err *why)
{
	const json_t *flows = json_object_get(finding, "flows"), *flow;
	const char *root = truth_text(finding, "root");
	bool borne_out = json_array_size(flows) != 0 || truth_overtook(truth, root, NULL);
	size_t i;

	json_array_foreach(flows, i, flow) borne_out &= truth_overtook(truth, root, json_string_value(flow));
	if (!borne_out)
		err_set(why, 0, "%s at %s: nothing of theirs went ahead of data there", truth_text(finding, "type"), root);
	return borne_out;
}

bool
judge_overtaken(const struct truth *truth, const json_t *finding)
{
	struct err why = { 0 };

	return strcmp(truth_text(finding, "type"), "strict-priority") == 0 && overtaking_borne_out(truth, finding, &why);
}

static bool
due_to_anomaly(const struct truth *truth, const json_t *finding, struct err *why)
{
	const json_t *anomaly;
	size_t i;

	json_array_foreach(truth->anomalies, i, anomaly)
	{
		const struct anomaly_kind *kind = judge_kind(anomaly);

		if (kind != NULL && kind->confirms != NULL && kind->confirms(anomaly, finding))
			return true;
	}
	err_set(why, 0, "%s at %s: nothing of the kind was there", truth_text(finding, "type"),
		truth_text(finding, "root"));
	return false;
}

bool
judge_confirms(const struct truth *truth, const json_t *finding, struct err *why)
{
	const char *type = truth_text(finding, "type");

	if (strcmp(type, "flow-contention") == 0)
		return queue_borne_out(truth, finding, why);
	if (strcmp(type, "incast") == 0)
		return incast_borne_out(truth, finding, why);
	if (strcmp(type, "pfc-backpressure") == 0)
		return pauses_borne_out(truth, finding, why);
	if (strcmp(type, "strict-priority") == 0)
		return overtaking_borne_out(truth, finding, why);
	if (strcmp(type, "load-imbalance") == 0 &&
	    truth_lists(json_object_get(truth->meaning, "imbalanced"), truth_text(finding, "root")))
		return queue_borne_out(truth, finding, why);
	return due_to_anomaly(truth, finding, why);
}

bool
judge_is_right(const struct truth *truth, struct err *why)
{
	const json_t *anomaly;
	bool network = false;
	size_t i;

	if (!truth_is_whole(truth)) {
		err_set(why, 0, "more flows met at a port than the fabric's truth has room for");
		return false;
	}
	json_array_foreach(truth->anomalies, i, anomaly)
	{
		const struct anomaly_kind *kind = judge_kind(anomaly);

		if (kind == NULL || !kind->affects(truth, anomaly)) {
			err_set(why, 0, "%s did not touch the collective", truth_text(anomaly, "kind"));
			return false;
		}
		network |= !kind->in_hosts;
	}
	if (network || !truth_any_shared(truth))
		return true;
	err_set(why, 0, "data flows shared a queue");
	return false;
}
