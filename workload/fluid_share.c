/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload/fluid_share.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Levels that differ by less are one: what rounding makes of equal shares. */
#define SAME_LEVEL (1 + 1e-9)

static void gather(struct share *share, uint32_t port);
static void fill(struct share *share);

int
share_init(struct share *share, uint32_t nflows, uint32_t nports)
{
	*share = (struct share){
		.flows = malloc((nflows + 1u) * sizeof(*share->flows)),
		.ports = malloc((2 * nports + 1u) * sizeof(*share->ports)),
		.nports = nports,
		.members = malloc((nflows + 1u) * sizeof(*share->members)),
		.slow = malloc((nflows + 1u) * sizeof(*share->slow)),
		.touched = malloc((2 * nports + 1u) * sizeof(*share->touched)),
	};
	if (share->flows == NULL || share->ports == NULL || share->members == NULL || share->slow == NULL ||
	    share->touched == NULL) {
		share_fini(share);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < nflows; i++)
		share->flows[i] = (struct share_flow){ .port = { SHARE_NONE, SHARE_NONE } };
	for (uint32_t i = 0; i < 2 * nports; i++)
		share->ports[i] = (struct share_port){ .first = SHARE_NONE };
	return 0;
}

void
share_fini(struct share *share)
{
	free(share->flows);
	free(share->ports);
	free(share->members);
	free(share->slow);
	free(share->touched);
	*share = (struct share){ 0 };
}

void
share_add(struct share *share, uint32_t flow, const struct share_demand *demand)
{
	struct share_flow *f = &share->flows[flow];

	assert(f->port[SHARE_TX] == SHARE_NONE && demand->bytes > 0 && demand->alone_ps > 0);
	f->most = (double)demand->bytes / (double)demand->alone_ps;
	f->speed = 1;
	f->round = 0;
	for (uint32_t side = 0; side < SHARE_SIDES; side++) {
		struct share_port *p;

		assert(demand->port[side] < share->nports && demand->occupies_ps[side] <= demand->alone_ps);
		f->port[side] = demand->port[side] + side * share->nports;
		f->cost[side] = (double)demand->occupies_ps[side] / (double)demand->bytes;
		p = &share->ports[f->port[side]];
		f->prev[side] = SHARE_NONE;
		f->next[side] = p->first;
		if (p->first != SHARE_NONE)
			share->flows[p->first].prev[side] = flow;
		p->first = flow;
	}
}

void
share_remove(struct share *share, uint32_t flow)
{
	struct share_flow *f = &share->flows[flow];

	for (uint32_t side = 0; side < SHARE_SIDES; side++) {
		if (f->prev[side] != SHARE_NONE)
			share->flows[f->prev[side]].next[side] = f->next[side];
		else
			share->ports[f->port[side]].first = f->next[side];
		if (f->next[side] != SHARE_NONE)
			share->flows[f->next[side]].prev[side] = f->prev[side];
		f->port[side] = SHARE_NONE;
	}
}

void
share_out(struct share *share, enum share_side side, uint32_t port)
{
	gather(share, port + side * share->nports);
	if (share->nmembers == 1)
		share->flows[share->members[0]].speed = 1; /* exactly */
	else
		fill(share);
}

static void
touch(struct share *share, uint32_t port)
{
	struct share_port *p = &share->ports[port];

	if (p->round == share->round)
		return;
	p->round = share->round;
	p->open = 0;
	p->free = 1;
	p->cost = 0;
	share->touched[share->ntouched++] = port;
}

/* The flows of a port, the other ports of those, and so on. */
static void
gather(struct share *share, uint32_t port)
{
	share->round++;
	share->nmembers = 0;
	share->nslow = 0;
	share->ntouched = 0;
	touch(share, port);
	for (uint32_t i = 0; i < share->ntouched; i++) {
		struct share_port *p = &share->ports[share->touched[i]];
		uint32_t side = share->touched[i] >= share->nports ? SHARE_RX : SHARE_TX;

		for (uint32_t at = p->first; at != SHARE_NONE; at = share->flows[at].next[side]) {
			struct share_flow *f = &share->flows[at];

			p->open++;
			p->cost += f->cost[side];
			if (f->round == share->round)
				continue;
			f->round = share->round;
			f->fixed = false;
			share->members[share->nmembers++] = at;
			if (f->most * fmax(f->cost[SHARE_TX], f->cost[SHARE_RX]) * SAME_LEVEL < 1)
				share->slow[share->nslow++] = at;
			touch(share, f->port[!side]);
		}
	}
}

static int
compare_most(const void *a, const void *b, void *flows_arg)
{
	const struct share_flow *flows = flows_arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (flows[x].most != flows[y].most)
		return flows[x].most < flows[y].most ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* A flow has its rate: what it takes is gone from its ports. */
static void
fix(struct share *share, struct share_flow *f, double rate)
{
	f->fixed = true;
	f->speed = rate >= f->most ? 1 : rate / f->most;
	for (uint32_t side = 0; side < SHARE_SIDES; side++) {
		struct share_port *p = &share->ports[f->port[side]];

		p->free -= f->speed * f->most * f->cost[side];
		p->cost -= f->cost[side];
		p->open--;
	}
}

/* The rate to which all flows of a port without one could rise. */
static double
level_of(const struct share_port *p)
{
	return p->open == 0 || p->cost <= 0 ? INFINITY : fmax(p->free, 0) / p->cost;
}

static void
fix_port(struct share *share, uint32_t port, double rate)
{
	uint32_t side = port >= share->nports ? SHARE_RX : SHARE_TX;

	for (uint32_t at = share->ports[port].first; at != SHARE_NONE; at = share->flows[at].next[side])
		if (!share->flows[at].fixed)
			fix(share, &share->flows[at], rate);
}

static void
fill(struct share *share)
{
	uint32_t slow = 0;

	qsort_r(share->slow, share->nslow, sizeof(*share->slow), compare_most, share->flows);
	for (;;) {
		double least = INFINITY;

		for (uint32_t i = 0; i < share->ntouched; i++)
			least = fmin(least, level_of(&share->ports[share->touched[i]]));
		while (slow < share->nslow && share->flows[share->slow[slow]].fixed)
			slow++;
		if (slow < share->nslow && share->flows[share->slow[slow]].most <= least) {
			fix(share, &share->flows[share->slow[slow]], INFINITY);
			continue;
		}
		if (least == INFINITY)
			break;
		for (uint32_t i = 0; i < share->ntouched; i++)
			if (level_of(&share->ports[share->touched[i]]) <= least * SAME_LEVEL)
				fix_port(share, share->touched[i], least);
	}
	/* Only what costs nothing anywhere can be left. */
	for (uint32_t i = 0; i < share->nmembers; i++)
		if (!share->flows[share->members[i]].fixed)
			fix(share, &share->flows[share->members[i]], INFINITY);
}
