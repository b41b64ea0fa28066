/* SPDX-License-Identifier: BSD-3-Clause */
/* The results of a run of a case: the verdict, scored, and its cost. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "eval/store.h"

/*
 * Reads DIR/POLICY/verdict.json and DIR/FABRIC/run.json, scores the verdict, and leaves score.json beside it: outcome, why,
 * and the truth of that run.
 * @param fabric  folder of the fabric's run
 * @param run  policy is set, and wall_s to how long the job took; the rest is filled in
 * @return 0, or negative errno with err set: -ENODATA there is no verdict, else the truth cannot be read or score.json
 *         not written
 */
int case_result(const char *dir, const char *fabric, struct store_run *run, struct err *err);

/* Deletes the files of an earlier run for the truth, so that a run that breaks leaves no truth. */
void case_result_forget_truth(const char *dir);

/* Deletes files that a run can make again. @param keep  all that explains a verdict stays */
void case_result_tidy(const char *dir, const char *folder, bool keep);

/* A system's bytes of records on the analyzer's socket. */

/*
 * @param verdict  verdict.json
 * @param kinds    bits by enum rec_type, as struct system_row has them
 * @return bytes of the records that crossed the socket and are of these kinds, as they were packed
 */
int64_t telemetry_bytes(const json_t *verdict, uint64_t kinds);

/* Bytes of link time that its packets took, by its verdict's account: polls and notifications; probes and their ACKs. */
double poll_bytes(const json_t *verdict);
double probe_bytes(const json_t *verdict);
