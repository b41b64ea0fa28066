/* SPDX-License-Identifier: BSD-3-Clause */
/* Losses to the budget: the account of lost records of the kinds that it rules (record_is_report()). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/record_hdr.h"
#include "common/wire/record_run.h"

#define GAPS_CLASSES 5 /* how relevant a kind is: below it, 0 the most */

/* Lost and not yet reported, by kind (enum rec_type). Zero-initialise. */
struct gaps {
	struct gap {
		uint32_t records;
		uint64_t bytes, from_ps, to_ps;
	} kinds[RECORD_KINDS];
	uint64_t due_bytes;                        /* the bytes of reporting all of it */
	uint64_t reported_records, reported_bytes; /* REC_GAP made so far */
};

/* A record is lost. */
void gaps_note(struct gaps *gaps, const struct rec_hdr *hdr);
/* A gap record is lost itself. */
void gaps_note_gap(struct gaps *gaps, const struct rec_gap *lost);

/*
 * The gap records before the next record: all that is due, or nothing while gaps have had their share.
 * @param sent_bytes  records sent so far, gaps not included; an eighth of it, and 1024 B, are for gaps
 * @return bytes, at most REC_REPORT_KINDS gaps
 */
uint64_t gaps_toll(const struct gaps *gaps, uint64_t sent_bytes);

/*
 * Takes one gap off the account, of the most relevant kind first.
 * @param gap  body filled; the header is the caller's
 * @return false when nothing is due
 */
bool gaps_take(struct gaps *gaps, struct rec_gap *gap);
