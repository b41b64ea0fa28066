/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the commands that run cases: options, the lists in their help, their exit codes. */
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "common/err.h"
#include "twin/rerun/shard.h"

/* @return how many jobs run by default: one a CPU */
uint32_t eval_args_jobs(void);

/*
 * --seeds N,A-B,...; a refused one ends the program with the reason on stderr.
 * @param text  is split in place
 * @param seeds  [most] set to them, none twice
 * @return how many, at least 1
 */
uint32_t eval_args_seeds(const struct argp_state *state, char *text, uint64_t *seeds, uint32_t most);

/* eval_args_seeds() for --seeds N, where N means the seeds 1 to N. */
uint32_t eval_args_seed_count(const struct argp_state *state, char *text, uint64_t *seeds, uint32_t most);

/* Keys of --shard and --merge; a program without other arguments takes further folders of --merge as arguments. */
enum { EVAL_ARGS_SHARD = 0x5300, EVAL_ARGS_MERGE };

#define EVAL_ARGS_SHARDS                                                                                                   \
	{                                                                                                                  \
		"shard",                                                                                                   \
		EVAL_ARGS_SHARD,                                                                                           \
		"I/N",                                                                                                     \
		0,                                                                                                         \
		"Make the I-th of N shares of the runs, for several machines or batch jobs",                               \
		0                                                                                                          \
	},                                                                                                                 \
	{                                                                                                                  \
		"merge", EVAL_ARGS_MERGE, "DIR", 0,                                                                        \
			"Merge the folders of shards, make no run, and write the tables of one program; may be repeated, " \
			"and be a pattern ('part-*')",                                                                     \
			0                                                                                                  \
	}

/*
 * Takes one of them; a refused value ends the program with the reason on stderr.
 * @return 0, or ARGP_ERR_UNKNOWN: it is none of them
 */
error_t eval_args_shard(const struct argp_state *state, int key, char *arg, struct shard *shard);

/* Prints how a part ended, in place of the tables that it does not have. */
void eval_args_part(const struct shard *shard);

/* --scale X, from min to max. */
double eval_args_scale(const struct argp_state *state, const char *text, double min, double max);

/*
 * Locks a folder, runs cases in it, and prints how they ended.
 * @param run  @return 0, how many of its runs failed, or negative errno with err set
 * @return the exit code
 */
int eval_args_run(const char *dir, int (*run)(void *options, struct err *err), void *options);

/*
 * Writes all numbers of an evaluation to a file in its folder and, with --json, to stdout.
 * @param root  taken over; NULL: out of memory
 * @return 0 or negative errno with err set
 */
int eval_args_report(json_t *root, const char *dir, const char *name, bool print, struct err *err);

/*
 * Prints how runs ended.
 * @param ret  0, how many of them failed, or negative errno with err set
 * @return the exit code
 */
int eval_args_exit(int ret, const struct err *err);
