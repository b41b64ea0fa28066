/* SPDX-License-Identifier: BSD-3-Clause */
/* Shortest-path routes with equal-cost sets, and the paths and delays of flows over them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/flow.h"
#include "common/wire/switch_manage.h"
#include "topo/hash.h"
#include "topo/topo.h"

#define ROUTE_MAX_HOPS 64

/* Next-hop sets of every (node, destination NIC). Parallel links count as separate members. Hosts never forward. */
struct route_table;
struct route_pins; /* topo/pins.h */

/*
 * Which paths are routes. Shortest ones may go down and up again where cables are missing, or in a ring of switches, and
 * buffers that PFC protects may then wait for each other in a circle. Up-down routes (Schroeder et al., "Autonet", IEEE
 * JSAC 1991) never go up after they went down in an order of all switches, so no buffer waits for itself. The order is that
 * of tiers, by distance from the hosts, if each pair of hosts that is connected has such a path; else that of a tree, by
 * distance from one switch of the highest tier, which always has them. It is chosen anew as cables go down or up.
 */
enum route_rule { ROUTE_SHORTEST, ROUTE_UP_DOWN };

/* @return NULL with errno ENOMEM. topo must outlive the table. */
struct route_table *route_table_create(const struct topo *topo, enum route_rule rule);
void route_table_destroy(struct route_table *table);
/*
 * Computes the routes of a network without some of its cables: the shortest paths left.
 * @param withdrawn  [nlinks] by cable id; NULL: none. Must be valid until this has returned
 * @return 0 or -ENOMEM; the table is of no use then
 */
int route_table_update(struct route_table *table, const bool *withdrawn);

/* @return what its sets take; more where a later update has more of them */
size_t route_table_bytes(const struct route_table *table);

/*
 * Equal-cost egress ports of node towards dst (a host node), ascending port index.
 * @param dst_nic  only paths that end at this NIC of dst; a bonded host's may end at any
 * @param ports    set to an array of port indices
 * @return number of members, 0 when dst cannot be reached (or is node itself)
 */
uint32_t route_next_hops(const struct route_table *table, uint32_t node, uint32_t dst, uint16_t dst_nic,
			 const uint8_t **ports);

/*
 * Ports of equal cost are recorded as bits from a first port on, ROUTE_SET_SPAN of them. A set of ports that are further
 * apart has several parts.
 */
#define ROUTE_SET_SPAN 128
#define ROUTE_SET_PARTS ((TOPO_MAX_PORTS + ROUTE_SET_SPAN - 1) / ROUTE_SET_SPAN)

struct route_set_part {
	uint64_t bits[ROUTE_SET_SPAN / 64]; /* bit p % 64 of word p / 64: port first + p */
	uint8_t first; /* of a set's only part 0, where all members are below ROUTE_SET_SPAN; else the least member in it */
};

/*
 * @param members  [count] ascending
 * @param from     index of the part's least member: 0, or what the part before returned
 * @return index of the next part's; count: there is none
 */
static inline uint32_t
route_set_part(const uint8_t *members, uint32_t count, uint32_t from, struct route_set_part *part)
{
	*part = (struct route_set_part){ .first = count != 0 && members[count - 1] >= ROUTE_SET_SPAN ? members[from] : 0 };
	for (; from < count && members[from] - part->first < ROUTE_SET_SPAN; from++) {
		uint32_t bit = members[from] - (uint32_t)part->first;

		part->bits[bit / 64] |= UINT64_C(1) << bit % 64;
	}
	return from;
}

/* All that decides where a packet goes, faults aside. */
struct routing {
	const struct topo *topo;
	const struct route_table *table;
	const struct route_pins *pins; /* NULL: none */
	uint64_t seed;                 /* the run's */
	struct route_hashing hashing;
};

/* One node's decision about a flow, with its reasons. */
struct route_choice {
	const uint8_t *members; /* equal-cost egress ports of a switch; NULL for hosts, which send on the flow's NIC */
	uint32_t nmembers;
	uint32_t hash;        /* 0 for hosts */
	uint8_t port;         /* index of the chosen egress port */
	bool is_pinned;       /* by a pin, which may name a port that is no member */
	struct cfg_where pin; /* where the pin stands */
};

/*
 * The egress port of node for a flow: a host sends on the flow's NIC; a switch follows a pin, else ECMP.
 * @param reverse  for the flow's ACKs: destination to source with the tuple reversed
 * @return 0 or -EHOSTUNREACH
 */
int route_choose(const struct routing *routing, uint32_t node, const struct flow *flow, bool reverse,
		 struct route_choice *choice);

