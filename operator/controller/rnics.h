/* SPDX-License-Identifier: BSD-3-Clause */
/* The RNICs of a network by ToR, and over how many parallel paths ToRs reach each other: what pinglists are made of. */
#pragma once

#include <stdint.h>

#include "common/err.h"
#include "topo/route.h"
#include "topo/topo.h"

/* One NIC of one host. */
struct rnic {
	uint32_t ip;
	uint32_t host, tor; /* topology node ids */
	uint16_t nic;
};

/* Other ToRs that a ToR reaches over the same number of paths. */
struct rnic_reach {
	uint32_t paths;        /* N of Eq. 1: parallel links count each */
	uint32_t tuples;       /* k: its tuples to them */
	uint32_t first, count; /* in rnic_map.others */
};

struct rnic_tor {
	uint32_t node;
	uint32_t first, count; /* in rnics */
	struct rnic_reach *reaches;
	uint32_t nreaches;
	uint32_t tuples; /* of all of them */
};

struct rnic_map {
	struct rnic *rnics; /* by (ToR, host, NIC) */
	uint32_t nrnics;
	struct rnic_tor *tors; /* by node */
	uint32_t ntors;
	uint32_t *others; /* indices into tors */
	uint32_t *by_ip;  /* [nrnics] indices into rnics */
};

/*
 * @param table    of topo, with all links up
 * @param covered  P of Eq. 1
 * @return 0 or -ENOMEM with err
 */
int rnic_map_init(struct rnic_map *map, const struct topo *topo, const struct route_table *table, double covered,
		  struct err *err);
/* Also of one that is zero. */
void rnic_map_fini(struct rnic_map *map);

/* @return index into rnics, TOPO_NONE: there is no such address */
uint32_t rnic_map_find(const struct rnic_map *map, uint32_t ip);
/* @return index into tors of an RNIC's */
uint32_t rnic_map_tor(const struct rnic_map *map, uint32_t rnic);
