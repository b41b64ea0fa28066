/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FlowPulse's monitor in a switch (telemetry/volumes): it sees tagged data on arrival at a port whose peer is a switch
 * of the tier above, whole and before anything is done with it; judges iterations when they are over, and puts what it
 * finds among the switch's records.
 */
#pragma once

#include "common/tag.h"
#include "common/wire/record_volumes.h"
#include "dpswitch/fabric/node.h"
#include "dpswitch/pipeline/switch_cfg.h"

struct sw;

/* Data that a switch sends up: measured bytes, and other bytes in the class of measured data. */
struct volumes_sent {
	bool is_counted;
	uint8_t classes; /* bit p: measured data of class p was seen */
	uint64_t measured_bytes, other_bytes;
};

/* Direction of a flow's data at a switch; unknown before the first lookup. */
enum volumes_direction { VOLUMES_UNKNOWN, VOLUMES_STAYS, VOLUMES_GOES_UP };

struct switch_volumes {
	const struct volumes_setup *setup;
	struct judge judge;
	uint8_t tier;
	uint16_t *monitored; /* [ports of the switch] which of the monitored ones each is; VOLUMES_NO_PORT: none */
	uint16_t *port_of;   /* [monitored ports] and back */
	/* Data sent by ports to the tier above since the last iteration was judged, if balance_evens_out(); else 0. */
	struct volumes_sent sent;
	uint8_t *up_of;      /* [flows] enum volumes_direction of a flow's data; NULL unless sent.is_counted */
	uint16_t *sender_of; /* [nnodes] of hosts: the sender of their data, VOLUMES_NO_SENDER: not known yet */
	struct rec_monitored sum;
};

#define VOLUMES_NO_PORT UINT16_MAX

/*
 * Makes the monitor of a switch, if the configuration asks for one and there is a port for it.
 * @param volumes  set to it, NULL: there is none
 * @return 0; -ENOMEM; -EINVAL with err set
 */
int switch_volumes_create(const struct switch_config *config, const struct node *node, struct switch_volumes **volumes,
			  struct err *err);
/* @param volumes  may be NULL */
void switch_volumes_destroy(struct switch_volumes *volumes);

/* Arrivals of one port, in a window. */
void switch_volumes_count(struct sw *sw, uint16_t in_port, const struct pkt *pkts, uint32_t count);
/* The window is over: iterations that are, too, are judged. */
void switch_volumes_window(struct sw *sw, uint64_t end_ps);
/* Ends the measurement with the run. */
void switch_volumes_end(struct sw *sw, uint64_t now_ps);
/* Routes have changed, between windows. */
void switch_volumes_rerouted(struct sw *sw);

static inline uint64_t
switch_volumes_next_ps(const struct switch_volumes *volumes)
{
	return volumes_next_ps(&volumes->judge.volumes);
}
