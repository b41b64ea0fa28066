/* SPDX-License-Identifier: BSD-3-Clause */
/* Stage 1: the egress of packets, by routes, pins and faults; or the reason for a drop. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/flow.h"
#include "common/flow_map.h"
#include "common/pkt.h"
#include "common/wire/drop.h"
#include "dpswitch/fabric/node.h"
#include "dpswitch/pipeline/switch_cfg.h"
#include "topo/topo.h"

#define SWITCH_EGRESS_SPRAY 0xfd /* every packet has its own: see spray.h */
#define SWITCH_EGRESS_NONE 0xff  /* not decided yet */
#define SWITCH_EGRESS_DROP 0xfe  /* no path, see switch_resolve() */

struct sw;

/* Entries that faults have set for packets to a host. */
struct forced_route {
	uint64_t uses;    /* how often one of the others decided */
	uint8_t override; /* egress forced, SWITCH_EGRESS_NONE: none */
	uint8_t denied;   /* why they are dropped, enum rec_drop; 0: they are not */
};

struct switch_routes {
	struct flow_map cache;       /* egress by flow and direction, of those that passed: route_key() */
	struct forced_route *forced; /* [nodes] NULL: no fault has set any */
	/* [ports] made by the first fault: of flows with a choice that has this port, the share that it gets first */
	double *pull;
	uint64_t *pulled; /* [ports] flows, and their reverse paths, that it got by its pull */
	bool pulls;       /* some port does */
};

static inline uint32_t
route_key(uint32_t flow, bool reverse)
{
	return flow * 2 + reverse;
}

/* @return the egress of a flow's packets as it was decided; SWITCH_EGRESS_NONE: it was not */
static inline uint8_t
switch_cached(const struct switch_routes *routes, uint32_t flow, bool reverse)
{
	return (uint8_t)flow_map_find(&routes->cache, route_key(flow, reverse));
}

_Static_assert((uint8_t)FLOW_MAP_NONE == SWITCH_EGRESS_NONE, "a flow that is not in the cache has no egress");

/* Cannot fail. */
void switch_routes_init(struct switch_routes *routes, const struct flow_table *flows);
void switch_routes_fini(struct switch_routes *routes);

/* A packet whose egress the route cache alone does not give. @param cached  its entry */
void switch_route_rare(struct sw *sw, uint16_t in_port, struct pkt *p, uint8_t cached);
void switch_route(struct sw *sw, uint16_t in_port, struct pkt *pkts, uint32_t count);
/*
 * switch_route() for a cable that damages frames: damaged ones are dropped and counted at the port where they arrived,
 * as by a MAC that finds the FCS wrong (IEEE 802.3, 4.2.4.1.2).
 */
void switch_route_damaged(struct sw *sw, uint16_t in_port, struct pkt *pkts, uint32_t count);
/*
 * Decides the egress of a packet and remembers it.
 * @param port    where a drop counts: as it was given, or the egress whose link is down or to which the path was lost
 * @return port; SWITCH_EGRESS_SPRAY; SWITCH_EGRESS_DROP with *reason and *port
 */
uint8_t switch_resolve(struct sw *sw, const struct pkt *p, enum rec_drop *reason, uint16_t *port);

/*
 * @return the egress of a flow, or of its ACKs, here as long as no link is down and nothing misrouted; negative: none
 */
int switch_healthy_egress(const struct sw *sw, uint32_t flow, bool reverse);

/* The faults' handles; between windows only. */
void switch_set_override(struct sw *sw, uint32_t dst, uint8_t egress);
/* @param reason  REC_DROP_BLACKHOLE or REC_DROP_NO_ROUTE; 0: packets to that host pass again */
void switch_deny(struct sw *sw, uint32_t dst, uint8_t reason);
/* @param share  of the flows that may leave by this port or others of equal cost; 0: as the hash has it */
void switch_pull(struct sw *sw, uint16_t port, double share);
/* @return how many flows it was chosen for that the hash had sent elsewhere */
uint64_t switch_pulled(const struct sw *sw, uint16_t port);
/* @return how often one of the two decided for packets to that host */
uint64_t switch_fault_uses(const struct sw *sw, uint32_t dst);
/* struct node_ops.link_changed: a link goes down or up, or its peer holds other classes. */
void switch_link_changed(struct sw *sw, uint16_t port, uint8_t held, uint64_t now_ps);
/* Drops what waits for a port in a class, before stage 1. @return number of packets */
uint64_t switch_flush(struct sw *sw, uint16_t port, uint8_t prio, enum rec_drop reason, uint64_t now_ps);
/* The routes of the configuration have changed; between windows. */
void switch_forget_routes(struct sw *sw);
/* A spare flow slot has been given to another flow, and no packet of the former is left. */
void switch_forget_flow(struct sw *sw, uint32_t flow);

