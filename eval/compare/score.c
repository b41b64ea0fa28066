/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/compare/score.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/array.h"
#include "common/input_file.h"
#include "common/run_files.h"
#include "common/units.h"
#include "common/wire/record.h"
#include "eval/case_result.h"
#include "eval/compare/corpus.h"
#include "eval/truth.h"
#include "plugin/account.h"
#include "scenario/scenario.h"
#include "scenario/systems.h"
#include "twin/rerun/job.h"
#include "twin/rerun/rerun.h"
#include "workload/plan.h"
#include "workload/workload.h"

/* A system's cost to networks, by its verdict's account. */

static double
number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static double
rounds(const json_t *verdict)
{
	const json_t *round;
	double bytes = 0;
	size_t i;

	json_array_foreach(json_object_get(json_object_get(verdict, "flowtracer"), "rounds"), i, round)
		bytes += number(round, "management_bytes");
	return bytes;
}

/*
 * A system's bytes on networks: its records on the analyzer's socket, its packets, its requests over the management
 * network.
 */
static double
compare_bytes(const struct compare_system *system, const json_t *verdict)
{
	const uint64_t kinds = compare_row_of(system)->kinds;
	double bytes = (double)telemetry_bytes(verdict, kinds) + rounds(verdict) + probe_bytes(verdict);

	/* The run that several share has one that polls: that is not the others'. */
	return (kinds >> REC_POLL & 1) != 0 ? bytes + poll_bytes(verdict) : bytes;
}

#define COMPARE_MAX_RUNS 8

static const char *const by_queues[] = { "flow-contention", "strict-priority",
					 "incast",          "pfc-backpressure",
					 "pfc-storm",       "pfc-deadlock",
					 "forwarding-loop", "load-imbalance",
					 "path-delay",      "packet-loss",
					 "link-down",       "blackhole",
					 "slow-host",       "tail-drop",
					 "host-limited",    "timer-too-short",
					 "reordering",      "receiver-not-ready",
					 "pfc-watchdog",    "link-rate",
					 "no-pfc",          NULL };
static const char *const by_volumes[] = { "silent-fault", NULL };
static const char *const by_paths[] = { "path-imbalance", NULL };
static const char *const by_probes[] = { "rnic-problem", "switch-problem", "host-down", "cpu-overload", "high-rtt", NULL };

#define POLICY(name_, run_)                                                                                                \
	{                                                                                                                  \
		.name = name_, .run = run_, .types = by_queues, .prices = true                                             \
	}

struct compare_system compare_systems[COMPARE_MAX_SYSTEMS] = {
	POLICY("vedrfolnir", "shared"),
	{ .name = "flowpulse", .run = "shared", .types = by_volumes, .sprayed_only = true },
	{
		.name = "pingmesh",
		.run = "pingmesh",
		.types = by_probes,
	},
	{ .name = "flowtracer", .run = "shared", .types = by_paths, .ecmp_only = true },
	POLICY("hawkeye-minr", "hawkeye-minr"),
	POLICY("hawkeye-maxr", "hawkeye-maxr"),
	POLICY("full-polling", "full-polling"),
};
#define OURS 7
uint32_t compare_nsystems = OURS;
_Static_assert(OURS + PLUGIN_PROGRAMS == COMPARE_MAX_SYSTEMS, "a row has marks for all");

static struct program {
	struct system_row row;
	char name[PLUGIN_TYPE];
} programs[PLUGIN_PROGRAMS];

const struct compare_run compare_runs[] = {
	{ .name = "shared",
	  .policy = "vedrfolnir",
	  .keys = { "flowtracer.enabled=true" },
	  .diagnosed = true,
	  .volumes = true },
	{ .name = "without",
	  .policy = "vedrfolnir",
	  .keys = { "flowtracer.enabled=true" },
	  .volumes = true,
	  .without_fault = true },
	{ .name = "quiet",
	  .policy = "vedrfolnir",
	  .keys = { "flowtracer.enabled=true" },
	  .volumes = true,
	  .without_background = true },
	{ .name = "pingmesh", .policy = "off", .keys = { "pingmesh.enabled=true" }, .diagnosed = true, .probes = true },
	{ .name = "hawkeye-minr", .policy = "hawkeye-minr", .diagnosed = true },
	{ .name = "hawkeye-maxr", .policy = "hawkeye-maxr", .diagnosed = true },
	{ .name = "full-polling", .policy = "full-polling", .diagnosed = true },
};
const uint32_t compare_nruns = ARRAY_LEN(compare_runs);
_Static_assert(ARRAY_LEN(compare_runs) <= COMPARE_MAX_RUNS, "a case has room for all");

