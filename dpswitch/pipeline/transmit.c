/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stage 2: one egress port through one window, alone. Class 0 is served strictly first and is never paused; the data
 * classes share the rest by DWRR. Arrivals at an instant come before a transmission at that instant.
 */
#include "dpswitch/pipeline/stages.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/hash.h"
#include "common/log.h"
#include "common/minmax.h"
#include "common/units.h"

/* What the stage carries along while it walks through one egress's window. */
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

/* The header beside a packet that came in now, or that its queue has. */
static struct int_header *
header_of(const struct egress_walk *walk, const struct pkt *p, bool queued)
{
	return queued ? fifo_int(&walk->port->egress.q[p->prio], p) : link_int(walk->sw->node.rx[p->in_port], p);
}

/* A packet with telemetry leaves: data hears what this egress is like without it, ACKs bring back what data heard. */
static __attribute__((noinline)) void
egress_send_int(const struct egress_walk *walk, const struct pkt *p, uint64_t start_ps, bool queued)
{
	const struct egress *egress = &walk->port->egress;
	struct int_header header = *header_of(walk, p, queued);

	if (p->type == PKT_DATA)
		int_push(&header, walk->sw->node.id,
			 int_pack(egress->int_rate, start_ps / PS_PER_NS, egress->sent_bytes + walk->sent_bytes,
				  egress->q[p->prio].bytes));
	link_send_int(egress->tx, walk->parity, p, &header, egress->free_ps);
}

/* Puts a frame on the wire at start_ps. @param queued  it is its queue's; else it came in now */
static inline __attribute__((always_inline)) void
egress_send(struct egress_walk *walk, struct pkt *p, uint64_t start_ps, bool queued)
{
	struct switch_port *port = walk->port;
	struct egress *egress = &port->egress;

	if (egress_is_deep(egress, p->prio) && account_is_lossless(&walk->sw->account, p->prio) &&
	    egress_marks(egress, walk->sw->config->flows, p))
		p->flags |= PKT_CE;
	account_depart(&walk->sw->account, p, start_ps - walk->start_ps);
	egress->free_ps = start_ps + egress->ser_ps[p->wire_bytes];
	if (__builtin_expect((p->flags & PKT_INT) != 0, 0))
		egress_send_int(walk, p, start_ps, queued);
	else
		link_send(egress->tx, walk->parity, p, egress->free_ps);
	walk->sent_packets++;
	walk->sent_bytes += p->wire_bytes;
}

/* Takes the next frame out of its queue and sends it. */
static inline __attribute__((always_inline)) void
egress_serve(struct egress_walk *walk)
{
	struct switch_port *port = walk->port;
	struct egress *egress = &port->egress;
	uint8_t prio = egress_select(egress, egress_ready(egress));
	struct pkt *p = egress_pop(egress, prio);

	if (walk->counted >> prio & 1)
		port->flows.queued[port_flows_slot(&port->flows, p->flow)]--;
	egress_send(walk, p, egress->free_ps > walk->now_ps ? egress->free_ps : walk->now_ps, true);
}

/* The same where something waits that may go. */
static void
egress_drain_queues(struct egress_walk *walk, uint64_t limit_ps)
{
	const struct egress *egress = &walk->port->egress;

	while (egress_ready(egress) != 0 && egress->free_ps < limit_ps && walk->now_ps < limit_ps)
		egress_serve(walk);
}

/* Sends what starts before limit_ps. */
static inline void
egress_drain(struct egress_walk *walk, uint64_t limit_ps)
{
	if (egress_ready(&walk->port->egress) != 0)
		egress_drain_queues(walk, limit_ps);
}

static void
out_of_memory(const struct egress_walk *walk)
{
	log_fatal("out of memory for a queue of %s", walk->sw->node.topo->nodes[walk->sw->node.id].name);
}

/* A frame of class 0 is queued: data that waits, and might go, waits longer. */
static __attribute__((noinline)) void
note_overtaker(const struct egress_walk *walk, const struct pkt *p)
{
	if ((egress_ready(&walk->port->egress) & walk->counted) == 0)
		return;
	telem_overtake(&walk->port->telem, p, walk->port->egress.data_packets);
	overtakings_add(&walk->port->truth.overtakings, p->flow, (p->flags & PKT_REVERSE) != 0, p->wire_bytes, p->time_ps);
}

