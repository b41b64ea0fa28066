/* SPDX-License-Identifier: BSD-3-Clause */
/* What packing (frame.c) and reading (unframe.c) of frames have in common: what is expected of a row. */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/record/frame.h"
#include "common/record/kinds.h"

#define RECFRAME_HEADED 0x80u /* in the type: time, sequence and event follow */
#define RECFRAME_LEB128_BYTES 10
#define RECFRAME_ROCE_PORT 4791 /* what nearly every tuple has */

_Static_assert(RECORD_KINDS <= RECFRAME_HEADED, "types leave a bit");
_Static_assert(RECORD_KINDS <= 64, "a bit a kind");
_Static_assert(RECORD_MAX_FIELDS <= 32, "a bit a field");

/* Fields of the header that a row may tell of, in order. */
struct recframe_three {
	uint64_t time_ps, seq, event;
};

static inline uint64_t
recframe_value(const void *rec, const struct record_field *field)
{
	const uint8_t *at = (const uint8_t *)rec + field->at;

	switch (field->size) {
	case 1:
		return *at;
	case 2:
		return *(const uint16_t *)(const void *)at;
	case 4:
		return *(const uint32_t *)(const void *)at;
	default:
		assert(field->size == 8);
		return *(const uint64_t *)(const void *)at;
	}
}

static inline bool
recframe_is_tuple(const struct record_field *field)
{
	return field->size == sizeof(struct rec_tuple);
}

/* @param rec  whose fields before this one are known  @param before  the record of its type before, or none */
static inline uint64_t
recframe_expected(const struct record_field *field, const void *rec, const void *before)
{
	switch (field->rule) {
	case RECORD_COUNT:
		return 0;
	case RECORD_UNTIL:
	case RECORD_LAST_EPOCH:
		return recframe_value(rec, field - 1) + recframe_value(before, field) - recframe_value(before, field - 1);
	default:
		return recframe_value(before, field);
	}
}

static inline struct recframe_three
recframe_expected_header(const struct rec_hdr *last)
{
	return (struct recframe_three){ last->time_ps, (uint32_t)(last->seq + 1), last->event };
}

static inline void
recframe_remember(struct recframe_tuples *tuples, const struct rec_tuple *tuple)
{
	tuples->src_ip = tuple->src_ip;
	if (tuples->count < RECFRAME_TUPLES)
		tuples->known[tuples->count++] = *tuple;
}
