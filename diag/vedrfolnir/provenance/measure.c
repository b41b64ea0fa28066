/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of one port in a step's time: its state, and each flow's weights. */
#include "diag/vedrfolnir/provenance/build.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "common/minmax.h"
#include "diag/vedrfolnir/provenance/provenance.h"
#include "diag/vedrfolnir/provenance/window.h"

/*
 * A port's time, from report to report: counters only grow within an epoch, so each report adds the packets since the
 * last.
 */

static uint64_t
grown(uint64_t *counted, uint64_t count)
{
	uint64_t more = count > *counted ? count - *counted : 0;

	*counted += more;
	return more;
}

static void
read_slice(struct prov_builder *b, const struct prov_slice *slice, prov_slice_fn *fn, void *ctx)
{
	for (uint32_t i = 0; i < slice->count; i++) {
		struct prov_count *counted = &b->counted[slice->flows[i]];

		b->more[slice->flows[i]] = (struct prov_count){
			.packets = grown(&counted->packets, slice->rows[i].packets),
			.depth_sum = grown(&counted->depth_sum, slice->rows[i].depth_sum),
		};
	}
	fn(b, slice, ctx);
}

static void
read_epoch(struct prov_builder *b, const struct ev_epoch *epoch, prov_slice_fn *fn, void *ctx)
{
	const struct rec_flow_row *states = b->ev->flow_states.data;
	struct prov_slice last = { .count = epoch->nflows,
				   .from_ps = epoch->from_ps,
				   .to_ps = epoch->to_ps,
				   .nic = b->ev->nodes[b->ev->ports[epoch->port].node].host };
	uint32_t end = epoch->first_state + epoch->nstates, next;

	if (epoch->nflows != 0) { /* else there may be no row at all */
		last.rows = EV_AT(b->ev->flow_rows, struct rec_flow_row, epoch->first_flow);
		last.flows = &b->ev->flow_of_row[epoch->first_flow];
	}
	for (uint32_t i = 0; i < last.count; i++)
		b->counted[last.flows[i]] = (struct prov_count){ 0 };
	for (uint32_t i = epoch->first_state; i < end; i++)
		b->counted[b->ev->flow_of_state[i]] = (struct prov_count){ 0 };
	for (uint32_t i = epoch->first_state; i < end; i = next) {
		struct prov_slice slice = last;

		slice.rows = &states[i];
		slice.flows = &b->ev->flow_of_state[i];
		slice.count = 0;
		slice.to_ps = states[i].hdr.time_ps < epoch->to_ps ? states[i].hdr.time_ps : epoch->to_ps;
		for (next = i; next < end && states[next].hdr.time_ps == states[i].hdr.time_ps; next++)
			slice.count++;
		read_slice(b, &slice, fn, ctx);
		last.from_ps = slice.to_ps;
	}
	if (last.from_ps < epoch->to_ps || epoch->nstates == 0)
		read_slice(b, &last, fn, ctx);
}

/* Calls fn for every slice of the port's epochs that touch the step's time. */
static void
prov_each_slice(struct prov_builder *b, uint32_t port, prov_slice_fn *fn, void *ctx)
{
	struct ev_range epochs = evidence_epochs(b->ev, port, b->window.from_ps, b->window.to_ps);

	for (uint32_t i = epochs.first; i < epochs.end; i++) {
		const struct ev_epoch *epoch = &b->ev->epochs[i];

		if (window_share(b->window, epoch->from_ps, epoch->to_ps) > 0)
			read_epoch(b, epoch, fn, ctx);
	}
}

/*
 * Which flows were at a port together with the victim. The counters of one epoch mix flows of different times: before
 * the step, or while the victim was held up on its path. The differences between reports within the epoch separate them
 * better, and so does the queue at a report.
 */

#define TOGETHER_SHARE 0.5 /* of the time between two reports, or of the step, in which the victim can have arrived */

struct port_times {
	struct window step;
	struct window held; /* the victim could not arrive then */
};

/* How long a full queue takes to drain. @return INFINITY: it may not */
static double
drain_ps(const struct prov_builder *b, const struct prov_port *port)
{
	double frame_ps = b->ev->run.frame_bytes * 8e12 / (double)b->ev->ports[port->port].rate_bps;
	double moving = port->covered_ps > 0 ? 1 - port->pause_ps / port->covered_ps : 0;

	return port->standing || moving <= 0 ? INFINITY : port->depth_max * frame_ps / moving;
}