/*
 * The egress of a flow at a switch by its present forwarding state: routes, pins, forced and denied entries, ports that
 * are down. Stage 1 decides by it (route.c), and queries to a switch are answered by it, as by the "ECMP hash
 * visibility" command of commercial switches (FlowTracer, III-B2): the two cannot disagree. No function here changes
 * state. A switch's treatment of packets against its own forwarding state (struct fib_faults) is not known here, and
 * cannot be reported.
 */

#define LOOKUP_NO_PORT UINT16_MAX

/* The decision about a flow at one switch. */
struct switch_lookup {
	uint8_t egress;       /* a port; SWITCH_EGRESS_SPRAY: any of members; SWITCH_EGRESS_DROP: none, for reason */
	enum rec_drop reason; /* of a drop */
	uint16_t drop_port;   /* whose link is down, or to which the path was lost; LOOKUP_NO_PORT: there never was one */
	bool is_forced;       /* a fault's entry for the destination decided */
	bool is_pinned;       /* the flow's own entry decided */
	bool is_pulled;       /* a fault's pull took it from the hash's port */
	uint32_t nmembers;    /* ports of equal cost among which it was chosen; 1 where an entry decided; 0: dropped */
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
	LOOKUP_KNOWN,      /* lookup has its outcome */
	LOOKUP_NO_ADDRESS, /* the destination is no address of this network */
	LOOKUP_NO_INGRESS, /* the switch has no such port */
};

/* @param index  of the switch's flows. @return whether lookup is set */
enum lookup_known switch_lookup_tuple(const struct sw *sw, const struct flow_index *index, const struct switch_query *query,
				      struct switch_lookup *lookup);

/*
 * A switch whose FIB is corrupt: packets between some addresses vanish in its pipeline, and no counter shows it
 * (FlowPulse, section 1: "switch memory corruption of the FIB can create a transient routing black hole").
 */

#define FIB_ANY_PORT UINT16_MAX

/* Addresses that agree with ip where mask has ones; all zero: any. */
struct fib_net {
	uint32_t ip, mask;
};

/* An entry, or some, that are corrupt. */
struct fib_fault {
	uint32_t src, dst;          /* hosts; TOPO_NONE: any */
	uint16_t in_port, out_port; /* of those that arrive, and would leave, there alone; FIB_ANY_PORT */
	struct fib_net src_net, dst_net;
	double share; /* of the pairs of addresses for which that holds, chosen by the switch's chance; 1: all */
};

struct fib_faults {
	struct fib_entry *entries;
	uint32_t count; /* of entries, corrupt or repaired */
	uint32_t on;    /* that are corrupt for whatever egress; others stand at their egress. 0 costs nothing */
	uint64_t stream;
};

void fib_init(struct fib_faults *fib, uint64_t seed, uint32_t node);
void fib_fini(struct fib_faults *fib);

static inline bool
fib_is_corrupt(const struct fib_faults *fib)
{
	return __builtin_expect(fib->on != 0, 0);
}

/*
 * Does a packet vanish that arrived by a port?
 * @param out_port  that it is to leave by; FIB_ANY_PORT: before that is known, by what concerns every egress
 */
bool fib_loses(struct fib_faults *fib, const struct flow_table *flows, const struct pkt *p, uint16_t in_port,
	       uint16_t out_port);

/* The fault's handle; between windows only. @param fault  known by its address, which must stay */
void switch_set_fib_fault(struct sw *sw, const struct fib_fault *fault, bool on);
/* Updates whether packets for an egress are checked one by one: for faults at it, and for its MTU. */
void switch_picks(struct sw *sw, uint16_t port);
/* @return packets that vanished by it */
uint64_t switch_fib_losses(const struct sw *sw, const struct fib_fault *fault);
/* switch_route() of a switch whose FIB is corrupt. */
void switch_route_corrupt(struct sw *sw, uint16_t in_port, struct pkt *pkts, uint32_t count);
