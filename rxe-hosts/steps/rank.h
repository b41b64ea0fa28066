/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state machine of one rank, inside the step engine.
 * A step starts when the rank's own previous step is complete at the sender (its last ACK is in) and the data that it
 * sends on has arrived here. An iteration is complete when all steps are sent and all messages received; the next
 * one starts a gap later, without a barrier. That is safe with two vectors a rank, used in turn: in each of the three
 * operations every rank's result depends on a contribution of every other rank, so a peer that has completed
 * iteration i + 1 proves that this rank has started it, hence that it had completed iteration i, checked that vector
 * and filled it for i + 2 before. Messages are at most one iteration early, for the same reason.
 */
#pragma once

#include "rxe-hosts/steps/background.h"
#include "rxe-hosts/steps/engine.h"

enum rank_state {
	RANK_IDLE,    /* waits for the time to start an iteration */
	RANK_WAITING, /* between two steps */
	RANK_DELAYED, /* could start a step, but a fault holds it back */
	RANK_SENDING,
	RANK_RECEIVING, /* all is sent, not all received */
	RANK_DONE,
	RANK_FAILED,
};

struct iteration_result {
	uint64_t start_ps, end_ps; /* end_ps 0: not complete */
	uint64_t wrong;
	bool started;
};

struct step_rank {
	struct monitor monitor;
	enum rank_state state;
	uint32_t collective, rank;
	uint32_t slot;
	uint32_t iteration;
	uint32_t received, received_early;   /* messages of this and of the next iteration */
	struct step_ref waited_for;          /* what the step in flight or delayed waited for */
	uint64_t own_ps;                     /* when the own previous step was complete, or the iteration began */
	uint64_t start_ps;                   /* of the step in flight */
	uint64_t failed_bytes;               /* RANK_FAILED: acknowledged of the step in flight */
	uint32_t failed_retransmits;         /* RANK_FAILED: packets of it that were sent again */
	uint64_t wake_ps;                    /* RANK_IDLE, RANK_DELAYED: when to go on */
	struct iteration_result *iterations; /* [of the collective] */
};

struct step_engine {
	struct device_client client;
	struct device *device;
	const struct plan *plan;
	struct step_engine_config config;
	struct agent agent;
	struct step_rank *ranks;        /* [nranks] by slot */
	struct background *backgrounds; /* [nbackgrounds] by slot */
	uint32_t nranks, nbackgrounds;
	uint8_t *region; /* NULL: synthetic payload */
	uint64_t region_bytes;
	struct step_result *results; /* [results_cap], enough for every step of the run */
	size_t nresults, results_cap;
	uint64_t timer_ps; /* as set in the device */
	uint64_t unexpected;
	bool closed;
};

/* Finds the ranks and background flows of this host; their slots are the plan's. @return 0 or -ENOMEM */
int step_engine_place(struct step_engine *engine);

/* @return 0 or -ENOMEM */
int step_rank_init(struct step_rank *rank, const struct plan *plan, uint32_t collective, uint32_t index);
void step_rank_fini(struct step_rank *rank);

/* wake_ps has come. */
void step_rank_wake(struct step_engine *engine, struct step_rank *rank, uint64_t now_ps);
/* The step in flight is complete, or will never be. */
void step_rank_sent(struct step_engine *engine, struct step_rank *rank, const struct wc *wc);
void step_rank_failed(struct step_engine *engine, struct step_rank *rank, const struct wc *wc);
/* A message of a peer is complete and in place. @return false if this rank cannot expect it */
bool step_rank_received(struct step_engine *engine, struct step_rank *rank, const struct wc *wc);
/* The end of the run: reports the step that is open, if any. */
void step_rank_close(struct step_engine *engine, struct step_rank *rank, uint64_t now_ps);

/* Real payload (payload.c): all do nothing when it is synthetic. */
int payload_init(struct step_engine *engine);
/* Puts a rank's contribution to an iteration in its vector. */
void payload_fill(struct step_engine *engine, const struct step_rank *rank, uint32_t iteration);
/* @return wrong elements of the iteration just completed; 0 when not verified */
uint64_t payload_wrong(const struct step_engine *engine, const struct step_rank *rank);
/* Offset of an element of a rank's memory in the region of the host where it lives. */
uint64_t payload_offset(const struct plan_collective *c, uint32_t rank, uint32_t iteration, uint64_t elem);
/* struct device_client.place and .accept */
uint64_t payload_place(void *ctx, uint32_t flow, uint32_t imm);
void payload_accept(void *ctx, uint32_t flow, uint32_t imm, uint64_t remote_offset, const void *src, uint32_t bytes);
