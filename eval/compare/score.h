/* SPDX-License-Identifier: BSD-3-Clause */
/* The grades of verdicts on a case, and its truth. */
#pragma once

#include <stdio.h>

#include "eval/compare/corpus.h"
#include "scenario/systems.h"
#include "twin/rerun/shard.h"

/* Grades and costs of one system in a case. */
struct compare_marks {
	bool sees;                          /* it could see the fault, by design */
	bool acted;                         /* the fault did something in its run */
	uint32_t findings[COMPARE_NGRADES]; /* the number of each grade, without those that it calls free */
	enum compare_grade best;            /* of those, or NONE */
	enum compare_grade seen;            /* with those that it calls free */
	double after_ns; /* from the fault's start until a finding that is PARTLY right or better; < 0: not known */
	double bytes;    /* that it took of networks */
	double job_ns;   /* that the job took in its run, or had when that ended */
	bool complete;
	double cpu_s;   /* of its run: not the same twice */
	char first[96]; /* the best finding, for people */
};

#define COMPARE_MAX_SYSTEMS 11 /* with PLUGIN_PROGRAMS */

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

/* The systems that are compared: a row each, and the runs of a case that their verdicts use. */

struct compare_system {
	const char *name;             /* of its row in scenario/systems.c; of a plugin diagnoser "./NAME" */
	const char *program;          /* its path; NULL: one of ours */
	const char *run;              /* whose verdict has its findings: a row of compare_runs */
	const char *const *types;     /* of its findings; a NULL ends them; NULL: any, as of a program */
	bool prices;                  /* it reports that a finding cost nothing: that is no alarm */
	bool ecmp_only, sprayed_only; /* where it looks at all */
};

/* Ours, then programs: filled in at the start, before anything is run or scored. */
extern struct compare_system compare_systems[COMPARE_MAX_SYSTEMS];
extern uint32_t compare_nsystems;

/*
 * Adds a plugin diagnoser, which follows the run that passive systems share (docs/bring-your-own.md).
 * @param path  stays the caller's
 * @return 0, or -EINVAL with err: there are too many, or one of this name already
 */
int compare_add_program(const char *path, struct err *err);
/* @return the program of a number, from 0 on; NULL: there is no such number */
const struct compare_system *compare_program(uint32_t number);

/* @return the system's row in scenario/systems.c */
const struct system_row *compare_row_of(const struct compare_system *system);

/* Does the system report this type of finding? */
bool compare_is_its(const struct compare_system *system, const char *type);
/* Can the system see the fault of a case, by its inputs? Not by its findings. */
bool compare_sees(const struct compare_system *system, const struct compare_cell *cell);

/* A run of a case. */
struct compare_run {
	const char *name;    /* its folder */
	const char *policy;  /* of detection */
	const char *keys[2]; /* that it has besides, as --set takes them; NULL: none */
	bool diagnosed;      /* else it is for the truth */
	bool without_fault, without_background;
	bool volumes; /* switches count volumes, where packets are sprayed */
	bool probes;  /* the fault's key for runs with agents */
};

extern const struct compare_run compare_runs[];
extern const uint32_t compare_nruns;

/*
 * The diagnosers of a run.
 * @param names     [COMPARE_MAX_SYSTEMS] set to diagnosers of the analyzer, each once
 * @param paths     [COMPARE_MAX_SYSTEMS] set to their paths; NULL: one of ours
 * @return how many
 */
size_t compare_diagnosers(const struct compare_run *run, const char **names, const char **paths);

#define COMPARE_MAX_SETS 32 /* keys of a run: its own, and those that leave out the fault */

/* Is a suspect the background of small flows, and not the fault? */
bool compare_is_background(const struct suspect *suspect);
/* Does a case have this run? */
bool compare_has_run(const struct compare_cell *cell, const struct compare_run *run);

/*
 * rocelab eval compare: makes the cases of the corpus, or a shard of them, does the missing runs, and grades every
 * system's verdicts. DIR/NNNN is a case; a run of it that has ended stays as its run.json and verdict.json, and is
 * not made again.
 */

/* File in DIR that identifies its cases. Results of another corpus, seed or program are not used. */
#define COMPARE_CORPUS "corpus.json"

struct compare_study {
	uint64_t seed;
	uint32_t cases; /* of the corpus: numbers below it */
	double scale;
	bool times; /* to detection are looked for */
	const struct shard *shard;
	uint32_t jobs; /* runs side by side */
	const char *dir;
	struct compare_row *rows; /* [nrows] by number: those of which all runs are there */
	uint32_t nrows, broken;   /* broken: runs that failed in this process */
};

/*
 * @return 0; -EINTR: interrupted, finished runs stay; other negative errno with err. compare_study_fini() in any case
 */
int compare_study_run(struct compare_study *study, struct err *err);
void compare_study_fini(struct compare_study *study);

/* The results of all cases, by system, by fault, and for pairs of systems. */

/* A count of a total; with Wilson's interval at 95 %. */
struct compare_share {
	uint32_t part, of;
};

/* A median and its interval at 95 %, by ranks (binomial): no shape is taken for granted. */
struct compare_spread {
	uint32_t count; /* 0: the rest is 0 */
	double median, low, high;
};

/* Sums of one system over all cases. */
struct compare_sum {
	/* Over cases whose fault cost the job time: */
	struct compare_share
		recall; /* found, right or partly, of those that it can see by design and that acted in its run */
	struct compare_share recall_all; /* of all */
	struct compare_share place;      /* of those found: the fault by its name at its place */
	/* Share of its findings that are right or partly right, without those that blame the job's own flows */
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
	uint32_t none_found; /* faults that cost time and no system found */
};

/* @return 0 or -ENOMEM with err */
int compare_summarize(const struct compare_study *study, struct compare_summary *summary, struct err *err);
/* Sums of one fault and system. */
struct compare_cells compare_cells(const struct compare_study *study, uint32_t fault, uint32_t system);

/* Tables for people. @return 0 or -ENOMEM with err */
int compare_print(const struct compare_study *study, FILE *to, struct err *err);
/* The sums of the tables as JSON, with a row a case. The same cases give the same bytes. @return NULL: out of memory */
json_t *compare_json(const struct compare_study *study);
/* CPU time of analyses, which is not the same twice. @return NULL: out of memory */
json_t *compare_cpu_json(const struct compare_study *study);
/* The rules as docs/compare-rules.md has them. */
void compare_print_rules(FILE *to);
