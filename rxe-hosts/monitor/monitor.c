/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/monitor/monitor.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "common/units.h"
#include "common/wire/record.h"

static uint32_t steps_of(const struct monitor *monitor);
static void advance_rsq(struct monitor *monitor);

int
monitor_init(struct monitor *monitor, const struct coll_schedule *schedule, uint32_t rank)
{
	uint32_t steps = coll_steps(schedule, rank);

	*monitor = (struct monitor){ .schedule = schedule, .rank = rank };
	monitor->arrived_ps = calloc(steps, sizeof(*monitor->arrived_ps));
	monitor->next_arrived_ps = calloc(steps, sizeof(*monitor->next_arrived_ps));
	if (monitor->arrived_ps == NULL || monitor->next_arrived_ps == NULL) {
		monitor_fini(monitor);
		return -ENOMEM;
	}
	for (uint32_t step = 1; step <= steps; step++)
		if (coll_step_arrival(schedule, rank, step).rank != COLL_NONE) {
			monitor->arrived_ps[step - 1] = TIME_NEVER;
			monitor->next_arrived_ps[step - 1] = TIME_NEVER;
		}
	advance_rsq(monitor);
	return 0;
}

void
monitor_fini(struct monitor *monitor)
{
	free(monitor->arrived_ps);
	free(monitor->next_arrived_ps);
	monitor->arrived_ps = NULL;
	monitor->next_arrived_ps = NULL;
}

void
monitor_exempt(struct monitor *monitor, uint32_t step)
{
	monitor->arrived_ps[step - 1] = 0;
	monitor->next_arrived_ps[step - 1] = 0;
	advance_rsq(monitor);
}

uint32_t
monitor_ssq_target(const struct monitor *monitor, uint32_t entry)
{
	assert(entry >= 1 && entry <= steps_of(monitor));
	return coll_step_at(monitor->schedule, monitor->rank, entry)->peer;
}

uint32_t
monitor_rsq_source(const struct monitor *monitor, uint32_t entry)
{
	if (entry >= steps_of(monitor) || monitor->arrived_ps[entry] == 0)
		return MONITOR_NONE;
	return coll_step_arrival(monitor->schedule, monitor->rank, entry + 1).rank;
}

bool
monitor_arrived(struct monitor *monitor, uint32_t step, bool next, uint64_t now_ps)
{
	uint64_t *at = &(next ? monitor->next_arrived_ps : monitor->arrived_ps)[step - 1];

	assert(step >= 1 && step <= steps_of(monitor) && now_ps > 0);
	if (*at != TIME_NEVER)
		return false;
	*at = now_ps;
	if (!next)
		advance_rsq(monitor);
	return true;
}

uint32_t
monitor_next_step(const struct monitor *monitor)
{
	return monitor->ssq < steps_of(monitor) ? monitor->ssq + 1 : 0;
}

bool
monitor_next_ready(const struct monitor *monitor)
{
	return monitor->ssq < steps_of(monitor) && monitor_state(monitor) == MONITOR_NON_WAITING;
}

void
monitor_started(struct monitor *monitor)
{
	assert(monitor_next_ready(monitor));
	monitor->ssq++;
}

uint32_t
monitor_waited_for(const struct monitor *monitor, uint64_t own_ps)
{
	uint64_t arrived_ps;

	assert(monitor_next_ready(monitor));
	arrived_ps = monitor->arrived_ps[monitor->ssq];
	return arrived_ps > own_ps ? monitor_rsq_source(monitor, monitor->ssq) : MONITOR_NONE;
}

enum monitor_state
monitor_state(const struct monitor *monitor)
{
	return monitor->ssq == monitor->rsq ? MONITOR_WAITING : MONITOR_NON_WAITING;
}

uint32_t
monitor_waits_for(const struct monitor *monitor)
{
	return monitor_state(monitor) == MONITOR_WAITING ? monitor_rsq_source(monitor, monitor->rsq) : MONITOR_NONE;
}

void
monitor_next_iteration(struct monitor *monitor)
{
	uint64_t *done_ps = monitor->arrived_ps;

	assert(monitor->ssq == steps_of(monitor));
	monitor->arrived_ps = monitor->next_arrived_ps;
	monitor->next_arrived_ps = done_ps;
	for (uint32_t i = 0; i < steps_of(monitor); i++)
		if (done_ps[i] != 0)
			done_ps[i] = TIME_NEVER;
	monitor->ssq = 0;
	monitor->rsq = 0;
	advance_rsq(monitor);
}

void
monitor_report(struct recbuf *records, const struct step_result *result, uint64_t now_ps)
{
	struct rec_step rec = {
		.collective = result->collective,
		.iteration = result->iteration,
		.step = result->step,
		.rank = result->rank,
		.waited_collective = result->waited_for.collective,
		.waited_rank = result->waited_for.rank,
		.waited_step = result->waited_for.step,
		.bytes = result->bytes,
		.acked_bytes = result->acked_bytes,
		.start_ps = result->start_ps,
		.end_ps = result->end_ps,
		.open = result->open,
		.retransmits = result->retransmits,
	};

	recbuf_put(records, &rec, REC_STEP, sizeof(rec), now_ps);
}

static uint32_t
steps_of(const struct monitor *monitor)
{
	return coll_steps(monitor->schedule, monitor->rank);
}

/* Passes over entries whose data is here, and empty ones; the entry behind the last step is always empty. */
static void
advance_rsq(struct monitor *monitor)
{
	uint32_t steps = steps_of(monitor);

	while (monitor->rsq <= steps && (monitor->rsq == steps || monitor->arrived_ps[monitor->rsq] != TIME_NEVER))
		monitor->rsq++;
}
