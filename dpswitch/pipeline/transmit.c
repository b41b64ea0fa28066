/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stage 2: one egress port through one window, alone. Class 0 is served strictly first and is never paused; the data
 * classes share the rest by DWRR. Arrivals at an instant precede a transmission at that instant.
 */
#include "dpswitch/pipeline/transmit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/log.h"
#include "common/minmax.h"
#include "common/units.h"
#include "dpswitch/pipeline/stages.h"

/* One egress port through a window: arrivals are queued, queued packets leave. */

/*
 * What stage 2 carries along while it walks through one egress's window. Functions that are not inlined take what they
 * need of it, and never its address: so an egress that walks alone has it in registers.
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

/* A packet with telemetry that leaves. */
struct walk_int {
	uint32_t parity;
	uint64_t start_ps, sent_bytes; /* in this window, before it */
	bool queued;                   /* it is its queue's; else it arrived now */
};

static __attribute__((noinline)) void walk_send_int(struct sw *sw, struct switch_port *port, const struct pkt *p,
						    struct walk_int how);
static __attribute__((noinline)) void walk_queue_int(struct sw *sw, struct switch_port *port, const struct pkt *p);
static __attribute__((noinline)) void walk_note_overtaker(struct switch_port *port, uint8_t counted, const struct pkt *p);
static __attribute__((noinline)) bool walk_swallows(struct sw *sw, struct switch_port *port, struct pkt *p);
static __attribute__((noinline)) void walk_pause(struct sw *sw, struct switch_port *port, const struct pause_frame *frame);
static _Noreturn void walk_out_of_memory(const struct sw *sw);

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

