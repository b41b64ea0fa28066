/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One egress port's way through a window: what comes in is queued, what is queued leaves. Stage 2 alone (transmit.c, and
 * group.c for egresses that are balanced by what waits in each).
 */
#pragma once

#include "common/minmax.h"
#include "common/units.h"
#include "dpswitch/pipeline/stages.h"

/*
 * What stage 2 carries along while it walks through one egress's window. Functions that are not inlined take what they need of
 * it, and never its address: so an egress that walks alone has it in registers.
 */
struct egress_walk {
	struct sw *sw;
	struct switch_port *port;
	uint64_t start_ps; /* of the window */
	uint64_t now_ps;   /* time of the last arrival or pause */
	uint64_t window;
	uint32_t parity;
	uint8_t counted; /* bit p: class p has rows */
	uint64_t sent_packets, sent_bytes;
};

static inline struct egress_walk
walk_open(struct sw *sw, struct switch_port *port, const struct window *window)
{
	return (struct egress_walk){
		.sw = sw,
		.port = port,
		.start_ps = window->start_ps,
		.now_ps = window->start_ps,
		.window = window->index,
		.parity = window->parity,
		.counted = sw->config->telemetry_off ? 0 : SWITCH_DATA_CLASSES,
	};
}

/* The window is over for this port. */
static inline void
walk_close(const struct egress_walk *walk, const struct window *window)
{
	struct switch_port *port = walk->port;

	port->egress.sent_bytes += walk->sent_bytes;
	walk->sw->node.count.tx_packets += walk->sent_packets;
	walk->sw->node.count.tx_bytes += walk->sent_bytes;
	if (port->truth.contended || (port->egress.backlog & walk->counted) != 0)
		port_truth_count(&port->truth,
				 &(struct truth_window){ window->index, window->start_ps, window->end_ps - window->start_ps,
							 port->egress.data_packets });
}

/* A packet with telemetry that leaves. */
struct walk_int {
	uint32_t parity;
	uint64_t start_ps, sent_bytes; /* in this window, before it */
	bool queued;                   /* it is its queue's; else it came in now */
};

/* A packet with telemetry leaves: data hears what this egress is like without it, ACKs bring back what data heard. */
void walk_send_int(struct sw *sw, struct switch_port *port, const struct pkt *p, struct walk_int how);
/* It is queued: its header comes along. */
void walk_queue_int(struct sw *sw, struct switch_port *port, const struct pkt *p);
/*
 * A frame of class 0, or of a strict class, is queued: data of classes behind that waits, and might go, waits longer.
 * @param counted  bit p: class p has rows
 */
void walk_note_overtaker(struct switch_port *port, uint8_t counted, const struct pkt *p);
/* The peer told this port to stop or to go on. Our own frames alternate; a storm's may repeat. */
void walk_pause(struct sw *sw, struct switch_port *port, const struct pause_frame *frame);
/* A fault swallows a packet for this port. @return false: this one not */
bool walk_swallows(struct sw *sw, struct switch_port *port, struct pkt *p);
_Noreturn void walk_out_of_memory(const struct sw *sw);

/* Puts a frame on the wire at start_ps. @param queued  it is its queue's; else it came in now, and nothing waits */
static inline __attribute__((always_inline)) void
walk_send(struct egress_walk *walk, struct pkt *p, uint64_t start_ps, bool queued)
{
	struct switch_port *port = walk->port;
	struct egress *egress = &port->egress;

	if (queued && egress_is_deep(egress, p->prio) && account_is_lossless(&walk->sw->account, p->prio) &&
	    egress_marks(egress, walk->sw->config->flows, p))
		p->flags |= PKT_CE;
	account_depart(&walk->sw->account, p, start_ps - walk->start_ps);
	egress->free_ps = start_ps + egress->ser_ps[p->wire_bytes];
	if (__builtin_expect((p->flags & PKT_INT) != 0, 0))
		walk_send_int(walk->sw, port, p, (struct walk_int){ walk->parity, start_ps, walk->sent_bytes, queued });
	else
		link_send(egress->tx, walk->parity, p, egress->free_ps);
	walk->sent_packets++;
	walk->sent_bytes += p->wire_bytes;
}

/* Takes the next frame out of its queue and sends it. */
static inline __attribute__((always_inline)) void
walk_serve(struct egress_walk *walk)
{
	struct switch_port *port = walk->port;
	struct egress *egress = &port->egress;
	uint8_t prio = egress_select(egress, egress_ready(egress));
	struct pkt *p = egress_pop(egress, prio);

	if (walk->counted >> prio & 1)
		port->flows.queued[port_flows_slot(&port->flows, p->flow)]--;
	walk_send(walk, p, egress->free_ps > walk->now_ps ? egress->free_ps : walk->now_ps, true);
}

/* Sends what starts before limit_ps. */
static inline __attribute__((always_inline)) void
walk_drain(struct egress_walk *walk, uint64_t limit_ps)
{
	const struct egress *egress = &walk->port->egress;

	while (egress_ready(egress) != 0 && egress->free_ps < limit_ps && walk->now_ps < limit_ps)
		walk_serve(walk);
}

/* @param next_ps  when the next arrival or pause comes: until then nothing can overtake p */
static inline __attribute__((always_inline)) void
walk_enqueue(struct egress_walk *walk, struct pkt *p, uint64_t next_ps)
{
	struct switch_port *port = walk->port;
	struct egress *egress = &port->egress;
	bool paused = egress->paused >> p->prio & 1;
	bool counted = walk->counted >> p->prio & 1;
	uint32_t slot = 0;

	if (__builtin_expect(egress->corrupt, 0) && walk_swallows(walk->sw, port, p))
		return;
	if (__builtin_expect(egress_class_bytes(egress, p->prio) + p->wire_bytes > walk->sw->limit_bytes[p->prio], 0)) {
		switch_drop(walk->sw, (uint16_t)(port - walk->sw->ports), p, REC_DROP_QUEUE_FULL, p->time_ps);
		return;
	}
	if (counted) {
		uint32_t depth = egress_depth(egress, p->prio);

		slot = port_flows_slot(&port->flows, p->flow);
		telem_enqueue(&port->telem, slot, p->prio, p->in_port, p->wire_bytes, depth, paused);
		port_truth_enqueue(&port->truth, slot, walk->window, depth != 0);
	}
	if (egress->backlog == 0 && !paused) {
		uint64_t start_ps = egress->free_ps > p->time_ps ? egress->free_ps : p->time_ps;

		if (start_ps < next_ps) {
			walk_send(walk, p, start_ps, false);
			return;
		}
	}
	if (!egress_push(egress, p))
		walk_out_of_memory(walk->sw);
	if (__builtin_expect((p->flags & PKT_INT) != 0, 0))
		walk_queue_int(walk->sw, port, p);
	if (counted)
		port->flows.queued[slot]++;
	if (__builtin_expect(((egress->strict | 1u) >> p->prio & 1) != 0, 0) && egress->data_packets != 0)
		walk_note_overtaker(port, walk->counted, p);
}
