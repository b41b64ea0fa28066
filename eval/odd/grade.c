/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/odd/grade.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/array.h"
#include "eval/truth.h"

/* The possible subjects of a type of finding. */
static const struct fit {
	const char *type;
	bool flows;           /* those of a suspect are its culprits; else its root is the suspect's place */
	const char *kinds[3]; /* of faults and stragglers: those of this kind */
	const char *near[3];  /* and kinds that it is confused with in the right place: a part of the truth */
	bool path;            /* its root is a flow: the path of that flow is place enough */
} fits[] = {
	{ "flow-contention", true, { NULL }, { NULL }, false },
	{ "strict-priority", true, { NULL }, { NULL }, false },
	{ "incast", true, { NULL }, { NULL }, false },
	{ "pfc-backpressure", true, { NULL }, { NULL }, false },
	{ "load-imbalance", true, { NULL }, { NULL }, false },
	{ "pfc-storm", false, { "pfc-storm" }, { NULL }, false },
	{ "pfc-deadlock", false, { "pfc-storm" }, { NULL }, false },
	{ "packet-loss", false, { "loss", "corruption", "fib-corruption" }, { "blackhole", "link-down" }, false },
	{ "corruption", false, { "corruption" }, { "loss" }, false },
	{ "link-down", false, { "link-down" }, { "blackhole", "loss" }, false },
	{ "blackhole", false, { "blackhole", "fib-corruption" }, { "loss", "link-down" }, false },
	{ "path-delay", false, { "delay" }, { NULL }, true },
	{ "slow-host", false, { "slow-host", "straggler" }, { NULL }, false },
};

/* A verdict's names, by suspect. */
struct named {
	bool it[SUSPECT_MAX], near[SUSPECT_MAX];
	bool own;      /* flows of the job itself */
	char odd[128]; /* the first that fits nothing */
};

static bool
is_kind(const struct suspect *suspect, const char *const kinds[3])
{
	for (size_t i = 0; i < 3 && kinds[i] != NULL; i++) {
		size_t length = strlen(kinds[i]);

		if (strncmp(suspect->name, kinds[i], length) == 0 && suspect->name[length] == '@')
			return true;
	}
	return false;
}

/* Is a port, or a node, where a suspect is? */
static bool
is_at(const struct suspect *suspect, const char *root)
{
	const json_t *node;
	size_t i;

	if (truth_lists(suspect->ports, root) || truth_lists(suspect->nodes, root))
		return true;
	json_array_foreach(suspect->nodes, i, node) {
		size_t length = strlen(json_string_value(node));

		if (strncmp(json_string_value(node), root, length) == 0 && root[length] == ':')
			return true;
	}
	return false;
}

static bool
has_flow_of(const json_t *finding, const struct suspect *suspect)
{
	const json_t *flow;
	size_t i;

	json_array_foreach(json_object_get(finding, "flows"), i, flow)
		if (truth_lists(suspect->flows, json_string_value(flow)))
			return true;
	return false;
}

static const struct fit *
fit_of(const json_t *finding)
{
	for (size_t i = 0; i < ARRAY_LEN(fits); i++)
		if (strcmp(truth_text(finding, "type"), fits[i].type) == 0)
			return &fits[i];
	return NULL;
}

/* A finding without a place, but a flow that it is about: right in kind alone. */
static bool
is_nowhere(const struct fit *fit, const json_t *finding)
{
	return !fit->path && strstr(truth_text(finding, "root"), "->") != NULL;
}

/* Is the root of a finding where a suspect is? */
static bool
is_placed(const struct fit *fit, const struct suspect *suspect, const char *root)
{
	return is_at(suspect, root) || (fit->path && truth_lists(suspect->late, root));
}

/* Flows of the job itself are of no suspect. */
static bool
is_own(const json_t *finding, const struct suspects *suspects)
{
	for (size_t s = 0; s < suspects->count; s++)
		if (has_flow_of(finding, &suspects->at[s]))
			return false;
	return true;
}

static void
add_finding(const json_t *finding, const struct suspects *suspects, struct named *named)
{
	const struct fit *fit = fit_of(finding);
	bool fitted = false;

	if (fit != NULL && fit->flows && is_own(finding, suspects)) {
		named->own = true;
		return;
	}
	for (size_t s = 0; fit != NULL && s < suspects->count; s++) {
		const struct suspect *suspect = &suspects->at[s];
		bool is = fit->flows ? has_flow_of(finding, suspect)
				     : is_kind(suspect, fit->kinds) && is_placed(fit, suspect, truth_text(finding, "root"));
		bool near = !fit->flows && ((is_kind(suspect, fit->near) && is_at(suspect, truth_text(finding, "root"))) ||
					    (is_kind(suspect, fit->kinds) && is_nowhere(fit, finding)));

		named->it[s] |= is;
		named->near[s] |= near;
		fitted |= is || near;
	}
	if (!fitted && named->odd[0] == '\0')
		snprintf(named->odd, sizeof(named->odd), "%s at %s", truth_text(finding, "type"),
			 truth_text(finding, "root"));
}

