/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state machine of one rank of one collective, inside the step engine: rank.c is the machine, payload.c the
 * contents of its messages. engine.c owns the engine, calls both for events of the device, and is called when a rank is
 * ready. Each chain has at most one step in flight: a chain's next step starts when the one in front of it is complete
 * (its last ACK is in, or it has been computed) and all its dependencies on other chains are complete. An iteration is
 * complete when all steps are and all messages received; the next one starts when the rank has completed its share of
 * all collectives of the job, a gap later, without a barrier. That is safe with two vectors a rank, used in turn,
 * because a message of iteration i + 2 waits for a rank whose end of iteration i + 1 depends on the receiver's start of
 * it (collectives/schedule.h). The receiver had then completed iteration i, checked that vector and filled it for i + 2
 * before. Messages are at most one iteration early, for the same reason.
 */
#pragma once

#include <stdint.h>

#include "rxe-hosts/steps/done.h"
#include "rxe-hosts/steps/engine.h"
#include "rxe-hosts/steps/messages.h"

/* Wake-ups: a heap by time, then by rank and chain. Never grows after its start. */

struct wake {
	uint64_t time_ps;
	uint32_t slot, chain; /* of a host's ranks, and of that one's chains */
};

struct wakes {
	struct wake *heap; /* [cap] */
	uint32_t count, cap;
};

/* @return 0 or -ENOMEM */
int wakes_init(struct wakes *wakes, uint32_t cap);
void wakes_fini(struct wakes *wakes);

/* @return the earliest time, TIME_NEVER: none waits */
uint64_t wakes_next_ps(const struct wakes *wakes);
/* There is room: every (slot, chain) is there once at most. */
void wakes_add(struct wakes *wakes, struct wake wake);
/* Takes the earliest out. There is one. */
struct wake wakes_take(struct wakes *wakes);

#define RANK_BEGINS UINT32_MAX /* in place of a chain: the iteration is to begin */

enum rank_state {
	RANK_IDLE, /* waits for its turn to begin an iteration */
	RANK_RUNNING,
	RANK_DONE,
};

enum chain_state {
	CHAIN_WAITING,   /* between two steps, before the first or behind the last */
	CHAIN_DELAYED,   /* could start a step, but a fault holds it back */
	CHAIN_COMPUTING, /* a local step */
	CHAIN_SENDING,
	CHAIN_FAILED,
};

struct iteration_result {
	uint64_t start_ps, end_ps;
	uint64_t wrong;
	bool started, complete;
};

struct step_chain {
	enum chain_state state;
	bool queued;                /* is to be checked */
	struct step_ref waited_for; /* latest dependency of the step in flight or delayed */
	uint64_t own_ps;            /* when the step in front was complete, or the iteration began */
	uint64_t start_ps;          /* of the step in flight */
	struct wc failure;          /* CHAIN_FAILED: how its message ended; zero: it was not even posted */
};

/* The message that is expected next from a data flow to a rank; a flow's messages arrive in order. */
struct step_inflow {
	uint32_t iteration, step;
};

struct step_rank {
	struct monitor monitor;
	enum rank_state state;
	bool queued; /* is to begin */
	uint32_t collective, rank;
	uint32_t slot;       /* among the ranks of its host */
	uint32_t first_slot; /* the agent's, of its first chain */
	uint32_t turn;       /* in engine->turns */
	uint32_t before;     /* collectives of its job that it has to complete yet before it begins this iteration */
	struct step_ref begun_by;
	uint32_t iteration;
	uint32_t complete;                   /* steps of this iteration */
	uint32_t received, received_early;   /* messages of this and of the next iteration */
	struct step_chain *chains;           /* [of the rank] */
	uint32_t *flying;                    /* [nout] the agent's slot of the chain whose step each data flow carries */
	struct step_inflow *in;              /* [nin] */
	struct iteration_result *iterations; /* [of the collective] */
};

/* The order of a job's collectives at one of its ranks. */
struct step_turn {
	uint32_t job, rank;
	uint32_t members, open; /* collectives, and those that are not complete in this iteration */
};

/* A chain of a rank that may start a step, or (RANK_BEGINS) a rank that may begin. */
struct step_ready {
	uint32_t slot, chain;
};

