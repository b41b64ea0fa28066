/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab eval odd: cases that the families leave out, graded by the regained time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/program.h"
#include "eval/args.h"
#include "eval/odd/odd.h"
#include "eval/study.h"

#define MIN_SCALE 0.05
#define MAX_SCALE 20
#define MAX_CASES 1000
#define MAX_DRAWS 1000

struct options {
	struct study_args args;
	struct odd_options odd;
};

static const struct argp_option options[] = {
	{ "groups", 'g', "NAME,...", 0, "Groups of cases (default: all)", 0 },
	{ "seeds", 'S', "N,A-B,...", 0, "Seeds, each with different cases (default 1,2)", 0 },
	{ "cases", 'n', "N", 0, "Cases of each group and seed (default 12)", 0 },
	{ "draws", 'd', "N", 0,
	  "Draws of packets' chance over which the truth is a mean, at most: fewer where they settle it (default 1)", 0 },
	{ "scale", 'x', "X", 0, "Multiply bytes, and so their duration, by X (default 1)", 0 },
	{ 0 },
};

static void
set_groups(struct odd_options *odd, char *text, struct argp_state *state)
{
	char *save = NULL;

	odd->ngroups = 0;
	for (char *name = strtok_r(text, ",", &save); name != NULL; name = strtok_r(NULL, ",", &save)) {
		const struct odd_group *group = odd_group_find(name);

		if (group == NULL)
			args_error(state, "no group \"%s\": rocelab eval odd --help lists them", name);
		for (uint32_t i = 0; i < odd->ngroups; i++)
			if (odd->groups[i] == group)
				args_error(state, "group \"%s\" is named twice", name);
		odd->groups[odd->ngroups++] = group;
	}
	if (odd->ngroups == 0)
		args_error(state, "--groups: name one");
}

static error_t
parse(int key, char *arg, struct argp_state *state, void *options_of)
{
	struct odd_options *odd = &((struct options *)options_of)->odd;

	switch (key) {
	case 'g':
		set_groups(odd, arg, state);
		return 0;
	case 'S':
		odd->nseeds = eval_args_seeds(state, arg, odd->seeds, ODD_MAX_SEEDS);
		return 0;
	case 'n':
		odd->cases = (uint32_t)args_number(state, "--cases", arg, 1, MAX_CASES);
		return 0;
	case 'd':
		odd->draws = (uint32_t)args_number(state, "--draws", arg, 1, MAX_DRAWS);
		return 0;
	case 'x':
		odd->scale = eval_args_scale(state, arg, MIN_SCALE, MAX_SCALE);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void
list_groups(FILE *to)
{
	fputs("Groups:\n", to);
	for (const struct odd_group *group = odd_groups; group->name != NULL; group++)
		fprintf(to, "  %-11s %s\n", group->name, group->doc);
}

static int
run(void *options_of, struct err *err)
{
	struct options *opts = options_of;
	struct odd_options *odd = &opts->odd;
	struct odd_results results = { 0 };
	int ret;

	odd->jobs = opts->args.jobs;
	odd->dir = opts->args.dir;
	odd->shard = &opts->args.shard;
	ret = odd_run(odd, &results, err);

	if (ret == 0 && !shard_is_part(odd->shard))
		ret = odd_write(odd, &results, err);
	if (ret == 0 && !shard_is_part(odd->shard))
		odd_print(odd, &results, stdout);
	if (ret == 0)
		ret = (int)results.broken;
	odd_results_fini(&results);
	return ret;
}

static void
init(void *options_of)
{
	struct options *opts = options_of;
	struct odd_options *odd = &opts->odd;

	*odd = (struct odd_options){ .seeds = { 1, 2 }, .nseeds = 2, .cases = ODD_CASES, .draws = 1, .scale = 1 };
	for (; odd_groups[odd->ngroups].name != NULL; odd->ngroups++)
		odd->groups[odd->ngroups] = &odd_groups[odd->ngroups];
}
const struct study study_odd = {
	.name = "odd",
	.doc = "cases that the families leave out, graded by the time regained",
	.help = "Makes random cases that the families leave out, runs each with its verdict and again without each of its "
		"causes, and grades the verdict by the time regained.\vDIR/SEED/GROUP/NNN/case.cfg is a case, run-0 beside "
		"it has the verdict; `rocelab blame` reports the cost of each cause. DIR/odd.json has a row a case. The "
		"same command resumes an interrupted evaluation.",
	.options = options,
	.parse = parse,
	.list = list_groups,
	.size = sizeof(struct options),
	.init = init,
	.kept = "cases and results",
	.out = "out/odd",
	.run = run,
};
