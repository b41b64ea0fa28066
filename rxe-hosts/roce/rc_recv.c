/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/roce/rc_recv.h"

#include <assert.h>

/* A segment that does not fit its message, or a message that does not fit its place. */
#define RC_STALE (1u << 31)

static uint32_t note_congestion(struct rc_recv *r, const struct roce_params *params, uint64_t now_ps);
static uint32_t note_order(struct rc_recv *r, const struct pkt *p);
static uint32_t duplicate(struct rc_recv *r, const struct roce_params *params, const struct pkt *p);
static uint32_t out_of_sequence(struct rc_recv *r, const struct roce_params *params);
static void keep_quiet(struct rc_recv *r);
static uint32_t begin_segment(struct rc_recv *r, const struct rc_segment *segment);
static uint32_t begin(struct rc_recv *r, const struct pkt *p, const struct msg_slab *slab, uint64_t window);

void
rc_recv_init(struct rc_recv *r, uint32_t first_psn)
{
	*r = (struct rc_recv){ .expected = first_psn & PSN_MASK, .seen = first_psn & PSN_MASK };
}

uint32_t
rc_recv_slow(struct rc_recv *r, const struct roce_params *params, const struct pkt *p, const struct msg_slab *slab,
	     uint64_t window, uint64_t now_ps)
{
	int32_t ahead = psn_diff(p->psn, r->expected);
	uint32_t answer = 0, refusal;

	if (p->flags & PKT_CE)
		answer |= note_congestion(r, params, now_ps);
	if (ahead != 0 || r->repairing)
		answer |= note_order(r, p);
	if (ahead < 0)
		return answer | duplicate(r, params, p);
	if (ahead > 0)
		return answer | out_of_sequence(r, params);
	if (!r->under_way) {
		refusal = begin(r, p, slab, window);
		if (!r->under_way)
			return answer | refusal;
	}
	r->gap = false;
	answer |= rc_recv_take(r, params, p);
	if (psn_diff(r->expected, r->seen) >= 0)
		r->repairing = false;
	return answer;
}

uint32_t
rc_recv_segment(struct rc_recv *r, const struct roce_params *params, const struct pkt *p, const struct rc_segment *segment,
		uint64_t now_ps)
{
	int32_t ahead = psn_diff(p->psn, r->expected);
	uint32_t answer = p->flags & PKT_CE ? note_congestion(r, params, now_ps) : 0, refusal;

	if (ahead != 0 || r->repairing)
		answer |= note_order(r, p);
	if (ahead < 0)
		return answer | duplicate(r, params, p);
	if (ahead > 0)
		return answer | out_of_sequence(r, params);
	refusal = r->under_way == segment->first ? RC_STALE : segment->first ? begin_segment(r, segment) : 0;
	if (refusal == 0 && r->done_bytes + p->payload_bytes > r->room_bytes)
		refusal = RC_STALE;
	if (refusal != 0) {
		r->stale += refusal == RC_STALE;
		keep_quiet(r);
		return answer | (refusal & (uint32_t)~RC_STALE);
	}
	r->under_way = true;
	r->gap = false;
	answer |= rc_recv_take(r, params, p);
	r->imm = segment->with_imm ? segment->imm : 0;
	if (p->flags & PKT_LAST)
		r->msn = (r->msn + 1) & PSN_MASK;
	if (segment->write && !segment->with_imm)
		answer &= ~(uint32_t)RC_COMPLETE;
	if (psn_diff(r->expected, r->seen) >= 0)
		r->repairing = false;
	return answer;
}

const void *
rc_recv_payload(const struct rc_recv *r, const struct pkt *p, uint64_t window, uint64_t *place)
{
	uint64_t offset = r->done_bytes - p->payload_bytes;

	*place = r->place + offset;
	if (r->msg->base == NULL || window >= __atomic_load_n(&r->msg->dead_window, __ATOMIC_RELAXED))
		return NULL;
	return r->msg->base + r->msg->local_offset + offset;
}

/* Echo in the next ACK, or a CNP unless one went out lately (RoCEv2 annex A17.9.3). */
static uint32_t
note_congestion(struct rc_recv *r, const struct roce_params *params, uint64_t now_ps)
{
	if (!params->dcqcn.enabled)
		return 0;
	if (!params->dcqcn.echo_cnp) {
		r->ce = true;
		return 0;
	}
	if (now_ps < r->cnp_next_ps)
		return 0;
	r->cnp_next_ps = now_ps + params->dcqcn.cnp_interval_ps;
	return RC_CNP;
}

/* A sender sends every number for the first time in order; so must they arrive. */
static uint32_t
note_order(struct rc_recv *r, const struct pkt *p)
{
	if (!r->repairing)
		r->seen = r->expected;
	if (p->flags & PKT_RETRANSMIT)
		return 0;
	if (psn_diff(p->psn, r->seen) < 0)
		return RC_REORDERED;
	r->seen = (p->psn + 1) & PSN_MASK;
	return 0;
}

/* IBTA 9.7.5.1.2: a duplicate request is acknowledged again, and not executed again. */
static uint32_t
duplicate(struct rc_recv *r, const struct roce_params *params, const struct pkt *p)
{
	r->duplicates++;
	return ++r->unacked >= params->ack_every || (p->flags & PKT_ACKREQ) ? RC_ACK : 0;
}

/* IBTA 9.7.5.2.8: one NAK, then silence until the expected packet is here. */
static uint32_t
out_of_sequence(struct rc_recv *r, const struct roce_params *params)
{
	r->out_of_sequence++;
	r->repairing = true;
	if (r->gap)
		return 0;
	r->gap = true;
	if (!params->nak)
		return 0;
	r->naks++;
	return RC_NAK;
}

/* The expected packet was refused: what follows it is out of sequence, and told of already. */
static void
keep_quiet(struct rc_recv *r)
{
	if (!r->repairing)
		r->seen = r->expected;
	r->gap = true;
	r->repairing = true;
}

/* The first packet of a message. @return why it cannot begin, with under_way still false */
static uint32_t
begin(struct rc_recv *r, const struct pkt *p, const struct msg_slab *slab, uint64_t window)
{
	const struct msg *msg = msg_find(slab, p->arg, p->gen, window);
	struct recv_slot slot;

	if (msg == NULL) {
		r->stale++;
		keep_quiet(r);
		return 0;
	}
	assert(msg->first_psn == p->psn);
	r->place = msg->remote_offset;
	if (msg->opcode == MSG_SEND_IMM) {
		if (!recv_ring_pop(&r->receives, &slot)) {
			r->naks++;
			keep_quiet(r);
			return RC_RNR;
		}
		assert(msg->bytes <= slot.bytes);
		r->place = slot.offset;
	}
	r->msg = msg;
	r->imm = msg->imm;
	r->done_bytes = 0;
	r->under_way = true;
	return 0;
}

/* The same for a message from outside. @return why it cannot begin, 0: it can */
static uint32_t
begin_segment(struct rc_recv *r, const struct rc_segment *segment)
{
	struct recv_slot slot = { .offset = segment->place, .bytes = segment->room_bytes };

	if (!segment->write && !recv_ring_pop(&r->receives, &slot)) {
		r->naks++;
		return RC_RNR;
	}
	r->msg = NULL;
	r->place = slot.offset;
	r->room_bytes = slot.bytes;
	r->done_bytes = 0;
	return 0;
}
