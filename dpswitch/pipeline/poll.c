/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Polling packets (Hawkeye; VEDRFOLNIR III-C3). A switch reports the victim's egress port and forwards the packet as it
 * would the victim; if that port is or was paused within the kept epochs, the packet goes on as a PFC poll, too. One
 * that was sent back takes the path of the victim's ACKs, and traces no pauses.
 * A PFC poll makes the switch report every egress that its ingress feeds, and follow those that are paused.
 * After a retransmission, the victim's path before routes changed is queried as well.
 * If the victim's packets are sprayed, all ports that they may take are queried, and the packet goes on by each.
 * If flows share the victim's egress, idle ports of equal cost report besides it. So do all ports to other switches
 * whose link went down: the victim may have taken another path because of it, at either end.
 * Decisions use the state at the window's start; the reports show the window's end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dpswitch/pipeline/switch.h"

#define IDLE_PART 16 /* a port that carries less than this fraction of another's bytes is idle beside it */

int
polling_init(struct polling *polling, struct node *node)
{
	telem_reporter_init(&polling->reporter, node->id, node->flows, &node->records, &node->count.reports);
	polling->born = malloc(SWITCH_MAX_BORN * sizeof(*polling->born));
	polling->held_bytes = calloc((size_t)TELEM_MAX_CLASSES * node->nports, sizeof(*polling->held_bytes));
	return polling->born != NULL && polling->held_bytes != NULL ? 0 : -ENOMEM;
}

void
polling_fini(struct polling *polling)
{
	telem_reporter_fini(&polling->reporter);
	free(polling->born);
	free(polling->held_bytes);
}

static void
poll_record(struct sw *sw, const struct pkt *poll, uint16_t in_port, uint8_t out_port, bool paused, bool repeated)
{
	polled_record(poll, sw->config->flows, in_port, out_port, paused, repeated, &sw->node.records, poll->time_ps);
}

/* The port answers at the window's end. @param whole  by its rows; else by its present state alone */
static void
poll_mark(struct switch_port *port, const struct pkt *poll, bool whole)
{
	port->polls.asked++;
	port->polls.event = poll->id;
	port->polls.whole |= whole;
}

void
switch_ask(struct sw *sw, uint16_t port, uint32_t event)
{
	struct port_polls *polls = &sw->ports[port].polls;

	polls->asked++;
	polls->event = event;
	polls->whole = true;
	sw->polling.due = true;
}

/* Pauses are traced in the class of the victim: those of another do not pause it (IEEE 802.1Qbb). */
static uint8_t
victim_class(const struct sw *sw, uint16_t in_port, const struct pkt *poll)
{
	return switch_class_of(sw, in_port, &sw->config->flows->flows[poll->flow]);
}

/* Did flows share the port? Its telemetry stands still while packets are routed: looked up once a window. */
static bool
was_shared(struct switch_port *port)
{
	if (!port->polls.knows_shared) {
		port->polls.knows_shared = true;
		port->polls.shared = epochs_was_shared(&port->telem.epochs);
	}
	return port->polls.shared;
}

/* Likewise, how much it carried. */
static uint64_t
carried_bytes(struct switch_port *port)
{
	if (!port->polls.knows_carried) {
		port->polls.knows_carried = true;
		port->polls.carried_bytes = epochs_carried_bytes(&port->telem.epochs);
	}
	return port->polls.carried_bytes;
}

/* Did the link to another switch ever go down? */
static bool
was_down(const struct sw *sw, uint16_t port)
{
	const struct topo *topo = sw->config->topo;

	return sw->ports[port].telem.drops->was_down &&
	       topo->nodes[topo_port_of(topo, sw->node.id, port)->peer].kind == TOPO_SWITCH;
}

/* Did packets that would have left by it, or by another of equal cost, have no route? */
static bool
had_no_route(const struct sw *sw, uint16_t port)
{
	return sw->ports[port].telem.drops->of[REC_DROP_NO_ROUTE].packets != 0;
}

