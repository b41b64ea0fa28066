/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The border that records cross when they enter a program: every field of every record, once, against its kind's table
 * (common/record/kinds.h), against its neighbours in the record, and against what header records before it described.
 * Behind it records are trusted.
 */
#pragma once

#include "common/err.h"
#include "common/wire/record_hdr.h"

struct record_check;

/* @return NULL: no memory */
struct record_check *record_check_create(void);
void record_check_destroy(struct record_check *check);

/*
 * Checks a record, and takes in the data of a header record.
 * A stream is in order: RUN, every NODE from 0 on, every PORT, then the rest, each behind the records that it names;
 * nothing behind END.
 * @param rec  aligned to 8; its size is that of its type
 * @return 0; -EINVAL with err: the kind, its node, the field, its value and what would be right; -ENOMEM. The record
 *         has changed nothing then.
 */
int record_check(struct record_check *check, const struct rec_hdr *rec, struct err *err);

/*
 * To be called where a stream ends: are all nodes, ports and, where it was ended by its END, all steps described that the
 * records before promised?
 * @return 0; -EINVAL with err
 */
int record_check_finish(const struct record_check *check, struct err *err);
