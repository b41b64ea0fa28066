/* SPDX-License-Identifier: BSD-3-Clause */
/* How long a rate below the line's kept a QP's packets apart, beyond what the line does. Pure. */
#pragma once

#include <stdint.h>

struct paced {
	uint64_t line_gap_ps; /* of a full middle segment at the line's rate */
	uint64_t sum_ps;      /* of packets before next */
	uint32_t next;
};

/* @return of all that was sent before nxt; what is not in the sum had gap_ps between packets */
static inline uint64_t
paced_ps(const struct paced *paced, uint32_t nxt, uint64_t gap_ps)
{
	uint64_t more_ps = gap_ps > paced->line_gap_ps ? gap_ps - paced->line_gap_ps : 0;

	return paced->sum_ps + (uint64_t)(nxt - paced->next) * more_ps;
}

/* The gap changes, or numbers do: what was sent before nxt is summed up, and the next packet sent is another. */
static inline void
paced_sum_up(struct paced *paced, uint32_t nxt, uint64_t gap_ps, uint32_t next)
{
	paced->sum_ps = paced_ps(paced, nxt, gap_ps);
	paced->next = next;
}
