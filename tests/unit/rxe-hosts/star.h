/* SPDX-License-Identifier: BSD-3-Clause */
/* A topology for tests: hosts "0".."n-1" with one NIC each on switch "n", 100 Gbps, 2 us. */
#pragma once

#include "topo/topo.h"

#define STAR_MAX_HOSTS 8 /* one-digit names: their order is that of the ids */

struct star {
	struct topo topo;
	struct topo_node nodes[STAR_MAX_HOSTS + 1];
	struct topo_port ports[2 * STAR_MAX_HOSTS];
	struct topo_link links[STAR_MAX_HOSTS];
	uint32_t hosts[STAR_MAX_HOSTS];
	uint32_t by_name[STAR_MAX_HOSTS + 1];
};

/* Port ids: host h's NIC is h, the switch's port to it is hosts + h. star must stay where it is. */
void star_init(struct star *star, uint32_t hosts);
