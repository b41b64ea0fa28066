/* SPDX-License-Identifier: BSD-3-Clause */
#include "topo/spread.h"

/* A way through the network: what every part of it asks for. */
struct way {
	const struct topo *topo;
	const struct route_table *routes;
	uint32_t dst, at;
	uint16_t dst_nic;
	double *share;
};

/* Shortest ways have no circles: it ends at the destination. @param part  of the packets that come to this switch so */
static void
walk(const struct way *way, uint32_t node, double part, uint32_t hops)
{
	const uint8_t *ports;
	uint32_t count = route_next_hops(way->routes, node, way->dst, way->dst_nic, &ports);

	for (uint32_t i = 0; i < count && hops < ROUTE_MAX_HOPS; i++) {
		const struct topo_port *port = topo_port_of(way->topo, node, ports[i]);

		if (port->peer == way->at)
			way->share[port->peer_index] += part / count;
		else if (way->topo->nodes[port->peer].kind == TOPO_SWITCH)
			walk(way, port->peer, part / count, hops + 1);
	}
}

void
spread_add(const struct topo *topo, const struct route_table *routes, uint32_t from, uint32_t dst, uint16_t dst_nic,
	   uint32_t at, double *share)
{
	const struct way way = { .topo = topo, .routes = routes, .dst = dst, .at = at, .dst_nic = dst_nic, .share = share };

	if (from != at)
		walk(&way, from, 1, 0);
}
