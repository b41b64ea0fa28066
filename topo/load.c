/* SPDX-License-Identifier: BSD-3-Clause */
#include "topo/load.h"

#include <errno.h>
#include <stdlib.h>

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
