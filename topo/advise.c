/* SPDX-License-Identifier: BSD-3-Clause */
#include "topo/advise.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "topo/route.h"

/* Load of links. */

_Static_assert(TOPO_MAX_PORTS <= FIM_MAX_PORTS && ROUTE_MAX_HOPS <= FIM_MAX_HOPS, "a topology fits");

int
topo_load_init(struct topo_load *load, const struct topo *topo, const bool *usable)
{
	struct fim_fabric *fabric = &load->fabric;

	load->topo = topo;
	if (fim_fabric_init(fabric, topo->nnodes, topo->nports) != 0)
		return -ENOMEM;
	for (uint32_t n = 0; n < topo->nnodes; n++)
		fabric->nodes[n] = (struct fim_node){ topo->nodes[n].first_port, topo->nodes[n].nports,
						      topo->nodes[n].kind == TOPO_HOST };
	for (uint32_t p = 0; p < topo->nports; p++) {
		const struct topo_port *port = &topo->ports[p];

		fabric->ports[p] = (struct fim_port){ .node = port->node,
						      .peer = port->peer,
						      .peer_port = port->peer_port,
						      .rate_bps = port->rate_bps,
						      .down = usable != NULL && !usable[p] };
	}
	return fim_fabric_layers(fabric);
}

void
topo_load_fini(struct topo_load *load)
{
	fim_fabric_fini(&load->fabric);
}

/* A NIC of a host; of a bond, all of its members. */
static struct fim_ports
nics_of(const struct topo *topo, uint32_t node, uint16_t nic)
{
	struct fim_ports ports = { { 0 } };

	for (uint32_t i = 0; i < topo->nodes[node].nports; i++)
		if (topo->nodes[node].bonded || i == nic)
			ports.of[i / 64] |= UINT64_C(1) << i % 64;
	return ports;
}

int
topo_load_offer(struct topo_load *load, const struct flow *flows, const uint32_t *hops, uint32_t count)
{
	struct fim_flow *all = calloc(count + 1u, sizeof(*all));
	int ret = -ENOMEM;

	for (uint32_t f = 0; all != NULL && f < count; f++)
		all[f] = (struct fim_flow){ .src = flows[f].src_node,
					    .dst = flows[f].dst_node,
					    .from = nics_of(load->topo, flows[f].src_node, flows[f].src_nic),
					    .to = nics_of(load->topo, flows[f].dst_node, flows[f].dst_nic),
					    .hops = hops != NULL && hops[f] != 0 ? hops[f] : FIM_MAX_HOPS };
	if (all != NULL)
		ret = fim_fabric_offer(&load->fabric, all, count, NULL, 0);
	free(all);
	return ret;
}

void
topo_load_add(struct topo_load *load, const struct route_path *path, int by)
{
	for (uint32_t i = 0; i < path->hops; i++)
		load->fabric.links[path->ports[i]].flows += (uint32_t)by;
}

char *
topo_load_name(const struct topo_load *load, uint16_t group, char buf[FIM_LAYER_NAME])
{
	return fim_layer_name(&load->fabric.layers[group], load->fabric.most_tier, buf);
}

/* The search. */

#define LESS 1e-9 /* costs that differ by less are equal: rates make them fractions */
#define LAST_PORT 65535

struct search {
	const struct routing *routing;
	const bool *usable; /* [nports] NULL: all */
	struct advice *advice;
	struct topo_load load;
	double *weight; /* [nports] the fastest link's rate over this one's */
	uint32_t turn;  /* ties are broken from here on: another for every flow */
	bool sideways;  /* a path of equal cost is taken, too: from there a better one may be open to others */
	uint32_t steps; /* steps left */
	const struct flow *flow;
	struct route_path path, best; /* tried now; the best so far */
	double best_cost;
};

/* @return the increase of the sum of costs by one more flow on a link */
static inline double
cost_of(const struct search *s, uint32_t port)
{
	return s->weight[port] * (2.0 * s->load.fabric.links[port].flows + 1);
}

static double
cost_of_path(const struct search *s, const struct route_path *path)
{
	double cost = 0;

	for (uint32_t i = 0; i < path->hops; i++)
		cost += cost_of(s, path->ports[i]);
	return cost;
}

static bool
is_same(const struct route_path *a, const struct route_path *b)
{
	return a->hops == b->hops && memcmp(a->ports, b->ports, a->hops * sizeof(*a->ports)) == 0;
}

static bool
is_usable(const struct search *s, const struct route_path *path)
{
	for (uint32_t i = 0; s->usable != NULL && i < path->hops; i++)
		if (!s->usable[path->ports[i]])
			return false;
	return true;
}

/* Begins with the flow's present path, if that is usable. */
static void
begin_search(struct search *s, uint32_t f)
{
	s->best = s->advice->paths[f];
	s->best_cost = is_usable(s, &s->best) ? cost_of_path(s, &s->best) + (s->sideways ? 2 * LESS : 0) : INFINITY;
}

