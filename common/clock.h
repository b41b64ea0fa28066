/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one module that reads the machine's clocks and sleeps. Nothing in it enters a result: the fabric's own time is
 * counted in windows. Progress, run.json and the pacing of a run in real time use it.
 */
#pragma once

#include <stdint.h>

/* @return nanoseconds of a clock that never goes back (CLOCK_MONOTONIC); only differences mean anything */
uint64_t clock_now_ns(void);

/* @return nanoseconds since 1970 (CLOCK_REALTIME), which may be set back: for times that go on after a restart */
uint64_t clock_since_1970_ns(void);

/* @return processor time of all threads of this process so far, nanoseconds */
uint64_t clock_cpu_ns(void);

/*
 * VmHWM of proc(5), and not ru_maxrss of getrusage(2), which also counts what the process held before its execve().
 * @return the largest resident set of this program so far, bytes; 0 where /proc is not mounted
 */
uint64_t clock_peak_rss_bytes(void);

/*
 * Sleeps until clock_now_ns() has reached a point in time; returns at once when it has passed. A signal does not
 * shorten the sleep.
 * @return how late it woke, nanoseconds
 */
uint64_t clock_sleep_until_ns(uint64_t until_ns);
