/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The probe targets of each RNIC (R-Pingmesh 4.1), as a function of network, seed and time alone. Any entry at any time
 * can be computed without earlier ones, and a restarted controller continues with the same lists.
 *
 * ToR-mesh: all RNICs of the same ToR but those of the same host. Two RNICs of one host share its CPU, its agent and
 * its power. Where the host is at fault, each would blame the other; of a healthy fabric neither adds anything to its
 * own probes.
 *
 * Inter-ToR: the number of 5-tuples per ToR by Eq. 1, for each distance of other ToRs, assigned to its RNICs round
 * robin; target and source port are drawn. After each rotate_ps a fifth of an RNIC's tuples is drawn anew.
 *
 * Rails (7.4), instead of inter-ToR: the same number of tuples and distances, but the target is another RNIC of the
 * same host, which itself reports whether a probe arrived. With two rails every path up from one rail leads down to the
 * other, so that these links could not be distinguished: hosts with two RNICs have both lists.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/units.h"
#include "topo/route.h"
#include "topo/topo.h"

/* The RNICs of a network by ToR, and the number of parallel paths between ToRs: the input of pinglists. */

/* One NIC of one host. */
struct rnic {
	uint32_t ip;
	uint32_t host, tor; /* topology node ids */
	uint16_t nic;
};

/* Other ToRs that a ToR reaches over the same number of paths. */
struct rnic_reach {
	uint32_t paths;        /* N of Eq. 1: parallel links count each */
	uint32_t tuples;       /* k: its tuples to them */
	uint32_t first, count; /* in rnic_map.others */
};

struct rnic_tor {
	uint32_t node;
	uint32_t first, count; /* in rnics */
	struct rnic_reach *reaches;
	uint32_t nreaches;
	uint32_t tuples; /* of all of them */
};

struct rnic_map {
	struct rnic *rnics; /* by (ToR, host, NIC) */
	uint32_t nrnics;
	struct rnic_tor *tors; /* by node */
	uint32_t ntors;
	uint32_t *others; /* indices into tors */
	uint32_t *by_ip;  /* [nrnics] indices into rnics */
};

/*
 * @param table    of topo, with all links up
 * @param covered  P of Eq. 1
 * @return 0 or -ENOMEM with err
 */
int rnic_map_init(struct rnic_map *map, const struct topo *topo, const struct route_table *table, double covered,
		  struct err *err);
/* Also for a zeroed map. */
void rnic_map_fini(struct rnic_map *map);

/* @return index into rnics, TOPO_NONE: there is no such address */
uint32_t rnic_map_find(const struct rnic_map *map, uint32_t ip);
/* @return index into tors of an RNIC's */
uint32_t rnic_map_tor(const struct rnic_map *map, uint32_t rnic);

/*
 * How many 5-tuples it takes to use every one of several parallel paths, where ECMP chooses at random (R-Pingmesh, Eq.
 * 1).
 */

#define COVERAGE_MAX_PATHS 65536u

/*
 * The left side of Eq. 1: the probability that this number of tuples leaves one of the paths out. Its alternating sum
 * is only computed where it is well conditioned, N(1 - 1/N)^k <= 16; where more than 16 paths are expected to be left
 * out it is 1 within 2e-7.
 * @param paths  1 to COVERAGE_MAX_PATHS
 * @return 0 to 1
 */
double coverage_miss(uint32_t paths, uint64_t tuples);

/*
 * Eq. 1: the fewest tuples, no fewer than paths, that use all of them with a probability of at least covered.
 * @param paths    1 to COVERAGE_MAX_PATHS
 * @param covered  0.5 to less than 1: P
 */
uint64_t coverage_tuples(uint32_t paths, double covered);

/* The protocol's times (R-Pingmesh 5). All of them may be shrunk by one factor. */

#define PINGMESH_PPM 1000000u

struct pingmesh_times {
	uint64_t tor_mesh_ps; /* between ToR-mesh probes of an RNIC: 10 a second */
	uint64_t
		inter_tor_ps; /* between probes of one inter-ToR tuple: more than 10 a second on each link that it covers */
	uint64_t service_ps;  /* between service tracing probes of an RNIC */
	uint64_t timeout_ps;  /* of a probe */
	uint64_t upload_ps;   /* between an agent's uploads */
	uint64_t period_ps;   /* of analysis */
	uint64_t pinglist_ps; /* between two pulls of pinglists */
	uint64_t rotate_ps;   /* after which a fifth of the inter-ToR tuples is new */
};

/* @param factor_ppm  PINGMESH_PPM: as in the paper */
static inline struct pingmesh_times
pingmesh_times(uint32_t factor_ppm)
{
#define TIME(ms) ((ms)*PS_PER_MS / PINGMESH_PPM * factor_ppm)
	return (struct pingmesh_times){ .tor_mesh_ps = TIME(100),
					.inter_tor_ps = TIME(90),
					.service_ps = TIME(10),
					.timeout_ps = TIME(500),
					.upload_ps = TIME(5000),
					.period_ps = TIME(20000),
					.pinglist_ps = TIME(300000),
					.rotate_ps = TIME(3600000) };
#undef TIME
}

/* Pinglists. */

#define PINGLIST_COVERED 0.99       /* P of Eq. 1 */
#define PINGLIST_ROTATE_PARTS 5u    /* the inverse of the share that is drawn anew at a time: 20 % */
#define PINGLIST_FIRST_PORT 0xc000u /* RoCEv2's source ports, as rdma_flow_label_to_udp_sport() makes them */
#define PINGLIST_PORTS 0x4000u
/* Source ports of soft-RoCE's UD QPs are hashes of QP numbers: a freshly started host soon opens these numbers. */
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

/* @return entries of an RNIC, first those of the ToR-mesh: constant over time */
uint32_t pinglist_count(const struct pinglists *lists, uint32_t rnic);
/* @return of them those of the ToR-mesh */
uint32_t pinglist_mesh_count(const struct pinglists *lists, uint32_t rnic);
/*
 * The rate of an RNIC's own probes with both ACKs of each. As others probe the RNIC likewise, each direction of its link
 * carries about this rate.
 * @param service  it traces the service of a connection, too
 * @return bits per second on the link, with preambles and gaps
 */
double pinglist_load_bps(const struct pinglists *lists, uint32_t rnic, bool service);

#define PINGLIST_MOST_SHARE 0.1 /* of a link: with more, the diagnosis would slow down what it watches */

/*
 * The largest share of an RNIC's link that its probes take.
 * @param rnic  set to the RNIC, where there is one
 * @return 1: all of it
 */
double pinglist_link_share(const struct pinglists *lists, const struct topo *topo, bool service, uint32_t *rnic);
/* @param i  below pinglist_count() @param time_ps  since the protocol began */
struct pinglist_entry pinglist_at(const struct pinglists *lists, uint32_t rnic, uint32_t i, uint64_t time_ps);
