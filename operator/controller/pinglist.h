/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whom each RNIC probes (R-Pingmesh 4.1), as a function of network, seed and time alone: any entry at any time can be told
 * without those before it, and a controller that starts again goes on with the same lists.
 *
 * ToR-mesh: all RNICs of the same ToR but those of the same host. Two RNICs of one host share its CPU, its agent and its
 * power: where the host is at fault, each would speak against the other, and about a healthy fabric neither of them tells
 * anything that its own probes do not.
 *
 * Inter-ToR: as many 5-tuples a ToR as Eq. 1 says, for each distance that other ToRs are at, dealt out to its RNICs in turn;
 * target and source port are drawn. After each rotate_ps a fifth of an RNIC's tuples is drawn anew.
 *
 * Rails (7.4), instead of inter-ToR: as many tuples at as many distances, but the target is another RNIC of the same host, which tells by
 * itself whether a probe came. With two rails what goes up from the one always comes down to the other, so that nobody could tell these links
 * apart: hosts with two RNICs have both lists.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "operator/controller/rnics.h"
#include "operator/controller/times.h"

#define PINGLIST_COVERED 0.99       /* P of Eq. 1 */
#define PINGLIST_ROTATE_PARTS 5u    /* one of so many is drawn anew at a time: 20 % */
#define PINGLIST_FIRST_PORT 0xc000u /* RoCEv2's source ports, as rdma_flow_label_to_udp_sport() makes them */
#define PINGLIST_PORTS 0x4000u
/* Ports of soft-RoCE's UD QPs are hashes of their numbers: these numbers a host that has just come up opens soon. */
#define PINGLIST_RXE_FIRST_QPN 64u
#define PINGLIST_RXE_QPNS 256u

struct pinglist_entry {
	uint16_t kind; /* enum rec_probe_kind: ToR-mesh, inter-ToR or rail */
	uint16_t sport;
	uint32_t target; /* index into rnic_map.rnics; TOPO_NONE: ToRs at this distance have none */
	uint64_t interval_ps;
};

struct pinglists {
	const struct rnic_map *map;
	struct pingmesh_times times;
	uint64_t seed;
	bool rxe;   /* RNICs are soft-RoCE's: ports are drawn of those that cost few QPs */
	bool rails; /* every host's RNICs are at ToRs of their own */
};

/* @return entries of an RNIC, first those of the ToR-mesh: so many at any time */
uint32_t pinglist_count(const struct pinglists *lists, uint32_t rnic);
/* @return of them those of the ToR-mesh */
uint32_t pinglist_mesh_count(const struct pinglists *lists, uint32_t rnic);
/* @param i  below pinglist_count() @param time_ps  since the protocol began */
struct pinglist_entry pinglist_at(const struct pinglists *lists, uint32_t rnic, uint32_t i, uint64_t time_ps);
