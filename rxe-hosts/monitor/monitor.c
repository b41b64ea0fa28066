/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/monitor/monitor.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/minmax.h"
#include "common/units.h"
#include "common/wire/record.h"

static const struct coll_dep none = { COLL_NONE, 0 };

static void advance_rsq(struct monitor *monitor, uint32_t chain);

#define FIRST_SLOTS 8

/* Bytes of an array with one bit per dependency. */
static size_t
here_bytes(const struct monitor *monitor)
{
	return monitor->first_await[coll_steps(monitor->chains->schedule, monitor->rank)] / 8 + 1;
}

/* Allocates the entries of an iteration before its first arrival. @return whether there is memory */
static bool
make_entries(const struct monitor *monitor, struct monitor_entries *entries)
{
	entries->cap = FIRST_SLOTS;
	entries->slots = calloc(entries->cap, sizeof(*entries->slots));
	entries->here = calloc(here_bytes(monitor), 1);
	return entries->slots != NULL && entries->here != NULL;
}

static void
free_entries(struct monitor_entries *entries)
{
	free(entries->slots);
	free(entries->here);
}

/* Prepares for the first arrival of the next iteration. Ends the program when out of memory. */
static void
make_next(struct monitor *monitor)
{
	if (monitor->next.slots == NULL && !make_entries(monitor, &monitor->next))
		log_fatal("out of memory for the steps of rank %u's next iteration", monitor->rank);
}

/* @return the slot of a step, or the free one where it is to be */
static struct monitor_entry *
slot_of(const struct monitor_entries *entries, uint32_t step)
{
	uint32_t at = step & (entries->cap - 1);

	while (entries->slots[at].step != 0 && entries->slots[at].step != step)
		at = (at + 1) & (entries->cap - 1);
	return &entries->slots[at];
}

static void
grow_entries(struct monitor_entries *entries)
{
	struct monitor_entries more = { .cap = 2 * entries->cap, .count = entries->count, .here = entries->here };

	more.slots = calloc(more.cap, sizeof(*more.slots));
	if (more.slots == NULL)
		log_fatal("out of memory for %u steps that wait", more.cap);
	for (uint32_t i = 0; i < entries->cap; i++)
		if (entries->slots[i].step != 0)
			*slot_of(&more, entries->slots[i].step) = entries->slots[i];
	free(entries->slots);
	*entries = more;
}

/* A step has started: nothing asks for it in this iteration any more. Those behind it move up where they are found. */
static void
remove_entry(struct monitor_entries *entries, uint32_t step)
{
	uint32_t mask = entries->cap - 1, hole = (uint32_t)(slot_of(entries, step) - entries->slots);

	if (entries->slots[hole].step == 0)
		return;
	entries->count--;
	for (uint32_t at = (hole + 1) & mask; entries->slots[at].step != 0; at = (at + 1) & mask)
		if (((at - entries->slots[at].step) & mask) >= ((at - hole) & mask)) {
			entries->slots[hole] = entries->slots[at];
			hole = at;
		}
	entries->slots[hole].step = 0;
}

/* @return [steps + 1] the sum of the dependencies of the rank's steps before each; NULL: no memory */
static uint32_t *
count_awaits(const struct chains *chains, uint32_t rank)
{
	uint32_t steps = coll_steps(chains->schedule, rank), *first = calloc(steps + 1u, sizeof(*first));

	for (uint32_t step = 1; step <= steps && first != NULL; step++)
		first[step] = first[step - 1] + chains_awaits(chains, rank, step);
	return first;
}

int
monitor_init(struct monitor *monitor, const struct chains *chains, uint32_t rank)
{
	uint32_t count = chains_count(chains, rank);

	*monitor = (struct monitor){ .chains = chains, .rank = rank, .first_await = count_awaits(chains, rank) };
	monitor->queues = calloc(count + 1u, sizeof(*monitor->queues));
	if (monitor->first_await == NULL || monitor->queues == NULL || !make_entries(monitor, &monitor->entries)) {
		monitor_fini(monitor);
		return -ENOMEM;
	}
	for (uint32_t c = 0; c < count; c++)
		advance_rsq(monitor, c);
	return 0;
}

