/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stage 2: one egress port through one window, alone. Class 0 is served strictly first and is never paused; the data
 * classes share the rest by DWRR. Arrivals at an instant come before a transmission at that instant.
 */
#include "dpswitch/pipeline/switch.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/hash.h"
#include "common/log.h"
#include "common/units.h"

/* The next arrivals of all runs, merged on the fly: by time, then by ingress. */
struct merge {
	struct switch_port *port;
	uint32_t left; /* runs not exhausted, moved to the front of port->runs in order */
};

/* @return run with the earliest arrival, the lowest ingress among equals; left must not be 0 */
static inline uint32_t
merge_first(const struct merge *merge)
{
	const struct switch_run *runs = merge->port->runs;
	uint32_t best = 0;

	for (uint32_t r = 1; r < merge->left; r++)
		if (runs[r].time_ps < runs[best].time_ps)
			best = r;
	return best;
}

static inline struct pkt *
merge_take(struct merge *merge, uint32_t run)
{
	struct switch_run *r = &merge->port->runs[run];
	struct pkt *p = merge->port->arrivals[r->from++];

	if (r->from != r->to) {
		r->time_ps = merge->port->arrivals[r->from]->time_ps;
	} else {
		merge->left--;
		for (uint32_t i = run; i < merge->left; i++)
			merge->port->runs[i] = merge->port->runs[i + 1];
	}
	return p;
}

/* What the stage carries along while it walks through one egress's window. */
struct egress_walk {
	struct sw *sw;
	struct switch_port *port;
	uint64_t now_ps; /* time of the last arrival or pause */
	uint64_t end_ps;
	uint64_t window;
	uint32_t parity;
	uint8_t counted; /* bit p: class p has rows */
	uint64_t sent_packets, sent_bytes;
};

/* Puts a frame on the wire at start_ps. */
static inline void
egress_send(struct egress_walk *walk, struct pkt *p, uint64_t start_ps)
{
	struct switch_port *port = walk->port;
	struct sw *sw = walk->sw;

	if (switch_is_lossless(sw, p->prio)) {
		if (port->q[p->prio].bytes > port->ecn.kmin_bytes && port->ecn.enabled &&
		    ecn_marks(&port->ecn, port->q[p->prio].bytes, prng_unit(&port->prng)))
			p->flags |= PKT_CE;
		sw->left_bytes[switch_ingress_index(sw, p->in_port, p->prio)] += p->wire_bytes;
	}
	port->free_ps = start_ps + port->ser_ps[p->wire_bytes];
	walk->sent_packets++;
	walk->sent_bytes += p->wire_bytes;
	link_send(port->tx, walk->parity, p, port->free_ps);
}

/* The class to serve among those with frames that may go; ready is not 0. */
static inline uint8_t
egress_select(struct switch_port *port, uint32_t ready)
{
	uint32_t heads[SWITCH_CLASSES];

	if ((ready & (ready - 1)) == 0 || (ready & 1))
		return (uint8_t)__builtin_ctz(ready);
	for (uint8_t c = 1; c < SWITCH_CLASSES; c++)
		heads[c] = ready >> c & 1 ? fifo_peek(&port->q[c])->wire_bytes : 0;
	return dwrr_next(&port->dwrr, ready, heads);
}

/* Classes with frames that may go. */
static inline uint32_t
egress_ready(const struct switch_port *port)
{
	return port->backlog & ~(uint32_t)port->paused;
}

/* Takes the next frame out of its queue and sends it. */
static void
egress_serve(struct egress_walk *walk)
{
	struct switch_port *port = walk->port;
	uint8_t prio = egress_select(port, egress_ready(port));
	struct pkt *p = fifo_pop(&port->q[prio]);

	if (fifo_empty(&port->q[prio]))
		port->backlog &= ~(1u << prio);
	port->data_packets -= prio != 0;
	if (walk->counted >> prio & 1)
		port->flows.queued[port_flows_slot(&port->flows, p->flow)]--;
	egress_send(walk, p, port->free_ps > walk->now_ps ? port->free_ps : walk->now_ps);
}

/* Sends what starts before limit_ps. */
static inline void
egress_drain(struct egress_walk *walk, uint64_t limit_ps)
{
	while (egress_ready(walk->port) != 0 && walk->port->free_ps < limit_ps && walk->now_ps < limit_ps)
		egress_serve(walk);
}

static void
out_of_memory(const struct egress_walk *walk)
{
	log_fatal("out of memory for a queue of %s", walk->sw->node.topo->nodes[walk->sw->node.id].name);
}

/* Classes without PFC have a limit and lose what exceeds it. */
static bool
lossy_admit(struct egress_walk *walk, const struct pkt *p)
{
	const struct switch_params *params = walk->sw->config->params;
	uint64_t limit = p->prio == 0 ? params->control_queue_bytes : params->lossy_queue_bytes;

	if (walk->port->q[p->prio].bytes + p->wire_bytes <= limit)
		return true;
	switch_drop(walk->sw, (uint16_t)(walk->port - walk->sw->ports), p, REC_DROP_QUEUE_FULL, p->time_ps);
	return false;
}

