/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a switch's forwarding state sends a flow now: routes, pins, forced and denied entries, ports that are down. Stage 1
 * decides by it (route.c), and whoever asks a switch is answered by it, as by the "ECMP hash visibility" command of switches
 * that are sold (FlowTracer, III-B2): the two cannot disagree. Nothing here changes anything. What a switch does to packets
 * against its own forwarding state (fib.h) it does not know, and cannot tell.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/flow_index.h"
#include "common/wire/drop.h"
#include "topo/topo.h"

#define LOOKUP_NO_PORT UINT16_MAX

struct sw;

/* What is decided of a flow at one switch. */
struct switch_lookup {
	uint8_t egress;       /* a port; SWITCH_EGRESS_SPRAY: any of members; SWITCH_EGRESS_DROP: none, for reason */
	enum rec_drop reason; /* of a drop */
	uint16_t drop_port; /* whose link is down, or to which the way was lost; LOOKUP_NO_PORT: that there never was one */
	bool is_forced;     /* a fault's entry for the destination decided */
	bool is_pinned;     /* the flow's own entry decided */
	bool is_pulled;     /* a fault's pull took it from the port that the hash says */
	uint32_t nmembers;  /* ports of equal cost among which it was chosen; 1 where an entry decided; 0: dropped */
	uint8_t members[TOPO_MAX_PORTS]; /* ascending */
};

/*
 * @param flow_id  number of the flow, whose pin counts; FLOW_NONE: of none that was planned
 * @param flow     the same
 * @param reverse  its ACKs
 */
void switch_lookup(const struct sw *sw, uint32_t flow_id, const struct flow *flow, bool reverse,
		   struct switch_lookup *lookup);

/* Who is asked knows headers alone. */
struct switch_query {
	struct rec_tuple tuple;
	uint16_t in_port; /* from 0 */
};

enum lookup_known {
	LOOKUP_KNOWN,      /* lookup says what becomes of it */
	LOOKUP_NO_ADDRESS, /* the destination is no address of this network */
	LOOKUP_NO_INGRESS, /* the switch has no such port */
};

/* @param index  of the switch's flows. @return whether lookup is set */
enum lookup_known switch_lookup_tuple(const struct sw *sw, const struct flow_index *index, const struct switch_query *query,
				      struct switch_lookup *lookup);

/* Which of so many ports of equal cost a switch's hash chooses. */
uint32_t switch_hash_choice(const struct sw *sw, const struct flow *flow, bool reverse, uint32_t count);
