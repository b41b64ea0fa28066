/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selective repeat, the receiver's part, beside struct rc_recv: a packet is placed when it comes, whatever is missing
 * before it. While nothing is missing, an ACK goes for every ack_every packets, as in go-back-N; else for each. Messages are complete in the order in which they were sent.
 */
#pragma once

#include "rxe-hosts/roce/rc_recv.h"

#define SEL_MESSAGES 64 /* that a QP may have open: those of the sender */

/* The last packet of a message has come. */
struct sel_last {
	uint64_t end; /* of it, counted as struct sel_recv's count */
	uint32_t imm;
	uint32_t payload_bytes;
	bool received;
};

struct sel_recv {
	uint64_t *received;                  /* [span / 64] bits by PSN: packets from expected on */
	uint32_t mask;                       /* how many packets, a power of two, less one */
	uint32_t ahead;                      /* bits that are set */
	uint64_t count;                      /* packets before expected, of all time */
	uint64_t first;                      /* before the oldest message that is not complete */
	uint64_t early;                      /* packets that came ahead of a missing one */
	struct sel_last lasts[SEL_MESSAGES]; /* by number of the message */
};

/*
 * @param span  packets that its sender lets be between the oldest missing one and the newest: a power of two, at least 64
 * @return NULL: out of memory
 */
struct sel_recv *sel_recv_create(uint32_t span);
/* @param sel  may be NULL */
void sel_recv_destroy(struct sel_recv *sel);

/*
 * A data packet came in whole.
 * @return enum rc_reply bits: RC_ACK goes for this packet, with r->expected; then rc_recv_replied(). RC_COMPLETE: sel_recv_pop() gives messages.
 *         RC_ACCEPTED: the payload came for the first time
 */
uint32_t sel_recv_data(struct rc_recv *r, struct sel_recv *sel, const struct roce_params *params, const struct pkt *p,
		       uint64_t now_ps);

/* @return the syndrome of an ACK of packet psn: which of those before it have come (AETH_ACK_BEFORE) */
uint8_t sel_recv_syndrome(const struct rc_recv *r, const struct sel_recv *sel, uint32_t psn);

/* The oldest message, if it is complete: in r->done_bytes and r->imm. Loop until false. */
bool sel_recv_pop(struct rc_recv *r, struct sel_recv *sel, const struct roce_params *params);
