/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/truth.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/input_file.h"

int
truth_init(struct truth *truth, json_t *meaning, json_t *fabric, struct err *err)
{
	*truth = (struct truth){
		.meaning = json_incref(meaning),
		.fabric = json_incref(fabric),
		.anomalies = json_object_get(meaning, "anomalies"),
		.collective_flows = json_object_get(meaning, "collective_flows"),
		.earnest_ns = fmax(TRUTH_MIN_SHARE * json_number_value(json_object_get(meaning, "step_ns")),
				   json_number_value(json_object_get(meaning, "base_rtt_ns"))),
	};
	if (json_is_array(truth->anomalies) && json_is_array(truth->collective_flows) && truth->earnest_ns > 0 &&
	    json_is_array(json_object_get(fabric, "contentions")) && json_is_array(json_object_get(fabric, "pauses")) &&
	    json_is_array(json_object_get(fabric, "overtakings")))
		return 0;
	truth_fini(truth);
	return err_set(err, -EINVAL, "case.json or truth.json lacks something: delete its directory to make it anew");
}

static json_t *
load(const char *dir, const char *name, struct err *err)
{
	char path[PATH_MAX];
	json_error_t error;
	json_t *root;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	root = input_json(path, 0, &error);
	if (root == NULL)
		err_set(err, -EINVAL, "%s:%d: %s", path, error.line, error.text);
	return root;
}

int
truth_load(struct truth *truth, const char *dir, const char *run, struct err *err)
{
	json_t *meaning = load(dir, "case.json", err), *fabric;
	char name[NAME_MAX + 1];
	int ret;

	snprintf(name, sizeof(name), "%s/truth.json", run);
	fabric = meaning != NULL ? load(dir, name, err) : NULL;
	ret = fabric != NULL ? truth_init(truth, meaning, fabric, err) : -EINVAL;

	json_decref(meaning);
	json_decref(fabric);
	return ret;
}

void
truth_fini(struct truth *truth)
{
	json_decref(truth->meaning);
	json_decref(truth->fabric);
	*truth = (struct truth){ 0 };
}

bool
truth_is_collective(const struct truth *truth, const char *flow)
{
	return json_lists(truth->collective_flows, flow);
}

/* The other flow of a contention; NULL: the flow has no part in it. */
static const char *
partner(const json_t *contention, const char *flow)
{
	const json_t *flows = json_object_get(contention, "flows");
	const char *a = json_string_value(json_array_get(flows, 0)), *b = json_string_value(json_array_get(flows, 1));

	return strcmp(a, flow) == 0 ? b : strcmp(b, flow) == 0 ? a : NULL;
}

static double
number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

bool
truth_contended(const struct truth *truth, const char *port, const char *flow, const char *other)
{
	const json_t *contention;
	size_t i;

	json_array_foreach(json_object_get(truth->fabric, "contentions"), i, contention) {
		const char *with = partner(contention, flow);

		if (with == NULL || (other != NULL && strcmp(with, other) != 0))
			continue;
		if (port == NULL || strcmp(json_string_value(json_object_get(contention, "port")), port) == 0)
			return true;
	}
	return false;
}

bool
truth_collided(const struct truth *truth, const char *flow)
{
	const json_t *contention;
	size_t i;

	json_array_foreach(json_object_get(truth->fabric, "contentions"), i, contention) {
		const char *with = partner(contention, flow);

		if (with != NULL && truth_is_collective(truth, with) &&
		    number(contention, "together_ns") >= truth->earnest_ns &&
		    number(contention, "depth_mean") > TRUTH_MIN_DEPTH)
			return true;
	}
	return false;
}

bool
truth_any_shared(const struct truth *truth)
{
	const json_t *contention;
	size_t i;

	json_array_foreach(json_object_get(truth->fabric, "contentions"), i, contention)
		if (number(contention, "together_ns") > truth->earnest_ns)
			return true;
	return false;
}

