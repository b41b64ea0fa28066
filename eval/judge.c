/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/judge.h"

#include <stddef.h>
#include <string.h>

#include "common/array.h"
#include "eval/truth.h"

/* The possible anomalies of a case, kind by kind. */

/* @return one of the findings has this type and root */
static bool
has_finding(const json_t *findings, const char *type, const char *root)
{
	const json_t *finding;
	size_t i;

	json_array_foreach(findings, i, finding)
		if (strcmp(json_text(finding, "type"), type) == 0 && strcmp(json_text(finding, "root"), root) == 0)
			return true;
	return false;
}

/* ---- contention and incast: the flows that really collided with the collective's are named, all of them ---- */

static bool
queues_touch(const struct truth *truth, const json_t *anomaly)
{
	const json_t *flow;
	size_t i;

	json_array_foreach(json_object_get(anomaly, "flows"), i, flow)
		if (truth_collided(truth, json_string_value(flow)))
			return true;
	return false;
}

static bool
is_culprit(const json_t *findings, const char *flow)
{
	const json_t *finding;
	size_t i;

	json_array_foreach(findings, i, finding)
		if (json_lists(json_object_get(finding, "flows"), flow))
			return true;
	return false;
}

static bool
queues_found(const struct truth *truth, const json_t *anomaly, const json_t *findings, struct err *why)
{
	const json_t *flow;
	size_t i;

	json_array_foreach(json_object_get(anomaly, "flows"), i, flow) {
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
	return truth_held_ns(truth, json_text(anomaly, "pauses")) >= truth->earnest_ns;
}

static bool
storm_found(const struct truth *truth, const json_t *anomaly, const json_t *findings, struct err *why)
{
	if (has_finding(findings, "pfc-storm", json_text(anomaly, "root")))
		return true;
	err_set(why, 0, "the storm of %s is not found", json_text(anomaly, "root"));
	return false;
}

static bool
storm_confirms(const json_t *anomaly, const json_t *finding)
{
	return strcmp(json_text(finding, "type"), "pfc-storm") == 0 &&
	       strcmp(json_text(finding, "root"), json_text(anomaly, "root")) == 0;
}

/* ---- backpressure: the port whose queue begins it; one of those, where flows share several ---- */

static bool
backpressure_affects(const struct truth *truth, const json_t *anomaly)
{
	const json_t *root;
	size_t i;

	json_array_foreach(json_object_get(anomaly, "roots"), i, root)
		if (truth_pauses_lead(truth, json_string_value(root), json_object_get(anomaly, "pauses")))
			return true;
	return false;
}

static bool
backpressure_found(const struct truth *truth, const json_t *anomaly, const json_t *findings, struct err *why)
{
	const json_t *roots = json_object_get(anomaly, "roots"), *root;
	size_t i;

	json_array_foreach(roots, i, root) {
		const char *name = json_string_value(root);

		if (has_finding(findings, "pfc-backpressure", name) &&
		    truth_pauses_lead(truth, name, json_object_get(anomaly, "pauses")))
			return true;
	}
	err_set(why, 0, "backpressure from %s%s is not found", json_string_value(json_array_get(roots, 0)),
		json_array_size(roots) > 1 ? " or another port" : "");
	return false;
}

/* ---- ring: flows of the collective that collide by chance; the truth has the culprit of every slowed flow ---- */

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
	json_array_foreach(truth->collective_flows, i, flow) {
		const char *name = json_string_value(flow);
		bool named = !truth_collided(truth, name);

		json_array_foreach(findings, k, finding)
			named |= json_lists(json_object_get(finding, "flows"), name) ||
				 json_lists(json_object_get(finding, "victims"), name);
		if (!named) {
			err_set(why, 0, "%s, which collided with its own collective, is not named", name);
			return false;
		}
	}
	return true;
}

/* ---- deadlock: a circle of paused ports, and the port beyond it that began it, if one did ---- */

static bool
names_port_of(const json_t *finding, const json_t *ports)
{
	const json_t *port;
	size_t i;

	json_array_foreach(json_object_get(finding, "ports"), i, port)
		if (json_lists(ports, json_string_value(port)))
			return true;
	return json_lists(ports, json_text(finding, "root"));
}

