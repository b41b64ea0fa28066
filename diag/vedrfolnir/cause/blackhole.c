/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blackhole: a switch on the slow step's path swallows its packets. A switch that detects it counts them, or has no
 * route. One that does not swallows the polling packets too, and is the switch behind the last port that reported them;
 * or it is the one that forwarded nothing for a while of its received packets, by counts of the flow's packets. Its
 * root is the port where they enter. A NIC that hangs, or its host, swallows what it is to send and what arrives: its root
 * is its port. Between a NIC and the switch next to it counts of other flows' frames may leave both possible. Of ACKs no
 * switch counts a flow's: where they were lost and no link on their path lost a frame, it was a switch there. One that is
 * the only one is named, else the flow.
 */
#include "common/array.h"
#include "diag/vedrfolnir/cause/drops.h"

enum {
	CLAUSE_SWALLOWED,
	CLAUSE_NO_ROUTE = DROPS_CLAUSES,
	CLAUSE_SILENT = 2 * DROPS_CLAUSES,
	CLAUSE_NOTHING,
	CLAUSE_SILENT_HOST,
	CLAUSE_FIRST,
	CLAUSE_NIC_SENDS,
	CLAUSE_NIC_RECEIVES,
	CLAUSE_ACKS,
	CLAUSE_ACKS_SOMEWHERE
};
static const char *const clauses[] = {
	DROPS_CLAUSE("packets swallowed"),
	DROPS_CLAUSE("packets dropped for want of a route"),
	[CLAUSE_SILENT] = "{step}: polling packets on its path left by {other}, and {node} did not see them; {again}",
	[CLAUSE_NOTHING] = ("{step}: {count} of its packets left by {other}, arrived at {port}, and never left {node}, in "
			    "a row and uncounted; {again}"),
	[CLAUSE_SILENT_HOST] = ("{step}: polling packets on its path were made for {other}, and {node} did not see them: "
				"no count shows which of the two lost them; {again}"),
	[CLAUSE_FIRST] = ("{step}: {count} of its packets were made for {other}, and {node} did not forward them, in a "
			  "row and uncounted: no count shows which of the two lost them; {again}"),
	[CLAUSE_NIC_SENDS] = ("{step}: {count} of its packets, in a row, never left the NIC {port}: {other} received too "
			      "few frames from it in all; {again}"),
	[CLAUSE_NIC_RECEIVES] = ("{step}: {count} of its packets, in a row, left by {other} and arrived at {port}, and "
				 "that NIC or its host neither handed them on nor counted them; {again}"),
	[CLAUSE_ACKS] = ("{step}: all that it sent again had arrived before, in order, so ACKs were lost; no link on their "
			 "path lost a frame, and {node} is the only switch there; {again}"),
	[CLAUSE_ACKS_SOMEWHERE] =
		("{step}: all that it sent again had arrived before, in order, so ACKs were lost; no link on "
		 "their path lost a frame: one of {count} switches there discarded them; {again}"),
};

/*
 * @param port  ingress of the switch for the packets that it swallows  @param packets  of these, or polling packets, in
 *              a row
 */
static void
add_hole(struct cause_set *set, uint32_t step, uint32_t port, uint32_t clause, uint64_t packets)
{
	const struct evidence *ev = set->in->ev;
	const struct run_step *s = &set->in->steps[step];
	struct cause_finding *finding = cause_add(set, port, NULL, 0, step);
	double excess_ps = cause_excess_ps(set->in, step);

	if (finding == NULL)
		return;
	cause_port(set, finding, ev->ports[port].peer);
	cause_port(set, finding, port);
	cause_time(finding, s->start_ps, s->end_ps);
	cause_explains(finding, port, excess_ps);
	if (cause_score(finding, cause_lost_frames(set->in, step, excess_ps)))
		finding->out.evidence = (struct finding_evidence){ .clauses = { clause },
								   .nclauses = 1,
								   .step = step,
								   .port = port,
								   .other_port = ev->ports[port].peer,
								   .node = ev->ports[port].node,
								   .count = packets };
}

/* By counts of the packets that had passed. */
static void
add_counted(struct cause_set *set, uint32_t step, const struct passage *passage)
{
	const struct evidence *ev = set->in->ev;
	uint32_t in_port = passage->node.in_port, nic = passage->nic.in_port;

	if (passage->nic.packets != 0)
		add_hole(set, step, nic,
			 nic == ev->flows[set->in->steps[step].flow].src_port ? CLAUSE_NIC_SENDS : CLAUSE_NIC_RECEIVES,
			 passage->nic.packets);
	else
		add_hole(set, step, in_port, ev->nodes[ev->ports[in_port].peer_node].host ? CLAUSE_FIRST : CLAUSE_NOTHING,
			 passage->node.packets);
}

