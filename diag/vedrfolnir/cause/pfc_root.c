/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/cause/pfc_root.h"

#include "diag/vedrfolnir/cause/pfc_silence.h"
#include "diag/vedrfolnir/cause/pfc_split.h"
#include "diag/vedrfolnir/provenance/window.h"

struct walk {
	const struct cause_set *set;
	const struct cause_input *in;
	const struct prov_graph *graph;
	uint32_t step;
	struct pfc_root root;                /* path so far */
	uint32_t on_path[PFC_ROOT_MAX_PATH]; /* indices of the ports on it */
	uint32_t steps;
	bool blind; /* a halted port was reached of whose pauses nothing tells the reason */
	pfc_root_fn *fn;
	void *ctx;
};

static void follow(struct walk *walk, uint32_t index, double weight);

static void
add_weight(const struct pfc_root *root, void *ctx)
{
	*(double *)ctx += root->weight;
}

bool
pfc_root_each(const struct cause_set *set, uint32_t step, uint32_t index, pfc_root_fn *fn, void *ctx)
{
	double weights = 0;
	struct walk weigh = { .set = set,
			      .in = set->in,
			      .graph = set->in->graphs[step],
			      .step = step,
			      .root.paused = index,
			      .fn = add_weight,
			      .ctx = &weights };
	struct walk walk = weigh;

	follow(&weigh, index, 1.0);
	walk.root.weights = weights;
	walk.fn = fn;
	walk.ctx = ctx;
	follow(&walk, index, 1.0);
	return walk.blind;
}

struct root_visit {
	struct cause_set *set;
	uint32_t step;
	pfc_root_reached_fn *fn;
};

static void
note_reached(const struct pfc_root *root, void *ctx)
{
	const struct root_visit *visit = ctx;

	visit->fn(visit->set, visit->step, root);
}

bool
pfc_root_each_reached(struct cause_set *set, uint32_t step, pfc_root_reached_fn *fn)
{
	const struct prov_graph *graph = set->in->graphs[step];
	struct root_visit visit = { set, step, fn };
	bool blind = false;

	for (uint32_t p = 0; graph != NULL && set->in->steps[step].slow && p < graph->nreached; p++)
		if (graph->ports[p].paused)
			blind |= pfc_root_each(set, step, p, note_reached, &visit);
	return blind;
}

/*
 * Is the port sent more than it can send while this flow comes? Only by ingresses that are faster together: one of its own
 * speed leaves no queue but what a pause has piled up, and so do two whose flows come one after the other. Flows with less
 * than CAUSE_MIN_SHARE of the port's packets do not count, nor those that met no queue.
 */
static bool
overruns(const struct cause_set *set, uint32_t step, const struct prov_port *port, const struct prov_at *at)
{
	const struct evidence *ev = set->in->ev;
	const struct prov_graph *graph = set->in->graphs[step];
	const struct ev_port *p = &ev->ports[port->port];
	uint64_t counted[RECORD_MAX_PORTS_A_NODE / 64] = { 0 };
	uint64_t rate_bps = 0;

	for (uint32_t a = port->first_at; a < port->first_at + port->nats; a++) {
		const struct prov_at *other = &graph->ats[a];
		uint32_t ingress = evidence_port(ev, p->node, other->in_port);
		uint64_t bit = 1ULL << (other->in_port % 64);

		if (ingress == EV_NONE || (counted[other->in_port / 64] & bit) != 0 ||
		    other->packets < CAUSE_MIN_SHARE * port->packets ||
		    other->depth_sum < CAUSE_MIN_WAIT * other->packets ||
		    (other != at && !cause_both_at_once(set, graph->flows[at->flow], graph->flows[other->flow], step)))
			continue;
		counted[other->in_port / 64] |= bit;
		rate_bps += ev->ports[ingress].rate_bps;
	}
	return rate_bps > p->rate_bps;
}

bool
pfc_root_culprit(const struct cause_set *set, uint32_t step, const struct prov_port *root, const struct prov_at *at,
		 bool collective)
{
	const struct prov_graph *graph = set->in->graphs[step];
	uint32_t flow = graph->flows[at->flow];

	return set->in->ev->flows[flow].collective == collective && at->flow != graph->victim && at->contrib > 0 &&
	       at->contrib >= CAUSE_MIN_SHARE * root->depth_sum && at->depth_sum >= CAUSE_MIN_WAIT * at->packets &&
	       cause_at_once(set, flow, step) && overruns(set, step, root, at);
}

/* Do others than the victim fill this queue? Where its flows were not reported, they may. */
static bool
has_culprits(const struct walk *walk, const struct prov_port *port)
{
	for (uint32_t a = port->first_at; a < port->first_at + port->nats; a++) {
		const struct prov_at *at = &walk->graph->ats[a];

		if (pfc_root_culprit(walk->set, walk->step, port, at, false) ||
		    pfc_root_culprit(walk->set, walk->step, port, at, true))
			return true;
	}
	return port->nats == 0;
}

