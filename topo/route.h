/* SPDX-License-Identifier: BSD-3-Clause */
/* Shortest-path routes with equal-cost sets, pinned paths, and the delays along a path. */
#pragma once

#include <stdint.h>

#include "common/flow.h"
#include "topo/topo.h"

#define ROUTE_MAX_HOPS 64

/* Next-hop sets of every (node, destination host). Parallel links count as separate members. Hosts never forward. */
struct route_table;

/* @return NULL with errno ENOMEM */
struct route_table *route_table_create(const struct topo *topo);
void route_table_destroy(struct route_table *table);

/*
 * Equal-cost egress ports of node towards dst (a host node), ascending port index.
 * @param dst_nic  only paths that end at this NIC of dst
 * @param ports    set to an array of port indices
 * @return number of members, 0 when dst cannot be reached
 */
uint32_t route_next_hops(const struct route_table *table, uint32_t node, uint32_t dst, uint16_t dst_nic,
			 const uint8_t **ports);

/* CRC-32C over a 5-tuple as it stands in the headers, then mixed with the switch's own seed. */
uint32_t route_hash(uint32_t src_ip, uint32_t dst_ip, uint16_t sport, uint16_t dport, uint32_t switch_seed);

/* A path as the global ids of the egress ports it takes: the sender's NIC first, the last switch's port to dst last. */
struct route_path {
	uint32_t ports[ROUTE_MAX_HOPS];
	uint32_t hops;
};

/*
 * The path that ECMP with this seed (or the pinned one) gives a flow.
 * @param reverse  the path of its ACKs: destination to source with the tuple reversed
 * @return 0, -EHOSTUNREACH, or -ELOOP past ROUTE_MAX_HOPS
 */
int route_flow_path(const struct topo *topo, const struct route_table *table, uint64_t seed, const struct flow *flow,
		    bool reverse, struct route_path *path);

/* The ECMP choice of one switch: index into the next-hop set. seed is the run's; every switch hashes differently. */
uint32_t route_select(uint64_t seed, uint32_t node, uint32_t src_ip, uint32_t dst_ip, uint16_t sport, uint16_t dport,
		      uint32_t members);

/*
 * Time from the first bit sent to the last bit of the first packet received and its answer back, on idle links:
 * the sum over both paths of delay + receiver pipeline latency + serialization of frame_bytes (forward) and
 * answer_bytes (reverse). Store and forward at every hop.
 */
uint64_t route_rtt_ps(const struct topo *topo, const struct route_path *forward, const struct route_path *reverse,
		      uint32_t frame_bytes, uint32_t answer_bytes, uint64_t pipeline_ps, uint64_t quantum_ps);
