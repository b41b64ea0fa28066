/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Responder of a reliable connection (IBTA 9.7): decides on each arriving data packet. It returns the due responses;
 * the caller builds and sends them.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/pkt.h"
#include "rxe-hosts/roce/params.h"

/* Posted receives of a QP, oldest first. */

#define RECV_SLOTS 64

struct recv_slot {
	uint64_t offset; /* in the receiver's region */
	uint64_t bytes;
};

struct recv_ring {
	uint32_t head, tail;     /* counted: oldest, next to post */
	struct recv_slot *slots; /* [RECV_SLOTS] NULL: none was posted yet */
};

static inline void
recv_ring_fini(struct recv_ring *ring)
{
	free(ring->slots);
	*ring = (struct recv_ring){ 0 };
}

/* @return false if RECV_SLOTS are posted already, or without memory for them */
static inline bool
recv_ring_push(struct recv_ring *ring, uint64_t offset, uint64_t bytes)
{
	if (ring->slots == NULL)
		ring->slots = calloc(RECV_SLOTS, sizeof(*ring->slots));
	if (ring->slots == NULL || ring->tail - ring->head == RECV_SLOTS)
		return false;
	ring->slots[ring->tail++ % RECV_SLOTS] = (struct recv_slot){ .offset = offset, .bytes = bytes };
	return true;
}

/* @return false if none is posted */
static inline bool
recv_ring_pop(struct recv_ring *ring, struct recv_slot *slot)
{
	if (ring->head == ring->tail)
		return false;
	*slot = ring->slots[ring->head++ % RECV_SLOTS];
	return true;
}

enum rc_reply {
	RC_ACCEPTED = 1 << 0,  /* in order and in place: progress */
	RC_COMPLETE = 1 << 1,  /* its message is complete: done_bytes, imm */
	RC_ACK = 1 << 2,       /* send an ACK for expected - 1, marked if ce; then rc_recv_replied() */
	RC_NAK = 1 << 3,       /* send a NAK for expected, AETH_NAK_SEQUENCE */
	RC_RNR = 1 << 4,       /* send a NAK for expected, AETH_RNR_NAK */
	RC_CNP = 1 << 5,       /* send a CNP */
	RC_REORDERED = 1 << 6, /* a packet sent once arrived behind one sent later: the fabric broke the flow's order */
};

struct rc_recv {
	/* touched by every packet: one cache line */
	_Alignas(64) uint32_t expected; /* 24 bits */
	uint32_t unacked;               /* packets since the last ACK */
	uint32_t seen;                  /* while repairing: behind the highest PSN of a first arrival; 24 bits */
	bool in_message;                /* within a message */
	bool gap;                       /* a packet is missing, and its NAK was sent: quiet until expected arrives */
	bool repairing;                 /* from a gap on, until expected has caught up with seen */
	bool ce;                        /* a marked packet waits to be echoed */
	uint64_t done_bytes;            /* of the current message */
	uint64_t cnp_next_ps;           /* no CNP earlier */
	uint64_t place;                 /* where the message goes in the receiver's region */
	uint64_t room_bytes;            /* from there */
	uint32_t msn;                   /* messages complete, 24 bits (IBTA 9.7.5.1) */
	uint32_t imm;
	/* the rest */
	uint64_t duplicates, out_of_sequence, stale, naks; /* packets; NAKs sent */
	uint64_t marked, cnps;                             /* packets that arrived marked; CNPs sent for them */
	uint32_t most_missing;                             /* longest gap, as the first packet behind it arrived */
	struct recv_ring receives;
};

void rc_recv_init(struct rc_recv *r, uint32_t first_psn);

/* Destination of an RDMA WRITE by its RETH, and the room in the receiver's region from there on. */
struct rc_reth {
	uint64_t place, room_bytes;
};

/*
 * A marked packet arrived: echoed in the next ACK, or by a CNP unless one was sent lately (RoCEv2 annex A17.9.3). Where
 * CNPs are spaced by port, the NIC does so, and counts cnps.
 * @return RC_CNP or 0
 */
uint32_t rc_recv_marked(struct rc_recv *r, const struct roce_params *params, uint64_t now_ps);

/* Everything except the next packet of the current message. */
uint32_t rc_recv_slow(struct rc_recv *r, const struct roce_params *params, const struct pkt *p, const struct rc_reth *reth,
		      uint64_t now_ps);

/* An in-order packet is taken. @return enum rc_reply bits */
static inline uint32_t
rc_recv_take(struct rc_recv *r, const struct roce_params *params, const struct pkt *p)
{
	uint32_t reply = RC_ACCEPTED;

	r->expected = (r->expected + 1) & PSN_MASK;
	r->done_bytes += p->payload_bytes;
	if (p->flags & PKT_LAST) {
		assert(r->done_bytes <= r->room_bytes);
		r->in_message = false;
		r->msn = (r->msn + 1) & PSN_MASK;
		reply |= RC_COMPLETE;
	}
	if (++r->unacked >= params->ack_every || (p->flags & PKT_ACKREQ))
		reply |= RC_ACK;
	return reply;
}

/*
 * A data packet of an embedded sender arrived whole: its message is well formed. It is longer than the receive posted
 * for it only by a bug.
 * @param reth  NULL: the place is not needed. Read for the first packet of a WRITE
 * @return enum rc_reply bits; accepted payload belongs at r->done_bytes - p->payload_bytes behind r->place
 */
static inline uint32_t
rc_recv_data(struct rc_recv *r, const struct roce_params *params, const struct pkt *p, const struct rc_reth *reth,
	     uint64_t now_ps)
{
	if (__builtin_expect(p->psn != r->expected || !r->in_message || r->repairing || (p->flags & PKT_CE), 0))
		return rc_recv_slow(r, params, p, reth, now_ps);
	return rc_recv_take(r, params, p);
}

/*
 * rc_recv_data() for an untrusted sender: refuses segments that do not follow each other, and messages longer than
 * their room. It cannot know whether a packet was sent before: p has PKT_RETRANSMIT, so that its order is not judged. A
 * WRITE without immediate completes nothing.
 */
uint32_t rc_recv_checked(struct rc_recv *r, const struct roce_params *params, const struct pkt *p,
			 const struct rc_reth *reth, uint64_t now_ps);

/* An ACK or NAK for everything so far was sent, with the congestion echo if ce was set. */
static inline void
rc_recv_replied(struct rc_recv *r)
{
	r->unacked = 0;
	r->ce = false;
}
