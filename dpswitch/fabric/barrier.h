/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where lcores meet between windows. They spin, as a window is a few microseconds of work; one that has spun for long, because
 * another is at work alone or has no CPU just now, sleeps until it is woken, unless each has a CPU of its own for good.
 */
#pragma once

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CACHE_LINE 64
#define BARRIER_SPINS 16384 /* some hundred microseconds */

struct barrier {
	uint32_t parties;
	uint32_t spins;                                /* until one sleeps; UINT32_MAX: for ever. Written between runs */
	_Alignas(CACHE_LINE) _Atomic uint32_t arrived; /* written by every party */
	_Alignas(CACHE_LINE) _Atomic uint32_t phase;   /* written by the last to arrive, read by all */
	_Atomic uint32_t sleepers; /* written by who goes to sleep and wakes up, read by the last to arrive */
};

static inline void
barrier_init(struct barrier *barrier, uint32_t parties)
{
	barrier->parties = parties;
	barrier->spins = BARRIER_SPINS;
	atomic_init(&barrier->arrived, 0);
	atomic_init(&barrier->phase, 0);
	atomic_init(&barrier->sleepers, 0);
}

static inline void
barrier_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
}

/*
 * Sleeps while the phase is the one given. A sleeper announces itself before the kernel looks at the phase again, the last to
 * arrive changes the phase before it looks for sleepers, both sequentially consistent: one of them sees the other.
 */
static inline void
barrier_sleep(struct barrier *barrier, uint32_t phase)
{
	atomic_fetch_add_explicit(&barrier->sleepers, 1, memory_order_seq_cst);
	while (atomic_load_explicit(&barrier->phase, memory_order_seq_cst) == phase)
		syscall(SYS_futex, (uint32_t *)&barrier->phase, FUTEX_WAIT_PRIVATE, phase, NULL, NULL, 0);
	atomic_fetch_sub_explicit(&barrier->sleepers, 1, memory_order_seq_cst);
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
		atomic_store_explicit(&barrier->phase, phase + 1, memory_order_seq_cst);
		if (atomic_load_explicit(&barrier->sleepers, memory_order_seq_cst) != 0)
			syscall(SYS_futex, (uint32_t *)&barrier->phase, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
		return;
	}
	for (uint32_t spins = 0; atomic_load_explicit(&barrier->phase, memory_order_acquire) == phase; spins++) {
		if (spins == barrier->spins && spins != UINT32_MAX) {
			barrier_sleep(barrier, phase);
			return;
		}
		barrier_pause();
	}
}
