/* SPDX-License-Identifier: BSD-3-Clause */
/* Who is compared: a row each, and the runs of a case that their verdicts come from. */
#pragma once

#include "eval/compare/corpus.h"
#include "scenario/systems.h"

struct compare_system {
	const char *name;             /* of its row in scenario/systems.c; of a program from outside "./NAME" */
	const char *program;          /* its path; NULL: one of ours */
	const char *run;              /* whose verdict has its findings: a row of compare_runs */
	const char *const *types;     /* of its findings; a NULL ends them; NULL: any, as of a program */
	bool prices;                  /* it says of a finding that it cost nothing: that is no alarm */
	bool ecmp_only, sprayed_only; /* where it looks at all */
};

#define COMPARE_MAX_SYSTEMS 11 /* with PLUGIN_PROGRAMS */

/* Ours, then programs: filled in at the start, before anything is run or scored. */
extern struct compare_system compare_systems[COMPARE_MAX_SYSTEMS];
extern uint32_t compare_nsystems;

/*
 * Adds a program from outside, which follows the run that passive systems share (docs/bring-your-own.md).
 * @param path  stays the caller's
 * @return 0, or -EINVAL with err: there are too many, or one of this name already
 */
int compare_add_program(const char *path, struct err *err);
/* @return the program of a number, from 0 on; NULL: there are not so many */
const struct compare_system *compare_program(uint32_t number);

/* What scenario/systems.c says of it. */
const struct system_row *compare_row_of(const struct compare_system *system);
/* What it took of networks: its records on the analyzer's socket, what it sent, what it asked over the management network. */
double compare_bytes(const struct compare_system *system, const json_t *verdict);

/* Is a type of finding one of its? */
bool compare_is_its(const struct compare_system *system, const char *type);
/* Can it see the fault of a case, by what it looks at? Not by what it found. */
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
#define COMPARE_MAX_RUNS 8

/*
 * Who diagnoses a run.
 * @param names     [COMPARE_MAX_SYSTEMS] set to diagnosers of the analyzer, each once
 * @param paths     [COMPARE_MAX_SYSTEMS] set to their paths; NULL: one of ours
 * @return how many
 */
size_t compare_diagnosers(const struct compare_run *run, const char **names, const char **paths);

#define COMPARE_MAX_SETS 32 /* keys of a run: its own, and those that leave out what was put in */

/* Is a suspect the background of small flows, and not what was put in? */
bool compare_is_background(const struct suspect *suspect);
/* Does a case have this run? */
bool compare_has_run(const struct compare_cell *cell, const struct compare_run *run);
