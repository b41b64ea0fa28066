/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiver not ready: a receiver without a posted receive refused packets (RNR NAK), and its sender waited. */
#include "common/array.h"
#include "diag/vedrfolnir/cause/cause.h"

static void
look(struct cause_set *set, uint32_t step)
{
	const struct evidence *ev = set->in->ev;
	const struct run_step *s = &set->in->steps[step];
	uint32_t dst = run_is_local(s) ? EV_NONE : ev->flows[s->flow].dst;
	struct cause_finding *finding = dst == EV_NONE
						? NULL
						: cause_of_sender(set, step, cause_ledger_ps(set->in, step, LEDGER_PEER),
								  EV_NONE, ev->nodes[dst].name);

	if (finding != NULL)
		finding->out.evidence.node = dst;
}

static const char *const clauses[] = {
	"{step}: {node} was not ready to receive: waiting for it and sending again took {ms} ms",
};

const struct cause cause_receiver_not_ready = {
	.type = { .key = "receiver-not-ready",
		  .title = "receiver not ready",
		  .preposition = "at ",
		  .badge = "host",
		  .traits = FINDING_OF_HOST | FINDING_OF_SENDER | FINDING_OF_FAULT,
		  .clauses = clauses,
		  .nclauses = ARRAY_LEN(clauses) },
	.look = look,
};
