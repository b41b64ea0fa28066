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
#include "dpswitch/pipeline/switch.h"

/* Arrivals of a window. */

/* @return whether there is memory: runs and packets are moved into it */
static bool
arrivals_move(struct arrivals *arrivals, uint8_t room_log2)
{
	size_t lead_bytes = arrivals_lead_bytes(arrivals->nports);
	size_t bytes = lead_bytes + (sizeof(*arrivals->pkts) << room_log2);
	uint8_t *old = (uint8_t *)arrivals->pkts;
	uint8_t *memory = aligned_alloc(ARRIVALS_LINE_BYTES,
					(bytes + ARRIVALS_LINE_BYTES - 1) / ARRIVALS_LINE_BYTES * ARRIVALS_LINE_BYTES);

	if (memory == NULL)
		return false;
	if (old != NULL) {
		memcpy(memory, old - lead_bytes, lead_bytes + arrivals->count * sizeof(*arrivals->pkts));
		free(old - lead_bytes);
	}
	arrivals->pkts = (struct pkt **)(memory + lead_bytes);
	arrivals->room_log2 = room_log2;
	return true;
}

int
arrivals_init(struct arrivals *arrivals, uint16_t nports)
{
	*arrivals = (struct arrivals){ .nports = (uint8_t)nports, .in_port = ARRIVALS_NO_PORT };
	return arrivals_move(arrivals, ARRIVALS_FIRST_LOG2) ? 0 : -ENOMEM;
}

void
arrivals_fini(struct arrivals *arrivals)
{
	if (arrivals->pkts != NULL)
		free((uint8_t *)arrivals->pkts - arrivals_lead_bytes(arrivals->nports));
}

void
arrivals_widen(struct arrivals *arrivals)
{
	if (!arrivals_move(arrivals, (uint8_t)(arrivals->room_log2 + 1)))
		log_fatal("out of memory for the %u packets that arrived for a port in a window", arrivals->count + 1);
}

/* One egress port through a window: arrivals are queued, queued packets leave. */

/*
 * State of stage 2 while it walks through one egress's window. Functions that are not inlined take the members that
 * they need, never the struct's address: so an egress that walks alone has it in registers.
 */
