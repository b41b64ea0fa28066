/* SPDX-License-Identifier: BSD-3-Clause */
/* One connection to a management socket: requests as they come in, replies until they are due and taken. It never waits. */
#pragma once

#include "dpswitch/control/switch_sockets.h"

/* Bytes of a reply, and when they may be read. */
struct waiting {
	uint64_t due_ns;
	uint32_t bytes;
};

struct switch_peer {
	int fd;
	uint32_t device;
	uint32_t at;          /* in its owner's list */
	uint32_t events;      /* that epoll looks for */
	uint64_t since_ns;    /* its socket has not taken what is due; 0: it has */
	uint64_t received_ns; /* it last said something */
	uint8_t *in, *out;
	size_t in_used, in_cap, out_used, out_cap;
	struct waiting waiting[SWITCH_SOCKETS_MAX_WAITING];
	uint32_t nwaiting;
};

/* What all connections share. */
struct switch_desk {
	struct switch_sockets_config config;
	struct switch_sockets_counts counts;
	uint64_t now_ns;
	uint64_t turn_end_ns; /* no request but a first is answered later; UINT64_MAX: all are */
	uint64_t answered;    /* requests in this turn */
	_Alignas(8) uint8_t reply[ANSWER_MAX_BYTES];
};

/* How a connection is after something was done to it; whoever owns it drops those that do not stay, and has nothing to count. */
enum peer_outcome { PEER_STAYS, PEER_ENDS };

/* @param fd  taken over. @return NULL: out of memory */
struct switch_peer *switch_peer_create(struct switch_desk *desk, int fd, uint32_t device);
void switch_peer_destroy(struct switch_peer *peer);

bool switch_desk_has_turn(const struct switch_desk *desk);

/* Its socket has something, or has closed; requests are answered by switch_peer_tend(). */
enum peer_outcome switch_peer_receive(struct switch_desk *desk, struct switch_peer *peer);
/* Answers requests, sends what is due, and looks whether the peer takes too long. */
enum peer_outcome switch_peer_tend(struct switch_desk *desk, struct switch_peer *peer);
/* What to look for at its socket: bits of epoll(7). */
uint32_t switch_peer_events(const struct switch_desk *desk, const struct switch_peer *peer);
/* When it wants to be tended next; UINT64_MAX: when its socket has something */
uint64_t switch_peer_next_ns(const struct switch_desk *desk, const struct switch_peer *peer);