/*
 * How much of the time a port's own queue is the root of pauses before it, 0: never. A port that is halted itself now
 * and then is one all the same if it is busy in the rest of the time.
 */
static double
root_share(const struct walk *walk, const struct prov_port *port)
{
	double rate_bps = (double)walk->in->ev->ports[port->port].rate_bps;
	double busy_ps = port->packets * walk->in->ev->run.frame_bytes * 8e12 / rate_bps;
	double free_ps = port->covered_ps - port->pause_ps;

	if (!cause_has_queue(walk->in, port) || !has_culprits(walk, port))
		return 0;
	if (!port->paused)
		return 1;
	return free_ps >= CAUSE_ROOT_UNPAUSED * port->covered_ps && busy_ps >= CAUSE_ROOT_BUSY * free_ps
		       ? free_ps / port->covered_ps
		       : 0;
}

/*
 * The queues that an ingress feeds, as far as they were reported. However little it fed them within the step: what is
 * held there makes it pause, and what is held does not move.
 */
struct downstream {
	bool paused;    /* one of them is paused itself */
	bool congested; /* one of them has a queue */
};

static struct downstream
look_downstream(const struct walk *walk, const struct prov_port *port)
{
	struct downstream down = { false, false };

	for (uint32_t l = port->first_link; l < port->first_link + port->nlinks; l++) {
		const struct prov_port *to = &walk->graph->ports[walk->graph->links[l].to];

		if (walk->graph->links[l].weight <= 0)
			continue;
		down.paused |= to->paused;
		down.congested |= !to->paused && cause_has_queue(walk->in, to);
	}
	return down;
}

const struct rec_port_row *
pfc_root_pausing(const struct evidence *ev, const struct prov_graph *graph, uint32_t ingress, double fill)
{
	const struct window window = { graph->from_ps, graph->to_ps };
	const struct ev_port *port = &ev->ports[ingress];

	for (uint32_t i = port->first_state; i < port->first_state + port->nstates; i++) {
		const struct rec_port_row *row = EV_AT(ev->states, struct rec_port_row, i);

		if (row->pausing && row->prio == graph->prio && window_has(window, row->hdr.time_ps) &&
		    (double)row->ingress_bytes < fill * (double)row->ingress_xoff_bytes)
			return row;
	}
	return NULL;
}

/*
 * How much of its pauses does this halted port owe to the other end alone, which has no reason for them? A host's NIC
 * all: hosts take what comes. So an ingress whose switch told of every queue behind it that none was there; one that was seen
 * pausing while it held little (next to nothing, where what it feeds is halted: what it holds may have stood there since the
 * threshold was lower) those of the epochs in which it had no reason.
 */
static double
storm_share(const struct walk *walk, const struct prov_port *port, struct downstream down)
{
	const struct evidence *ev = walk->in->ev;
	double fill = down.paused ? CAUSE_STORM_EMPTY : CAUSE_STORM_FILL;
	uint32_t peer = ev->ports[port->port].peer;

	if (peer == EV_NONE)
		return 0;
	if (ev->nodes[ev->ports[peer].node].host)
		return 1;
	if (pfc_root_pausing(ev, walk->graph, peer, fill) != NULL)
		return pfc_split_storm(ev, walk->graph, port, fill);
	return !down.paused && !down.congested && pfc_silence_means(ev, walk->graph, port, fill) ? 1 : 0;
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

/* Depth first; parts below CAUSE_MIN_FOLLOWED are not followed. */
static void
follow(struct walk *walk, uint32_t index, double weight)
{
	const struct prov_port *port = &walk->graph->ports[index];
	struct downstream down;
	double storm;

	if (weight < CAUSE_MIN_FOLLOWED || walk->root.npath == PFC_ROOT_MAX_PATH || walk->steps == PFC_ROOT_MAX_STEPS ||
	    is_on_path(walk, index))
		return;
	walk->steps++;
	walk->on_path[walk->root.npath] = index;
	walk->root.path[walk->root.npath++] = port->port;
	down = look_downstream(walk, port);
	storm = storm_share(walk, port, down);
	walk->blind |= storm <= 0 && !down.paused && !down.congested;
	if (weight * storm >= CAUSE_MIN_FOLLOWED)
		found(walk, PFC_ROOT_STORM, walk->in->ev->ports[port->port].peer, index, weight * storm);
	for (uint32_t l = port->first_link; l < port->first_link + port->nlinks && storm < 1; l++) {
		const struct prov_link *link = &walk->graph->links[l];
		const struct prov_port *to = &walk->graph->ports[link->to];
		double share = root_share(walk, to), part = weight * (1 - storm) * link->weight;

		if (part * share >= CAUSE_MIN_FOLLOWED)
			found(walk, PFC_ROOT_CONGESTED, to->port, link->to, part * share);
		if (to->paused)
			follow(walk, link->to, part * (1 - share));
	}
	walk->root.npath--;
}
