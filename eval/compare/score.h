/* SPDX-License-Identifier: BSD-3-Clause */
/* What verdicts on a case are worth, and what the truth of it is. */
#pragma once

#include "eval/compare/systems.h"

/* Of one system. */
struct compare_marks {
	bool sees;                          /* it could see the fault, by design */
	bool acted;                         /* the fault did something in its run */
	uint32_t findings[COMPARE_NGRADES]; /* so many of each grade; those that it says cost nothing are not counted */
	enum compare_grade best;            /* of those, or NONE */
	enum compare_grade seen;            /* of those that it says cost nothing, too */
	double after_ns; /* from the fault's start until what is PARTLY right or better could be said; < 0: not known */
	double bytes;    /* that it took of networks */
	double job_ns;   /* that the job took in its run, or had when that ended */
	bool complete;
	double cpu_s;   /* of its run: not the same twice */
	char first[96]; /* the best finding, for people */
};

struct compare_row {
	uint32_t number;
	struct compare_cell cell;
	double base_ns, without_ns, expected_ns; /* the job's time: with the fault, without it, by plan */
	bool base_complete, without_complete;
	bool costs;            /* its absence regains half a percent of the time, and a round trip */
	bool background_costs; /* that of the background does */
	struct compare_marks marks[COMPARE_MAX_SYSTEMS];
};

/*
 * @param dir  of the case, whose runs are all there
 * @param row  number is set
 * @return 0; -ENODATA with err: a file of a run is missing or damaged; other negative errno with err
 */
int compare_score(const char *dir, struct compare_row *row, struct err *err);
