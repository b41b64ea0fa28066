/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requester of a reliable connection (IBTA 9.7): segmentation, PSNs, window, pacing, go-back-N, timeout, RTT samples.
 * No clock and no timer: the caller passes the time and queries the deadline.
 * Packets count as 32-bit sequence numbers modulo 2^32 inside; the wire sees the low 24 bits.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/pkt.h"
#include "common/send_times.h"
#include "common/wire/roce.h"
#include "rxe-hosts/roce/cc/cc.h"
#include "rxe-hosts/roce/ledger.h"
#include "rxe-hosts/roce/params.h"

#define MSG_SLOTS 128 /* messages that a QP may have open: DEVICE_MAX_POSTED */

/* A message to send; see struct send_wr of the device interface. */
struct rc_work {
	uint64_t wr_id;
	uint64_t bytes; /* > 0 */
	uint64_t local_offset, remote_offset;
	uint32_t imm;
	uint8_t tag; /* of its packets */
	bool send;   /* SEND WITH IMMEDIATE, else WRITE WITH IMMEDIATE */
};

/* A message until its last ACK, and until its slot is another's. */
struct rc_post {
	uint64_t wr_id;
	uint64_t bytes;
	const uint8_t *payload; /* NULL: synthetic */
	uint64_t remote_offset; /* RETH: in the receiver's region */
	uint32_t first, end;    /* sequence numbers: first packet, behind the last packet */
	uint32_t last_payload_bytes;
	uint32_t retransmits, naks;
	uint32_t imm;
	uint8_t tag;
	bool write;
	uint16_t first_frame_bytes, last_frame_bytes; /* on the wire */
};

/* The messages of a QP by their count, in a ring that is widened before it is full. */
struct rc_posts {
	struct rc_posts *narrower; /* the ring before: receivers may be reading it in this window */
	uint32_t mask;
	struct rc_post at[]; /* [mask + 1] */
};

struct rc_send {
	/* touched by every packet and every ACK: one cache line */
	_Alignas(64) uint64_t next_ps; /* pacing: no data packet starts earlier */
	uint64_t gap_ps;               /* pacing gap of a full middle segment at the current rate */
	uint64_t rto_base_ps;          /* last progress: start of the timeout */
	uint64_t cc_due_ps;            /* the rate may change then: cc.due_ps; 0: with each packet, too */
	uint32_t una, nxt;             /* oldest unacknowledged; next to send */
	uint32_t una_byte, nxt_byte;   /* payload byte counts at una and nxt, modulo 2^32 */
	uint32_t window_bytes;         /* at the current rate */
	uint32_t msg_first, msg_end;   /* message under nxt; nxt == msg_end: nothing to send */
	uint32_t ack_end;              /* end of the oldest unacknowledged message */
	/* touched by every packet: a second */
	struct pkt frame;  /* template of the message's middle segments */
	uint64_t *sent_ps; /* [sent_mask + 1] when the packet was last sent, of those from una to max */
	uint32_t sent_mask;
	uint32_t sent_most;   /* sent_mask at most: rc_send_slots() */
	uint32_t max;         /* behind the highest sequence number ever sent */
	uint32_t sample_from; /* packets before were sent twice: no RTT samples (Karn) */
	uint16_t retries;
	uint8_t rnr_retries;
	bool error;
	/* touched by every ACK: a third */
	uint64_t last_rtt_ps;
	struct rtt_sum rtt;   /* of the oldest open message */
	struct sel_send *sel; /* transport "selective"; NULL: go-back-N */
	/* the rest */
	struct cc cc;
	uint64_t retransmits, timeouts, naks, rnr_naks; /* of the QP */
	uint64_t marks;                                 /* CNPs, or ACKs that echo a mark, that it handled */
	uint32_t head, cursor, tail; /* messages, counted: oldest unacknowledged, under nxt, next to post */
	const uint8_t *region;
	uint64_t line_bps;
	uint64_t waited_ps;         /* since the oldest message is it, as the ledger */
	uint64_t window_line_bytes; /* at line rate; 0: none */
	uint64_t rnr_until_ps;      /* the wait of a receiver-not-ready NAK; 0: none yet */
	uint32_t cc_byte;           /* nxt_byte when the congestion control last counted bytes */
	/* Written by the sender's lcore; read by receivers', for packets that arrived. NULL: nothing was posted yet. */
	_Atomic(struct rc_posts *) posts;
	struct ledger ledger; /* its until_ps is touched by every packet */
};