uint32_t
blackhole_of_acks(const struct cause_input *in, uint32_t step, uint32_t *into)
{
	const struct evidence *ev = in->ev;
	const struct ev_flow *flow = &ev->flows[in->steps[step].flow];
	uint32_t switches = 0;

	for (uint32_t h = 0; h < flow->nback; h++) {
		uint32_t port = ev->hops[flow->first_hop + flow->nhops + h], end = ev->ports[port].peer;
		struct passage_link link;

		if (end == EV_NONE)
			return 0;
		link = passage_of_link(in, step, end, in->steps[step].end_ps);
		if (!link.known || link.lost_frames != 0)
			return 0;
		if (ev->nodes[ev->ports[end].node].host)
			continue;
		*into = end;
		switches++;
	}
	return switches;
}

static void
add_of_acks(struct cause_set *set, uint32_t step)
{
	uint32_t into, switches = blackhole_of_acks(set->in, step, &into);
	struct cause_finding *finding = switches > 1 ? cause_on_path(set, step, true) : NULL;

	if (switches == 1)
		add_hole(set, step, into, CLAUSE_ACKS, 1);
	if (finding != NULL)
		finding->out.evidence = (struct finding_evidence){
			.clauses = { CLAUSE_ACKS_SOMEWHERE }, .nclauses = 1, .step = step, .count = switches
		};
}

static void
look(struct cause_set *set, uint32_t step)
{
	const struct evidence *ev = set->in->ev;
	struct drops_silence silence;
	struct passage passage;

	drops_add(set, step, REC_DROP_BLACKHOLE, CLAUSE_SWALLOWED);
	/* A path that is lost because links are down is theirs to explain. */
	if (!drops_any(set->in, step, REC_DROP_LINK_DOWN))
		drops_add(set, step, REC_DROP_NO_ROUTE, CLAUSE_NO_ROUTE);
	/* Nor does a switch swallow frames that arrived damaged, polling packets too: it counts them. */
	if (!set->in->steps[step].slow || !drops_sent_again(set->in, step) || drops_explain(ev, &set->in->steps[step]) ||
	    drops_any(set->in, step, REC_DROP_CORRUPT))
		return;
	/* Drops of a full queue on its path are counted there: no record shows that more was swallowed. */
	if (drops_any(set->in, step, REC_DROP_QUEUE_FULL) || drops_any(set->in, step, REC_DROP_NO_BUFFER))
		return;
	silence = drops_silence(set->in, step);
	passage = passage_find(set->in, step);
	if (passage_swallows(&passage))
		add_counted(set, step, &passage);
	else if (silence.port != EV_NONE && silence.swallows)
		add_hole(set, step, ev->ports[silence.port].peer,
			 ev->nodes[ev->ports[silence.port].node].host ? CLAUSE_SILENT_HOST : CLAUSE_SILENT, silence.polls);
	else if (packet_loss_of_acks(set, step, &passage))
		add_of_acks(set, step);
}

/* Does a finding about a switch show it better than another does? Behind a host's port that may be at fault, not it. */
static bool
shows_better(const struct evidence *ev, const struct finding *a, const struct finding *b)
{
	bool a_host = ev->nodes[ev->ports[a->root_port].peer_node].host;

	if (a_host != ev->nodes[ev->ports[b->root_port].peer_node].host)
		return !a_host;
	return a->explained_ps != b->explained_ps ? a->explained_ps > b->explained_ps : a < b;
}

uint32_t
blackhole_same(const struct cause_set *all, uint32_t finding)
{
	const struct finding *hole = &all->findings[finding].out;
	const struct evidence *ev = all->in->ev;

	for (uint32_t i = 0; i < all->count && hole->type == &cause_blackhole.type && hole->root_port != EV_NONE; i++) {
		const struct finding *other = &all->findings[i].out;

		if (i != finding && other->type == hole->type && other->root_port != EV_NONE &&
		    ev->ports[other->root_port].node == ev->ports[hole->root_port].node &&
		    ev->ports[other->root_port].peer_node != EV_NONE && ev->ports[hole->root_port].peer_node != EV_NONE &&
		    other->collective == hole->collective && other->start_ps <= hole->end_ps &&
		    hole->start_ps <= other->end_ps && shows_better(ev, other, hole))
			return i;
	}
	return EV_NONE;
}

const struct cause cause_blackhole = {
	.type = { .key = "blackhole",
		  .title = "blackhole",
		  .preposition = "at ",
		  .badge = "lost",
		  .traits = FINDING_OF_HOLE | FINDING_OF_NODE | FINDING_OF_FAULT,
		  .clauses = clauses,
		  .nclauses = ARRAY_LEN(clauses) },
	.look = look,
};
