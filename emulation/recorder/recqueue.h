/* SPDX-License-Identifier: BSD-3-Clause */
/* Records that wait for the budget: one first-in first-out queue per class, class 0 the most relevant. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "emulation/recorder/gaps.h"

#define RECQUEUE_CLASSES GAPS_CLASSES

struct recqueue_class {
	uint8_t *data;
	size_t head_bytes, tail_bytes, cap_bytes;
};

/* Zero-initialise. The caller bounds it: see recqueue_victim(). */
struct recqueue {
	struct recqueue_class classes[RECQUEUE_CLASSES];
	uint64_t records, bytes;
};

void recqueue_fini(struct recqueue *queue);

/* Appends a copy. Memory exhaustion ends the program with a message. */
void recqueue_put(struct recqueue *queue, uint32_t class, const struct rec_hdr *hdr);

/* @return the oldest record of the most relevant class, NULL when the queue is empty; *class is set to its class */
const struct rec_hdr *recqueue_head(const struct recqueue *queue, uint32_t *class);

/* Where a walk over all records is, in the order in which recqueue_head() and recqueue_pop() give them. Begins zero. */
struct recqueue_walk {
	uint32_t class;
	size_t bytes; /* behind the head of its class */
};

/* @return the next record; NULL: there is no more */
const struct rec_hdr *recqueue_next(const struct recqueue *queue, struct recqueue_walk *walk);

/*
 * What to give up: the oldest record of the least relevant class. Rows are cumulative and later ones replace earlier
 * ones, so the oldest is worth least.
 * @return NULL when the queue is empty
 */
const struct rec_hdr *recqueue_victim(const struct recqueue *queue, uint32_t *class);

/* Removes the oldest record of a class, which must have one. Pointers into that class are void then. */
void recqueue_pop(struct recqueue *queue, uint32_t class);
