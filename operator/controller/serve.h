/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The controller on a stream socket: one request of an agent at a time, its reply, then the next. An agent that sends
 * half a request, or does not read its reply, loses its connection. So does a silent one, at no cost: it connects again
 * for its next request.
 */
#pragma once

#include <signal.h>

#include "common/err.h"
#include "operator/controller/controller.h"

#define SERVE_MAX_PEERS 256
#define SERVE_TIMEOUT_MS 10000 /* for the rest of a request, for a reply to be taken, for the next request */

struct serve_config {
	struct controller *controller;
	int listener;             /* listening socket; the caller closes it */
	uint64_t (*now_ps)(void); /* since the protocol began */
	uint32_t idle_limit_ms;   /* SERVE_TIMEOUT_MS */
	const sigset_t *waiting;  /* signals that are let through while it waits, of those that are held; NULL: none */
	int (*is_over)(void);     /* polled after each wait: not 0 ends it */
};

/* What it did. */
struct serve_counts {
	uint64_t peers, requests, refused; /* refused: requests with reply REFUSED */
	uint64_t turned_away;              /* peers beyond SERVE_MAX_PEERS */
	uint64_t gave_up;                  /* connections that took too long, or broke off in a request */
	uint64_t malformed;                /* that sent an invalid request */
};

/* Serves until it is over. @return 0, or negative errno with err: the socket is of no use any more */
int serve(const struct serve_config *config, struct serve_counts *counts, struct err *err);
