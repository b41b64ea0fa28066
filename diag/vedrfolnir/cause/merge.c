/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/cause/merge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/minmax.h"
#include "diag/run/lateness.h"
#include "diag/vedrfolnir/cause/cause.h"
#include "diag/vedrfolnir/cause/drops.h"
#include "diag/vedrfolnir/cause/paced.h"
#include "diag/vedrfolnir/rating/rating.h"

/*
 * Claims. A culprit in a queue claims at most the time that its packets took on the port's link while they were ahead
 * of the step's; pauses claim the paused time, by culprit where they have some. The step's wait for each weighs them. A
 * step keeps a window of packets in flight, so the wait of one packet holds up the others: the waits of all, summed and
 * divided by the window, are the step's (Little's law). Packets that wait for the NIC are not in flight, and the NIC
 * serves flows in turn: the part of the window that is not in the network waits there. On the link for which a sender
 * was held back no packet need wait: the step lost the time of the packets that passed it beside its own.
 */

static struct cause_finding *merge_queue_of(struct cause_set *set, const struct cause_finding *finding);

struct settling {
	struct cause_set *set;
	uint32_t step;
	const struct prov_graph *graph;
	double window;  /* packets that a flow may have in flight */
	double packets; /* of the step, up to its end or the run's */
	bool lossy;     /* some of them were lost */
	double nic_ps;  /* how long its packets waited for the NIC at most */
	/* how long congestion control held it back, and the packet-waits behind others that made it do so */
	double paced_ps, paced_waits;
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
 * Rows may show a part of the step's packets alone: the delays of these stand for those of the others. Of a step that
 * lost packets, those that a port did not report need not have crossed it, or not at the same pace: its reports stand
 * for the time without reports, and no more.
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
 * Time that the step waited for other frames of its NIC: the ledger's. Without a ledger, what its window waited there, by
 * its packets' delays: the gaps of congestion control, and longer round trips of any cause, are the network's.
 */
static double
nic_wait_ps(const struct settling *s)
{
	const struct cause_input *in = s->set->in;
	const struct run_step *step = &in->steps[s->step];
	double rtt_ps = (double)step->base_rtt_ps, paused_ps = 0;

	if (evidence_has_ledger(in->ev, s->step))
		return (double)evidence_ledger_ps(in->ev, s->step, LEDGER_BEHIND);
	for (uint32_t p = 0; p < s->graph->nreached; p++) {
		const struct prov_port *port = &s->graph->ports[p];

		if (is_nic(in, port->port))
			paused_ps = fmax(paused_ps, port->pause_ps);
		else if (port->cf_packets > 0)
			rtt_ps += port->cf_depth / port->cf_packets * frame_ps(in, port->port);
	}
	rtt_ps = step->rtt_mean_ps != 0 ? (double)step->rtt_mean_ps : rtt_ps;
	return fmax(0, (double)(step->end_ps - step->start_ps) - paused_ps -
			       (double)evidence_ledger_ps(in->ev, s->step, LEDGER_PACED) - s->packets * rtt_ps / s->window);
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

/*
 * Time in which congestion control held the sender back, and time in which packets waited in a queue, are different times
 * of the step: a culprit claims its part of both.
 */
static void
claim_paced(const struct settling *s, struct budget_claim *claim, const struct cause_finding *finding)
{
	double waits = s->paced_waits > 0 ? paced_waits(s->set, s->step, finding, claim->part) : 0;

	if (waits <= 0)
		return;
	claim->most_ps += s->paced_ps * waits / s->paced_waits;
	claim->waited_ps += s->paced_ps * waits / s->paced_waits;
}

static void
claim_at(const struct settling *s, struct budget_claim *claim, const struct prov_port *port, const struct prov_at *at)
{
	const struct cause_input *in = s->set->in;
	double ps = frame_ps(in, port->port) * stretch(s, port), most_ps = is_nic(in, port->port) ? s->nic_ps : INFINITY;
	double unseen_ps = paced_behind_ps(in, s->step, s->graph, port, at);

	claim->most_ps = fmin(most_ps, fmax(at->taken * ps, unseen_ps));
	claim->waited_ps = fmin(most_ps, fmax(at->ahead * ps / (is_nic(in, port->port) ? 1 : s->window), unseen_ps));
}

/* @param port  NULL: the step did not see it, and carries the finding from steps before */
static void
claim_queue(struct settling *s, uint32_t owner, const struct prov_port *port)
{
	const struct cause_finding *finding = &s->set->findings[owner];
	bool full = port != NULL && cause_is_full(s->set->in, s->step, s->graph, port);

	for (uint32_t f = 0; f < finding->out.nflows; f++) {
		const struct prov_at *at = port != NULL ? at_of(s->graph, port, finding->out.flows[f]) : NULL;
		struct budget_claim claim = { .flow = finding->out.flows[f], .owner = owner, .part = f };

		if (at != NULL && full)
			claim.most_ps = claim.waited_ps = at->passed * frame_ps(s->set->in, port->port) * stretch(s, port);
		else if (at != NULL)
			claim_at(s, &claim, port, at);
		if (!full)
			claim_paced(s, &claim, finding);
		put(s, &claim);
	}
}

/*
 * Pauses of a queue that the step's packets go through themselves: they wait before it for the packets that pass it,
 * each culprit for as long as its packets take.
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

/* Pauses of a queue elsewhere. If a culprit delayed the step's packets in a queue too, it did so at other times. */
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

/*
 * Frames that were served first took the link's time from all that waited; at several ports they were the same packets.
 */
static void
claim_link(struct settling *s, uint32_t owner, const struct cause_finding *finding)
{
	bool named = finding->out.nflows != 0;

	put(s, &(struct budget_claim){ .flow = named ? finding->out.flows[0] : BUDGET_NO_FLOW,
				       .owner = owner,
				       .part = named ? 0 : EV_NONE,
				       .most_ps = finding->claimed_ps + finding->paced_ps,
				       .waited_ps = finding->claimed_ps + finding->paced_ps });
}

static bool
is_loss(const struct finding *finding)
{
	return merge_is(finding, FINDING_OF_LOSS | FINDING_OF_HOLE);
}

/* By culprit where there are some: each filled the queue that dropped them with its packets. */
static void
put_loss(struct settling *s, uint32_t owner, const struct budget_claim *loss)
{
	const struct cause_finding *finding = &s->set->findings[owner];
	double sum = 0;

	for (uint32_t f = 0; f < finding->out.nflows; f++)
		sum += finding->flow_score[f];
	for (uint32_t f = 0; f < finding->out.nflows && sum > 0; f++) {
		struct budget_claim claim = *loss;

		claim.part = f;
		claim.most_ps *= finding->flow_score[f] / sum;
		claim.waited_ps *= finding->flow_score[f] / sum;
		put(s, &claim);
	}
	if (sum <= 0)
		put(s, loss);
}

/*
 * Vanished packets cost the time until their sender noticed, and that of sending them again, and all behind them: on an
 * idle path at the line's rate, among others at the rate that the step had, and between these as one cause of several.
 * Of several losses, each costs as much; where the time of the sender's notice is unknown, they get the time that other
 * causes leave.
 */
static void
claim_loss(struct settling *s, uint32_t owner, double ps)
{
	const struct cause_input *in = s->set->in;
	const struct run_step *step = &in->steps[s->step];
	double one_ps = frame_ps(in, in->ev->flows[step->flow].src_port);
	uint64_t stood_ps = passage_stood_still_ps(in, s->step, one_ps) +
			    passage_stopped_ps(in, s->step, s->set->findings[owner].out.root_port);
	double took_ps = (double)(step->end_ps - step->start_ps), stalled_ps = fmin((double)stood_ps, took_ps);
	double again = step->retransmits;
	double alone_ps = again * one_ps;
	double among_ps = again > 0 ? (took_ps - stalled_ps) * again / (again + s->packets) : 0;
	double waited_ps = ps;
	uint32_t count = 0;

	for (uint32_t i = 0; i < s->set->count; i++)
		count += is_loss(&s->set->findings[i].out);
	if (stood_ps != 0 || step->retransmits != 0) {
		waited_ps = (stalled_ps + (alone_ps + fmax(alone_ps, among_ps)) / 2) / count;
		ps = fmin(ps, (stalled_ps + fmax(alone_ps, among_ps)) / count);
	}
	put_loss(s, owner,
		 &(struct budget_claim){ .flow = BUDGET_NO_FLOW,
					 .owner = owner,
					 .part = EV_NONE,
					 .rest = stood_ps == 0 && step->retransmits == 0,
					 .most_ps = ps,
					 .waited_ps = fmin(ps, waited_ps) });
}

/* A sender is held back by pauses beside the time that it is paused; by a slow cable while its frames take longer there. */
static double
own_and_paced_ps(const struct cause_finding *finding, double ps)
{
	return merge_is(&finding->out, FINDING_OF_STATE) ? fmax(ps, finding->paced_ps) : ps + finding->paced_ps;
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
	else if (queue && (port != NULL || s->paced_waits > 0) && finding->out.nflows != 0)
		claim_queue(s, owner, port);
	else if (merge_is(&finding->out, FINDING_FILLED) && port != NULL && port->cf_packets > 0 &&
		 finding->out.nflows != 0)
		claim_own_pauses(s, owner, finding, port);
	else if (merge_is(&finding->out, FINDING_FILLED) || (queue && finding->out.nflows != 0))
		claim_pauses(s, owner, finding);
	else if (is_loss(&finding->out))
		claim_loss(s, owner, ps);
	else
		claim_time(s, owner, EV_NONE, fmin(own_and_paced_ps(finding, ps), lost_ps));
}

/* What is not measured apart from other findings' time: as far as these leave it. */
static void
claim_rest(struct settling *s, uint32_t owner)
{
	const struct cause_finding *finding = &s->set->findings[owner];
	double ps = finding->late_ps - finding->claimed_ps;

	put(s, &(struct budget_claim){ .flow = BUDGET_NO_FLOW,
				       .owner = owner,
				       .part = EV_NONE,
				       .rest = true,
				       .most_ps = ps,
				       .waited_ps = ps });
}

static void
give(struct cause_finding *finding, const struct budget_claim *claim)
{
	finding->out.explained_ps += claim->share_ps;
	if (claim->part != EV_NONE)
		finding->out.flow_ps[claim->part] += claim->share_ps;
}

/*
 * Sets the part of the step's lost time that each finding of its set explains, and each of its culprits: disjoint, and
 * in sum at most that. Late hosts have their lateness.
 */
static void
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
	for (uint32_t i = 0; i < set->count; i++)
		lost_ps -= fmin(lost_ps, cause_own_cable_ps(in, step, &set->findings[i], s.packets));
	s.paced_ps = fmin(cause_ledger_ps(in, step, LEDGER_PACED), lost_ps);
	s.paced_waits = s.paced_ps > 0 ? paced_all_waits(set, step) : 0;
	for (uint32_t i = 0; i < set->count; i++) {
		struct cause_finding *finding = &set->findings[i];

		finding->out.explained_ps = cause_own_cable_ps(in, step, finding, s.packets);
		if (finding->out.nflows != 0)
			memset(finding->out.flow_ps, 0, finding->out.nflows * sizeof(*finding->out.flow_ps));
		if (merge_is(&finding->out, FINDING_OF_HOST) && !merge_is(&finding->out, FINDING_OF_SENDER))
			finding->out.explained_ps = (double)run_host_own_ps(in->run, of);
		else if (finding->out.explained_ps <= 0)
			claim(&s, i, lost_ps);
		claim_rest(&s, i);
	}
	budget_split(s.claims, s.count, lost_ps);
	for (uint32_t i = 0; i < s.count; i++)
		give(&set->findings[s.claims[i].owner], &s.claims[i]);
	free(s.claims);
}

static void
free_finding(struct cause_finding *finding)
{
	free(finding->out.ports);
	free(finding->out.flows);
	free(finding->out.flow_ps);
	free(finding->out.victims);
	free(finding->out.steps);
	free(finding->out.claims);
	free(finding->flow_score);
	free(finding->carried);
}

/* The link that leads to a finding in its bucket. */
static uint32_t *
link_to(struct cause_set *set, uint32_t i)
{
	uint32_t *link = merge_bucket(set, &set->findings[i].out, set->findings[i].out.key);

	while (*link != i)
		link = &set->findings[*link].next;
	return link;
}

/* The last one takes its place. */
static void
merge_remove(struct cause_set *set, uint32_t i)
{
	uint32_t last = set->count - 1;

	if (set->buckets != NULL) {
		*link_to(set, i) = set->findings[i].next;
		if (last != i)
			*link_to(set, last) = i;
	}
	free_finding(&set->findings[i]);
	set->findings[i] = set->findings[last];
	set->count--;
}

void
merge_free(struct cause_set *set)
{
	for (uint32_t i = 0; i < set->count; i++)
		free_finding(&set->findings[i]);
	free(set->findings);
	free(set->buckets);
	set->buckets = NULL;
	set->findings = NULL;
	set->count = set->cap = 0;
}

/* Adds claims to those of a finding. */
static void
put_claims(struct cause_set *set, struct finding *to, const struct finding_claim *claims, uint32_t count)
{
	struct finding_claim *grown;

	if (count == 0)
		return;
	grown = realloc(to->claims, ((size_t)to->nclaims + count) * sizeof(*grown));
	if (grown == NULL) {
		set->no_memory = true;
		return;
	}
	memcpy(grown + to->nclaims, claims, count * sizeof(*claims));
	to->claims = grown;
	to->nclaims += count;
}

/* Adds the time that one finding explains to another. */
static void
merge_take_claims(struct cause_set *set, struct finding *to, const struct finding *from)
{
	put_claims(set, to, from->claims, from->nclaims);
	to->explained_ps += from->explained_ps;
}

static void
take_trust(struct cause_finding *into, const struct cause_finding *from)
{
	for (int critical = 0; critical < 2; critical++) {
		into->trust[critical].machine_ps += from->trust[critical].machine_ps;
		into->trust[critical].of_ps += from->trust[critical].of_ps;
		into->trust[critical].borne_ps += from->trust[critical].borne_ps;
		into->trust[critical].sure_ps += from->trust[critical].sure_ps;
	}
}

/* The pauses of a queue are part of it: their ports join it, and their time. */
static void
fold_pauses(struct cause_set *set, struct cause_finding *queue, struct cause_finding *pauses)
{
	uint32_t *ports = queue->out.ports, nports = queue->out.nports;

	merge_take_claims(set, &queue->out, &pauses->out);
	take_trust(queue, pauses);

	for (uint32_t i = 0; i < nports; i++)
		cause_port(set, pauses, ports[i]);
	queue->out.ports = pauses->out.ports;
	queue->out.nports = pauses->out.nports;
	pauses->out.ports = ports;
	pauses->out.nports = nports;
}

/*
 * Retransmissions that no port counted a loss for, of a flow that stood still most of the lost time: timeouts.
 * @param paused_ps  the most that a finding about pauses claims
 */
static bool
is_timeout(const struct finding *out, double paused_ps, double excess_ps)
{
	return merge_is(out, FINDING_OF_LOSS) && out->root_port == EV_NONE && paused_ps > CAUSE_LOSS_LEFT * excess_ps;
}

static bool
is_too_little(const struct cause_input *in, uint32_t step, double explained_ps)
{
	return explained_ps < CAUSE_MIN_EXPLAINED * cause_excess_ps(in, step) &&
	       (in->steps[step].open || explained_ps < CAUSE_SLOWS_ALONE * (double)in->steps[step].expect_ps);
}

/* The most that a finding about pauses claims. */
static double
most_paused_ps(const struct cause_set *set)
{
	double paused_ps = 0;

	for (uint32_t i = 0; i < set->count; i++) {
		if (merge_is(&set->findings[i].out, FINDING_OF_PAUSES) && set->findings[i].claimed_ps > paused_ps)
			paused_ps = set->findings[i].claimed_ps;
	}
	return paused_ps;
}

/* The results of one step. */
static void
note_claims(struct cause_set *set, struct finding *out, uint32_t step)
{
	double rest_ps = out->explained_ps;

	for (uint32_t f = 0; f < out->nflows; f++) {
		if (out->flow_ps[f] > 0)
			put_claims(set, out, &(struct finding_claim){ step, out->flows[f], out->flow_ps[f] }, 1);
		rest_ps -= out->flow_ps[f];
		out->flow_ps[f] = 0;
	}
	if (rest_ps > 1) /* not for want of digits */
		put_claims(set, out, &(struct finding_claim){ step, RUN_NONE, rest_ps }, 1);
}

static bool
share_port(const struct finding *a, const struct finding *b)
{
	for (uint32_t i = 0; i < a->nports; i++) {
		for (uint32_t j = 0; j < b->nports; j++) {
			if (a->ports[i] == b->ports[j])
				return true;
		}
	}
	return false;
}

static bool
share_node(const struct evidence *ev, const struct finding *a, const struct finding *b)
{
	for (uint32_t i = 0; i < a->nports; i++) {
		for (uint32_t j = 0; j < b->nports; j++) {
			if (ev->ports[a->ports[i]].node == ev->ports[b->ports[j]].node)
				return true;
		}
	}
	return false;
}

/*
 * Is there, on the path of a finding inferred for lack of a cause, another one that can make round trips longer? A loop
 * turns packets away from the path's ports: its switches put it on the path.
 */
static bool
is_explained(const struct cause_set *all, const struct finding *inferred)
{
	for (uint32_t i = 0; i < all->count && merge_is(inferred, FINDING_BY_DEFAULT); i++) {
		const struct finding *other = &all->findings[i].out;

		if (other->start_ps > inferred->end_ps || inferred->start_ps > other->end_ps)
			continue;
		if ((merge_is(other, FINDING_OF_HOLE) && share_port(other, inferred)) ||
		    (merge_is(other, FINDING_OF_LOOP) && share_node(all->in->ev, other, inferred)))
			return true;
	}
	return false;
}

/* Drops what was inferred for lack of a cause, where there is one. */
static void
drop_explained(struct cause_set *set)
{
	for (uint32_t i = set->count; i-- > 0;)
		if (is_explained(set, &set->findings[i].out))
			merge_remove(set, i);
}

void
merge_settle(struct cause_set *set, uint32_t step)
{
	double excess_ps = cause_excess_ps(set->in, step), paused_ps = most_paused_ps(set);
	uint32_t before;

	drop_explained(set);
	before = set->count;
	settle_step(set, step);
	for (uint32_t i = set->count; i-- > 0;) {
		const struct finding *out = &set->findings[i].out;

		if ((merge_is(out, FINDING_OF_QUEUES) && is_too_little(set->in, step, out->explained_ps)) ||
		    is_timeout(out, paused_ps, excess_ps) || cause_machine_share(set->in, step, &set->findings[i]) >= 1)
			merge_remove(set, i);
	}
	if (set->count < before) /* those that stay have more */
		settle_step(set, step);
	for (uint32_t i = 0; i < set->count; i++)
		note_claims(set, &set->findings[i].out, step);
	confidence_step(set, step);
	for (uint32_t i = set->count; i-- > 0;) {
		struct cause_finding *queue = merge_queue_of(set, &set->findings[i]);

		if (queue == NULL)
			continue;
		fold_pauses(set, queue, &set->findings[i]);
		merge_remove(set, i);
	}
}

/* Are all culprits flows of the collective? */
static bool
is_own(const struct cause_set *set, const struct finding *out)
{
	for (uint32_t i = 0; i < out->nflows; i++) {
		if (!set->in->ev->flows[out->flows[i]].collective)
			return false;
	}
	return out->nflows != 0;
}

/* Does the queue have all the culprits of these pauses? */
static bool
has_culprits(const struct cause_finding *queue, const struct finding *pauses)
{
	bool all = true;

	for (uint32_t i = 0; i < pauses->nflows && all; i++) {
		all = false;
		for (uint32_t j = 0; j < queue->out.nflows && !all; j++)
			all = queue->out.flows[j] == pauses->flows[i];
	}
	return all;
}

/* The finding about this queue by the first cause with the trait. @return NULL: there is none */
static struct cause_finding *
find_queue(struct cause_set *set, const struct cause_finding *pauses, enum finding_trait trait)
{
	struct finding want = pauses->out;
	struct cause_finding *queue = NULL;

	for (uint32_t c = 0; c < set->in->ncauses && queue == NULL; c++) {
		want.type = &set->in->causes[c]->type;
		if (merge_is(&want, trait))
			queue = merge_find(set, &want, pauses->out.key);
	}
	return queue;
}

/*
 * The incast whose queue causes these pauses, or the load imbalance, if flows of the collective alone fill it.
 * @return NULL: there is none, it has not all the culprits of the pauses, or the finding is not of pauses
 */
static struct cause_finding *
merge_queue_of(struct cause_set *set, const struct cause_finding *finding)
{
	struct cause_finding *queue;

	if (!merge_is(&finding->out, FINDING_FILLED))
		return NULL;
	queue = find_queue(set, finding, FINDING_HAS_PAUSES);
	if (queue == NULL && is_own(set, &finding->out))
		queue = find_queue(set, finding, FINDING_HAS_OWN_PAUSES);
	return queue != NULL && has_culprits(queue, &finding->out) ? queue : NULL;
}

/* Is this step a better witness than the one that the evidence is about? */
static bool
explains_more(const struct cause_set *all, const struct cause_finding *into, const struct cause_finding *from,
	      uint32_t step)
{
	bool critical = all->in->own[step].critical;

	if (into->best_step == EV_NONE)
		return true;
	if (critical != all->in->own[into->best_step].critical)
		return critical;
	return from->best > into->best;
}

/* Adds steps, ports, culprits and amounts of one finding to another; the evidence stays. */
static void
merge_take(struct cause_set *all, struct cause_finding *into, const struct cause_finding *from)
{
	for (uint32_t i = 0; i < from->out.nsteps; i++)
		merge_put(all, &into->out.steps, &into->out.nsteps, from->out.steps[i]);
	for (uint32_t i = 0; i < from->out.nvictims; i++)
		merge_put(all, &into->out.victims, &into->out.nvictims, from->out.victims[i]);
	for (uint32_t i = 0; i < from->out.nports; i++)
		cause_port(all, into, from->out.ports[i]);
	for (uint32_t i = 0; i < from->out.nflows; i++)
		cause_flow(all, into, from->out.flows[i], from->flow_score[i]);
	merge_take_claims(all, &into->out, &from->out);
	take_trust(into, from);
	if (into->out.origin_port == EV_NONE)
		into->out.origin_port = from->out.origin_port;
	cause_time(into, from->out.start_ps, from->out.end_ps);
	into->out.score += from->out.score;
}

void
merge_into(struct cause_set *all, const struct cause_finding *finding, uint32_t step)
{
	struct cause_finding *into = merge_find(all, &finding->out, finding->out.key);

	if (into == NULL)
		into = merge_make(all, &finding->out, finding->out.key, finding->order);
	if (into == NULL)
		return;
	merge_take(all, into, finding);
	if (!explains_more(all, into, finding, step))
		return;
	into->best = finding->best;
	into->best_step = step;
	into->out.evidence = finding->out.evidence;
}

void
merge_sort_flows(struct cause_finding *finding)
{
	/* Insertion sort: few flows. */
	for (uint32_t i = 1; i < finding->out.nflows; i++) {
		uint32_t flow = finding->out.flows[i];
		double score = finding->flow_score[i];
		uint32_t j = i;

		for (; j > 0 && (finding->flow_score[j - 1] < score ||
				 (finding->flow_score[j - 1] == score && finding->out.flows[j - 1] > flow));
		     j--) {
			finding->out.flows[j] = finding->out.flows[j - 1];
			finding->flow_score[j] = finding->flow_score[j - 1];
		}
		finding->out.flows[j] = flow;
		finding->flow_score[j] = score;
	}
}

/*
 * One root, one finding. The queue of an incast with a flow of the collective in it is also what pauses others from
 * there, and so is that of load imbalance. Loss that only retransmissions show is the work of a hole on the path of the
 * data or of the ACKs, if one was found. A loop of packets explains the deadlock in it, the packets with expired TTL
 * behind it, and those that are missing at its switches. A finding that was inferred for lack of another cause is
 * dropped where packets stood still, looped or vanished on the path.
 */

/* Both findings stay; the loop has the deadlock's victims, weight and time, and precedes it. */
static void
credit_loop(struct cause_set *all, struct finding *loop, struct finding *circle)
{
	if (!merge_is(circle, FINDING_OF_CIRCLE) || circle->collective != loop->collective || !share_port(loop, circle))
		return;
	for (uint32_t s = 0; s < circle->nsteps; s++)
		merge_put(all, &loop->steps, &loop->nsteps, circle->steps[s]);
	for (uint32_t v = 0; v < circle->nvictims; v++)
		merge_put(all, &loop->victims, &loop->nvictims, circle->victims[v]);
	merge_take_claims(all, loop, circle);
	circle->explained_ps = 0;
	circle->nclaims = 0;
	if (circle->score > loop->score)
		loop->score = circle->score;
}

/* Is a finding's root, or for a blackhole its node, on the configured path of a flow or of its ACKs? */
static bool
is_on_path(const struct evidence *ev, const struct finding *hole, uint32_t flow)
{
	const struct ev_flow *f = &ev->flows[flow];
	const struct ev_port *root = &ev->ports[hole->root_port];

	for (uint32_t h = 0; h < f->nhops + f->nback; h++) {
		uint32_t port = ev->hops[f->first_hop + h];

		if (port == hole->root_port || port == root->peer ||
		    (merge_is(hole, FINDING_OF_NODE) && ev->ports[port].node == root->node))
			return true;
	}
	return false;
}

/* The hole that explains a loss without a drop counter, or one of no place. @return NULL: there is none */
static struct cause_finding *
find_hole(struct cause_set *all, const struct finding *loss)
{
	for (uint32_t i = 0; i < all->count && is_loss(loss) && loss->root_port == EV_NONE; i++) {
		const struct finding *hole = &all->findings[i].out;

		if (merge_is(hole, FINDING_OF_HOLE) && hole->root_port != EV_NONE && hole->collective == loss->collective &&
		    hole->start_ps <= loss->end_ps && loss->start_ps <= hole->end_ps &&
		    is_on_path(all->in->ev, hole, loss->victims[0]))
			return &all->findings[i];
	}
	return NULL;
}

/*
 * Is the switch, where packets are missing, one that the loop goes through? Packets that arrived there loop, or stand,
 * or their TTL expired, and have not vanished.
 */
static bool
is_in_loop(const struct evidence *ev, const struct finding *loop, const struct finding *hole)
{
	uint32_t node = hole->root_port != EV_NONE ? ev->ports[hole->root_port].node : EV_NONE;

	for (uint32_t i = 0; i < loop->nports && merge_is(hole, FINDING_OF_HOLE | FINDING_OF_LOSS); i++) {
		const struct ev_port *port = &ev->ports[loop->ports[i]];

		if (port->node == node || port->peer_node == node)
			return true;
	}
	return false;
}

/*
 * The loop, seen itself, that packets left whose TTL expired anywhere, or that has the missing ones.
 * @return NULL: there is none
 */
static struct cause_finding *
find_loop(struct cause_set *all, const struct cause_finding *drops)
{
	bool old_age = merge_is(&drops->out, FINDING_OF_LOOP) && drops->out.key == DROPS_OF_OLD_AGE;

	for (uint32_t i = 0; i < all->count; i++) {
		const struct cause_finding *loop = &all->findings[i];

		if (merge_is(&loop->out, FINDING_OF_LOOP) && loop->out.key != DROPS_OF_OLD_AGE &&
		    loop->out.collective == drops->out.collective && loop->out.start_ps <= drops->out.end_ps &&
		    (old_age || is_in_loop(all->in->ev, &loop->out, &drops->out)))
			return &all->findings[i];
	}
	return NULL;
}

/* Do all flows that a finding delays begin or end at a port? */
static bool
are_of_port(const struct evidence *ev, const struct finding *finding, uint32_t port)
{
	for (uint32_t i = 0; i < finding->nvictims; i++) {
		const struct ev_flow *flow = &ev->flows[finding->victims[i]];

		if (flow->src_port != port && flow->dst_port != port)
			return false;
	}
	return finding->nvictims != 0;
}

/* Pauses without a reason that this port makes itself. */
static bool
is_storm_of(const struct finding *finding, uint32_t port)
{
	return merge_is(finding, FINDING_OF_PAUSES) && merge_is(finding, FINDING_OF_FAULT) &&
	       !merge_is(finding, FINDING_OF_CIRCLE) && finding->nflows == 0 && finding->root_port == port;
}

/*
 * The NIC, stopped, or slow as its own sender shows, that makes round trips long, or pauses its switch: its frames take
 * longer to leave, and what it receives waits for the same DMA, where it pauses its peer when its buffer is full.
 */
static struct cause_finding *
find_nic(struct cause_set *all, const struct finding *effect)
{
	for (uint32_t i = 0; i < all->count; i++) {
		const struct finding *nic = &all->findings[i].out;

		if (nic->root_port != EV_NONE && nic->collective == effect->collective &&
		    (merge_is(nic, FINDING_OF_SENDER) ||
		     (merge_is(nic, FINDING_OF_NODE) && is_nic(all->in, nic->root_port))) &&
		    (is_storm_of(effect, nic->root_port) ||
		     (merge_is(effect, FINDING_BY_DEFAULT) && are_of_port(all->in->ev, effect, nic->root_port))))
			return &all->findings[i];
	}
	return NULL;
}

/* The NIC that stopped, or its host: its switch has none of what it was to send meanwhile. @return NULL: there is none */
static struct cause_finding *
find_stopped(struct cause_set *all, const struct finding *effect)
{
	const struct ev_port *ports = all->in->ev->ports;
	uint32_t port = effect->root_port;
	uint32_t peer = port != EV_NONE && merge_is(effect, FINDING_OF_HOLE) ? ports[port].peer : EV_NONE;

	for (uint32_t i = 0; i < all->count && port != EV_NONE; i++) {
		const struct finding *nic = &all->findings[i].out;

		if (nic != effect && merge_is(nic, FINDING_OF_NODE) && nic->root_port != EV_NONE &&
		    is_nic(all->in, nic->root_port) && nic->collective == effect->collective &&
		    nic->start_ps <= effect->end_ps && effect->start_ps <= nic->end_ps &&
		    (nic->root_port == peer || (nic->root_port == port && merge_is(effect, FINDING_OF_SENDER))))
			return &all->findings[i];
	}
	return NULL;
}

/* Do all flows that a finding delays, and all that delay them, end at this host? */
static bool
is_all_to(const struct evidence *ev, const struct finding *finding, uint32_t host)
{
	for (uint32_t i = 0; i < finding->nvictims; i++)
		if (ev->flows[finding->victims[i]].dst != host)
			return false;
	for (uint32_t i = 0; i < finding->nflows; i++)
		if (ev->flows[finding->flows[i]].dst != host)
			return false;
	return host != EV_NONE && finding->nvictims != 0 && finding->nflows != 0;
}

/*
 * The incast at the last hop of flows that contend before it already: they share the last link too, and where that is no
 * faster, flows that had not waited before would wait there.
 * @return NULL: there is none
 */
static struct cause_finding *
find_last_hop(struct cause_set *all, const struct finding *before)
{
	const struct evidence *ev = all->in->ev;

	if (!merge_is(before, FINDING_OF_QUEUES) || before->root_port == EV_NONE ||
	    merge_is(before, FINDING_OF_LINK | FINDING_HAS_OWN_PAUSES | FINDING_OF_FAULT))
		return NULL;
	for (uint32_t i = 0; i < all->count; i++) {
		const struct finding *last = &all->findings[i].out;

		if (last != before && merge_is(last, FINDING_HAS_PAUSES) && last->collective == before->collective &&
		    last->start_ps <= before->end_ps && before->start_ps <= last->end_ps &&
		    ev->ports[before->root_port].rate_bps >= ev->ports[last->root_port].rate_bps &&
		    is_all_to(ev, before, ev->ports[last->root_port].peer_node))
			return &all->findings[i];
	}
	return NULL;
}

void
merge_roots(struct cause_set *all)
{
	for (uint32_t i = all->count; i-- > 0;) {
		struct cause_finding *root = merge_queue_of(all, &all->findings[i]);
		uint32_t same;

		if (root == NULL)
			root = find_hole(all, &all->findings[i].out);
		if (root == NULL)
			root = find_loop(all, &all->findings[i]);
		if (root == NULL)
			root = find_stopped(all, &all->findings[i].out);
		same = root == NULL ? blackhole_same(all, i) : EV_NONE;
		if (same != EV_NONE)
			root = &all->findings[same];
		if (root == NULL)
			root = find_nic(all, &all->findings[i].out);
		if (root == NULL)
			root = find_last_hop(all, &all->findings[i].out);
		if (root == NULL)
			continue;
		/*
		 * The ports of a loss are its whole path: they are no evidence about the hole. Nor are expired TTLs
		 * about the loop, nor ports before the last hop about the queue there.
		 */
		if (!merge_is(&all->findings[i].out, FINDING_FILLED) && same == EV_NONE)
			all->findings[i].out.nports = 0;
		merge_take(all, root, &all->findings[i]);
		merge_remove(all, i);
	}
	drop_explained(all);
	for (uint32_t i = 0; i < all->count; i++) {
		for (uint32_t j = 0; j < all->count && merge_is(&all->findings[i].out, FINDING_OF_LOOP); j++)
			credit_loop(all, &all->findings[i].out, &all->findings[j].out);
	}
}
