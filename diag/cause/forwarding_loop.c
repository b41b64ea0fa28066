/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forwarding loop: a polling packet that follows the victim's path came to a port that had answered it already, or
 * packets of the slow step died of old age.
 */
#include <stdio.h>

#include "diag/cause/drops.h"

/* The ports that the looping polling packet went through, in order of its way. */
static void
add_circle(struct cause_set *set, struct cause_finding *finding, const struct rec_poll *last)
{
	const struct evidence *ev = set->in->ev;
	const struct ev_flow *flow = &ev->flows[evidence_flow(ev, &last->victim)];

	for (uint32_t i = flow->first_poll; i < flow->first_poll + flow->npolls; i++) {
		const struct rec_poll *poll = EV_AT(ev->polls, struct rec_poll, ev->poll_by_flow[i]);

		if (poll->hdr.event == last->hdr.event && cause_poll_follows(ev, ev->poll_by_flow[i]) &&
		    evidence_port(ev, poll->hdr.node, poll->out_port) != EV_NONE)
			cause_port(set, finding, evidence_port(ev, poll->hdr.node, poll->out_port));
	}
}

void
cause_forwarding_loop(struct cause_set *set, uint32_t step)
{
	const struct evidence *ev = set->in->ev;
	const struct verdict_step *s = &set->in->steps[step];

	drops_add(set, step, VERDICT_FORWARDING_LOOP, REC_DROP_TTL, "packets dropped with their TTL used up");
	for (uint32_t i = 0; i < ev->flows[s->flow].npolls && s->slow; i++) {
		uint32_t at = ev->poll_by_flow[ev->flows[s->flow].first_poll + i];
		const struct rec_poll *poll = EV_AT(ev->polls, struct rec_poll, at);
		struct cause_finding *finding;
		char text[160], name[48];
		uint32_t port;

		/* Polls that trace pauses meet again where pauses join; only the victim's own path is a single one. */
		if (!poll->repeated || !cause_poll_follows(ev, at) || poll->out_port == REC_NO_PORT ||
		    poll->hdr.time_ps < s->start_ps ||
		    poll->hdr.time_ps > s->end_ps)
			continue;
		port = evidence_port(ev, poll->hdr.node, poll->out_port);
		if (port == EV_NONE)
			continue;
		finding = cause_add(set, VERDICT_FORWARDING_LOOP, port, NULL, 0, step);
		if (finding == NULL)
			return;
		add_circle(set, finding, poll);
		cause_time(finding, s->start_ps, poll->hdr.time_ps);
		cause_explains(finding, port, cause_excess_ps(set->in, step));
		if (cause_score(finding, cause_lost_frames(set->in, step, (double)(s->end_ps - s->start_ps))))
			snprintf(finding->out.evidence, sizeof(finding->out.evidence),
				 "%s: a polling packet on its path came to %s a second time",
				 cause_step_text(set->in, step, text, sizeof(text)),
				 evidence_port_name(ev, port, name));
	}
}
