/* SPDX-License-Identifier: BSD-3-Clause */
/* DIR/verdict.json after a run: shown to machines, or judged for the exit code. */
#pragma once

#include <stdbool.h>

#include "common/err.h"

/* Prints DIR/verdict.json. @return 0 or negative errno with err set */
int verdict_print(const char *dir, struct err *err);

/* @return number of findings in DIR/verdict.json, or negative with err set */
int verdict_findings(const char *dir, struct err *err);

/*
 * Whether the fabric gave the analyzer up in this run, so that whatever it says rests on a part of the stream.
 * @return false too where DIR/run.json does not say
 */
bool run_gave_up_analyzer(const char *dir);
