/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab eval compare: the same faults, every system that diagnoses, one table. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "common/program.h"
#include "eval/args.h"
#include "eval/compare/score.h"
#include "eval/study.h"
#include "scenario/scenario.h"

#define RESULTS "compare.json"
#define CPU "cpu.json"

enum { KEY_RULES = 256, KEY_TIMES };

struct options {
	struct study_args args;
	struct compare_study study;
	bool rules;
};

static const struct argp_option options[] = {
	{ "cases", 'n', "N", 0, "The first N of the corpus, in which all faults are about as often (default: all)", 0 },
	{ "seed", 'S', "N", 0, "Seed of places and strengths (default 1)", 0 },
	{ "scale", 's', "X", 0, "Multiply bytes of the job and of other flows by X, 0.1 to 10 (default 1)", 0 },
	{ "diagnoser", 'd', "PROGRAM", 0,
	  "Run a plugin diagnoser with the passive systems, and judge it like them (docs/bring-your-own.md); may be "
	  "repeated",
	  0 },
	{ "no-times", KEY_TIMES, NULL, 0, "Do not determine the earliest time of each finding", 0 },
	{ "rules", KEY_RULES, NULL, 0, "Only print the faults, and the right findings of each", 0 },
	{ 0 },
};

static void
add_program(const struct argp_state *state, const char *path)
{
	struct err err = { 0 };
	struct stat file;

	if (!system_is_program(path))
		args_error(state, "--diagnoser %s: give a program's path, with a slash", path);
	if (stat(path, &file) < 0 || access(path, X_OK) < 0)
		args_error(state, "--diagnoser %s: %s", path, strerror(errno));
	if (!S_ISREG(file.st_mode))
		args_error(state, "--diagnoser %s: no file that can be run", path);
	if (compare_add_program(path, &err) < 0)
		args_error(state, "--diagnoser: %s", err.text);
}

static error_t
parse(int key, char *arg, struct argp_state *state, void *options_of)
{
	struct options *opts = options_of;

	switch (key) {
	case 'n':
		opts->study.cases = (uint32_t)args_number(state, "--cases", arg, 1, compare_most_cases());
		return 0;
	case 'S':
		opts->study.seed = args_number(state, "--seed", arg, 0, INT64_MAX);
		return 0;
	case 's':
		opts->study.scale = eval_args_scale(state, arg, 0.1, 10);
		return 0;
	case 'd':
		add_program(state, arg);
		return 0;
	case KEY_TIMES:
		opts->study.times = false;
		return 0;
	case KEY_RULES:
		opts->rules = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* @return how many runs broke, or negative errno with err set */
static int
run(void *options_of, struct err *err)
{
	struct options *opts = options_of;
	struct compare_study *study = &opts->study;
	int ret;

	study->jobs = opts->args.jobs;
	study->dir = opts->args.dir;
	study->shard = &opts->args.shard;
	ret = compare_study_run(study, err);

	if (ret == 0)
		ret = eval_args_report(compare_cpu_json(study), opts->args.dir, CPU, false, err);
	if (ret == 0)
		ret = eval_args_report(compare_json(study), opts->args.dir, RESULTS, opts->args.json, err);
	if (ret == 0 && !opts->args.json)
		ret = compare_print(study, stdout, err);
	if (ret == 0)
		ret = (int)study->broken;
	compare_study_fini(study);
	return ret;
}

static void
init(void *options_of)
{
	struct options *opts = options_of;

	opts->study = (struct compare_study){ .seed = 1, .cases = compare_most_cases(), .scale = 1, .times = true };
}

static bool
print(const void *options_of)
{
	const struct options *opts = options_of;

	if (opts->rules)
		compare_print_rules(stdout);
	return opts->rules;
}

/* The file that identifies the corpus of a folder's cases: the same in all shards. */
static const char *const shared[] = { COMPARE_CORPUS, NULL };

const struct study study_compare = {
	.name = "compare",
	.doc = "the same faults under every system that diagnoses: one table",
	.help = "Runs a corpus of faults on fabrics that hash and that spray, under VEDRFOLNIR, FlowPulse, R-Pingmesh, "
		"FlowTracer, Hawkeye and full polling, and compares the findings of each with the time regained without "
		"the fault.\vDIR/NNNN/case.cfg is a case, DIR/NNNN/RUN/SYSTEM/report.txt a system's report. DIR/" RESULTS
		" has all of them, DIR/" CPU
		" the CPU time of analyses. The same command resumes an interrupted evaluation.",
	.options = options,
	.parse = parse,
	.size = sizeof(struct options),
	.init = init,
	.print = print,
	.kept = "cases and verdicts",
	.shared = shared,
	.out = "out/compare",
	.printed = "tables",
	.run = run,
};