int
compare_add_program(const char *path, struct err *err)
{
	uint32_t number = compare_nsystems - OURS;
	struct plugin_account account;

	if (number == PLUGIN_PROGRAMS)
		return err_set(err, -EINVAL, "more than %u programs", PLUGIN_PROGRAMS);
	plugin_account_init(&account, path, NULL, 0);
	for (uint32_t i = 0; i < number; i++)
		if (strcmp(programs[i].name, account.name) == 0)
			return err_set(err, -EINVAL, "%s and %s have the same name, %s", compare_program(i)->program, path,
				       account.name);
	snprintf(programs[number].name, sizeof(programs[number].name), "%s", account.name);
	/* A plugin reads all bytes on the socket. */
	programs[number].row = (struct system_row){ .name = programs[number].name,
						    .title = programs[number].name,
						    .diagnoser = programs[number].name,
						    .kinds = UINT64_MAX };
	compare_systems[compare_nsystems++] =
		(struct compare_system){ .name = programs[number].name, .program = path, .run = "shared" };
	return 0;
}

const struct compare_system *
compare_program(uint32_t number)
{
	return OURS + number < compare_nsystems ? &compare_systems[OURS + number] : NULL;
}

const struct system_row *
compare_row_of(const struct compare_system *system)
{
	const struct system_row *row =
		system->program != NULL ? &programs[system - compare_systems - OURS].row : system_find(system->name);

	assert(row != NULL);
	return row;
}

bool
compare_is_its(const struct compare_system *system, const char *type)
{
	for (size_t i = 0; system->types != NULL && system->types[i] != NULL; i++)
		if (strcmp(system->types[i], type) == 0)
			return true;
	return system->types == NULL;
}

bool
compare_sees(const struct compare_system *system, const struct compare_cell *cell)
{
	if ((system->ecmp_only && cell->fabric->is_sprayed) || (system->sprayed_only && !cell->fabric->is_sprayed))
		return false;
	for (const struct compare_rule *rule = cell->fault->rules; rule->type != NULL; rule++)
		if (compare_is_its(system, rule->type))
			return true;
	return false;
}

size_t
compare_diagnosers(const struct compare_run *run, const char **names, const char **paths)
{
	size_t count = 0;

	for (uint32_t s = 0; run->diagnosed && s < compare_nsystems; s++)
		if (strcmp(compare_systems[s].run, run->name) == 0) {
			names[count] = compare_row_of(&compare_systems[s])->diagnoser;
			paths[count++] = compare_systems[s].program;
		}
	return count;
}

bool
compare_is_background(const struct suspect *suspect)
{
	return strcmp(suspect->name, "generator@" COMPARE_BACKGROUND) == 0;
}

bool
compare_has_run(const struct compare_cell *cell, const struct compare_run *run)
{
	return (!run->without_fault || !cell->fault->is_clean) && (!run->without_background || cell->has_background);
}

/* Possible effects of the job's flows on each other. */
static const char *const own_types[] = { "flow-contention", "strict-priority", "incast",   "pfc-backpressure",
					 "load-imbalance",  "path-imbalance",  "high-rtt", "deep-queue",
					 "tail-drop",       "no-pfc" };

/* A case, loaded: its contents and their places. */
struct facts {
	struct scenario *scenario;
	struct suspects suspects;
	struct compare_place place;
	json_t *background;       /* its flows */
	uint64_t start_ns;        /* of the job */
	double fault_ns;          /* when the fault begins; not before the job */
	struct rerun_case effect; /* for rerun_is_effect() */
	bool is_slow;             /* without the fault the job is slower than planned */
};

static json_t *
load(const char *dir, const char *run, const char *folder, const char *name, struct err *err)
{
	char path[PATH_MAX + 64];
	json_t *root;

	snprintf(path, sizeof(path), "%s/%s%s%s/%s", dir, run, folder != NULL ? "/" : "", folder != NULL ? folder : "",
		 name);
	root = input_json(path, 0, NULL);
	if (root == NULL)
		err_set(err, -ENODATA, "%s cannot be read; remove its folder, and the same command makes it again", path);
	return root;
}

/* ---- the truth ---- */

