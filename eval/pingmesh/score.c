/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/pingmesh/study.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/array.h"

static const char *const words[] = { PM_WORDS(ENUM_NAME) };

static const char *
text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

static double
seconds_of(const struct pm_case *c, const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key)) / 1e9 / c->factor;
}

static bool
has_text(const json_t *array, const char *text)
{
	const json_t *item;
	size_t i;

	json_array_foreach(array, i, item) {
		if (strcmp(json_string_value(item), text) == 0)
			return true;
	}
	return false;
}

static enum pm_word
word_of(const json_t *report)
{
	enum pm_word word = PM_WORD_RNIC;

	while (word < PM_NWORDS && strcmp(words[word], text_of(report, "type")) != 0)
		word++;
	return word;
}

/* Is a port that is named where the problem is? */
static bool
is_there(const struct topo *topo, const struct pm_problem *problem, uint32_t port)
{
	const struct topo_port *p = &topo->ports[port];

	if (problem->port != TOPO_NONE)
		return topo->ports[problem->port].link == p->link;
	return topo->nodes[problem->node].kind == TOPO_SWITCH && (p->node == problem->node || p->peer == problem->node);
}

static bool
is_placed(const struct topo *topo, const struct pm_problem *problem, const json_t *report)
{
	const char *node = text_of(report, "node");
	const json_t *item;
	size_t i;

	if (node[0] != '\0')
		return problem->node != TOPO_NONE && strcmp(topo->nodes[problem->node].name, node) == 0;
	json_array_foreach(json_object_get(report, "ports"), i, item) {
		uint32_t port = topo_find_port(topo, json_string_value(item));

		if (port != TOPO_NONE && is_there(topo, problem, port))
			return true;
	}
	return false;
}

static bool
finds(const struct pm_case *c, const struct pm_problem *problem, const json_t *report)
{
	return word_of(report) == problem->kind->word && seconds_of(c, report, "end_ns") >= problem->start_s &&
	       is_placed(c->loaded->topo, problem, report);
}

/*
 * The port that sends in the bad direction. Which direction of an RNIC's link is bad is unknown: a probe and its ACK
 * cross both (footnote 4).
 */
static bool
has_direction(const struct topo *topo, const struct pm_problem *problem, const json_t *report)
{
	const char *port = json_string_value(json_array_get(json_object_get(report, "ports"), 0));
	bool both = json_is_true(json_object_get(report, "both_directions"));

	if (!problem->kind->is_directed || problem->kind->class == PM_RNIC)
		return true;
	return !both && port != NULL && topo_find_port(topo, port) == problem->port;
}

static void
mark_found(const struct pm_case *c, const struct pm_problem *problem, const json_t *report, struct pm_found *found)
{
	const json_t *by = json_object_get(report, "by");
	double after_s = seconds_of(c, report, "found_ns") - problem->start_s;
	bool alone = json_integer_value(json_object_get(report, "alike")) <= 1;

	after_s = after_s > 0 ? after_s : 0;
	found->after_s = found->found && found->after_s < after_s ? found->after_s : after_s;
	found->found = true;
	found->alone |= alone;
	found->direction |= alone && has_direction(c->loaded->topo, problem, report);
	found->several |= has_text(by, "several-rnics");
	found->delay |= has_text(by, "delay");
	found->agent |= has_text(by, "agent");
}

static bool
is_at_starved(const struct pm_case *c, const json_t *report)
{
	const struct topo *topo = c->loaded->topo;
	const json_t *item;
	size_t i;

	json_array_foreach(json_object_get(report, "ports"), i, item) {
		uint32_t port = topo_find_port(topo, json_string_value(item));

		for (uint32_t p = 0; port != TOPO_NONE && p < c->nproblems; p++)
			if (c->problems[p].kind->class == PM_CPU && (topo->ports[port].node == c->problems[p].node ||
								     topo->ports[port].peer == c->problems[p].node))
				return true;
	}
	return false;
}

static void
name_place(const json_t *report, char *buf, size_t cap)
{
	size_t used = (size_t)snprintf(buf, cap, "%s", text_of(report, "node")), i;
	const json_t *item;

	json_array_foreach(json_object_get(report, "ports"), i, item) {
		if (used < cap)
			used += (size_t)snprintf(buf + used, cap - used, "%s%s", i != 0 ? " or " : "",
						 json_string_value(item));
	}
	if (used == 0)
		snprintf(buf, cap, "place unknown");
}

static void
score_report(const struct pm_case *c, const json_t *report, struct pm_marks *marks)
{
	struct pm_report grade = { .word = word_of(report) };

	for (uint32_t p = 0; p < c->nproblems; p++) {
		if (!finds(c, &c->problems[p], report))
			continue;
		grade.accurate = true;
		mark_found(c, &c->problems[p], report, &marks->found[p]);
	}
	grade.at_starved = !grade.accurate && grade.word == PM_WORD_RNIC && is_at_starved(c, report);
	name_place(report, grade.place, sizeof(grade.place));
	if (marks->nreports < PM_MOST_REPORTS)
		marks->reports[marks->nreports++] = grade;
	else
		marks->unlisted++;
}

int
pm_score(const struct pm_case *c, const json_t *verdict, struct pm_marks *marks, struct err *err)
{
	const json_t *own = json_object_get(verdict, "pingmesh"), *item;
	size_t i;

	*marks = (struct pm_marks){ 0 };
	if (!json_is_array(json_object_get(own, "problems")))
		return err_set(err, -EINVAL, "the verdict has no problems of R-Pingmesh");
	json_array_foreach(json_object_get(own, "problems"), i, item) {
		if (word_of(item) == PM_NWORDS)
			return err_set(err, -EINVAL, "the verdict has a problem of an unknown type: \"%s\"",
				       text_of(item, "type"));
		score_report(c, item, marks);
	}
	json_array_foreach(json_object_get(own, "periods"), i, item)
		marks->plain_rnics += (uint32_t)json_integer_value(json_object_get(item, "rnics_over_10_percent"));
	return 0;
}

const char *
pm_problem_text(const struct pm_case *c, const struct pm_problem *problem, char *buf, size_t cap)
{
	char port[64];

	snprintf(buf, cap, "%s at %s", problem->kind->name,
		 problem->port != TOPO_NONE ? topo_port_name(c->loaded->topo, problem->port, port)
					    : c->loaded->topo->nodes[problem->node].name);
	return buf;
}
