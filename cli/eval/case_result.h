/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run of a case left behind: the verdict, scored, and what it cost. */
#pragma once

#include "cli/eval/store.h"

/*
 * Reads DIR/POLICY's verdict.json and run.json, scores the verdict, and leaves score.json beside it: outcome, why, and the
 * truth. A run without a verdict is a false negative.
 * @param status  of the job
 * @param run  policy is set; the rest is filled in
 * @return 0, or negative errno with err set: the truth cannot be read
 */
int case_result(const char *dir, int status, struct store_run *run, struct err *err);

/* Deletes what a run can make again. @param keep  all that explains a verdict stays */
void case_result_tidy(const char *dir, const char *folder, bool keep);
