/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/report/vedrfolnir.h"

#include <errno.h>

#include <jansson.h>

#include "common/run_files.h"
#include "diag/report/dot.h"
#include "diag/report/flows.h"
#include "diag/report/jobs.h"
#include "diag/report/text.h"
#include "diag/report/text_table.h"
#include "diag/report/value.h"
#include "diag/vedrfolnir/section.h"

const struct diagnoser_file vedrfolnir_files[VEDRFOLNIR_FILES] = {
	{ .name = RUN_WAITING, .write = dot_write_waiting },
	{ .name = RUN_PROVENANCE, .write = dot_write_provenance },
};

/* ---- verdict.json ---- */

/* A step of the same iteration, null: none. */
static json_t *
waited_for(const struct verdict *v, const struct run_step *step)
{
	const struct run_step *on;

	if (step->waited_for == RUN_NONE)
		return json_null();
	on = &v->run.steps[step->waited_for];
	return json_pack("{s:I, s:I, s:I}", "collective", (json_int_t)v->run.collectives[on->collective].id, "rank",
			 (json_int_t)on->rank, "step", (json_int_t)on->step);
}

static json_t *
path_step(const struct verdict *v, const struct run_step *step)
{
	json_t *more =
		json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o}", "host", value_text(v->run.nodes[step->host].name),
			  "flow", value_flow(v, step->flow), "start_ns", value_ns(step->start_ps), "end_ns",
			  value_ns(step->end_ps), "expect_ns", value_ns(step->expect_ps), "waited_for", waited_for(v, step),
			  "open", step->open, "completeness", value_real(step->completeness));

	return value_step(v, step, more);
}

static json_t *
critical_path(const struct verdict *v, const struct vedrfolnir *own)
{
	json_t *array = json_array();

	for (uint32_t g = 0; g < own->nwaiting; g++) {
		for (uint32_t i = 0; i < own->waiting[g].npath; i++)
			array = value_add(array, path_step(v, &v->run.steps[own->waiting[g].path[i]]));
	}
	return array;
}

static json_t *
shares(const struct verdict *v, const struct contributor *contributor)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < contributor->nshares; i++) {
		const struct run_step *step = &v->run.steps[contributor->shares[i].step];

		array = value_add(array, value_step(v, step,
						    json_pack("{s:o, s:o}", "flow", value_flow(v, step->flow), "score",
							      value_real(contributor->shares[i].score))));
	}
	return array;
}

static json_t *
contributors(const struct verdict *v, const struct vedrfolnir *own)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < own->ncontributors; i++)
		array = value_add(array, json_pack("{s:o, s:o, s:o}", "flow", value_flow(v, own->contributors[i].flow),
						   "score", value_real(own->contributors[i].score), "per_critical_flow",
						   shares(v, &own->contributors[i])));
	return array;
}

/* Into the collectives, which are there already. */
static int
add_budgets(const struct vedrfolnir *own, json_t *collectives)
{
	json_t *collective;
	size_t i;

	json_array_foreach(collectives, i, collective)
	{
		const struct time_budget *budget = &own->budgets[i];
		json_t *more = json_pack("{s:o, s:o}", "lost_ns", value_cost(budget->lost_ps), "unexplained_ns",
					 value_cost(time_budget_unexplained_ps(budget)));
		int rc = json_object_update(collective, more);

		json_decref(more);
		if (rc != 0)
			return -ENOMEM;
	}
	return 0;
}

/* ---- tests whose preconditions do not hold ---- */

#define UNJUDGED 5