/* A path as the global ids of the egress ports it takes: the sender's NIC first, the last switch's port to dst last. */
struct route_path {
	uint32_t ports[ROUTE_MAX_HOPS];
	uint32_t hops;
};

/*
 * The path that pins or ECMP give a flow.
 * @param reverse  the path of its ACKs
 * @return 0, -EHOSTUNREACH, or -ELOOP past ROUTE_MAX_HOPS
 */
int route_flow_path(const struct routing *routing, const struct flow *flow, bool reverse, struct route_path *path);

/*
 * Time from the first bit sent to the last bit of the packet received, on idle links: see route_rtt_ps().
 */
uint64_t route_one_way_ps(const struct topo *topo, const struct route_path *path, uint32_t frame_bytes,
			  uint64_t pipeline_ps, uint64_t quantum_ps);

/*
 * Time from the first bit sent to the last bit of the first packet received and its answer back, on idle links:
 * the sum over both paths of delay + receiver pipeline latency + serialization of frame_bytes (forward) and
 * reply_bytes (reverse). Store and forward at every hop.
 * @param quantum_ps  see units_serialize_ps()
 */
uint64_t route_rtt_ps(const struct topo *topo, const struct route_path *forward, const struct route_path *reverse,
		      uint32_t frame_bytes, uint32_t reply_bytes, uint64_t pipeline_ps, uint64_t quantum_ps);

/*
 * Bonds (LAGs) of hosts: all ports of a bonded host have one address, and may lead to several leaves (MLAG, or EVPN
 * multihoming, on these). Packets to the address may arrive at any port: topo/route.h has the leaves' side. Packets
 * that leave do so by the port that a hash of the flow's addresses and UDP ports chooses among those whose link is up,
 * the fields of Linux bonding's xmit_hash_policy layer3+4; ACKs by the same hash of their own, reversed tuple. The
 * function is the default one of switches (CRC-32C, then mixed), with a seed of the host's own, as NICs have it: the
 * kernel's XOR, which is not seeded, spreads ports in a row evenly, and so shows little about adapters that hash
 * themselves.
 */

/*
 * The member that a bonded host sends a flow by.
 * @param seed     the run's
 * @param host     node id of a bonded host: the flow's source, or its destination for reverse
 * @param is_down  [ports of the host] members that take no part; NULL: none. If all are down, all take part
 * @return port index
 */
uint16_t bond_member(const struct topo *topo, uint64_t seed, uint32_t host, const struct flow *flow, bool reverse,
		     const bool *is_down);

/*
 * Sets both ends' NICs of a flow whose hosts are bonded to the members that they send by: a pin's, where it names one,
 * or the hash's. Others stay as they are.
 */
void bond_place(const struct routing *routing, struct flow *flow);

/*
 * Ports where packets arrive if every switch spreads them evenly over all next hops of equal cost: per-packet spraying.
 */

/*
 * Shares of a host's packets to another's NIC that arrive at each port of a switch on the path. In a network of two
 * tiers each spine that connects both leaves carries 1 / (s - f) (FlowPulse, 5.2). Where a link is known to lose
 * packets, those are sent again, by any path: of those that arrive at last, a path carries its share times what it
 * keeps, over the sum of that of all.
 * @param kept   [ports by global id] share of the packets that leave by a port and arrive; NULL: all
 * @param from   switch that the sender is attached to
 * @param dst    host, by its NIC dst_nic
 * @param at     switch; those that are not on the path get nothing
 * @param share  [ports of at] added to
 * @param again  [ports of at] the same of packets that would arrive if they had to take their path twice: divided by
 *         share, the mean that paths keep of those packets; added to; NULL: not computed
 */
void spread_add(const struct topo *topo, const struct route_table *routes, const double *kept, uint32_t from, uint32_t dst,
		uint16_t dst_nic, uint32_t at, double *share, double *again);

/*
 * A flow's path, hop by hop (FlowTracer, III-B): the host reports its egress port, each switch reports its egress, and
 * the topology has the next ingress. The caller decides how the queries are sent; the walk decides which node is
 * queried next, and for which port.
 */

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
};

/*
 * Begins at a host.
 * @param nic  by which it leaves
 */
void topo_walk_begin(struct topo_walk *walk, const struct topo *topo, uint32_t host, uint16_t nic, uint32_t dst_ip);

/*
 * The answer of walk->node about the flow's headers from walk->in_port: its first row. @return whether there is another
 * node to query
 */
bool topo_walk_on(struct topo_walk *walk, const struct topo *topo, const struct swm_egress *answer);

/* walk->node gives no answer. */
void topo_walk_unanswered(struct topo_walk *walk);
