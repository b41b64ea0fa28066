/* SPDX-License-Identifier: BSD-3-Clause */
#include "topo/spread.h"

/* A way through the network: what every part of it asks for. */
struct visit {
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
walk(struct visit *visit, uint32_t node, double part, double again, uint32_t hops)
{
	const uint8_t *ports;
	uint32_t count = route_next_hops(visit->routes, node, visit->dst, visit->dst_nic, &ports);

	for (uint32_t i = 0; i < count && hops < ROUTE_MAX_HOPS; i++) {
		uint32_t id = visit->topo->nodes[node].first_port + ports[i];
		const struct topo_port *port = &visit->topo->ports[id];
		double kept = visit->kept != NULL ? visit->kept[id] : 1, arriving = part / count * kept;
		double returns = again / count * kept * kept;

		if (port->peer == visit->at) {
			visit->share[port->peer_index] += arriving;
			visit->again[port->peer_index] += returns;
		}
		if (visit->topo->nodes[port->peer].kind == TOPO_SWITCH)
			walk(visit, port->peer, arriving, returns, hops + 1);
		else
			visit->whole += arriving;
	}
}

void
spread_add(const struct topo *topo, const struct route_table *routes, const double *kept, uint32_t from, uint32_t dst,
	   uint16_t dst_nic, uint32_t at, double *share, double *again)
{
	struct visit visit = { .topo = topo, .routes = routes, .kept = kept, .dst = dst, .at = at, .dst_nic = dst_nic };

	if (from == at)
		return;
	walk(&visit, from, 1, 1, 0);
	for (uint32_t i = 0; i < topo->nodes[at].nports && visit.whole > 0; i++) {
		share[i] += visit.share[i] / visit.whole;
		if (again != NULL)
			again[i] += visit.again[i] / visit.whole;
	}
}