static const struct unjudged_row {
	const char *test, *because;
	size_t at; /* in struct vedrfolnir_unjudged */
} unjudged_rows[UNJUDGED] = {
	{ "packet-loss", "their senders sent packets again by time alone, and no receiver's counts show a loss",
	  offsetof(struct vedrfolnir_unjudged, resends) },
	{ "path-delay", "their packets take paths that differ in rate or length",
	  offsetof(struct vedrfolnir_unjudged, paths) },
	{ "pfc-storm", "ports were paused, and no report tells what the switch behind them held then",
	  offsetof(struct vedrfolnir_unjudged, storms) },
	{ "forwarding-loop", "the answers of ports to the first arrival of their polling packets were lost",
	  offsetof(struct vedrfolnir_unjudged, loops) },
	{ "forwarding-loop", "traceroutes of R-Pingmesh's agents may be all that expired",
	  offsetof(struct vedrfolnir_unjudged, traces) },
};

static uint32_t
unjudged_count(const struct vedrfolnir *own, const struct unjudged_row *row)
{
	return *(const uint32_t *)((const char *)&own->unjudged + row->at);
}

static json_t *
unjudged_json(const struct vedrfolnir *own)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < UNJUDGED; i++)
		if (unjudged_count(own, &unjudged_rows[i]) != 0)
			array = value_add(array, json_pack("{s:s, s:s, s:I}", "test", unjudged_rows[i].test, "because",
							   unjudged_rows[i].because, "steps",
							   (json_int_t)unjudged_count(own, &unjudged_rows[i])));
	return array;
}

int
vedrfolnir_json(const struct verdict *v, const struct section *section, json_t *root)
{
	int rc = json_object_set_new(root, "jobs", jobs_json(v));

	if (rc == 0)
		rc = add_budgets(section->own, json_object_get(root, "collectives"));
	if (rc == 0)
		rc = json_object_set_new(root, "critical_path", critical_path(v, section->own));
	if (rc == 0)
		rc = json_object_set_new(root, "contributors", contributors(v, section->own));
	if (rc == 0)
		rc = json_object_set_new(root, "unjudged", unjudged_json(section->own));
	return rc == 0 ? 0 : -ENOMEM;
}

/* ---- report.txt ---- */

static int
write_path(const struct text *text, const struct vedrfolnir *own)
{
	uint32_t worst = text->facts.worst;
	char title[128];

	if (worst == RUN_NONE || own->waiting[text->facts.v->run.collectives[worst].in].npath == 0)
		return 0;
	snprintf(title, sizeof(title),
		 flows_alone(text->facts.v) ? "Slow flows (%s): those that lost most time"
					    : "Critical path (%s): each step waited for the one above",
		 text->facts.unit.name);
	text_title(text, title);
	return text_path(&text->facts, text->facts.v->run.collectives[worst].in, text->to);
}

static int
write_contributors(const struct text *text, const struct vedrfolnir *own)
{
	if (own->ncontributors == 0)
		return 0;
	text_title(text, flows_alone(text->facts.v)
				 ? "The paper's rating (Eq. 3: packet-waits caused in those flows, weighted by time lost)"
				 : "The paper's rating of flows outside the collective (Eq. 3: packet-waits, weighted by "
				   "time lost)");
	return text_contributors(&text->facts, text->to);
}

static void
write_unjudged(const struct text *text, const struct vedrfolnir *own)
{
	bool titled = false;

	for (uint32_t i = 0; i < UNJUDGED; i++) {
		const struct unjudged_row *row = &unjudged_rows[i];
		uint32_t steps = unjudged_count(own, row);
		char line[256];

		if (steps == 0)
			continue;
		if (!titled)
			text_title(text, "Not judged");
		titled = true;
		snprintf(line, sizeof(line), "  %s: cannot tell of %u slow step%s, because %s", row->test, steps,
			 steps == 1 ? "" : "s", row->because);
		text_wrap(text, line, 2);
		fputc('\n', text->to);
	}
}

int
vedrfolnir_text(const struct text *text, const struct section *section)
{
	int rc = jobs_text(text);

	if (rc == 0)
		rc = write_path(text, section->own);
	if (rc == 0)
		rc = write_contributors(text, section->own);
	if (rc == 0)
		write_unjudged(text, section->own);
	return rc;
}