static bool
deadlock_affects(const struct truth *truth, const json_t *anomaly)
{
	const json_t *port;
	size_t i;

	json_array_foreach(json_object_get(anomaly, "ports"), i, port)
		if (!truth_paused_at_end(truth, json_string_value(port)))
			return false;
	return true;
}

static bool
deadlock_confirms(const json_t *anomaly, const json_t *finding)
{
	if (strcmp(json_text(finding, "type"), "pfc-deadlock") == 0)
		return names_port_of(finding, json_object_get(anomaly, "ports"));
	return storm_confirms(anomaly, finding); /* the root out of the loop, if there is one */
}

static bool
deadlock_found(const struct truth *truth, const json_t *anomaly, const json_t *findings, struct err *why)
{
	const char *root = json_text(anomaly, "root");
	const json_t *finding;
	bool found = false;
	size_t i;

	json_array_foreach(findings, i, finding)
		found |= strcmp(json_text(finding, "type"), "pfc-deadlock") == 0 && deadlock_confirms(anomaly, finding);
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
	const char *type = json_text(finding, "type");

	if (strcmp(type, "forwarding-loop") == 0)
		return json_lists(json_object_get(anomaly, "ports"), json_text(finding, "root"));
	/* Packets that return fill both buffers, and wait for each other. */
	return strcmp(type, "pfc-deadlock") == 0 && names_port_of(finding, json_object_get(anomaly, "ports"));
}

static bool
loop_found(const struct truth *truth, const json_t *anomaly, const json_t *findings, struct err *why)
{
	const json_t *finding;
	size_t i;

	json_array_foreach(findings, i, finding)
		if (strcmp(json_text(finding, "type"), "forwarding-loop") == 0 && loop_confirms(anomaly, finding))
			return true;
	err_set(why, 0, "the forwarding loop is not found");
	return false;
}

/* ---- load imbalance: one of the ports that flows of the collective share while an equally good one idles ---- */

static bool
imbalance_affects(const struct truth *truth, const json_t *anomaly)
{
	const json_t *flow;
	size_t i;

	json_array_foreach(truth->collective_flows, i, flow)
		if (truth_collided(truth, json_string_value(flow)))
			return true;
	return false;
}

static bool
imbalance_confirms(const json_t *anomaly, const json_t *finding)
{
	return strcmp(json_text(finding, "type"), "load-imbalance") == 0 &&
	       json_lists(json_object_get(anomaly, "ports"), json_text(finding, "root"));
}

static bool
imbalance_found(const struct truth *truth, const json_t *anomaly, const json_t *findings, struct err *why)
{
	const json_t *finding;
	size_t i;

	json_array_foreach(findings, i, finding)
		if (imbalance_confirms(anomaly, finding))
			return true;
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
	return strcmp(json_text(finding, "type"), "slow-host") == 0 &&
	       strcmp(json_text(finding, "root"), json_text(anomaly, "host")) == 0;
}

/* @return whether the finding is about steps of this number, in any iteration */
static bool
has_step(const json_t *finding, json_int_t step)
{
	const json_t *iteration, *named;
	size_t i, k;

	json_array_foreach(json_object_get(finding, "iterations"), i, iteration) {
		json_array_foreach(json_object_get(iteration, "steps"), k, named)
			if (json_integer_value(json_object_get(named, "step")) == step)
				return true;
	}
	return false;
}

static bool
slow_host_found(const struct truth *truth, const json_t *anomaly, const json_t *findings, struct err *why)
{
	json_int_t step = json_integer_value(json_object_get(anomaly, "step"));
	const json_t *finding;
	size_t i;

	json_array_foreach(findings, i, finding)
		if (slow_host_confirms(anomaly, finding) && has_step(finding, step))
			return true;
	err_set(why, 0, "slow host %s in step %d is not found", json_text(anomaly, "host"), (int)step);
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

/* @return NULL: there is none of this name (kinds[] has them) */
static const struct anomaly_kind *
judge_kind(const json_t *anomaly)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (strcmp(kinds[i].name, json_text(anomaly, "kind")) == 0)
			return &kinds[i];
	return NULL;
}

