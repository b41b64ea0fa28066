/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many flows each link carries, each way, by layer and direction: what the Flow Imbalance Metric is of. And what comes
 * of it on average where every switch and every bond chooses uniformly and independently among its ports of equal cost.
 */
#pragma once

#include "common/fim.h"
#include "common/flow.h"
#include "topo/route.h"

struct topo_load {
	const struct topo *topo;
	struct fim_link *links; /* [nports] by egress port */
	uint16_t ngroups;       /* numbers below; not all are in use */
	uint8_t most_tier;
};

/* No flows yet. @return 0 or -ENOMEM */
int topo_load_init(struct topo_load *load, const struct topo *topo);
void topo_load_fini(struct topo_load *load);

/* One flow more on its way, or one less. @param by  1 or -1 */
void topo_load_add(struct topo_load *load, const struct route_path *path, int by);
/* @param group  or FIM_ALL */
struct fim topo_load_fim(struct topo_load *load, uint16_t group);
/* "leaf-to-spine". @return buf */
char *topo_load_name(const struct topo_load *load, uint16_t group, char buf[40]);
/* Is it of links that hosts send on? */
bool topo_load_is_host(uint16_t group);

/*
 * Expectation of the metric under uniform and independent choices, in percent. Exact for a link that all flows which may
 * take it take with one probability, and that is to carry on average its share of its group (fim_expected()): so it is for
 * flows alike over a symmetric fabric, however many choices stand in a row, because a choice behind another one leaves a flow
 * that is uniform over n links uniform over the next. Pins and the routing's hash play no part.
 * @param percent  [ngroups] set; NAN where a link of a group has no closed form, 0 for groups without flows
 * @param all      set: over all links that carry flows
 * @param of_switches  set: over those but for hosts' own, as FlowTracer's Fig. 3
 * @return 0 or -ENOMEM
 */
int topo_load_expect(const struct topo_load *load, const struct route_table *table, const struct flow *flows,
		     uint32_t count, double *percent, double *all, double *of_switches);