/*
 * The longest pause, still on at a report, that held up the victim before it arrived at this port; without the time in
 * which the packets that had arrived before may have stood here.
 */
static struct window
find_held(const struct prov_builder *b, const struct prov_port *port)
{
	const struct ev_flow *flow = &b->ev->flows[b->flow];
	double late_ps = drain_ps(b, port);
	struct window held = { 0, 0 };
	uint32_t before = 0;

	while (before < flow->nhops && b->ev->hops[flow->first_hop + before] != port->port)
		before++;
	if (before == flow->nhops)
		return held;
	for (uint32_t h = 0; h < before; h++) {
		const struct ev_port *hop = &b->ev->ports[b->ev->hops[flow->first_hop + h]];

		for (uint32_t i = hop->first_state; i < hop->first_state + hop->nstates; i++) {
			const struct rec_port_row *row = EV_AT(b->ev->states, struct rec_port_row, i);
			double from_ps = (double)row->paused_since_ps + late_ps, to_ps = (double)row->hdr.time_ps;

			if (row->paused && row->prio == b->graph->prio &&
			    to_ps - from_ps > (double)(held.to_ps - held.from_ps))
				held = (struct window){ (uint64_t)from_ps, row->hdr.time_ps };
		}
	}
	return held;
}

/* May the victim, in this step, have been at the port for enough of the time between two reports? */
static bool
is_enough(const struct port_times *times, uint64_t from_ps, uint64_t to_ps)
{
	uint64_t step_ps = times->step.to_ps - times->step.from_ps, all_ps = to_ps - from_ps;
	struct window both = { from_ps > times->step.from_ps ? from_ps : times->step.from_ps,
			       to_ps < times->step.to_ps ? to_ps : times->step.to_ps };
	uint64_t inside_ps;

	if (from_ps >= to_ps)
		return window_has(times->step, from_ps);
	if (both.from_ps >= both.to_ps)
		return false;
	inside_ps = both.to_ps - both.from_ps - window_overlap_ps(times->held, both.from_ps, both.to_ps);
	return (double)inside_ps >= TOGETHER_SHARE * (double)(all_ps < step_ps ? all_ps : step_ps);
}

static void
read_together(struct prov_builder *b, const struct prov_slice *slice, void *arg)
{
	const struct port_times *times = arg;
	bool enough = is_enough(times, slice->from_ps, slice->to_ps), arrived = false, queued = false;

	for (uint32_t i = 0; i < slice->count; i++) {
		if (slice->flows[i] != b->flow)
			continue;
		arrived = enough && b->more[b->flow].packets != 0;
		queued = slice->rows[i].queue_packets != 0 && window_has(times->step, slice->rows[i].hdr.time_ps);
	}
	for (uint32_t i = 0; i < slice->count; i++) {
		uint32_t slot = b->flow_slot[slice->flows[i]];
		bool more = b->more[slice->flows[i]].packets != 0;

		if (slot != 0 && ((arrived && more) || (queued && slice->rows[i].queue_packets != 0)))
			b->graph->ats[slot - 1].together = true;
	}
}

/*
 * Marks the flows of the port being measured, whose entries are in graph.ats, that were there together with the victim
 * within the step's time.
 */
static void
prov_port_together(struct prov_builder *b, const struct prov_port *port)
{
	struct port_times times = { b->window, find_held(b, port) };

	prov_each_slice(b, port->port, read_together, &times);
}

/*
 * The victim's time at a port that others' packets took. In a slice a flow cost the victim at most the packets that it
 * sent, and at most those that stood ahead of the victim's: a queue is counted once for each packet that stands in it,
 * and passes only once.
 */

/*
 * w(f_i,f_j) by the replay estimate: packets of each flow are spread evenly over the epoch, so the queue ahead of a
 * packet of f_i consists of the flows in proportion of their packets.
 * @param depth_i  packets found in the queue, summed over the packets of f_i
 * @param n_j      packets of f_j in the epoch
 * @param n_port   packets of the port in the epoch; at a NIC, where depth counts other flows' packets only, without
 *                 those of f_i
 */
