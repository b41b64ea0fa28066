/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/cause/pfc_root.h"

struct walk {
	const struct cause_input *in;
	const struct prov_graph *graph;
	struct pfc_root root; /* path so far */
	uint32_t on_path[PFC_ROOT_MAX_PATH]; /* indices of the ports on it */
	uint32_t steps;
	pfc_root_fn *fn;
	void *ctx;
};

static void follow(struct walk *walk, uint32_t index, double weight);

void
pfc_root_each(const struct cause_input *in, const struct prov_graph *graph, uint32_t index, pfc_root_fn *fn, void *ctx)
{
	struct walk walk = { .in = in, .graph = graph, .fn = fn, .ctx = ctx };

	follow(&walk, index, 1.0);
}

/* The queues that an ingress feeds, as far as they were reported. */
struct downstream {
	bool halted;    /* one of them is paused itself */
	bool congested; /* one of them has a queue */
};

static struct downstream
look_downstream(const struct walk *walk, const struct prov_port *port)
{
	struct downstream down = { false, false };

	for (uint32_t l = port->first_link; l < port->first_link + port->nlinks; l++) {
		const struct prov_port *to = &walk->graph->ports[walk->graph->links[l].to];

		if (walk->graph->links[l].weight < CAUSE_MIN_SHARE)
			continue;
		down.halted |= to->halted;
		down.congested |= cause_congested(walk->in, to);
	}
	return down;
}

static bool
in_window(const struct prov_graph *graph, uint64_t time_ps)
{
	return time_ps >= graph->from_ps && time_ps <= graph->to_ps;
}

/*
 * A polling packet crossed this halted port: the switch behind it was asked what holds it up. Where telemetry of the
 * window was lost, its silence means nothing.
 */
static bool
was_asked(const struct evidence *ev, const struct prov_graph *graph, uint32_t port)
{
	bool asked = false;

	for (uint32_t i = 0; i < ev->gaps.count; i++) {
		const struct rec_gap *gap = EV_AT(ev->gaps, struct rec_gap, i);

		if (gap->kind >= REC_POLL && gap->kind <= REC_DROP_ROW && gap->from_ps <= graph->to_ps &&
		    gap->to_ps >= graph->from_ps)
			return false;
	}
	for (uint32_t i = 0; i < ev->polls.count && !asked; i++) {
		const struct rec_poll *poll = EV_AT(ev->polls, struct rec_poll, i);

		asked = poll->out_paused && in_window(graph, poll->hdr.time_ps) && poll->out_port != REC_NO_PORT &&
			evidence_port(ev, poll->hdr.node, poll->out_port) == port;
	}
	return asked;
}

/* Pausing at a report, with too little held to have a reason: the surest sign of a storm. */
static bool
pauses_while_empty(const struct evidence *ev, const struct prov_graph *graph, uint32_t ingress)
{
	const struct ev_port *port = &ev->ports[ingress];

	for (uint32_t e = port->first_epoch; e < port->first_epoch + port->nepochs; e++) {
		const struct rec_port_row *row = ev->epochs[e].row;

		if (row != NULL && row->pausing && in_window(graph, row->hdr.time_ps) &&
		    (double)row->ingress_bytes < CAUSE_STORM_FILL * (double)row->ingress_xoff_bytes)
			return true;
	}
	return false;
}

/*
 * Does the other end of this halted port pause it without a reason? A host's NIC always: hosts take what comes. An
 * ingress that was seen pausing while it held little, or whose switch has no queue to show for it.
 */
static bool
is_storm(const struct walk *walk, const struct prov_port *port, struct downstream down)
{
	const struct evidence *ev = walk->in->ev;
	uint32_t peer = ev->ports[port->port].peer;

	if (peer == EV_NONE || down.halted)
		return false;
	if (ev->nodes[ev->ports[peer].node].host)
		return true;
	if (pauses_while_empty(ev, walk->graph, peer))
		return true;
	return !down.congested && was_asked(ev, walk->graph, port->port);
}

static void
found(struct walk *walk, enum pfc_root_kind kind, uint32_t port, uint32_t index, double weight)
{
	walk->root.kind = kind;
	walk->root.port = port;
	walk->root.index = index;
	walk->root.weight = weight;
	walk->fn(&walk->root, walk->ctx);
}

static bool
is_on_path(const struct walk *walk, uint32_t index)
{
	for (uint32_t i = 0; i < walk->root.npath; i++) {
		if (walk->on_path[i] == index)
			return true;
	}
	return false;
}

/* Depth first; parts below CAUSE_MIN_SHARE are not followed. */
static void
follow(struct walk *walk, uint32_t index, double weight)
{
	const struct prov_port *port = &walk->graph->ports[index];
	struct downstream down;

	if (weight < CAUSE_MIN_SHARE || walk->root.npath == PFC_ROOT_MAX_PATH ||
	    walk->steps == PFC_ROOT_MAX_STEPS || is_on_path(walk, index))
		return;
	walk->steps++;
	walk->on_path[walk->root.npath] = index;
	walk->root.path[walk->root.npath++] = port->port;
	down = look_downstream(walk, port);
	if (is_storm(walk, port, down)) {
		found(walk, PFC_ROOT_STORM, walk->in->ev->ports[port->port].peer, index, weight);
	} else {
		for (uint32_t l = port->first_link; l < port->first_link + port->nlinks; l++) {
			const struct prov_link *link = &walk->graph->links[l];
			const struct prov_port *to = &walk->graph->ports[link->to];

			if (to->halted)
				follow(walk, link->to, weight * link->weight);
			else if (weight * link->weight >= CAUSE_MIN_SHARE && cause_congested(walk->in, to))
				found(walk, PFC_ROOT_CONGESTED, to->port, link->to, weight * link->weight);
		}
	}
	walk->root.npath--;
}
