/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Load imbalance (II-B): flows of the collective share the queue of one port that hashes chose for them, while a port
 * of equal cost is idle. The hash made the collision; where no port was idle it is mere contention.
 */
#include "common/array.h"
#include "common/wire/drop.h"
#include "diag/vedrfolnir/cause/cause.h"
#include "diag/vedrfolnir/provenance/window.h"

/* The load of a port in a time, and the reported part of that time. */
struct load {
	double bytes, covered_ps;
};

/*
 * Closed epochs without traffic are not reported, so that a report of the open one alone covers all that the port
 * remembers before it.
 * @param reported_ps  reports before covered the port up to here
 */
static uint64_t
covers_from_ps(const struct evidence *ev, const struct ev_epoch *epoch, uint64_t reported_ps)
{
	uint64_t before = ev->run.epochs_kept > 1 ? ev->run.epochs_kept - 1 : 0;
	uint64_t from_ps = epoch->epoch_first > before ? (epoch->epoch_first - before) * ev->run.epoch_ps : 0;

	if (epoch->to_ps >= (epoch->epoch_last + 1ULL) * ev->run.epoch_ps || from_ps > epoch->from_ps)
		return epoch->from_ps;
	return from_ps > reported_ps ? from_ps : reported_ps;
}

static struct load
measure(const struct evidence *ev, uint32_t port, struct window window)
{
	const struct ev_port *p = &ev->ports[port];
	struct load load = { 0 };
	uint64_t reported_ps = 0;

	for (uint32_t i = p->first_epoch; i < p->first_epoch + p->nepochs; i++) {
		const struct ev_epoch *epoch = &ev->epochs[i];

		if (epoch->nrows == 0)
			continue;
		load.bytes += window_share(window, epoch->from_ps, epoch->to_ps) * (double)epoch->bytes;
		load.covered_ps += (double)window_overlap_ps(window, covers_from_ps(ev, epoch, reported_ps), epoch->to_ps);
		reported_ps = epoch->to_ps;
	}
	return load;
}

/* A port that a flow of the collective has for its own is taken, also while that flow pauses. */
static bool
is_idle(const struct evidence *ev, uint32_t port, struct window window)
{
	struct load load = measure(ev, port, window);

	return load.covered_ps > 0 && !ev->ports[port].on_path &&
	       load.bytes * 8e12 < CAUSE_IDLE_LOAD * (double)ev->ports[port].rate_bps * load.covered_ps;
}

/*
 * Was a port out of the routes: was its own link down before this time, or one of the switch that it leads to? Switches
 * learn of such a link and leave out ports that lead to it.
 */
static bool
leads_to_cut(const struct evidence *ev, uint32_t port, uint64_t until_ps)
{
	uint32_t next = ev->ports[port].peer_node;

	for (uint32_t i = 0; i < ev->drops.count; i++) {
		const struct rec_drop_row *row = EV_AT(ev->drops, struct rec_drop_row, i);
		uint32_t cut = evidence_port(ev, row->hdr.node, row->port);

		if (row->reason == REC_DROP_LINK_DOWN && row->first_ps <= until_ps && cut != EV_NONE &&
		    (cut == port || ev->ports[cut].node == next || ev->ports[cut].peer_node == next))
			return true;
	}
	return false;
}

/* A flow of the collective that shared the victim's queue and that a hash sent there as well. */
static bool
is_own_by_hash(const struct cause_set *set, uint32_t step, const struct prov_graph *graph, const struct prov_port *port,
	       const struct prov_at *cf, const struct prov_at *other)
{
	uint32_t flow = graph->flows[other->flow];

	return set->in->ev->flows[flow].collective && !cause_is_planned(set, step, graph, port, other) &&
	       cause_shared_queue(set, step, graph, cf, other) && evidence_choice(set->in->ev, flow, port->port) != NULL;
}

