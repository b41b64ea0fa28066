/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab eval pingmesh: makes the cases of some seeds, does the missing runs, and grades the verdicts. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "eval/pingmesh/case.h"
#include "twin/rerun/shard.h"

#define PM_MAX_SEEDS 64
#define PM_CASES 240 /* of a seed: at least the paper's 157 problems of switches and 20 of RNICs, and 30 starved CPUs */

/* How a problem of the case was found. */
struct pm_found {
	bool found;
	bool alone;          /* by a report that names one place */
	bool direction;      /* and the direction that is bad, or that both are */
	double after_s;      /* of the protocol's time, from its start until the analyzer could report it; at least 0 */
	bool several, delay; /* a starved CPU: by several RNICs at once; by processing delay */
	bool agent;          /* by its agent's own word */
};

/*
 * The grade of a verdict on a case. A problem is found by a report of its word at its place, which ends after it
 * began; a report is accurate if it finds a problem. One without a place is not, nor is one that is right in all but
 * the place.
 */

#define PM_MOST_REPORTS 64 /* of a verdict; more are counted as inaccurate, and not listed */

/* A reported problem. */
struct pm_report {
	enum pm_word word;
	bool accurate;
	bool at_starved; /* blames an RNIC of a host whose CPU was starved, and whose RNICs were well */
	char place[96];
};

struct pm_marks {
	struct pm_found found[PM_MOST_PROBLEMS];
	struct pm_report reports[PM_MOST_REPORTS];
	uint32_t nreports, unlisted;
	uint32_t plain_rnics; /* (RNIC, period) that the paper's 10 % alone would blame */
};

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
	uint32_t cases; /* of a seed */
	uint32_t jobs;  /* runs side by side */
	const struct shard *shard;
	bool baseline;          /* each recording is judged by the paper's Algorithm 1, too */
	const char *dir;        /* exists; DIR/SEED/NNN has a case */
	struct pm_row *rows;    /* [nrows] by seed and index */
	uint32_t nrows, broken; /* broken: cases whose run failed: not among the rows */
};

/* @return 0; -EINTR: interrupted, finished runs stay; other negative errno with err. pm_study_fini() in any case */
int pm_study_run(struct pm_study *study, struct err *err);
void pm_study_fini(struct pm_study *study);

/* Tables: by kind of problem, by verdict, CPUs; and the missed or wrong ones, case by case. */
void pm_print(const struct pm_study *study, FILE *to);
/* The sums of the tables as JSON, with a row a case. @return NULL: no memory */
json_t *pm_json(const struct pm_study *study);

/*
 * @param c        made
 * @param verdict  of verdict.json
 * @return 0, or -EINVAL with err: it has no section of R-Pingmesh, or another's words
 */
int pm_score(const struct pm_case *c, const json_t *verdict, struct pm_marks *marks, struct err *err);

/* @return "corruption at l2:6", in buf */
const char *pm_problem_text(const struct pm_case *c, const struct pm_problem *problem, char *buf, size_t cap);
