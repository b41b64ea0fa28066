/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The step engine of one host: runs the steps of its ranks, and its background flows, over a device, with a monitor
 * for each rank and one detection agent. It is the device's only client.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/manage.h"
#include "rxe-hosts/agent/agent.h"
#include "rxe-hosts/device/device.h"
#include "rxe-hosts/monitor/monitor.h"
#include "rxe-hosts/probe/agent.h"
#include "workload/plan.h"

struct step_engine_config {
	const struct plan *plan;
	uint32_t node; /* this host */
	struct device *device;
	const struct detection_config *detection;
	uint64_t jitter_ps; /* delay of a step that the host's own scheduling may cause; 0: none */
	/* How much later than possible a step starts: faults. NULL: not at all. */
	uint64_t (*start_delay_ps)(const void *ctx, uint32_t node, uint32_t collective, uint32_t step);
	const void *start_ctx;
	struct probe_agent *probes; /* of R-Pingmesh, which has the datagrams; NULL: none */
	bool traced;                /* another module reports the host's connections to it */
};

struct step_engine;

/* @return NULL with err set and errno ENOMEM */
struct step_engine *step_engine_create(const struct step_engine_config *config, struct err *err);
void step_engine_destroy(struct step_engine *engine);

/*
 * Registers memory and client with the device and sets its timer. Call once, before the first window: after its agent
 * has started.
 */
void step_engine_start(struct step_engine *engine);

/* Sets the timer anew: the host's R-Pingmesh agent has got a reply, and is to be woken for it. */
void step_engine_rearm(struct step_engine *engine);

/* Requests the polling of a flow that begins here: as agent_ask(), at the next window's start. */
int step_engine_poll(struct step_engine *engine, uint32_t flow);

enum step_engine_state {
	STEP_ENGINE_WORKING, /* some rank has steps to do */
	STEP_ENGINE_DONE,    /* every iteration of every rank is complete; also: no ranks here */
	STEP_ENGINE_FAILED,  /* a queue pair is in error: its rank will never complete */
};

enum step_engine_state step_engine_state(const struct step_engine *engine);
/*
 * @return whether a background flow of mode "once" or a generator's message is not complete yet, or one of mode
 *         "repeat" will post again
 */
bool step_engine_background_open(const struct step_engine *engine);

/* @return whether a step or a background message is in flight, so that progress is expected */
bool step_engine_sending(const struct step_engine *engine);
/* @return when the next iteration, delayed step or background message begins that only waits for its time; TIME_NEVER */
uint64_t step_engine_next_ps(const struct step_engine *engine);

/* @return events that no correct sender causes; 0 in every sound run */
uint64_t step_engine_unexpected(const struct step_engine *engine);
/* @return the comparison of ledgers with the times of their steps */
const struct ledger_audit *step_engine_audit(const struct step_engine *engine);
const struct agent *step_engine_agent(const struct step_engine *engine);
/* The monitor of one of the host's ranks, for live views. @return NULL if collective has no such rank here */
const struct monitor *step_engine_monitor(const struct step_engine *engine, uint32_t collective, uint32_t rank);

/*
 * The end of the run: reports steps that are still open (struct rec_step, open = 1): those in flight, and the next
 * one of a rank that waits to start it. Background flows get their rows. Call once, after the last window.
 */
void step_engine_close(struct step_engine *engine, uint64_t now_ps);

/* One line of steps.csv. */
struct step_row {
	uint32_t src, dst;        /* nodes */
	uint32_t job, collective; /* REC_NONE: background flow */
	uint32_t iteration, rank, channel;
	uint32_t step; /* 0: background flow */
	uint32_t flow;
	uint32_t retransmits;
	uint64_t bytes, acked_bytes;
	uint64_t start_ps, end_ps;    /* end_ps 0: open */
	uint64_t ideal_ps, expect_ps; /* the same for background flows; over all their messages */
	struct step_ref waited_for;
	enum rec_step_state state;
};

/* Rows in the order of completion; background flows, by their order in the scenario, behind them after the close. */
size_t step_engine_rows(const struct step_engine *engine);
struct step_row step_engine_row(const struct step_engine *engine, size_t index);

/* One line of flows.csv. */
struct flow_row {
	uint32_t flow;
	uint32_t generator; /* REC_NONE: a background flow, over all its messages */
	uint64_t bytes, acked_bytes;
	uint64_t start_ps; /* when it arrived */
	uint64_t begin_ps; /* when its connection was free for it; valid if begun */
	uint64_t end_ps;   /* its last ACK; 0: open */
	uint64_t ideal_ps; /* from begin to end on an idle fabric */
	uint32_t retransmits;
	bool begun;
};

/* Background flows, then generated messages by arrival time. */
size_t step_engine_flows(const struct step_engine *engine);
struct flow_row step_engine_flow(const struct step_engine *engine, size_t index);

/* One iteration of a collective, as nccl-tests shows it. */
struct collective_result {
	uint64_t start_ps; /* of the first rank */
	uint64_t end_ps;   /* of the last rank: all sent, all received */
	uint64_t wrong;    /* elements; 0 too when not verified */
	bool complete;
};

/*
 * Combines the observations of the hosts.
 * @param engines  [count] of all hosts; NULL entries are passed over
 */
struct collective_result step_engines_result(struct step_engine *const *engines, size_t count, uint32_t collective,
					     uint32_t iteration);

/*
 * The step engine of a host that runs elsewhere: holds the reports of its program, so that results read the same
 * (step_engine_rows(), step_engines_result()). It has no device and is never started.
 */

/* @return NULL with err set and errno ENOMEM */
struct step_engine *step_engine_create_remote(const struct plan *plan, uint32_t node, struct err *err);

/* A finished or open step, or a background flow (struct manage_step). @return false: not of this host's plan */
bool step_engine_put_step(struct step_engine *engine, const struct manage_step *step);
/* The result of an iteration of one of the host's ranks. @return false: not of this host's plan */
bool step_engine_put_iteration(struct step_engine *engine, const struct manage_iteration *iteration);
/* When a flow that no collective sends began and ended (step_engine_flow()). @return false: this host has no such flow */
bool step_engine_put_flow(struct step_engine *engine, size_t index, const struct flow_row *row);
void step_engine_put_unexpected(struct step_engine *engine, uint64_t messages);

/* Gets the messages that the functions above take, from an engine that ran here. @param index  below step_engine_rows() */
struct manage_step step_engine_get_step(const struct step_engine *engine, size_t index);
/* Iterations of all ranks of this host. */
size_t step_engine_iterations(const struct step_engine *engine);
struct manage_iteration step_engine_get_iteration(const struct step_engine *engine, size_t index);
