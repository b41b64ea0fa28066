/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts the records of many nodes into one order: (time, node, sequence). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/record/buffer.h"
#include "common/wire/record_hdr.h"

struct recmerge_ref {
	uint64_t time_ps;
	uint32_t node, seq;
	size_t offset; /* in data; what came first wins where the rest is equal */
};

/* Holds copies, so that nodes may report on while records wait for their turn. Zero-initialise. */
struct recmerge {
	uint8_t *data;
	size_t used_bytes, cap_bytes;
	struct recmerge_ref *refs;
	size_t nrefs, cap_refs;
};

void recmerge_fini(struct recmerge *merge);

/* Takes all records of a buffer over and empties it. Memory exhaustion ends the program with a message. */
void recmerge_add(struct recmerge *merge, struct recbuf *buf);

/*
 * Sorts what is held.
 * @param before_ps  nothing older than this will be added any more
 * @return how many records are older than before_ps: these are in their final order, from index 0
 */
size_t recmerge_sort(struct recmerge *merge, uint64_t before_ps);

/* The record at an index after recmerge_sort(). */
static inline const struct rec_hdr *
recmerge_at(const struct recmerge *merge, size_t index)
{
	return (const struct rec_hdr *)(const void *)(merge->data + merge->refs[index].offset);
}

/* Forgets the first records; the rest stays for the next recmerge_sort(). */
void recmerge_consume(struct recmerge *merge, size_t count);