struct rc_send_config {
	uint32_t flow;
	uint8_t prio;
	uint64_t line_bps;
	uint32_t first_psn;
	uint64_t window_bytes; /* at line rate; 0: none */
	bool ledger;
};

/* @return 0 or -ENOMEM; rc_send_fini() in either case */
int rc_send_init(struct rc_send *s, const struct roce_params *params, const struct rc_send_config *config);
void rc_send_fini(struct rc_send *s);

/*
 * @return packets, a power of two, that a QP with this window has between the oldest unacknowledged and the newest at
 * most
 */
uint32_t rc_send_slots(const struct roce_params *params, uint64_t window_bytes);

/*
 * Queues a message behind those posted.
 * @return 0; -EBUSY in error; -ENOSPC with MSG_SLOTS messages open; -EINVAL without bytes or past 2^31 packets;
 *         -ENOTSUP: a SEND, by a transport without
 */
int rc_send_post(struct rc_send *s, const struct roce_params *params, const struct rc_work *work);

/* Forgets congestion state and pacing. PSNs run on. Idle QPs only. */
void rc_send_reset(struct rc_send *s, const struct roce_params *params);

/* Has data that the window admits. The caller checks pacing: next_ps. */
static inline bool
rc_send_ready(const struct rc_send *s)
{
	return s->nxt != s->msg_end && s->nxt_byte - s->una_byte < s->window_bytes && s->nxt - s->una <= s->sent_most;
}

/* Reason for which a QP waits between its frames. */
enum rc_send_wait {
	RC_SEND_PORT, /* its pacing, or its NIC */
	RC_SEND_ROOM, /* room in its window */
	RC_SEND_ACKS, /* all is sent */
};

static inline enum rc_send_wait
rc_send_waits(const struct rc_send *s)
{
	if (s->nxt == s->msg_end)
		return RC_SEND_ACKS;
	return rc_send_ready(s) ? RC_SEND_PORT : RC_SEND_ROOM;
}

/* Something was sent and is not acknowledged. */
static inline bool
rc_send_outstanding(const struct rc_send *s)
{
	return s->una != s->max;
}

/*
 * When a QP that waits for its pacing is to be looked at again: its next packet is due, or its rate changes.
 * @param floor_ps  no earlier
 */
static inline uint64_t
rc_send_wake_ps(const struct rc_send *s, const struct roce_params *params, uint64_t floor_ps)
{
	uint64_t due_ps = s->cc.due_ps;

	if (!params->rate_at_once || due_ps >= s->next_ps)
		return s->next_ps;
	return due_ps > floor_ps ? due_ps : floor_ps;
}

/* Takes rate changes up to now_ps into gap and window. */
void rc_send_new_rate(struct rc_send *s, const struct roce_params *params, uint64_t now_ps);

static inline void
rc_send_advance(struct rc_send *s, const struct roce_params *params, uint64_t now_ps)
{
	if (__builtin_expect(now_ps >= s->cc_due_ps, 0))
		rc_send_new_rate(s, params, now_ps);
}

/* More packets are outstanding than sent_ps holds: doubles it. Ends the program when out of memory. */
void rc_send_widen(struct rc_send *s);

/* The parts of rc_send_next() that concern first, last and repeated packets: sizes, flags, cursor. */
void rc_send_edge(struct rc_send *s, const struct roce_params *params, uint64_t now_ps, struct pkt *p);

/*
 * Makes the next data packet; it starts to leave at now_ps.
 * Call only after rc_send_advance(now_ps), while rc_send_ready() and now_ps >= next_ps.
 */