static inline double
weight_flow_flow(double depth_i, double n_j, double n_port)
{
	return n_port > 0 ? depth_i * n_j / n_port : 0;
}

struct passed {
	double share;        /* of the slice in the step's time */
	double all;          /* packets of all flows */
	double cf, cf_depth; /* of the victim; the queue that its packets found */
};

static void
add_flow(struct prov_at *at, const struct prov_slice *slice, const struct passed *passed, double packets)
{
	double queue = slice->nic ? passed->all - passed->cf : passed->all;
	double ahead = weight_flow_flow(passed->cf_depth, packets, queue);

	at->ahead += passed->share * ahead;
	at->taken += passed->share * fmin(ahead, packets);
	at->passed += passed->share * packets;
}

static void
read_taken(struct prov_builder *b, const struct prov_slice *slice, void *ctx)
{
	struct prov_port *port = ctx;
	struct passed passed = { .share = window_share(b->window, slice->from_ps, slice->to_ps) };

	if (passed.share <= 0)
		return;
	for (uint32_t i = 0; i < slice->count; i++) {
		const struct prov_count *more = &b->more[slice->flows[i]];

		passed.all += (double)more->packets;
		if (slice->flows[i] != b->flow)
			continue;
		passed.cf = (double)more->packets;
		passed.cf_depth = (double)more->depth_sum;
	}
	port->cf_packets += passed.share * passed.cf;
	port->cf_depth += passed.share * passed.cf_depth;
	for (uint32_t i = 0; i < slice->count; i++) {
		uint32_t slot = b->flow_slot[slice->flows[i]];

		if (slot != 0 && slice->flows[i] != b->flow)
			add_flow(&b->graph->ats[slot - 1], slice, &passed, (double)b->more[slice->flows[i]].packets);
	}
}

/* The queue as it stood is one slice. */
static void
read_present(struct prov_builder *b, struct prov_port *port)
{
	for (uint32_t a = port->first_at; a < port->first_at + port->nats; a++) {
		struct prov_at *at = &b->graph->ats[a];

		at->ahead = at->cf_wait;
		at->taken = fmin(at->cf_wait, at->packets);
		at->passed = at->packets;
		if (at->flow != b->flow)
			continue;
		port->cf_packets = at->packets;
		port->cf_depth = at->depth_sum;
	}
}

/* Adds up the victim's time that others' packets took at the port being measured. */
static void
prov_port_taken(struct prov_builder *b, struct prov_port *port)
{
	if (port->present)
		read_present(b, port);
	else
		prov_each_slice(b, port->port, read_taken, port);
}

/*
 * Port-port edges: the egresses that a paused egress waits for, by the meters of the switch at the other end of its
 * link.
 */

/* w(p_i,p_j): a share of bytes. */
static inline double
weight_port_port(double bytes, double total_bytes)
{
	return total_bytes > 0 ? bytes / total_bytes : 0;
}

/* Bytes that an ingress fed to one egress: moved in the window, and held at the last report in it. */
struct feed {
	uint32_t egress;
	double moved_bytes, held_bytes;
	uint64_t held_at_ps;
	bool fed; /* it moved some, in the window or before */
};

static struct feed
read_feed(const struct prov_builder *b, const struct ev_feed *from)
{
	struct ev_range rows = evidence_feed_rows(b->ev, from, b->window.from_ps, b->window.to_ps);
	struct feed feed = { .egress = from->egress };
	uint32_t first = from->first_moved[b->graph->prio];

	if (first != EV_NONE)
		feed.fed = b->ev->feed_rows[first].row->epoch_first * b->ev->run.epoch_ps < b->window.to_ps;
	for (uint32_t i = rows.first; i < rows.end; i++) {
		const struct ev_feed_row *at = &b->ev->feed_rows[i];

		if (at->row->prio != b->graph->prio)
			continue;
		feed.moved_bytes += window_share(b->window, at->from_ps, at->to_ps) * (double)at->row->bytes;
		if (window_has(b->window, at->row->hdr.time_ps) && at->row->hdr.time_ps >= feed.held_at_ps) {
			feed.held_at_ps = at->row->hdr.time_ps;
			feed.held_bytes = (double)at->row->held_bytes;
		}
	}
	return feed;
}

