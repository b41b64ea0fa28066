/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Real time: holds every window of the fabric back until the clock has reached its start. A window that is opened more
 * than its own length after its start is late; late windows follow each other as fast as the machine allows, so they
 * stretch delays and pauses, and never overrun a buffer, because everything inside the fabric still happens in its own
 * time. Frames from kernel hosts are stamped at the start of the window that takes them in.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/stall_timer.h"
#include "common/units.h"

/* The shortest window in real time: a window costs microseconds, however little is in it. */
#define PACER_WINDOW_MIN_PS (20 * PS_PER_US)
/* Without work, the loop looks for frames from kernel hosts this often; the bound of its wake-up latency. */
#define PACER_NAP_NS 50000

/* Source of time; tests provide their own. */
struct pacer_clock {
	uint64_t (*now_ns)(void);
	uint64_t (*sleep_until_ns)(uint64_t until_ns);
};

struct pacer {
	struct pacer_clock clock;
	uint64_t zero_ns;           /* the clock at time 0 of the run; may be ahead */
	uint64_t window_ps;         /* of the fabric */
	bool busy;                  /* spins instead of sleeping: for CPUs of its own */
	bool (*pending)(void *ctx); /* a frame from a kernel host waits; NULL: there are no kernel hosts */
	void *ctx;
	/* the last window */
	uint64_t opened_ns, opened_ps;
	bool opened_late;
	struct stall_timer lived; /* since the first window, but for times in which this process was stopped */
	/* results */
	uint64_t windows, late_windows;
	uint64_t worst_late_ps; /* how long after its end a window was opened, at most */
	uint64_t behind_ns;     /* in which a window was due and not yet opened, its own length after its start */
	uint64_t latest_ps;     /* as worst_late_ps, since the last read set it to 0 */
	uint64_t slept_ns;
	uint64_t late_work_ns, late_covered_ps; /* in windows opened late: the machine's time for the run's */
};

/* The machine's own clock, to be changed after init by tests only. @param zero_ns  clock_now_ns() at time 0 of the run */
void pacer_init(struct pacer *pacer, uint64_t zero_ns, uint64_t window_ps, bool busy);

/* struct fabric_hooks.pace. @param ctx  the pacer */
uint64_t pacer_wait(void *ctx, uint64_t earliest_ps, uint64_t start_ps);

/* struct fabric_hooks.lived_ps. @param ctx  the pacer */
uint64_t pacer_lived_ps(void *ctx);

/*
 * @return by how much the links' rates should be scaled so that the machine keeps up, a share below 1; 1 where it did:
 *         at most a twentieth of all windows were late, or they were late because the machine was away, not slow
 */
double pacer_scale(const struct pacer *pacer);
