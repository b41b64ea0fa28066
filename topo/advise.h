/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows that share links while others are idle, and where they could go instead: a search for paths (pins of switches
 * and of bonds' members), or for UDP source ports by which the hashes lead there (a QP's source port is free to choose,
 * 7.3 of R-Pingmesh). It lowers the sum over links of flows^2 / rate, which is least where loads are even: so it lowers
 * the most loaded links first, and the Flow Imbalance Metric with them.
 *
 * A local search, deterministic and bounded: flow by flow, each is taken off its links and given the best path left, in
 * rounds until one changes nothing; then also paths of equal cost, from where others may find better ones, until links
 * of a layer differ by one flow at most, ADVISE_ROUNDS rounds in all. All shortest paths are tried, pruned where a
 * prefix costs more than the best (at most ADVISE_STEPS hops a flow); of source ports, ADVISE_PORTS each. It may end
 * where no flow alone can do better and two together could.
 */
#pragma once

#include <stdio.h>

#include "common/fim.h"
#include "common/flow.h"
#include "topo/route.h"

/*
 * How many flows each link of a topology carries, each direction: what the Flow Imbalance Metric is of (common/fim.h).
 */

struct topo_load {
	const struct topo *topo;
	struct fim_fabric fabric; /* links and ports as the topology numbers them */
};

/* No flows yet. @param usable  [topo->nports] links that are up; NULL: all. @return 0 or -ENOMEM */
int topo_load_init(struct topo_load *load, const struct topo *topo, const bool *usable);
void topo_load_fini(struct topo_load *load);

/*
 * These links are available: those that the flows may take. Pins and the routing's hash play no part.
 * @param hops  [count] a flow is known over its first hops links only, 0: to its end; NULL: all are
 * @return 0 or -ENOMEM
 */
int topo_load_offer(struct topo_load *load, const struct flow *flows, const uint32_t *hops, uint32_t count);

/* Adds a flow to its path, or removes it. @param by  1 or -1 */
void topo_load_add(struct topo_load *load, const struct route_path *path, int by);
/* "leaf to spine". @return buf */
char *topo_load_name(const struct topo_load *load, uint16_t group, char buf[FIM_LAYER_NAME]);

#define ADVISE_ROUNDS 32
#define ADVISE_STEPS 65536
#define ADVISE_PORTS 512
#define ADVISE_FIRST_PORT 49152 /* the dynamic range, to 65535 */

enum advise_by { ADVISE_PATHS, ADVISE_PORTS_ALONE };

struct advice {
	struct flow *flows;       /* [count] with the source ports and members of bonds that they are to have */
	struct route_path *paths; /* [count] the sender's port first */
	bool *moved;              /* [count] whether it is another than the routing's */
	uint32_t count, rounds;
};

/* Observed paths of a network, which may differ from those that its routing describes. */
struct advise_seen {
	const struct route_path
		*paths;     /* [count] that flows have; of no hops: unknown, the flow is left alone. NULL: routing's */
	const bool *usable; /* [topo->nports] links that paths may take; flows on others are moved. NULL: all */
};

/*
 * @param routing  as it is: pins are where flows begin; source ports are searched without pins
 * @param flows    [count] as placed; those that cannot be routed stay where they are
 * @param seen     where flows begin instead, and may go; NULL: as routing has it
 * @return 0 or -ENOMEM; advice_fini() in any case
 */
int advise(const struct routing *routing, const struct flow *flows, uint32_t count, enum advise_by by,
	   const struct advise_seen *seen, struct advice *advice);
void advice_fini(struct advice *advice);

/* Writes a scenario's list "paths" that pins all flows. */
void advice_write_paths(const struct advice *advice, const struct topo *topo, FILE *to);
/* Writes its list "source_ports". @param flows  [count] as they were */
void advice_write_ports(const struct advice *advice, const struct topo *topo, const struct flow *flows, FILE *to);
