/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages of generators at their sending host. Each is posted when it comes, or when the one before it on its
 * connection is complete; a connection begins each at line rate, as a fresh queue pair would. Where they are judged, each
 * is a step to agent and reports, and a connection a chain of steps.
 */
#pragma once

#include "rxe-hosts/steps/judged.h"

struct message {
	uint64_t begin_ps; /* when it was posted; valid if begun */
	uint64_t end_ps;   /* of its last ACK; 0: not complete */
	uint32_t retransmits;
	bool begun;
};

struct connection {
	uint32_t at; /* message in flight, or the next one; PLAN_NONE: none left */
	bool sending, failed;
};

struct messages {
	const struct plan *plan;
	struct agent *agent;            /* NULL: nobody watches */
	uint32_t first_slot;            /* the agent's, of the first connection */
	uint32_t first, count;          /* of the plan's, those of this host */
	uint32_t due;                   /* how many of them have come */
	uint32_t left;                  /* not complete, on connections that have not failed */
	uint32_t sending;               /* in flight */
	struct message *states;         /* [count] */
	struct connection *connections; /* [nconnections] */
	uint32_t nconnections;
};

/* @return 0 or -ENOMEM */
int messages_init(struct messages *messages, const struct plan *plan, uint32_t node);
void messages_fini(struct messages *messages);
/*
 * They are judged: an agent watches them.
 * @param first_slot  its first one of nconnections
 */
void messages_watch(struct messages *messages, struct agent *agent, uint32_t first_slot);

/* @return when the next one comes; TIME_NEVER */
uint64_t messages_next_ps(const struct messages *messages);
/* Posts those that have come. */
void messages_wake(struct messages *messages, struct device *device, uint64_t now_ps);
/* A connection's message is complete. */
void messages_sent(struct messages *messages, struct device *device, const struct wc *wc);
/* A connection is in error: neither this message nor those behind it will ever be complete. */
void messages_failed(struct messages *messages, const struct wc *wc);
/* An ACK of the message in flight gave a sample. */
void messages_rtt(struct messages *messages, uint32_t flow, uint64_t rtt_ps, uint64_t now_ps);
/* The end of the run: reports those that have come and are not complete. */
void messages_close(struct messages *messages, struct device *device, uint64_t now_ps);
