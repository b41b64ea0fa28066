/* SPDX-License-Identifier: BSD-3-Clause */
/* What a verdict is worth, as the paper counts it (IV-A). */
#pragma once

#include "eval/truth.h"

enum outcome {
	OUTCOME_TP, /* all that the case holds is found, and nothing else; of a clean case: nothing is found */
	OUTCOME_FP, /* something is found, but not all, or something that was not there */
	OUTCOME_FN, /* nothing is found where something is */
};

/*
 * Holds a verdict against the truth.
 * @param verdict  verdict.json
 * @param why  set to what is wrong with it, unless it is a true positive
 */
enum outcome score_verdict(const struct truth *truth, const json_t *verdict, struct err *why);

const char *score_name(enum outcome outcome); /* "tp" */

/* How often each came. */
struct score {
	uint32_t count[3]; /* by enum outcome */
};

/* TP / (TP + FP) and TP / (TP + FN); 0 where nothing was found, or nothing was to be. */
double score_precision(const struct score *score);
double score_recall(const struct score *score);
