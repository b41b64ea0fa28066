/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A flow's path, hop by hop (FlowTracer, III-B): the host reports its egress port, each switch reports its egress, and
 * the topology has the next ingress. The caller decides how the queries are sent; the walk decides which node is
 * queried next, and for which port.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/switch_manage.h"
#include "topo/route.h"

/* Value, name in outputs, text for people. */
#define TOPO_WALKS(ROW)                                                                                                    \
	ROW(WALK_GOES_ON, 0, "goes-on", "the path is not known to its end")                                                \
	ROW(WALK_ARRIVED, 1, "arrived", "it reaches its destination")                                                      \
	ROW(WALK_SPRAYED, 2, "sprayed", "its packets are sprayed from here on")                                            \
	ROW(WALK_DROPPED, 3, "dropped", "the switch drops it")                                                             \
	ROW(WALK_LOST, 4, "lost", "it ends at a host that it is not for")                                                  \
	ROW(WALK_LOOPS, 5, "loops", "it returns to a port of its path")                                                    \
	ROW(WALK_UNANSWERED, 6, "unanswered", "the device does not answer")                                                \
	ROW(WALK_CONTRADICTED, 7, "contradicted", "the answer does not fit the topology")

enum topo_walk_state { TOPO_WALKS(ENUM_VALUE) TOPO_WALK_STATES };

extern const char *const topo_walk_names[TOPO_WALK_STATES], *const topo_walk_texts[TOPO_WALK_STATES];

struct topo_walk {
	uint32_t dst;           /* host that the destination address belongs to; TOPO_NONE: of no host */
	struct route_path path; /* egress ports so far, the host's first */
	uint8_t state;          /* enum topo_walk_state */
	uint8_t reason;         /* dropped: enum rec_drop */
	uint32_t node;          /* the node to query next, or where it ended */
	uint16_t in_port;       /* its ingress there */
	uint64_t members[2];    /* sprayed: ports that its packets may take; bits as in struct swm_egress */
};

/*
 * Begins at a host.
 * @param nic  by which it leaves
 */
void topo_walk_begin(struct topo_walk *walk, const struct topo *topo, uint32_t host, uint16_t nic, uint32_t dst_ip);

/*
 * The answer of walk->node about the flow's headers from walk->in_port. @return whether there is another node to query
 */
bool topo_walk_on(struct topo_walk *walk, const struct topo *topo, const struct swm_egress *answer);

/* walk->node gives no answer. */
void topo_walk_unanswered(struct topo_walk *walk);