/* When the job was done, since its start; until the end of the run where it was not. @return 0 or -ENODATA with err */
static int
job_time(const char *dir, const char *run, uint64_t start_ns, double *time_ns, bool *complete, struct err *err)
{
	json_t *summary = load(dir, run, NULL, RUN_SUMMARY, err);
	const json_t *end = json_object_get(json_array_get(json_object_get(summary, "jobs"), 0), "end_ns");

	*complete = json_is_integer(end);
	*time_ns = json_number_value(*complete ? end : json_object_get(summary, "virtual_ns")) - (double)start_ns;
	json_decref(summary);
	return summary != NULL ? 0 : -ENODATA;
}

/* When it begins, if it is put in and not the background. */
static double
fault_start_ns(const struct scenario *scenario)
{
	uint64_t first_ps = TIME_NEVER;

	for (uint32_t i = 0; i < scenario->faults.count; i++) {
		const struct fault_common *common = scenario->faults.faults[i].params;

		if (common->enabled && common->start_ps < first_ps)
			first_ps = common->start_ps;
	}
	for (uint32_t i = 0; i < scenario->plan->nbackgrounds; i++)
		if (scenario->plan->backgrounds[i].start_ps < first_ps)
			first_ps = scenario->plan->backgrounds[i].start_ps;
	return first_ps == TIME_NEVER ? 0 : (double)first_ps / PS_PER_NS;
}

static int
place_parts(struct facts *facts, struct err *err)
{
	const struct suspect *of[SUSPECT_MAX];
	size_t count = 0;

	for (size_t s = 0; s < facts->suspects.count && count < SUSPECT_MAX; s++) {
		const struct suspect *suspect = &facts->suspects.at[s];

		if (compare_is_background(suspect))
			json_array_extend(facts->background, suspect->flows);
		else
			of[count++] = suspect;
	}
	return compare_place_init(&facts->place, facts->scenario, of, count, err);
}

static int
facts_load(struct facts *facts, const char *dir, struct compare_row *row, struct err *err)
{
	char path[PATH_MAX + 16];
	struct scenario_options from = { .path = path };
	const struct work_job *job;
	const struct plan_collective *of;
	int ret;

	*facts = (struct facts){ .background = json_array() };
	snprintf(path, sizeof(path), "%s/case.cfg", dir);
	facts->scenario = scenario_load(&from, err);
	if (facts->scenario == NULL)
		return -EINVAL;
	job = &facts->scenario->workload->jobs[0];
	of = &facts->scenario->plan->collectives[0];
	facts->start_ns = job->start_ps / PS_PER_NS;
	facts->fault_ns = fault_start_ns(facts->scenario);
	if (facts->fault_ns < (double)facts->start_ns)
		facts->fault_ns = (double)facts->start_ns;
	facts->effect.rtt_ns = of->most_rtt_ps / PS_PER_NS;
	row->expected_ns = (double)of->expect_ps / PS_PER_NS * of->iterations;
	ret = compare_parts(row->cell.fault, facts->scenario, &facts->suspects, err);
	return ret == 0 ? place_parts(facts, err) : ret;
}

static void
facts_fini(struct facts *facts)
{
	suspects_fini(&facts->suspects);
	compare_place_fini(&facts->place);
	json_decref(facts->background);
	scenario_destroy(facts->scenario);
}

/* Must a fault be found? One that costs less than half a percent or a round trip may be reported, but need not be. */
static bool
has_cost(const struct facts *facts, double base_ns, double regained_ns)
{
	return regained_ns >= RERUN_MIN_SHARE * base_ns && regained_ns >= (double)facts->effect.rtt_ns;
}

static int
find_truth(struct facts *facts, const char *dir, struct compare_row *row, struct err *err)
{
	double quiet_ns;
	bool complete;
	int ret = job_time(dir, "shared", facts->start_ns, &row->base_ns, &row->base_complete, err);

	row->without_ns = row->base_ns;
	row->without_complete = row->base_complete;
	if (ret == 0 && !row->cell.fault->is_clean)
		ret = job_time(dir, "without", facts->start_ns, &row->without_ns, &row->without_complete, err);
	if (ret == 0 && row->cell.has_background) {
		ret = job_time(dir, "quiet", facts->start_ns, &quiet_ns, &complete, err);
		row->background_costs = rerun_is_effect(&facts->effect, row->base_ns, row->base_ns - quiet_ns);
	}
	row->costs = !row->cell.fault->is_clean && has_cost(facts, row->base_ns, row->base_ns - row->without_ns);
	facts->is_slow = rerun_is_effect(&facts->effect, row->expected_ns, row->without_ns - row->expected_ns);
	return ret;
}

/* ---- findings ---- */

