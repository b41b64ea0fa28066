/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab eval: the paper's evaluation (IV) and the anomalies it left out. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/array.h"
#include "common/exit_code.h"
#include "common/log.h"
#include "common/program.h"
#include "common/run_dir.h"
#include "eval/args.h"
#include "eval/program/options.h"
#include "eval/program/study.h"
#include "eval/runner.h"
#include "eval/summary.h"

/* A policy or key that does not exist is told of before anything runs. */
static int
check_policies(const struct eval *eval, struct err *err)
{
	struct scenario_options scenario = { .path = NULL };
	struct variant_sets sets;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/fabric.cfg", eval->dir);
	scenario_destroy(case_network(path, &eval->source, err));
	scenario.path = path;
	for (uint32_t p = 0; p < eval->npolicies && err->text[0] == '\0'; p++) {
		if (variant_sets(eval->policies[p], &sets, err) < 0)
			break;
		scenario.nsets = sets.count;
		for (uint32_t i = 0; i < sets.count; i++)
			scenario.sets[i] = sets.text[i];
		scenario_destroy(scenario_load(&scenario, err));
	}
	return err->text[0] == '\0' ? 0 : -EINVAL;
}

/* @return how many runs broke; negative errno: err says why, if it is not that somebody interrupted */
static int
evaluate(struct eval *eval, struct err *err)
{
	char path[PATH_MAX], with[4096] = "";
	size_t used = 0;
	int ret;

	snprintf(path, sizeof(path), "%s/eval.sqlite", eval->dir);
	if (eval->source.shape != shapes)
		used = (size_t)snprintf(with, sizeof(with), " --shape %s", eval->source.shape->name);
	if (eval->source.picks != CASE_PICKS_ALL)
		used += (size_t)snprintf(with + used, sizeof(with) - used, " --pick %s",
					 (const char *const[]){ "none", "routes", "roots" }[eval->source.picks]);
	for (size_t i = 0; i < eval->source.nsets && used < sizeof(with); i++)
		used += (size_t)snprintf(with + used, sizeof(with) - used, " --set %s", eval->source.sets[i]);
	if (used >= sizeof(with))
		return err_set(err, -EINVAL, "all --set together are longer than %zu characters", sizeof(with) - 1);
	eval->store = store_open(path, eval->source.seed, eval->source.scale, with, err);
	if (eval->store == NULL)
		return -EINVAL;
	ret = runner_run(eval, err);
	if (ret >= 0 || ret == -EINTR) {
		int wrote = summary_write_rows(eval, err);

		ret = wrote < 0 ? wrote : ret;
	}
	return ret;
}

/* @param broken  runs @return exit code */
static int
report(const struct eval *eval, bool json, int broken)
{
	uint32_t excluded, made;
	struct err err = { 0 };
	int ret = json ? summary_print_json(eval, stdout, &err) : summary_print_table(eval, stdout, &err);

	if (ret < 0) {
		log_error("%s", err.text);
		return EXIT_FAILED;
	}
	if (broken > 0)
		log_warning("%d runs failed and are not counted; the same command makes them again", broken);
	/* The limit is that of the families on what they were made for. */
	if (summary_excluded(eval, &excluded, &made) <= EVAL_MAX_EXCLUDED || eval->source.nsets != 0 ||
	    eval->source.picks != CASE_PICKS_ALL) {
		if (json && excluded > 0) /* the table says so itself */
			log_warning("%u of %u cases were wrong by construction and replaced", excluded, made);
		return broken > 0 ? EXIT_FAILED : EXIT_DONE;
	}
	log_error("%u of %u cases were wrong by construction; at most %.0f %% may be", excluded, made,
		  100 * EVAL_MAX_EXCLUDED);
	return EXIT_FAILED;
}

static const struct study *const studies[] = { &study_counterfactual, &study_flowpulse, &study_flowtracer, &study_odd,
					       &study_compare,        &study_pingmesh };

void
eval_list_studies(FILE *to)
{
	for (size_t i = 0; i < ARRAY_LEN(studies); i++)
		fprintf(to, "  %-14s %s\n", studies[i]->name, studies[i]->doc);
}

static void
list_kinds(FILE *to)
{
	for (size_t i = 0; families[i] != NULL; i++)
		fprintf(to, "  %-14s family of cases: %s\n", families[i]->name, families[i]->doc);
	eval_list_studies(to);
}

static int
eval_families(int argc, char **argv)
{
	struct eval_options opts;
	struct err err = { 0 };
	struct run_dir dir;
	int ret;

	log_set_command("rocelab eval");
	if (eval_options_parse(&opts, argc, argv) != 0)
		return EXIT_USAGE;
	if (run_dir_open(&dir, opts.eval.dir, &err) < 0 || check_policies(&opts.eval, &err) < 0) {
		log_error("%s", err.text);
		run_dir_close(&dir);
		return EXIT_USAGE;
	}
	ret = evaluate(&opts.eval, &err);
	ret = ret >= 0 ? report(&opts.eval, opts.json, ret) : eval_args_exit(ret, &err);
	store_close(opts.eval.store);
	run_dir_close(&dir);
	return ret;
}

int
main(int argc, char **argv)
{
	if (program_begin() != EXIT_DONE)
		return EXIT_USAGE;
	if (argc == 2 && strcmp(argv[1], PROGRAM_LIST_KINDS) == 0) {
		list_kinds(stdout);
		return EXIT_DONE;
	}
	for (size_t i = 0; argc > 1 && i < ARRAY_LEN(studies); i++)
		if (strcmp(argv[1], studies[i]->name) == 0)
			return study_main(studies[i], argc - 1, argv + 1);
	return eval_families(argc, argv);
}
