/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many flows each direction of each link carries, and how evenly (FlowTracer, III-C): by layer and direction, which are the
 * tiers of a cable's ends. What leaves a host is a layer of its own, which the host's choice loads; the metric over all links
 * is over the layers that switches load, as in the paper's Fig. 3.
 */
#pragma once

#include "common/err.h"
#include "common/fim.h"
#include "topo/tiers.h"
#include "tracer/tracer.h"

#define LINK_FLOWS_NAME 40

struct link_flows {
	struct fim_link *of; /* [topo->nports] of the direction that leaves a port */
	uint32_t count;
	uint32_t ngroups;
	char names[FIM_MAX_GROUPS][LINK_FLOWS_NAME]; /* "leaf to spine" */
	bool from_host[FIM_MAX_GROUPS];
	uint8_t tier[FIM_MAX_GROUPS][2]; /* of both ends */
};

/* @return 0 or -ENOMEM with err. Flows that did not arrive count on the links of which their way is known. */
int link_flows_init(struct link_flows *links, const struct topo *topo, const struct traced *flows, uint32_t count,
		    struct err *err);
void link_flows_fini(struct link_flows *links);

struct fim link_flows_group(const struct link_flows *links, uint32_t group);
/* Over all layers that switches load. */
struct fim link_flows_all(const struct link_flows *links);
