/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A shared-buffer switch as a node of the fabric. One window goes through these stages, a header and a file each. What
 * a stage keeps is a struct of its header, touched by its own file; others call its functions:
 *
 *   route    every arrival gets its egress, or a named drop             (route.c, spray.c; polling packets: poll.c)
 *   transmit every egress alone: merge its arrivals, queue, send        (transmit.c on egress.h)
 *            but for those that are balanced in the order of arrival    (the same)
 *   account  charge and release the ingresses, decide on PAUSE, RESUME  (account.c)
 *   storm    PAUSE whatever the buffer holds                            (the same)
 *   samples  some of the arrivals from hosts, before they are routed    (samples.c)
 *   volumes  arrivals of measured collectives from above, before routing (volumes.c)
 *   watchdog queues that are paused for too long, before all others     (watchdog.c)
 *   report   telemetry that polling packets asked for, or an epoch's end (poll.c)
 *
 * An egress needs nothing of another within a window, because the only thing that crosses from ingress accounting
 * back to an egress is a PAUSE frame: its own arrival at the peer is exact, and its 84 B of wire time are charged to
 * the port at the end of the window (at most one frame time late). docs/engine.md has the argument.
 */
#pragma once

#include "dpswitch/pipeline/account.h"
#include "dpswitch/pipeline/egress.h"
#include "dpswitch/pipeline/poll.h"
#include "dpswitch/pipeline/route.h"
#include "dpswitch/pipeline/samples.h"
#include "dpswitch/pipeline/spray.h"
#include "dpswitch/pipeline/transmit.h"
#include "dpswitch/pipeline/volumes.h"
#include "dpswitch/pipeline/watchdog.h"
#include "dpswitch/truth/port_truth.h"
#include "telemetry/pause_count.h"

/*
 * Counters of a port by class that neither its links nor its telemetry keep: rare events, and peaks. Written by the stage
 * that each comment names; read, and peaks reset, between windows.
 */
struct port_counts {
	uint64_t peak_bytes[8]; /* of the egress queue, since it was last reset: transmit.c */
	struct {
		uint64_t packets, bytes;
	} marked[8],                             /* ECN, by this egress: transmit.c */
		dropped[8],                      /* for any reason that the port counts: switch.c */
		cnps;                            /* that its queue of a class of their own took in: transmit.c */
	struct pause_count received[8], sent[8]; /* by the peer: switch.c; by this port, of its peer: account.c */
	uint8_t touched;                         /* bit p: class p was marked, dropped or paused since it was last reset */
};

/* A packet that need not wait touches three cache lines: of the egress, of the port's flows, of telemetry. */
struct switch_port {
	_Alignas(64) struct arrivals arrivals;
	struct egress egress;
	/* observers of the egress */
	_Alignas(64) struct port_flows flows;
	struct port_truth truth;
	_Alignas(64) struct telem_port telem;
	/* toward the peer of the ingress */
	struct pause_sender pause;
	struct storm storm;
	struct port_polls polls;
	_Alignas(64) struct port_counts counts;
};

_Static_assert(offsetof(struct switch_port, egress.ecn) == 64, "what a packet touches of an egress is one cache line");
_Static_assert(sizeof(struct switch_port) % 128 == 64, "lines of many ports spread over all sets of a cache");

/* Packets whose TTL ended, and that could be answered. */
struct expiry {
	uint64_t latest_ps; /* arrival of those so far */
	uint64_t due_ps;    /* of the next answer, if answers were evenly spaced */
	uint64_t answered, silent;
};

struct sw {
	struct node node; /* first: a struct node pointer to a switch is a pointer to this */
	const struct switch_config *config;
	struct switch_port *ports;
	uint64_t limit_bytes[SWITCH_CLASSES]; /* the least of all ports */
	struct egress_rules *rules;           /* [ports] */
	struct account account;
	uint8_t (*class_of)[SWITCH_CLASSES]; /* [ports] of struct switch_settings; NULL: no switch of the fabric maps any */
	struct switch_routes routes;
	struct spray spray;
	struct fib_faults fib;
	struct group group;
	struct switch_volumes *volumes; /* NULL: nothing is monitored */
	struct switch_samples *samples; /* NULL: nothing is sampled */
	struct watchdog *watchdog;      /* NULL: no queue is watched */
	struct polling polling;
	struct expiry expiry;
	struct telem_config telemetry; /* config->telemetry for this many ports */
	uint64_t epoch_end_ps;
	uint32_t storms;   /* ports with a storm */
	uint32_t arriving; /* packets in this window at the ingress that is routed now, or was last */
	uint32_t guards;   /* reasons to look at arrivals one by one before they are forwarded: switch_route_rare() */
};

