/* SPDX-License-Identifier: BSD-3-Clause */
/* Selective repeat. */
#pragma once

#include "rxe-hosts/roce/rc_recv.h"
#include "rxe-hosts/roce/rc_send.h"

/*
 * Selective repeat, the sender's side: besides struct rc_send, the state of each packet between the oldest
 * unacknowledged and the newest. An ACK names the packet that it is for, those of the five before it that have arrived,
 * and the one that the receiver expects, so that the next ACK replaces a lost one. Only time indicates a loss:
 *   adaptive: a packet sent repeat_after later is acknowledged (RACK, RFC 8985 section 6, with that for a reordering
 *   window);
 *             without a later packet, no ACK arrived for the timeout: the oldest is sent again as a probe
 *   fixed:    the timeout after it was sent
 * nxt of rc_send is the next packet to send: the first of those to be sent again, or behind the newest. Its nxt_byte -
 * una_byte is the bytes in flight: sent, neither acknowledged nor marked as lost.
 */

#define SEL_WORD_PACKETS 64
#define SEL_AGAIN 16   /* lost packets whose ACKs are counted */
#define SEL_PERSIST 16 /* recoveries that a window that has grown outlasts (RFC 8985, 6.2 step 4) */

/* Bits by sequence number, of packets from una to max. */
struct sel_word {
	uint64_t acked;
	uint64_t lost; /* taken for lost, and not sent again yet */
};

/*
 * A packet taken for lost, the latest of those with its number modulo SEL_AGAIN. Two ACKs of it: both copies have
 * arrived.
 */
struct sel_again {
	uint64_t sent_ps; /* the first copy; 0: none is watched */
	uint64_t late_ps; /* its delay behind others, if its first ACK was the first copy's */
	uint32_t seq, acks;
};

struct sel_send {
	struct sel_word *words; /* [(sent_mask + 1) / SEL_WORD_PACKETS] */
	uint32_t fresh;         /* packets before: acknowledged, or taken for lost at least once */
	uint32_t nacked, nlost; /* bits that are set */
	/* when the last of those taken for lost was sent, not yet counted in waited_ps, plus 1; 0: none */
	uint64_t lost_sent_ps;
	uint32_t lost_bytes;  /* payload of packets taken for lost */
	uint64_t newest_ps;   /* when the newest of the acknowledged packets was sent */
	uint64_t judge_ps;    /* adaptive: once newest_ps is here, a packet may be lost */
	uint64_t timeout_ps;  /* of a first time */
	uint64_t repeated_ps; /* when a packet was last sent again */
	uint64_t held_ps;     /* fixed: timeouts run from here at the earliest */
	uint32_t doublings;   /* of timeout_ps, until host.timeout is reached */
	/* adaptive: the reordering window */
	uint64_t wider_ps;  /* than repeat_after */
	uint64_t smooth_ps; /* round trip time, smoothed: the window is no longer than that */
	uint32_t persist;   /* recoveries that it stays so */
	uint32_t recovery;  /* packets before were sent when one was taken for lost */
	bool recovering;    /* and are not all acknowledged */
	struct sel_again again[SEL_AGAIN];
};

/* Frees the selective state of a sender. */
void sel_send_fini(struct rc_send *s);

/*
 * An ACK arrived: of packet psn; arg: the receiver has all before; syndrome: and these before psn.
 * @param rtt_ps  set to the sample, 0 for none
 * @return packets newly acknowledged; rc_send_pop() gives the messages that they complete
 */
uint32_t sel_send_ack(struct rc_send *s, const struct roce_params *params, const struct pkt *p, uint64_t now_ps,
		      uint64_t *rtt_ps);

/* Packet seq leaves again: called by rc_send_edge() when it is made. */
void sel_send_repeated(struct rc_send *s, const struct roce_params *params, uint32_t seq, struct pkt *p);

/* @return packets sent and not acknowledged */
uint32_t sel_send_waiting(const struct rc_send *s);

/*
 * Selective repeat, the receiver's side, besides struct rc_recv: a packet is placed on arrival, even if earlier ones
 * are missing. While none is missing, an ACK is sent for every ack_every packets, as in go-back-N; else for each.
 * Messages are complete in the order in which they were sent.
 */

#define SEL_MESSAGES 64 /* that a QP may have open: those of the sender */

/* The last packet of a message has arrived. */
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
	uint64_t count;                      /* packets before expected, since the start */
	uint64_t first;                      /* before the oldest message that is not complete */
	uint64_t early;                      /* packets that arrived ahead of a missing one */
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
 * A data packet arrived whole.
 * @return enum rc_reply bits: RC_ACK is due for this packet, with r->expected; then rc_recv_replied(). RC_COMPLETE:
 *         sel_recv_pop() gives messages. RC_ACCEPTED: the payload arrived for the first time
 */
uint32_t sel_recv_data(struct rc_recv *r, struct sel_recv *sel, const struct roce_params *params, const struct pkt *p,
		       uint64_t now_ps);

/* @return the syndrome of an ACK of packet psn: which of those before it have arrived (AETH_ACK_BEFORE) */
uint8_t sel_recv_syndrome(const struct rc_recv *r, const struct sel_recv *sel, uint32_t psn);

/* The oldest message, if it is complete: in r->done_bytes and r->imm. Loop until false. */
bool sel_recv_pop(struct rc_recv *r, struct sel_recv *sel, const struct roce_params *params);