/* The bytes that all ingresses together fed to an egress. */
static struct feed
all_senders(const struct prov_builder *b, uint32_t egress)
{
	const struct ev_node *node = &b->ev->nodes[b->ev->ports[egress].node];
	struct feed sum = { .egress = egress };

	for (uint32_t p = node->first_port; p < node->first_port + node->nports; p++) {
		const struct ev_port *ingress = &b->ev->ports[p];

		for (uint32_t i = ingress->first_feed; i < ingress->first_feed + ingress->nfeeds; i++) {
			struct feed one;

			if (b->ev->feeds[i].egress != egress)
				continue;
			one = read_feed(b, &b->ev->feeds[i]);
			sum.moved_bytes += one.moved_bytes;
			sum.held_bytes += one.held_bytes;
		}
	}
	return sum;
}

static double
link_weight(const struct prov_builder *b, bool standing, const struct feed *feed, const struct feed *total)
{
	const struct feed senders = b->share == PROV_SHARE_SENDERS ? all_senders(b, feed->egress) : *total;

	/* Nothing moved, or only before everything stood still: the bytes that stand there decide. */
	if (total->moved_bytes <= 0 || (standing && total->held_bytes > 0))
		return weight_port_port(feed->held_bytes, senders.held_bytes);
	return weight_port_port(feed->moved_bytes, senders.moved_bytes);
}

/*
 * The bytes that stand here now are for another egress, but this one was fed from here: if it stands still as well, its
 * turn follows, and it may close a circle of waits. No score passes such an edge.
 */
static bool
waits_in_turn(const struct prov_builder *b, const struct prov_port *port, const struct feed *feed)
{
	return port->standing && feed->fed && prov_port_state(b, feed->egress).standing;
}

int
prov_port_links(struct prov_builder *b, uint32_t index)
{
	struct prov_graph *g = b->graph;
	uint32_t ingress = b->ev->ports[g->ports[index].port].peer;
	struct feed *feeds, total = { 0 };
	uint32_t count;

	g->ports[index].first_link = g->nlinks;
	if (!g->ports[index].paused || ingress == EV_NONE)
		return 0;
	feeds = calloc((size_t)b->ev->ports[ingress].nfeeds + 1, sizeof(*feeds));
	if (feeds == NULL)
		return -ENOMEM;
	count = b->ev->ports[ingress].nfeeds;
	for (uint32_t i = 0; i < count; i++) {
		feeds[i] = read_feed(b, &b->ev->feeds[b->ev->ports[ingress].first_feed + i]);
		total.moved_bytes += feeds[i].moved_bytes;
		total.held_bytes += feeds[i].held_bytes;
	}
	for (uint32_t i = 0; i < count; i++) {
		double weight = link_weight(b, g->ports[index].standing, &feeds[i], &total);
		uint32_t to;

		if (weight <= 0 && !waits_in_turn(b, &g->ports[index], &feeds[i]))
			continue;
		to = prov_add_port(b, feeds[i].egress);
		if (to == EV_NONE || prov_grow((void **)&g->links, g->nlinks, &b->links_cap, sizeof(*g->links)) != 0) {
			free(feeds);
			return -ENOMEM;
		}
		g->links[g->nlinks++] = (struct prov_link){ to, weight };
		g->ports[index].nlinks++;
	}
	free(feeds);
	return 0;
}

/* w(p,f): the flow's share of the packets times the summed depth of the port; both sides in packet-waits. */
static inline double
weight_port_flow(double n_f, double n_port, double depth_port)
{
	return n_port > 0 ? n_f / n_port * depth_port : 0;
}

/*
 * Summed queue depth of n_f of the n_queue packets that stand in a queue, if they are spread evenly over it: each has
 * (n_queue - 1) / 2 ahead on average. It replaces the counters of epochs in which nothing moved.
 */
static inline double
weight_standing_depth(double n_f, double n_queue)
{
	return n_queue > 1 ? n_f * (n_queue - 1) / 2 : 0;
}

