/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A shared-buffer switch as a node of the fabric. One window goes through these stages, one file each:
 *
 *   route    every arrival gets its egress, or a named drop           (route.c; polling packets: poll.c)
 *   transmit every egress alone: merge its arrivals, queue, send      (transmit.c)
 *   account  charge and release the ingresses, PAUSE and RESUME       (account.c)
 *   report   telemetry that polling packets asked for, or an epoch's end (report.c)
 *
 * An egress needs nothing of another within a window, because the only thing that crosses from ingress accounting
 * back to an egress is a PAUSE frame: its own arrival at the peer is exact, and its 84 B of wire time are charged to
 * the port at the end of the window (at most one frame time late). docs/engine.md has the argument.
 */
#pragma once

#include "common/sertable.h"
#include "dpswitch/fabric/node.h"
#include "dpswitch/queue/dwrr.h"
#include "dpswitch/queue/ecn.h"
#include "dpswitch/queue/fifo.h"
#include "dpswitch/queue/ingress.h"
#include "dpswitch/truth/port_truth.h"
#include "telemetry/port.h"
#include "topo/pins.h"
#include "topo/route.h"

#define SWITCH_IDLE_PART 16 /* a port that carries less than this part of what another does is idle beside it */
#define SWITCH_CLASSES 8
#define SWITCH_DATA_CLASSES 0xfe /* bit p: class p; all but 0, which carries control */
#define SWITCH_EGRESS_NONE 0xff  /* route cache: not decided yet */
#define SWITCH_EGRESS_DROP 0xfe  /* route cache: no way, see switch_resolve() */
#define SWITCH_POLLED_SHARED 1
#define SWITCH_POLLED_CARRIED 2
#define SWITCH_POLLED_HELD 4
/* Polling packets that one switch makes in one window. */
#define SWITCH_MAX_BORN 1024

/* Configuration common to all switches, bound from groups "switch", "switch.pfc" and "switch.ecn". */
struct switch_params {
	struct cfg_where where;
	uint64_t buffer_bytes; /* 0: sized from ports, rates and the window */
	uint64_t lossy_queue_bytes;
	uint64_t control_queue_bytes;
	struct cfg_strings weights; /* DWRR, "prio:weight" */
};

struct switch_pfc_params {
	struct cfg_where where;
	bool enabled;
	struct cfg_strings priorities;
	int model; /* enum pfc_model */
	double alpha;
	uint64_t reserve_bytes;
	uint64_t headroom_bytes; /* per ingress; 0: from rate and delay */
	uint64_t xoff_bytes;
	uint64_t xon_offset_bytes;
};

struct switch_ecn_params {
	struct cfg_where where;
	bool enabled;
	uint64_t reference_rate_bps; /* thresholds are for this rate and scale with a port's */
	uint64_t kmin_bytes, kmax_bytes;
	double pmax;
};

extern const struct cfg_table switch_cfg, switch_pfc_cfg, switch_ecn_cfg;

/* Which classes are lossless: bit p, class p. @return 0, or -EINVAL with err set */
int switch_lossless_classes(const struct switch_pfc_params *pfc, uint8_t *classes, struct err *err);

/* Everything a switch is made from. Referenced objects must outlive it. */
struct switch_config {
	const struct topo *topo;
	const struct flow_table *flows;
	const struct route_table *routes;         /* followed now; what changes them calls switch_forget_routes() */
	const struct route_table *healthy_routes; /* without any fault */
	const struct route_pins *pins;
	struct sertables *sertables;
	const struct switch_params *params;
	const struct switch_pfc_params *pfc;
	const struct switch_ecn_params *ecn;
	struct telem_config telemetry; /* nports is set by each switch */
	uint64_t seed;
	uint64_t window_ps;
	uint64_t pipeline_ps;
	uint64_t extra_delay_ps;  /* that faults may add to a cable's delay: headroom covers it */
	uint32_t mtu_bytes;       /* largest frame on the wire */
	uint32_t min_frame_bytes; /* smallest */
	uint32_t pause_bytes;
	bool telemetry_off; /* keep no rows: what they cost */
};

