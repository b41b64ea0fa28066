/* SPDX-License-Identifier: BSD-3-Clause */
/* What the budget kept back: which kinds it rules and how relevant they are, and the account of what was lost. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/record_run.h"

#define GAPS_KINDS 9 /* kinds that the budget rules, numbered from the most relevant */
#define GAPS_CLASSES 5
#define GAPS_MAX_BYTES (GAPS_KINDS * sizeof(struct rec_gap))

/* @return index of a kind, GAPS_KINDS for one outside the budget (configuration, REC_GAP, REC_END) */
uint32_t gaps_kind(uint16_t type);
/* @return enum rec_type of a kind */
uint16_t gaps_type(uint32_t kind);
/*
 * Relevance to the verdict: 0 steps and triggers, 1 the polled path, its ports and drops, 2 flow rows, 3 meter rows,
 * 4 the rest.
 */
uint32_t gaps_class(uint32_t kind);

/* Lost and not yet told, by kind. Zero-initialise. */
struct gaps {
	struct gap {
		uint32_t records;
		uint64_t bytes, from_ps, to_ps;
	} kinds[GAPS_KINDS];
	uint64_t due_bytes;                /* what telling all of it takes */
	uint64_t told_records, told_bytes; /* REC_GAP made so far */
};

/* A record is lost. */
void gaps_note(struct gaps *gaps, const struct rec_hdr *hdr);
/* What told of losses is lost itself. */
void gaps_note_gap(struct gaps *gaps, const struct rec_gap *lost);

/*
 * What the next record carries before it: all that is due, or nothing while gaps have had their share.
 * @param sent_bytes  records sent so far, gaps not included; an eighth of it, and 1024 B, are for gaps
 * @return bytes, at most GAPS_MAX_BYTES
 */
uint64_t gaps_toll(const struct gaps *gaps, uint64_t sent_bytes);

/*
 * Takes one gap off the account.
 * @param gap  body filled; the header is the caller's
 * @return false when nothing of this kind is due
 */
bool gaps_take(struct gaps *gaps, uint32_t kind, struct rec_gap *gap);
