/* SPDX-License-Identifier: BSD-3-Clause */
/* The grades of verdicts on a case, and its truth. */
#pragma once

#include "eval/compare/corpus.h"
#include "scenario/systems.h"

/* Of one system. */
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

/* Its row in scenario/systems.c. */
const struct system_row *compare_row_of(const struct compare_system *system);

/* Is a type of finding one of its? */
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
