/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports as they are sent, recorded and counted: several of one node and class (enum rec_class), packed into a frame.
 * A frame begins with a struct rec_hdr: type REC_FRAME, size, node; time_ps when it was sent, seq and event of its
 * first record. Behind it stands a row for each record. Integers are LEB128, 7 bits a byte; a change is a difference
 * modulo 2^64, zigzag (0, -1, 1, -2 ... are 0, 1, 2, 3 ...).
 *   u8      type of the record; 128 is added where the three follow:
 *   three   changes of time_ps, seq and event, else as expected: the time and event of the record before, and a seq more by
 *           one; of the first record: the frame's time_ps, seq and event
 *   map     bit i: field i of its list (REC_KIND_FIELDS) is not as expected
 *   fields  those, in order. A tuple: 1 + i, tuple number i of those written in full in this frame, of the first
 *           RECFRAME_TUPLES; or 0, then source address XOR that of the last full tuple (0), destination XOR
 *           source address, source port, destination port XOR 4791, reserved. A count (RECORD_COUNT): itself. Any other: a
 *           change from what is expected
 * Expected of a field is what the record of the same type before it in the frame holds there (0); of a count always 0;
 * of RECORD_UNTIL and RECORD_LAST_EPOCH what makes the interval with the field before as long as that record's. A frame
 * needs no other to be understood. Rules of fields that records_*.h change change the rows as well.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/wire/record_hdr.h"

#define RECFRAME_TUPLES 64
#define RECFRAME_RECORD_BYTES 256 /* no report is larger */

struct recframe_tuples {
	struct rec_tuple known[RECFRAME_TUPLES];
	uint32_t count;
	uint32_t src_ip; /* of the latest written in full */
};

/* A frame that is being packed. */
struct recframe {
	uint8_t bytes[REC_FRAME_MAX_BYTES] __attribute__((aligned(8)));
	size_t used_bytes;
	uint32_t records;
	struct rec_hdr last;                        /* of the latest record */
	uint64_t seen;                              /* bit t: latest[t] is one of this frame */
	const struct rec_hdr *latest[RECORD_KINDS]; /* the caller's */
	struct recframe_tuples tuples;
};

void recframe_begin(struct recframe *frame, uint64_t sent_ps);

/*
 * Appends a report (record_is_report()), which stays where it is until the frame is done.
 * @return false: it is of another node or class, or there is no room; the frame is as it was
 */
bool recframe_put(struct recframe *frame, const struct rec_hdr *rec);

/* @return the whole frame, which has a record at least, in frame->bytes */
const struct rec_hdr *recframe_end(struct recframe *frame);

/* A reader of a frame. */
struct recframe_reader {
	const uint8_t *at, *end;
	uint64_t sent_ps;
	struct rec_hdr last;
	uint64_t seen;   /* bit t: rows[t] and moving[t] are of this frame */
	uint64_t second; /* bit t: the latest is the second of rows[t] */
	struct recframe_tuples tuples;
	uint64_t moving[RECORD_KINDS];                             /* bit i: field i is not expected to be what it was */
	uint64_t rows[RECORD_KINDS][2][RECFRAME_RECORD_BYTES / 8]; /* the latest, and the one before it */
};

/* @param frame  whole, of the size in its header; stays until all is read */
void recframe_open(struct recframe_reader *reader, const struct rec_hdr *frame);

/*
 * @param rec  set to the next record, valid until the next call
 * @return 1; 0: there is no more; -EPROTO with err: what stands there is no row
 */
int recframe_next(struct recframe_reader *reader, const struct rec_hdr **rec, struct err *err);

/* @return bytes of the frames that size_bytes of records, one behind the other, take when sent by themselves */
uint64_t recframe_bytes_of(const uint8_t *records, size_t size_bytes);
