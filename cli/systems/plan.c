/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/systems/plan.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cli/start/launch.h"
#include "common/child.h"
#include "common/interrupt.h"
#include "common/log.h"
#include "common/program.h"
#include "common/run_files.h"
#include "plugin/account.h"
#include "scenario/scenario.h"
#include "scenario/systems.h"

/* The rows of those that can be had, in the list's order. @param at  [SYSTEMS_MAX] their places in it */
static size_t
able(const struct systems_plan *plan, const struct system_row **of, size_t *at)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->count; i++) {
		if (plan->systems[i].why.text[0] != '\0' || systems_is_program(&plan->systems[i]))
			continue;
		of[count] = plan->systems[i].row;
		at[count++] = i;
	}
	return count;
}

/* The keys are not the user's: their place is no help. */
static void
leave_place_out(struct err *why)
{
	const char *rest = strncmp(why->text, "--set:", 6) == 0 ? strstr(why->text, ": ") : NULL;

	if (rest != NULL)
		memmove(why->text, rest + 2, strlen(rest + 2) + 1);
}

/* Loads the scenario for each system alone, and keeps the reason why it cannot run here, if there is one. */
static void
try_systems(struct systems_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		struct systems_entry *entry = &plan->systems[i];
		struct system_sets sets;

		if (systems_is_program(entry))
			continue;
		scenario_destroy(systems_load(plan->options, plan->scenario, &entry->row, 1, 1, &sets, &entry->why));
		leave_place_out(&entry->why);
	}
}

/* @param name  NULL: the base run. @return 0 or -EINVAL with err */
static int
add_run(struct systems_plan *plan, const char *name, uint32_t at_work, struct err *err)
{
	struct systems_run *run = &plan->runs[plan->nruns];
	const struct system_row *of[SYSTEMS_MAX];
	size_t at[SYSTEMS_MAX], count = able(plan, of, at);
	struct scenario *scenario;
	uint32_t mask = 0;
	int used = name == NULL ? snprintf(run->dir, sizeof(run->dir), "%s", plan->dir)
				: snprintf(run->dir, sizeof(run->dir), "%s/" RUN_SYSTEMS "/%s", plan->dir, name);

	if (used >= (int)sizeof(run->dir))
		return err_set(err, -ENAMETOOLONG, "%s: too long a path", plan->dir);
	for (size_t i = 0; i < count; i++) {
		mask |= (at_work >> at[i] & 1) << i;
		if ((at_work >> at[i] & 1) != 0)
			plan->systems[at[i]].run = (uint32_t)plan->nruns;
	}
	for (size_t i = 0; i < plan->count && name == NULL; i++)
		if (systems_is_program(&plan->systems[i]))
			plan->systems[i].run = SYSTEMS_BASE;
	run->name = name;
	run->at_work = at_work;
	scenario = systems_load(plan->options, plan->scenario, of, count, mask, &run->sets, err);
	plan->nruns++;
	if (scenario == NULL)
		return -errno;
	scenario_destroy(scenario);
	return name == NULL ? 0 : system_set(&run->sets, err, "diagnosers=[]"); /* they follow the base run only */
}

static int
add_runs(struct systems_plan *plan, struct err *err)
{
	uint32_t shared = 0;
	int ret;

	for (size_t i = 0; i < plan->count; i++)
		if (plan->systems[i].row->passive && plan->systems[i].why.text[0] == '\0')
			shared |= 1u << i;
	ret = add_run(plan, NULL, shared, err);
	for (size_t i = 0; ret == 0 && i < plan->count; i++)
		if (!plan->systems[i].row->passive && plan->systems[i].why.text[0] == '\0')
			ret = add_run(plan, plan->systems[i].row->name, 1u << i, err);
	if (plan->scenario->timing.clock == CLOCK_REAL)
		return ret;
	plan->quiet = shared == 0 ? SYSTEMS_BASE : (uint32_t)plan->nruns;
	return ret == 0 && shared != 0 ? add_run(plan, SYSTEMS_QUIET, 0, err) : ret;
}

static int
join(struct systems_entry *entry, const char *dir, const char *prefix, const char *name, struct err *err)
{
	if (snprintf(entry->dir, sizeof(entry->dir), "%s/" RUN_SYSTEMS "/%s%s", dir, prefix, name) <
	    (int)sizeof(entry->dir))
		return 0;
	return err_set(err, -ENAMETOOLONG, "%s: too long a path", dir);
}

