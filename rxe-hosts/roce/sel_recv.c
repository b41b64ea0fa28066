/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/roce/sel_recv.h"

#include <stdlib.h>

#include "common/wire/roce.h"

#define WORD_PACKETS 64
#define BEFORE_BITS ((1 << AETH_ACK_BEFORE) - 1)

struct sel_recv *
sel_recv_create(uint32_t span)
{
	struct sel_recv *sel = calloc(1, sizeof(*sel));

	if (sel == NULL)
		return NULL;
	sel->mask = span - 1;
	sel->received = calloc(span / WORD_PACKETS, sizeof(*sel->received));
	if (sel->received != NULL)
		return sel;
	free(sel);
	return NULL;
}

void
sel_recv_destroy(struct sel_recv *sel)
{
	if (sel != NULL)
		free(sel->received);
	free(sel);
}

/* The expected packet is here, and all that came before it in time and stands behind it in order. */
static void
advance(struct rc_recv *r, struct sel_recv *sel)
{
	r->expected = (r->expected + 1) & PSN_MASK;
	sel->count++;
	while (sel->ahead != 0) {
		uint64_t *word = &sel->received[(r->expected & sel->mask) / WORD_PACKETS];
		uint32_t at = r->expected % WORD_PACKETS, run;
		uint64_t missing = ~(*word >> at);

		run = missing != 0 ? (uint32_t)__builtin_ctzll(missing) : WORD_PACKETS;
		if (run == 0)
			return;
		*word &= ~((run < WORD_PACKETS ? (1ULL << run) - 1 : ~0ULL) << at);
		sel->ahead -= run;
		sel->count += run;
		r->expected = (r->expected + run) & PSN_MASK;
	}
}

static void
note_last(struct sel_recv *sel, const struct pkt *p, uint32_t ahead)
{
	sel->lasts[p->message % SEL_MESSAGES] = (struct sel_last){
		.end = sel->count + ahead + 1,
		.imm = p->arg,
		.payload_bytes = p->payload_bytes,
		.received = true,
	};
}

/* A sender sends every number for the first time in order; so must they arrive where the network keeps order. */
static inline uint32_t
note_order(struct rc_recv *r, const struct pkt *p)
{
	if (p->flags & PKT_RETRANSMIT)
		return 0;
	if (psn_diff(p->psn, r->seen) < 0)
		return RC_REORDERED;
	r->seen = (p->psn + 1) & PSN_MASK;
	return 0;
}

/* A packet behind the expected one is kept. @return false: it came before, or cannot be; *reply says what to answer */
static bool
keep(struct rc_recv *r, struct sel_recv *sel, const struct pkt *p, uint32_t ahead, uint32_t *reply)
{
	uint64_t *word = &sel->received[(p->psn & sel->mask) / WORD_PACKETS], bit = 1ULL << p->psn % WORD_PACKETS;

	if (ahead > sel->mask) {
		r->stale++;
		*reply &= ~(uint32_t)RC_ACK;
		return false;
	}
	if (*word & bit) {
		r->duplicates++;
		return false;
	}
	*word |= bit;
	sel->ahead++;
	sel->early++;
	return true;
}

static bool
is_complete(const struct rc_recv *r, const struct sel_recv *sel)
{
	const struct sel_last *last = &sel->lasts[r->msn % SEL_MESSAGES];

	return last->received && sel->count >= last->end;
}

uint32_t
sel_recv_data(struct rc_recv *r, struct sel_recv *sel, const struct roce_params *params, const struct pkt *p,
	      uint64_t now_ps)
{
	int32_t ahead = psn_diff(p->psn, r->expected);
	uint32_t reply = RC_ACK | note_order(r, p);
	bool missing = sel->ahead != 0;

	if (__builtin_expect((p->flags & PKT_CE) != 0, 0))
		reply |= rc_recv_marked(r, params, now_ps);
	if (ahead < 0) {
		r->duplicates++;
		return reply;
	}
	if (ahead > 0 && !keep(r, sel, p, (uint32_t)ahead, &reply))
		return reply;
	if (p->flags & PKT_LAST)
		note_last(sel, p, (uint32_t)ahead);
	if (ahead == 0)
		advance(r, sel);
	if (!missing && ahead == 0 && ++r->unacked < params->ack_every && !(p->flags & PKT_ACKREQ))
		reply &= ~(uint32_t)RC_ACK; /* all that has come is before the packet expected: the next ACK tells of it */
	return reply | RC_ACCEPTED | (is_complete(r, sel) ? RC_COMPLETE : 0);
}

uint8_t
sel_recv_syndrome(const struct rc_recv *r, const struct sel_recv *sel, uint32_t psn)
{
	int32_t ahead = psn_diff(psn, r->expected);
	uint32_t at = psn % WORD_PACKETS, word = (psn & sel->mask) / WORD_PACKETS;
	uint32_t words = sel->mask / WORD_PACKETS; /* less one */
	uint64_t before;

	if (ahead <= 0)
		return AETH_ACK_SELECTIVE | BEFORE_BITS;
	if (at >= AETH_ACK_BEFORE)
		before = sel->received[word] >> (at - AETH_ACK_BEFORE);
	else
		before = sel->received[word] << (AETH_ACK_BEFORE - at) |
			 sel->received[(word - 1) & words] >> (WORD_PACKETS - (AETH_ACK_BEFORE - at));
	if (ahead < AETH_ACK_BEFORE)
		before |= (1ULL << (AETH_ACK_BEFORE - ahead)) - 1;
	return AETH_ACK_SELECTIVE | (uint8_t)(before & BEFORE_BITS);
}

bool
sel_recv_pop(struct rc_recv *r, struct sel_recv *sel, const struct roce_params *params)
{
	struct sel_last *last = &sel->lasts[r->msn % SEL_MESSAGES];

	if (!is_complete(r, sel))
		return false;
	r->imm = last->imm;
	r->done_bytes = (last->end - sel->first - 1) * params->mtu_bytes + last->payload_bytes;
	last->received = false;
	sel->first = last->end;
	r->msn = (r->msn + 1) & PSN_MASK;
	return true;
}
