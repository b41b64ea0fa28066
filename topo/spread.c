/* SPDX-License-Identifier: BSD-3-Clause */
#include "topo/spread.h"

/* A way through the network: what every part of it asks for. */
struct way {
	const struct topo *topo;
	const struct route_table *routes;
	const double *kept;
	uint32_t dst, at;
	uint16_t dst_nic;
	double share[TOPO_MAX_PORTS]; /* of what is sent, so much comes in at each port of at */
	double again[TOPO_MAX_PORTS]; /* and so much would if each link lost of it twice */
	double whole;                 /* and so much at the destination */
};

/*
 * Shortest ways have no circles: it ends at the destination.
 * @param part   of the packets that come to this switch so
 * @param again  the same if each link lost of them twice
 */
static void
walk(struct way *way, uint32_t node, double part, double again, uint32_t hops)
{
	const uint8_t *ports;
	uint32_t count = route_next_hops(way->routes, node, way->dst, way->dst_nic, &ports);

	for (uint32_t i = 0; i < count && hops < ROUTE_MAX_HOPS; i++) {
		uint32_t id = way->topo->nodes[node].first_port + ports[i];
		const struct topo_port *port = &way->topo->ports[id];
		double kept = way->kept != NULL ? way->kept[id] : 1, comes = part / count * kept;
		double comes_again = again / count * kept * kept;

		if (port->peer == way->at) {
			way->share[port->peer_index] += comes;
			way->again[port->peer_index] += comes_again;
		}
		if (way->topo->nodes[port->peer].kind == TOPO_SWITCH)
			walk(way, port->peer, comes, comes_again, hops + 1);
		else
			way->whole += comes;
	}
}

void
spread_add(const struct topo *topo, const struct route_table *routes, const double *kept, uint32_t from, uint32_t dst,
	   uint16_t dst_nic, uint32_t at, double *share, double *again)
{
	struct way way = { .topo = topo, .routes = routes, .kept = kept, .dst = dst, .at = at, .dst_nic = dst_nic };

	if (from == at)
		return;
	walk(&way, from, 1, 1, 0);
	for (uint32_t i = 0; i < topo->nodes[at].nports && way.whole > 0; i++) {
		share[i] += way.share[i] / way.whole;
		if (again != NULL)
			again[i] += way.again[i] / way.whole;
	}
}