static inline void
rc_send_next(struct rc_send *s, const struct roce_params *params, uint64_t now_ps, struct pkt *p)
{
	uint32_t seq = s->nxt;

	*p = s->frame;
	p->psn = seq & PSN_MASK;
	if (s->una == s->max)
		s->rto_base_ps = now_ps;
	if (__builtin_expect(seq - s->una > s->sent_mask, 0))
		rc_send_widen(s);
	s->sent_ps[seq & s->sent_mask] = now_ps;
	if (__builtin_expect(seq == s->msg_first || seq + 1 == s->msg_end || seq != s->max, 0)) {
		rc_send_edge(s, params, now_ps, p);
	} else {
		s->next_ps = now_ps + s->gap_ps;
		s->nxt_byte += p->payload_bytes;
		s->nxt = seq + 1;
		s->max = seq + 1;
	}
	/* The receiver may be gathering packets for one ACK: request it when no more packets follow earlier. */
	if (s->nxt_byte - s->una_byte >= s->window_bytes || s->nxt - s->una > s->sent_most)
		p->flags |= PKT_ACKREQ;
}

/* rc_send_ack() for packets that were sent twice, or are to be: finds out whether the first copy had arrived after all. */
void rc_send_ack_again(struct rc_send *s, const struct roce_params *params, uint32_t seq, uint64_t now_ps);

/* The rest of rc_send_ack() for ACKs that end a message, or overtake packets about to be sent again. */
void rc_send_ack_far(struct rc_send *s, const struct roce_params *params, uint32_t una);

/*
 * Everything up to and including psn has arrived. rc_send_pop() gives the messages that it completes.
 * @param rtt_ps  set to the sample, 0 for none
 * @return whether anything was newly acknowledged
 */
static inline bool
rc_send_ack(struct rc_send *s, const struct roce_params *params, uint32_t psn, uint64_t now_ps, uint64_t *rtt_ps)
{
	int32_t acked = psn_diff(psn + 1, s->una);
	uint32_t una = s->una + (uint32_t)acked;

	*rtt_ps = 0;
	if (acked <= 0 || (uint32_t)acked > s->max - s->una)
		return false;
	if (__builtin_expect((int32_t)(una - 1 - s->sample_from) >= 0, 1))
		rtt_sum_add(&s->rtt, *rtt_ps = s->last_rtt_ps = now_ps - s->sent_ps[(una - 1) & s->sent_mask]);
	else
		rc_send_ack_again(s, params, una - 1, now_ps);
	s->rto_base_ps = now_ps;
	s->retries = 0;
	s->rnr_retries = 0;
	if (__builtin_expect((int32_t)(una - s->ack_end) < 0 && (int32_t)(s->nxt - una) >= 0, 1)) {
		s->una_byte += (uint32_t)acked * s->frame.payload_bytes;
		s->una = una;
	} else {
		rc_send_ack_far(s, params, una);
	}
	return true;
}

/*
 * The oldest message, if it is acknowledged altogether, by the ACK that has just been taken: a copy in *post, its slot
 * is free. Loop until false.
 * @param times  out: of this message
 */
bool rc_send_pop(struct rc_send *s, const struct roce_params *params, struct rc_post *post, struct send_times *times);

/*
 * A PSN sequence error: psn is the packet that the receiver expects. Acknowledges the packets before it and goes back
 * to it.
 */
bool rc_send_nak(struct rc_send *s, const struct roce_params *params, uint32_t psn, uint64_t now_ps);

/*
 * Receiver not ready for psn: goes back to it and waits rnr_delay_ps.
 * @return false if the QP has spent its RNR retries: call rc_send_fail()
 */
bool rc_send_rnr(struct rc_send *s, const struct roce_params *params, uint32_t psn, uint64_t now_ps);

/* Passes a marked packet to the congestion state; of an ACK, where params->cc.ops->acked is not NULL. */
void rc_send_congested(struct rc_send *s, const struct roce_params *params, uint64_t now_ps);
void rc_send_received(struct rc_send *s, const struct roce_params *params, const struct cc_ack *ack);
/* Passes a loss to the congestion state. */
void rc_send_lost(struct rc_send *s, const struct roce_params *params, enum cc_loss loss, uint64_t now_ps);

/* @return when rc_send_timeout() is due, TIME_NEVER if nothing is outstanding */
uint64_t rc_send_deadline(const struct rc_send *s, const struct roce_params *params);

