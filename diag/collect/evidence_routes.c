/* SPDX-License-Identifier: BSD-3-Clause */
/* Configured paths, and the sets of equal cost that hashes choose from. */
#include <errno.h>

#include "common/array.h"
#include "diag/collect/evidence_internal.h"

#define PORTS_A_WORD 64

bool
evidence_has_member(const struct rec_ecmp *set, uint16_t port)
{
	return port / PORTS_A_WORD < ARRAY_LEN(set->ports) &&
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

/* Route records are sorted by (flow, direction, hop). */
int
evidence_join_routes(struct evidence *ev, struct err *err)
{
	ev->hops = evidence_alloc(ev->routes.count, sizeof(*ev->hops), err);
	if (ev->hops == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < ev->routes.count; i++) {
		const struct rec_route *rec = EV_AT(ev->routes, struct rec_route, i);
		struct ev_flow *flow = &ev->flows[evidence_flow(ev, &rec->flow)];

		if (flow->nhops + flow->nback == 0)
			flow->first_hop = i;
		ev->hops[i] = evidence_port(ev, rec->hdr.node, rec->port);
		if (rec->reverse) {
			flow->nback++;
		} else {
			flow->nhops++;
			ev->ports[ev->hops[i]].on_path = true;
		}
	}
	return 0;
}

bool
evidence_is_sprayed(const struct evidence *ev, uint32_t flow)
{
	const struct ev_flow *f = &ev->flows[flow];

	for (uint32_t h = f->first_hop; h < f->first_hop + f->nhops + f->nback; h++) {
		const struct rec_ecmp *set = find_set(ev, EV_AT(ev->routes, struct rec_route, h)->ecmp);

		if (set != NULL && set->sprayed)
			return true;
	}
	return false;
}

const struct rec_ecmp *
evidence_choice(const struct evidence *ev, uint32_t flow, uint32_t port)
{
	const struct ev_flow *f = &ev->flows[flow];

	for (uint32_t h = f->first_hop; h < f->first_hop + f->nhops; h++) {
		const struct rec_ecmp *set;

		if (ev->hops[h] != port)
			continue;
		set = find_set(ev, EV_AT(ev->routes, struct rec_route, h)->ecmp);
		return set != NULL && !set->sprayed ? set : NULL;
	}
	return NULL;
}
