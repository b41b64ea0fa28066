/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of each type of record, and which of them replace each other: those of the same key. */
#pragma once

#include "diag/collect/evidence.h"

#define KEY_WORDS 4

/* The first word counts first. Two nearly always tell; those not used are 0. */
struct rec_key {
	uint64_t word[KEY_WORDS];
};
typedef struct rec_key key_fn(const void *rec);

/* @return the key of a type whose later records replace earlier ones, NULL: nothing replaces this type's */
key_fn *key_of(uint16_t type);
/* Of a port row as the report of a moment: node, port, time, sequence. */
struct rec_key key_state(const void *rec);
/* Of a flow row as the report of a moment: node, port, epoch, time. */
struct rec_key key_flow_state(const void *rec);
/* Of any record: time, node, sequence. */
struct rec_key key_time(const void *rec);

/* @return <0, 0, >0 */
static inline int
key_cmp(const struct rec_key *a, const struct rec_key *b)
{
	for (int w = 0; w < KEY_WORDS; w++) {
		if (a->word[w] != b->word[w])
			return a->word[w] < b->word[w] ? -1 : 1;
	}
	return 0;
}
