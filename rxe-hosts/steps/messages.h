/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages of generators at their sending host. Each is posted at its arrival time, or when the previous one on its
 * connection is complete; a connection begins each at line rate, as a fresh queue pair would. Where they are judged,
 * each is a step to agent and reports, and a connection a chain of steps.
 */
#pragma once

#include "rxe-hosts/agent/agent.h"
#include "rxe-hosts/device/device.h"
#include "rxe-hosts/monitor/monitor.h"
#include "workload/plan.h"

/*
 * A flow that no collective sends, where it is judged: a step to its host's agent and in reports, which depends on nothing.
 * Its queue pair is a chain of such steps.
 */

/* The agent that watches, and its slots in use. agent NULL: none. */
struct judge {
	const struct plan *plan;
	struct agent *agent;
	struct ledger_audit *audit;
	uint32_t slot;
};

static inline void
judged_rtt(const struct judge *judge, uint64_t rtt_ps, uint64_t now_ps)
{
	if (judge->agent != NULL)
		agent_rtt(judge->agent, judge->slot, rtt_ps, now_ps);
}

/* A background flow at its source host: posts a message at its start time, or keeps as many open as its depth. */

struct background {
	const struct plan_background *plan;
	uint64_t wake_ps;          /* when to post; TIME_NEVER */
	uint64_t start_ps;         /* of the first message; valid if started */
	uint64_t end_ps;           /* of the last complete message */
	uint64_t posted, messages; /* those posted; those complete */
	uint64_t acked_bytes;      /* of messages that failed, or were open at the close */
	uint64_t retransmits;
	struct wc failure; /* valid if failed, of what was posted */
	bool started, failed;
	struct judge judge; /* agent NULL: it is not judged */
};

void background_init(struct background *background, const struct plan_background *plan);
void background_wake(struct background *background, struct device *device, uint64_t now_ps);
void background_sent(struct background *background, struct device *device, const struct wc *wc);
void background_failed(struct background *background, const struct wc *wc);
/* The end of the run: bytes of the open message that are acknowledged. */
void background_close(struct background *background, struct device *device, uint64_t now_ps);
static inline bool
background_sending(const struct background *background)
{
	return !background->failed && background->posted != background->messages;
}

/* @return whether the flow has anything left to send */
bool background_open(const struct background *background);

struct message {
	uint64_t begin_ps; /* when it was posted; valid if begun */
	uint64_t end_ps;   /* of its last ACK; 0: not complete */
	uint32_t retransmits;
	bool begun;
};

struct connection {
	uint32_t at; /* message in flight, or the next one; PLAN_NONE: none left */
	bool sending, failed;
	uint64_t acked_bytes; /* of the message at "at", which failed or was open at the close */
	struct wc failure;    /* of that message, if failed; zero: it was not even posted */
};

struct messages {
	const struct plan *plan;
	struct agent *agent; /* NULL: not watched */
	struct ledger_audit *audit;
	uint32_t first_slot;            /* the agent's, of the first connection */
	uint32_t first, count;          /* of the plan's, those of this host */
	uint32_t due;                   /* number of them whose arrival time has passed */
	uint32_t left;                  /* not complete, on connections that have not failed */
	uint32_t sending;               /* in flight */
	struct message *states;         /* [count] */
	struct connection *connections; /* [nconnections] */
	uint32_t nconnections;
};

/* @return 0 or -ENOMEM */
int messages_init(struct messages *messages, const struct plan *plan, uint32_t node);
void messages_fini(struct messages *messages);
/* Has an agent watch the messages: they are judged. @param first_slot  its first one of nconnections */
void messages_watch(struct messages *messages, struct agent *agent, struct ledger_audit *audit, uint32_t first_slot);

/* @return arrival time of the next one; TIME_NEVER */
uint64_t messages_next_ps(const struct messages *messages);
/* Posts those whose arrival time has passed. */
void messages_wake(struct messages *messages, struct device *device, uint64_t now_ps);
/* A connection's message is complete. */
void messages_sent(struct messages *messages, struct device *device, const struct wc *wc);
/* A connection is in error: neither this message nor those behind it will ever be complete. */
void messages_failed(struct messages *messages, const struct wc *wc);
/* An ACK of the message in flight gave a sample. */
void messages_rtt(struct messages *messages, uint32_t flow, uint64_t rtt_ps, uint64_t now_ps);
/* The end of the run: reports those that have arrived and are not complete. */
void messages_close(struct messages *messages, struct device *device, uint64_t now_ps);