/* The deadline has passed: missing packets are to be sent again. @return false if retries are spent: rc_send_fail() */
bool rc_send_timeout(struct rc_send *s, const struct roce_params *params, uint64_t now_ps);

/* The port is paused, so that no retransmission is possible: timeouts restart now. */
void rc_send_hold(struct rc_send *s, uint64_t now_ps);

/* The QP is in error: accepts and sends nothing more. Its messages stay listed for rc_send_flush(). */
void rc_send_fail(struct rc_send *s);
/*
 * After rc_send_fail(): the oldest open message and how much of it was acknowledged, as rc_send_pop().
 * @return false when none is left
 */
bool rc_send_flush(struct rc_send *s, const struct roce_params *params, uint64_t now_ps, struct rc_post *post,
		   struct send_times *times, uint64_t *acked_bytes);

/*
 * The message of a data packet that this QP sent, for readers of its RETH or payload. The receiver may query it for a
 * packet that it accepts in order, from another thread. The sender wrote the entry a window or more before, and writes
 * to it again only when the ACK has arrived, a window or more later. PSNs continue over messages, so packets that are
 * still in flight then are known as duplicates by number alone. Between windows any thread may query it.
 * @return NULL: its slot is another message's, the packet a late duplicate
 */
const struct rc_post *rc_send_message(const struct rc_send *s, const struct pkt *p);

/* Acknowledged bytes of the oldest open message. */
uint64_t rc_send_acked_bytes(const struct rc_send *s, const struct roce_params *params);
/*
 * The parts of the current message's time up to now.
 * @param ledger  the QP's own, or a copy that the caller has charged further
 */
struct send_times rc_send_times(const struct rc_send *s, const struct roce_params *params, const struct ledger *ledger,
				uint64_t now_ps);
/*
 * Charges the time up to now_ps in which the QP could not have sent: by its pacing, and until ready_ps because its
 * window was full. What is left up to now_ps is its NIC's.
 */
void rc_send_account(const struct rc_send *s, struct ledger *ledger, uint64_t ready_ps, uint64_t now_ps);
/*
 * rc_send_account() for a QP that was not ready all this time: its window is full, or it has sent all and waits for
 * ACKs.
 */
void rc_send_account_idle(const struct rc_send *s, const struct roce_params *params, struct ledger *ledger,
			  uint64_t now_ps);
/*
 * Packets are to be sent again, for this reason, and had been sent once. What the QP waited for until now_ps: where all had
 * been sent, the loss alone made it wait.
 */
void rc_send_account_loss(struct rc_send *s, enum rc_send_wait wait, enum ledger_entry reason, uint64_t now_ps);
/* A timeout: no ACK since rto_base_ps. Before go-back, and before retries counts it. */
void rc_send_stalled(struct rc_send *s, uint64_t now_ps);
/* After this time a packet was marked as lost, by time alone. */
static inline void
rc_send_waited(struct rc_send *s, uint64_t waited_ps)
{
	if (s->waited_ps == 0 || waited_ps < s->waited_ps)
		s->waited_ps = waited_ps;
}
/* Payload bytes sent at least once and not acknowledged. */
uint64_t rc_send_outstanding_bytes(const struct rc_send *s, const struct roce_params *params);

/* The messages of a sender, for the files of this folder: which one a sequence number belongs to. */

/* @return the slot of the message with this number, as posted */
static inline struct rc_post *
rc_messages_at(const struct rc_send *s, uint32_t count)
{
	struct rc_posts *posts = atomic_load_explicit(&s->posts, memory_order_relaxed);

	return &posts->at[count & posts->mask];
}

/* Finds the next message to send by searching from the oldest open one on: nxt has gone back, or far ahead. */
void rc_messages_seek(struct rc_send *s);

/* @return payload bytes of a packet of an open message */
uint32_t rc_messages_payload(const struct rc_send *s, const struct roce_params *params, uint32_t seq);

/*
 * The opcode of a packet by its position in this message. Packets that may arrive in any order are each a WRITE by
 * itself.
 */
static inline uint8_t
rc_messages_opcode(const struct rc_send *s, const struct rc_post *post, bool first, bool last)
{
	return s->sel != NULL ? roce_data_opcode(true, true, true, last) : roce_data_opcode(post->write, first, last, true);
}
