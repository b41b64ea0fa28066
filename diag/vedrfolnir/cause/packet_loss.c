/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packet loss: a slow step sent packets again. Where its destination counted frames with a wrong ICRC, that port is
 * named; a link that loses frames shows nowhere else than in the retransmissions, and then the flow's own path is all
 * that can be said. Drops with a known reason have signatures of their own.
 */
#include <stdio.h>

#include "diag/vedrfolnir/cause/drops.h"

void
cause_packet_loss(struct cause_set *set, uint32_t step)
{
	const struct evidence *ev = set->in->ev;
	const struct run_step *s = &set->in->steps[step];
	double excess_ps = cause_excess_ps(set->in, step);
	struct cause_finding *finding;
	char text[160], flow[96], again[96];

	if (!s->slow || drops_add(set, step, FINDING_PACKET_LOSS, REC_DROP_CORRUPT, "frames with a wrong ICRC") ||
	    !drops_sent_again(set->in, step) || drops_explain(ev, s) || drops_silent_end(set->in, step) != EV_NONE)
		return;
	finding = cause_add(set, FINDING_PACKET_LOSS, EV_NONE, evidence_flow_name(ev, s->flow, flow), s->flow, step);
	if (finding == NULL)
		return;
	for (uint32_t h = 0; h < ev->flows[s->flow].nhops; h++)
		cause_port(set, finding, ev->hops[ev->flows[s->flow].first_hop + h]);
	cause_time(finding, s->start_ps, s->end_ps);
	cause_explains(finding, EV_NONE, excess_ps);
	if (cause_score(finding, cause_lost_frames(set->in, step, excess_ps)))
		snprintf(finding->out.evidence, sizeof(finding->out.evidence),
			 "%s: %s, and no port that reported counted a drop of them",
			 cause_step_text(set->in, step, text, sizeof(text)), drops_again_text(set->in, step, again));
}
