/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long a program has waited, in time in which it ran: when it was stopped itself, its peer probably was stopped too
 * (a laptop that is closed, a debugger, SIGSTOP to all). The waiting program looks at least every STALL_TIMER_SLICE_NS;
 * of a longer time between two looks only that much counts.
 */
#pragma once

#include <stdint.h>

#define STALL_TIMER_SLICE_NS 100000000ULL

/* Zero-initialise: nothing has been waited for yet. */
struct stall_timer {
	uint64_t last_ns; /* the last look, 0: none */
	uint64_t waited_ns;
};

/* @param now_ns  clock_now_ns(). @return how long it has been since the first look or stall_timer_renew(), nanoseconds */
static inline uint64_t
stall_timer_look(struct stall_timer *stall_timer, uint64_t now_ns)
{
	uint64_t since_ns = stall_timer->last_ns != 0 ? now_ns - stall_timer->last_ns : 0;

	stall_timer->waited_ns += since_ns < STALL_TIMER_SLICE_NS ? since_ns : STALL_TIMER_SLICE_NS;
	stall_timer->last_ns = now_ns;
	return stall_timer->waited_ns;
}

/* The awaited peer moves: the wait begins again. */
static inline void
stall_timer_renew(struct stall_timer *stall_timer)
{
	stall_timer->waited_ns = 0;
}
