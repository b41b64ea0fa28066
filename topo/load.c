/* SPDX-License-Identifier: BSD-3-Clause */
#include "topo/load.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "topo/tiers.h"

/* Groups are numbered by the sender's tier; of each tier up, down, and across. */
enum { UP, DOWN, ACROSS, DIRECTIONS };

_Static_assert((TIERS_MAX + 1) * DIRECTIONS <= FIM_MAX_GROUPS, "a group for each tier and direction");

#define SAME 1e-9

int
topo_load_init(struct topo_load *load, const struct topo *topo)
{
	struct tiers tiers;

	*load = (struct topo_load){ .topo = topo, .links = calloc(topo->nports + 1, sizeof(*load->links)) };
	if (tiers_init(&tiers, topo) != 0 || load->links == NULL) {
		tiers_fini(&tiers);
		topo_load_fini(load);
		return -ENOMEM;
	}
	load->most_tier = tiers.most;
	load->ngroups = (uint16_t)((tiers.most + 1) * DIRECTIONS);
	for (uint32_t p = 0; p < topo->nports; p++) {
		const struct topo_port *port = &topo->ports[p];
		uint8_t from = tiers.of[port->node], to = tiers.of[port->peer];
		int direction = to > from ? UP : to < from ? DOWN : ACROSS;

		load->links[p].group = (uint16_t)(from * DIRECTIONS + direction);
		load->links[p].rate_bps = port->rate_bps;
	}
	tiers_fini(&tiers);
	return 0;
}

void
topo_load_fini(struct topo_load *load)
{
	free(load->links);
	load->links = NULL;
}

void
topo_load_add(struct topo_load *load, const struct route_path *path, int by)
{
	for (uint32_t i = 0; i < path->hops; i++)
		load->links[path->ports[i]].flows += (uint32_t)by;
}

struct fim
topo_load_fim(struct topo_load *load, uint16_t group)
{
	fim_even(load->links, load->topo->nports);
	return fim_of(load->links, load->topo->nports, group);
}

bool
topo_load_is_host(uint16_t group)
{
	return group < DIRECTIONS;
}

static const char *
tier_name(const struct topo_load *load, uint32_t tier)
{
	static const char *const names[4][4] = {
		{ "host", "switch", "switch", "switch" },
		{ "host", "switch", "switch", "switch" },
		{ "host", "leaf", "spine", "spine" },
		{ "host", "edge", "aggregation", "core" },
	};
	static const char *const more[TIERS_MAX + 1] = { "host",   "tier 1", "tier 2", "tier 3", "tier 4",
							 "tier 5", "tier 6", "tier 7", "tier 8" };

	return load->most_tier < 4 ? names[load->most_tier][tier] : more[tier];
}

char *
topo_load_name(const struct topo_load *load, uint16_t group, char buf[40])
{
	uint32_t from = group / DIRECTIONS, to = from;

	if (group % DIRECTIONS == UP && from < load->most_tier)
		to++;
	else if (group % DIRECTIONS == DOWN && from > 0)
		to--;
	snprintf(buf, 40, "%s-to-%s", tier_name(load, from), tier_name(load, to));
	return buf;
}

/* What may become of one link. */
struct chance {
	uint32_t flows; /* that may take it */
	double p;       /* with which probability, the first of them */
	double mean;    /* of flows on it */
	bool is_mixed;  /* others do with another */
};

struct spreading {
	const struct topo_load *load;
	const struct route_table *table;
	struct chance *links;   /* [nports] */
	double *at, *next;      /* [nnodes] that a flow is there, now and a hop later; 0 between flows */
	uint32_t *here, *there; /* [nnodes] where it may be */
};

/* A choice among ports of equal cost. @return how many nodes are in there by now */
static uint32_t
choose_evenly(struct spreading *s, uint32_t node, const uint8_t *ports, uint32_t count, uint32_t nthere)
{
	const struct topo *topo = s->load->topo;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t p = topo->nodes[node].first_port + ports[i], peer = topo->ports[p].peer;
		struct chance *link = &s->links[p];
		double by = s->at[node] / count;

		link->is_mixed |= link->flows != 0 && fabs(link->p - by) > SAME;
		link->p = by;
		link->flows++;
		link->mean += by;
		if (s->next[peer] == 0)
			s->there[nthere++] = peer;
		s->next[peer] += by;
	}
	return nthere;
}

