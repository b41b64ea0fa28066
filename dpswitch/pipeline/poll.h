/* SPDX-License-Identifier: BSD-3-Clause */
/* Polling packets at a switch, and the reports that they ask for: the ports queried in a window, and the replies. */
#pragma once

#include "dpswitch/fabric/node.h"
#include "dpswitch/pipeline/switch_cfg.h"
#include "telemetry/port.h"

/* Polling packets that one switch makes in one window. */
#define SWITCH_MAX_BORN 1024

struct sw;

/* Requests of this window's polling packets to a port, and the results looked up for them. */
struct port_polls {
	uint32_t asked; /* reports due at the window's end */
	uint32_t event;
	bool whole; /* some event asks for more than the present state */
	/* looked up once a window: telemetry and queues stand still while packets are routed */
	bool knows_shared, knows_carried, knows_held;
	bool shared;
	uint64_t carried_bytes;
	uint8_t held_prio;                         /* of this class */
	uint64_t held[(TOPO_MAX_PORTS + 63) / 64]; /* bit i % 64 of word i / 64: ingress i */
};

struct polling {
	struct pkt *born; /* [SWITCH_MAX_BORN] polling packets made in this window */
	uint32_t nborn;
	bool due;             /* reports, at the window's end */
	uint64_t *held_bytes; /* [TELEM_MAX_CLASSES * ports] of one report */
	struct telem_reporter reporter;
};

/* @return 0 or -ENOMEM */
int polling_init(struct polling *polling, struct node *node);
void polling_fini(struct polling *polling);

/* @param ways  [nways] the victim's next egresses; several: each of its packets by one of them. 0: none */
void switch_poll(struct sw *sw, uint16_t in_port, struct pkt *poll, const uint8_t *paths, uint32_t npaths);
/*
 * A polling packet whose victim has no link or path to go on: the port answers, and the packet ends here but for pauses
 * it follows.
 */
void switch_poll_dead_end(struct sw *sw, uint16_t in_port, const struct pkt *poll, uint16_t port);
/* Somebody asks a port, by no packet: it reports at the next window's end. Between windows. */
void switch_ask(struct sw *sw, uint16_t port, uint32_t event);
/* The ports that were asked report. */
void switch_report(struct sw *sw, const struct window *window);
/* An epoch has ended: every port reports. */
void switch_report_all(struct sw *sw, uint64_t now_ps);
/*
 * At a switch that was asked, all ports report unasked: the later fate of flows, and the end of pauses in which a port
 * was asked. @param last  the run has ended
 */
void switch_late_looks(struct sw *sw, uint64_t now_ps, bool last);