static void
note_paused(struct prov_port *state, uint64_t from_ps, uint64_t to_ps)
{
	if (state->paused_to_ps == 0 || from_ps < state->paused_from_ps)
		state->paused_from_ps = from_ps;
	if (to_ps > state->paused_to_ps)
		state->paused_to_ps = to_ps;
}

/* A pause that lasts at a report, whatever the kept epochs hold. @return its longest part in the window */
static uint64_t
read_states(const struct prov_builder *b, struct prov_port *state)
{
	struct ev_range states = evidence_states(b->ev, state->port, b->window.from_ps, b->window.to_ps);
	uint64_t longest_ps = 0;

	for (uint32_t i = states.first; i < states.end; i++) {
		const struct rec_port_row *row = EV_AT(b->ev->states, struct rec_port_row, i);
		uint64_t inside_ps;

		if (row->prio != b->graph->prio)
			continue;
		if (window_has(b->window, row->hdr.time_ps) && !row->state_only) /* that has no flow rows beside it */
			state->latest = row;
		if (!row->paused || row->paused_since_ps > row->hdr.time_ps)
			continue;
		inside_ps = window_overlap_ps(b->window, row->paused_since_ps, row->hdr.time_ps);
		if (inside_ps != 0)
			note_paused(state, row->paused_since_ps, row->hdr.time_ps);
		if (inside_ps > longest_ps)
			longest_ps = inside_ps;
	}
	return longest_ps;
}

/*
 * The part of an epoch's pauses in the step: that of its time. None, if the step's flow sent enough that
 * PROV_MISSED_PAUSES of the packets that found a pause should be its own, and not one is: the pauses were before or
 * after. Only where both rows are of one report: a port row may have been lost, and an older one be there.
 */
static double
pause_share(const struct prov_builder *b, const struct ev_epoch *epoch, const struct rec_port_row *port, double share)
{
	for (uint32_t i = epoch->first_flow; i < epoch->first_flow + epoch->nflows && share < 1; i++) {
		const struct rec_flow_row *row = EV_AT(b->ev->flow_rows, struct rec_flow_row, i);

		if (b->ev->flow_of_row[i] == b->flow && row->packets != 0 && row->paused_packets == 0 &&
		    row->packets <= port->packets &&
		    (double)row->packets * (double)port->paused_packets >= PROV_MISSED_PAUSES * (double)port->packets)
			return 0;
	}
	return share;
}

/* The rows of the victim's class: its pauses, and the queue depth of its packets. */
static void
add_class(const struct prov_builder *b, const struct ev_epoch *epoch, double share, struct prov_port *state)
{
	const struct rec_port_row *row = evidence_port_row(b->ev, epoch, b->graph->prio);
	double paused;

	if (row == NULL)
		return;
	paused = pause_share(b, epoch, row, share);
	state->pause_ps += paused * (double)row->pause_ps;
	if (row->depth_max > state->depth_max)
		state->depth_max = row->depth_max;
	if (row->pause_ps != 0 && paused > 0)
		note_paused(state, epoch->from_ps, epoch->to_ps);
}

struct prov_port
prov_port_state(const struct prov_builder *b, uint32_t port)
{
	struct ev_range epochs = evidence_epochs(b->ev, port, b->window.from_ps, b->window.to_ps);
	struct prov_port state = { .port = port };
	uint64_t pause_now_ps = read_states(b, &state);

	for (uint32_t i = epochs.first; i < epochs.end; i++) {
		const struct ev_epoch *epoch = &b->ev->epochs[i];
		double share = window_share(b->window, epoch->from_ps, epoch->to_ps);

		if (epoch->nrows == 0 || share <= 0)
			continue;
		state.packets += share * (double)epoch->packets;
		state.depth_sum += share * (double)epoch->depth_sum;
		state.covered_ps += (double)window_overlap_ps(b->window, epoch->from_ps, epoch->to_ps);
		add_class(b, epoch, share, &state);
	}
	state.reported = state.latest != NULL || state.covered_ps > 0;
	state.paused = (state.pause_ps > 0 && state.pause_ps >= PROV_PAUSED_SHARE * state.covered_ps) ||
		       (pause_now_ps > 0 &&
			(double)pause_now_ps >= PROV_PAUSED_SHARE * (double)(b->window.to_ps - b->window.from_ps));
	if ((double)pause_now_ps > state.pause_ps)
		state.pause_ps = (double)pause_now_ps;
	state.standing = (double)pause_now_ps > state.pause_ps / 2;
	state.present = state.packets <= 0 && state.latest != NULL && state.latest->queue_packets > 0;
	return state;
}

