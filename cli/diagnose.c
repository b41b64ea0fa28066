/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab diagnose: the analyzer over a recorded stream. */
#include <argp.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/child.h"
#include "cli/verdict_file.h"

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

int
command_diagnose(int argc, char **argv)
{
	struct diagnose_options diagnose = { 0 };
	char records[PATH_MAX], path[PATH_MAX];
	struct child_args args = { .argv = { "analyzer", "--read", records, "--out" }, .count = 4 };
	struct err err = { 0 };
	int status, findings;
	pid_t pid = -1;

	argv[0] = "rocelab diagnose";
	if (argp_parse(&argp, argc, argv, 0, NULL, &diagnose) != 0)
		return EXIT_USAGE;
	if (diagnose.out == NULL)
		diagnose.out = diagnose.dir;
	snprintf(records, sizeof(records), "%s/records.bin", diagnose.dir);
	if (child_add(&args, diagnose.out, &err) == 0 && (diagnose.json || child_add(&args, "--print", &err) == 0) &&
	    child_find("analyzer", "diag", path, sizeof(path), &err) == 0)
		pid = child_start(path, &args, false, &err);
	if (pid < 0) {
		fprintf(stderr, "rocelab: %s\n", err.text);
		return EXIT_FAILED;
	}
	status = child_wait(pid);
	if (status != 0)
		return status <= EXIT_USAGE ? status : EXIT_FAILED;
	if (diagnose.json && verdict_print(diagnose.out, &err) < 0) {
		fprintf(stderr, "rocelab: %s\n", err.text);
		return EXIT_FAILED;
	}
	findings = diagnose.fail_on_finding ? verdict_findings(diagnose.out, &err) : 0;
	return findings != 0 ? EXIT_FAILED : EXIT_DONE;
}
