/* SPDX-License-Identifier: BSD-3-Clause */
/* Who sends how much to whom in an AllToAllv, as tokens go to experts of which some are in greater demand. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What a skewed exchange is made of. */
struct skew {
	uint32_t ranks;
	uint64_t elems;  /* that every rank sends, to itself too */
	double factor;   /* how many times as much as the rank in least demand the one in greatest gets; 1: all alike */
	bool back;       /* the way back: what went from one to another goes from the other to the one */
	uint64_t seed;   /* the run's */
	const char *job; /* name: its exchanges have the same ranks in demand */
};

/*
 * Fills in what goes from rank to rank. Demand falls in even steps from rank to rank, in an order that is drawn; what
 * does not divide goes to the rank in greatest demand.
 * @param counts  [ranks * ranks] elements, sender major
 * @return the most that a rank sends; 0 without memory
 */
uint64_t skew_counts(const struct skew *skew, uint64_t *counts);
