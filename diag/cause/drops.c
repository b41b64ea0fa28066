/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/cause/drops.h"

#include <stdio.h>

static bool
hits(const struct evidence *ev, uint32_t flow, uint32_t port, const struct rec_drop_row *row)
{
	const struct ev_flow *f = &ev->flows[flow];

	if (evidence_flow(ev, &row->last) == flow)
		return true;
	for (uint32_t h = 0; h < f->nhops; h++) {
		/* Data is dropped at an egress of the path, or where it came in: the other end of the hop before. */
		if (ev->hops[f->first_hop + h] == port || ev->ports[ev->hops[f->first_hop + h]].peer == port)
			return true;
	}
	return false;
}

bool
drops_add(struct cause_set *set, uint32_t step, enum verdict_type type, enum rec_drop reason, const char *what)
{
	const struct evidence *ev = set->in->ev;
	const struct verdict_step *s = &set->in->steps[step];
	double excess_ps = (double)(s->end_ps - s->start_ps) - (double)s->expect_ps;
	bool added = false;

	for (uint32_t i = 0; i < ev->drops.count && s->slow; i++) {
		const struct rec_drop_row *row = EV_AT(ev->drops, struct rec_drop_row, i);
		uint32_t port = evidence_port(ev, row->hdr.node, row->port);
		struct cause_finding *finding;
		char text[160], name[48];

		if (row->reason != reason || row->first_ps > s->end_ps || row->last_ps < s->start_ps ||
		    !hits(ev, s->flow, port, row))
			continue;
		added = true;
		finding = cause_add(set, type, port, NULL, 0, step);
		if (finding == NULL)
			continue;
		cause_port(set, finding, port);
		cause_time(finding, row->first_ps, row->last_ps);
		if (cause_score(finding, cause_lost_frames(set->in, step, excess_ps)))
			snprintf(finding->out.evidence, sizeof(finding->out.evidence),
				 "%s: %s counts %llu %s; the step sent %u packets again",
				 cause_step_text(set->in, step, text, sizeof(text)), evidence_port_name(ev, port, name),
				 (unsigned long long)row->packets, what, s->retransmits);
	}
	return added;
}
