/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kinds of anomalies that a case may hold (case.json's "anomalies"): whether one affected the collective at all,
 * whether a verdict found it, and which findings it confirms.
 */
#pragma once

#include "eval/truth.h"

struct anomaly_kind {
	const char *name;
	bool in_hosts; /* the network has no part in it */
	/* Did the anomaly affect the collective, by the fabric's truth? If not the case is wrong by construction. */
	bool (*affects)(const struct truth *truth, const json_t *anomaly);
	/* Is the anomaly among the findings? @param why  set to the missing claim, if not */
	bool (*found)(const struct truth *truth, const json_t *anomaly, const json_t *findings, struct err *why);
	/* Is this finding, of no queue, due to the anomaly? NULL: it has no such findings */
	bool (*confirms)(const json_t *anomaly, const json_t *finding);
};

/*
 * A case is right by construction if everything it is to hold touched the collective; one that is to hold nothing, if
 * no two data flows shared a queue; and if the fabric saw all of it. All others are replaced, before any diagnosis.
 * @param why  set to the violation
 */
bool judge_is_right(const struct truth *truth, struct err *why);

/* The grade of a verdict, by the paper's count (IV-A). */

enum outcome {
	OUTCOME_TP, /* all that the case holds is found, and nothing else; of a clean case: nothing is found */
	OUTCOME_FP, /* something is found, but not all, or something that was not there */
	OUTCOME_FN, /* nothing is found where something is */
};

/*
 * Compares a verdict with the truth.
 * @param verdict  verdict.json
 * @param why  set to its error, unless it is a true positive
 */
enum outcome score_verdict(const struct truth *truth, const json_t *verdict, struct err *why);

const char *score_name(enum outcome outcome); /* "tp" */

/* The number of runs with each outcome. */
struct score {
	uint32_t count[3]; /* by enum outcome */
};

/* TP / (TP + FP) and TP / (TP + FN); 0 where nothing was found, or nothing was to be. */
double score_precision(const struct score *score);
double score_recall(const struct score *score);