void
monitor_fini(struct monitor *monitor)
{
	free(monitor->first_await);
	free(monitor->queues);
	free_entries(&monitor->entries);
	free_entries(&monitor->next);
	*monitor = (struct monitor){ 0 };
}

static uint32_t
length_of(const struct monitor *monitor, uint32_t chain)
{
	return chains_length(monitor->chains, monitor->rank, chain);
}

static uint32_t
step_of(const struct monitor *monitor, uint32_t chain, uint32_t entry)
{
	return chains_step(monitor->chains, monitor->rank, chain, entry);
}

uint32_t
monitor_ssq_target(const struct monitor *monitor, uint32_t chain, uint32_t entry)
{
	assert(entry >= 1 && entry <= length_of(monitor, chain));
	return coll_step_get(monitor->chains->schedule, monitor->rank, step_of(monitor, chain, entry)).peer;
}

uint32_t
monitor_rsq_set(const struct monitor *monitor, uint32_t chain, uint32_t entry, uint32_t *step)
{
	*step = entry < length_of(monitor, chain) ? step_of(monitor, chain, entry + 1) : 0;
	return *step != 0 ? chains_awaits(monitor->chains, monitor->rank, *step) : 0;
}

static bool
is_here(const struct monitor_entries *entries, uint32_t dependency)
{
	return (entries->here[dependency / 8] >> dependency % 8 & 1) != 0;
}

static bool
awaits(const struct monitor *monitor, uint32_t step, uint32_t i, struct coll_dep on)
{
	struct coll_dep dep = chains_await(monitor->chains, monitor->rank, step, i);

	return dep.rank == on.rank && dep.step == on.step;
}

void
monitor_dependency_done(struct monitor *monitor, uint32_t step, struct coll_dep on, bool next, uint64_t now_ps)
{
	uint32_t i = 0, count = chains_awaits(monitor->chains, monitor->rank, step), at;
	struct monitor_entries *entries = next ? &monitor->next : &monitor->entries;
	struct monitor_entry *entry;

	if (next)
		make_next(monitor);
	while (i < count && !awaits(monitor, step, i, on))
		i++;
	at = monitor->first_await[step - 1] + i;
	assert(i < count && !is_here(entries, at));
	entries->here[at / 8] |= (uint8_t)(1 << at % 8);
	if (2 * entries->count >= entries->cap)
		grow_entries(entries);
	entry = slot_of(entries, step);
	if (entry->step == 0) {
		*entry = (struct monitor_entry){ .step = step, .missing = count };
		entries->count++;
	}
	assert(entry->missing > 0);
	entry->missing--;
	entry->dependencies_ps = now_ps;
	entry->dependency = i;
	if (!next)
		advance_rsq(monitor, chains_of(monitor->chains, monitor->rank, step));
}

uint32_t
monitor_next_step(const struct monitor *monitor, uint32_t chain)
{
	uint32_t ssq = monitor->queues[chain].ssq;

	return ssq < length_of(monitor, chain) ? step_of(monitor, chain, ssq + 1) : 0;
}

bool
monitor_next_ready(const struct monitor *monitor, uint32_t chain)
{
	return monitor_next_step(monitor, chain) != 0 && monitor_state(monitor, chain) == MONITOR_NON_WAITING;
}

void
monitor_started(struct monitor *monitor, uint32_t chain)
{
	assert(monitor_next_ready(monitor, chain));
	remove_entry(&monitor->entries, monitor_next_step(monitor, chain));
	monitor->queues[chain].ssq++;
}

struct coll_dep
monitor_waited_for(const struct monitor *monitor, uint32_t chain, uint64_t own_ps)
{
	const struct monitor_entry *entry;
	uint32_t ssq = monitor->queues[chain].ssq;
	uint32_t step;

	assert(monitor_next_ready(monitor, chain));
	entry = slot_of(&monitor->entries, monitor_next_step(monitor, chain));
	if (monitor_rsq_set(monitor, chain, ssq, &step) != 0 && entry->dependencies_ps > own_ps)
		return chains_await(monitor->chains, monitor->rank, step, entry->dependency);
	return ssq != 0 ? (struct coll_dep){ monitor->rank, step_of(monitor, chain, ssq) } : none;
}

