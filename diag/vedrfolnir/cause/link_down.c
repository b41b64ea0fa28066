/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Link down: a port on the slow step's path dropped packets because its link was down. Or a step waited in queues, and a
 * switch that it passes reports a link down that dropped nothing: no route used it, and others carry what it would have.
 */
#include "common/array.h"
#include "common/minmax.h"
#include "common/wire/drop.h"
#include "diag/vedrfolnir/cause/drops.h"
#include "diag/vedrfolnir/cause/merge.h"

enum { CLAUSE_MISSING = DROPS_CLAUSES };
static const char *const clauses[] = {
	DROPS_CLAUSE("packets dropped because the link was down"),
	[CLAUSE_MISSING] = "{step}: {port} reports that its link to {other} was down; others carried what it would have",
};

static void
look(struct cause_set *set, uint32_t step)
{
	drops_add(set, step, REC_DROP_LINK_DOWN, 0);
}

/* Did the step wait in a queue? */
static bool
has_queue(const struct cause_set *set)
{
	for (uint32_t i = 0; i < set->count; i++)
		if (merge_is(&set->findings[i].out, FINDING_OF_QUEUES))
			return true;
	return false;
}

/* Does the data of a flow pass a switch? */
static bool
passes_node(const struct evidence *ev, uint32_t flow, uint32_t node)
{
	const struct ev_flow *of = &ev->flows[flow];

	for (uint32_t h = 0; h < of->nhops; h++)
		if (ev->ports[ev->hops[of->first_hop + h]].node == node)
			return true;
	return false;
}

static bool
is_found(const struct cause_set *set, const struct ev_port *port, uint32_t id)
{
	for (uint32_t i = 0; i < set->count; i++)
		if (set->findings[i].out.type == &cause_link_down.type &&
		    (set->findings[i].out.root_port == id || set->findings[i].out.root_port == port->peer))
			return true;
	return false;
}

/* They claim nothing of the step: its queues are their consequence. */
static void
beside(struct cause_set *set, uint32_t step)
{
	const struct evidence *ev = set->in->ev;
	const struct run_step *s = &set->in->steps[step];

	for (uint32_t i = 0; i < ev->drops.count && has_queue(set); i++) {
		const struct rec_drop_row *row = EV_AT(ev->drops, struct rec_drop_row, i);
		uint32_t port = evidence_port(ev, row->hdr.node, row->port);
		uint32_t root = min_u32(port, ev->ports[port].peer); /* one cable, whichever end reports it */
		struct cause_finding *finding;

		if (row->reason != REC_DROP_LINK_DOWN || row->packets != 0 || row->first_ps > s->end_ps ||
		    row->hdr.time_ps < s->start_ps || !passes_node(ev, s->flow, row->hdr.node) ||
		    is_found(set, &ev->ports[port], port))
			continue;
		finding = cause_add(set, root, NULL, 0, step);
		if (finding == NULL)
			return;
		cause_port(set, finding, root);
		cause_time(finding, s->start_ps, s->end_ps);
		finding->out.evidence = (struct finding_evidence){ .clauses = { CLAUSE_MISSING },
								   .nclauses = 1,
								   .step = step,
								   .port = port,
								   .other_port = ev->ports[port].peer };
		confidence_reported(set, finding, step);
	}
}

const struct cause cause_link_down = {
	.type = { .key = "link-down",
		  .title = "link down",
		  .preposition = "at ",
		  .badge = "lost",
		  .traits = FINDING_OF_HOLE | FINDING_OF_FAULT,
		  .clauses = clauses,
		  .nclauses = ARRAY_LEN(clauses) },
	.look = look,
	.beside = beside,
};
