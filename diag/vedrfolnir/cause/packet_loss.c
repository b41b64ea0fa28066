/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packet loss: a slow step sent packets again. Where frames came in damaged, a switch's port counts them by their FCS, the
 * destination's by their ICRC: that end of the cable is named, and the other. A link that loses frames shows nowhere else than
 * in the retransmissions, and then the flow's own path is all that can be said. Drops with a known reason have signatures of
 * their own.
 */
#include "common/array.h"
#include "diag/vedrfolnir/cause/drops.h"

enum { SAYS_CORRUPT, SAYS_SENT_AGAIN };
static const char *const clauses[] = {
	"{step}: {port}, the end of its link from {other}, counts {count} frames that came in damaged; {again}",
	[SAYS_SENT_AGAIN] = "{step}: {again}, and no port that reported counted a drop of them",
};

static void
look(struct cause_set *set, uint32_t step)
{
	const struct evidence *ev = set->in->ev;
	const struct run_step *s = &set->in->steps[step];
	double excess_ps = cause_excess_ps(set->in, step);
	struct cause_finding *finding;
	char flow[96];

	if (!s->slow || drops_add(set, step, REC_DROP_CORRUPT, SAYS_CORRUPT) || !drops_sent_again(set->in, step) ||
	    drops_explain(ev, s) || drops_silent_end(set->in, step) != EV_NONE)
		return;
	finding = cause_add(set, EV_NONE, evidence_flow_name(ev, s->flow, flow), s->flow, step);
	if (finding == NULL)
		return;
	for (uint32_t h = 0; h < ev->flows[s->flow].nhops; h++)
		cause_port(set, finding, ev->hops[ev->flows[s->flow].first_hop + h]);
	cause_time(finding, s->start_ps, s->end_ps);
	cause_explains(finding, EV_NONE, excess_ps);
	if (cause_score(finding, cause_lost_frames(set->in, step, excess_ps)))
		finding->out.evidence =
			(struct finding_evidence){ .clauses = { SAYS_SENT_AGAIN }, .nclauses = 1, .step = step };
}

const struct cause cause_packet_loss = {
	.type = { .key = "packet-loss",
		  .title = "packet loss",
		  .preposition = "at ",
		  .badge = "lost",
		  .traits = FINDING_OF_LOSS,
		  .clauses = clauses,
		  .nclauses = ARRAY_LEN(clauses) },
	.look = look,
};
