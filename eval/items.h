/* SPDX-License-Identifier: BSD-3-Clause */
/* The cases of an evaluation, and how far each has come. */
#pragma once

#include "eval/eval.h"

/* Policies are run in order; up to next they have been started, or were done before. */
struct item {
	const struct family *family;
	uint32_t index, attempt;
	/* BUSY: its truth is being found; BROKEN: the run for it did not end */
	enum { ITEM_NEW, ITEM_BUSY, ITEM_RIGHT, ITEM_BROKEN } state;
	uint32_t next;
};

struct items {
	const struct eval *eval;
	struct item *at;
	uint32_t count;
};

/* All cases of all families, as far as the store and the files have them. @return 0 or -ENOMEM with err */
int items_init(struct items *items, const struct eval *eval, struct err *err);
void items_fini(struct items *items);

/* @return a case of which a run can start, NULL: none for now */
struct item *items_next(const struct items *items);
/* @return runs of policies that are still to be made */
uint32_t items_left(const struct items *items);

/*
 * Makes the case of this attempt and writes its files; where chance fails, that of the next.
 * @param source  the evaluation's, with the network  @return 0, or negative errno with err
 */
int item_make(struct item *item, const struct eval *eval, const struct case_source *source, struct err *err);
/* Is the verdict on the run for the truth itself still to come? Then that run has to record what it is made from. */
bool item_awaits_truths_verdict(const struct item *item, const struct eval *eval);
/* The run for the truth is over: the case is right, or replaced by the next attempt. @return as above */
int item_judge(struct item *item, const struct eval *eval, struct err *err);
/* The run of the next policy has started. */
void item_started(struct item *item, const struct eval *eval);
