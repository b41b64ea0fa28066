/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The monitor of one rank (paper III-C1): for each of its chains (chains.h) a Send Step Queue and a Receive Step Queue
 * with the index of the active entry in each, and the waiting state that follows from the two indices (Table I).
 *
 * SSQ entry s is the target of the chain's step s. RSQ entry s is the set of dependencies of step s + 1 on other
 * chains: messages of other ranks, and own steps of other chains. An empty set is passed over, and so is the one behind
 * the last step.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collectives/chains.h"
#include "common/record/buffer.h"
#include "common/send_times.h"
#include "common/units.h"
#include "common/wire/layout.h"
#include "common/wire/record_steps.h"

enum monitor_state {
	MONITOR_NON_WAITING, /* send steps < receive steps: the next step starts when the current one is finished */
	MONITOR_WAITING,     /* send steps == receive steps: the next step waits for the current receive to complete */
};

struct monitor_chain {
	uint32_t ssq; /* active entry: the step that was started last; 0 before the first */
	uint32_t rsq; /* active entry: the first of which something is missing; the chain's length + 1: nothing is */
};

/* A step of which some dependency on another chain is complete, and that has not started. */
struct monitor_entry {
	uint32_t step;            /* 0: the slot is free */
	uint32_t missing;         /* dependencies on other chains */
	uint32_t dependency;      /* chains_await() of it: the latest that is complete */
	uint64_t dependencies_ps; /* when that was */
};

/* The steps of an iteration: a hash table, since a rank has thousands of steps and few that are in it at a time. */
struct monitor_entries {
	struct monitor_entry *slots; /* [cap] a step has that of its number, or one behind it and no free one */
	uint32_t count, cap;         /* cap: a power of two */
	uint8_t *here;               /* a bit a dependency of the rank's steps: which of them are complete */
};

struct monitor {
	const struct chains *chains;
	uint32_t rank;
	uint32_t *first_await;          /* [steps + 1] of each of the rank's steps, in monitor_entries.here */
	struct monitor_chain *queues;   /* [chains of the rank] */
	struct monitor_entries entries; /* of this iteration */
	struct monitor_entries next;    /* without slots until something of it arrives */
};

/* @return 0 or -ENOMEM */
int monitor_init(struct monitor *monitor, const struct chains *chains, uint32_t rank);
void monitor_fini(struct monitor *monitor);

/* Target rank of a chain's step. */
uint32_t monitor_ssq_target(const struct monitor *monitor, uint32_t chain, uint32_t entry);
/*
 * The dependencies of the step behind an entry, by chains_await().
 * @param step  out; 0: there is no such step
 * @return their number
 */
uint32_t monitor_rsq_set(const struct monitor *monitor, uint32_t chain, uint32_t entry, uint32_t *step);

/*
 * A dependency of a step on another chain is complete, perhaps long before that step's turn.
 * @param step  the waiting step
 * @param on    the dependency: the step has it, once an iteration
 * @param next  of the next iteration
 */
void monitor_dependency_done(struct monitor *monitor, uint32_t step, struct coll_dep on, bool next, uint64_t now_ps);

/* The chain's step that would start next. @return as the rank counts, or 0 when all have been started */
uint32_t monitor_next_step(const struct monitor *monitor, uint32_t chain);
/* @return whether all dependencies of the next step on other chains are complete; false if there is no next step */
bool monitor_next_ready(const struct monitor *monitor, uint32_t chain);
/* Moves on to the next step, which starts. */
void monitor_started(struct monitor *monitor, uint32_t chain);

/*
 * The latest dependency of the next step's start.
 * @param own_ps  when the step in front of it in the chain was complete, or the iteration began
 * @return that step when it was not earlier than all dependencies on other chains; rank COLL_NONE: nothing
 */
struct coll_dep monitor_waited_for(const struct monitor *monitor, uint32_t chain, uint64_t own_ps);

/* Table I. */
enum monitor_state monitor_state(const struct monitor *monitor, uint32_t chain);
/* @return the first incomplete dependency of the next step; rank COLL_NONE when not waiting */
struct coll_dep monitor_waits_for(const struct monitor *monitor, uint32_t chain);

/* All steps of this iteration are done: early arrivals become current. */
void monitor_next_iteration(struct monitor *monitor);

/* A step of the iteration. */
struct step_ref {
	uint32_t collective, rank, step; /* step 0: none, the others REC_NONE */
};

/* A host's report of a step (III-C1); see struct rec_step. */
struct step_result {
	uint32_t collective, iteration, rank, step;
	uint32_t flow;              /* UINT32_MAX: a local step */
	struct step_ref waited_for; /* latest completed dependency of its start */
	uint64_t bytes, acked_bytes;
	uint64_t start_ps, end_ps;
	uint32_t retransmits;
	enum rec_step_state state;
};

/* Reports a finished (or, at the end of the run, an open) step to the analyzer, and where its sender's time went. */
void monitor_report(struct recbuf *records, const struct step_result *result, const struct send_times *times,
		    uint64_t now_ps);

/* Ledgers against the times of their steps. */
struct ledger_audit {
	uint64_t steps, wrong; /* with a ledger; with one that is not their time */
	struct step_result worst;
	uint64_t worst_ps; /* by how much it is not */
};

/*
 * A ledger adds up to its step's time within a part in LEDGER_PART of it, or LEDGER_LEAST_PS. Without any entry it is
 * not known, and not counted.
 * @param until_ps  up to when it accounts for the step
 */
#define LEDGER_PART 1000
#define LEDGER_LEAST_PS PS_PER_US
void monitor_audit(struct ledger_audit *audit, const struct step_result *result, const struct send_times *times,
		   uint64_t until_ps);