/* When the victim shared the queue with such flows; nothing if it did not. */
static struct window
contention_at(const struct cause_set *set, uint32_t step, const struct prov_graph *graph, const struct prov_port *port,
	      const struct prov_at *cf)
{
	struct window window = { UINT64_MAX, 0 };

	for (uint32_t a = port->first_at; a < port->first_at + port->nats; a++) {
		const struct prov_at *other = &graph->ats[a];

		if (!is_own_by_hash(set, step, graph, port, cf, other))
			continue;
		window.from_ps = other->from_ps < window.from_ps ? other->from_ps : window.from_ps;
		window.to_ps = other->to_ps > window.to_ps ? other->to_ps : window.to_ps;
	}
	window.from_ps = window.from_ps < cf->from_ps ? cf->from_ps : window.from_ps;
	window.to_ps = window.to_ps > cf->to_ps ? cf->to_ps : window.to_ps;
	return window;
}

uint32_t
cause_idle_choice(const struct cause_set *set, uint32_t step, const struct prov_graph *graph, const struct prov_port *port)
{
	const struct evidence *ev = set->in->ev;
	const struct ev_node *node = &ev->nodes[ev->ports[port->port].node];
	const struct rec_ecmp *choice = evidence_choice(ev, graph->flows[graph->victim], port->port);
	const struct prov_at *cf = prov_at_find(graph, port, graph->victim);
	struct window window;

	if (choice == NULL || cf == NULL || cf->packets <= 0 || !cause_has_queue(set->in, port))
		return EV_NONE;
	window = contention_at(set, step, graph, port, cf);
	for (uint32_t p = 0; p < node->nports && window.from_ps < window.to_ps; p++) {
		uint32_t other = node->first_port + p;

		if (other != port->port && evidence_has_member(ev, choice, (uint16_t)p) && is_idle(ev, other, window) &&
		    !leads_to_cut(ev, other, window.to_ps))
			return other;
	}
	return EV_NONE;
}

static void
add(struct cause_set *set, uint32_t step, const struct prov_graph *graph, const struct prov_port *port, uint32_t idle)
{
	const struct evidence *ev = set->in->ev;
	const struct prov_at *cf = prov_at_find(graph, port, graph->victim);
	struct cause_finding *finding = cause_add(set, port->port, NULL, 0, step);
	double waits = 0, frames = 0;

	if (finding == NULL)
		return;
	cause_port(set, finding, port->port);
	cause_port(set, finding, idle);
	for (uint32_t a = port->first_at; a < port->first_at + port->nats; a++) {
		const struct prov_at *other = &graph->ats[a];

		if (!ev->flows[graph->flows[other->flow]].collective || cause_is_planned(set, step, graph, port, other) ||
		    !cause_shared_queue(set, step, graph, cf, other))
			continue;
		cause_flow(set, finding, graph->flows[other->flow], other->cf_wait);
		cause_time(finding, other->from_ps > cf->from_ps ? other->from_ps : cf->from_ps,
			   other->to_ps < cf->to_ps ? other->to_ps : cf->to_ps);
		waits += other->cf_wait;
		frames += other->cf_wait < other->packets ? other->cf_wait : other->packets;
	}
	cause_explains(finding, port->port, cause_frames_ps(set->in, step, port, frames));
	if (!cause_score(finding, waits))
		return;
	finding->out.evidence = (struct finding_evidence){
		.nclauses = 1, .step = step, .port = port->port, .other_port = idle, .packets = cf->packets, .waits = waits
	};
	cause_name_flows(finding, &finding->out.evidence);
}

static void
look(struct cause_set *set, uint32_t step)
{
	const struct prov_graph *graph = set->in->graphs[step];

	if (graph == NULL || graph->victim == EV_NONE || !set->in->steps[step].slow)
		return;
	for (uint32_t p = 0; p < graph->nreached; p++) {
		uint32_t idle = cause_idle_choice(set, step, graph, &graph->ports[p]);

		if (idle != EV_NONE)
			add(set, step, graph, &graph->ports[p], idle);
	}
}

static const char *const clauses[] = {
	"{step}: a hash sent it by {port}, where its {packets} packets reported had {waits} packets of {flows} ahead of "
	"them, "
	"while {other}, of equal cost, was idle",
};

const struct cause cause_load_imbalance = {
	.type = { .key = "load-imbalance",
		  .title = "load imbalance",
		  .preposition = "at ",
		  .badge = "queue",
		  .traits = FINDING_OF_QUEUES | FINDING_HAS_OWN_PAUSES,
		  .clauses = clauses,
		  .nclauses = ARRAY_LEN(clauses) },
	.look = look,
};
