/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/rxe-hosts/star.h"

#include <assert.h>
#include <stdio.h>

#include "common/units.h"

void
star_init(struct star *star, uint32_t hosts)
{
	assert(hosts <= STAR_MAX_HOSTS);
	*star = (struct star){ 0 };
	star->topo = (struct topo){
		.nodes = star->nodes,
		.ports = star->ports,
		.links = star->links,
		.hosts = star->hosts,
		.by_name = star->by_name,
		.nnodes = hosts + 1,
		.nports = 2 * hosts,
		.nlinks = hosts,
		.nhosts = hosts,
		.nswitches = 1,
	};
	for (uint32_t h = 0; h < hosts; h++) {
		star->hosts[h] = h;
		star->by_name[h] = h;
		star->links[h] = (struct topo_link){ .port = { h, hosts + h } };
		star->nodes[h] = (struct topo_node){ .kind = TOPO_HOST, .nports = 1, .first_port = h };
		snprintf(star->nodes[h].name, sizeof(star->nodes[h].name), "%u", h);
		star->ports[h] = (struct topo_port){
			.node = h,
			.peer = hosts,
			.peer_index = (uint16_t)h,
			.peer_port = hosts + h,
			.link = h,
			.rate_bps = 100000000000ull,
			.delay_ps = 2 * PS_PER_US,
		};
		star->ports[hosts + h] = (struct topo_port){
			.node = hosts,
			.index = (uint16_t)h,
			.peer = h,
			.peer_port = h,
			.link = h,
			.rate_bps = 100000000000ull,
			.delay_ps = 2 * PS_PER_US,
		};
	}
	star->by_name[hosts] = hosts;
	star->nodes[hosts] = (struct topo_node){ .kind = TOPO_SWITCH, .nports = (uint16_t)hosts, .first_port = hosts };
	snprintf(star->nodes[hosts].name, sizeof(star->nodes[hosts].name), "%u", hosts);
}
