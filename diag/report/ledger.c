/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/report/ledger.h"

#include <errno.h>
#include <math.h>

#include "common/array.h"
#include "common/minmax.h"
#include "common/printable.h"
#include "common/units.h"
#include "diag/report/flows.h"
#include "diag/report/json.h"

#define LEDGER_LINE(id, value, name, member, title, meaning) [id] = { name, title },

static const struct line {
	const char *name, *title;
} lines[LEDGER_LINES] = { [LEDGER_COMPUTE] = { "compute", "computation, without a message" },
			  [LEDGER_UNKNOWN] = { "unknown", "no entry has it" },
			  LEDGER_ROWS(LEDGER_LINE) };

/* @return whether its host reported entries */
static bool
add_step(const struct run_step *step, const struct vedrfolnir_ledger *ledger, double *ps)
{
	double rest_ps = (double)facts_exec_ps(step), all_ps = rest_ps;

	for (int i = 0; i < LEDGER_ENTRIES; i++) {
		ps[i] += (double)ledger->ps[i];
		rest_ps -= (double)ledger->ps[i];
	}
	ps[run_is_local(step) ? LEDGER_COMPUTE : LEDGER_UNKNOWN] += fmax(0, rest_ps);
	return rest_ps < all_ps;
}

static double
lost_ps(const struct run_step *step)
{
	return (double)facts_exec_ps(step) - (double)step->expect_ps;
}

/* The message of a path that lost most. @return its place on the path; npath: none */
static uint32_t
slowest(const struct verdict *v, const struct waiting_graph *w)
{
	uint32_t most = w->npath;

	for (uint32_t i = 0; i < w->npath; i++) {
		const struct run_step *step = &v->run.steps[w->path[i]];

		if (!run_is_local(step) && (most == w->npath || lost_ps(step) > lost_ps(&v->run.steps[w->path[most]])))
			most = i;
	}
	return most;
}

bool
ledger_facts(const struct facts *facts, struct ledger_facts *ledger)
{
	const struct verdict *v = facts->v;
	const struct vedrfolnir *own = vedrfolnir_of(v);
	const struct run_job *job;
	uint32_t at = 0, in;
	bool known = false;

	*ledger = (struct ledger_facts){ .step = RUN_NONE };
	if (facts->worst == RUN_NONE || own == NULL)
		return false;
	job = run_job_of(&v->run, facts->worst);
	in = v->run.collectives[facts->worst].in;
	for (uint32_t g = 0; g < own->nwaiting; at += own->waiting[g++].npath) {
		const struct waiting_graph *w = &own->waiting[g];
		uint32_t most = g == in ? slowest(v, w) : w->npath;

		if (g < job->first_iteration || g >= job->first_iteration + job->niterations)
			continue;
		for (uint32_t i = 0; i < w->npath; i++)
			known |= add_step(&v->run.steps[w->path[i]], &own->ledgers[at + i], ledger->paths_ps);
		if (most == w->npath)
			continue;
		ledger->step = w->path[most];
		add_step(&v->run.steps[ledger->step], &own->ledgers[at + most], ledger->step_ps);
	}
	return known && ledger->step != RUN_NONE;
}

/* In whole steps of the last decimal, so that lines add up as they are shown. @return the whole, -1: no memory */
static double
add_up(double *ps, uint64_t step_ps)
{
	double whole_ps = 0;

	for (int i = 0; i < LEDGER_LINES; i++)
		whole_ps += ps[i];
	whole_ps = round(whole_ps / (double)step_ps) * (double)step_ps;
	return fmt_add_up(ps, LEDGER_LINES, whole_ps, (double)step_ps) == 0 ? whole_ps : -1;
}

/* ---- report.txt ---- */

static int
text_row(struct libscols_table *table, const struct fmt_unit *unit, const struct line *line, double step_ps,
	 double paths_ps)
{
	return table_row(table, line->name, fmt_time_bare(*unit, fmt_ps(step_ps)).text,
			 fmt_time_bare(*unit, fmt_ps(paths_ps)).text, line->title, NULL);
}

static int
text_rows(struct libscols_table *table, const struct fmt_unit *unit, struct ledger_facts *ledger)
{
	double step_ps = add_up(ledger->step_ps, unit->ps / 1000), paths_ps = add_up(ledger->paths_ps, unit->ps / 1000);
	int rc = step_ps < 0 || paths_ps < 0 ? -ENOMEM : 0;

	for (int i = 0; rc == 0 && i < LEDGER_LINES; i++)
		if (ledger->step_ps[i] > 0 || ledger->paths_ps[i] > 0)
			rc = text_row(table, unit, &lines[i], ledger->step_ps[i], ledger->paths_ps[i]);
	return rc != 0 ? rc
		       : text_row(table, unit, &(struct line){ "all", "until each step's last ACK" }, step_ps, paths_ps);
}

static const char *
paths_name(const struct facts *facts)
{
	if (flows_alone(facts->v))
		return "SLOW FLOWS";
	return run_job_of(&facts->v->run, facts->worst)->niterations > 1 ? "CRITICAL PATHS" : "CRITICAL PATH";
}

static void
write_title(const struct text *text)
{
	const struct verdict *v = text->facts.v;
	char title[160], name[64];

	snprintf(title, sizeof(title), "Where senders' time went (%s)", text->facts.unit.name);
	if (v->run.njobs > 1)
		fmt_append(title, sizeof(title), ", of job %s",
			   printable_text(run_job_of(&v->run, text->facts.worst)->name, name, sizeof(name)));
	text_title(text, title);
}

int
ledger_text(const struct text *text)
{
	static const bool right[] = { false, true, true, false };
	const struct run_step *step;
	struct ledger_facts ledger;
	struct libscols_table *table;
	char doer[96], column[128];
	int rc;

	if (!ledger_facts(&text->facts, &ledger))
		return 0;
	step = &text->facts.v->run.steps[ledger.step];
	snprintf(column, sizeof(column), "%s STEP %u", facts_doer(text->facts.v, step, doer, sizeof(doer)), step->step);
	write_title(text);
	table = table_create((const char *const[]){ "ENTRY", column, paths_name(&text->facts), "MEANING" }, right,
			     ARRAY_LEN(right));
	rc = table == NULL ? -ENOMEM : text_rows(table, &text->facts.unit, &ledger);
	if (rc == 0)
		rc = table_print(table, text->to);
	table_destroy(table);
	return rc;
}

/* ---- report.html ---- */

json_t *
page_ledger(const struct verdict *v)
{
	struct facts facts = facts_of(v);
	uint64_t step_ps = max_u64(facts.unit.ps / 1000, PS_PER_NS);
	struct ledger_facts ledger;
	json_t *rows;

	if (!ledger_facts(&facts, &ledger))
		return json_null();
	if (add_up(ledger.step_ps, step_ps) < 0 || add_up(ledger.paths_ps, step_ps) < 0)
		return NULL;
	rows = json_array();
	for (int i = 0; i < LEDGER_LINES; i++)
		if (ledger.step_ps[i] > 0 || ledger.paths_ps[i] > 0)
			rows = value_add(rows, json_pack("{s:s, s:s, s:o, s:o}", "entry", lines[i].name, "title",
							 lines[i].title, "step_ns", value_cost(ledger.step_ps[i]),
							 "paths_ns", value_cost(ledger.paths_ps[i])));
	return json_pack("{s:I, s:o}", "step", (json_int_t)ledger.step, "rows", rows);
}
