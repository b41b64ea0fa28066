/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who took a port's link from data that waited: frames of class 0, which is served strictly first, by flow, in one epoch. A
 * table of fixed size, found by the flow's number, as a switch's flow table is; flows that find no place share one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define OVERTAKES_SLOTS 32
#define OVERTAKES_WAYS 4 /* places that a flow may have */

struct overtaker {
	uint64_t bytes;
	uint32_t packets;
	uint32_t key; /* overtakes_key(); 0: a free place */
};

struct overtakes {
	struct overtaker by[OVERTAKES_SLOTS];
	struct overtaker others; /* key 0 */
	uint32_t depth_max;      /* packets of data that waited, at most */
	bool any;
};

/* @param acks  what travels back to the flow's sender: ACKs, NAKs, CNPs */
static inline uint32_t
overtakes_key(uint32_t flow, bool acks)
{
	return (flow << 1 | acks) + 1;
}

static inline uint32_t
overtakes_flow(uint32_t key)
{
	return (key - 1) >> 1;
}

static inline bool
overtakes_acks(uint32_t key)
{
	return (key - 1) & 1;
}

/* The place of a flow that is not where it is looked for first: found, or made. */
struct overtaker *overtakes_place(struct overtakes *o, uint32_t key);

static inline void
overtakes_add(struct overtakes *o, uint32_t key, uint32_t packets, uint64_t bytes)
{
	struct overtaker *by = &o->by[key % OVERTAKES_SLOTS];

	if (__builtin_expect(by->key != key, 0))
		by = overtakes_place(o, key);
	by->packets += packets;
	by->bytes += bytes;
}

/* Adds up what was counted of one epoch. */
void overtakes_sum(struct overtakes *sum, const struct overtakes *of);
/* Flows with less than this part of all bytes join the others. @return bytes of all */
uint64_t overtakes_fold(struct overtakes *o, uint32_t part);