/* Arrivals of one window for one egress: a run an ingress, each in order of time. */
struct switch_run {
	uint64_t time_ps;  /* of the first */
	uint32_t from, to; /* in arrivals */
	uint16_t in_port;
};

struct switch_storm {
	uint64_t next_ps, interval_ps;
	uint8_t prio_mask; /* 0: no storm */
};

struct switch_port {
	/* egress, per packet */
	uint64_t free_ps; /* the transmitter finishes its last frame */
	const uint32_t *ser_ps;
	struct link *tx;
	uint32_t backlog;      /* bit p: q[p] holds frames */
	uint32_t data_packets; /* queued in all data classes: what a data packet finds ahead of it */
	uint8_t paused;        /* bit p: the peer paused class p */
	struct pkt **arrivals;
	uint32_t narrivals, nruns;
	struct switch_run *runs; /* [nports] */
	struct fifo q[SWITCH_CLASSES];
	struct dwrr dwrr;
	struct ecn_params ecn;
	struct prng prng;
	struct port_flows flows;
	struct telem_port telem;
	struct port_truth truth;
	/* per window */
	uint64_t window_free_ps; /* free_ps when the window opened */
	uint64_t pause_done_ps;  /* last PAUSE frame's last bit */
	uint64_t pausing_since_ps;
	uint8_t own_xoff; /* bit p: the last frame of our own accounting for class p was XOFF */
	struct switch_storm storm;
	uint8_t storm_ended; /* classes to RESUME because their storm is over */
	/* rare */
	uint32_t report_asked; /* reports due at the window's end */
	uint32_t report_event;
	bool report_quiet; /* that event's polling packet was */
	bool report_whole; /* some event asks for more than the present state */
	uint8_t polled;    /* SWITCH_POLLED_*: what this window's polling packets found out */
	bool polled_shared;
	uint64_t polled_carried_bytes;
	bool polled_held[TOPO_MAX_PORTS]; /* by ingress */
};

struct sw {
	struct node node; /* first: a struct node pointer to a switch is a pointer to this */
	const struct switch_config *config;
	struct telem_config telemetry; /* config->telemetry for this many ports */
	struct switch_port *ports;
	uint8_t *route;       /* [flows * 2] egress by flow and direction */
	uint8_t *override;    /* [nodes] faults: egress forced for packets to that host, SWITCH_EGRESS_NONE: none */
	bool *blackhole;      /* [nodes] faults: packets to that host vanish */
	uint64_t *fault_uses; /* [nodes] how often one of the two decided */
	uint8_t lossless;     /* bit p: class p is lossless */
	uint8_t class_index[SWITCH_CLASSES];
	uint32_t nclasses; /* lossless classes */
	uint64_t buffer_bytes;
	struct pfc_params pfc;
	struct pfc_pool pool;
	struct pfc_ingress *ingress;          /* [nports * nclasses] */
	uint64_t *arrived_bytes, *left_bytes; /* [nports * nclasses] within the window */
	uint64_t epoch_end_ps;
	struct pkt *born; /* polling packets made in this window */
	uint32_t nborn;
	uint64_t *keys, *keys_spare; /* account.c */
	uint32_t keys_cap, *key_runs;
	uint64_t *held; /* [nports] report.c */
	bool recheck;   /* something changed between windows: look for RESUMEs */
	struct telem_reporter reporter;
	struct report_sum answers, told_answers; /* what polling packets of this window get, all and those not quiet */
	bool reports_due;
	uint32_t storms; /* ports with a storm */
};

/*
 * Makes a switch for topology node id. node_destroy() of its node unmakes it.
 * @return NULL with err set: -EINVAL (a threshold of one MTU or less, headroom short for a cable; file:line and the
 *         size needed), -ENOMEM
 */
struct sw *switch_create(const struct switch_config *config, uint32_t id, struct err *err);

