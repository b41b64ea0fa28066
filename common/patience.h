/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long somebody has waited, in time that he lived through: when he was stopped himself, whom he waits for probably was
 * too (a laptop that is closed, a debugger, SIGSTOP to all). Whoever waits looks at least every PATIENCE_SLICE_NS; of a
 * longer time between two looks only so much counts.
 */
#pragma once

#include <stdint.h>

#define PATIENCE_SLICE_NS 100000000ULL

/* Zero-initialise: nothing has been waited for yet. */
struct patience {
	uint64_t last_ns; /* the last look, 0: none */
	uint64_t waited_ns;
};

/* @param now_ns  clock_now_ns(). @return how long it has been since the first look or patience_renew(), nanoseconds */
static inline uint64_t
patience_look(struct patience *patience, uint64_t now_ns)
{
	uint64_t since_ns = patience->last_ns != 0 ? now_ns - patience->last_ns : 0;

	patience->waited_ns += since_ns < PATIENCE_SLICE_NS ? since_ns : PATIENCE_SLICE_NS;
	patience->last_ns = now_ns;
	return patience->waited_ns;
}

/* What was waited for moves: the wait begins anew. */
static inline void
patience_renew(struct patience *patience)
{
	patience->waited_ns = 0;
}
