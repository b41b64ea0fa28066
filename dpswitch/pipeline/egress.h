/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The egress of a port: its queues, whose turn it is, and its transmitter. transmit.c moves it through a window; others
 * call the other functions here. Class 0 is served strictly first and is never paused; strict data classes follow, a
 * higher one before a lower; the others share the rest by DWRR.
 */
#pragma once

#include "common/pkt_chance.h"
#include "dpswitch/fabric/link.h"
#include "dpswitch/pipeline/switch_cfg.h"
#include "dpswitch/queue/dwrr.h"
#include "dpswitch/queue/fifo.h"

struct switch_settings;

struct egress {
	/* Fields for a packet that need not wait; together with struct arrivals, one cache line. */
	uint64_t free_ps; /* the transmitter finishes its last frame */
	const uint32_t *ser_ps;
	struct link *tx;
	uint32_t data_packets; /* queued in all data classes: what a data packet finds ahead of it */
	uint8_t backlog;       /* bit p: q[p] holds frames */
	uint8_t paused;        /* bit p: the peer paused class p */
	uint8_t strict;        /* bit p: class p goes before those that share by DWRR */
	bool picky;            /* some packets for it vanish by a fault (route.h), or are too large */
	uint64_t sent_bytes;   /* in all windows before */
	uint64_t ecn_stream;   /* of chance */
	/* Fields for a packet that waits. */
	struct ecn_params ecn[SWITCH_CLASSES];
	struct fifo q[SWITCH_CLASSES];
	struct dwrr dwrr;
	uint32_t int_rate; /* the link's, as hops name it */
};

/*
 * @param port  of a topology node
 * @return 0 or a negative errno with err set
 */
int egress_init(struct egress *egress, const struct switch_config *config, uint32_t node, uint16_t port, struct err *err);
/* @param bodies  of packets still queued */
void egress_fini(struct egress *egress, struct bodies *bodies);
/* Frames and bytes that wait, of all classes. */
void egress_held(const struct egress *egress, uint64_t *packets, uint64_t *bytes);

/* Rules of a port's queues: their limits, and the classes that a PAUSE holds. Read on a drop or a PAUSE. */
struct egress_rules {
	uint64_t limit_bytes[SWITCH_CLASSES]; /* of a queue: a class without PFC loses the packets that arrive beyond */
	uint32_t max_wire_bytes;              /* of a frame */
	uint8_t obeys;                        /* bit p: a PAUSE of class p holds its queue */
};

/* @param lossless  bit p: class p has PFC, at some port of the switch at least */
void egress_rules_init(struct egress_rules *rules, const struct switch_settings *settings, uint8_t lossless, uint8_t obeys);

/* Classes with frames that may go. */
static inline uint32_t
egress_ready(const struct egress *egress)
{
	return egress->backlog & ~(uint32_t)egress->paused;
}

/* @return false when out of memory */
static inline bool
egress_push(struct egress *egress, const struct pkt *p)
{
	if (!fifo_push(&egress->q[p->prio], p))
		return false;
	egress->backlog |= (uint8_t)(1u << p->prio);
	egress->data_packets += p->prio != 0;
	return true;
}

/* The packet stays readable until the next push. Its class must not be empty. */
static inline struct pkt *
egress_pop(struct egress *egress, uint8_t prio)
{
	struct pkt *p = fifo_pop(&egress->q[prio]);

	if (fifo_empty(&egress->q[prio]))
		egress->backlog &= (uint8_t) ~(1u << prio);
	egress->data_packets -= prio != 0;
	return p;
}

/* egress_select() for several ready data classes. */
uint8_t egress_select_data(struct egress *egress, uint32_t ready);

/* The class to serve among those with frames that may go; ready is not 0. */
static inline uint8_t
egress_select(struct egress *egress, uint32_t ready)
{
	if (__builtin_expect((ready & (ready - 1)) == 0 || (ready & 1), 1))
		return (uint8_t)__builtin_ctz(ready);
	return egress_select_data(egress, ready);
}

/* Classes that are served before a class, or in turn with it: what a packet of it finds ahead. */
static inline uint32_t
egress_ahead(const struct egress *egress, uint8_t prio)
{
	if (__builtin_expect(egress->strict >> prio & 1, 0))
		return 1u | (egress->strict & 0xffu << prio);
	return prio == 0 ? 1 : SWITCH_DATA_CLASSES | 1;
}

/* egress_depth() for a strict class. */
uint32_t egress_depth_strict(const struct egress *egress, uint8_t prio);

/* Packets of data that one of a class finds ahead of it. */
static inline uint32_t
egress_depth(const struct egress *egress, uint8_t prio)
{
	if (__builtin_expect((egress->strict >> prio & 1) == 0, 1))
		return egress->data_packets;
	return egress_depth_strict(egress, prio);
}

/* @param classes  bit p: of class p. @return what they hold */
static inline uint64_t
egress_bytes(const struct egress *egress, uint32_t classes)
{
	uint64_t bytes = 0;

	for (; classes != 0; classes &= classes - 1)
		bytes += egress->q[__builtin_ctz(classes)].bytes;
	return bytes;
}

/* @return bytes queued in a class */
static inline uint64_t
egress_class_bytes(const struct egress *egress, uint8_t prio)
{
	return egress->backlog >> prio & 1 ? egress->q[prio].bytes : 0;
}

/* Does a frame that leaves a class now leave a queue behind at which it may be marked? */
static inline bool
egress_is_deep(const struct egress *egress, uint8_t prio)
{
	return egress->q[prio].bytes > egress->ecn[prio].kmin_bytes;
}

/* @return whether a departing packet is marked. Called only if egress_is_deep() */
static inline bool
egress_marks(const struct egress *egress, const struct flow_table *flows, const struct pkt *p)
{
	return ecn_marks(&egress->ecn[p->prio], egress->q[p->prio].bytes, pkt_chance(egress->ecn_stream, flows, p));
}
