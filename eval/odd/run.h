/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab eval odd: makes the cases of some groups and seeds, does the missing runs, and grades. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include "eval/odd/odd.h"
#include "eval/rerun.h"

/*
 * The grade of a verdict whose suspects' cost is known (eval/rerun.h). It names root causes: findings, of which those
 * that explain next to nothing do not count. Each is of a suspect if it fits in kind and in place, by a row of the
 * table in grade.c.
 *
 *   a suspect has to be named    if its absence regains at least RERUN_MIN_SHARE of the time and a base RTT
 *   it may be named              if its absence, or its Shapley share, is worth one of both; or if all together regain
 *                                more than each of them alone, by the least time that has to be named
 *   one of all has to be         where none alone is worth that time, but all together are
 *   the job's own contention     may be named, if the job is slower than it should be without any suspect, or beside a
 *                                cause that had to be named: flows that a cause puts out of step share queues, and
 *                                cannot be left out
 */

enum odd_grade {
	ODD_RIGHT,   /* it names all that have to be named, and none that may not be */
	ODD_PARTLY,  /* something that has to be; something else is missing, is too much, or is of another kind there,
			or without a place */
	ODD_WRONG,   /* no cause that has to be named, and it does not report that it does not know */
	ODD_UNKNOWN, /* it names nothing, and reports that it does not know; or is right, and less sure than half */
	ODD_GRADES,
};

struct odd_marks {
	enum odd_grade grade;
	double confidence; /* that it states, 0 to 1; -1: none */
	char why[320];     /* its error */
};

/* "right", ... */
const char *odd_grade_name(enum odd_grade grade);

struct odd_facts {
	const struct suspects *suspects;
	const struct rerun_truth *truth;
	uint32_t job;       /* whose findings count */
	double rtt_ns;      /* base RTT */
	double expected_ns; /* that the job takes where nothing is wrong */
};

void odd_grade(const json_t *verdict, const struct odd_facts *facts, struct odd_marks *marks);

#define ODD_MAX_SEEDS 64

struct odd_options {
	const struct odd_group *groups[ODD_MAX_GROUPS];
	uint32_t ngroups;
	uint64_t seeds[ODD_MAX_SEEDS];
	uint32_t nseeds;
	uint32_t cases; /* of a group and seed */
	double scale;
	uint32_t jobs;   /* runs side by side */
	const char *dir; /* exists; DIR/SEED has a seed's store, DIR/SEED/GROUP/NNN a case */
};

struct odd_row {
	const struct odd_group *group;
	uint64_t seed;
	uint32_t index;
	struct odd_marks marks;
	double base_ns, all_ns;
	json_t *costs; /* array of { name, regained_ns, shapley_ns }, by suspect */
};

struct odd_results {
	struct odd_row *rows; /* [count] */
	uint32_t count;
	uint32_t broken; /* cases of which a run broke: not among the rows */
};

/*
 * @param results  set in any case; odd_results_fini() frees their contents
 * @return 0; -EINTR: interrupted, finished runs stay; other negative errno with err
 */
int odd_run(const struct odd_options *options, struct odd_results *results, struct err *err);
void odd_results_fini(struct odd_results *results);

/* A table by group, one by stated confidence, and cases that are not right. */
void odd_print(const struct odd_options *options, const struct odd_results *results, FILE *to);
/* DIR/odd.json: a row a case. @return 0 or negative errno with err */
int odd_write(const struct odd_options *options, const struct odd_results *results, struct err *err);
