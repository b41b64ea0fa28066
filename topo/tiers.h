/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tiers of a Clos network, read off its cables: a switch's is its distance from the nearest host. In networks of two
 * tiers leaves are of the first, spines of the second; of three, edges, aggregations and cores.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "topo/topo.h"

#define TIERS_MAX 8 /* switches further away are of the last */

struct tiers {
	uint8_t *of;  /* [nnodes] from 1; 0: a host */
	uint8_t most; /* the highest */
	/*
	 * [most] of tier t at t - 1: [nnodes] a switch that stands for all that are connected without switches above
	 * tier t; a leaf for itself, in three tiers one of the second for its pod. TOPO_NONE: it is above tier t, or a
	 * host.
	 */
	uint32_t *group[TIERS_MAX];
};

/* @return 0 or -ENOMEM */
int tiers_init(struct tiers *tiers, const struct topo *topo);
/* Also for a zeroed struct. */
void tiers_fini(struct tiers *tiers);

/* Is the peer of a switch's port a switch of the tier above? */
bool tiers_is_uplink(const struct tiers *tiers, const struct topo_port *port);
/* @return group of the switch that a host's port is attached to, for a switch of this tier */
uint32_t tiers_group_of(const struct tiers *tiers, const struct topo *topo, uint8_t tier, uint32_t host_port);
