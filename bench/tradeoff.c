/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab bench telemetry SCENARIO|FAMILY...: what accuracy a telemetry budget buys (eval/tradeoff/tradeoff.h). */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "common/log.h"
#include "common/program.h"
#include "eval/args.h"
#include "eval/case.h"
#include "eval/study.h"
#include "eval/tradeoff/tradeoff.h"
#include "twin/rerun/job.h"

#define POLICIES "vedrfolnir,vedrfolnir-paper,hawkeye-maxr,hawkeye-minr,full-polling"
#define BUDGETS "100KB,1MB,10MB,100MB"
#define SEEDS 5

struct options {
	struct study_args args;
	struct tradeoff study;
};

enum { OPT_NO_TIMES = 256 };

static const struct argp_option option_table[] = {
	{ "policy", 'p', "P,...", 0,
	  "Detection policies, with keys of the scenario where wanted (vedrfolnir+detections=1), systems (flowpulse, "
	  "pingmesh, "
	  "flowtracer), or a plugin diagnoser's path, with a slash (default " POLICIES ")",
	  0 },
	{ "budget", 'b', "BYTES,...", 0,
	  "Bytes a second to the analyzer, exporter.budget; 0: unlimited (default " BUDGETS ")", 0 },
	{ "epoch", 'e', "TIME,...", 0, "Lengths of an epoch, telemetry.epoch (default: the scenario's)", 0 },
	{ "seeds", 'S', "N", 0,
	  "Cases: seeds 1 to N of a scenario, the first N of a family (default 5); A-B,...: these seeds of scenarios", 0 },
	{ "scale", 'x', "X", 0, "Multiply bytes, starts, durations and epochs of families by X (default 1)", 0 },
	{ "set", 's', "PATH=VALUE", 0, "Override a key of every case's scenario", 0 },
	{ "no-times", OPT_NO_TIMES, NULL, 0, "Do not look for times to detection and verdict, which takes most analyses",
	  0 },
	{ 0 },
};

/* Each word of a list. */
static void
add_words(struct options *options, const char *list, int (*add)(struct tradeoff *, const char *, struct err *),
	  const struct argp_state *state)
{
	char *copy = strdup(list), *save = NULL;
	struct err err = { 0 };
	int ret = copy != NULL ? 0 : err_set(&err, -ENOMEM, "out of memory");

	for (char *word = ret == 0 ? strtok_r(copy, ",", &save) : NULL; ret == 0 && word != NULL;
	     word = strtok_r(NULL, ",", &save))
		ret = add(&options->study, word, &err);
	free(copy);
	if (ret < 0)
		args_error(state, "%s", err.text);
}

static void
add_set(struct tradeoff *study, const char *text, const struct argp_state *state)
{
	if (strchr(text, '=') == NULL)
		args_error(state, "--set %s: no PATH=VALUE, as in host.cc=none", text);
	if (study->nsets == CASE_MAX_SETS)
		args_error(state, "more than %d --set", CASE_MAX_SETS);
	study->sets[study->nsets++] = text;
}

/* Fills in the defaults of options that are not given. */
static void
fill_in(struct options *options, const struct argp_state *state)
{
	struct tradeoff *study = &options->study;
	char seeds[16];

	if (study->ninputs == 0)
		args_error(state, "name a scenario's file, a family, or \"" TRADEOFF_CAUSES "\"");
	if (study->npolicies == 0)
		add_words(options, POLICIES, tradeoff_add_policy, state);
	if (study->nbudgets == 0)
		add_words(options, BUDGETS, tradeoff_add_budget, state);
	if (study->nepochs == 0)
		study->nepochs = 1;
	snprintf(seeds, sizeof(seeds), "%d", SEEDS);
	if (study->nseeds == 0)
		study->nseeds = eval_args_seed_count(state, seeds, study->seeds, TRADEOFF_MAX_SEEDS);
}

static error_t
parse(int key, char *arg, struct argp_state *state, void *options_of)
{
	struct options *options = options_of;

	switch (key) {
	case 'p':
		add_words(options, arg, tradeoff_add_policy, state);
		return 0;
	case 'b':
		add_words(options, arg, tradeoff_add_budget, state);
		return 0;
	case 'e':
		add_words(options, arg, tradeoff_add_epoch, state);
		return 0;
	case 'S':
		options->study.nseeds = eval_args_seed_count(state, arg, options->study.seeds, TRADEOFF_MAX_SEEDS);
		return 0;
	case 'x':
		options->study.scale = eval_args_scale(state, arg, CASE_MIN_SCALE, 1);
		return 0;
	case 's':
		add_set(&options->study, arg, state);
		return 0;
	case OPT_NO_TIMES:
		options->study.times = false;
		return 0;
	case ARGP_KEY_ARG:
		add_words(options, arg, tradeoff_add_input, state);
		return 0;
	case ARGP_KEY_END:
		fill_in(options, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Keys and options of all runs. */
static const char *const shared[] = { "study.json", NULL };

static int
run(void *options_of, struct err *err)
{
	struct options *options = options_of;
	const struct study_args *args = &options->args;
	struct tradeoff *study = &options->study;
	int ret, wrote = 0;

	study->jobs = args->jobs;
	study->dir = args->dir;
	study->shard = &args->shard;
	ret = tradeoff_run(study, err);
	if (ret >= 0 && !shard_is_part(&args->shard)) {
		wrote = tradeoff_write(study, err);
		if (wrote == 0 && !args->json)
			wrote = tradeoff_print(study, stdout, err);
		if (wrote == 0)
			wrote = eval_args_report(tradeoff_json(study), study->dir, "tradeoff.json", args->json, err);
		if (wrote == 0)
			log_info(
				"%s has points.csv, runs.csv, tradeoff.json and the figures accuracy.svg, share-error.svg, "
				"detection.svg, verdict.svg",
				study->dir);
	}
	tradeoff_fini(study);
	return wrote < 0 ? wrote : ret;
}

static void
init(void *options_of)
{
	struct options *options = options_of;

	options->study.scale = 1;
	options->study.times = true;
}

const struct study bench_tradeoff = {
	.name = "telemetry",
	.benchmark = true,
	.help = "Measures what accuracy a telemetry budget buys: runs every case under every policy, budget and epoch as "
		"`rocelab run` does, and compares the verdicts with the truth.\vThe truth of a scenario, and of the random "
		"ones of \"" TRADEOFF_CAUSES "\", is the time that running without each of its causes regains; a family's "
		"is its judge's (rocelab eval --help lists them). DIR then holds tradeoff.json, runs.csv, points.csv, "
		"accuracy.svg, share-error.svg, detection.svg and verdict.svg. Without SCENARIO or FAMILY, `rocelab bench "
		"telemetry` measures what a record costs.",
	.args_doc = "SCENARIO|FAMILY...",
	.options = option_table,
	.parse = parse,
	.size = sizeof(struct options),
	.init = init,
	.kept = "cases, results and figures",
	.out = "out/bench-telemetry",
	.shared = shared,
	.printed = "a table",
	.run = run,
};
