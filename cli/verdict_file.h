/* SPDX-License-Identifier: BSD-3-Clause */
/* What an output directory says after a run: shown to people, or judged for the exit code. */
#pragma once

#include <stdbool.h>

#include "common/err.h"

/* Prints DIR/verdict.json (json) or DIR/report.txt. @return 0 or negative errno with err set */
int verdict_show(const char *dir, bool json, struct err *err);

/* @return number of findings in DIR/verdict.json, or negative with err set */
int verdict_findings(const char *dir, struct err *err);
