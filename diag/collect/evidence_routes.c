/* SPDX-License-Identifier: BSD-3-Clause */
/* Configured paths, and the sets of equal cost that hashes choose from. */
#include <errno.h>

#include "diag/collect/evidence_internal.h"

#define PORTS_A_WORD 64

bool
evidence_has_member(const struct rec_ecmp *set, uint16_t port)
{
	return port / PORTS_A_WORD < sizeof(set->ports) / sizeof(set->ports[0]) &&
	       (set->ports[port / PORTS_A_WORD] >> port % PORTS_A_WORD & 1) != 0;
}

/* Sets are sorted by their number. */
static const struct rec_ecmp *
find_set(const struct evidence *ev, uint32_t set)
{
	uint32_t lo = 0, hi = ev->ecmps.count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		const struct rec_ecmp *rec = EV_AT(ev->ecmps, struct rec_ecmp, mid);

		if (rec->set == set)
			return rec;
		if (rec->set < set)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

static int
check_set(const struct evidence *ev, const struct rec_ecmp *set, struct err *err)
{
	for (uint16_t p = 0; p < PORTS_A_WORD * sizeof(set->ports) / sizeof(set->ports[0]); p++) {
		int rc = evidence_has_member(set, p) ? evidence_check_port(ev, &set->hdr, p, err) : 0;

		if (rc != 0)
			return rc;
	}
	return 0;
}

static int
check_route(const struct evidence *ev, const struct rec_route *route, struct err *err)
{
	const struct rec_ecmp *set = find_set(ev, route->ecmp);

	if (route->ecmp != REC_NO_ECMP &&
	    (set == NULL || set->hdr.node != route->hdr.node || !evidence_has_member(set, route->port)))
		return err_set(err, -EINVAL, "a route leaves node %u by port %u, chosen from set %u, which %s",
			       route->hdr.node, route->port, route->ecmp,
			       set == NULL ? "no record describes" : "does not have it");
	return evidence_check_port(ev, &route->hdr, route->port, err);
}

/* Route records are sorted by (flow, direction, hop). */
int
evidence_join_routes(struct evidence *ev, struct err *err)
{
	int rc = 0;

	ev->hops = evidence_alloc(ev->routes.count, sizeof(*ev->hops), err);
	if (ev->hops == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; rc == 0 && i < ev->ecmps.count; i++)
		rc = check_set(ev, EV_AT(ev->ecmps, struct rec_ecmp, i), err);
	for (uint32_t i = 0; rc == 0 && i < ev->routes.count; i++) {
		const struct rec_route *rec = EV_AT(ev->routes, struct rec_route, i);
		struct ev_flow *flow = &ev->flows[evidence_flow(ev, &rec->flow)];

		rc = check_route(ev, rec, err);
		if (flow->nhops + flow->nback == 0)
			flow->first_hop = i;
		ev->hops[i] = evidence_port(ev, rec->hdr.node, rec->port);
		if (rec->reverse) {
			flow->nback++;
		} else {
			flow->nhops++;
			if (rc == 0)
				ev->ports[ev->hops[i]].on_path = true;
		}
	}
	return rc;
}

const struct rec_ecmp *
evidence_choice(const struct evidence *ev, uint32_t flow, uint32_t port)
{
	const struct ev_flow *f = &ev->flows[flow];

	for (uint32_t h = f->first_hop; h < f->first_hop + f->nhops; h++) {
		if (ev->hops[h] == port)
			return find_set(ev, EV_AT(ev->routes, struct rec_route, h)->ecmp);
	}
	return NULL;
}