/*
 * Makes a switch for topology node id.
 * @return NULL with err set: -EINVAL (a threshold of one MTU or less, headroom short for a cable; file:line and the
 *         size needed), -ENOMEM
 */
struct sw *switch_create(const struct switch_config *config, uint32_t id, struct err *err);

static inline struct sw *
switch_of(struct node *node)
{
	return (struct sw *)node;
}

/* The class in which a switch serves a flow that enters by a port. */
static inline uint8_t
switch_class_of(const struct sw *sw, uint16_t in_port, const struct flow *flow)
{
	return sw->class_of != NULL ? sw->class_of[in_port][flow->prio] : flow->prio;
}

/* @return bit p: packets of class p have rows in telemetry */
static inline uint8_t
switch_counted(const struct sw *sw)
{
	return sw->config->telemetry_off ? 0 : SWITCH_DATA_CLASSES & (uint8_t)~sw->config->cnp_classes;
}

/* Calls between the stages; nobody else makes them. */

/*
 * Hands a packet with its egress for this window from routing to transmission. Calls in the order of arrivals_add().
 * @param extra  a constant, as there
 */
static inline __attribute__((always_inline)) void
switch_hand_over(struct sw *sw, uint16_t in_port, uint8_t egress, struct pkt *p, bool extra)
{
	p->in_port = (uint8_t)in_port;
	arrivals_add(&sw->ports[egress].arrivals, in_port, p, sw->arriving, extra);
	account_arrive(&sw->account, p);
}

/*
 * switch_hand_over() for an egress that may be SWITCH_EGRESS_SPRAY or one of a group, and for packets that the switch
 * itself made.
 */
static inline void
switch_forward(struct sw *sw, uint16_t in_port, uint8_t egress, struct pkt *p)
{
	if (__builtin_expect(spray_is_on(&sw->spray), 0))
		switch_hand_over_sprayed(sw, in_port, egress, p);
	else
		switch_hand_over(sw, in_port, egress, p, true);
}

/*
 * Stage 1 of an ingress's arrivals: by the route cache alone, where that suffices.
 * @param direct     a constant: what flow_map_is_direct() has of the cache
 * @param hand_over  a constant, to be inlined
 */
static inline __attribute__((always_inline)) void
switch_route_all(struct sw *sw, uint16_t in_port, struct pkt *pkts, uint32_t count, bool direct,
		 void (*hand_over)(struct sw *sw, uint16_t in_port, uint8_t egress, struct pkt *p, bool extra))
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct pkt *p = &pkts[i];
		uint32_t key = route_key(p->flow, (p->flags & PKT_REVERSE) != 0);
		uint8_t egress = (uint8_t)(direct ? flow_map_find_direct(&sw->routes.cache, key)
						  : flow_map_find_hashed(&sw->routes.cache, key));

		bytes += p->wire_bytes;
		p->ttl--;
		if (__builtin_expect(egress >= SWITCH_EGRESS_DROP || p->ttl == 0 || p->type == PKT_POLL, 0))
			switch_route_rare(sw, in_port, p, egress);
		else
			hand_over(sw, in_port, egress, p, false);
	}
	sw->node.count.rx_packets += count;
	sw->node.count.rx_bytes += bytes;
}

/* A packet ends here. @param port  where it counts */
void switch_drop(struct sw *sw, uint16_t port, const struct pkt *p, enum rec_drop reason, uint64_t now_ps);
/*
 * A fault swallows a packet that no ingress has been charged for: it is counted in the run's truth, and nowhere else.
 */
void switch_lose(struct sw *sw, const struct pkt *p);

/*
 * The state of ports asked for before it is needed. A port that gets a packet or two in a window, one of many, finds
 * its state in no near cache: line after line is waited for, and each points to the next. So it is asked for step by
 * step, while ports before it go through the window.
 */

#define FETCH_STEPS 3

/* Asks for what a port has. @param step  0: what the port points to is in its own lines; then what that points to */
static inline void
fetch_port(const struct switch_port *port, uint32_t step)
{
	const struct epoch *open = port->telem.epochs.open;

	switch (step) {
	case 0:
		__builtin_prefetch(port, 1);
		__builtin_prefetch(&port->flows, 1);
		__builtin_prefetch(&port->telem);
		break;
	case 1:
		__builtin_prefetch(port->egress.tx, 1);
		__builtin_prefetch(port->flows.slots.cells);
		__builtin_prefetch(port->truth.last_window, 1);
		__builtin_prefetch(open, 1);
		break;
	default:
		if (open != NULL)
			__builtin_prefetch(open->rows, 1);
	}
}