/* Depth first over ports of equal cost. */
static void
search_from(struct search *s, uint32_t node, double cost)
{
	const struct topo *topo = s->routing->topo;
	uint8_t own[TOPO_MAX_PORTS];
	const uint8_t *ports = own;
	uint32_t count = 0;

	if (node == s->flow->dst_node) {
		s->best = s->path;
		s->best_cost = cost;
		return;
	}
	if (s->path.hops == 0) {
		for (uint16_t i = 0; i < topo->nodes[node].nports; i++)
			if (topo->nodes[node].bonded || i == s->flow->src_nic)
				own[count++] = (uint8_t)i;
	} else {
		count = route_next_hops(s->routing->table, node, s->flow->dst_node, s->flow->dst_nic, &ports);
	}
	for (uint32_t i = 0; i < count && s->steps != 0 && s->path.hops < ROUTE_MAX_HOPS; i++) {
		uint32_t port = topo->nodes[node].first_port + ports[(i + s->turn) % count];
		double with = cost + cost_of(s, port);

		s->steps--;
		if (s->usable != NULL && !s->usable[port])
			continue;
		if (with > s->best_cost - LESS)
			continue;
		s->path.ports[s->path.hops++] = port;
		search_from(s, topo->ports[port].peer, with);
		s->path.hops--;
	}
}

static bool
search_paths(struct search *s, uint32_t f)
{
	struct advice *advice = s->advice;

	s->steps = ADVISE_STEPS;
	s->flow = &advice->flows[f];
	s->path.hops = 0;
	begin_search(s, f);
	search_from(s, s->flow->src_node, 0);
	if (is_same(&s->best, &advice->paths[f]))
		return false;
	advice->paths[f] = s->best;
	if (s->routing->topo->nodes[s->flow->src_node].bonded)
		advice->flows[f].src_nic = s->routing->topo->ports[s->best.ports[0]].index;
	return true;
}

/* Has another flow of these hosts the port already? */
static bool
is_taken(const struct advice *advice, uint32_t f, uint16_t sport)
{
	const struct flow *flow = &advice->flows[f];

	for (uint32_t i = 0; i < advice->count; i++) {
		const struct flow *other = &advice->flows[i];

		if (i != f && other->sport == sport && other->src_ip == flow->src_ip && other->dst_ip == flow->dst_ip)
			return true;
	}
	return false;
}

static bool
search_ports(struct search *s, uint32_t f)
{
	struct advice *advice = s->advice;
	struct flow best = advice->flows[f], flow = best;
	uint32_t first = (uint32_t)((uint64_t)f * ADVISE_PORTS % (LAST_PORT - ADVISE_FIRST_PORT + 1));
	bool found = false;

	begin_search(s, f);
	for (uint32_t i = 0; i < ADVISE_PORTS; i++) {
		double cost;

		flow.sport = (uint16_t)(ADVISE_FIRST_PORT + (first + i) % (LAST_PORT - ADVISE_FIRST_PORT + 1));
		bond_place(s->routing, &flow);
		if (route_flow_path(s->routing, &flow, false, &s->path) != 0 || !is_usable(s, &s->path))
			continue;
		cost = cost_of_path(s, &s->path);
		if (cost > s->best_cost - LESS || is_taken(advice, f, flow.sport))
			continue;
		s->best_cost = cost;
		s->best = s->path;
		best = flow;
		found = true;
	}
	advice->flows[f] = best;
	advice->paths[f] = s->best;
	return found;
}

/* @return whether nothing is left to gain: links of a layer and direction differ by one flow at most */
static bool
is_even(struct search *s)
{
	for (uint16_t g = 0; g < s->load.fabric.nlayers; g++) {
		const struct fim fim = fim_fabric_metric(&s->load.fabric, g);

		if (fim.most > fim.least + 1)
			return false;
	}
	return true;
}

/* @return whether a flow has another path now */
static bool
run_round(struct search *s, enum advise_by by)
{
	struct advice *advice = s->advice;
	bool changed = false;

	for (uint32_t f = 0; f < advice->count; f++) {
		if (advice->paths[f].hops == 0)
			continue;
		topo_load_add(&s->load, &advice->paths[f], -1);
		s->turn = f + advice->rounds;
		changed |= by == ADVISE_PATHS ? search_paths(s, f) : search_ports(s, f);
		topo_load_add(&s->load, &advice->paths[f], 1);
	}
	advice->rounds++;
	return changed;
}

/* Flows as they are. */
static void
begin(struct search *s, const struct routing *routing, const struct flow *flows, const struct route_path *paths)
{
	struct advice *advice = s->advice;

	memcpy(advice->flows, flows, advice->count * sizeof(*flows));
	for (uint32_t f = 0; f < advice->count; f++) {
		if (paths != NULL)
			advice->paths[f] = paths[f];
		else if (route_flow_path(routing, &flows[f], false, &advice->paths[f]) != 0)
			advice->paths[f].hops = 0;
		topo_load_add(&s->load, &advice->paths[f], 1);
	}
}