/* @return the flow's entry of the port being measured, made if need be; NULL when out of memory */
static struct prov_at *
at_of(struct prov_builder *b, struct prov_port *port, uint32_t flow)
{
	struct prov_graph *g = b->graph;

	if (b->flow_slot[flow] == 0) {
		if (prov_grow((void **)&g->ats, g->nats, &b->ats_cap, sizeof(*g->ats)) != 0)
			return NULL;
		g->ats[g->nats++] = (struct prov_at){ .flow = flow, .from_ps = UINT64_MAX };
		b->flow_slot[flow] = g->nats;
		port->nats++;
	}
	return &g->ats[b->flow_slot[flow] - 1];
}

/* Sums over the flow rows of one epoch. */
struct epoch_sums {
	bool nic;              /* depths count other flows' packets only */
	double packets, depth; /* of the port */
	double flows;          /* packets of all flows with rows */
	double cf_depth;       /* summed queue depth of the victim's packets */
	double cf_packets;
};

static struct epoch_sums
sum_epoch(const struct prov_builder *b, const struct ev_epoch *epoch)
{
	struct epoch_sums sums = { .nic = b->ev->nodes[b->ev->ports[epoch->port].node].host };
	double depth = 0;

	for (uint32_t i = epoch->first_flow; i < epoch->first_flow + epoch->nflows; i++) {
		const struct rec_flow_row *row = EV_AT(b->ev->flow_rows, struct rec_flow_row, i);

		sums.flows += (double)row->packets;
		depth += (double)row->depth_sum;
		if (b->ev->flow_of_row[i] == b->flow) {
			sums.cf_depth = (double)row->depth_sum;
			sums.cf_packets = (double)row->packets;
		}
	}
	sums.packets = (double)epoch->packets;
	sums.depth = epoch->nrows != 0 ? (double)epoch->depth_sum : depth;
	if (sums.packets < sums.flows) /* the port rows were lost, or are older */
		sums.packets = sums.flows;
	return sums;
}

/* Packets of the queue that a flow finds: in a switch all of them, at a NIC those of the others. */
static double
queue_packets(const struct epoch_sums *sums, double own_packets)
{
	return sums->nic ? sums->packets - own_packets : sums->packets;
}

/* The exact matrix in place of the replay estimate. */
static int
add_matrix(struct prov_builder *b, struct prov_port *port, const struct ev_epoch *epoch, double share)
{
	for (uint32_t i = epoch->first_matrix; i < epoch->first_matrix + epoch->nmatrix; i++) {
		const struct rec_matrix_row *row = EV_AT(b->ev->matrix_rows, struct rec_matrix_row, i);
		uint32_t flow = evidence_flow(b->ev, &row->flow), other = evidence_flow(b->ev, &row->other);
		struct prov_at *at;

		if (flow == other)
			continue;
		at = at_of(b, port, flow);
		if (at == NULL)
			return -ENOMEM;
		at->wait += share * (double)row->ahead;
		if (flow != b->flow)
			continue;
		at = at_of(b, port, other);
		if (at == NULL)
			return -ENOMEM;
		at->cf_wait += share * (double)row->ahead;
	}
	return 0;
}

static int
add_epoch(struct prov_builder *b, struct prov_port *port, const struct ev_epoch *epoch, double share)
{
	struct epoch_sums sums = sum_epoch(b, epoch);

	for (uint32_t i = epoch->first_flow; i < epoch->first_flow + epoch->nflows; i++) {
		const struct rec_flow_row *row = EV_AT(b->ev->flow_rows, struct rec_flow_row, i);
		double n = (double)row->packets;
		struct prov_at *at;

		if (row->packets == 0)
			continue;
		at = at_of(b, port, b->ev->flow_of_row[i]);
		if (at == NULL)
			return -ENOMEM;
		at->in_port = row->in_port;
		at->packets += share * n;
		at->depth_sum += share * (double)row->depth_sum;
		at->paused_packets += share * (double)row->paused_packets;
		at->contrib += share * weight_port_flow(n, sums.packets, sums.depth);
		at->from_ps = epoch->from_ps < at->from_ps ? epoch->from_ps : at->from_ps;
		at->to_ps = epoch->to_ps > at->to_ps ? epoch->to_ps : at->to_ps;
		if (epoch->nmatrix != 0)
			continue;
		at->wait += share * weight_flow_flow((double)row->depth_sum, sums.flows - n, queue_packets(&sums, n));
		if (at->flow != b->flow)
			at->cf_wait += share * weight_flow_flow(sums.cf_depth, n, queue_packets(&sums, sums.cf_packets));
	}
	return epoch->nmatrix != 0 ? add_matrix(b, port, epoch, share) : 0;
}