/* @param next_ps  when the next arrival or pause comes: until then nothing can overtake p */
static inline void
egress_enqueue(struct egress_walk *walk, struct pkt *p, uint64_t next_ps)
{
	struct switch_port *port = walk->port;
	struct egress *egress = &port->egress;
	bool paused = egress->paused >> p->prio & 1;
	bool counted = walk->counted >> p->prio & 1;
	uint32_t slot = 0;

	if (__builtin_expect(egress->q[p->prio].bytes + p->wire_bytes > egress->limit_bytes[p->prio], 0)) {
		switch_drop(walk->sw, (uint16_t)(port - walk->sw->ports), p, REC_DROP_QUEUE_FULL, p->time_ps);
		return;
	}
	if (counted) {
		uint32_t depth = egress->data_packets;

		slot = port_flows_slot(&port->flows, p->flow);
		telem_enqueue(&port->telem, slot, p->prio, p->in_port, p->wire_bytes, depth, paused);
		port_truth_enqueue(&port->truth, slot, walk->window, depth != 0);
	}
	if (egress->backlog == 0 && !paused) {
		uint64_t start_ps = egress->free_ps > p->time_ps ? egress->free_ps : p->time_ps;

		if (start_ps < next_ps) {
			egress_send(walk, p, start_ps, false);
			return;
		}
	}
	if (!egress_push(egress, p))
		out_of_memory(walk);
	if (__builtin_expect((p->flags & PKT_INT) != 0, 0))
		*fifo_int(&egress->q[p->prio], fifo_last(&egress->q[p->prio])) = *header_of(walk, p, false);
	if (counted)
		port->flows.queued[slot]++;
	else if (egress->data_packets != 0)
		note_overtaker(walk, p);
}

/* The peer told this port to stop or to go on. Our own frames alternate; a storm's may repeat. */
static void
egress_pause(struct egress_walk *walk, const struct pause_frame *frame)
{
	struct switch_port *port = walk->port;
	uint8_t paused =
		frame->xoff ? port->egress.paused | frame->prio_mask : port->egress.paused & (uint8_t)~frame->prio_mask;
	struct node *node = &walk->sw->node;

	node->digest = digest_u64(node->digest, frame->time_ps ^ (uint64_t)frame->prio_mask << 56 ^ frame->xoff);
	if (frame->xoff)
		telem_pause(&port->telem, frame->prio_mask & walk->sw->account.lossless, TELEM_XOFF_RECEIVED,
			    frame->time_ps);
	if (paused != port->egress.paused)
		switch_halt(walk->sw, port, paused, frame->time_ps);
}

/* @param run  set to the one with the next arrival. @return its time; TIME_NEVER: none is left */
static inline uint64_t
next_arrival_ps(const struct arrivals *arrivals, uint32_t *run)
{
	if (arrivals->nruns == 0)
		return TIME_NEVER;
	*run = arrivals_first(arrivals);
	return arrivals->runs[*run].time_ps;
}

void
switch_transmit(struct sw *sw, uint16_t port_index, const struct pause_frame *pauses, uint32_t npauses,
		const struct window *window)
{
	struct switch_port *port = &sw->ports[port_index];
	struct arrivals arrivals = arrivals_take_all(&port->arrivals);
	uint32_t run = 0;
	uint64_t arrival_ps = next_arrival_ps(&arrivals, &run); /* of the next, TIME_NEVER: none is left */
	uint64_t pause_ps = npauses != 0 ? pauses->time_ps : TIME_NEVER;
	struct egress_walk walk = {
		.sw = sw,
		.port = port,
		.start_ps = window->start_ps,
		.now_ps = window->start_ps,
		.window = window->index,
		.parity = window->parity,
		.counted = sw->config->telemetry_off ? 0 : SWITCH_DATA_CLASSES,
	};

	while (min_u64(arrival_ps, pause_ps) != TIME_NEVER) {
		struct pkt *p;

		if (pause_ps <= arrival_ps) {
			egress_drain(&walk, pause_ps);
			walk.now_ps = pause_ps;
			egress_pause(&walk, pauses++);
			pause_ps = --npauses != 0 ? pauses->time_ps : TIME_NEVER;
			continue;
		}
		egress_drain(&walk, arrival_ps);
		walk.now_ps = arrival_ps;
		p = arrivals_take(&arrivals, run);
		arrival_ps = next_arrival_ps(&arrivals, &run);
		egress_enqueue(&walk, p, min_u64(arrival_ps, min_u64(pause_ps, window->end_ps)));
	}
	egress_drain(&walk, window->end_ps);
	account_end_run(&sw->account);
	port->egress.sent_bytes += walk.sent_bytes;
	sw->node.count.tx_packets += walk.sent_packets;
	sw->node.count.tx_bytes += walk.sent_bytes;
	if (port->truth.contended || (port->egress.backlog & walk.counted) != 0)
		port_truth_count(&port->truth,
				 &(struct truth_window){ window->index, window->start_ps, window->end_ps - window->start_ps,
							 port->egress.data_packets });
}
