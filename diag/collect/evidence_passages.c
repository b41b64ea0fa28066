/* SPDX-License-Identifier: BSD-3-Clause */
/* What had passed where polling packets came by: each record with what it is compared with. */
#include <errno.h>
#include <stdlib.h>

#include "diag/collect/evidence_internal.h"

#define HOPS_LOOKED_AT                                                                                                     \
	64 /* latest records of what left by a port: its polling packet is among them, or its record was lost */

/* Records by the port that their packets left by: the latest, and of each the one before. */
struct leaving {
	uint32_t *latest, *before;
};

static uint32_t
find_hop(const struct evidence *ev, const struct leaving *leaving, uint32_t port, uint32_t event)
{
	uint32_t i = port != EV_NONE ? leaving->latest[port] : EV_NONE;

	for (uint32_t n = 0; i != EV_NONE && n < HOPS_LOOKED_AT; n++, i = leaving->before[i])
		if (EV_AT(ev->passages, struct rec_passage, i)->hdr.event == event)
			return i;
	return EV_NONE;
}

/* The ACKs' way begins at the flow's destination, which records that the packet came, and not that it goes back. */
static bool
is_back(const struct evidence *ev, const struct ev_passed *passed)
{
	if (passed->hop != EV_NONE)
		return ev->passed[passed->hop].back;
	return passed->in_port != EV_NONE && passed->flow != EV_NONE &&
	       ev->ports[passed->in_port].peer_node == ev->flows[passed->flow].dst;
}

static void
join(struct evidence *ev, struct leaving *leaving, uint32_t i)
{
	const struct rec_passage *rec = EV_AT(ev->passages, struct rec_passage, i);
	struct ev_passed *passed = &ev->passed[i];

	*passed = (struct ev_passed){
		.flow = evidence_flow(ev, &rec->flow),
		.in_port = evidence_port(ev, rec->hdr.node, rec->in_port),
		.out_port = evidence_port(ev, rec->hdr.node, rec->out_port),
		.earlier = EV_NONE,
		.hop = EV_NONE,
	};
	if (passed->in_port != EV_NONE) {
		passed->earlier = ev->ports[passed->in_port].last_passed;
		ev->ports[passed->in_port].last_passed = i;
		passed->hop = find_hop(ev, leaving, ev->ports[passed->in_port].peer, rec->hdr.event);
	}
	passed->back = is_back(ev, passed);
	if (passed->out_port != EV_NONE) {
		leaving->before[i] = leaving->latest[passed->out_port];
		leaving->latest[passed->out_port] = i;
	}
}

int
evidence_join_passages(struct evidence *ev, struct err *err)
{
	struct leaving leaving = {
		.latest = evidence_alloc(ev->nports, sizeof(*leaving.latest), err),
		.before = evidence_alloc(ev->passages.count, sizeof(*leaving.before), err),
	};
	int rc = 0;

	ev->passed = evidence_alloc(ev->passages.count, sizeof(*ev->passed), err);
	if (leaving.latest == NULL || leaving.before == NULL || ev->passed == NULL) {
		rc = -ENOMEM;
	} else {
		for (uint32_t p = 0; p < ev->nports; p++)
			leaving.latest[p] = ev->ports[p].last_passed = EV_NONE;
		for (uint32_t i = 0; i < ev->passages.count; i++)
			join(ev, &leaving, i);
	}
	free(leaving.latest);
	free(leaving.before);
	return rc;
}
