/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The monitor of one rank (paper III-C1): its Send Step Queue and Receive Step Queue with the index of the active
 * entry in each, and the waiting state that the two indices tell (Table I).
 * SSQ entry s is the target of step s. RSQ entry s is the source of the data that step s + 1 waits for. Where that
 * step waits for nobody, or there is no such step, the entry is empty and is passed over.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collectives/schedule.h"
#include "common/record/buffer.h"
#include "common/wire/ids.h"

#define MONITOR_NONE UINT32_MAX

enum monitor_state {
	MONITOR_NON_WAITING, /* send steps < receive steps: the next step starts when the current one is finished */
	MONITOR_WAITING,     /* send steps == receive steps: the next step waits for the current receive to complete */
};

struct monitor {
	const struct coll_schedule *schedule;
	uint32_t rank;
	uint32_t ssq; /* active entry: the step that was started last; 0 before the first */
	uint32_t
		rsq; /* active entry: the first whose data has not arrived; steps + 1 once all that is waited for is here */
	/*
	 * When the data that step s waits for arrived: [s - 1], of this iteration and of the next. TIME_NEVER: not yet;
	 * 0: the step waits for nobody.
	 */
	uint64_t *arrived_ps, *next_arrived_ps;
};

/* @return 0 or -ENOMEM */
int monitor_init(struct monitor *monitor, const struct coll_schedule *schedule, uint32_t rank);
void monitor_fini(struct monitor *monitor);
/* An earlier step waits for the same data, so this one need not. Before anything has arrived. */
void monitor_exempt(struct monitor *monitor, uint32_t step);

/* Target rank of a step, and source rank of the data that the step behind it waits for (MONITOR_NONE: none). */
uint32_t monitor_ssq_target(const struct monitor *monitor, uint32_t entry);
uint32_t monitor_rsq_source(const struct monitor *monitor, uint32_t entry);

/*
 * The data that a step waits for has arrived, perhaps long before that step's turn.
 * @param step  the waiting step
 * @param next  it belongs to the next iteration
 * @param now_ps  > 0
 * @return false if it is not waited for, or had arrived before: a protocol error of the sender
 */
bool monitor_arrived(struct monitor *monitor, uint32_t step, bool next, uint64_t now_ps);

/* The step that would start next. @return 1..steps, or 0 when all have been started */
uint32_t monitor_next_step(const struct monitor *monitor);
/* Whether the data that the next step waits for is here; false when there is no next step. */
bool monitor_next_ready(const struct monitor *monitor);
/* The next step starts. */
void monitor_started(struct monitor *monitor);

/*
 * Whom the next step's start waited for.
 * @param own_ps  when the rank's own previous step was complete
 * @return rank, or MONITOR_NONE when the own previous step was the later of the two, or equal
 */
uint32_t monitor_waited_for(const struct monitor *monitor, uint64_t own_ps);

/* Table I. */
enum monitor_state monitor_state(const struct monitor *monitor);
/* Rank that the next step waits for now, MONITOR_NONE when not waiting. */
uint32_t monitor_waits_for(const struct monitor *monitor);

/* All steps of this iteration are done: what arrived early becomes current. */
void monitor_next_iteration(struct monitor *monitor);

/* A step of the iteration. */
struct step_ref {
	uint32_t collective, rank, step; /* step 0: none, the others REC_NONE */
};

/* What a host reports of a step (III-C1); see struct rec_step. */
struct step_result {
	uint32_t collective, iteration, rank, step;
	uint32_t flow;
	struct step_ref waited_for; /* what its start waited for: the last to be met of all that it depends on */
	uint64_t bytes, acked_bytes;
	uint64_t start_ps, end_ps;
	uint32_t retransmits;
	bool open;
};

/* Reports a finished (or, at the end of the run, an open) step to the analyzer. */
void monitor_report(struct recbuf *records, const struct step_result *result, uint64_t now_ps);
