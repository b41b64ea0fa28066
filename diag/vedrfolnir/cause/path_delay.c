/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Path delay: the round trips of a slow step took longer than those of an idle path, by more than the queues on its
 * path can account for. Some link of its path, or of its ACKs', takes longer than configured (delays.h): the link, if
 * the steps that crossed it, and those that were in time beside them, leave one; else the path of the flow that lost
 * most by it.
 */
#include <math.h>

#include "common/array.h"
#include "diag/vedrfolnir/cause/cause.h"
#include "diag/vedrfolnir/cause/delays.h"

enum { CLAUSE_LONGER, CLAUSE_LINK, CLAUSE_PATH, CLAUSE_NODE };

/* The links that may be at fault; where none is left, all of its paths. */
static void
add_ports(struct cause_set *set, struct cause_finding *finding, const struct delay_place *place, uint32_t flow)
{
	const struct ev_flow *of = &set->in->ev->flows[flow];

	for (uint32_t i = 0; i < place->count; i++)
		cause_port(set, finding, set->delays->ports[place->first + i]);
	for (uint32_t h = 0; h < of->nhops + of->nback && place->count == 0; h++)
		cause_port(set, finding, set->in->ev->hops[of->first_hop + h]);
}

static bool
is_end(const struct ev_port *link, uint32_t node)
{
	return link->node == node || link->peer_node == node;
}

/* The node that all links that may be at fault begin or end at. @return EV_NONE: there is none */
static uint32_t
common_node(const struct evidence *ev, const uint32_t *ports, uint32_t count)
{
	const struct ev_port *first = count != 0 ? &ev->ports[ports[0]] : NULL;
	bool here = first != NULL, there = first != NULL && first->peer_node != EV_NONE;

	for (uint32_t i = 1; i < count; i++) {
		here &= is_end(&ev->ports[ports[i]], first->node);
		there &= is_end(&ev->ports[ports[i]], first->peer_node);
	}
	if (here)
		return first->node;
	return there ? first->peer_node : EV_NONE;
}

/* Of a full frame on the slowest link of a flow's path. */
static double
flow_frame_ps(const struct evidence *ev, const struct ev_flow *flow)
{
	double most_ps = 0;

	for (uint32_t h = 0; h < flow->nhops; h++)
		most_ps = fmax(most_ps,
			       ev->run.frame_bytes * 8e12 / (double)ev->ports[ev->hops[flow->first_hop + h]].rate_bps);
	return most_ps;
}

/* The step's cost by its window, where its sender keeps no ledger. */
static double
windows_cost_ps(const struct cause_input *in, uint32_t step, double extra_ps)
{
	const struct run_step *s = &in->steps[step];
	double bytes = (double)(s->open ? s->acked_bytes : s->bytes), done = s->bytes != 0 ? bytes / (double)s->bytes : 1;
	double packets = fmax(1, ceil(bytes / fmax(1, in->ev->run.payload_bytes)));
	double rtt_ps = (double)s->base_rtt_ps + extra_ps, rounds = floor((packets - 1) / in->window);
	double takes_ps =
		(rounds + 1) * rtt_ps + (packets - rounds * in->window) * flow_frame_ps(in->ev, &in->ev->flows[s->flow]);

	return fmax(extra_ps, takes_ps - done * (double)s->expect_ps);
}

double
delay_cost_ps(const struct cause_input *in, uint32_t step, double extra_ps)
{
	const struct run_step *s = &in->steps[step];
	double longer_ps = (double)s->rtt_mean_ps - (double)s->base_rtt_ps;
	double late_ps = (double)evidence_ledger_ps(in->ev, step, LEDGER_LATE) +
			 (in->paced_by_marks ? 0 : (double)evidence_ledger_ps(in->ev, step, LEDGER_PACED));

	if (!evidence_has_ledger(in->ev, step) || longer_ps <= 0)
		return windows_cost_ps(in, step, extra_ps);
	return fmin(late_ps, fmax(windows_cost_ps(in, step, extra_ps),
				  (double)evidence_ledger_ps(in->ev, step, LEDGER_LATE) * fmin(1, extra_ps / longer_ps)));
}

static void
look(struct cause_set *set, uint32_t step)
{
	const struct run_step *s = &set->in->steps[step];
	double extra_ps = set->delays->extra_ps[step];
	const struct delay_place *place;
	struct cause_finding *finding;
	uint32_t node;
	char flow[96];

	if (set->delays->place[step] == EV_NONE)
		return;
	place = &set->delays->places[set->delays->place[step]];
	finding = cause_add(set, place->root_port, evidence_flow_name(set->in->ev, place->flow, flow), place->flow, step);
	if (finding == NULL)
		return;
	add_ports(set, finding, place, s->flow);
	node = common_node(set->in->ev, finding->out.ports, finding->out.nports);
	cause_time(finding, s->start_ps, s->end_ps);
	cause_explains(finding, EV_NONE, delay_cost_ps(set->in, step, extra_ps));
	if (cause_score(finding, cause_lost_frames(set->in, step, cause_excess_ps(set->in, step))))
		finding->out.evidence = (struct finding_evidence){
			.clauses = { CLAUSE_LONGER, place->root_port != EV_NONE ? CLAUSE_LINK
						    : node != EV_NONE           ? CLAUSE_NODE
										: CLAUSE_PATH },
			.nclauses = 2,
			.step = step,
			.port = place->root_port,
			.node = node,
			.flow = s->flow,
			.count = finding->out.nports,
			.ps = (double)s->rtt_mean_ps,
			.of_ps = (double)s->base_rtt_ps,
		};
}

static const char *const clauses[] = {
	[CLAUSE_LONGER] = ("{step}: its round trips took {ms} ms on average where an idle path takes {of ms}, and the "
			   "queues on its path do not account for it"),
	[CLAUSE_LINK] = "; of the links of its paths, in both directions, {port} is the only one that no packet crossed in "
			"time meanwhile",
	[CLAUSE_PATH] = "; one of {count} links is longer than configured, and no evidence shows which",
	[CLAUSE_NODE] = "; one of {count} links of {node} is longer than configured, and no evidence shows which",
};

const struct cause cause_path_delay = {
	.type = { .key = "path-delay",
		  .title = "path delay",
		  .preposition = "on ",
		  .badge = "lost",
		  .traits = FINDING_BY_DEFAULT | FINDING_OF_FAULT,
		  .clauses = clauses,
		  .nclauses = ARRAY_LEN(clauses) },
	.look = look,
};