static bool
contended_with_one_of(const struct truth *truth, const char *port, const char *flow, const json_t *others)
{
	const json_t *other;
	size_t i;

	json_array_foreach(others, i, other)
		if (truth_contended(truth, port, flow, json_string_value(other)))
			return true;
	return false;
}

/* Every culprit stood in the root's queue, with one of these flows or (NULL) with any. */
static bool
culprits_contended(const struct truth *truth, const json_t *finding, const json_t *others, struct err *why)
{
	const char *root = json_text(finding, "root");
	const json_t *flow;
	size_t i;

	if (others != NULL && json_array_size(json_object_get(finding, "flows")) == 0) {
		err_set(why, 0, "%s at %s names no culprit", json_text(finding, "type"), root);
		return false;
	}
	json_array_foreach(json_object_get(finding, "flows"), i, flow) {
		const char *name = json_string_value(flow);

		if (others != NULL ? !contended_with_one_of(truth, root, name, others)
				   : !truth_contended(truth, root, name, NULL)) {
			err_set(why, 0, "%s at %s: %s contended with no flow there", json_text(finding, "type"), root,
				name);
			return false;
		}
	}
	return true;
}

/* Flows that share one last hop: each waited there with a victim or with another of them. */
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

	json_array_foreach(json_object_get(finding, "ports"), i, port)
		paused |= truth_paused_ns(truth, json_string_value(port)) > 0;
	if (!paused)
		err_set(why, 0, "pfc-backpressure from %s: no port was paused", json_text(finding, "root"));
	return paused && culprits_contended(truth, finding, NULL, why);
}

/* Every culprit, or where none is named any flow, sent frames ahead of data at the root. */
static bool
overtaking_borne_out(const struct truth *truth, const json_t *finding, struct err *why)
{
	const json_t *flows = json_object_get(finding, "flows"), *flow;
	const char *root = json_text(finding, "root");
	bool borne_out = json_array_size(flows) != 0 || truth_overtook(truth, root, NULL);
	size_t i;

	json_array_foreach(flows, i, flow)
		borne_out &= truth_overtook(truth, root, json_string_value(flow));
	if (!borne_out)
		err_set(why, 0, "%s at %s: nothing of theirs went ahead of data there", json_text(finding, "type"), root);
	return borne_out;
}

/*
 * Is a finding one of strict priority that the fabric saw: did each culprit, or where none is named any flow, send
 * frames of class 0 ahead of data at the root? No family is made for that, and ACKs do so in any: it may be named,
 * and need not be.
 */
static bool
judge_overtaken(const struct truth *truth, const json_t *finding)
{
	struct err why = { 0 };

	return strcmp(json_text(finding, "type"), "strict-priority") == 0 && overtaking_borne_out(truth, finding, &why);
}

static bool
due_to_anomaly(const struct truth *truth, const json_t *finding, struct err *why)
{
	const json_t *anomaly;
	size_t i;

	json_array_foreach(truth->anomalies, i, anomaly) {
		const struct anomaly_kind *kind = judge_kind(anomaly);

		if (kind != NULL && kind->confirms != NULL && kind->confirms(anomaly, finding))
			return true;
	}
	err_set(why, 0, "%s at %s: nothing of the kind was there", json_text(finding, "type"), json_text(finding, "root"));
	return false;
}

/*
 * Did the fabric see a finding's claim? Queues: every culprit stood in the root's queue with a victim (incast: or
 * with another culprit; pauses: with any flow) and, for pauses, a port named was paused. Load imbalance: as a queue,
 * where hashes leave a port of equal cost to none of the collective's flows. Strict priority: see judge_overtaken().
 * All else: an anomaly of the case confirms it.
 * @param why  set to the claim that does not hold
 */