struct step_engine {
	struct device_client client;
	struct device *device;
	const struct plan *plan;
	struct step_engine_config config;
	struct agent agent;
	struct step_rank *ranks;        /* [nranks] by slot */
	struct step_turn *turns;        /* [nturns] */
	struct background *backgrounds; /* [nbackgrounds] by slot */
	uint32_t nranks, nturns, nbackgrounds;
	uint32_t nslots;          /* chains of all ranks */
	uint32_t sending;         /* steps in flight on the network */
	uint32_t failed, undone;  /* chains; ranks */
	struct step_ready *ready; /* [ready_cap] a ring: the chains that step_engine_settle() checks */
	uint32_t ready_head, ready_len, ready_cap;
	struct wakes wakes;
	struct messages messages;
	uint8_t *region; /* NULL: synthetic payload */
	uint64_t region_bytes;
	struct done_log done; /* with room for every step of the run */
	uint64_t timer_ps;    /* as set in the device */
	uint64_t unexpected;
	struct ledger_audit audit;
	bool closed;
};

static inline const struct plan_collective *
rank_collective(const struct step_engine *engine, const struct step_rank *rank)
{
	return &engine->plan->collectives[rank->collective];
}

static inline uint32_t
rank_chains(const struct step_rank *rank)
{
	return chains_count(rank->monitor.chains, rank->rank);
}

/* The step that a chain has started last. */
static inline uint32_t
rank_current(const struct step_rank *rank, uint32_t chain)
{
	return chains_step(rank->monitor.chains, rank->rank, chain, rank->monitor.queues[chain].ssq);
}

/* Finds the ranks and background flows of this host; their slots are the plan's. @return 0 or -ENOMEM */
int step_engine_place(struct step_engine *engine);
/* A rank has its connections to its peers, or is done with them: notifies the tracer of connections. */
void step_engine_connection(const struct step_engine *engine, const struct step_rank *rank, bool open, uint64_t now_ps);
/* Something may be ready: step_engine_settle() checks it. @param chain  RANK_BEGINS: the rank may begin */
void step_engine_ready(struct step_engine *engine, struct step_rank *rank, uint32_t chain);

/* @return 0 or -ENOMEM */
int step_rank_init(struct step_rank *rank, const struct plan *plan, uint32_t collective, uint32_t index);
void step_rank_fini(struct step_rank *rank);

/* The iteration begins. */
void step_rank_begin(struct step_engine *engine, struct step_rank *rank, uint64_t now_ps);
/* A chain starts its next step if it can. */
void step_rank_try(struct step_engine *engine, struct step_rank *rank, uint32_t chain, uint64_t now_ps);
/* Continues a chain whose wait is over: starts a delayed step, or completes a local one. */
void step_rank_wake(struct step_engine *engine, struct step_rank *rank, uint32_t chain, uint64_t now_ps);
/* A step in flight is complete, or will never be. */
void step_rank_sent(struct step_engine *engine, struct step_rank *rank, const struct wc *wc);
void step_rank_failed(struct step_engine *engine, struct step_rank *rank, const struct wc *wc);
/* A message of a peer is complete and in place. @return false if this rank cannot expect it */
bool step_rank_received(struct step_engine *engine, struct step_rank *rank, const struct wc *wc);

/* Starts a chain's next step, for which all is here: posts it, or begins to compute. */
void step_start(struct step_engine *engine, struct step_rank *rank, uint32_t chain, uint64_t now_ps);
/* The end of the run: reports the steps that are open, if any: in flight, and next ones that wait. */
void step_rank_close(struct step_engine *engine, struct step_rank *rank, uint64_t now_ps);

/* The turns of all ranks, and those that begin by themselves. @return 0 or -ENOMEM */
int turns_init(struct step_engine *engine);

/* Real payload (payload.c): all do nothing when it is synthetic. */
int payload_init(struct step_engine *engine);
/* Puts a rank's contribution to an iteration in its vector. */
void payload_fill(struct step_engine *engine, const struct step_rank *rank, uint32_t iteration);
/* @return wrong elements of the iteration just completed; 0 when not verified */
uint64_t payload_wrong(const struct step_engine *engine, const struct step_rank *rank);
/* Runs a local step within its rank's memory. */
void payload_local(struct step_engine *engine, const struct step_rank *rank, uint32_t step);
/* Offset of an element of a rank's memory in the region of the host where it lives. */
uint64_t payload_offset(const struct plan_collective *c, uint32_t rank, uint32_t iteration, uint64_t elem);
/* struct device_client.place, .extent and .accept */
uint64_t payload_place(void *ctx, uint32_t flow, uint32_t imm);
void payload_extent(void *ctx, uint32_t flow, uint64_t *from, uint64_t *end);
void payload_accept(void *ctx, uint32_t flow, uint32_t imm, uint64_t remote_offset, const void *src, uint32_t bytes);
