/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab eval hardware: published measurements of real switches and NICs, beside the same experiments here. */
#include <errno.h>
#include <string.h>

#include "common/prng.h"
#include "common/program.h"
#include "eval/args.h"
#include "eval/hardware/study.h"
#include "eval/study.h"

#define RESULTS "hardware.json"

struct options {
	struct study_args args;
	struct hw_study study;
	bool named;
};

static const struct argp_option options[] = {
	{ "seed", 's', "N", 0, "First seed (default 1)", 0 },
	{ "seeds", 'S', "N", 0, "Number of seeds: source ports and hashes, and so paths, differ (default 5)", 0 },
	{ "duration", 'd', "MS", 0, "Virtual time of a run whose senders send all the time (default 40 ms)", 0 },
	{ 0 },
};

static void
list(FILE *to)
{
	fputs("Experiments:\n", to);
	for (uint32_t e = 0; e < hw_nexperiments; e++)
		fprintf(to, "  %-14s %s\n", hw_experiments[e].name, hw_experiments[e].doc);
}

static void
ask_for(struct options *opts, const struct argp_state *state, const char *name)
{
	for (uint32_t e = 0; e < hw_nexperiments; e++) {
		if (strcmp(hw_experiments[e].name, name) == 0) {
			opts->study.asked[e] = opts->named = true;
			return;
		}
	}
	args_error(state, "\"%s\" is no experiment; --help lists them", name);
}

static error_t
parse(int key, char *arg, struct argp_state *state, void *options_of)
{
	struct options *opts = options_of;

	switch (key) {
	case 's':
		opts->study.first = args_number(state, "--seed", arg, 0, PRNG_SEEDS - HW_MAX_SEEDS);
		return 0;
	case 'S':
		opts->study.seeds = (uint32_t)args_number(state, "--seeds", arg, 1, HW_MAX_SEEDS);
		return 0;
	case 'd':
		opts->study.duration_us = 1000 * (uint32_t)args_number(state, "--duration", arg, 1, 10000);
		return 0;
	case ARGP_KEY_ARG:
		ask_for(opts, state, arg);
		return 0;
	case ARGP_KEY_END:
		for (uint32_t e = 0; !opts->named && e < hw_nexperiments; e++)
			opts->study.asked[e] = true;
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
	struct hw_study *study = &opts->study;
	int ret;

	study->jobs = opts->args.jobs;
	study->dir = opts->args.dir;
	study->shard = &opts->args.shard;
	ret = hw_study_run(study, err);
	if (ret == 0 && !shard_is_part(study->shard))
		ret = eval_args_report(hw_json(study), study->dir, RESULTS, opts->args.json, err);
	if (ret == 0 && !shard_is_part(study->shard) && !opts->args.json)
		hw_print(study, stdout);
	if (ret == 0)
		ret = (int)study->broken;
	hw_study_fini(study);
	return ret;
}

static void
init(void *options_of)
{
	struct options *opts = options_of;

	opts->study = (struct hw_study){ .first = 1, .seeds = 5, .duration_us = 40000 };
}

const struct study study_hardware = {
	.name = "hardware",
	.doc = "published measurements of real switches and NICs, beside the same experiments here",
	.help = "Runs published experiments with the profiles of their hardware, over seeds that choose other paths, and "
		"prints the published figures beside those measured here.\vDIR/EXPERIMENT/SENDERS/SEED has "
		"a "
		"run, and case.cfg, which `rocelab run` repeats; DIR/" RESULTS
		" has all numbers. The same command resumes an interrupted evaluation.",
	.args_doc = "[EXPERIMENT...]",
	.options = options,
	.parse = parse,
	.list = list,
	.size = sizeof(struct options),
	.init = init,
	.kept = "runs and results",
	.out = "out/hardware",
	.printed = "tables",
	.run = run,
};
