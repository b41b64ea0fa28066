/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Responder of a reliable connection (IBTA 9.7): what to do with each arriving data packet. Says what is to be
 * answered; building and sending the answer is the caller's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/pkt.h"
#include "rxe-hosts/roce/msg.h"
#include "rxe-hosts/roce/params.h"
#include "rxe-hosts/roce/psn.h"
#include "rxe-hosts/roce/recv_ring.h"

#define AETH_NAK_SEQUENCE 0x60 /* IBTA table 44: NAK, PSN sequence error */
#define AETH_RNR_NAK 0x2c      /* RNR NAK; the timer says 0.64 ms (IBTA table 45): real requesters wait so long */

enum rc_answer {
	RC_ACCEPTED = 1 << 0,  /* in order and in place: progress */
	RC_COMPLETE = 1 << 1,  /* its message is complete: done_bytes, imm */
	RC_ACK = 1 << 2,       /* send an ACK for expected - 1, marked if ce; then rc_recv_answered() */
	RC_NAK = 1 << 3,       /* send a NAK for expected, AETH_NAK_SEQUENCE */
	RC_RNR = 1 << 4,       /* send a NAK for expected, AETH_RNR_NAK */
	RC_CNP = 1 << 5,       /* send a CNP */
	RC_REORDERED = 1 << 6, /* a packet sent once came behind one sent later: the fabric broke the flow's order */
};

struct rc_recv {
	/* touched by every packet: one cache line */
	_Alignas(64) uint32_t expected; /* 24 bits */
	uint32_t unacked;               /* packets since the last ACK */
	uint32_t seen;                  /* while repairing: behind the highest PSN that came for the first time; 24 bits */
	bool under_way;                 /* within a message */
	bool gap;                       /* something is missing, and the sender was told: quiet until expected arrives */
	bool repairing;                 /* from a gap on, until expected has caught up with seen */
	bool ce;                        /* a marked packet waits to be echoed */
	uint64_t done_bytes;            /* of the message under way */
	uint64_t cnp_next_ps;           /* no CNP earlier */
	const struct msg *msg;          /* under way */
	uint64_t place;                 /* where the message goes in the receiver's region */
	uint64_t room_bytes;            /* for a message from outside */
	uint32_t msn;                   /* messages from outside that are complete, 24 bits (IBTA 9.7.5.1) */
	uint32_t imm;
	/* the rest */
	uint64_t duplicates, out_of_sequence, stale, naks; /* packets; NAKs sent */
	struct recv_ring receives;
};

void rc_recv_init(struct rc_recv *r, uint32_t first_psn);

/* Everything but the next packet of a message under way. */
uint32_t rc_recv_slow(struct rc_recv *r, const struct roce_params *params, const struct pkt *p, const struct msg_slab *slab,
		      uint64_t window, uint64_t now_ps);

/* An in-order packet is taken. @return enum rc_answer bits */
static inline uint32_t
rc_recv_take(struct rc_recv *r, const struct roce_params *params, const struct pkt *p)
{
	uint32_t answer = RC_ACCEPTED;

	r->expected = (r->expected + 1) & PSN_MASK;
	r->done_bytes += p->payload_bytes;
	if (p->flags & PKT_LAST) {
		r->under_way = false;
		answer |= RC_COMPLETE;
	}
	if (++r->unacked >= params->ack_every || (p->flags & PKT_ACKREQ))
		answer |= RC_ACK;
	return answer;
}

/*
 * A data packet came in whole.
 * @param slab    the sender's; read for the first packet of a message, and only if it is in order
 * @param window  index of the present window, see msg.h
 * @return enum rc_answer bits
 */
static inline uint32_t
rc_recv_data(struct rc_recv *r, const struct roce_params *params, const struct pkt *p, const struct msg_slab *slab,
	     uint64_t window, uint64_t now_ps)
{
	if (__builtin_expect(p->psn != r->expected || !r->under_way || r->repairing || (p->flags & PKT_CE), 0))
		return rc_recv_slow(r, params, p, slab, window, now_ps);
	return rc_recv_take(r, params, p);
}

/* A data packet whose message is not one of an embedded sender: what its own headers say of it. */
struct rc_segment {
	bool write;    /* RDMA WRITE, else SEND */
	bool first;    /* first (or only) segment */
	bool with_imm; /* last (or only) segment, carries imm */
	uint32_t imm;
	uint64_t place;      /* first segment of a WRITE: where the message goes in the receiver's region */
	uint64_t room_bytes; /* of that region from there: a longer message is refused */
};

/*
 * A data packet from outside came in whole. It cannot tell whether it was sent before: p has PKT_RETRANSMIT, so that its
 * order is not judged. A WRITE without immediate completes nothing.
 * @return enum rc_answer bits; accepted payload belongs at r->done_bytes - p->payload_bytes behind r->place
 */
uint32_t rc_recv_segment(struct rc_recv *r, const struct roce_params *params, const struct pkt *p,
			 const struct rc_segment *segment, uint64_t now_ps);

/* An ACK or NAK for everything so far is on its way, with the congestion echo if ce was set. */
static inline void
rc_recv_answered(struct rc_recv *r)
{
	r->unacked = 0;
	r->ce = false;
}

/*
 * Where the payload of a packet just accepted lies at the sender, and where it goes.
 * @param place  set to the offset in the receiver's region
 * @return NULL with synthetic payload, or when the message's QP has given up meanwhile
 */
const void *rc_recv_payload(const struct rc_recv *r, const struct pkt *p, uint64_t window, uint64_t *place);
