/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blackhole: a switch on the slow step's way swallows its packets. One that knows of it counts them, or has no route;
 * one that does not swallows the polling packets too, and is what lies behind the last port that saw them.
 */
#include <stdio.h>

#include "diag/vedrfolnir/cause/drops.h"

static void
add_silent(struct cause_set *set, uint32_t step, uint32_t port)
{
	const struct evidence *ev = set->in->ev;
	const struct run_step *s = &set->in->steps[step];
	struct cause_finding *finding = cause_add(set, FINDING_BLACKHOLE, port, NULL, 0, step);
	double excess_ps = cause_excess_ps(set->in, step);
	char text[160], name[48], again[96];

	if (finding == NULL)
		return;
	cause_port(set, finding, port);
	cause_time(finding, s->start_ps, s->end_ps);
	cause_explains(finding, port, excess_ps);
	if (cause_score(finding, cause_lost_frames(set->in, step, excess_ps)))
		snprintf(finding->out.evidence, sizeof(finding->out.evidence),
			 "%s: polling packets on its path left by %s, and %s did not see them; %s",
			 cause_step_text(set->in, step, text, sizeof(text)), evidence_port_name(ev, port, name),
			 ev->nodes[ev->ports[port].peer_node].name, drops_again_text(set->in, step, again));
}

void
cause_blackhole(struct cause_set *set, uint32_t step)
{
	uint32_t port;

	drops_add(set, step, FINDING_BLACKHOLE, REC_DROP_BLACKHOLE, "packets swallowed");
	/* A way that is lost because links are down is theirs to explain. */
	if (!drops_any(set->in, step, REC_DROP_LINK_DOWN))
		drops_add(set, step, FINDING_BLACKHOLE, REC_DROP_NO_ROUTE, "packets dropped for want of a route");
	port = drops_silent_end(set->in, step);
	if (port != EV_NONE)
		add_silent(set, step, port);
}
