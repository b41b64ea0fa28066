/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/blame/by_twin.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/start/launch.h"
#include "common/input_file.h"
#include "common/log.h"
#include "common/program.h"
#include "common/run_files.h"
#include "twin/rerun/job.h"
#include "twin/twin.h"

#define AUTO_MIN_S 5.0 /* even where the run took less: processes have to start */
#define AUTO_MAX_S 60.0

enum blame_by
blame_by_parse(const char *word, const struct argp_state *state)
{
	static const char *const words[] = { "estimate", "twin", "auto" };

	for (uint32_t i = 0; i < 3; i++)
		if (strcmp(word, words[i]) == 0)
			return (enum blame_by)i;
	args_error(state, "--blame=%s: estimate, twin or auto would be right", word);
	return BLAME_BY_ESTIMATE;
}

/*
 * @return the time limit of "auto": the run's time for each finding, and once more, within bounds; the upper bound if
 *         the run's time is unknown
 */
static double
auto_limit_s(const struct blame_by_twin *of)
{
	char path[PATH_MAX + 16];
	json_t *run, *verdict;
	double limit_s = AUTO_MAX_S;

	snprintf(path, sizeof(path), "%s/" RUN_SUMMARY, of->records);
	run = input_json(path, 0, NULL);
	snprintf(path, sizeof(path), "%s/" RUN_VERDICT, of->out);
	verdict = input_json(path, 0, NULL);
	if (json_is_number(json_object_get(run, "wall_s")))
		limit_s = json_number_value(json_object_get(run, "wall_s")) *
			  (double)(1 + json_array_size(json_object_get(verdict, "findings")));
	json_decref(run);
	json_decref(verdict);
	return fmin(AUTO_MAX_S, fmax(AUTO_MIN_S, limit_s));
}

int
blame_by_twin(const struct blame_by_twin *of, struct err *err)
{
	char records[PATH_MAX + 16], verdict[PATH_MAX + 16];
	int cpus[POOL_MAX_JOBS];
	const struct twin_options options = {
		.records = records,
		.verdict = verdict,
		.dir = of->out,
		.jobs = job_cpus(cpus, POOL_MAX_JOBS),
		.limit_s = of->by == BLAME_BY_AUTO ? auto_limit_s(of) : 0,
	};
	struct err why = { 0 };
	int ret;

	snprintf(records, sizeof(records), "%s/" RUN_RECORDING, of->records);
	snprintf(verdict, sizeof(verdict), "%s/" RUN_VERDICT, of->out);
	ret = twin_make(&options, &why);
	if (ret == -EINTR)
		return EXIT_INTERRUPTED;
	if (ret < 0 && ret != -EINVAL && ret != -ETIME && ret != -ENODATA)
		return err_set(err, ret, "%s", why.text);
	if (ret < 0)
		log_warning("no twin of this run: %s; costs are estimates", why.text);
	if (ret < 0 && !of->print)
		return EXIT_DONE;
	ret = twin_reports_write(&(struct twin_reports){ of->records, of->plugins, of->out, ret == 0, of->print }, err);
	return reports_complete(of->records, of->out, err) < 0 ? EXIT_FAILED : ret;
}
