/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Claims. A culprit in a queue claims at most the time that its packets took on the port's link while they were ahead of
 * the step's; pauses the time halted, by culprit where they have some. They are weighed by how long the step waited for
 * each. A step keeps a window of packets under way, so what one packet waits holds up the others: the waits of all, summed
 * and divided by the window, are the step's (Little's law). Where its packets wait for the NIC they are not under way, and
 * the NIC serves flows in turn: of the window, what is not in the network waits there. On the link for which a sender was
 * held back nobody need wait: what passed it beside the step's packets is what these would have had of it.
 */
#include "diag/vedrfolnir/cause/settle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diag/run/lateness.h"
#include "diag/vedrfolnir/cause/merge.h"
#include "diag/vedrfolnir/rating/budget.h"

struct settling {
	struct cause_set *set;
	uint32_t step;
	const struct prov_graph *graph;
	double window;  /* packets that a flow may have under way */
	double packets; /* of the step, as far as it came */
	bool lossy;     /* some of them were lost */
	double nic_ps;  /* how long its packets waited for the NIC at most */
	struct budget_claim *claims;
	uint32_t count, cap;
};

static double
frame_ps(const struct cause_input *in, uint32_t port)
{
	return in->ev->run.frame_bytes * 8e12 / (double)in->ev->ports[port].rate_bps;
}

static bool
is_nic(const struct cause_input *in, uint32_t port)
{
	return in->ev->nodes[in->ev->ports[port].node].host;
}

/*
 * Rows may show a part of the step's packets alone: what these met stands for what the others did. Of a step that lost
 * packets, those that a port did not tell of need not have come by it, or not at the same pace: what it told of stands for
 * the time that it did not tell of, and no more.
 */
static double
stretch(const struct settling *s, const struct prov_port *port)
{
	const struct run_step *step = &s->set->in->steps[s->step];
	double by_packets = port->cf_packets > 0 && s->packets > port->cf_packets ? s->packets / port->cf_packets : 1;
	double by_time = port->covered_ps > 0 ? (double)(step->end_ps - step->start_ps) / port->covered_ps : by_packets;

	return s->lossy ? fmax(1, fmin(by_packets, by_time)) : by_packets;
}

static bool
has_loss(const struct cause_set *set)
{
	bool found = false;

	for (uint32_t i = 0; i < set->count && !found; i++)
		found = merge_is(&set->findings[i].out, FINDING_OF_LOSS | FINDING_OF_HOLE | FINDING_OF_LOOP);
	return found;
}

/*
 * Time that the step's window waited for its NIC, by what its packets met in the network. What congestion control kept them
 * apart for, and round trips that were longer for whatever reason, are the network's.
 */
static double
nic_wait_ps(const struct settling *s)
{
	const struct cause_input *in = s->set->in;
	const struct run_step *step = &in->steps[s->step];
	double rtt_ps = (double)step->base_rtt_ps, paused_ps = 0, wait_ps;

	for (uint32_t p = 0; p < s->graph->nreached; p++) {
		const struct prov_port *port = &s->graph->ports[p];

		if (is_nic(in, port->port))
			paused_ps = fmax(paused_ps, port->pause_ps);
		else if (port->cf_packets > 0)
			rtt_ps += port->cf_depth / port->cf_packets * frame_ps(in, port->port);
	}
	rtt_ps = step->rtt_mean_ps != 0 ? (double)step->rtt_mean_ps : rtt_ps;
	wait_ps = (double)(step->end_ps - step->start_ps) - paused_ps - (double)step->paced_ps -
		  s->packets * rtt_ps / s->window;
	return fmax(0, wait_ps);
}

static void
put(struct settling *s, const struct budget_claim *claim)
{
	if (claim->most_ps <= 0)
		return;
	if (s->count == s->cap) {
		uint32_t cap = s->cap == 0 ? 16 : 2 * s->cap;
		struct budget_claim *more = realloc(s->claims, cap * sizeof(*more));

		if (more == NULL) {
			s->set->no_memory = true;
			return;
		}
		s->claims = more;
		s->cap = cap;
	}
	s->claims[s->count++] = *claim;
}