/* All ways of one flow, hop by hop: on shortest ways a link is met at one hop alone. */
static void
spread_flow(struct spreading *s, const struct flow *flow)
{
	const struct topo *topo = s->load->topo;
	uint8_t own[TOPO_MAX_PORTS];
	uint32_t nhere = 1, nown = 0;

	for (uint16_t i = 0; i < topo->nodes[flow->src_node].nports; i++)
		if (topo->nodes[flow->src_node].bonded || i == flow->src_nic)
			own[nown++] = (uint8_t)i;
	s->here[0] = flow->src_node;
	s->at[flow->src_node] = 1;
	for (uint32_t hop = 0; nhere != 0 && hop < ROUTE_MAX_HOPS; hop++) {
		uint32_t nthere = 0, *here = s->here;
		double *at = s->at;

		for (uint32_t i = 0; i < nhere; i++) {
			uint32_t node = s->here[i];
			const uint8_t *ports = own;
			uint32_t count = nown;

			if (hop != 0)
				count = route_next_hops(s->table, node, flow->dst_node, flow->dst_nic, &ports);
			if (node != flow->dst_node)
				nthere = choose_evenly(s, node, ports, count, nthere);
			s->at[node] = 0;
		}
		nhere = nthere;
		s->here = s->there;
		s->there = here;
		s->at = s->next;
		s->next = at;
	}
}

/* Of a link that is to carry so many on average. @return percent, NAN: no closed form */
static double
expectation(const struct chance *link, double ideal)
{
	double links = link->p > 0 ? 1 / link->p : 0;

	if (link->flows == 0 || link->is_mixed || fabs(links - round(links)) > SAME * links ||
	    fabs(link->mean - ideal) > SAME * ideal)
		return NAN;
	return fim_expected(link->flows, (uint64_t)llround(links));
}

static void
sum_up(const struct spreading *s, double *percent, double *all, double *of_switches)
{
	const struct topo_load *load = s->load;
	double mean[FIM_MAX_GROUPS] = { 0 }, rate_bps[FIM_MAX_GROUPS] = { 0 }, sums[2] = { 0 };
	uint32_t count[FIM_MAX_GROUPS] = { 0 }, counts[2] = { 0 };

	for (uint16_t g = 0; g < load->ngroups; g++)
		percent[g] = 0;
	for (uint32_t p = 0; p < load->topo->nports; p++) {
		mean[load->links[p].group] += s->links[p].mean;
		rate_bps[load->links[p].group] += (double)load->links[p].rate_bps;
	}
	for (uint32_t p = 0; p < load->topo->nports; p++) {
		uint16_t group = load->links[p].group;
		double ideal = mean[group] * (double)load->links[p].rate_bps / rate_bps[group], one;

		if (mean[group] == 0)
			continue;
		one = expectation(&s->links[p], ideal);
		percent[group] += one;
		count[group]++;
		sums[topo_load_is_host(group)] += one;
		counts[topo_load_is_host(group)]++;
	}
	for (uint16_t g = 0; g < load->ngroups; g++)
		percent[g] /= count[g] != 0 ? count[g] : 1;
	*of_switches = counts[0] != 0 ? sums[0] / counts[0] : 0;
	*all = counts[0] + counts[1] != 0 ? (sums[0] + sums[1]) / (counts[0] + counts[1]) : 0;
}

int
topo_load_expect(const struct topo_load *load, const struct route_table *table, const struct flow *flows, uint32_t count,
		 double *percent, double *all, double *of_switches)
{
	size_t nodes = load->topo->nnodes + 1;
	struct spreading s = {
		.load = load,
		.table = table,
		.links = calloc(load->topo->nports + 1, sizeof(*s.links)),
		.at = calloc(nodes, sizeof(*s.at)),
		.next = calloc(nodes, sizeof(*s.next)),
		.here = calloc(nodes, sizeof(*s.here)),
		.there = calloc(nodes, sizeof(*s.there)),
	};
	int ret = -ENOMEM;

	if (s.links != NULL && s.at != NULL && s.next != NULL && s.here != NULL && s.there != NULL) {
		for (uint32_t f = 0; f < count; f++)
			spread_flow(&s, &flows[f]);
		sum_up(&s, percent, all, of_switches);
		ret = 0;
	}
	free(s.links);
	free(s.at);
	free(s.next);
	free(s.here);
	free(s.there);
	return ret;
}
