/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab eval odd: what the families leave out, graded by what is regained. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "common/args.h"
#include "common/log.h"
#include "common/run_dir.h"
#include "eval/job.h"
#include "eval/odd/run.h"
#include "eval/pool.h"

#define EXIT_INTERRUPTED 130
#define MIN_SCALE 0.05
#define MAX_CASES 1000

static const struct argp_option options[] = {
	{ "groups", 'g', "NAME,...", 0, "Groups of cases (default: all)", 0 },
	{ "seeds", 'S', "N,A-B,...", 0, "Seeds, each with cases of its own (default 1,2)", 0 },
	{ "cases", 'n', "N", 0, "Cases of each group and seed (default 12)", 0 },
	{ "scale", 'x', "X", 0, "Multiplies bytes, and with them the time that they take (default 1)", 0 },
	{ "jobs", 'j', "N", 0, "Runs side by side (default: one a CPU)", 0 },
	{ "out", 'o', "DIR", 0, "Where cases and results are kept (default out/odd); goes on with what is there", 0 },
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
			argp_error(state, "no group \"%s\": rocelab eval odd --help lists them", name);
		for (uint32_t i = 0; i < odd->ngroups; i++)
			if (odd->groups[i] == group)
				argp_error(state, "group \"%s\" is named twice", name);
		odd->groups[odd->ngroups++] = group;
	}
	if (odd->ngroups == 0)
		argp_error(state, "--groups: name one");
}

static void
set_seeds(struct odd_options *odd, char *text, struct argp_state *state)
{
	char *save = NULL;

	odd->nseeds = 0;
	for (char *word = strtok_r(text, ",", &save); word != NULL; word = strtok_r(NULL, ",", &save)) {
		char *dash = strchr(word, '-');
		uint64_t first, last;

		if (dash != NULL)
			*dash = '\0';
		first = args_number(state, "--seeds", word, 0, INT64_MAX);
		last = dash != NULL ? args_number(state, "--seeds", dash + 1, first, INT64_MAX) : first;
		for (uint64_t seed = first; seed <= last; seed++) {
			if (odd->nseeds == ODD_MAX_SEEDS)
				argp_error(state, "--seeds: more than %d", ODD_MAX_SEEDS);
			for (uint32_t i = 0; i < odd->nseeds; i++)
				if (odd->seeds[i] == seed)
					argp_error(state, "--seeds: %llu is given twice", (unsigned long long)seed);
			odd->seeds[odd->nseeds++] = seed;
		}
	}
	if (odd->nseeds == 0)
		argp_error(state, "--seeds: name one");
}

static double
scale(const char *text, struct argp_state *state)
{
	char *end;
	double value = strtod(text, &end);

	if (*text == '\0' || *end != '\0' || !(value >= MIN_SCALE && value <= 20))
		argp_error(state, "--scale %s: give %g to 20", text, MIN_SCALE);
	return value;
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct odd_options *odd = state->input;

	switch (key) {
	case 'g':
		set_groups(odd, arg, state);
		return 0;
	case 'S':
		set_seeds(odd, arg, state);
		return 0;
	case 'n':
		odd->cases = (uint32_t)args_number(state, "--cases", arg, 1, MAX_CASES);
		return 0;
	case 'x':
		odd->scale = scale(arg, state);
		return 0;
	case 'j':
		odd->jobs = (uint32_t)args_number(state, "--jobs", arg, 1, POOL_MAX_JOBS);
		return 0;
	case 'o':
		odd->dir = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static char *
help_filter(int key, const char *text, void *input)
{
	char *list = NULL;
	size_t size;
	FILE *to;

	(void)input;
	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)text;
	to = open_memstream(&list, &size);
	fputs("Groups:\n", to);
	for (const struct odd_group *group = odd_groups; group->name != NULL; group++)
		fprintf(to, "  %-11s %s\n", group->name, group->doc);
	fputs(text, to);
	fclose(to);
	return list;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Makes random cases of what the families leave out, runs each with its verdict and again without each of "
	       "its "
	       "causes, and grades the verdict by the time that is regained.\v"
	       "DIR/SEED/GROUP/NNN/case.cfg is a case, run-0 beside it has the verdict; `rocelab blame` says what each "
	       "cause cost. "
	       "DIR/odd.json has a row a case. What was interrupted goes on where it was.",
	.help_filter = help_filter,
};

int
command_eval_odd(int argc, char **argv)
{
	int cpus[POOL_MAX_JOBS];
	struct odd_options odd = { .seeds = { 1, 2 },
				   .nseeds = 2,
				   .cases = ODD_CASES,
				   .scale = 1,
				   .jobs = job_cpus(cpus, POOL_MAX_JOBS),
				   .dir = "out/odd" };
	struct odd_results results = { 0 };
	struct err err = { 0 };
	struct run_dir dir;
	int ret;

	argv[0] = "rocelab eval odd";
	while (odd_groups[odd.ngroups].name != NULL) {
		odd.groups[odd.ngroups] = &odd_groups[odd.ngroups];
		odd.ngroups++;
	}
	if (argp_parse(&argp, argc, argv, 0, NULL, &odd) != 0)
		return EXIT_USAGE;
	if (run_dir_open(&dir, odd.dir, &err) < 0) {
		log_error("%s", err.text);
		return EXIT_USAGE;
	}
	ret = odd_run(&odd, &results, &err);
	if (ret == 0)
		ret = odd_write(&odd, &results, &err);
	if (ret == 0)
		odd_print(&odd, &results, stdout);
	else if (ret == -EINTR)
		log_info("interrupted; the same command goes on with it");
	else
		log_error("%s", err.text);
	if (ret == 0 && results.broken != 0)
		ret = -EIO;
	odd_results_fini(&results);
	run_dir_close(&dir);
	if (ret == 0)
		return EXIT_DONE;
	return ret == -EINTR ? EXIT_INTERRUPTED : ret == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}
