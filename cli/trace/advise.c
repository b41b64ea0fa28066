/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rocelab trace --advise: other paths for flows that share links while others are idle, and the time that they
 * regain.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/trace/trace.h"
#include "common/log.h"
#include "common/printable.h"
#include "common/program.h"
#include "common/run_files.h"
#include "eval/args.h"
#include "eval/flowtracer/study.h"
#include "scenario/scenario.h"
#include "twin/rerun/job.h"

struct options {
	struct ft_study study;
	const char *seed;                         /* NULL: the scenario's */
	char config[PATH_MAX], verdict[PATH_MAX]; /* of a run's folder */
};

static const struct argp_option options[] = {
	{ "by", 'b', "paths|source-ports", 0,
	  "Change static paths, of switches and of bond members (default); or only UDP source ports of queue pairs", 0 },
	{ "traced", 't', "FILE", 0,
	  "Use the flows and paths that rocelab trace --out FILE found, in place of the scenario's or the run's", 0 },
	{ "seed", 'S', "N", 0, "Seed of the run: hashes depend on it (default: the scenario's)", 0 },
	{ "jobs", 'j', "N", 0, "Runs side by side (default: one a CPU)", 0 },
	{ "out", 'o', "DIR", 0,
	  "Keep both runs in DIR (default out/advise/NAME, by source ports out/advise/NAME-source-ports); resume from "
	  "those that are there",
	  0 },
	{ 0 },
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct options *opts = state->input;

	switch (key) {
	case 'b':
		if (strcmp(arg, "paths") != 0 && strcmp(arg, "source-ports") != 0)
			args_error(state, "--by %s: paths or source-ports would be right", arg);
		opts->study.by = strcmp(arg, "paths") == 0 ? ADVISE_PATHS : ADVISE_PORTS_ALONE;
		return 0;
	case 't':
		opts->study.traced = arg;
		return 0;
	case 'S':
		args_number(state, "--seed", arg, 0, INT64_MAX);
		opts->seed = arg;
		return 0;
	case 'j':
		opts->study.jobs = (uint32_t)args_number(state, "--jobs", arg, 1, POOL_MAX_JOBS);
		return 0;
	case 'o':
		opts->study.dir = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (opts->study.scenario != NULL)
			args_error(state, "one scenario at a time: \"%s\" is the second", arg);
		opts->study.scenario = arg;
		return 0;
	case ARGP_KEY_END:
		if (opts->study.scenario == NULL)
			args_error(state, "name a scenario, such as topo/scenarios/flowtracer.cfg, or the folder of a run");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "SCENARIO|DIR",
	.doc = "Searches paths, or UDP source ports, that spread a scenario's flows more evenly over links "
	       "(topo/advise.h), runs the scenario before and after with its faults, and reports the time that its jobs "
	       "regain. Links that faults take down are not used. For a run's folder, it takes the flows that were traced, "
	       "with the paths that switches reported.\vExit code 0: the search is done; its last lines have the advice, "
	       "or \"Nothing better found\". 1: a run failed. 2: the input cannot be used.\n"
	       "DIR/ecmp/SEED and DIR/PLACEMENT/SEED have the runs, PLACEMENT the change; case.cfg there is the changed "
	       "scenario, to be run or included.",
};

/* The runs with both placements, faults included, decide: a placement that does not end jobs earlier is no advice. */
static void
print_regained(const struct ft_study *study)
{
	const double before_us = study->of[FT_ECMP].job_ns[0] / 1e3, after_us = study->of[FT_STATIC].job_ns[0] / 1e3;
	char path[PATH_MAX + 64];

	ft_path(study, FT_STATIC, study->first, "case.cfg", path);
	if (study->is_planned) {
		printf("\n"
		       "Nothing was run: the scenario has kernel hosts\n");
	} else if (study->moved == 0 || after_us >= before_us) {
		printf("\nNothing better found: all jobs took %.1f us", before_us);
		if (study->moved != 0)
			printf(", and would take %.1f us with the %u flows moved", after_us, study->moved);
		putchar('\n');
		return;
	} else {
		printf("\nAll jobs took %.1f us, and take %.1f us: %.1f us (%.1f %%) regained\n", before_us, after_us,
		       before_us - after_us, 100 * (before_us - after_us) / before_us);
	}
	printf("rocelab run %s --seed %" PRIu64 "\n", plain_line(path).text, study->first);
}

static void
print(const struct ft_study *study)
{
	printf("%u flows%s, seed %" PRIu64 "; %u of them moved, in %u rounds\n\n", study->flows,
	       study->traced != NULL ? " as they were traced" : "", study->first, study->moved, study->rounds);
	if (study->astray != 0)
		printf("%u more are unchanged: no single path of theirs to the destination is known\n"
		       "\n",
		       study->astray);
	if (study->cables_down != 0)
		printf("Cables that faults take down: %u; no flow is placed on them\n\n", study->cables_down);
	printf("%-18s %5s %6s  %15s  %15s\n%-18s %5s %6s  %7s %7s  %7s %7s\n", "links", "n", "ideal", "FIM (%)",
	       "most flows", "", "", "", "before", "after", "before", "after");
	for (uint32_t g = 0; g < FT_GROUPS; g++) {
		const struct ft_group *group = &study->groups[g];

		if (group->links != 0)
			printf("%-18s %5u %6.2f  %7.2f %7.2f  %7u %7u\n", group->name, group->links, group->ideal,
			       group->percent[0], group->placed[0], group->most[FT_ECMP], group->most[FT_STATIC]);
	}
	if (study->broken == 0)
		print_regained(study);
}

/* A run's folder holds its configuration, and its verdict the traces. @return 0, or negative errno with err */
static int
find_run(struct options *opts, struct err *err)
{
	struct stat st;

	if (stat(opts->study.scenario, &st) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	if (snprintf(opts->config, PATH_MAX, "%s/" RUN_CONFIG, opts->study.scenario) >= PATH_MAX ||
	    snprintf(opts->verdict, PATH_MAX, "%s/" RUN_VERDICT, opts->study.scenario) >= PATH_MAX)
		return err_set(err, -ENAMETOOLONG, "%s: the path is too long", opts->study.scenario);
	opts->study.scenario = opts->config;
	if (opts->study.traced != NULL)
		return 0;
	if (access(opts->verdict, R_OK) != 0)
		return err_set(err, -ENOENT,
			       "%s: %s; trace the flows of an active run with rocelab trace DIR --out FILE, then give "
			       "--traced FILE",
			       opts->verdict, strerror(errno));
	opts->study.traced = opts->verdict;
	return 0;
}

/* The seed that hashes depend on; and kernel hosts are not run for it. */
static int
find_seed(struct options *opts, struct err *err)
{
	const struct scenario_options of = { .path = opts->study.scenario, .seed = opts->seed };
	struct scenario *sc = scenario_load(&of, err);

	if (sc == NULL)
		return -EINVAL;
	opts->study.first = (uint64_t)sc->root.seed;
	opts->study.is_planned = sc->nexternal != 0;
	scenario_destroy(sc);
	return 0;
}

static int
run(void *study, struct err *err)
{
	int ret = ft_study_run(study, err);

	if (ret == 0)
		print(study);
	if (ret == 0)
		ret = (int)((struct ft_study *)study)->broken;
	ft_study_fini(study);
	return ret;
}

int
trace_advise(int argc, char **argv)
{
	int cpus[POOL_MAX_JOBS];
	struct options opts = {
		.study = { .seeds = 1, .runs = 1, .jobs = job_cpus(cpus, POOL_MAX_JOBS), },
	};
	char name[PATH_MAX], dir[PATH_MAX + 16];
	struct err err = { 0 };

	argv[0] = "rocelab trace --advise";
	if (args_parse(&argp, argc, argv, 0, &opts) != 0)
		return EXIT_USAGE;
	run_dir_default("out/advise", opts.study.scenario, name, sizeof(name));
	snprintf(dir, sizeof(dir), "%s%s", name, opts.study.by == ADVISE_PORTS_ALONE ? "-source-ports" : "");
	if (opts.study.dir == NULL)
		opts.study.dir = dir;
	if (find_run(&opts, &err) < 0 || find_seed(&opts, &err) < 0) {
		log_error("%s", err.text);
		return EXIT_USAGE;
	}
	return eval_args_run(opts.study.dir, run, &opts.study);
}