enum monitor_state
monitor_state(const struct monitor *monitor, uint32_t chain)
{
	return monitor->queues[chain].ssq == monitor->queues[chain].rsq ? MONITOR_WAITING : MONITOR_NON_WAITING;
}

struct coll_dep
monitor_waits_for(const struct monitor *monitor, uint32_t chain)
{
	uint32_t step, count = monitor_rsq_set(monitor, chain, monitor->queues[chain].rsq, &step);

	if (monitor_state(monitor, chain) == MONITOR_NON_WAITING)
		return none;
	for (uint32_t i = 0; i < count; i++)
		if (!is_here(&monitor->entries, monitor->first_await[step - 1] + i))
			return chains_await(monitor->chains, monitor->rank, step, i);
	return none;
}

void
monitor_next_iteration(struct monitor *monitor)
{
	struct monitor_entries done = monitor->entries;

	make_next(monitor);
	monitor->entries = monitor->next;
	assert(done.count == 0);
	memset(done.here, 0, here_bytes(monitor));
	monitor->next = done;
	for (uint32_t c = 0; c < chains_count(monitor->chains, monitor->rank); c++) {
		assert(monitor_next_step(monitor, c) == 0);
		monitor->queues[c] = (struct monitor_chain){ 0 };
		advance_rsq(monitor, c);
	}
}

static uint32_t
waited_ns(uint64_t waited_ps)
{
	return (uint32_t)min_u64((waited_ps + PS_PER_NS - 1) / PS_PER_NS, UINT32_MAX);
}

/* Sets a member of struct rec_step. */
#define IN_RECORD(id, value, name, member, title, meaning) .member = times->ledger_ps[id],

void
monitor_report(struct recbuf *records, const struct step_result *result, const struct send_times *times, uint64_t now_ps)
{
	struct rec_step rec = { .collective = result->collective,
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
				.open = result->state,
				.retransmits = result->retransmits,
				.rtt_min_ps = times->rtt.min_ps,
				.rtt_mean_ps = rtt_sum_mean_ps(&times->rtt),
				.rtt_samples = times->rtt.count,
				.waited_ns = waited_ns(times->waited_ps),
				.naks = times->naks,
				LEDGER_ROWS(IN_RECORD) };

	recbuf_put(records, &rec, REC_STEP, sizeof(rec), now_ps);
}

void
monitor_audit(struct ledger_audit *audit, const struct step_result *result, const struct send_times *times,
	      uint64_t until_ps)
{
	uint64_t took_ps = until_ps - result->start_ps, sum_ps = 0, off_ps;

	for (uint32_t i = 0; i < LEDGER_ENTRIES; i++)
		sum_ps += times->ledger_ps[i];
	if (sum_ps == 0)
		return;
	off_ps = sum_ps > took_ps ? sum_ps - took_ps : took_ps - sum_ps;
	audit->steps++;
	audit->wrong += off_ps > max_u64(took_ps / LEDGER_PART, LEDGER_LEAST_PS);
	if (off_ps > audit->worst_ps) {
		audit->worst_ps = off_ps;
		audit->worst = *result;
	}
}

/* Dependencies of a step on other chains that are not complete. */
static uint32_t
missing(const struct monitor *monitor, uint32_t step)
{
	const struct monitor_entry *entry = slot_of(&monitor->entries, step);

	return entry->step != 0 ? entry->missing : chains_awaits(monitor->chains, monitor->rank, step);
}

/* Passes over entries of which all is here; the entry behind the last step is always empty. */
static void
advance_rsq(struct monitor *monitor, uint32_t chain)
{
	struct monitor_chain *queue = &monitor->queues[chain];
	uint32_t length = length_of(monitor, chain);

	while (queue->rsq <= length &&
	       (queue->rsq == length || missing(monitor, step_of(monitor, chain, queue->rsq + 1)) == 0))
		queue->rsq++;
}