/* @param next_ps  when the next arrival or pause comes: until then nothing can overtake p */
static inline void
egress_enqueue(struct egress_walk *walk, struct pkt *p, uint64_t next_ps)
{
	struct switch_port *port = walk->port;
	bool paused = port->paused >> p->prio & 1;
	bool counted = walk->counted >> p->prio & 1;
	uint32_t slot = 0;

	if (!switch_is_lossless(walk->sw, p->prio) && !lossy_admit(walk, p))
		return;
	if (counted) {
		uint32_t depth = port->data_packets;

		slot = port_flows_slot(&port->flows, p->flow);
		telem_enqueue(&port->telem, slot, p->in_port, p->wire_bytes, depth, paused);
		port_truth_enqueue(&port->truth, slot, walk->window, depth != 0);
	}
	if (port->backlog == 0 && !paused) {
		uint64_t start_ps = port->free_ps > p->time_ps ? port->free_ps : p->time_ps;

		if (start_ps < next_ps) {
			egress_send(walk, p, start_ps);
			return;
		}
	}
	if (!fifo_push(&port->q[p->prio], p))
		out_of_memory(walk);
	port->backlog |= 1u << p->prio;
	port->data_packets += p->prio != 0;
	if (counted)
		port->flows.queued[slot]++;
}

/* Whoever observes the port hears whether its peer halts a lossless class. */
void
switch_halt(const struct sw *sw, struct switch_port *port, uint64_t now_ps)
{
	bool halted = (port->paused & sw->lossless) != 0;

	telem_pause(&port->telem, halted ? TELEM_HALTED : TELEM_RESUMED, now_ps);
	port_truth_halt(&port->truth, halted, now_ps);
}

/* The peer told this port to stop or to go on. Our own frames alternate; a storm's may repeat. */
static void
egress_pause(struct egress_walk *walk, const struct pause_frame *frame)
{
	struct switch_port *port = walk->port;
	uint8_t paused = frame->xoff ? port->paused | frame->prio_mask : port->paused & (uint8_t)~frame->prio_mask;
	struct node *node = &walk->sw->node;

	node->digest = digest_u64(node->digest, frame->time_ps ^ (uint64_t)frame->prio_mask << 56 ^ frame->xoff);
	if (frame->xoff && (frame->prio_mask & walk->sw->lossless) != 0)
		telem_pause(&port->telem, TELEM_XOFF_RECEIVED, frame->time_ps);
	if (paused == port->paused)
		return;
	port->paused = paused;
	switch_halt(walk->sw, port, frame->time_ps);
}

void
switch_transmit(struct sw *sw, uint16_t port_index, const struct pause_frame *pauses, uint32_t npauses,
		const struct window *window)
{
	struct switch_port *port = &sw->ports[port_index];
	struct merge merge = { .port = port, .left = port->nruns };
	uint32_t run = merge.left != 0 ? merge_first(&merge) : 0;
	struct egress_walk walk = {
		.sw = sw,
		.port = port,
		.now_ps = window->start_ps,
		.end_ps = window->end_ps,
		.window = window->index,
		.parity = window->parity,
		.counted = sw->config->telemetry_off ? 0 : SWITCH_DATA_CLASSES,
	};

	while (merge.left != 0 || npauses != 0) {
		uint64_t pause_ps = npauses != 0 ? pauses->time_ps : TIME_NEVER;
		uint64_t arrival_ps = merge.left != 0 ? port->runs[run].time_ps : TIME_NEVER;
		uint64_t next_ps;
		struct pkt *p;

		if (pause_ps <= arrival_ps) {
			egress_drain(&walk, pause_ps);
			walk.now_ps = pause_ps;
			egress_pause(&walk, pauses);
			pauses++;
			npauses--;
			continue;
		}
		egress_drain(&walk, arrival_ps);
		walk.now_ps = arrival_ps;
		p = merge_take(&merge, run);
		next_ps = pause_ps < window->end_ps ? pause_ps : window->end_ps;
		if (merge.left != 0) {
			run = merge_first(&merge);
			next_ps = port->runs[run].time_ps < next_ps ? port->runs[run].time_ps : next_ps;
		}
		egress_enqueue(&walk, p, next_ps);
	}
	egress_drain(&walk, window->end_ps);
	port->narrivals = 0;
	port->nruns = 0;
	sw->node.count.tx_packets += walk.sent_packets;
	sw->node.count.tx_bytes += walk.sent_bytes;
	if (port->truth.contended || (port->backlog & walk.counted) != 0)
		port_truth_count(&port->truth,
				 &(struct truth_window){ window->index, window->start_ps, window->end_ps - window->start_ps,
							 port->data_packets });
}
