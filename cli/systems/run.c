/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/systems/run.h"

#include <errno.h>

#include "cli/start/one_run.h"
#include "cli/start/verdict_file.h"
#include "common/exit_code.h"
#include "common/interrupt.h"
#include "common/log.h"

/* What dpswitch gets, and what it means for the hosts. @return 0 or negative errno with err */
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
 * @param left_out  set to why a plugin diagnoser was left out, which the user was told; else empty
 * @return exit code, with err set where nobody has been told
 */
static int
run_one(struct systems_plan *plan, size_t index, const struct child_args *pass, const struct child_args *more,
	struct err *left_out, struct err *err)
{
	const struct systems_run *run = &plan->runs[index];
	struct child_args args = *pass;
	struct scenario_options options;
	struct one_run one = { .options = &options, .pass = &args };
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
	log_info("run %zu of %zu: %s", index + 1, plan->nruns, used != 0 ? names : "nobody diagnoses");
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
