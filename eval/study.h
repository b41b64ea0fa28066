/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A study: runs that a command makes in a folder, in shards if asked for, and what they show. An evaluation without
 * families is a file with its row, and a line in the table of studies (eval/program/main.c); so are benchmarks of runs.
 */
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"
#include "twin/rerun/shard.h"

/* The first member of the options of every study. */
struct study_args {
	uint32_t jobs;
	struct shard shard;
	const char *dir;
	bool json;
};

struct study {
	const char *name; /* rocelab eval NAME */
	bool benchmark;   /* rocelab bench NAME: -j is --json, and -J --jobs, where those of eval are the other way round */
	bool paced;       /* it knows how many runs go at a time: there is no --jobs */
	const char *doc;  /* in the list of kinds */
	const char *help; /* the text of --help before and, from \v on, behind the options */
	const char *args_doc;
	const struct argp_option *options; /* its own, ends with a zero row */
	/* Takes one of these, as a parser of argp(3); ARGP_ERR_UNKNOWN: it is none of them. */
	error_t (*parse)(int key, char *arg, struct argp_state *state, void *options);
	void (*list)(FILE *to); /* the names that options may use, for --help; NULL: nothing */
	size_t size;            /* of its options: struct study_args is its first member */
	void (*init)(void *options);
	const char *kept;          /* the contents of its folder, for --help */
	const char *out;           /* that folder, unless it is given */
	const char *const *shared; /* names of files of that folder that shards have the same; NULL ends it. NULL: none */
	const char *printed;       /* the output that --json replaces, for --help; NULL: it has no --json */
	/* Prints the output that needs no run. @return whether that is all. NULL: there is nothing of the kind */
	bool (*print)(const void *options);
	/*
	 * Called in the locked folder; shards are already merged there. A part of the runs needs no tables.
	 * @return 0, how many runs failed, or negative errno with err set
	 */
	int (*run)(void *options, struct err *err);
};

extern const struct study study_compare, study_counterfactual, study_flowpulse, study_flowtracer, study_hardware, study_odd,
	study_pingmesh;

/* @param argv  its name first. @return the exit code */
int study_main(const struct study *study, int argc, char **argv);
