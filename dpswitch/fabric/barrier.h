/* SPDX-License-Identifier: BSD-3-Clause */
/* Where lcores meet between windows. Spins, never yields: a window is a few microseconds of work. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define CACHE_LINE 64

struct barrier {
	uint32_t parties;
	_Alignas(CACHE_LINE) _Atomic uint32_t arrived; /* written by every party */
	_Alignas(CACHE_LINE) _Atomic uint32_t phase;   /* written by the last to arrive, read by all */
};

static inline void
barrier_init(struct barrier *barrier, uint32_t parties)
{
	barrier->parties = parties;
	atomic_init(&barrier->arrived, 0);
	atomic_init(&barrier->phase, 0);
}

static inline void
barrier_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
}

/*
 * The arrival is acq_rel so that the last party sees all writes of the others; the new phase is released by it and
 * acquired by the waiters, so that everything before the barrier happens before everything after it.
 */
static inline void
barrier_wait(struct barrier *barrier)
{
	uint32_t phase;

	if (barrier->parties == 1)
		return;
	phase = atomic_load_explicit(&barrier->phase, memory_order_relaxed);
	if (atomic_fetch_add_explicit(&barrier->arrived, 1, memory_order_acq_rel) + 1 == barrier->parties) {
		atomic_store_explicit(&barrier->arrived, 0, memory_order_relaxed);
		atomic_store_explicit(&barrier->phase, phase + 1, memory_order_release);
		return;
	}
	while (atomic_load_explicit(&barrier->phase, memory_order_acquire) == phase)
		barrier_pause();
}
