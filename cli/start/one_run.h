/* SPDX-License-Identifier: BSD-3-Clause */
/* A run in a folder that is locked: its sockets and hosts, the fabric and the analyzer, and their files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/start/launch.h"
#include "common/err.h"
#include "common/run_files.h"

struct scenario;
struct scenario_options;

struct one_run {
	const struct scenario_options *options;
	const struct child_args *pass; /* the same, and more, as dpswitch takes it */
	uint32_t partitions;           /* programs that share the fabric; 0: one runs all of it */
	bool print;                    /* for people */
};

/*
 * @param scenario  loaded with the options; taken over
 * @return 0 with *status set; or with err set and nothing run EXIT_USAGE: its options are impossible; EXIT_FAILED
 */
int one_run(const struct one_run *run, struct scenario *scenario, const struct run_dir *dir, struct launch_status *status,
	    struct err *err);

/*
 * The result of a run, with warnings for people where it failed.
 * @return exit code (common/program.h), EXIT_DONE also where the reader of the analyzer's output has gone
 */
int one_run_check(const struct launch_status *status, const char *dir);

/* DIR/verdict.json after a run: shown to machines, or judged for the exit code. */

/* Prints DIR/verdict.json. @return 0 or negative errno with err set */
int verdict_print(const char *dir, struct err *err);

struct verdict_counts {
	size_t findings;
	size_t unfinished; /* collectives, each iteration of its own, as far as the evidence goes */
	size_t left_out;   /* plugin diagnosers that broke, or sent invalid messages */
	struct err why;    /* "diagnoser ./NAME was left out: WHY" of the first of them */
};

/* Reads DIR/verdict.json. @return 0 or negative errno with err set */
int verdict_count(const char *dir, struct verdict_counts *counts, struct err *err);

/*
 * Whether the analyzer lacks records of this run that its recording has: it was given up, or did not keep up with
 * real time.
 * @return false too where DIR/run.json does not have it
 */
bool run_analyzer_lacks(const char *dir);