static inline struct sw *
switch_of(struct node *node)
{
	return (struct sw *)node;
}

/* The faults' handles, beside those of struct node_ops; between windows only. */
void switch_set_override(struct sw *sw, uint32_t dst, uint8_t egress);
void switch_set_blackhole(struct sw *sw, uint32_t dst, bool on);
/* Parts of node_ops: storm, pausing, link_changed. */
void switch_set_storm(struct sw *sw, uint16_t port, uint8_t prio, bool on, uint64_t now_ps, uint64_t interval_ps);
uint8_t switch_pausing(const struct sw *sw, uint16_t port);
void switch_link_changed(struct sw *sw, uint16_t port, uint8_t held, uint64_t now_ps);
/* The routes of the configuration have changed; between windows. */
void switch_forget_routes(struct sw *sw);
/* A spare flow slot has been given to another flow, and no packet of the former is left. */
void switch_forget_flow(struct sw *sw, uint32_t flow);

/* Stages. */
void switch_route(struct sw *sw, uint16_t in_port, struct pkt *pkts, uint32_t count);
/* @param victim_egress  where the victim goes on, SWITCH_EGRESS_DROP: nowhere */
void switch_poll(struct sw *sw, uint16_t in_port, struct pkt *poll, uint8_t victim_egress);
/* A polling packet whose victim has no link or way to go on: the port answers, and the packet ends here but for pauses it follows. */
void switch_poll_dead_end(struct sw *sw, uint16_t in_port, const struct pkt *poll, uint16_t port);
void switch_transmit(struct sw *sw, uint16_t port, const struct pause_frame *pauses, uint32_t npauses,
		     const struct window *window);
void switch_account(struct sw *sw, const struct window *window);
void switch_storm(struct sw *sw, const struct window *window);
void switch_report(struct sw *sw, const struct window *window);
/* An epoch has ended: every port reports. */
void switch_report_all(struct sw *sw, uint64_t now_ps);

/* Shared by the stages. */
/*
 * Decides the egress of a packet and remembers it.
 * @param port    where a drop counts: as it was given, or the egress whose link is down or to which the way was lost
 * @return port, or SWITCH_EGRESS_DROP with *reason and *port
 */
uint8_t switch_resolve(struct sw *sw, const struct pkt *p, enum rec_drop *reason, uint16_t *port);
/* What the peer holds has changed: tells who observes the port. */
void switch_halt(const struct sw *sw, struct switch_port *port, uint64_t now_ps);
void switch_drop(struct sw *sw, uint16_t port, const struct pkt *p, enum rec_drop reason, uint64_t now_ps);
/* Sends PAUSE or RESUME for class p out of a port at its own time; see account.c. */
void switch_send_pause(struct sw *sw, uint16_t port, uint8_t prio_mask, bool xoff, uint64_t now_ps,
		       const struct window *window);

static inline bool
switch_is_lossless(const struct sw *sw, uint8_t prio)
{
	return sw->lossless >> prio & 1;
}

static inline uint32_t
switch_ingress_index(const struct sw *sw, uint16_t in_port, uint8_t prio)
{
	return in_port * sw->nclasses + sw->class_index[prio];
}

/* Hands a packet to its egress for this window. Calls for one egress come ingress by ingress, in order of time. */
static inline void
switch_hand_over(struct sw *sw, uint16_t in_port, uint8_t egress, struct pkt *p)
{
	struct switch_port *port = &sw->ports[egress];

	p->in_port = (uint8_t)in_port;
	if (port->nruns == 0 || port->runs[port->nruns - 1].in_port != in_port)
		port->runs[port->nruns++] = (struct switch_run){
			.time_ps = p->time_ps,
			.from = port->narrivals,
			.in_port = in_port,
		};
	port->arrivals[port->narrivals++] = p;
	port->runs[port->nruns - 1].to = port->narrivals;
	if (switch_is_lossless(sw, p->prio))
		sw->arrived_bytes[switch_ingress_index(sw, in_port, p->prio)] += p->wire_bytes;
}