/* Alternative egress or ingress ports of the victim: those of them with data to report. */
static void
poll_alternatives(struct sw *sw, const struct pkt *poll, uint8_t egress, bool sprayed)
{
	const struct flow *flow = &sw->config->flows->flows[poll->flow];
	const uint8_t *hops;
	uint32_t count = route_next_hops(sw->config->healthy_routes, sw->node.id, flow->dst_node, flow->dst_nic, &hops);
	bool shared = !sprayed && !(poll->flags & PKT_REVERSE) && count > 1 &&
		      route_pinned_egress(sw->config->pins, sw->node.id, poll->flow, false) < 0 &&
		      was_shared(&sw->ports[egress]);
	uint64_t bytes = shared ? carried_bytes(&sw->ports[egress]) : 0;

	for (uint32_t i = 0; i < count; i++) {
		struct switch_port *port = &sw->ports[hops[i]];

		if (hops[i] != egress && !was_down(sw, hops[i]) && shared && carried_bytes(port) <= bytes / IDLE_PART)
			poll_mark(port, poll, true);
	}
	for (uint16_t i = 0; i < sw->node.nports; i++)
		if (i != egress && (was_down(sw, i) || had_no_route(sw, i)))
			poll_mark(&sw->ports[i], poll, true);
}

/*
 * Flags of the polling packet that goes on. Pauses are traced from ports that are or were paused, but not from the path
 * of the ACKs: these are never paused.
 */
static uint8_t
onward_flags(const struct pkt *poll, uint8_t fresh, bool paused)
{
	uint8_t onward = fresh & POLL_VICTIM;

	if (onward != 0)
		onward |= poll->arg & (POLL_ACKS | POLL_BACK);
	if (fresh != 0 && paused && !(poll->flags & PKT_REVERSE))
		onward |= POLL_PFC;
	return onward;
}

/* A copy of a polling packet leaves by a port, which is not down. */
static void
send_on(struct sw *sw, uint16_t in_port, uint8_t egress, const struct pkt *poll, uint8_t flags)
{
	struct pkt *copy;

	sw->node.count.born_packets++;
	sw->node.count.born_bytes += poll->wire_bytes;
	if (sw->polling.nborn == SWITCH_MAX_BORN) { /* the copy is lost; the packet that arrived ends here */
		switch_drop(sw, egress, poll, REC_DROP_QUEUE_FULL, poll->time_ps);
		return;
	}
	copy = &sw->polling.born[sw->polling.nborn++];
	*copy = *poll;
	copy->arg = flags;
	node_count_control(&sw->node.count, copy);
	switch_forward(sw, in_port, egress, copy);
}

/*
 * A retransmitted packet may have been lost on the path that the victim had before routes changed: switches there are
 * queried as well, by a quiet packet, since it is not the victim's path any more.
 */
static void
poll_former_path(struct sw *sw, const struct pkt *poll, uint16_t in_port, uint8_t egress)
{
	int former = switch_healthy_egress(sw, poll->flow, poll->flags & PKT_REVERSE);

	if (!(poll->arg & (POLL_ACKS | POLL_BACK)) || former < 0 || former == egress || sw->ports[former].egress.tx->down ||
	    polled_fresh(&sw->ports[former].telem.polled, poll->id, POLL_VICTIM) == 0)
		return;
	poll_mark(&sw->ports[former], poll, true);
	send_on(sw, in_port, (uint8_t)former, poll, (uint8_t)(POLL_VICTIM | POLL_QUIET | (poll->arg & POLL_BACK)));
}

/*
 * One egress that the poll concerns.
 * @param wanted   POLL_VICTIM: forward as the victim; POLL_PFC: reached by tracing pauses
 * @param sprayed  it is one of several of the victim's
 */
static void
poll_egress(struct sw *sw, const struct pkt *poll, uint16_t in_port, uint8_t egress, uint8_t wanted, bool sprayed)
{
	struct switch_port *port = &sw->ports[egress];
	bool paused = epochs_was_paused(&port->telem.epochs, victim_class(sw, in_port, poll));
	uint8_t fresh = polled_fresh(&port->telem.polled, poll->id, wanted);
	uint8_t onward = onward_flags(poll, fresh, paused);

	poll_record(sw, poll, in_port, egress, paused, fresh == 0);
	if (fresh == 0)
		return;
	poll_mark(port, poll, true);
	if (fresh & POLL_VICTIM) {
		poll_alternatives(sw, poll, egress, sprayed);
		if (!sprayed)
			poll_former_path(sw, poll, in_port, egress);
	}
	if (onward != 0 && !port->egress.tx->down)
		send_on(sw, in_port, egress, poll, onward | (poll->arg & POLL_QUIET));
}

void
switch_poll_dead_end(struct sw *sw, uint16_t in_port, const struct pkt *poll, uint16_t port_index)
{
	struct switch_port *port = &sw->ports[port_index];
	uint8_t fresh = polled_fresh(&port->telem.polled, poll->id, (uint8_t)poll->arg & POLL_BOTH);

	poll_record(sw, poll, in_port, (uint8_t)port_index,
		    epochs_was_paused(&port->telem.epochs, victim_class(sw, in_port, poll)), fresh == 0);
	sw->polling.due = true;
	if (fresh != 0)
		poll_mark(port, poll, true);
}

