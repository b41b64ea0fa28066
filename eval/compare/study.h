/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rocelab eval compare: makes the cases of the corpus, or a shard of them, does the missing runs, and grades every
 * system's verdicts. DIR/NNNN is a case; a run of it that has ended stays as its run.json and verdict.json, and is
 * not made again.
 */
#pragma once

#include <stdio.h>

#include "eval/compare/score.h"

#define COMPARE_MAX_DIRS 1024

struct compare_study {
	uint64_t seed;
	uint32_t cases; /* of the corpus: numbers below it */
	double scale;
	bool times;             /* to detection are looked for */
	uint32_t shard, shards; /* those numbers alone of which the remainder by shards is shard */
	uint32_t jobs;          /* runs side by side; 0: no run is made, existing results are reported */
	const char *dirs[COMPARE_MAX_DIRS];
	uint32_t ndirs;           /* where cases are; with jobs, one */
	struct compare_row *rows; /* [nrows] by number: those of which all runs are there */
	uint32_t nrows, broken;   /* broken: runs that failed in this process */
};

/*
 * @return 0; -EINTR: interrupted, finished runs stay; other negative errno with err. compare_study_fini() in any case
 */
int compare_study_run(struct compare_study *study, struct err *err);
void compare_study_fini(struct compare_study *study);