static int
add_system(struct systems_plan *plan, const char *name, struct err *err)
{
	struct systems_entry *entry = &plan->systems[plan->count++];

	entry->row = system_find(name);
	entry->run = SYSTEMS_NONE;
	return join(entry, plan->dir, "", name, err);
}

/* Programs are called as they are in plugins.json. It reads all that crosses the socket. */
static int
add_programs(struct systems_plan *plan, struct err *err)
{
	struct plugin_account accounts[PLUGIN_PROGRAMS];
	const struct plugin_account *named[PLUGIN_PROGRAMS];
	int ret = 0;

	if (plan->nprograms > PLUGIN_PROGRAMS || plan->count + plan->nprograms > SYSTEMS_MAX)
		return err_set(err, -EINVAL, "more than %u plugin diagnosers, or %d systems in all", PLUGIN_PROGRAMS,
			       SYSTEMS_MAX);
	for (uint32_t i = 0; ret == 0 && i < plan->nprograms; i++) {
		struct systems_entry *entry = &plan->systems[plan->count++];

		plugin_account_init(&accounts[i], plan->programs[i], named, i);
		named[i] = &accounts[i];
		snprintf(entry->name, sizeof(entry->name), "%s", accounts[i].name);
		entry->program = (struct system_row){ .name = entry->name,
						      .title = entry->name,
						      .diagnoser = entry->name,
						      .passive = true,
						      .kinds = UINT64_MAX };
		entry->row = &entry->program;
		entry->run = SYSTEMS_NONE;
		ret = join(entry, plan->dir, "plugin-", accounts[i].name + strlen("./"), err);
	}
	return ret;
}

/* Lists the programs of the scenario's list, then others. */
static void
list_programs(struct systems_plan *plan, const struct cfg_strings *list, const struct systems_programs *others)
{
	bool is_recorded = others->recorded && others->count != 0; /* those that ran, whatever the list has */

	for (size_t i = 0; i < list->count && !is_recorded; i++)
		if (system_is_program(list->items[i]) && plan->nprograms <= PLUGIN_PROGRAMS)
			plan->programs[plan->nprograms++] = list->items[i];
	for (uint32_t i = 0; i < others->count && plan->nprograms <= PLUGIN_PROGRAMS; i++)
		plan->programs[plan->nprograms++] = others->paths[i];
}

int
systems_plan_init(struct systems_plan *plan, const struct scenario_options *options, const struct run_dir *dir,
		  const struct systems_programs *programs, struct err *err)
{
	const struct cfg_strings *list;
	int ret = 0;

	*plan = (struct systems_plan){ .options = options, .dir = dir->path, .lock = dir->lock, .quiet = SYSTEMS_NONE };
	plan->scenario = scenario_load(options, err);
	if (plan->scenario == NULL)
		return -errno;
	list = &plan->scenario->root.diagnosers;
	list_programs(plan, list, programs);
	for (size_t i = 0; ret == 0 && i < list->count; i++)
		if (!system_is_program(list->items[i]))
			ret = add_system(plan, list->items[i], err);
	if (ret == 0 && list->count != 0)
		ret = add_programs(plan, err);
	if (ret != 0 || plan->count == 0)
		return ret;
	try_systems(plan);
	return add_runs(plan, err);
}

void
systems_plan_fini(struct systems_plan *plan)
{
	scenario_destroy(plan->scenario);
	*plan = (struct systems_plan){ 0 };
}

struct scenario *
systems_plan_take(struct systems_plan *plan)
{
	struct scenario *scenario = plan->scenario;

	plan->scenario = NULL;
	return scenario;
}

/* The options of dpswitch, and their meaning for the hosts. @return 0 or negative errno with err */
static int
prepare(const struct systems_plan *plan, const struct systems_run *run, const struct child_args *more,
	struct scenario_options *options, struct child_args *args, struct err *err)
{
	int ret = 0;