/* Puts a frame on the wire at start_ps. @param queued  it is its queue's; else it arrived now, and nothing waits */
static inline __attribute__((always_inline)) void
walk_send(struct egress_walk *walk, struct pkt *p, uint64_t start_ps, bool queued)
{
	struct switch_port *port = walk->port;
	struct egress *egress = &port->egress;

	if (queued && egress_is_deep(egress, p->prio) && egress_marks(egress, walk->sw->config->flows, p))
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

/*
 * @param next_ps  time of the next arrival or pause: until then nothing can overtake p
 * @param corrupt  a constant: egress->corrupt may be set
 */
static inline __attribute__((always_inline)) void
walk_enqueue(struct egress_walk *walk, struct pkt *p, uint64_t next_ps, bool corrupt)
{
	struct switch_port *port = walk->port;
	struct egress *egress = &port->egress;
	bool paused = egress->paused >> p->prio & 1;
	bool counted = walk->counted >> p->prio & 1;
	uint32_t slot = 0;

	if (corrupt && egress->corrupt && walk_swallows(walk->sw, port, p))
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

/* The frames that an egress gets in a window, and the pauses. */
struct egress_events {
	struct arrivals arrivals;
	const struct pause_frame *pauses;
	uint32_t npauses;
};

/*
 * Any egress, through a window. @param corrupt  a constant, as of walk_enqueue()
 */
static inline __attribute__((always_inline)) void
walk_merged(struct egress_walk *walk, struct egress_events *events, uint64_t end_ps, bool corrupt)
{
	struct arrivals *arrivals = &events->arrivals;
	uint32_t run = 0;
	uint64_t arrival_ps = arrivals_next_ps(arrivals, &run); /* of the next, TIME_NEVER: none is left */
	uint64_t pause_ps = events->npauses != 0 ? events->pauses->time_ps : TIME_NEVER;

	for (;;) {
		uint64_t event_ps = min_u64(arrival_ps, pause_ps);
		struct pkt *p;

		walk_drain(walk, min_u64(event_ps, end_ps));
		if (event_ps == TIME_NEVER)
			break;
		walk->now_ps = event_ps;
		if (pause_ps <= arrival_ps) {
			walk_pause(walk->sw, walk->port, events->pauses++);
			pause_ps = --events->npauses != 0 ? events->pauses->time_ps : TIME_NEVER;
			continue;
		}
		p = arrivals_take(arrivals, run);
		arrival_ps = arrivals_next_ps(arrivals, &run);
		walk_enqueue(walk, p, min_u64(arrival_ps, min_u64(pause_ps, end_ps)), corrupt);
	}
}

/* An egress with frames of one ingress at most, and no pause: nothing is to be merged. @param count  frames, in order */
static inline __attribute__((always_inline)) void
walk_single(struct egress_walk *walk, struct pkt *const *pkts, uint32_t count, uint64_t end_ps)
{
	for (uint32_t i = 0; i < count; i++) {
		struct pkt *p = pkts[i];

		walk_drain(walk, p->time_ps);
		walk->now_ps = p->time_ps;
		walk_enqueue(walk, p, i + 1 < count ? pkts[i + 1]->time_ps : end_ps, false);
	}
	walk_drain(walk, end_ps);
}

void
switch_transmit(struct sw *sw, uint16_t port_index, const struct pause_frame *pauses, uint32_t npauses,
		const struct window *window)
{
	struct switch_port *port = &sw->ports[port_index];
	struct egress_events events = { arrivals_take_all(&port->arrivals), pauses, npauses };
	struct egress_walk walk = walk_open(sw, port, window);

	if (__builtin_expect(port->egress.corrupt, 0))
		walk_merged(&walk, &events, window->end_ps, true);
	else if (events.arrivals.nruns > 1 || npauses != 0)
		walk_merged(&walk, &events, window->end_ps, false);
	else
		walk_single(&walk, events.arrivals.pkts, events.arrivals.count, window->end_ps);
	account_end_run(&sw->account);
	walk_close(&walk, window);
}

/* Egresses that go through a window together. */

struct group_member {
	struct egress_walk walk;
	const struct pause_frame *pauses; /* still to arrive */
	uint32_t npauses;
	bool open;       /* something may happen there in this window */
	uint64_t due_ps; /* from then on something has happened that the queues do not show yet */
};

/* The progress of a group through a window. */
struct group_walk {
	struct sw *sw;
	struct group *group;
	const struct window *window;
	uint64_t due_ps; /* the earliest of its members, or earlier */
};

int
group_init(struct group *group, const struct sw *sw, uint32_t most)
{
	group->members = calloc(sw->node.nports, sizeof(*group->members));
	if (group->members == NULL || arrivals_init(&group->arrivals, most, sw->node.nports) < 0)
		return -ENOMEM;
	group_find(group, sw->config, sw->node.id);
	return 0;
}

void
group_fini(struct group *group, const struct sw *sw)
{
	arrivals_fini(&group->arrivals, sw->node.nports);
	free(group->members);
}

void
group_find(struct group *group, const struct switch_config *config, uint32_t node)
{
	const struct topo *topo = config->topo;

	memset(group->has, 0, sizeof(group->has));
	for (uint32_t h = 0; h < topo->nhosts; h++)
		for (uint16_t nic = 0; nic < topo->nodes[topo->hosts[h]].nports; nic++) {
			const uint8_t *hops;
			uint32_t count = route_next_hops(config->routes, node, topo->hosts[h], nic, &hops);

			for (uint32_t i = 0; i < count && count > 1; i++)
				group->has[hops[i]] = true;
		}
	group->count = 0;
	for (uint16_t port = 0; port < topo->nodes[node].nports; port++)
		if (group->has[port])
			group->ports[group->count++] = (uint8_t)port;
}

/* Something happened at a member: what stands there, and when the next thing happens of its own accord. */
static inline void
look(struct group_walk *walk, struct group_member *member)
{
	const struct egress *egress = &member->walk.port->egress;
	uint32_t port = (uint32_t)(member - walk->group->members);

	walk->group->free_ps[port] = (int64_t)egress->free_ps;
	walk->group->waiting += (uint32_t)(egress->backlog != 0) - (walk->group->backlog[port] != 0);
	walk->group->backlog[port] = egress->backlog;
	member->due_ps = member->npauses != 0 ? member->pauses->time_ps : TIME_NEVER;
	if (egress_ready(egress) != 0)
		member->due_ps = min_u64(member->due_ps, egress->free_ps + 1);
	walk->due_ps = min_u64(walk->due_ps, member->due_ps);
}

/* Pauses that arrive up to an instant, and the transmissions that start before it. */
static void
advance(struct group_walk *walk, struct group_member *member, uint64_t now_ps)
{
	for (;;) {
		uint64_t pause_ps = member->npauses != 0 ? member->pauses->time_ps : TIME_NEVER;

		walk_drain(&member->walk, min_u64(pause_ps, now_ps));
		if (pause_ps > now_ps)
			break;
		member->walk.now_ps = pause_ps;
		walk_pause(walk->sw, member->walk.port, member->pauses++);
		member->npauses--;
	}
	look(walk, member);
}

/* All members show what waits at an instant. */
static void
advance_all(struct group_walk *walk, uint64_t now_ps)
{
	walk->due_ps = TIME_NEVER;
	for (uint32_t i = 0; i < walk->group->count; i++) {
		struct group_member *member = &walk->group->members[walk->group->ports[i]];

		if (member->due_ps <= now_ps)
			advance(walk, member, now_ps);
		else
			walk->due_ps = min_u64(walk->due_ps, member->due_ps);
	}
}

static void
open_member(struct group_walk *walk, uint8_t port, const struct pause_frame *pauses, uint32_t npauses)
{
	struct group_member *member = &walk->group->members[port];

	member->walk = walk_open(walk->sw, &walk->sw->ports[port], walk->window);
	member->pauses = pauses;
	member->npauses = npauses;
	member->open = true;
	look(walk, member);
}

/* How long a packet would wait for the transmitters of its set. */
static void
measure_wires(const struct group *group, const struct balance_set *set, int64_t now_ps, int64_t *waits_ps)
{
	uint32_t count = set->count, first = set->members[0], end = balance_blocks(count) * BALANCE_BLOCK;
	const int64_t *free_ps = &group->free_ps[first];
	int64_t gathered_ps[TOPO_MAX_PORTS];

	if (set->members[count - 1] != first + count - 1) { /* ascending: not ports in a row */
		memset(&gathered_ps[end - BALANCE_BLOCK], 0, BALANCE_BLOCK * sizeof(*gathered_ps));
		for (uint32_t i = 0; i < count; i++)
			gathered_ps[i] = group->free_ps[set->members[i]];
		free_ps = gathered_ps;
	}
	for (uint32_t i = 0; i < end; i++)
		waits_ps[i] = free_ps[i] > now_ps ? free_ps[i] - now_ps : 0;
	for (uint32_t i = count; i < end; i++)
		waits_ps[i] = 0;
}

/* What would go before a packet by each member of its set, on the wire and in the queues. */
static void
measure(const struct group_walk *walk, const struct balance_set *set, const struct pkt *p, int64_t *waits_ps)
{
	const struct group *group = walk->group;

	measure_wires(group, set, (int64_t)p->time_ps, waits_ps);
	if (group->waiting == 0)
		return;
	for (uint32_t i = 0; i < set->count; i++) {
		uint8_t port = set->members[i];
		const struct egress *egress = &walk->sw->ports[port].egress;
		uint32_t ahead;

		if (group->backlog[port] == 0)
			continue;
		ahead = group->backlog[port] & egress_ahead(egress, p->prio);
		waits_ps[i] += (int64_t)(egress_bytes(egress, ahead) * set->byte_ps[i]);
	}
}

static uint8_t
choose(struct group_walk *walk, const struct pkt *p)
{
	struct spray *spray = &walk->sw->spray;
	struct balance_set *set = spray_set(spray, p->flow, p->flags & PKT_REVERSE);
	int64_t waits_ps[TOPO_MAX_PORTS];
	const struct balance_ask ask = { p, waits_ps };

	if (spray->balance.params->ops->sees_waits) {
		if (walk->due_ps <= p->time_ps)
			advance_all(walk, p->time_ps);
		measure(walk, set, p, waits_ps);
	}
	return spray_choose(spray, set, &ask);
}

/* @param next_ps  arrival of the next packet of the group: at any member */
static void
take_in(struct group_walk *walk, struct pkt *p, uint64_t next_ps)
{
	uint8_t port = p->out_port != SWITCH_EGRESS_SPRAY ? p->out_port : choose(walk, p);
	struct group_member *member = &walk->group->members[port];

	if (!member->open)
		open_member(walk, port, NULL, 0);
	if (member->due_ps <= p->time_ps)
		advance(walk, member, p->time_ps);
	member->walk.now_ps = p->time_ps;
	if (member->npauses != 0)
		next_ps = min_u64(next_ps, member->pauses->time_ps);
	walk_enqueue(&member->walk, p, next_ps, true);
	look(walk, member);
}

static void
close_all(struct group_walk *walk)
{
	for (uint32_t i = 0; i < walk->group->count; i++) {
		struct group_member *member = &walk->group->members[walk->group->ports[i]];

		if (!member->open)
			continue;
		advance(walk, member, walk->window->end_ps);
		walk_close(&member->walk, walk->window);
		member->open = false;
		member->due_ps = TIME_NEVER;
	}
	account_end_mixed_run(&walk->sw->account);
}

/* Spread over many ports, a window has a packet or two for each: their state is prefetched before the first arrives. */
static void
fetch_members(const struct sw *sw, uint32_t parity)
{
	const struct group *group = &sw->group;

	for (uint32_t step = 0; step < FETCH_STEPS; step++)
		for (uint32_t i = 0; i < group->count; i++)
			fetch_port(&sw->ports[group->ports[i]], parity, step);
}

void
switch_transmit_group(struct sw *sw, const struct pause_frame *const *pauses, const uint32_t *npauses,
		      const struct window *window)
{
	struct group_walk walk = { .sw = sw, .group = &sw->group, .window = window, .due_ps = TIME_NEVER };
	struct arrivals arrivals = arrivals_take_all(&sw->group.arrivals);
	uint32_t run = 0;
	uint64_t arrival_ps = arrivals_next_ps(&arrivals, &run);

	sw->group.waiting = 0;
	if (arrivals.count > sw->group.count / 2)
		fetch_members(sw, window->parity);
	for (uint32_t i = 0; i < sw->group.count; i++) {
		uint8_t port = sw->group.ports[i];

		sw->group.members[port].due_ps = TIME_NEVER;
		sw->group.free_ps[port] = (int64_t)sw->ports[port].egress.free_ps;
		sw->group.backlog[port] = 0;
		if (sw->ports[port].egress.backlog != 0 || npauses[port] != 0)
			open_member(&walk, port, pauses[port], npauses[port]);
	}
	while (arrival_ps != TIME_NEVER) {
		struct pkt *p = arrivals_take(&arrivals, run);

		arrival_ps = arrivals_next_ps(&arrivals, &run);
		take_in(&walk, p, min_u64(arrival_ps, window->end_ps));
	}
	close_all(&walk);
}

/* What is rare on the walk through a window. */

/* The header beside a packet that arrived now. */
static const struct int_header *
arrived_int(const struct sw *sw, const struct pkt *p)
{
	return link_int(sw->node.rx[p->in_port], p);
}

/*
 * A packet with telemetry leaves: data records the state of this egress without it, ACKs bring back the records of
 * data.
 */
static void
walk_send_int(struct sw *sw, struct switch_port *port, const struct pkt *p, struct walk_int how)
{
	const struct egress *egress = &port->egress;
	struct int_header header = how.queued ? *fifo_int(&egress->q[p->prio], p) : *arrived_int(sw, p);

	if (p->type == PKT_DATA)
		int_push(&header, sw->node.id,
			 int_pack(egress->int_rate, how.start_ps / PS_PER_NS, egress->sent_bytes + how.sent_bytes,
				  egress->q[p->prio].bytes));
	else if (p->type == PKT_UD)
		int_push(&header, sw->node.id, int_pack_hop(sw->node.id, p->in_port, (uint16_t)(port - sw->ports)));
	link_send_int(egress->tx, how.parity, p, &header, egress->free_ps);
}

/* It is queued together with its header. */
static void
walk_queue_int(struct sw *sw, struct switch_port *port, const struct pkt *p)
{
	struct fifo *fifo = &port->egress.q[p->prio];

	*fifo_int(fifo, fifo_last(fifo)) = *arrived_int(sw, p);
}

/*
 * A frame of class 0, or of a strict class, is queued: data of classes behind that waits, and might go, waits longer.
 * @param counted  bit p: class p has rows
 */
static void
walk_note_overtaker(struct switch_port *port, uint8_t counted, const struct pkt *p)
{
	const struct egress *egress = &port->egress;
	uint32_t depth = p->prio == 0 ? 0 : egress_depth(egress, p->prio); /* that it waits behind, itself among them */

	if ((egress_ready(egress) & counted & ~egress_ahead(egress, p->prio)) == 0)
		return;
	telem_overtake(&port->telem, p, egress->data_packets - depth);
	overtakings_add(&port->truth.overtakings, p->flow, (p->flags & PKT_REVERSE) != 0, p->wire_bytes, p->time_ps);
}

/* A fault swallows a packet for this port. @return false: this one not */
static bool
walk_swallows(struct sw *sw, struct switch_port *port, struct pkt *p)
{
	if (!fib_loses(&sw->fib, sw->config->flows, p, p->in_port, (uint16_t)(port - sw->ports)))
		return false;
	account_withdraw(&sw->account, p);
	switch_lose(sw, p);
	return true;
}

/* The peer paused or resumed this port. Our own frames alternate; a storm's may repeat. */
static void
walk_pause(struct sw *sw, struct switch_port *port, const struct pause_frame *frame)
{
	uint8_t paused =
		frame->xoff ? port->egress.paused | frame->prio_mask : port->egress.paused & (uint8_t)~frame->prio_mask;
	struct node *node = &sw->node;

	node->digest = digest_u64(node->digest, frame->time_ps ^ (uint64_t)frame->prio_mask << 56 ^ frame->xoff);
	if (frame->xoff)
		telem_pause(&port->telem, frame->prio_mask & sw->account.lossless, TELEM_XOFF_RECEIVED, frame->time_ps);
	if (paused != port->egress.paused)
		switch_note_pause(sw, port, paused, frame->time_ps);
}

static _Noreturn void
walk_out_of_memory(const struct sw *sw)
{
	log_fatal("out of memory for a queue of %s", sw->node.topo->nodes[sw->node.id].name);
}