bool
truth_overtook(const struct truth *truth, const char *port, const char *flow)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(truth->fabric, "overtakings"), i, entry) {
		const char *by = json_text(entry, "flow");

		if (strcmp(json_text(entry, "port"), port) == 0 &&
		    (flow != NULL ? strcmp(by, flow) == 0 : !truth_is_collective(truth, by)))
			return true;
	}
	return false;
}

bool
truth_is_whole(const struct truth *truth)
{
	return number(truth->fabric, "contentions_left_out") == 0;
}

static const json_t *
pauses_of(const struct truth *truth, const char *port)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(truth->fabric, "pauses"), i, entry)
		if (strcmp(json_string_value(json_object_get(entry, "port")), port) == 0)
			return entry;
	return NULL;
}

double
truth_paused_ns(const struct truth *truth, const char *port)
{
	return number(pauses_of(truth, port), "paused_ns");
}

/* The time from the first to the last event of an entry. */
struct span {
	double first_ns, last_ns;
};

static struct span
span_of(const json_t *entry)
{
	return (struct span){ number(entry, "first_ns"), number(entry, "last_ns") };
}

/* @return the time from the first to the last moment in which flows shared a queue at a port */
static struct span
contention_span(const struct truth *truth, const char *port)
{
	struct span all = { INFINITY, 0 };
	const json_t *contention;
	size_t i;

	json_array_foreach(json_object_get(truth->fabric, "contentions"), i, contention) {
		struct span span = span_of(contention);

		if (strcmp(json_text(contention, "port"), port) != 0)
			continue;
		all.first_ns = fmin(all.first_ns, span.first_ns);
		all.last_ns = fmax(all.last_ns, span.last_ns);
	}
	return all;
}

/* How long a paused port held up a flow of the collective, if that was (in part) in this time. */
static double
held_ns(const struct truth *truth, const json_t *pause, struct span time)
{
	const json_t *held;
	double longest_ns = 0;
	size_t i;

	json_array_foreach(json_object_get(pause, "held"), i, held) {
		struct span span = span_of(held);

		if (truth_is_collective(truth, json_text(held, "flow")) && span.first_ns <= time.last_ns &&
		    time.first_ns <= span.last_ns)
			longest_ns = fmax(longest_ns, number(held, "held_ns"));
	}
	return longest_ns;
}

double
truth_held_ns(const struct truth *truth, const char *port)
{
	return held_ns(truth, pauses_of(truth, port), (struct span){ 0, INFINITY });
}

bool
truth_paused_at_end(const struct truth *truth, const char *port)
{
	return json_is_true(json_object_get(pauses_of(truth, port), "at_end"));
}

/* Is the port one of this node? */
static bool
port_is_of(const char *port, const char *node)
{
	size_t len = strlen(node);

	return strncmp(port, node, len) == 0 && port[len] == ':';
}

bool
truth_pauses_lead(const struct truth *truth, const char *root, const json_t *ports)
{
	const json_t *pauses = json_object_get(truth->fabric, "pauses"), *pause, *other;
	json_t *reached = json_array(); /* pauses that begin at the root */
	struct span time = contention_span(truth, root);
	bool found = false, grown = true;
	size_t i, k;

	while (grown) {
		grown = false;
		json_array_foreach(pauses, i, pause) {
			const char *by = json_text(pause, "by");
			bool leads = port_is_of(root, by), known = false;

			json_array_foreach(reached, k, other) {
				leads |= port_is_of(json_text(other, "port"), by);
				known |= other == pause;
			}
			if (!leads || known)
				continue;
			json_array_append(reached, (json_t *)pause);
			grown = true;
			found |= json_lists(ports, json_text(pause, "port")) &&
				 held_ns(truth, pause, time) >= truth->earnest_ns;
		}
	}
	json_decref(reached);
	return found;
}

bool
truth_any_paused(const struct truth *truth, const json_t *ports)
{
	const json_t *port;
	size_t i;

	json_array_foreach(ports, i, port)
		if (truth_paused_ns(truth, json_string_value(port)) >= truth->earnest_ns)
			return true;
	return false;
}