/*
 * Packets of a polling packet's victim that arrived before it in this window, to the egress that they have in common.
 * @param first  of several that it asks: those whose egress is to be chosen count here, for the switch has them
 */
static uint32_t
arrived_before(const struct sw *sw, uint8_t egress, const struct pkt *poll, bool first)
{
	bool grouped = group_has(&sw->group, egress);
	const struct arrivals *arrivals = grouped ? &sw->group.arrivals : &sw->ports[egress].arrivals;
	uint32_t count = 0;

	for (uint32_t i = 0; i < arrivals->count; i++) {
		const struct pkt *p = arrivals->pkts[i];

		count += p->flow == poll->flow && p->type == PKT_DATA && !(p->flags & PKT_REVERSE) &&
			 (!grouped || p->out_port == egress || (first && p->out_port == SWITCH_EGRESS_SPRAY));
	}
	return count;
}

/*
 * Counters are as of the window's start: with the arrivals before the polling packet, which may be queued there or be
 * gone.
 */
static void
poll_passage(struct sw *sw, uint16_t in_port, const struct pkt *poll, uint8_t egress, bool first)
{
	const struct switch_port *port = &sw->ports[egress];
	const struct link_passed link = link_passed(sw->node.rx[in_port], poll);
	struct rec_passage rec = {
		.in_port = in_port, .out_port = egress, .in_frames = link.received_frames, .sent_frames = link.sent_frames
	};
	uint32_t slot = port_flows_find(&port->flows, poll->flow), now = arrived_before(sw, egress, poll, first);

	if (!(poll->flags & PKT_REVERSE)) {
		rec.waiting = (slot != PORT_FLOWS_NONE ? port->flows.queued[slot] : 0) + now;
		rec.flow_packets = epochs_packets_of(&port->telem.epochs, poll->flow) + now;
	}
	polled_passage(poll, sw->config->flows, &rec, &sw->node.records, poll->time_ps);
}

/* Damaged packets that arrived where the victim's packets arrive: no other node has their count. */
static void
poll_damage(struct sw *sw, uint16_t in_port, const struct pkt *poll)
{
	struct switch_port *port = &sw->ports[in_port];

	if ((poll->arg & POLL_VICTIM) && port->telem.drops->of[REC_DROP_CORRUPT].packets != 0)
		poll_mark(port, poll, false);
}

static void
look_for_held(struct switch_port *port, uint8_t prio)
{
	const struct fifo *q = &port->egress.q[prio];

	memset(port->polls.held, 0, sizeof(port->polls.held));
	for (uint32_t i = 0, count = fifo_count(q); i < count; i++) {
		uint8_t in_port = fifo_at(q, i)->in_port;

		port->polls.held[in_port / 64] |= UINT64_C(1) << in_port % 64;
	}
}

/* Does a packet of a lossless class that entered there wait here? */
static bool
holds_any(const struct sw *sw, struct switch_port *port, uint8_t prio, uint16_t in_port)
{
	if (!account_is_lossless(&sw->account, prio))
		return false;
	if (!port->polls.knows_held || port->polls.held_prio != prio) {
		port->polls.knows_held = true;
		port->polls.held_prio = prio;
		look_for_held(port, prio);
	}
	return (port->polls.held[in_port / 64] >> in_port % 64 & 1) != 0;
}

/* A PFC poll: the ingress that paused the link, and all egresses that it feeds but those of the victim. */
static void
poll_fed(struct sw *sw, uint16_t in_port, const struct pkt *poll, const uint8_t *paths, uint32_t npaths)
{
	uint8_t prio = victim_class(sw, in_port, poll);

	/* The ingress reports whether its buffer had reason for it; what leaves there is another matter. */
	poll_mark(&sw->ports[in_port], poll, false);
	for (uint16_t egress = 0; egress < sw->node.nports; egress++) {
		if ((poll->arg & POLL_VICTIM) && memchr(paths, egress, npaths) != NULL)
			continue;
		if (epochs_was_fed(&sw->ports[egress].telem.epochs, prio, in_port) ||
		    holds_any(sw, &sw->ports[egress], prio, in_port))
			poll_egress(sw, poll, in_port, (uint8_t)egress, POLL_PFC, false);
	}
}