/* Root causes are findings that explain some of the job's lost time. */
static bool
counts(const json_t *finding, const struct odd_facts *facts)
{
	const json_t *iteration;
	bool hits = false;
	double ns = 0;
	size_t i;

	json_array_foreach(json_object_get(finding, "iterations"), i, iteration) {
		if (json_integer_value(json_object_get(iteration, "job")) != (json_int_t)facts->job)
			continue;
		hits = true;
		ns += json_number_value(json_object_get(iteration, "explained_ns"));
	}
	return hits && !json_is_true(json_object_get(finding, "without_effect")) &&
	       (ns >= RERUN_MIN_SHARE * facts->truth->base_ns || ns >= facts->rtt_ns);
}

static bool
worth_all(const struct odd_facts *facts, double ns)
{
	return ns >= RERUN_MIN_SHARE * facts->truth->base_ns && ns >= facts->rtt_ns;
}

static bool
worth_any(const struct odd_facts *facts, double ns)
{
	return ns >= RERUN_MIN_SHARE * facts->truth->base_ns || ns >= facts->rtt_ns;
}

/* The right, missing and surplus findings. */
struct held {
	uint32_t needed, right, near;
	char missing[128], extra[128];
};

static void
note(char *first, const char *name)
{
	if (first[0] == '\0')
		snprintf(first, 128, "%.127s", name);
}

static void
hold(const struct odd_facts *facts, const struct named *named, struct held *held)
{
	const struct rerun_truth *truth = facts->truth;
	bool together = worth_all(facts, truth->base_ns - truth->all_ns), any = false, more;
	double alone_ns = 0;

	*held = (struct held){ 0 };
	for (size_t s = 0; s < facts->suspects->count; s++) {
		together &= !worth_all(facts, truth->costs[s].regained_ns);
		alone_ns += fmax(0, truth->costs[s].regained_ns);
	}
	more = worth_all(facts, truth->base_ns - truth->all_ns - alone_ns);
	for (size_t s = 0; s < facts->suspects->count; s++) {
		const struct rerun_cost *cost = &truth->costs[s];
		bool must = worth_all(facts, cost->regained_ns), is = named->it[s], near = named->near[s];
		bool may = must || together || more ||
			   worth_any(facts, fmax(cost->regained_ns, truth->has_shapley ? cost->shapley_ns : 0));

		held->needed += must;
		held->right += is && (must || together);
		held->near += near && !is && (must || together);
		any |= is && together;
		if (must && !is)
			note(held->missing, facts->suspects->at[s].name);
		if ((is || near) && !may)
			note(held->extra, facts->suspects->at[s].name);
	}
	held->needed += together;
	if (together && !any)
		note(held->missing, "what all regain together");
	if (named->own && held->right == 0 && !worth_any(facts, truth->all_ns - facts->expected_ns))
		note(held->extra, "the collective's own flows");
	if (named->odd[0] != '\0')
		note(held->extra, named->odd);
}

/* The verdict's claim about itself. */
static bool
does_not_know(const json_t *verdict)
{
	const json_t *network = json_object_get(verdict, "network");

	return strcmp(truth_text(network, "word"), "unknown") == 0;
}

static double
confidence_of(const json_t *verdict)
{
	const json_t *stated = json_object_get(json_object_get(verdict, "network"), "confidence"), *finding;
	double most = json_is_number(stated) ? json_number_value(stated) : -1;
	size_t i;

	if (most >= 0)
		return most;
	json_array_foreach(json_object_get(verdict, "findings"), i, finding) {
		stated = json_object_get(finding, "confidence");
		most = json_is_number(stated) ? fmax(most, json_number_value(stated)) : most;
	}
	return most;
}

const char *
odd_grade_name(enum odd_grade grade)
{
	static const char *const names[] = { "right", "partly", "wrong", "unknown" };

	return names[grade];
}

void
odd_grade(const json_t *verdict, const struct odd_facts *facts, struct odd_marks *marks)
{
	struct named named = { 0 };
	const json_t *finding;
	struct held held;
	bool names = false;
	size_t i;

	json_array_foreach(json_object_get(verdict, "findings"), i, finding) {
		if (!counts(finding, facts))
			continue;
		add_finding(finding, facts->suspects, &named);
		names = true;
	}
	hold(facts, &named, &held);
	*marks = (struct odd_marks){ .grade = ODD_WRONG, .confidence = confidence_of(verdict) };
	if (held.missing[0] == '\0' && held.extra[0] == '\0')
		marks->grade = marks->confidence >= 0 && marks->confidence < 0.5 ? ODD_UNKNOWN : ODD_RIGHT;
	else if (held.right + held.near > 0)
		marks->grade = ODD_PARTLY;
	else if (!names && does_not_know(verdict))
		marks->grade = ODD_UNKNOWN;
	if (held.missing[0] == '\0' && held.extra[0] == '\0')
		return;
	snprintf(marks->why, sizeof(marks->why), "%s%s%s%s%s", held.missing[0] != '\0' ? "not named: " : "", held.missing,
		 held.missing[0] != '\0' && held.extra[0] != '\0' ? "; " : "", held.extra[0] != '\0' ? "named: " : "",
		 held.extra);
}
