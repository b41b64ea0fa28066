/* SPDX-License-Identifier: BSD-3-Clause */
/* DIR/verdict.json after a run: shown to machines, or judged for the exit code. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"

/* Prints DIR/verdict.json. @return 0 or negative errno with err set */
int verdict_print(const char *dir, struct err *err);

struct verdict_counts {
	size_t findings;
	size_t unfinished; /* collectives, each iteration of its own, as far as the evidence goes */
	size_t left_out;   /* plugin diagnosers that broke, or sent what cannot be */
	struct err why;    /* "diagnoser ./NAME was left out: WHY" of the first of them */
};

/* Reads DIR/verdict.json. @return 0 or negative errno with err set */
int verdict_count(const char *dir, struct verdict_counts *counts, struct err *err);

/*
 * Whether the analyzer lacks records of this run that its recording has: it was given up, or did not keep up with real time.
 * @return false too where DIR/run.json does not say
 */
bool run_analyzer_lacks(const char *dir);
