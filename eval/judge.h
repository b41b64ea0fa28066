/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kinds of anomalies that a case may hold (case.json's "anomalies"): whether one affected the collective at all, whether a
 * verdict found it, and which findings it confirms.
 */
#pragma once

#include "eval/truth.h"

struct anomaly_kind {
	const char *name;
	bool in_hosts; /* the network has no part in it */
	/* In the fabric's truth, did it affect the collective? If not the case is wrong by construction. */
	bool (*affects)(const struct truth *truth, const json_t *anomaly);
	/* Is it among the findings? @param why  set to what is missing, if not */
	bool (*found)(const struct truth *truth, const json_t *anomaly, const json_t *findings, struct err *why);
	/* Is this finding, of no queue, due to it? NULL: it has none such */
	bool (*confirms)(const json_t *anomaly, const json_t *finding);
};

/* @return NULL: there is none of this name (anomalies.c has them) */
const struct anomaly_kind *judge_kind(const json_t *anomaly);

/*
 * Did the fabric see what a finding says? Queues: every culprit stood in the root's queue with a victim (incast: or
 * with another culprit; pauses: with anybody) and, for pauses, a port named was halted. Load imbalance: as a queue, where
 * hashes leave a port of equal cost to none of the collective's flows. Strict priority: see judge_overtaken(). All else: an
 * anomaly of the case confirms it.
 * @param why  set to what is not so
 */
bool judge_confirms(const struct truth *truth, const json_t *finding, struct err *why);

/*
 * Is a finding one of strict priority that the fabric saw: did each culprit, or where none is named anybody, send frames of
 * class 0 ahead of data at the root? No family is made for that, and ACKs do so in any: it may be named, and need not be.
 */
bool judge_overtaken(const struct truth *truth, const json_t *finding);

/*
 * A case is right by construction if everything it is to hold touched the collective; one that is to hold nothing, if no
 * two data flows shared a queue; and if the fabric saw all of it. All others are replaced, before any diagnosis. @param why  set to what is wrong
 */
bool judge_is_right(const struct truth *truth, struct err *why);
