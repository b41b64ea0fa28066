/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The management sockets of devices: DIR/NAME.manage, a unix stream socket each, over which many tools may ask at a
 * time (common/wire/switch_manage.h). Nothing here waits for a peer: one that does not take its replies, or keeps half
 * a request, loses its connection, and it is counted.
 *
 * The sockets stand for a management network with a round trip of its own: a reply can be read that long after its
 * request was sent, and a greeting a number of round trips after the connection was begun, of which two are TCP's and a
 * server that speaks first; SSH takes more.
 */
#pragma once

#include "common/err.h"
#include "dpswitch/control/switch_answer.h"

#define SWITCH_SOCKETS_SUFFIX ".manage"
#define SWITCH_SOCKETS_MAX_PEERS 4096u
#define SWITCH_SOCKETS_MAX_WAITING 64u          /* replies in flight to a peer; no more is read from it meanwhile */
#define SWITCH_SOCKETS_TIMEOUT_NS 5000000000ULL /* for the rest of a request, for a reply to be taken */

struct switch_sockets_config {
	const char *dir;
	const struct answer_device *devices; /* [ndevices] in use until switch_sockets_destroy() */
	uint32_t ndevices;
	uint64_t rtt_ns;
	uint32_t greeting_rtts;
	uint64_t idle_limit_ns; /* 0: SWITCH_SOCKETS_TIMEOUT_NS */
};

struct switch_sockets_counts {
	uint64_t peers, requests, refused; /* refused: requests with reply REFUSED */
	uint64_t turned_away;              /* peers beyond SWITCH_SOCKETS_MAX_PEERS */
	uint64_t gave_up;                  /* connections that took too long, or broke off in a request */
	uint64_t malformed;                /* closed for bytes that are no request */
	uint64_t in_bytes, out_bytes;
};

struct switch_sockets;

/* @return NULL with err and errno set: a path too long, no more descriptors, the system's errno */
struct switch_sockets *switch_sockets_create(const struct switch_sockets_config *config, struct err *err);
/* Closes connections, and removes the sockets. Also for NULL. */
void switch_sockets_destroy(struct switch_sockets *sockets);

/*
 * Receives requests, and answers those that are due.
 * @param wait_ns  how long to wait for work; 0: not at all
 */
void switch_sockets_serve(struct switch_sockets *sockets, uint64_t wait_ns);
/*
 * switch_sockets_serve() for callers with other work: does not wait, and answers requests for turn_ns of the machine's
 * clock, but at least one. The next turn begins behind the peer that was answered last, so that none starves.
 */
void switch_sockets_turn(struct switch_sockets *sockets, uint64_t turn_ns);

const struct switch_sockets_counts *switch_sockets_counts(const struct switch_sockets *sockets);