/* The queue as it stood: the latest row of each flow in the report that gave the port's latest row. */
static int
add_present(struct prov_builder *b, struct prov_port *port)
{
	double n_port = (double)port->latest->queue_packets;
	const struct ev_port *from = &b->ev->ports[port->port];
	double flows = 0, cf = 0;

	for (uint32_t e = from->first_epoch; e < from->first_epoch + from->nepochs; e++) {
		const struct ev_epoch *epoch = &b->ev->epochs[e];

		for (uint32_t i = epoch->first_flow; i < epoch->first_flow + epoch->nflows; i++) {
			const struct rec_flow_row *row = EV_AT(b->ev->flow_rows, struct rec_flow_row, i);
			struct prov_at *at;

			if (row->queue_packets == 0 || row->hdr.time_ps != port->latest->hdr.time_ps)
				continue;
			at = at_of(b, port, b->ev->flow_of_row[i]);
			if (at == NULL)
				return -ENOMEM;
			at->in_port = row->in_port;
			at->packets = (double)row->queue_packets;
			at->from_ps = at->to_ps = row->hdr.time_ps;
			at->together = true;
		}
	}
	for (uint32_t a = port->first_at; a < port->first_at + port->nats; a++) {
		flows += b->graph->ats[a].packets;
		if (b->graph->ats[a].flow == b->flow)
			cf = b->graph->ats[a].packets;
	}
	if (n_port < flows)
		n_port = flows;
	port->packets = n_port;
	port->depth_sum = weight_standing_depth(n_port, n_port);
	for (uint32_t a = port->first_at; a < port->first_at + port->nats; a++) {
		struct prov_at *at = &b->graph->ats[a];

		at->depth_sum = weight_standing_depth(at->packets, n_port);
		at->contrib = weight_port_flow(at->packets, n_port, port->depth_sum);
		at->wait = weight_flow_flow(at->depth_sum, flows - at->packets, n_port);
		if (at->flow != b->flow)
			at->cf_wait = weight_flow_flow(weight_standing_depth(cf, n_port), at->packets, n_port);
	}
	return 0;
}

static int
cmp_at(const void *pa, const void *pb)
{
	const struct prov_at *a = pa, *b = pb;

	return ORDER(a->flow, b->flow);
}

int
prov_port_flows(struct prov_builder *b, struct prov_port *port)
{
	struct ev_range epochs = evidence_epochs(b->ev, port->port, b->window.from_ps, b->window.to_ps);
	struct prov_graph *g = b->graph;
	int rc = 0;

	port->first_at = g->nats;
	if (port->present)
		rc = add_present(b, port);
	for (uint32_t i = epochs.first; rc == 0 && !port->present && i < epochs.end; i++) {
		const struct ev_epoch *epoch = &b->ev->epochs[i];
		double share = window_share(b->window, epoch->from_ps, epoch->to_ps);

		if (share > 0)
			rc = add_epoch(b, port, epoch, share);
	}
	if (rc == 0 && b->flow_slot[b->flow] != 0) {
		if (!port->present)
			prov_port_together(b, port);
		prov_port_taken(b, port);
	}
	for (uint32_t a = port->first_at; a < g->nats; a++) {
		g->ats[a].edge = g->ats[a].wait > 0 || port->paused;
		b->flow_slot[g->ats[a].flow] = 0;
	}
	if (port->nats > 1)
		qsort(&g->ats[port->first_at], port->nats, sizeof(*g->ats), cmp_at);
	return rc;
}
