/* SPDX-License-Identifier: BSD-3-Clause */
/* What the rows of one port say about a step's time: its state, and each flow's weights. */
#include <errno.h>
#include <stdlib.h>

#include "diag/vedrfolnir/provenance/build.h"
#include "diag/vedrfolnir/provenance/weights.h"

static void
note_paused(struct prov_port *state, uint64_t from_ps, uint64_t to_ps)
{
	if (state->paused_to_ps == 0 || from_ps < state->paused_from_ps)
		state->paused_from_ps = from_ps;
	if (to_ps > state->paused_to_ps)
		state->paused_to_ps = to_ps;
}

/* A pause that lasts at the moment of a report, whatever the kept epochs hold. @return its longest part in the window */
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
 * The part of an epoch's pauses that fell into the step: that of its time. None, if the step's flow sent so much that
 * PROV_MISSED_PAUSES of the packets that met a pause should be its own, and not one is: the pauses were before or after.
 * Only where both rows are of one report: a port row may have been lost, and an older one be there.
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

/* What the rows of the victim's class say: its pauses, and how deep its packets stood. */
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
	double cf_depth;       /* summed depth that the victim's packets met */
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

/* Packets that make up the queue which a flow meets: in a switch all of them, at a NIC those of the others. */
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

	return a->flow < b->flow ? -1 : a->flow > b->flow;
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
