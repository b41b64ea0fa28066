/* SPDX-License-Identifier: BSD-3-Clause */
/* What the commands that run cases share: options, the lists in their help, how they end. */
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "common/err.h"

/* Rows of options that all of them have. @param dir  the default, a literal @param what  is printed without it */
#define EVAL_ARGS_JOBS                                                                                                     \
	{                                                                                                                  \
		"jobs", 'j', "N", 0, "Runs side by side (default: one a CPU)", 0                                           \
	}
#define EVAL_ARGS_OUT(kept, dir)                                                                                           \
	{                                                                                                                  \
		"out", 'o', "DIR", 0, "Where " kept " are kept (default " dir "); goes on with what is there", 0           \
	}
#define EVAL_ARGS_JSON(what)                                                                                               \
	{                                                                                                                  \
		"json", 'J', NULL, 0, "Print JSON instead of " what, 0                                                     \
	}

/* What they set. */
struct eval_args {
	uint32_t *jobs;
	const char **dir;
	bool *json; /* NULL: it has no --json */
};

/* Takes them, and refuses what is no option. @return 0, or ARGP_ERR_UNKNOWN: it is another's */
error_t eval_args_parse(int key, char *arg, const struct argp_state *state, const struct eval_args *args);

/* @return how many jobs run where nobody says: one a CPU */
uint32_t eval_args_jobs(void);

/*
 * --seeds N,A-B,...; one that is refused ends the program and says why.
 * @param text  is cut up
 * @param seeds  [most] set to them, none twice
 * @return how many, at least 1
 */
uint32_t eval_args_seeds(const struct argp_state *state, char *text, uint64_t *seeds, uint32_t most);

/* --scale X, from min to max. */
double eval_args_scale(const struct argp_state *state, const char *text, double min, double max);

/* For a help_filter of argp(3): what list() writes, before the text that ends the help. @return the text, by malloc(3) if another */
char *eval_args_help(int key, const char *text, void (*list)(FILE *to));

/*
 * Runs cases in a folder, which nobody else may use meanwhile, and says how they ended.
 * @param run  @return 0, how many of its runs failed, or negative errno with err set
 * @return the exit code
 */
int eval_args_run(const char *dir, int (*run)(void *options, struct err *err), void *options);

/*
 * All numbers of an evaluation, to a file in its folder and, where they are asked for, to stdout.
 * @param root  taken over; NULL: out of memory
 * @return 0 or negative errno with err set
 */
int eval_args_tell(json_t *root, const char *dir, const char *name, bool print, struct err *err);

/*
 * Says how runs ended.
 * @param ret  0, how many of them failed, or negative errno with err set
 * @return the exit code
 */
int eval_args_exit(int ret, const struct err *err);
