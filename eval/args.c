/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/args.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/program.h"
#include "common/run_files.h"
#include "emulation/outputs/outputs.h"
#include "twin/rerun/job.h"

uint32_t
eval_args_jobs(void)
{
	int cpus[POOL_MAX_JOBS];

	return job_cpus(cpus, POOL_MAX_JOBS);
}

uint32_t
eval_args_seeds(const struct argp_state *state, char *text, uint64_t *seeds, uint32_t most)
{
	uint32_t count = 0;
	char *save = NULL;

	for (char *word = strtok_r(text, ",", &save); word != NULL; word = strtok_r(NULL, ",", &save)) {
		char *dash = strchr(word, '-');
		uint64_t first, last;

		if (dash != NULL)
			*dash = '\0';
		first = args_number(state, "--seeds", word, 0, INT64_MAX);
		last = dash != NULL ? args_number(state, "--seeds", dash + 1, 0, INT64_MAX) : first;
		if (last < first)
			args_error(state, "--seeds %s-%s: from the least to the greatest, as in 1-3", word, dash + 1);
		for (uint64_t seed = first; seed <= last; seed++) {
			if (count == most)
				args_error(state, "--seeds: more than %u", most);
			for (uint32_t i = 0; i < count; i++)
				if (seeds[i] == seed)
					args_error(state, "--seeds: %llu is given twice", (unsigned long long)seed);
			seeds[count++] = seed;
		}
	}
	if (count == 0)
		args_error(state, "--seeds: name one");
	return count;
}

uint32_t
eval_args_seed_count(const struct argp_state *state, char *text, uint64_t *seeds, uint32_t most)
{
	uint32_t count;

	if (strpbrk(text, ",-") != NULL)
		return eval_args_seeds(state, text, seeds, most);
	count = (uint32_t)args_number(state, "--seeds", text, 1, most);
	for (uint32_t i = 0; i < count; i++)
		seeds[i] = i + 1;
	return count;
}

error_t
eval_args_shard(const struct argp_state *state, int key, char *arg, struct shard *shard)
{
	struct err err = { 0 };
	int ret;

	if (key != EVAL_ARGS_SHARD && key != EVAL_ARGS_MERGE)
		return ARGP_ERR_UNKNOWN;
	ret = key == EVAL_ARGS_SHARD ? shard_parse(shard, arg, &err) : shard_add_folders(shard, arg, &err);
	if (ret < 0)
		args_error(state, "%s", err.text);
	if (shard->count != 0 && shard_is_merge(shard))
		args_error(state, "give --shard or --merge");
	return 0;
}

void
eval_args_part(const struct shard *shard)
{
	log_info("share %u of %u is done; --merge with the folders of all shares writes the tables", shard->number + 1,
		 shard->count);
}

double
eval_args_scale(const struct argp_state *state, const char *text, double min, double max)
{
	char *end;
	double value = strtod(text, &end);

	if (*text == '\0' || *end != '\0' || !(value >= min && value <= max))
		args_error(state, "--scale %s: give %g to %g", text, min, max);
	return value;
}

int
eval_args_exit(int ret, const struct err *err)
{
	if (ret == -EINTR)
		log_info("interrupted; the same command resumes it");
	else if (ret > 0)
		log_error("%d runs failed; the same command makes them again", ret);
	else if (ret < 0)
		log_error("%s", err->text);
	return ret == 0 ? EXIT_DONE : ret == -EINTR ? EXIT_INTERRUPTED : ret == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

int
eval_args_run(const char *dir, int (*run)(void *options, struct err *err), void *options)
{
	struct err err = { 0 };
	struct run_dir open;
	int ret;

	ret = run_dir_open(&open, dir, &err);
	if (ret < 0) {
		log_error("%s", err.text);
		return exit_code_of_file(ret);
	}
	ret = run(options, &err);
	run_dir_close(&open);
	return eval_args_exit(ret, &err);
}

int
eval_args_report(json_t *root, const char *dir, const char *name, bool print, struct err *err)
{
	int ret = output_json(json_incref(root), dir, name, err);

	if (ret == 0 && print) {
		json_dumpf(root, stdout, JSON_INDENT(2));
		putchar('\n');
	}
	json_decref(root);
	return ret;
}