int
advise(const struct routing *routing, const struct flow *flows, uint32_t count, enum advise_by by,
       const struct advise_seen *seen, struct advice *advice)
{
	const struct topo *topo = routing->topo;
	struct routing unpinned = *routing;
	struct search s = { .routing = by == ADVISE_PATHS ? routing : &unpinned,
			    .usable = seen != NULL ? seen->usable : NULL,
			    .advice = advice };
	struct route_path *before = calloc(count + 1, sizeof(*before));
	uint64_t fastest_bps = 0;
	int ret = -ENOMEM;

	unpinned.pins = NULL;
	*advice = (struct advice){
		.flows = calloc(count + 1, sizeof(*advice->flows)),
		.paths = calloc(count + 1, sizeof(*advice->paths)),
		.moved = calloc(count + 1, sizeof(*advice->moved)),
		.count = count,
	};
	s.weight = calloc(topo->nports + 1, sizeof(*s.weight));
	if (advice->flows == NULL || advice->paths == NULL || advice->moved == NULL || s.weight == NULL || before == NULL ||
	    topo_load_init(&s.load, topo, s.usable) != 0 || topo_load_offer(&s.load, flows, NULL, count) != 0)
		goto done;
	for (uint32_t p = 0; p < topo->nports; p++)
		fastest_bps = topo->ports[p].rate_bps > fastest_bps ? topo->ports[p].rate_bps : fastest_bps;
	for (uint32_t p = 0; p < topo->nports; p++)
		s.weight[p] = (double)fastest_bps / (double)topo->ports[p].rate_bps;
	begin(&s, routing, flows, seen != NULL ? seen->paths : NULL);
	memcpy(before, advice->paths, count * sizeof(*before));
	while (advice->rounds < ADVISE_ROUNDS && run_round(&s, by))
		;
	s.sideways = true;
	while (advice->rounds < ADVISE_ROUNDS && !is_even(&s))
		run_round(&s, by);
	for (uint32_t f = 0; f < count; f++)
		advice->moved[f] = !is_same(&before[f], &advice->paths[f]);
	ret = 0;
done:
	topo_load_fini(&s.load);
	free(before);
	free(s.weight);
	return ret;
}

void
advice_fini(struct advice *advice)
{
	free(advice->flows);
	free(advice->paths);
	free(advice->moved);
	*advice = (struct advice){ 0 };
}

void
advice_write_paths(const struct advice *advice, const struct topo *topo, FILE *to)
{
	const char *separator = "";
	char name[40];

	fprintf(to, "paths = (");
	for (uint32_t f = 0; f < advice->count; f++) {
		const struct flow *flow = &advice->flows[f];
		const struct route_path *path = &advice->paths[f];
		uint32_t first =
			topo->nodes[flow->src_node].bonded ? 0 : 1; /* a NIC with an address of its own is no choice */

		if (path->hops == 0)
			continue;
		fprintf(to, "%s\n  { src = \"%s\"; dst = \"%s\"; sport = %u; dport = %u; data = [", separator,
			topo->nodes[flow->src_node].name, topo->nodes[flow->dst_node].name, flow->sport, flow->dport);
		separator = ",";
		for (uint32_t i = first; i < path->hops; i++)
			fprintf(to, "%s\"%s\"", i != first ? ", " : " ", topo_port_name(topo, path->ports[i], name));
		fprintf(to, " ]; }");
	}
	fprintf(to, "\n);\n");
}

/* "h0", or "h0:2" of a NIC with an address of its own. */
static const char *
end_name(const struct topo *topo, uint32_t node, uint16_t nic, char buf[40])
{
	if (topo->nodes[node].bonded || topo->nodes[node].nports == 1)
		return topo->nodes[node].name;
	return topo_port_name(topo, topo->nodes[node].first_port + nic, buf);
}

void
advice_write_ports(const struct advice *advice, const struct topo *topo, const struct flow *flows, FILE *to)
{
	const char *separator = "";
	char src[40], dst[40];

	fprintf(to, "source_ports = (");
	for (uint32_t f = 0; f < advice->count; f++) {
		const struct flow *flow = &advice->flows[f];

		if (flow->sport == flows[f].sport)
			continue;
		fprintf(to, "%s\n  { src = \"%s\"; dst = \"%s\"; sport = %u; dport = %u; to = %u; }", separator,
			end_name(topo, flow->src_node, flow->src_nic, src),
			end_name(topo, flow->dst_node, flow->dst_nic, dst), flows[f].sport, flow->dport, flow->sport);
		separator = ",";
	}
	fprintf(to, "\n);\n");
}
