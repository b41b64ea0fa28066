/* SPDX-License-Identifier: BSD-3-Clause */
/* How many flows each link of a topology carries, each direction: what the Flow Imbalance Metric is of (common/fim_fabric.h). */
#pragma once

#include "common/fim_fabric.h"
#include "common/flow.h"
#include "topo/route.h"

struct topo_load {
	const struct topo *topo;
	struct fim_fabric fabric; /* links and ports as the topology numbers them */
};

/* No flows yet. @param usable  [topo->nports] links that are up; NULL: all. @return 0 or -ENOMEM */
int topo_load_init(struct topo_load *load, const struct topo *topo, const bool *usable);
void topo_load_fini(struct topo_load *load);

/*
 * These links are available: those that the flows may take. Pins and the routing's hash play no part.
 * @param hops  [count] a flow is known over so many links only, 0: to its end; NULL: all are
 * @return 0 or -ENOMEM
 */
int topo_load_offer(struct topo_load *load, const struct flow *flows, const uint32_t *hops, uint32_t count);

/* One flow more on its path, or one less. @param by  1 or -1 */
void topo_load_add(struct topo_load *load, const struct route_path *path, int by);
/* "leaf to spine". @return buf */
char *topo_load_name(const struct topo_load *load, uint16_t group, char buf[FIM_LAYER_NAME]);
