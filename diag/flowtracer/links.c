/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/flowtracer/links.h"

#include <errno.h>
#include <stdlib.h>

#include "common/fim_fabric.h"
#include "diag/run/fill.h"

static bool
is_shown(const struct flowtracer *own, const struct flowtracer_path *path)
{
	return path->round == own->shown;
}

static int
fill(struct fim_fabric *fabric, const struct run *run)
{
	if (fim_fabric_init(fabric, run->nnodes, run->nports) != 0)
		return -ENOMEM;
	for (uint32_t n = 0; n < run->nnodes; n++)
		fabric->nodes[n] = (struct fim_node){ run->nodes[n].first_port, run->nodes[n].nports, run->nodes[n].host };
	for (uint32_t p = 0; p < run->nports; p++)
		fabric->ports[p] = (struct fim_port){ .node = run->ports[p].node,
						      .peer = run->ports[p].peer_node,
						      .peer_port = run->ports[p].peer_port,
						      .rate_bps = run->ports[p].rate_bps };
	return fim_fabric_layers(fabric);
}

/* The ports of a host that answer to an address; all, if none does. */
static struct fim_ports
ports_of(const struct run *run, uint32_t node, uint32_t ip)
{
	struct fim_ports ports = { { 0 } }, all = { { 0 } };

	for (uint32_t i = 0; i < run->nodes[node].nports && i < FIM_MAX_PORTS; i++) {
		all.of[i / 64] |= UINT64_C(1) << i % 64;
		if (run->ports[run->nodes[node].first_port + i].ip == ip)
			ports.of[i / 64] |= UINT64_C(1) << i % 64;
	}
	return (ports.of[0] | ports.of[1]) != 0 ? ports : all;
}

/* What flows of a path could have done; where a switch reported ports of equal cost, they count, and not its cables. */
static bool
list_path(const struct flowtracer *own, const struct run *run, const struct flowtracer_path *path, struct fim_flow *flow,
	  struct fim_set *sets, uint32_t *nsets)
{
	const struct flowtracer_hop *hops = &own->hops[path->first];
	const struct run_flow *of = &run->flows[path->flow];
	uint32_t known = 0;

	for (uint32_t h = 0; h < path->nhops; h++)
		known += hops[h].port != RUN_NONE;
	if (known == 0 || of->dst == RUN_NONE || hops[0].port == RUN_NONE)
		return false;
	*flow = (struct fim_flow){ .src = hops[0].node,
				   .dst = of->dst,
				   .from = { { hops[0].set.ports[0], hops[0].set.ports[1] } },
				   .to = ports_of(run, of->dst, of->tuple.dst_ip),
				   .hops = path->result == REC_TRACE_EGRESS ? FIM_MAX_HOPS : known };
	for (uint32_t h = 1; h < path->nhops; h++)
		if (flowtracer_count(&hops[h].set) != 0)
			sets[(*nsets)++] = (struct fim_set){ hops[h].node,
							     of->dst,
							     { { hops[h].set.ports[0], hops[h].set.ports[1] } } };
	return true;
}

static int
offer(struct flowtracer *own, const struct run *run, struct fim_fabric *fabric, struct err *err)
{
	struct fim_flow *flows = run_alloc(own->npaths, sizeof(*flows), err);
	struct fim_set *sets = run_alloc(own->nhops, sizeof(*sets), err);
	uint32_t count = 0, nsets = 0;
	int rc = flows != NULL && sets != NULL ? 0 : -ENOMEM;

	for (uint32_t i = 0; rc == 0 && i < own->npaths; i++) {
		const struct flowtracer_path *path = &own->paths[i];

		if (!is_shown(own, path))
			continue;
		own->sprayed += path->result == REC_TRACE_SPRAYED;
		count += list_path(own, run, path, &flows[count], sets, &nsets);
		for (uint32_t h = path->first; h < path->first + path->nhops; h++)
			if (own->hops[h].port != RUN_NONE)
				fabric->links[own->hops[h].port].flows++;
	}
	if (rc == 0)
		rc = fim_fabric_offer(fabric, flows, count, sets, nsets);
	free(flows);
	free(sets);
	return rc;
}

/* Layers that flows cross, and links of theirs. */
static void
measure(struct flowtracer *own, const struct run *run, struct fim_fabric *fabric)
{
	const struct fim switches = fim_fabric_metric(fabric, FIM_SWITCHES), all = fim_fabric_metric(fabric, FIM_ALL);
	uint32_t layer_of[FIM_MAX_GROUPS];

	own->fim = switches.percent;
	own->expected = fim_fabric_expected(fabric, FIM_SWITCHES);
	own->fim_all = all.percent;
	own->expected_all = fim_fabric_expected(fabric, FIM_ALL);
	own->most_tier = fabric->most_tier;
	for (uint16_t g = 0; g < fabric->nlayers; g++) {
		const struct fim one = fim_fabric_metric(fabric, g);

		layer_of[g] = own->nlayers;
		if (one.links == 0)
			continue;
		own->layers[own->nlayers++] = (struct flowtracer_layer){ .tiers = fabric->layers[g],
									 .links = one.links,
									 .least = one.least,
									 .most = one.most,
									 .ideal = one.ideal,
									 .fim = one.percent,
									 .expected = fim_fabric_expected(fabric, g) };
	}
	for (uint32_t p = 0; p < run->nports; p++) {
		const struct fim_link *link = &fabric->links[p];

		if (link->ideal <= 0)
			continue;
		own->links[own->nlinks++] = (struct flowtracer_link){ p, layer_of[link->group], link->flows, link->ideal };
		own->layers[layer_of[link->group]].flows += link->flows;
	}
}

int
flowtracer_links(struct flowtracer *own, const struct run *run, struct err *err)
{
	struct fim_fabric fabric;
	int rc = fill(&fabric, run);

	own->links = run_alloc(run->nports, sizeof(*own->links), err);
	own->layers = run_alloc(FIM_MAX_GROUPS, sizeof(*own->layers), err);
	if (own->links == NULL || own->layers == NULL)
		rc = -ENOMEM;
	if (rc == 0)
		rc = offer(own, run, &fabric, err);
	if (rc == 0)
		measure(own, run, &fabric);
	else
		err_set(err, rc, "out of memory for links");
	fim_fabric_fini(&fabric);
	return rc;
}