void
switch_poll(struct sw *sw, uint16_t in_port, struct pkt *poll, const uint8_t *paths, uint32_t npaths)
{
	/* The packet itself ends here; what goes on are copies. */
	sw->node.count.consumed_packets++;
	sw->node.count.consumed_bytes += poll->wire_bytes;
	sw->polling.due = true;
	poll_damage(sw, in_port, poll);
	for (uint32_t i = 0; i < npaths && polled_asks_passage(poll); i++)
		poll_passage(sw, in_port, poll, paths[i], i == 0);
	for (uint32_t i = 0; i < npaths && (poll->arg & POLL_VICTIM); i++)
		poll_egress(sw, poll, in_port, paths[i], (uint8_t)poll->arg & POLL_BOTH, npaths > 1);
	if (poll->arg & POLL_PFC)
		poll_fed(sw, in_port, poll, paths, npaths);
}

/* Stage 4: the rows of ports that answer a polling packet, as they stand at the window's end; or of all, once an epoch. */

/* Bytes of a lossless class held in an egress's queue, by ingress. @param held [nports], cleared first */
static void
sum_held(const struct sw *sw, uint16_t port, uint8_t prio, uint64_t *held)
{
	const struct fifo *q = &sw->ports[port].egress.q[prio];

	memset(held, 0, sw->node.nports * sizeof(*held));
	for (uint32_t i = 0, count = fifo_count(q); i < count; i++)
		held[fifo_at(q, i)->in_port] += fifo_at(q, i)->wire_bytes;
}

/* The present state of a lossless class: the packets that wait for it, and the PAUSE of its ingress to the peer. */
static void
add_lossless(const struct sw *sw, uint16_t index, uint8_t prio, struct telem_present *present)
{
	const struct switch_port *port = &sw->ports[index];
	struct account_state ingress = account_state_of(&sw->account, index, prio);

	present->ingress_bytes = ingress.bytes;
	present->ingress_xoff_bytes = ingress.xoff_bytes;
	present->pausing = ingress.pausing || (port->storm.classes >> prio & 1);
	present->pausing_since_ps = port->pause.since_ps[prio];
}

/* @param asked  by this number of polling packets */
static void
report_port(struct sw *sw, uint16_t index, bool whole, uint32_t event, uint64_t now_ps, uint32_t asked)
{
	struct switch_port *port = &sw->ports[index];
	struct telem_present present[TELEM_MAX_CLASSES] = { 0 };

	for (uint8_t prio = 1; prio < SWITCH_CLASSES; prio++) {
		uint32_t class = telem_class(&sw->telemetry, prio);
		uint64_t *held = &sw->polling.held_bytes[(size_t) class * sw->node.nports];

		if (sw->config->cnp_classes >> prio & 1)
			continue;
		present[class].queue_packets += fifo_count(&port->egress.q[prio]);
		present[class].queue_bytes += port->egress.q[prio].bytes;
		if (!account_is_lossless(&sw->account, prio))
			continue;
		add_lossless(sw, index, prio, &present[class]);
		if (!whole) /* the present state alone does not show the held bytes */
			continue;
		sum_held(sw, index, prio, held);
		present[class].held_bytes = held;
	}
	telem_reply(&port->telem, &sw->polling.reporter, whole ? TELEM_ROWS : TELEM_STATE, present, event, now_ps, asked);
}

void
switch_report(struct sw *sw, const struct window *window)
{
	for (uint16_t i = 0; i < sw->node.nports; i++) {
		struct switch_port *port = &sw->ports[i];

		port->polls.knows_shared = port->polls.knows_carried = port->polls.knows_held = false;
		if (port->polls.asked == 0)
			continue;
		report_port(sw, i, port->polls.whole, port->polls.event, window->end_ps, port->polls.asked);
		port->polls.asked = 0;
		port->polls.whole = false;
	}
	sw->polling.due = false;
}

void
switch_report_all(struct sw *sw, uint64_t now_ps)
{
	for (uint16_t i = 0; i < sw->node.nports; i++)
		report_port(sw, i, true, 0, now_ps, 1);
}

void
switch_late_looks(struct sw *sw, uint64_t now_ps, bool last)
{
	bool asked = false;

	for (uint16_t i = 0; i < sw->node.nports; i++)
		asked |= telem_was_asked(&sw->ports[i].telem);
	for (uint16_t i = 0; i < sw->node.nports && asked; i++)
		telem_late(&sw->ports[i].telem, &sw->polling.reporter, now_ps, last);
}