	*options = *plan->options;
	for (size_t i = 0; ret == 0 && more != NULL && i < more->count; i++)
		ret = child_add(args, more->argv[i], err);
	for (size_t i = 0; ret == 0 && i < run->sets.count; i++) {
		if (options->nsets == SCENARIO_MAX_SETS)
			return err_set(err, -E2BIG, "more than %d --set and keys of systems", SCENARIO_MAX_SETS);
		options->sets[options->nsets++] = run->sets.text[i];
		ret = child_add(args, "--set", err);
		if (ret == 0)
			ret = child_add(args, run->sets.text[i], err);
	}
	return ret;
}

/*
 * @param left_out  set to the reason why a plugin diagnoser was left out, which was printed; else empty
 * @return exit code, with err set where it was not printed
 */
static int
run_one(struct systems_plan *plan, size_t index, const struct child_args *pass, const struct child_args *more,
	struct err *left_out, struct err *err)
{
	const struct systems_run *run = &plan->runs[index];
	struct child_args args = *pass;
	struct scenario_options options;
	struct one_run one = {
		.options = &options, .pass = &args, .partitions = plan->partitions, .processes = plan->processes
	};
	struct launch_status status;
	struct verdict_counts counts;
	struct scenario *scenario;
	struct run_dir dir;
	int ret = prepare(plan, run, more, &options, &args, err);

	if (ret < 0)
		return EXIT_USAGE;
	scenario = scenario_load(&options, err);
	if (scenario == NULL)
		return EXIT_USAGE;
	if (run->name != NULL && run_dir_open(&dir, run->dir, err) < 0) {
		scenario_destroy(scenario);
		return EXIT_FAILED;
	}
	if (run->name == NULL) /* the caller has locked it */
		dir = (struct run_dir){ .lock = plan->lock };
	snprintf(dir.path, sizeof(dir.path), "%s", run->dir);
	ret = one_run(&one, scenario, &dir, &status, err);
	if (run->name != NULL)
		run_dir_close(&dir);
	if (ret != 0)
		return ret;
	ret = one_run_check(&status, run->dir);
	if (status.fabric == EXIT_NOT_BEGUN)
		return EXIT_NOT_BEGUN;
	*left_out = (struct err){ 0 };
	if (status.analyzer == 0 && verdict_count(run->dir, &counts, left_out) == 0)
		*left_out = counts.why;
	return left_out->text[0] != '\0' && (ret == EXIT_DONE || ret == EXIT_UNFINISHED) ? EXIT_FAILED : ret;
}

static void
print_result(const struct systems_plan *plan, size_t index)
{
	const struct systems_run *run = &plan->runs[index];
	char names[256] = "";
	size_t used = 0;

	for (size_t i = 0; i < plan->count && used < sizeof(names); i++)
		if ((run->at_work >> i & 1) != 0)
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", used != 0 ? ", " : "",
						 plan->systems[i].row->name);
	log_info("run %zu of %zu: %s", index + 1, plan->nruns, used != 0 ? names : "no system diagnoses");
}

int
systems_run(struct systems_plan *plan, const struct child_args *pass, const struct child_args *base_too, struct err *err)
{
	int worst = EXIT_DONE;

	for (size_t i = 0; i < plan->nruns && !launch_abandoned(); i++) {
		struct systems_run *run = &plan->runs[i];
		struct err left_out = { 0 };
		int ret;

		if (interrupt_asked()) {
			err_set(&run->why, -EINTR, "interrupted before it");
			worst = EXIT_INTERRUPTED;
			continue;
		}
		print_result(plan, i);
		ret = run_one(plan, i, pass, i == SYSTEMS_BASE ? base_too : NULL, &left_out, &run->why);
		if (i == SYSTEMS_BASE && (ret == EXIT_USAGE || ret == EXIT_NOT_BEGUN)) {
			*err = run->why;
			return ret;
		}
		if (i == SYSTEMS_BASE && ret == EXIT_UNFINISHED)
			worst = EXIT_UNFINISHED;
		if ((ret == EXIT_DONE || ret == EXIT_UNFINISHED) && !interrupt_asked())
			continue;
		worst = interrupt_asked() ? EXIT_INTERRUPTED : EXIT_FAILED;
		if (run->why.text[0] != '\0')
			log_error("%s: %s", run->dir, run->why.text);
		else if (!interrupt_asked() && left_out.text[0] != '\0')
			run->why = left_out;
		else
			err_set(&run->why, -EIO, interrupt_asked() ? "interrupted" : "its run did not end well");
	}
	return worst;
}