static const struct prov_port *
reached_port(const struct prov_graph *graph, uint32_t port)
{
	for (uint32_t p = 0; graph != NULL && p < graph->nreached; p++) {
		if (graph->ports[p].port == port)
			return &graph->ports[p];
	}
	return NULL;
}

static const struct prov_at *
at_of(const struct prov_graph *graph, const struct prov_port *port, uint32_t flow)
{
	for (uint32_t a = port->first_at; a < port->first_at + port->nats; a++) {
		if (graph->flows[graph->ats[a].flow] == flow)
			return &graph->ats[a];
	}
	return NULL;
}

static void
claim_queue(struct settling *s, uint32_t owner, const struct finding *out, const struct prov_port *port)
{
	const struct cause_input *in = s->set->in;
	double ps = frame_ps(in, port->port) * stretch(s, port);

	for (uint32_t f = 0; f < out->nflows; f++) {
		const struct prov_at *at = at_of(s->graph, port, out->flows[f]);
		struct budget_claim claim = { .flow = out->flows[f], .owner = owner, .part = f };

		if (at == NULL)
			continue;
		claim.most_ps = at->taken * ps;
		claim.waited_ps = at->ahead * ps;
		if (cause_is_full(in, s->step, s->graph, port))
			claim.most_ps = claim.waited_ps = at->passed * ps;
		else if (is_nic(in, port->port)) {
			claim.most_ps = fmin(claim.most_ps, s->nic_ps);
			claim.waited_ps = fmin(claim.waited_ps, s->nic_ps);
		} else {
			claim.waited_ps /= s->window;
		}
		put(s, &claim);
	}
}

/*
 * Pauses of a queue that the step's packets go through themselves: they wait before it for what passes it, each culprit
 * for as long as its packets take.
 */
static void
claim_own_pauses(struct settling *s, uint32_t owner, const struct cause_finding *finding, const struct prov_port *root)
{
	double ps = frame_ps(s->set->in, root->port) * stretch(s, root), sum = 0;

	for (uint32_t a = root->first_at; a < root->first_at + root->nats; a++)
		sum += s->graph->ats[a].passed;
	for (uint32_t f = 0; f < finding->out.nflows; f++) {
		const struct prov_at *at = at_of(s->graph, root, finding->out.flows[f]);

		if (at != NULL && sum > 0)
			put(s, &(struct budget_claim){ .flow = finding->out.flows[f],
						       .owner = owner,
						       .part = f,
						       .most_ps = fmin(finding->claimed_ps, at->passed * ps),
						       .waited_ps = finding->claimed_ps * at->passed / sum });
	}
}

static void
claim_time(struct settling *s, uint32_t owner, uint32_t part, double ps)
{
	put(s,
	    &(struct budget_claim){ .flow = BUDGET_NO_FLOW, .owner = owner, .part = part, .most_ps = ps, .waited_ps = ps });
}

/* Pauses of a queue elsewhere: what a culprit's packets took of a queue that the step's met as well was at other times. */
static void
claim_pauses(struct settling *s, uint32_t owner, const struct cause_finding *finding)
{
	double sum = 0;

	for (uint32_t f = 0; f < finding->out.nflows; f++)
		sum += finding->flow_score[f];
	for (uint32_t f = 0; f < finding->out.nflows && sum > 0; f++)
		claim_time(s, owner, f, finding->claimed_ps * finding->flow_score[f] / sum);
	if (sum <= 0)
		claim_time(s, owner, EV_NONE, finding->claimed_ps);
}

/* What was served first took the link's time from all that waited; at several ports the same packets did. */
static void
claim_link(struct settling *s, uint32_t owner, const struct cause_finding *finding)
{
	bool named = finding->out.nflows != 0;

	put(s, &(struct budget_claim){ .flow = named ? finding->out.flows[0] : BUDGET_NO_FLOW,
				       .owner = owner,
				       .part = named ? 0 : EV_NONE,
				       .most_ps = finding->claimed_ps,
				       .waited_ps = finding->claimed_ps });
}

static bool
is_loss(const struct finding *finding)
{
	return merge_is(finding, FINDING_OF_LOSS | FINDING_OF_HOLE);
}

/*
 * What vanished cost the time until its sender noticed, and that of sending it again, and all behind it: on an idle path at
 * the line's rate, among others at the rate that the step had, and between these as one cause of several. Of several losses,
 * each has as much; where the sender does not know when it noticed, they get of what other causes leave.
 */
