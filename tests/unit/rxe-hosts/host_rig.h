/* SPDX-License-Identifier: BSD-3-Clause */
/* Two embedded hosts back to back, NIC i to NIC i, and everything that happens to them written down. */
#pragma once

#include "common/sertable.h"
#include "common/units.h"
#include "dpswitch/fabric/link.h"
#include "rxe-hosts/device/embedded/embedded.h"

#define RIG_MAX_NICS 4
#define RIG_MAX_FLOWS 8
#define RIG_MAX_EVENTS 4096
#define RIG_REGION_BYTES 65536
#define RIG_DELAY_PS (1 * PS_PER_US)

struct rig;

struct rig_host {
	struct rig *rig;
	struct node *node;
	struct device *dev;
	struct wc wcs[RIG_MAX_EVENTS];
	uint32_t nwcs;
	uint64_t rtts[RIG_MAX_EVENTS];
	uint32_t nrtts;
	uint32_t ticks, timers, accepts, ndatagrams;
	uint64_t timer_ps, datagram_ps;
	struct datagram datagram, departed; /* the latest that came in; that left */
	uint32_t answer_on;                 /* flow by which UD SENDs are answered at once; 0: none */
	uint8_t region[RIG_REGION_BYTES];
};

struct rig {
	struct topo topo;
	struct topo_node nodes[2];
	struct topo_port ports[2 * RIG_MAX_NICS];
	struct flow flows[RIG_MAX_FLOWS];
	struct flow_table table;
	struct sertables sertables;
	struct roce_params params;
	struct embedded_shared *shared;
	const struct telem_config *telemetry[2];
	uint32_t nnics, first_psn;
	uint8_t strict; /* classes of both hosts, a bit each */
	uint64_t rate_bps;
	struct link links[2 * RIG_MAX_NICS]; /* [host * nnics + nic]: leaves there */
	struct link *tx[2][RIG_MAX_NICS], *rx[2][RIG_MAX_NICS];
	struct rig_host hosts[2];
	struct window window;
	/* Sees every frame between the windows; may change it. Returns false to lose it. NULL: all pass. */
	bool (*filter)(struct rig *rig, uint32_t from, struct pkt *p);
	/* What a switch would write into a frame with PKT_INT on its way. NULL: nothing. */
	void (*stamp)(struct rig *rig, const struct pkt *p, struct int_header *header);
	uint32_t state; /* the filter's own */
	uint64_t lost_packets;
	uint32_t sent[2][PKT_TYPES]; /* frames that left, by host and type */
};

/* Real RoCEv2 frame sizes, 1024 B of payload, 100 Gbps, exact times, no window, no congestion control. */
void rig_defaults(struct rig *rig);
/* A flow from host to the other, NIC nic to NIC nic. @return its index */
uint32_t rig_flow(struct rig *rig, uint32_t host, uint16_t nic);
/* Makes the hosts; after the parameters and flows are set. */
void rig_start(struct rig *rig);
void rig_stop(struct rig *rig);
/* Runs whole windows until end_ps. */
void rig_run(struct rig *rig, uint64_t end_ps);
/* Posts a message at the rig's present time. */
int rig_send(struct rig *rig, uint32_t flow, uint64_t bytes, uint64_t wr_id);
/* Posts a datagram at the rig's present time, of id 5 and, if UD, 64 B. */
int rig_datagram(struct rig *rig, uint32_t flow, uint8_t type, uint32_t arg);
/* The n-th (from 0) completion of a kind at a host, NULL if there is none. */
const struct wc *rig_wc(const struct rig *rig, uint32_t host, enum wc_opcode opcode, uint32_t n);
/* Packets born = consumed + dropped + lost by the filter + held + in flight, over both hosts. */
bool rig_conserves(const struct rig *rig);
/* A filter: the second data packet arrives with a wrong ICRC. */
bool rig_corrupts_second(struct rig *rig, uint32_t from, struct pkt *p);
