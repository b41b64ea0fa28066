/* SPDX-License-Identifier: BSD-3-Clause */
/* Who is compared: a row each, and the runs of a case that their verdicts come from. */
#pragma once

#include "emulation/scenario/systems.h"
#include "eval/compare/corpus.h"

struct compare_system {
	const char *name;             /* of its row in emulation/scenario/systems.c, */
	const char *run;              /* whose verdict has its findings: a row of compare_runs */
	const char *const *types;     /* of its findings; a NULL ends them */
	bool prices;                  /* it says of a finding that it cost nothing: that is no alarm */
	bool ecmp_only, sprayed_only; /* where it looks at all */
};

extern const struct compare_system compare_systems[];
extern const uint32_t compare_nsystems;
#define COMPARE_MAX_SYSTEMS 8

/* what that says of it. */
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

/* Who of the analyzer diagnoses a run. @param names  [COMPARE_MAX_SYSTEMS] set to them, each once @return how many */
size_t compare_diagnosers(const struct compare_run *run, const char **names);

#define COMPARE_MAX_SETS 32 /* keys of a run: its own, and those that leave out what was put in */

/* Is a suspect the background of small flows, and not what was put in? */
bool compare_is_background(const struct suspect *suspect);
/* Does a case have this run? */
bool compare_has_run(const struct compare_cell *cell, const struct compare_run *run);
