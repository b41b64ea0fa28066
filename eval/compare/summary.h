/* SPDX-License-Identifier: BSD-3-Clause */
/* The results of all cases, by system, by fault, and for pairs of systems. */
#pragma once

#include "eval/compare/study.h"

/* A count of a total; with Wilson's interval at 95 %. */
struct compare_share {
	uint32_t part, of;
};
void compare_interval(struct compare_share share, double *low, double *high);

/* A median and its interval at 95 %, by ranks (binomial): no shape is taken for granted. */
struct compare_spread {
	uint32_t count; /* 0: the rest is 0 */
	double median, low, high;
};

/* Of one system. */
struct compare_sum {
	/* Of cases whose fault cost the job time: */
	struct compare_share
		recall; /* found, right or partly, of those that it can see by design and that acted in its run */
	struct compare_share recall_all; /* of all */
	struct compare_share place;      /* of those found: the fault by its name at its place */
	/* Of its findings: right or partly, without those of the job's own flows */
	struct compare_share precision;
	uint32_t own;                      /* those */
	struct compare_share false_alarms; /* of cases in which nothing is wrong: a finding is reported */
	struct compare_share harmless; /* of faults that acted and cost nothing, and that it can see: seen all the same */
	uint32_t alone;                /* faults that cost time which it alone found */
	struct compare_spread after_ns, bytes;
	struct compare_spread slowdown; /* of the job in its run, beside the shared one; both complete */
	struct compare_spread cpu_s;    /* of an analysis: not the same twice */
};

struct compare_pair {
	uint32_t first, second;
	struct compare_share recall; /* of all faults that cost time: one of both found it */
};

#define COMPARE_MAX_PAIRS (COMPARE_MAX_SYSTEMS * (COMPARE_MAX_SYSTEMS - 1) / 2)

struct compare_cells {
	struct compare_share found; /* of cases of the fault that cost time: right or partly */
	uint32_t right;             /* of these */
	struct compare_share harmless;
	bool sees; /* on some fabric */
};

struct compare_summary {
	uint32_t cases, costly, harmless, idle, clean; /* idle: the fault did not act, and cost nothing */
	struct compare_sum systems[COMPARE_MAX_SYSTEMS];
	struct compare_pair pairs[COMPARE_MAX_PAIRS]; /* [npairs] the best first */
	uint32_t npairs;
	uint32_t nobody; /* faults that cost time and no system found */
};

/* @return 0 or -ENOMEM with err */
int compare_summarize(const struct compare_study *study, struct compare_summary *summary, struct err *err);
/* Of one fault and system. */
struct compare_cells compare_cells(const struct compare_study *study, uint32_t fault, uint32_t system);

/* Tables for people. @return 0 or -ENOMEM with err */
int compare_print(const struct compare_study *study, FILE *to, struct err *err);
/* The same sums, and a row a case: of the same cases the same bytes. @return NULL: out of memory */
json_t *compare_json(const struct compare_study *study);
/* CPU time of analyses, which is not the same twice. @return NULL: out of memory */
json_t *compare_cpu_json(const struct compare_study *study);
/* The rules as docs/compare-rules.md has them. */
void compare_print_rules(FILE *to);
