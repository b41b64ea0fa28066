/* SPDX-License-Identifier: BSD-3-Clause */
/* Posted receives of a QP, oldest first. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define RECV_SLOTS 64

struct recv_slot {
	uint64_t offset; /* in the receiver's region */
	uint64_t bytes;
};

struct recv_ring {
	uint32_t head, tail; /* counted: oldest, next to post */
	struct recv_slot slots[RECV_SLOTS];
};

/* @return false if RECV_SLOTS are posted already */
static inline bool
recv_ring_push(struct recv_ring *ring, uint64_t offset, uint64_t bytes)
{
	if (ring->tail - ring->head == RECV_SLOTS)
		return false;
	ring->slots[ring->tail++ % RECV_SLOTS] = (struct recv_slot){ .offset = offset, .bytes = bytes };
	return true;
}

/* @return false if none is posted */
static inline bool
recv_ring_pop(struct recv_ring *ring, struct recv_slot *slot)
{
	if (ring->head == ring->tail)
		return false;
	*slot = ring->slots[ring->head++ % RECV_SLOTS];
	return true;
}