struct egress_walk {
	struct sw *sw;
	struct switch_port *port;
	uint64_t start_ps; /* of the window */
	uint64_t now_ps;   /* time of the last arrival or pause */
	uint64_t window;
	uint32_t parity;
	uint8_t counted;     /* bit p: class p has rows */
	uint8_t cnp_classes; /* bit p: class p has CNPs alone */
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
static __attribute__((noinline)) bool walk_drops(struct sw *sw, struct switch_port *port, struct pkt *p);
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
		.counted = switch_counted(sw),
		.cnp_classes = sw->config->cnp_classes,
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

/* A packet leaves a queue behind at which it may be marked. */
static __attribute__((noinline)) void
walk_mark(const struct sw *sw, struct switch_port *port, struct pkt *p)
{
	if (!egress_marks(&port->egress, sw->config->flows, p))
		return;
	p->flags |= PKT_CE;
	port->counts.marked[p->prio].packets++;
	port->counts.marked[p->prio].bytes += p->wire_bytes;
	port->counts.touched |= (uint8_t)(1u << p->prio);
}

/* Puts a frame on the wire at start_ps. @param queued  it is its queue's; else it arrived now, and nothing waits */
static inline __attribute__((always_inline)) void
walk_send(struct egress_walk *walk, struct pkt *p, uint64_t start_ps, bool queued)
{
	struct switch_port *port = walk->port;
	struct egress *egress = &port->egress;
	uint32_t wire_bytes = p->wire_bytes;

	if (queued && egress_is_deep(egress, p->prio))
		walk_mark(walk->sw, port, p);
	account_depart(&walk->sw->account, p, start_ps - walk->start_ps);
	egress->free_ps = start_ps + egress->ser_ps[wire_bytes];
	if (__builtin_expect((p->flags & PKT_INT) != 0, 0))
		walk_send_int(walk->sw, port, p, (struct walk_int){ walk->parity, start_ps, walk->sent_bytes, queued });
	else
		link_send(egress->tx, walk->parity, p, egress->free_ps);
	walk->sent_packets++;
	walk->sent_bytes += wire_bytes;
}

/* Takes the next frame out of its queue and sends it. @param direct  a constant, as of port_flows_find_as() */
static inline __attribute__((always_inline)) void
walk_serve(struct egress_walk *walk, bool direct)
{
	struct switch_port *port = walk->port;
	struct egress *egress = &port->egress;
	uint8_t prio = egress_select(egress, egress_ready(egress));
	struct pkt *p = egress_pop(egress, prio);

	if (walk->counted >> prio & 1)
		port->flows.queued[port_flows_find_as(&port->flows, p->flow, direct)]--;
	walk_send(walk, p, egress->free_ps > walk->now_ps ? egress->free_ps : walk->now_ps, true);
}

/* Sends what starts before limit_ps. @param direct  as of walk_serve() */
static inline __attribute__((always_inline)) void
walk_drain(struct egress_walk *walk, uint64_t limit_ps, bool direct)
{
	const struct egress *egress = &walk->port->egress;

	while (egress_ready(egress) != 0 && egress->free_ps < limit_ps && walk->now_ps < limit_ps)
		walk_serve(walk, direct);
}

/* @return the slot of a flow whose first packet is enqueued */
static __attribute__((noinline)) uint32_t
first_of_flow(struct switch_port *port, uint32_t flow, uint64_t now_ps)
{
	uint32_t slot = port_flows_add(&port->flows, flow);

	telem_first(&port->telem, slot, now_ps);
	port_truth_reserve(&port->truth, slot + 1);
	return slot;
}

/*
 * Observers see a packet that is enqueued behind depth others; constants 0 and false for one that need not wait: then
 * half of the counts stay as they are. @param direct  as of walk_serve(). @return its flow's slot
 */
static inline __attribute__((always_inline)) uint32_t
walk_count(struct egress_walk *walk, const struct pkt *p, uint32_t depth, bool paused, bool direct)
{
	struct switch_port *port = walk->port;
	uint32_t slot = port_flows_find_as(&port->flows, p->flow, direct);

	if (__builtin_expect(slot == PORT_FLOWS_NONE, 0))
		slot = first_of_flow(port, p->flow, walk->now_ps);
	telem_enqueue(&port->telem, slot, p->prio, p->in_port, p->wire_bytes, depth, paused);
	port_truth_enqueue(&port->truth, slot, walk->window, depth != 0);
	return slot;
}

static inline void
count_cnp(struct port_counts *counts, const struct pkt *p)
{
	counts->cnps.packets++;
	counts->cnps.bytes += p->wire_bytes;
}

/*
 * @param next_ps  time of the next arrival or pause: until then nothing can overtake p
 * @param picky    a constant: egress->picky may be set
 * @param direct   as of walk_serve()
 */
static inline __attribute__((always_inline)) void
walk_enqueue(struct egress_walk *walk, struct pkt *p, uint64_t next_ps, bool picky, bool direct)
{
	struct switch_port *port = walk->port;
	struct egress *egress = &port->egress;
	bool paused = egress->paused >> p->prio & 1;
	bool counted = walk->counted >> p->prio & 1;
	uint64_t queued_bytes;
	uint32_t slot = 0;

	if (picky && egress->picky && walk_swallows(walk->sw, port, p))
		return;
	if (egress->backlog == 0 && !paused) {
		uint64_t start_ps = egress->free_ps > p->time_ps ? egress->free_ps : p->time_ps;

		if (start_ps < next_ps) {
			if (__builtin_expect(p->wire_bytes > walk->sw->limit_bytes[p->prio], 0) &&
			    walk_drops(walk->sw, port, p))
				return;
			if (counted)
				walk_count(walk, p, 0, false, direct);
			else if (__builtin_expect(walk->cnp_classes >> p->prio & 1, 0))
				count_cnp(&port->counts, p);
			walk_send(walk, p, start_ps, false);
			return;
		}
	}
	queued_bytes = egress->q[p->prio].bytes + p->wire_bytes;
	if (__builtin_expect(queued_bytes > walk->sw->limit_bytes[p->prio], 0) && walk_drops(walk->sw, port, p))
		return;
	if (counted)
		slot = walk_count(walk, p, egress_depth(egress, p->prio), paused, direct);
	else if (__builtin_expect(walk->cnp_classes >> p->prio & 1, 0))
		count_cnp(&port->counts, p);
	if (!egress_push(egress, p))
		walk_out_of_memory(walk->sw);
	if (queued_bytes > port->counts.peak_bytes[p->prio])
		port->counts.peak_bytes[p->prio] = queued_bytes;
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
 * Any egress, through a window. @param picky, direct  constants, as of walk_enqueue()
 */
static inline __attribute__((always_inline)) void
walk_merged(struct egress_walk *walk, struct egress_events *events, uint64_t end_ps, bool picky, bool direct)
{
	struct arrivals *arrivals = &events->arrivals;
	uint32_t run = 0;
	uint64_t arrival_ps = arrivals_next_ps(arrivals, &run); /* of the next, TIME_NEVER: none is left */
	uint64_t pause_ps = events->npauses != 0 ? events->pauses->time_ps : TIME_NEVER;

	for (;;) {
		uint64_t event_ps = min_u64(arrival_ps, pause_ps);
		struct pkt *p;

		walk_drain(walk, min_u64(event_ps, end_ps), direct);
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
		walk_enqueue(walk, p, min_u64(arrival_ps, min_u64(pause_ps, end_ps)), picky, direct);
	}
}

/* An egress with frames of one ingress at most, and no pause: nothing is to be merged. @param count  frames, in order */
static inline __attribute__((always_inline)) void
walk_single(struct egress_walk *walk, struct pkt *const *pkts, uint32_t count, uint64_t end_ps, bool direct)
{
	for (uint32_t i = 0; i < count; i++) {
		struct pkt *p = pkts[i];

		walk_drain(walk, p->time_ps, direct);
		walk->now_ps = p->time_ps;
		walk_enqueue(walk, p, i + 1 < count ? pkts[i + 1]->time_ps : end_ps, false, direct);
	}
	walk_drain(walk, end_ps, direct);
}

static inline __attribute__((always_inline)) void
transmit(struct sw *sw, uint16_t port_index, const struct pause_frame *pauses, uint32_t npauses,
	 const struct window *window, bool direct)
{
	struct switch_port *port = &sw->ports[port_index];
	struct egress_events events = { arrivals_take_all(&port->arrivals), pauses, npauses };
	struct egress_walk walk = walk_open(sw, port, window);

	if (__builtin_expect(port->egress.picky, 0))
		walk_merged(&walk, &events, window->end_ps, true, direct);
	else if (events.arrivals.nruns > 1 || npauses != 0)
		walk_merged(&walk, &events, window->end_ps, false, direct);
	else
		walk_single(&walk, events.arrivals.pkts, events.arrivals.count, window->end_ps, direct);
	account_end_run(&sw->account);
	walk_close(&walk, window);
}

void
switch_transmit_direct(struct sw *sw, uint16_t port, const struct pause_frame *pauses, uint32_t npauses,
		       const struct window *window)
{
	transmit(sw, port, pauses, npauses, window, true);
}

void
switch_transmit_hashed(struct sw *sw, uint16_t port, const struct pause_frame *pauses, uint32_t npauses,
		       const struct window *window)
{
	transmit(sw, port, pauses, npauses, window, false);
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
	bool direct;     /* as of port_flows_find_as() */
};

int
group_init(struct group *group, const struct sw *sw)
{
	group->members = calloc(sw->node.nports, sizeof(*group->members));
	if (group->members == NULL || arrivals_init(&group->arrivals, sw->node.nports) < 0)
		return -ENOMEM;
	group_find(group, sw->config, sw->node.id);
	return 0;
}

void
group_fini(struct group *group)
{
	arrivals_fini(&group->arrivals);
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

		walk_drain(&member->walk, min_u64(pause_ps, now_ps), walk->direct);
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

/* Computes how long a packet would wait at each member of its set, for frames on the wire and in the queues. */
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
	walk_enqueue(&member->walk, p, next_ps, true, walk->direct);
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
fetch_members(const struct sw *sw)
{
	const struct group *group = &sw->group;

	for (uint32_t step = 0; step < FETCH_STEPS; step++)
		for (uint32_t i = 0; i < group->count; i++)
			fetch_port(&sw->ports[group->ports[i]], step);
}

void
switch_transmit_group(struct sw *sw, const struct pause_frame *const *pauses, const uint32_t *npauses,
		      const struct window *window)
{
	struct group_walk walk = { .sw = sw,
				   .group = &sw->group,
				   .window = window,
				   .due_ps = TIME_NEVER,
				   .direct = flow_map_is_direct(&sw->ports[0].flows.slots) };
	struct arrivals arrivals = arrivals_take_all(&sw->group.arrivals);
	uint32_t run = 0;
	uint64_t arrival_ps = arrivals_next_ps(&arrivals, &run);

	sw->group.waiting = 0;
	if (arrivals.count > sw->group.count / 2)
		fetch_members(sw);
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

/* Rare cases of the walk through a window. */

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

/* Queues a packet together with its header. */
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

/* A queue is longer than the least of all limits. @return whether it is beyond its own: the packet is dropped */
static bool
walk_drops(struct sw *sw, struct switch_port *port, struct pkt *p)
{
	uint16_t index = (uint16_t)(port - sw->ports);
	bool storm = watchdog_drops(sw->watchdog, index, p->prio);

	if (egress_class_bytes(&port->egress, p->prio) + p->wire_bytes <= sw->rules[index].limit_bytes[p->prio])
		return false;
	if (storm)
		watchdog_count(sw->watchdog, index, p->prio);
	if (account_is_charged(&sw->account, p->prio))
		account_withdraw(&sw->account, p);
	switch_drop(sw, index, p, storm ? REC_DROP_WATCHDOG : REC_DROP_QUEUE_FULL, p->time_ps);
	return true;
}

/* A fault swallows a packet for this port, or it is too large. @return false: neither */
static bool
walk_swallows(struct sw *sw, struct switch_port *port, struct pkt *p)
{
	uint16_t index = (uint16_t)(port - sw->ports);

	if (p->wire_bytes > sw->rules[index].max_wire_bytes) {
		account_withdraw(&sw->account, p);
		switch_drop(sw, index, p, REC_DROP_MTU, p->time_ps);
		return true;
	}
	if (!fib_loses(&sw->fib, sw->config->flows, p, p->in_port, index))
		return false;
	account_withdraw(&sw->account, p);
	switch_lose(sw, p);
	return true;
}

void
switch_note_pause(const struct sw *sw, struct switch_port *port, uint8_t paused, uint64_t now_ps)
{
	uint8_t was = port->egress.paused & sw->account.lossless, is = paused & sw->account.lossless;

	pause_counts_change(port->counts.received, port->egress.paused, paused, now_ps);
	port->counts.touched |= port->egress.paused ^ paused;
	port->egress.paused = paused;
	telem_pause(&port->telem, is & (uint8_t)~was, TELEM_PAUSED, now_ps);
	telem_pause(&port->telem, was & (uint8_t)~is, TELEM_RESUMED, now_ps);
	port_truth_pause(&port->truth, is != 0, now_ps);
}

/* The peer paused or resumed this port. Our own frames alternate; a storm's may repeat. */
static void
walk_pause(struct sw *sw, struct switch_port *port, const struct pause_frame *frame)
{
	uint8_t obeyed = frame->prio_mask & sw->rules[port - sw->ports].obeys;
	uint8_t paused = frame->xoff ? port->egress.paused | obeyed : port->egress.paused & (uint8_t)~obeyed;
	struct node *node = &sw->node;

	if (sw->watchdog != NULL)
		watchdog_note(sw, (uint16_t)(port - sw->ports), frame->prio_mask, frame->xoff, frame->time_ps);
	node->digest = digest_u64(node->digest, frame->time_ps ^ (uint64_t)frame->prio_mask << 56 ^ frame->xoff);
	port->counts.touched |= frame->prio_mask;
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
