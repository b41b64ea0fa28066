/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernel hosts: a fabric node that models the NIC of a host whose frames enter and leave by ports. A frame's headers
 * are read once, when it enters, and it leaves in the same mbuf: only TTL, ECN and the IP checksum change on the path.
 *
 * Toward the host: what it does not take is held and offered again; past a threshold the node sends PAUSE for the
 * lossless classes, as a NIC with a slow host does, and RESUME below it.
 * From the host: a few hundred frames at most are dequeued and wait for the link, answers first; behind them, while the
 * link is busy or a class paused, the host's own transmit ring is not dequeued.
 * Several lcores: a host and its port belong to one; shared state is read within a window, and changed between windows.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/sertable.h"
#include "dpswitch/edge/port/port.h"
#include "dpswitch/fabric/body.h"
#include "dpswitch/fabric/node.h"
#include "telemetry/collector.h"

struct sw;

#define EDGE_UNPLANNED_FLOWS 1024 /* a default for flow_table_reserve() */

/* State that all kernel hosts of a fabric share: the bytes in flight, and the unplanned flows. */
struct edge;

struct edge_config {
	const struct topo *topo;
	struct flow_table *flows;     /* after flow_table_reserve(); the spare slots are the edge's to fill */
	struct sw *const *switches;   /* [topo->nnodes], NULL for hosts; filled by the time the fabric runs */
	struct message_source source; /* of embedded hosts in the same run; describe NULL: there are none */
	bool shared;                  /* by several lcores: edge_settle() is called between windows */
	uint32_t room_bytes;          /* for frames that are built here; 0: PORT_FRAME_ROOM */
	uint64_t idle_ps;             /* a spare slot idle for so long may be given away: more than the kept epochs */
	uint8_t data_prio;            /* RoCEv2 without a mark */
	uint8_t measured_prio;        /* measured data without an 802.1Q tag */
	uint8_t lossy_prio;           /* everything else, unless marked with another lossy class */
	uint8_t lossless;             /* bit p: class p is lossless */
	uint32_t adopted;             /* frames of other partitions that may be here at once; 0: the fabric is whole */
};

/* When all ports are there. @return NULL with err set: -EINVAL (no spare slots), -ENOMEM, -ERANGE */
struct edge *edge_create(const struct edge_config *config, struct err *err);
/* After the fabric and its nodes, which give back the bytes that they hold. */
void edge_destroy(struct edge *edge);
/* Between windows: gives the unplanned flows of waiting frames their slots. */
void edge_settle(struct edge *edge);
/* The argument of struct fabric_config for packets' bodies. */
struct bodies *edge_bodies(struct edge *edge);

/*
 * Writes the bytes of a packet as they are on a link, without FCS: those that ride along, else those that its
 * descriptor stands for. For captures; between windows.
 * @return their number, 0 if they are unknown or cap_bytes is too small
 */
size_t edge_frame(const struct edge *edge, const struct pkt *p, uint8_t *bytes, size_t cap_bytes);

/*
 * A packet leaves for another partition: a frame's bytes as they arrived, which its descriptor does not change; of a
 * control packet (polling, notification, ICMP) the tuple of its flow, struct partition_tuple. Between windows.
 * @param p  with PKT_BYTES, or a control packet. @return their number; 0: cap_bytes is too small
 */
size_t edge_bytes(const struct edge *edge, const struct pkt *p, uint8_t *bytes, size_t cap_bytes);
/*
 * A frame arrives from another partition: it is judged by its bytes, like one from a kernel host, and gets its flow
 * here. Between windows.
 * @param p  time, TTL, congestion and corruption as changed in flight; the rest is set, with PKT_BYTES. A control
 *           packet: all but its flow, which is set
 * @return 0; -EPROTO with err set: no host's frame, no tuple; -ENOSPC: no slot for an unplanned flow; -ENOBUFS:
 *         the limit of frames is reached
 */
int edge_adopt(struct edge *edge, struct pkt *p, const uint8_t *bytes, size_t size_bytes, struct err *err);

struct edge_counters {
	uint64_t unplanned_flows; /* slots in use */
	uint64_t unplanned_recycled;
};
void edge_sum(const struct edge *edge, struct edge_counters *sum);

/* Reasons why a frame from a host does not enter the fabric. */
enum edge_drop {
	EDGE_DROP_MALFORMED,   /* no Ethernet II frame with a whole IPv4 packet, or a bad checksum */
	EDGE_DROP_MULTICAST,   /* multicast, broadcast, IPv6, LLDP .. : noise that hosts make of their own accord */
	EDGE_DROP_ARP,         /* ARP that is no request for a host of the topology */
	EDGE_DROP_SOURCE,      /* not from this NIC's address */
	EDGE_DROP_DESTINATION, /* to no host of the topology, or to the sender itself */
	EDGE_DROP_NO_SLOT,     /* an unplanned flow, and no spare slot idle */
	EDGE_DROP_CONTROL,     /* polling or notification packet that is malformed or of an unknown flow */
	EDGE_DROP_PFC,         /* PFC from a peer that is not configured for it */
	EDGE_DROP_TOO_LONG,    /* longer than the largest frame of the run */
	EDGE_DROP_REPLY,       /* an ARP reply or PFC frame for a host that takes none */
	EDGE_DROP_REASONS
};
/* "multicast". */
const char *edge_drop_name(enum edge_drop reason);

struct kernel_host_nic_config {
	struct port *port;
	bool pfc; /* the peer honours and sends 802.1Qbb frames: else its transmit ring is held, and it sends none */
};

/* Configuration of a kernel host. Referenced objects must outlive it. */
struct kernel_host_config {
	uint32_t node; /* topology node id of a host */
	const struct topo *topo;
	const struct kernel_host_nic_config *nics; /* [ports of the node]; copied */
	struct edge *edge;
	struct sertables *sertables;
	const struct telem_config *telemetry; /* of switches; copied; NULL: no rows */
	uint64_t window_ps;                   /* of the fabric */
	uint32_t mtu_bytes;                   /* largest frame on the wire */
	uint32_t min_frame_bytes;
	uint64_t hold_bytes; /* held toward a host before PAUSE; 0: 256 KiB. Headroom for the link is added */
};

/*
 * Makes a host. Its links are connected by fabric_attach(). Packets that its NICs dropped are those toward the host;
 * REC_DROP_CORRUPT: that the host will drop, for their ICRC.
 * @return NULL with err set: -EINVAL, -ENOMEM
 */
struct node *kernel_host_create(const struct kernel_host_config *config, struct err *err);

/*
 * @return whether there is work before the next arrival: a frame to receive, or one held toward the host. Between
 *         windows.
 */
bool kernel_host_pending(const struct node *node);

struct kernel_host_counters {
	uint64_t in_packets, in_bytes;       /* frames that entered the fabric, on the wire */
	uint64_t out_packets, out_bytes;     /* that the host took */
	uint64_t replies;                    /* ARP */
	uint64_t dropped[EDGE_DROP_REASONS]; /* of the host's */
	uint64_t undeliverable;              /* toward the host: bytes that cannot be made */
	uint64_t held_bytes, held_max_bytes; /* toward the host: now, at most */
	uint64_t pauses_sent;                /* XOFF to the switch: the host, or its ring, was slow */
	uint64_t pauses_received;            /* XOFF from the switch */
	uint64_t pfc_sent, pfc_received;     /* frames to and from the peer */
	uint64_t paused_ps;                  /* some lossless class was paused by the switch */
};
void kernel_host_sum(const struct node *node, struct kernel_host_counters *sum);
