/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab diagnose: the analyzer over a recorded stream. */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

#include "cli/command.h"
#include "cli/verdict_file.h"
#include "common/child.h"
#include "common/log.h"
#include "common/run_dir.h"
#include "common/run_files.h"

struct diagnose_options {
	const char *dir, *out;
	bool json, fail_on_finding;
};

static const struct argp_option options[] = {
	{ "out", 'o', "DIR", 0, "Where the reports go (default: into the run's directory)", 0 },
	{ "json", 'j', NULL, 0, "Print verdict.json instead of text", 0 },
	{ "fail-on-finding", 'f', NULL, 0, "Exit with 1 when the verdict has a finding", 0 },
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
	case 'j':
		diagnose->json = true;
		return 0;
	case 'f':
		diagnose->fail_on_finding = true;
		return 0;
	case ARGP_KEY_ARG:
		if (diagnose->dir != NULL)
			argp_error(state, "one directory at a time: \"%s\" is the second", arg);
		diagnose->dir = arg;
		return 0;
	case ARGP_KEY_END:
		if (diagnose->dir == NULL)
			argp_error(state, "which run? Give the directory that `rocelab run` wrote");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "DIR",
	.doc = "Diagnoses DIR/records.bin, the recorded stream of an earlier run, and prints the verdict.",
};

/* Starts the analyzer and waits for its end. @return exit code, or negative errno with err set */
static int
analyze(const struct diagnose_options *diagnose, struct err *err)
{
	char records[PATH_MAX], path[PATH_MAX];
	struct child_args args = { .argv = { "analyzer", "--read", records, "--out", diagnose->out }, .count = 5 };
	pid_t pid;
	int ret;

	if (snprintf(records, sizeof(records), "%s/" RUN_RECORDING, diagnose->dir) >= (int)sizeof(records))
		return err_set(err, -ENAMETOOLONG, "%s: too long a path", diagnose->dir);
	ret = diagnose->json ? 0 : child_add(&args, "--print", err);
	if (ret == 0)
		ret = child_find("analyzer", "diag", path, sizeof(path), err);
	pid = ret == 0 ? child_start(path, &args, false, err) : ret;
	if (pid < 0)
		return (int)pid;
	ret = child_wait(pid);
	return ret <= EXIT_USAGE ? ret : EXIT_FAILED;
}

/* Both folders are locked: neither the recording nor its reports are of a run that goes on. @return as analyze() */
static int
analyze_locked(const struct diagnose_options *diagnose, struct err *err)
{
	struct run_dir from, to;
	struct stat a, b;
	bool apart = stat(diagnose->dir, &a) == 0 &&
		     (stat(diagnose->out, &b) < 0 || a.st_dev != b.st_dev || a.st_ino != b.st_ino);
	int ret;

	if (run_dir_open_existing(&from, diagnose->dir, apart, err) < 0)
		return EXIT_USAGE;
	ret = apart && run_dir_open(&to, diagnose->out, err) < 0 ? EXIT_USAGE : analyze(diagnose, err);
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
	if (argp_parse(&argp, argc, argv, 0, NULL, &diagnose) != 0)
		return EXIT_USAGE;
	if (diagnose.out == NULL)
		diagnose.out = diagnose.dir;
	status = analyze_locked(&diagnose, &err);
	if (err.text[0] != '\0')
		log_error("%s", err.text);
	if (status != 0)
		return status > 0 ? status : EXIT_FAILED;
	if (diagnose.json && verdict_print(diagnose.out, &err) < 0) {
		log_error("%s", err.text);
		return EXIT_FAILED;
	}
	if (!diagnose.fail_on_finding)
		return EXIT_DONE;
	if (verdict_count(diagnose.out, &counts, &err) < 0) {
		log_error("%s", err.text);
		return EXIT_FAILED;
	}
	return counts.findings != 0 ? EXIT_FAILED : EXIT_DONE;
}
