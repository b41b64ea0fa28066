/* SPDX-License-Identifier: BSD-3-Clause */
/* What the network is: nodes, ports, links. Immutable once built. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/cfg.h"
#include "common/err.h"

#define TOPO_MAX_PORTS 128 /* of one node; port indices fit struct pkt */
#define TOPO_MAX_NODES 16384
#define TOPO_NONE UINT32_MAX

enum topo_kind { TOPO_SWITCH, TOPO_HOST };

/* One direction belongs to each end: "port" is both the egress towards the peer and the ingress from it. */
struct topo_port {
	uint32_t node;      /* owner */
	uint16_t index;     /* 0-based on its node; people see "node:index+1" */
	uint16_t peer_index;
	uint32_t peer;      /* node at the other end */
	uint32_t peer_port; /* global port id at the other end */
	uint32_t link;      /* cable id */
	uint64_t rate_bps;
	uint64_t delay_ps;
};

struct topo_node {
	char name[32];
	enum topo_kind kind;
	uint16_t nports;
	uint32_t first_port; /* global id of port 0; the ports of a node are consecutive */
	struct cfg_where where;
};

/* A cable: the global ids of its two ports, as its ends were given. */
struct topo_link {
	uint32_t port[2];
};

struct topo {
	struct topo_node *nodes; /* [nnodes] */
	struct topo_port *ports; /* [nports] global port ids */
	struct topo_link *links; /* [nlinks] */
	uint32_t nnodes, nports, nlinks, nhosts, nswitches;
	uint32_t *hosts; /* [nhosts] node ids in order of appearance */
	uint32_t *by_name; /* [nnodes] node ids sorted by name, for topo_find() */
	char *source;      /* imported file that nodes' where points to, or NULL */
};

/*
 * Builds what the scenario's group "topology" says, by its kind, and checks it with topo_check(). The tree must outlive
 * the topology: nodes remember where they stood.
 * @return 0, -EINVAL with file:line, value and what would be right, or -ENOMEM
 */
int topo_build(const struct cfg *cfg, struct topo **topo, struct err *err);
/*
 * What no run should begin with: a host without link, hosts that cannot reach each other (hosts do not forward).
 * What concerns one node or link alone (names, self links, rates, port counts) is refused while building.
 * @return 0 or -EINVAL
 */
int topo_check(const struct topo *topo, struct err *err);

/*
 * Room that an ingress needs behind the point where it sends PAUSE, so that nothing is lost: rate x (round trip of the
 * cable and of both receivers' pipelines) for what is in flight, one frame that delays the PAUSE at this end, one that
 * the other end has begun and finishes, and the PAUSE itself (IEEE 802.1Qbb-2011, annex O).
 * @param frame_bytes  the largest frame on the wire
 * @param pause_bytes  a PAUSE frame on the wire
 */
uint64_t topo_headroom_bytes(const struct topo_port *port, uint64_t pipeline_ps, uint32_t frame_bytes,
			     uint32_t pause_bytes);

/*
 * Is the headroom of an ingress enough for its cable?
 * @param where  of the group that holds the key "headroom"
 * @return 0, or -EINVAL: "FILE:LINE: switch.pfc.headroom: 20KB is short for 6:2 (100Gbps, 2us): needs at least N"
 */
int topo_check_headroom(const struct topo *topo, uint32_t port, uint64_t headroom_bytes, uint64_t pipeline_ps,
			uint32_t frame_bytes, uint32_t pause_bytes, const struct cfg_where *where, struct err *err);

/* For people: counts, then every node with its ports and links. */
void topo_show(const struct topo *topo, FILE *to);
/* The same as an undirected graph for Graphviz. */
void topo_show_dot(const struct topo *topo, FILE *to);
/* As a scenario's group "topology" of kind "explicit". */
void topo_show_scenario(const struct topo *topo, FILE *to);

void topo_destroy(struct topo *topo);

/* Tables of "topology" and "paths", for cfg_check(). Fills up to cap. @return how many there are */
size_t topo_tables(struct cfg_known *known, size_t cap);

/*
 * Converts an HPCC ns-3 topology file ("nodes switches links", switch ids, "src dst rate delay error_rate" lines) to a
 * scenario's group "topology" that gives the same network, node names and port numbers.
 * @return 0, -EINVAL (file:line, value and what would be right), -EIO or -ENOMEM
 */
int topo_import_ns3(const char *path, FILE *to, struct err *err);

/* @return node id or TOPO_NONE */
uint32_t topo_find(const struct topo *topo, const char *name);
/* "6:2" -> global port id, or TOPO_NONE */
uint32_t topo_find_port(const struct topo *topo, const char *text);
/* "6:2" for a global port id; buf of at least 40 bytes. @return buf */
char *topo_port_name(const struct topo *topo, uint32_t port, char *buf);

static inline const struct topo_port *
topo_port_of(const struct topo *topo, uint32_t node, uint16_t index)
{
	return &topo->ports[topo->nodes[node].first_port + index];
}

/* 10.x.y.z made of host node id and NIC: the address the host's NIC has. Host byte order. */
static inline uint32_t
topo_nic_ip(uint32_t node, uint16_t nic)
{
	return 0x0a000000u | (uint32_t)(nic & 0x7f) << 16 | ((node + 1) & 0xffff);
}

/*
 * What no run should begin with: a host without link, hosts that cannot reach each other (hosts do not forward).
 * What concerns one node or link alone (names, self links, rates, port counts) is refused while building.
 * @return 0 or -EINVAL
 */
int topo_check(const struct topo *topo, struct err *err);

/*
 * Room that an ingress needs behind the point where it sends PAUSE, so that nothing is lost: rate x (round trip of the
 * cable and of both receivers' pipelines) for what is in flight, one frame that delays the PAUSE at this end, one that
 * the other end has begun and finishes, and the PAUSE itself (IEEE 802.1Qbb-2011, annex O).
 * @param frame_bytes  the largest frame on the wire
 * @param pause_bytes  a PAUSE frame on the wire
 */
uint64_t topo_headroom_bytes(const struct topo_port *port, uint64_t pipeline_ps, uint32_t frame_bytes,
			     uint32_t pause_bytes);

/*
 * Is the headroom of an ingress enough for its cable?
 * @param where  of the group that holds the key "headroom"
 * @return 0, or -EINVAL: "FILE:LINE: switch.pfc.headroom: 20KB is short for 6:2 (100Gbps, 2us): needs at least N"
 */
int topo_check_headroom(const struct topo *topo, uint32_t port, uint64_t headroom_bytes, uint64_t pipeline_ps,
			uint32_t frame_bytes, uint32_t pause_bytes, const struct cfg_where *where, struct err *err);

/* For people: counts, then every node with its ports and links. */
void topo_show(const struct topo *topo, FILE *to);
/* The same as an undirected graph for Graphviz. */
void topo_show_dot(const struct topo *topo, FILE *to);
/* As a scenario's group "topology" of kind "explicit". */
void topo_show_scenario(const struct topo *topo, FILE *to);
