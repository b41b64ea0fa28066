/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The embedded device: a host as a node of the fabric, with the transport of rxe-hosts/roce on its NIC ports.
 * Flows name its QPs: one that sends for each flow that starts here, one that receives for each that ends here.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/sertable.h"
#include "dpswitch/fabric/node.h"
#include "rxe-hosts/device/device.h"
#include "rxe-hosts/roce/params.h"
#include "telemetry/collector.h"
#include "telemetry/pause_count.h"

/*
 * State that all hosts of a run share: the QPs of a flow, and the owner of its payload. Immutable once all hosts are
 * made.
 */
struct embedded_shared;
struct telem_port;

/* @return NULL with err set: -EINVAL (a flow from a host to itself, or of a NIC that is not there), -ENOMEM */
struct embedded_shared *embedded_shared_create(const struct topo *topo, const struct flow_table *flows, struct err *err);
void embedded_shared_destroy(struct embedded_shared *shared);

/* Everything a host is made from. Referenced objects must outlive it. */
struct embedded_config {
	uint32_t node; /* topology node id of a host */
	const struct topo *topo;
	const struct flow_table *flows;
	struct embedded_shared *shared;
	struct sertables *sertables; /* with the quantum of params */
	const struct roce_params *params;
	const struct telem_config *telemetry; /* of switches; copied; NULL: no rows */
	uint64_t bdp_bytes;                   /* used where params set window_is_bdp */
	uint64_t bond_seed;                   /* the run's, of bonds' hashes */
	uint32_t first_psn;                   /* of every QP */
	uint8_t strict;                       /* bit p: class p is served before the classes that share */
	bool ledger;                          /* of the time of each message */
};

/*
 * Makes a host. Its links are connected by fabric_attach(), node_destroy() unmakes it.
 * @return NULL with err set: -EINVAL, -ENOMEM
 */
struct node *embedded_host_create(const struct embedded_config *config, struct err *err);

/* The device of a host made by embedded_host_create(). */
struct device *embedded_device(struct node *node);

/*
 * Fields for which a packet on a link has no room, between windows; va is the offset in the receiver's region. 0 and
 * synthetic for a late duplicate of an unknown message.
 */
void embedded_describe(const struct embedded_shared *shared, const struct roce_params *params, const struct pkt *p,
		       struct pkt_message *m);

/*
 * The contents of a datagram on a link, which stay with its sender, between windows; and their copy in another program,
 * where the sender stands still.
 * @param bytes  of EMBEDDED_DATAGRAM_BYTES. @return their size; 0: it has none, or they have expired
 */
#define EMBEDDED_DATAGRAM_BYTES 128
size_t embedded_datagram_get(const struct embedded_shared *shared, const struct pkt *p, uint8_t *bytes);
/* @return 0, -ENOMEM, or -EPROTO: they are no contents of this packet */
int embedded_datagram_put(struct embedded_shared *shared, const struct pkt *p, const uint8_t *bytes, size_t size);
/*
 * How many datagrams a NIC has made decides which contents have expired: the copies in another program expire with those
 * of the sender. Between windows.
 * @param port  global id of a NIC. @return whether it has made any since the last call. @param next  PSN of its next one
 */
bool embedded_datagram_made(struct embedded_shared *shared, uint32_t port, uint32_t *next);
/* Sets that number for a NIC of another program, before the next window. @return 0 or -ENOMEM */
int embedded_datagram_set_made(struct embedded_shared *shared, uint32_t port, uint32_t next);

/* Counters of a host's transport. */
struct embedded_counters {
	uint64_t retransmits, timeouts; /* as a sender: packets sent again; expiries */
	uint64_t naks_received, rnr_received;
	uint64_t naks_sent;                          /* as a receiver, RNR included */
	uint64_t duplicates, out_of_sequence, stale; /* data packets not accepted, by reason */
	uint64_t early;                              /* data packets placed ahead of a missing one */
	uint64_t datagrams_unposted;                 /* of flows, and of NICs */
	uint64_t cnps_sent, cnps_handled;            /* as a receiver; as a sender, ACKs that echo a mark included */
	uint64_t acks_withheld;                      /* queue full: a later ACK covers them */
	uint64_t pauses_received;                    /* XOFF frames */
	uint64_t misdelivered;                       /* of flows of other hosts; dropped as REC_DROP_NO_ROUTE */
};

/* Counters of the two ends of a connection, as in struct rc_send and struct rc_recv. */
struct embedded_requester {
	uint64_t retransmits, timeouts, naks, rnr_naks, marks;
};
struct embedded_responder {
	uint64_t duplicates, out_of_sequence, marked, cnps;
};
/* @param flow  that begins, or ends, at this host */
struct embedded_requester embedded_requester_of(const struct node *node, uint32_t flow);
struct embedded_responder embedded_responder_of(const struct node *node, uint32_t flow);

/* Datagrams with contents that arrived at a NIC and reached no program, by reason. */
#define EMBEDDED_DATAGRAM_DROPS(ROW)                                                                                       \
	ROW(EMBEDDED_DATAGRAM_UNPOSTED, "datagram_unposted")     /* without a posted receive (IBTA 9.8.3.2.2) */           \
	ROW(EMBEDDED_DATAGRAM_UNKNOWN_QP, "datagram_unknown_qp") /* to a QP that is not there */                           \
	ROW(EMBEDDED_DATAGRAM_EXPIRED, "datagram_expired")       /* in flight for longer than its contents are kept */

#define EMBEDDED_DATAGRAM_DROP(name, text) name,
enum embedded_datagram_drop { EMBEDDED_DATAGRAM_DROPS(EMBEDDED_DATAGRAM_DROP) EMBEDDED_DATAGRAM_REASONS };
#undef EMBEDDED_DATAGRAM_DROP

/* State and counters of a NIC: its peer's pauses, and dropped and sent packets by class. */
struct embedded_nic {
	const struct pause_count *pauses; /* [8] */
	uint8_t paused;                   /* bit p: class p is now */
	const struct telem_port *telemetry;
	const uint64_t *datagram_drops; /* [EMBEDDED_DATAGRAM_REASONS] packets */
};
struct embedded_nic embedded_nic_at(const struct node *node, uint16_t nic);

/* A host driver's data on a flow's sending QP. */
struct embedded_flow {
	uint64_t messages; /* that it was given so far */
	uint16_t nic;      /* by which it leaves now */
};

/* @param flow  that begins at this host */
struct embedded_flow embedded_flow_of(struct node *node, uint32_t flow);

void embedded_sum(const struct node *node, struct embedded_counters *sum);
