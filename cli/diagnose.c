/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab diagnose: the analyzer over a recorded stream. */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/blame/by_twin.h"
#include "cli/command.h"
#include "cli/start/launch.h"
#include "cli/systems/plan.h"
#include "common/child.h"
#include "common/log.h"
#include "common/program.h"
#include "common/run_files.h"
#include "plugin/account.h"
#include "plugin/session.h"
#include "scenario/scenario.h"

struct diagnose_options {
	const char *dir, *out;
	const char *programs[PLUGIN_PROGRAMS + 1]; /* [nprograms] one more than the limit, which is then reported */
	uint32_t nprograms;
	enum blame_by by;
	bool json, fail_on_finding;
	bool left_out; /* a plugin diagnoser was, and the user was warned */
	bool shown;    /* already, and its result is the exit code */
};

static const struct argp_option options[] = {
	{ "out", 'o', "DIR", 0, "Write the reports to DIR (default: the run's directory)", 0 },
	{ "diagnoser", 'd', "PROGRAM", 0,
	  "Run a plugin diagnoser, which reads the same records and reports its findings (docs/bring-your-own.md), in "
	  "place of those of the run; may be repeated",
	  0 },
	BLAME_OPTION,
	{ "json", 'j', NULL, 0, "Print verdict.json instead of text", 0 },
	{ "fail-on-finding", 'f', NULL, 0, "Exit with 4 if the verdict has a finding", 0 },
	{ 0 },
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct diagnose_options *diagnose = state->input;

	switch (key) {
	case 'o':
		diagnose->out = arg;
		return 0;
	case 'd':
		if (diagnose->nprograms <= PLUGIN_PROGRAMS)
			diagnose->programs[diagnose->nprograms++] = arg;
		return 0;
	case 'b':
		diagnose->by = blame_by_parse(arg, state);
		return 0;
	case 'j':
		diagnose->json = true;
		return 0;
	case 'f':
		diagnose->fail_on_finding = true;
		return 0;
	case ARGP_KEY_ARG:
		if (diagnose->dir != NULL)
			args_error(state, "one directory at a time: \"%s\" is the second", arg);
		diagnose->dir = arg;
		return 0;
	case ARGP_KEY_END:
		if (diagnose->dir == NULL)
			args_error(state, "which run? Give the directory that `rocelab run` wrote");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "DIR",
	.doc = "Diagnoses DIR/records.bin, the recorded stream of an earlier run, and prints the verdict; where it was one "
	       "of "
	       "several systems side by side, all of them again.",
};

static int
join_path(char path[PATH_MAX], const char *dir, const char *name, struct err *err)
{
	if (snprintf(path, PATH_MAX, "%s/%s", dir, name) < PATH_MAX)
		return 0;
	return err_set(err, -ENAMETOOLONG, "%s: too long a path", dir);
}

/* The file of the verdict: a diagnosis that writes its reports replaces it. @return 0: there is none */
static ino_t
verdict_file(const char *dir)
{
	char path[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%s/" RUN_VERDICT, dir);
	return stat(path, &st) == 0 ? st.st_ino : 0;
}

/*
 * Starts the analyzer and waits for its end; before it the plugin diagnosers, where some are to diagnose the
 * recording.
 * @param print  for people, too
 * @return exit code, or negative errno with err set
 */
static int
analyze(struct diagnose_options *diagnose, bool print, struct err *err)
{
	char records[PATH_MAX], plugin[PATH_MAX], path[PATH_MAX];
	struct child_args args = { .argv = { "analyzer", "--read", records, "--plugins", plugin, "--out", diagnose->out,
					     "--allow-left-out" },
				   .count = 8 };
	pid_t pid;
	struct verdict_counts counts;
	ino_t before = verdict_file(diagnose->out);
	int ret = join_path(records, diagnose->dir, RUN_RECORDING, err);

	if (ret == 0)
		ret = join_path(plugin, diagnose->nprograms != 0 ? diagnose->out : diagnose->dir, RUN_PLUGIN, err);
	if (ret == 0 && diagnose->nprograms != 0)
		ret = plugin_replay(records, diagnose->programs, diagnose->nprograms, plugin, NULL, err);
	if (ret < 0)
		return ret == -EINVAL || ret == -ENOENT || ret == -EACCES || ret == -ENOEXEC ? EXIT_USAGE : ret;
	ret = print ? child_add(&args, "--print", err) : 0;
	if (ret == 0)
		ret = child_find("analyzer", "diag", path, sizeof(path), err);
	pid = ret == 0 ? child_start(path, &args, false, err) : ret;
	if (pid < 0)
		return (int)pid;
	ret = child_wait(pid);
	/*
	 * If only standard output failed, the analyzer has written new reports; if writing these failed, the reports of
	 * an earlier analysis are still there, complete.
	 */
	if ((verdict_file(diagnose->out) != before && reports_complete(diagnose->dir, diagnose->out, err) < 0) ||
	    (ret == EXIT_DONE && verdict_count(diagnose->out, &counts, err) < 0))
		return EXIT_FAILED;
	diagnose->left_out = ret == EXIT_DONE && counts.left_out != 0;
	return ret <= EXIT_USAGE ? ret : EXIT_FAILED;
}

/* The verdict's costs by its twin, where that is asked for. @return as analyze() */
static int
blame(const struct diagnose_options *diagnose, bool print, struct err *err)
{
	const struct blame_by_twin of = {
		.records = diagnose->dir,
		.plugins = diagnose->nprograms != 0 ? diagnose->out : diagnose->dir,
		.out = diagnose->out,
		.by = diagnose->by,
		.print = print && !diagnose->json,
	};

	return diagnose->by == BLAME_BY_ESTIMATE ? EXIT_DONE : blame_by_twin(&of, err);
}

/* Shows the comparison of systems, from the recordings of their runs. @return exit code */
static int
compare(struct diagnose_options *diagnose, struct systems_plan *plan, struct err *err)
{
	size_t findings = 0;
	int ret = systems_show(plan, diagnose->json, &findings, err);

	diagnose->shown = true;
	if (ret < 0)
		return EXIT_FAILED;
	return ret == EXIT_DONE && findings != 0 && diagnose->fail_on_finding ? EXIT_FINDING : ret;
}

/* The plugin diagnosers that followed the run. @param paths  [PLUGIN_PROGRAMS] into report */
static struct systems_programs
recorded_programs(const struct run_dir *dir, struct plugin_report *report, const char **paths)
{
	char path[PATH_MAX + 32];
	struct err err = { 0 };

	snprintf(path, sizeof(path), "%s/" RUN_PLUGIN, dir->path);
	if (plugin_report_read(path, report, &err) < 0) /* the analyzer reports it */
		plugin_report_fini(report);
	for (uint32_t i = 0; i < report->count; i++)
		paths[i] = report->programs[i].path;
	return (struct systems_programs){ paths, report->count, true };
}

/* Analyzes in the run's own folder; compares systems again if the run did. @return as analyze() */
static int
analyze_in(struct diagnose_options *diagnose, const struct run_dir *dir, struct err *err)
{
	char config[PATH_MAX + 32], folders[PATH_MAX + 32];
	const struct scenario_options of = { .path = config };
	struct plugin_report report = { 0 };
	const char *paths[PLUGIN_PROGRAMS];
	struct systems_programs programs = recorded_programs(dir, &report, paths);
	struct systems_plan plan = { 0 };
	struct err why = { 0 };
	bool several;
	int ret;

	if (diagnose->nprograms != 0) /* in place of those that followed the run */
		programs = (struct systems_programs){ diagnose->programs, diagnose->nprograms, true };
	snprintf(folders, sizeof(folders), "%s/" RUN_SYSTEMS, dir->path);
	snprintf(config, sizeof(config), "%s/" RUN_CONFIG, dir->path);
	several = access(folders, F_OK) == 0 && systems_plan_init(&plan, &of, dir, &programs, &why) == 0 && plan.count != 0;
	if (why.text[0] != '\0')
		log_warning("systems are not compared again: %s", why.text);
	ret = analyze(diagnose, !diagnose->json && !several && diagnose->by == BLAME_BY_ESTIMATE, err);
	if (ret == 0)
		ret = blame(diagnose, !several, err);
	if (ret == 0 && several)
		ret = compare(diagnose, &plan, err);
	systems_plan_fini(&plan);
	plugin_report_fini(&report);
	return ret;
}

/* Analyzes to another folder than the run's. @return as analyze() */
static int
analyze_apart(struct diagnose_options *diagnose, struct err *err)
{
	int ret = analyze(diagnose, !diagnose->json && diagnose->by == BLAME_BY_ESTIMATE, err);

	return ret == 0 ? blame(diagnose, true, err) : ret;
}

/* Both folders are locked: neither the recording nor its reports are of a running run. @return as analyze() */
static int
analyze_locked(struct diagnose_options *diagnose, struct err *err)
{
	struct run_dir from, to;
	struct stat a, b;
	bool apart = stat(diagnose->dir, &a) == 0 &&
		     (stat(diagnose->out, &b) < 0 || a.st_dev != b.st_dev || a.st_ino != b.st_ino);
	int ret;

	if (run_dir_open_existing(&from, diagnose->dir, apart, err) < 0)
		return EXIT_USAGE;
	if (!apart)
		ret = analyze_in(diagnose, &from, err);
	else if ((ret = run_dir_open(&to, diagnose->out, err)) < 0)
		ret = exit_code_of_file(ret);
	else
		ret = analyze_apart(diagnose, err);
	if (apart)
		run_dir_close(&to);
	run_dir_close(&from);
	return ret;
}

int
command_diagnose(int argc, char **argv)
{
	struct diagnose_options diagnose = { 0 };
	struct err err = { 0 };
	struct verdict_counts counts;
	int status;

	argv[0] = "rocelab diagnose";
	if (args_parse(&argp, argc, argv, 0, &diagnose) != 0)
		return EXIT_USAGE;
	if (diagnose.out == NULL)
		diagnose.out = diagnose.dir;
	status = analyze_locked(&diagnose, &err);
	if (err.text[0] != '\0')
		log_error("%s", err.text);
	if (status != 0 || diagnose.shown)
		return status >= 0 ? status : EXIT_FAILED;
	if (diagnose.json && verdict_print(diagnose.out, &err) < 0) {
		log_error("%s", err.text);
		return EXIT_FAILED;
	}
	if (diagnose.left_out)
		return EXIT_FAILED;
	if (!diagnose.fail_on_finding)
		return EXIT_DONE;
	if (verdict_count(diagnose.out, &counts, &err) < 0) {
		log_error("%s", err.text);
		return EXIT_FAILED;
	}
	return counts.findings != 0 ? EXIT_FINDING : EXIT_DONE;
}
