/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/roce/rc_recv.h"

#include "common/wire/roce.h"

/* A segment that does not fit its message, or a message that does not fit its place. */
#define RC_STALE (1u << 31)

static uint32_t note_order(struct rc_recv *r, const struct pkt *p);
static uint32_t duplicate(struct rc_recv *r, const struct roce_params *params, const struct pkt *p);
static uint32_t out_of_sequence(struct rc_recv *r, const struct roce_params *params, uint32_t missing);
static void withhold_naks(struct rc_recv *r);
static uint32_t begin(struct rc_recv *r, const struct pkt *p, const struct rc_reth *reth);

void
rc_recv_init(struct rc_recv *r, uint32_t first_psn)
{
	*r = (struct rc_recv){ .expected = first_psn & PSN_MASK, .seen = first_psn & PSN_MASK };
}

/* Congestion and order. @return whether p is the expected packet; adds the due responses to *reply */
static bool
in_order(struct rc_recv *r, const struct roce_params *params, const struct pkt *p, uint64_t now_ps, uint32_t *reply)
{
	int32_t ahead = psn_diff(p->psn, r->expected);

	if (p->flags & PKT_CE)
		*reply |= rc_recv_marked(r, params, now_ps);
	if (ahead != 0 || r->repairing)
		*reply |= note_order(r, p);
	if (ahead != 0)
		*reply |= ahead < 0 ? duplicate(r, params, p) : out_of_sequence(r, params, (uint32_t)ahead);
	return ahead == 0;
}

/* The expected packet is taken. What was missing is here; later packets may be still. */
static uint32_t
take_expected(struct rc_recv *r, const struct roce_params *params, const struct pkt *p)
{
	uint32_t reply;

	r->in_message = true;
	r->gap = false;
	reply = rc_recv_take(r, params, p);
	if (psn_diff(r->expected, r->seen) >= 0)
		r->repairing = false;
	return reply;
}

uint32_t
rc_recv_slow(struct rc_recv *r, const struct roce_params *params, const struct pkt *p, const struct rc_reth *reth,
	     uint64_t now_ps)
{
	uint32_t reply = 0, refusal;

	if (!in_order(r, params, p, now_ps, &reply))
		return reply;
	refusal = r->in_message ? 0 : begin(r, p, reth);
	if (refusal != 0) {
		withhold_naks(r);
		return reply | refusal;
	}
	return reply | take_expected(r, params, p);
}

uint32_t
rc_recv_checked(struct rc_recv *r, const struct roce_params *params, const struct pkt *p, const struct rc_reth *reth,
		uint64_t now_ps)
{
	bool first = roce_is_first(p->opcode), with_imm = roce_headers(p->opcode) & ROCE_IMM;
	uint32_t reply = 0, refusal;

	if (!in_order(r, params, p, now_ps, &reply))
		return reply;
	refusal = r->in_message == first ? RC_STALE : first ? begin(r, p, reth) : 0;
	if (refusal == 0 && r->done_bytes + p->payload_bytes > r->room_bytes)
		refusal = RC_STALE;
	if (refusal != 0) {
		r->stale += refusal == RC_STALE;
		withhold_naks(r);
		return reply | (refusal & (uint32_t)~RC_STALE);
	}
	r->imm = with_imm ? p->arg : 0;
	reply |= take_expected(r, params, p);
	return roce_is_write(p->opcode) && !with_imm ? reply & ~(uint32_t)RC_COMPLETE : reply;
}

uint32_t
rc_recv_marked(struct rc_recv *r, const struct roce_params *params, uint64_t now_ps)
{
	r->marked++;
	if (params->cc.echo == CC_ECHO_ACK)
		r->ce = true;
	if (params->cc.echo != CC_ECHO_CNP || now_ps < r->cnp_next_ps)
		return 0;
	if (!params->cc.cnp_of_port)
		r->cnp_next_ps = now_ps + params->cc.cnp_interval_ps;
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
out_of_sequence(struct rc_recv *r, const struct roce_params *params, uint32_t missing)
{
	r->out_of_sequence++;
	r->repairing = true;
	if (r->gap)
		return 0;
	r->gap = true;
	r->most_missing = missing > r->most_missing ? missing : r->most_missing;
	if (!params->nak)
		return 0;
	r->naks++;
	return RC_NAK;
}

/* The expected packet was refused: its successors are out of sequence, and already reported. */
static void
withhold_naks(struct rc_recv *r)
{
	if (!r->repairing)
		r->seen = r->expected;
	r->gap = true;
	r->repairing = true;
}

/* The first packet of a message. @return why it cannot begin, 0: it does */
static uint32_t
begin(struct rc_recv *r, const struct pkt *p, const struct rc_reth *reth)
{
	struct recv_slot slot = { .bytes = UINT64_MAX };

	if (reth != NULL)
		slot = (struct recv_slot){ .offset = reth->place, .bytes = reth->room_bytes };
	if (!roce_is_write(p->opcode) && !recv_ring_pop(&r->receives, &slot)) {
		r->naks++;
		return RC_RNR;
	}
	r->place = slot.offset;
	r->room_bytes = slot.bytes;
	r->imm = p->arg;
	r->done_bytes = 0;
	return 0;
}
