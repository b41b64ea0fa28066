/* SPDX-License-Identifier: BSD-3-Clause */
/* Stage 1: which way packets go, by routes, pins and faults; or why they go none. */
#pragma once

#include "common/wire/drop.h"
#include "dpswitch/fabric/node.h"
#include "dpswitch/pipeline/switch_cfg.h"

#define SWITCH_EGRESS_SPRAY 0xfd /* every packet has its own: see spray.h */
#define SWITCH_EGRESS_NONE 0xff  /* not decided yet */
#define SWITCH_EGRESS_DROP 0xfe  /* no way, see switch_resolve() */

struct sw;

struct switch_routes {
	uint8_t *route;    /* [flows * 2] egress by flow and direction */
	uint8_t *override; /* [nodes] faults: egress forced for packets to that host, SWITCH_EGRESS_NONE: none */
	uint8_t *denied;   /* [nodes] faults: why packets to that host are dropped, enum rec_drop; 0: they are not */
	double *pull; /* [ports] faults: of flows that have a choice with this port in it, the share that it gets first */
	uint64_t *fault_uses; /* [nodes] how often one of the first two decided */
	uint64_t *pulled;     /* [ports] flows, and their ways back, that it got by its pull */
	bool pulls;           /* some port does */
};

/* @return 0 or -ENOMEM */
int switch_routes_init(struct switch_routes *routes, const struct switch_config *config);
void switch_routes_fini(struct switch_routes *routes);

/* One packet of which the route cache alone does not tell the way. @param cached  what it says */
void switch_route_rare(struct sw *sw, uint16_t in_port, struct pkt *p, uint8_t cached);
void switch_route(struct sw *sw, uint16_t in_port, struct pkt *pkts, uint32_t count);
/*
 * The same of what came by a cable that damages frames: those are dropped, and counted where they came in, as a MAC does that
 * finds the FCS wrong (IEEE 802.3, 4.2.4.1.2).
 */
void switch_route_damaged(struct sw *sw, uint16_t in_port, struct pkt *pkts, uint32_t count);
/*
 * Decides the egress of a packet and remembers it.
 * @param port    where a drop counts: as it was given, or the egress whose link is down or to which the way was lost
 * @return port; SWITCH_EGRESS_SPRAY; SWITCH_EGRESS_DROP with *reason and *port
 */
uint8_t switch_resolve(struct sw *sw, const struct pkt *p, enum rec_drop *reason, uint16_t *port);
/* expire.c: the TTL of a packet ended here. @return whether it was answered, and thus consumed */
bool switch_expired(struct sw *sw, uint16_t in_port, const struct pkt *p);

/* @return the egress that a flow, or its ACKs, have here as long as nothing is cut or misrouted; negative: none */
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
/* The routes of the configuration have changed; between windows. */
void switch_forget_routes(struct sw *sw);
/* A spare flow slot has been given to another flow, and no packet of the former is left. */
void switch_forget_flow(struct sw *sw, uint32_t flow);
