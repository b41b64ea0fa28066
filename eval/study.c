/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/study.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/log.h"
#include "common/program.h"
#include "eval/args.h"
#include "twin/rerun/job.h"

#define MAX_OPTIONS 16
#define MAX_TEXT 160

struct parsed {
	const struct study *study;
	struct study_args *args;
};

static int
jobs_key(const struct study *study)
{
	return study->benchmark ? 'J' : 'j';
}

static int
json_key(const struct study *study)
{
	return study->benchmark ? 'j' : 'J';
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	const struct parsed *parsed = state->input;
	error_t ret = parsed->study->parse(key, arg, state, parsed->args);

	if (ret != ARGP_ERR_UNKNOWN)
		return ret;
	if (key == jobs_key(parsed->study)) {
		parsed->args->jobs = (uint32_t)args_number(state, "--jobs", arg, 1, POOL_MAX_JOBS);
		return 0;
	}
	if (key == json_key(parsed->study)) {
		parsed->args->json = true;
		return 0;
	}
	switch (key) {
	case EVAL_ARGS_SHARD:
	case EVAL_ARGS_MERGE:
		return eval_args_shard(state, key, arg, &parsed->args->shard);
	case 'o':
		parsed->args->dir = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (shard_is_merge(&parsed->args->shard))
			return eval_args_shard(state, EVAL_ARGS_MERGE, arg, &parsed->args->shard);
		args_error(state, "it takes no \"%s\"", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static char *
help_filter(int key, const char *text, void *input)
{
	const struct parsed *parsed = input;

	if (parsed == NULL || parsed->study->list == NULL)
		return (char *)(uintptr_t)text;
	return args_help_list(key, text, parsed->study->list);
}

/* The study's own options, and those of all. @param text  [2][MAX_TEXT] for their help */
static void
fill_options(const struct study *study, struct argp_option *options, char text[][MAX_TEXT])
{
	static const struct argp_option shards[] = { EVAL_ARGS_SHARDS };
	size_t count = 0;

	while (study->options[count].name != NULL) {
		options[count] = study->options[count];
		count++;
	}
	assert(count + 6 <= MAX_OPTIONS);
	if (!study->paced)
		options[count++] = (struct argp_option){
			"jobs", jobs_key(study), "N", 0, "Runs side by side (default: one a CPU)", 0
		};
	snprintf(text[0], MAX_TEXT, "Keep %s in DIR (default %s); resume from those that are there", study->kept,
		 study->out);
	options[count++] = (struct argp_option){ "out", 'o', "DIR", 0, text[0], 0 };
	memcpy(&options[count], shards, sizeof(shards));
	count += ARRAY_LEN(shards);
	if (study->printed == NULL)
		return;
	snprintf(text[1], MAX_TEXT, "Print JSON instead of %s", study->printed);
	options[count] = (struct argp_option){ "json", json_key(study), NULL, 0, text[1], 0 };
}

/* @return as study->run() */
static int
run(void *parsed_of, struct err *err)
{
	const struct parsed *parsed = parsed_of;
	const struct shard *shard = &parsed->args->shard;
	int ret = shard_merge(shard, parsed->args->dir, parsed->study->shared, err);

	if (ret == 0)
		ret = parsed->study->run(parsed->args, err);
	if (ret == 0 && shard_is_part(shard))
		eval_args_part(shard);
	return ret;
}

int
study_main(const struct study *study, int argc, char **argv)
{
	struct argp_option options[MAX_OPTIONS] = { 0 };
	char text[2][MAX_TEXT], name[64], dir[PATH_MAX];
	const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = study->args_doc,
		.doc = study->help,
		.help_filter = help_filter,
	};
	struct parsed parsed = { study, calloc(1, study->size) };
	int ret = EXIT_USAGE;

	if (parsed.args == NULL) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	fill_options(study, options, text);
	parsed.args->jobs = eval_args_jobs();
	study->init(parsed.args);
	snprintf(name, sizeof(name), "rocelab %s %s", study->benchmark ? "bench" : "eval", study->name);
	log_set_command(name);
	if (args_parse(&argp, argc, argv, 0, &parsed) == 0) {
		if (parsed.args->dir == NULL)
			parsed.args->dir = shard_folder(&parsed.args->shard, study->out, dir, sizeof(dir));
		ret = study->print != NULL && study->print(parsed.args) ? EXIT_DONE
									: eval_args_run(parsed.args->dir, run, &parsed);
	}
	shard_fini(&parsed.args->shard);
	free(parsed.args);
	return ret;
}
