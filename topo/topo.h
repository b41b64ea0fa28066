/* SPDX-License-Identifier: BSD-3-Clause */
/* The network: nodes, ports, links. Immutable once built. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/cfg/cfg.h"
#include "common/err.h"

#define TOPO_MAX_PORTS 248   /* of one node: struct pkt has a byte for a port, whose last values name none */
#define TOPO_MAX_NICS 128    /* ports of a host: an address has 7 bits for one */
#define TOPO_MAX_NODES 65535 /* an address has 16 bits for a host: topo_nic_ip() */
#define TOPO_NONE UINT32_MAX

enum topo_kind { TOPO_SWITCH, TOPO_HOST };

/* One direction belongs to each end: "port" is both the egress towards the peer and the ingress from it. */
struct topo_port {
	uint32_t node;  /* owner */
	uint16_t index; /* 0-based on its node; people see "node:index+1" */
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
	bool bonded; /* a host whose ports are one bond: they have one address, that of NIC 0 */
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
	uint32_t nnodes, nports, nlinks, nhosts, nswitches, nbonds;
	uint32_t *hosts;        /* [nhosts] node ids in order of appearance */
	uint32_t *by_name;      /* [nnodes] node ids sorted by name, for topo_find() */
	struct cfg_where where; /* of the scenario's group */
	char *source;           /* imported file that nodes' where points to, or NULL */
};

void topo_destroy(struct topo *topo);

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

/* @return whether the node is a switch, and has that port; any values are allowed */
static inline bool
topo_is_switch_port(const struct topo *topo, uint32_t node, uint32_t index)
{
	return node < topo->nnodes && topo->nodes[node].kind == TOPO_SWITCH && index < topo->nodes[node].nports;
}

/*
 * A number that no other port of a network has, which does not depend on how many ports nodes have: the stream of a
 * port's chance.
 */
static inline uint32_t
topo_port_stream(uint32_t node, uint16_t index)
{
	return (uint32_t)(index >> 7) << 23 | node << 7 | (index & 0x7f);
}

/* 10.x.y.z made of host node id and NIC: the address the host's NIC has. Host byte order. */
static inline uint32_t
topo_nic_ip(uint32_t node, uint16_t nic)
{
	return 0x0a000000u | (uint32_t)(nic & 0x7f) << 16 | ((node + 1) & 0xffff);
}

/* @return whether ip is the address of a host's NIC, or bond, of this network: which one, a bond's as NIC 0 */
bool topo_find_nic(const struct topo *topo, uint32_t ip, uint32_t *node, uint16_t *nic);

/* The address that a port of a host answers to: its NIC's own, or its bond's. Host byte order. */
static inline uint32_t
topo_host_ip(const struct topo *topo, uint32_t node, uint16_t nic)
{
	return topo_nic_ip(node, topo->nodes[node].bonded ? 0 : nic);
}

/* A NIC's MAC address is made of its IP: 02:00 (locally administered) and the four bytes. */
static inline void
topo_mac_of_ip(uint8_t mac[6], uint32_t ip)
{
	mac[0] = 0x02;
	mac[1] = 0x00;
	for (int i = 0; i < 4; i++)
		mac[2 + i] = (uint8_t)(ip >> (24 - 8 * i));
}

static inline void
topo_nic_mac(uint32_t node, uint16_t nic, uint8_t mac[6])
{
	topo_mac_of_ip(mac, topo_nic_ip(node, nic));
}

/* A topology as text: for people, for Graphviz, for a scenario. */

/* Prints the topology for people: counts, then every node with its ports and links. */
void topo_show(const struct topo *topo, FILE *to);
/* Prints the topology as an undirected graph for Graphviz. */
void topo_show_dot(const struct topo *topo, FILE *to);
/* Prints the topology as a scenario's group "topology" of kind "explicit". */
void topo_show_scenario(const struct topo *topo, FILE *to);
