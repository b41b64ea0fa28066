/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reordering: packets of a flow overtook others, and its receiver accepts them in order alone (go-back-N). The sender sent
 * again what had only been overtaken, as the ACKs of the first copies show; or the receiver's count of packets that arrived
 * twice, where a NAK was the last that the sender received.
 */
#include "common/array.h"
#include "diag/vedrfolnir/cause/cause.h"
#include "diag/vedrfolnir/cause/drops.h"

/* Packets that leave a loop are overtaken by those that were not in it: the loop is the cause. */
static bool
looped(const struct cause_set *set)
{
	for (uint32_t i = 0; i < set->count; i++)
		if (set->findings[i].out.type == &cause_forwarding_loop.type)
			return true;
	return false;
}

static void
look(struct cause_set *set, uint32_t step)
{
	const struct run_step *s = &set->in->steps[step];
	double ps = cause_ledger_ps(set->in, step, LEDGER_REORDERED), nak_ps = cause_ledger_ps(set->in, step, LEDGER_NAK);
	char flow[96];

	if (looped(set))
		return;
	if (nak_ps > 0 && passage_overtaken(set->in, step))
		ps += nak_ps;
	cause_of_sender(set, step, ps, EV_NONE, evidence_flow_name(set->in->ev, s->flow, flow));
}

static const char *const clauses[] = {
	"{step}: {again} that had only been overtaken, which took {ms} ms",
};

const struct cause cause_reordering = {
	.type = { .key = "reordering",
		  .title = "reordered packets sent again",
		  .preposition = "of ",
		  .badge = "lost",
		  .traits = 0,
		  .clauses = clauses,
		  .nclauses = ARRAY_LEN(clauses) },
	.look = look,
};