/* @return whether the finding blames only the job's own flows, or none */
static bool
is_own(const struct facts *facts, const struct compare_row *row, const json_t *finding)
{
	if (compare_names(finding, facts->background) || compare_names(finding, facts->place.flows) ||
	    !(facts->is_slow || row->costs))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(own_types); i++)
		if (strcmp(own_types[i], json_text(finding, "type")) == 0)
			return true;
	return false;
}

static enum compare_grade
grade_of(const struct facts *facts, const struct compare_row *row, bool acted, const json_t *finding)
{
	enum compare_grade grade = acted ? compare_grade(row->cell.fault, &facts->place, finding) : COMPARE_FALSE;

	if (grade >= COMPARE_PARTLY)
		return grade;
	if (row->background_costs && compare_names(finding, facts->background))
		return COMPARE_OWN;
	return is_own(facts, row, finding) ? COMPARE_OWN : grade;
}

static void
note_time(const struct facts *facts, const json_t *finding, struct compare_marks *marks)
{
	const json_t *detected = json_object_get(finding, "detected_ns");
	double after_ns = json_number_value(detected) - facts->fault_ns;

	if (!json_is_number(detected))
		return;
	after_ns = after_ns > 0 ? after_ns : 0;
	if (marks->after_ns < 0 || after_ns < marks->after_ns)
		marks->after_ns = after_ns;
}

static void
mark_findings(const struct facts *facts, const struct compare_row *row, const struct compare_system *system,
	      const json_t *findings, struct compare_marks *marks)
{
	const json_t *finding;
	size_t i;

	json_array_foreach(findings, i, finding) {
		enum compare_grade grade = grade_of(facts, row, marks->acted, finding);
		bool counts = !system->prices || !json_is_true(json_object_get(finding, "without_effect"));

		if (!compare_is_its(system, json_text(finding, "type")))
			continue;
		marks->seen = grade > marks->seen ? grade : marks->seen;
		if (!counts)
			continue;
		marks->findings[grade]++;
		if (grade >= COMPARE_PARTLY)
			note_time(facts, finding, marks);
		if (grade <= marks->best)
			continue;
		marks->best = grade;
		snprintf(marks->first, sizeof(marks->first), "%s at %s", json_text(finding, "type"),
			 json_text(finding, "root"));
	}
}

/* Did the fault act in this run? Flows always do. */
static bool
has_acted(const json_t *summary, const struct compare_row *row, const struct facts *facts)
{
	size_t faults = 0;

	for (uint32_t i = 0; i < facts->scenario->faults.count; i++)
		faults += ((const struct fault_common *)facts->scenario->faults.faults[i].params)->enabled;
	return !row->cell.fault->is_clean &&
	       (faults == 0 || json_array_size(json_object_get(summary, "idle_faults")) < faults);
}

static int
mark(const struct facts *facts, const char *dir, const struct compare_system *system, struct compare_row *row,
     struct err *err)
{
	struct compare_marks *marks = &row->marks[system - compare_systems];
	const char *diagnoser = compare_row_of(system)->diagnoser;
	json_t *summary = load(dir, system->run, NULL, RUN_SUMMARY, err),
	       *verdict = load(dir, system->run, diagnoser, RUN_VERDICT, err),
	       *analysis = load(dir, system->run, diagnoser, JOB_ANALYSIS, err);
	int ret = summary != NULL && verdict != NULL && analysis != NULL ? 0 : -ENODATA;

	*marks = (struct compare_marks){ .sees = compare_sees(system, &row->cell), .after_ns = -1 };
	if (ret == 0) {
		marks->acted = has_acted(summary, row, facts);
		marks->bytes = compare_bytes(system, verdict);
		marks->cpu_s = json_number_value(json_object_get(analysis, "cpu_s"));
		mark_findings(facts, row, system, json_object_get(verdict, "findings"), marks);
		ret = job_time(dir, system->run, facts->start_ns, &marks->job_ns, &marks->complete, err);
	}
	json_decref(summary);
	json_decref(verdict);
	json_decref(analysis);
	return ret;
}

int
compare_score(const char *dir, struct compare_row *row, struct err *err)
{
	struct facts facts;
	int ret;

	row->cell = compare_cell(row->number);
	ret = facts_load(&facts, dir, row, err);
	if (ret == 0)
		ret = find_truth(&facts, dir, row, err);
	for (uint32_t s = 0; ret == 0 && s < compare_nsystems; s++)
		ret = mark(&facts, dir, &compare_systems[s], row, err);
	facts_fini(&facts);
	return ret;
}