static void
claim_loss(struct settling *s, uint32_t owner, double ps)
{
	const struct cause_input *in = s->set->in;
	const struct run_step *step = &in->steps[s->step];
	double took_ps = (double)(step->end_ps - step->start_ps), stalled_ps = fmin((double)step->stalled_ps, took_ps);
	double again = step->retransmits;
	double alone_ps = again * frame_ps(in, in->ev->flows[step->flow].src_port);
	double among_ps = again > 0 ? (took_ps - stalled_ps) * again / (again + s->packets) : 0;
	double waited_ps = ps;
	uint32_t count = 0;

	for (uint32_t i = 0; i < s->set->count; i++)
		count += is_loss(&s->set->findings[i].out);
	if (step->stalled_ps != 0 || step->retransmits != 0) {
		waited_ps = (stalled_ps + (alone_ps + fmax(alone_ps, among_ps)) / 2) / count;
		ps = fmin(ps, (stalled_ps + fmax(alone_ps, among_ps)) / count);
	}
	put(s, &(struct budget_claim){ .flow = BUDGET_NO_FLOW,
				       .owner = owner,
				       .part = EV_NONE,
				       .rest = step->stalled_ps == 0 && step->retransmits == 0,
				       .most_ps = ps,
				       .waited_ps = fmin(ps, waited_ps) });
}

static void
claim(struct settling *s, uint32_t owner, double lost_ps)
{
	struct cause_finding *finding = &s->set->findings[owner];
	const struct prov_port *port = reached_port(s->graph, finding->out.root_port);
	bool queue = merge_is(&finding->out, FINDING_OF_QUEUES) && !merge_is(&finding->out, FINDING_OF_PAUSES);
	double ps = fmin(finding->claimed_ps, lost_ps) * (1 - cause_machine_share(s->set->in, s->step, finding));

	if (merge_is(&finding->out, FINDING_OF_LINK))
		claim_link(s, owner, finding);
	else if (queue && port != NULL && finding->out.nflows != 0)
		claim_queue(s, owner, &finding->out, port);
	else if (merge_is(&finding->out, FINDING_FILLED) && port != NULL && port->cf_packets > 0 &&
		 finding->out.nflows != 0)
		claim_own_pauses(s, owner, finding, port);
	else if (merge_is(&finding->out, FINDING_FILLED))
		claim_pauses(s, owner, finding);
	else if (is_loss(&finding->out))
		claim_loss(s, owner, ps);
	else
		claim_time(s, owner, EV_NONE, ps);
}

static void
give(struct cause_finding *finding, const struct budget_claim *claim)
{
	finding->out.explained_ps += claim->share_ps;
	if (claim->part != EV_NONE)
		finding->out.flow_ps[claim->part] += claim->share_ps;
}

void
settle_step(struct cause_set *set, uint32_t step)
{
	const struct cause_input *in = set->in;
	const struct run_step *of = &in->steps[step];
	struct settling s = { .set = set, .step = step, .graph = in->graphs[step] };
	double lost_ps = cause_excess_ps(in, step), frame = in->ev->run.payload_bytes != 0 ? in->ev->run.payload_bytes : 1;

	s.packets = ceil((double)(of->open ? of->acked_bytes : of->bytes) / frame);
	s.window = in->window;
	s.lossy = has_loss(set);
	s.nic_ps = s.graph != NULL ? nic_wait_ps(&s) : 0;
	for (uint32_t i = 0; i < set->count; i++) {
		struct cause_finding *finding = &set->findings[i];

		finding->out.explained_ps = 0;
		if (finding->out.nflows != 0)
			memset(finding->out.flow_ps, 0, finding->out.nflows * sizeof(*finding->out.flow_ps));
		if (merge_is(&finding->out, FINDING_OF_HOST))
			finding->out.explained_ps = (double)run_host_own_ps(of);
		else
			claim(&s, i, lost_ps);
	}
	budget_split(s.claims, s.count, lost_ps);
	for (uint32_t i = 0; i < s.count; i++)
		give(&set->findings[s.claims[i].owner], &s.claims[i]);
	free(s.claims);
}
