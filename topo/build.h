/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds a topology from a scenario, or from an ns-3 file. */
#pragma once

#include <stdio.h>

#include "common/cfg/cfg.h"
#include "topo/topo.h"

#define TOPO_MAX_RATE_BPS 10000000000000ULL /* of a cable */

/*
 * Builds the scenario's group "topology" by its kind, and checks it with topo_check(). The tree must outlive the
 * topology: nodes remember their places in the file.
 * @return 0, -EINVAL with file:line, value and what would be right, or -ENOMEM
 */
int topo_build(const struct cfg *cfg, struct topo **topo, struct err *err);

/* Tables of "topology" and "paths", for cfg_check(). Fills up to cap. @return how many there are */
size_t topo_tables(struct cfg_known *known, size_t cap);

/*
 * Converts an HPCC ns-3 topology file ("nodes switches links", switch ids, "src dst rate delay error_rate" lines) to a
 * scenario's group "topology" that gives the same network, node names and port numbers.
 * @return 0, -EINVAL (file:line, value and what would be right), -EIO or -ENOMEM
 */
int topo_import_ns3(const char *path, FILE *to, struct err *err);

/*
 * Checks the whole topology for errors that would void any run: a host without link, or hosts that cannot reach each
 * other (hosts do not forward). Errors of a single node or link (names, self links, rates, port counts) are refused
 * while building.
 * @return 0 or -EINVAL
 */
int topo_check(const struct topo *topo, struct err *err);

/*
 * Room that an ingress needs behind the point where it sends PAUSE, so that nothing is lost: the frame that crosses the
 * threshold, rate x (round trip of the cable and of both receivers' pipelines) for frames in flight, one frame that
 * delays the PAUSE at this end, one that the other end has begun and finishes, and the PAUSE itself (IEEE
 * 802.1Qbb-2011, annex O, where the first is counted before the threshold).
 * @param rate_bps     at which the other end sends: the port's, or more where timing.quantum floors its frames' times
 * @param frame_bytes  the largest frame on the wire
 * @param pause_bytes  PAUSE frames on the wire: this one, and those of other classes that leave before it
 */
uint64_t topo_headroom_bytes(const struct topo_port *port, uint64_t rate_bps, uint64_t pipeline_ps, uint32_t frame_bytes,
			     uint32_t pause_bytes);

/*
 * Is the headroom of an ingress enough for its cable?
 * @param needed_bytes  from topo_headroom_bytes()
 * @param where  of the group that holds the key "headroom"
 * @return 0, or -EINVAL: "FILE:LINE: switch.pfc.headroom: 20KB is short for 6:2 (100Gbps, 2us): needs at least N"
 */
int topo_check_headroom(const struct topo *topo, uint32_t port, uint64_t headroom_bytes, uint64_t needed_bytes,
			const struct cfg_where *where, struct err *err);
