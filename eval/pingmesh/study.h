/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab eval pingmesh: makes the cases of some seeds, runs what is not done yet, and says what the verdicts are worth. */
#pragma once

#include <stdio.h>

#include "eval/pingmesh/score.h"

#define PM_MAX_SEEDS 64
#define PM_CASES 240 /* of a seed: at least the paper's 157 problems of switches and 20 of RNICs, and 30 starved CPUs */

struct pm_row {
	uint64_t seed;
	uint32_t index;
	struct pm_case *c;                   /* its scenario is loaded no more */
	struct pm_marks marks, baseline;     /* baseline: by Algorithm 1, where the study has it */
	char problems[PM_MOST_PROBLEMS][64]; /* for people */
};

struct pm_study {
	uint64_t seeds[PM_MAX_SEEDS];
	uint32_t nseeds;
	uint32_t cases;         /* of a seed */
	uint32_t jobs;          /* runs side by side */
	bool baseline;          /* each recording is judged by the paper's Algorithm 1, too */
	const char *dir;        /* exists; DIR/SEED/NNN has a case */
	struct pm_row *rows;    /* [nrows] by seed and index */
	uint32_t nrows, broken; /* broken: cases whose run failed: not among the rows */
};

/*
 * @return 0; -EINTR: interrupted, what is done stays; other negative errno with err. pm_study_fini() in any case
 */
int pm_study_run(struct pm_study *study, struct err *err);
void pm_study_fini(struct pm_study *study);

/* Tables: by kind of problem, by what was said, CPUs; and what was missed or wrong, case by case. */
void pm_print(const struct pm_study *study, FILE *to);
/* The same sums, and a row a case. @return NULL: no memory */
json_t *pm_json(const struct pm_study *study);