static bool
judge_confirms(const struct truth *truth, const json_t *finding, struct err *why)
{
	const char *type = json_text(finding, "type");

	if (strcmp(type, "flow-contention") == 0)
		return queue_borne_out(truth, finding, why);
	if (strcmp(type, "incast") == 0)
		return incast_borne_out(truth, finding, why);
	if (strcmp(type, "pfc-backpressure") == 0)
		return pauses_borne_out(truth, finding, why);
	if (strcmp(type, "strict-priority") == 0)
		return overtaking_borne_out(truth, finding, why);
	if (strcmp(type, "load-imbalance") == 0 &&
	    json_lists(json_object_get(truth->meaning, "imbalanced"), json_text(finding, "root")))
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
		err_set(why, 0, "more flows contended at a port than the fabric's truth has room for");
		return false;
	}
	json_array_foreach(truth->anomalies, i, anomaly) {
		const struct anomaly_kind *kind = judge_kind(anomaly);

		if (kind == NULL || !kind->affects(truth, anomaly)) {
			err_set(why, 0, "%s did not touch the collective", json_text(anomaly, "kind"));
			return false;
		}
		network |= !kind->in_hosts;
	}
	if (network || !truth_any_shared(truth))
		return true;
	err_set(why, 0, "data flows shared a queue");
	return false;
}

static bool
all_found(const struct truth *truth, const json_t *findings, struct err *why)
{
	const json_t *anomaly;
	size_t i;

	json_array_foreach(truth->anomalies, i, anomaly) {
		const struct anomaly_kind *kind = judge_kind(anomaly);

		if (kind == NULL || !kind->found(truth, anomaly, findings, why))
			return false;
	}
	return true;
}

static bool
all_borne_out(const struct truth *truth, const json_t *findings, struct err *why)
{
	const json_t *finding;
	size_t i;

	json_array_foreach(findings, i, finding)
		if (!judge_confirms(truth, finding, why))
			return false;
	return true;
}

/*
 * The first finding that claims more than others' ACKs ahead of data. Those occur in any family: they may be named,
 * and need not be.
 */
static const json_t *
first_claim(const struct truth *truth, const json_t *findings)
{
	const json_t *finding;
	size_t i;

	json_array_foreach(findings, i, finding)
		if (!judge_overtaken(truth, finding))
			return finding;
	return NULL;
}

/* Do findings that the truth confirms claim that such frames cost time? Then the network has some part in it. */
static bool
overtaken_in_earnest(const struct truth *truth, const json_t *findings)
{
	const json_t *finding;
	size_t i;

	json_array_foreach(findings, i, finding)
		if (!json_is_true(json_object_get(finding, "without_effect")) && judge_overtaken(truth, finding))
			return true;
	return false;
}

/* If only hosts are at fault, the verdict must report the network as innocent. */
static bool
innocence_reported(const struct truth *truth, const json_t *verdict, struct err *why)
{
	bool innocent = json_is_true(json_object_get(json_object_get(verdict, "network"), "innocent"));
	const json_t *anomaly;
	size_t i;

	json_array_foreach(truth->anomalies, i, anomaly)
		if (!judge_kind(anomaly)->in_hosts)
			return true;
	innocent |=
		json_array_size(truth->anomalies) == 0 || overtaken_in_earnest(truth, json_object_get(verdict, "findings"));
	if (!innocent)
		err_set(why, 0, "the verdict does not report the network as innocent");
	return innocent;
}

enum outcome
score_verdict(const struct truth *truth, const json_t *verdict, struct err *why)
{
	const json_t *findings = json_object_get(verdict, "findings"), *claim = first_claim(truth, findings);

	if (json_array_size(truth->anomalies) == 0 && claim != NULL) {
		err_set(why, 0, "%s at %s, where nothing is wrong", json_text(claim, "type"), json_text(claim, "root"));
		return OUTCOME_FP;
	}
	if (all_borne_out(truth, findings, why) && all_found(truth, findings, why) &&
	    innocence_reported(truth, verdict, why))
		return OUTCOME_TP;
	return json_array_size(findings) == 0 && json_array_size(truth->anomalies) != 0 ? OUTCOME_FN : OUTCOME_FP;
}

const char *
score_name(enum outcome outcome)
{
	static const char *const names[] = { [OUTCOME_TP] = "tp", [OUTCOME_FP] = "fp", [OUTCOME_FN] = "fn" };

	return names[outcome];
}

static double
share(uint32_t part, uint32_t rest)
{
	return part + rest != 0 ? (double)part / (part + rest) : 0;
}

double
score_precision(const struct score *score)
{
	return share(score->count[OUTCOME_TP], score->count[OUTCOME_FP]);
}

double
score_recall(const struct score *score)
{
	return share(score->count[OUTCOME_TP], score->count[OUTCOME_FN]);
}
