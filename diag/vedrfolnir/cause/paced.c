/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/cause/paced.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire/collective.h"
#include "diag/vedrfolnir/cause/merge.h"

/* A culprit of a finding that slowed a queue pair. */
struct carried {
	struct finding want; /* type, root and collective of the finding, its key and evidence */
	uint32_t order, flow;
	double waits;
	bool port;     /* a finding about a port: its flow, where it has one, took no place in the queue */
	bool receiver; /* is_of_receiver() */
};

struct slowed {
	struct carried *carried; /* [count] */
	uint32_t count;
};

struct paced {
	struct slowed *flows; /* [nflows] */
	uint32_t nflows;
};

struct paced *
paced_create(const struct cause_input *in)
{
	struct paced *paced = calloc(1, sizeof(*paced));

	if (paced == NULL)
		return NULL;
	paced->nflows = in->ev->nflows;
	paced->flows = calloc((size_t)paced->nflows + 1, sizeof(*paced->flows));
	if (paced->flows != NULL)
		return paced;
	free(paced);
	return NULL;
}

void
paced_destroy(struct paced *paced)
{
	for (uint32_t f = 0; paced != NULL && f < paced->nflows; f++)
		free(paced->flows[f].carried);
	if (paced != NULL)
		free(paced->flows);
	free(paced);
}

void
paced_forget(struct paced *paced, uint32_t flow)
{
	free(paced->flows[flow].carried);
	paced->flows[flow] = (struct slowed){ 0 };
}

/* A finding about a queue, by flow. */
static bool
is_of_queue(const struct finding *out)
{
	return merge_is(out, FINDING_OF_QUEUES) && !merge_is(out, FINDING_OF_PAUSES | FINDING_OF_LINK) && out->nflows != 0;
}

/* A finding about a slow NIC, by its pauses. */
static bool
is_of_receiver(const struct finding *out)
{
	return merge_is(out, FINDING_OF_SENDER) && out->nports > 1;
}

/* A finding about a port that pauses without a reason. */
static bool
is_of_storm(const struct finding *out)
{
	return is_of_receiver(out) || (merge_is(out, FINDING_OF_PAUSES) && merge_is(out, FINDING_OF_FAULT) &&
				       !merge_is(out, FINDING_OF_CIRCLE) && out->nflows == 0 && out->root_port != EV_NONE);
}

/* A finding about a cable that runs at a lower rate: the step's packets alone queue before it. */
static bool
is_of_slow_link(const struct finding *out)
{
	return out->type == &cause_link_rate.type && out->root_port != EV_NONE;
}

/* A finding about a path that is longer: congestion control that measures delays takes it for a queue. */
static bool
is_of_delay(const struct finding *out)
{
	return out->type == &cause_path_delay.type;
}

/* A finding about frames that a port serves first: others' packets wait before it for them, behind no packet. */
static bool
is_of_class(const struct finding *out)
{
	return merge_is(out, FINDING_OF_LINK) && out->root_port != EV_NONE && out->nflows != 0;
}

static bool
is_of_port(const struct finding *out)
{
	return is_of_storm(out) || is_of_slow_link(out) || is_of_class(out) || is_of_delay(out);
}

static const struct prov_port *
reached(const struct prov_graph *graph, uint32_t port)
{
	for (uint32_t p = 0; graph != NULL && p < graph->nreached; p++)
		if (graph->ports[p].port == port)
			return &graph->ports[p];
	return NULL;
}

/* A switch's queue that grew: a NIC marks nothing. */
static bool
may_mark(const struct cause_input *in, const struct prov_port *port)
{
	return !in->ev->nodes[in->ev->ports[port->port].node].host && cause_has_queue(in, port);
}

double
paced_waits(const struct cause_set *set, uint32_t step, const struct cause_finding *finding, uint32_t culprit)
{
	const struct prov_graph *graph = set->in->graphs[step];
	const struct prov_port *port = reached(graph, finding->out.root_port);
	double waits = finding->carried[culprit];

	if (port == NULL || !may_mark(set->in, port))
		return waits;
	for (uint32_t a = port->first_at; a < port->first_at + port->nats; a++)
		if (graph->flows[graph->ats[a].flow] == finding->out.flows[culprit])
			return waits + graph->ats[a].ahead;
	return waits;
}

double
paced_all_waits(const struct cause_set *set, uint32_t step)
{
	const struct prov_graph *graph = set->in->graphs[step];
	double waits = 0;

	for (uint32_t p = 0; graph != NULL && p < graph->nreached; p++) {
		const struct prov_port *port = &graph->ports[p];

		for (uint32_t a = port->first_at; may_mark(set->in, port) && a < port->first_at + port->nats; a++)
			waits += graph->ats[a].ahead;
	}
	for (uint32_t i = 0; i < set->count; i++)
		for (uint32_t f = 0; is_of_queue(&set->findings[i].out) && f < set->findings[i].out.nflows; f++)
			waits += set->findings[i].carried[f];
	return waits;
}

/* The finding of a carried culprit, in a step that may not have seen it itself. */
static struct cause_finding *
finding_of(struct cause_set *set, uint32_t step, const struct carried *carried)
{
	struct finding want = carried->want;
	struct cause_finding *finding;

	want.collective = set->in->steps[step].collective;
	finding = merge_find(set, &want, want.key);
	if (finding != NULL)
		return finding;
	finding = merge_make(set, &want, want.key, carried->order);
	if (finding == NULL || merge_put(set, &finding->out.steps, &finding->out.nsteps, step) == EV_NONE ||
	    merge_put(set, &finding->out.victims, &finding->out.nvictims, set->in->steps[step].flow) == EV_NONE)
		return NULL;
	if (want.root_port != EV_NONE) /* one of several links: the step before has them */
		cause_port(set, finding, want.root_port);
	if (carried->receiver)
		cause_port(set, finding, set->in->ev->ports[want.root_port].peer);
	cause_time(finding, want.start_ps, want.end_ps);
	finding->out.evidence = want.evidence;
	return finding;
}

void
paced_carry_in(struct cause_set *set, uint32_t step)
{
	const struct slowed *slowed = &set->paced->flows[set->in->steps[step].flow];
	double paced_ps = cause_ledger_ps(set->in, step, LEDGER_PACED), all = paced_all_waits(set, step);

	for (uint32_t i = 0; i < slowed->count; i++)
		all += slowed->carried[i].waits;
	for (uint32_t i = 0; i < slowed->count && paced_ps > 0; i++) {
		const struct carried *carried = &slowed->carried[i];
		struct cause_finding *finding = carried->port && all > 0 ? NULL : finding_of(set, step, carried);

		if (finding != NULL && carried->flow != EV_NONE)
			cause_flow(set, finding, carried->flow, 0);
		if (carried->port) /* paced_by_ports() has its part */
			continue;
		if (finding == NULL)
			return;
		for (uint32_t f = 0; f < finding->out.nflows; f++)
			if (finding->out.flows[f] == carried->flow)
				finding->carried[f] += carried->waits;
		finding->claimed_ps += paced_ps * carried->waits / all;
	}
}

/* Did the step's packets queue at a switch's port that one of them paused? */
static bool
queued_by_pauses(const struct cause_set *set, uint32_t step)
{
	const struct prov_graph *graph = set->in->graphs[step];

	for (uint32_t p = 0; graph != NULL && p < graph->nreached; p++)
		if (graph->ports[p].paused && may_mark(set->in, &graph->ports[p]))
			return true;
	return false;
}

/* Did they queue at the switch's end of this cable? */
static bool
queued_before(const struct cause_set *set, uint32_t step, uint32_t port)
{
	const struct prov_port *ends[2] = { reached(set->in->graphs[step], port),
					    reached(set->in->graphs[step], set->in->ev->ports[port].peer) };

	return (ends[0] != NULL && may_mark(set->in, ends[0])) || (ends[1] != NULL && may_mark(set->in, ends[1]));
}

/*
 * Is the finding about a port at which a queue grew that no flow is to blame for, in the step or in one before it? A slow
 * NIC has one of its own, beside that of the port it pauses, and a longer path is none: both are delays. No queue marks
 * packets for a longer path.
 */
static bool
made_queue(const struct cause_set *set, uint32_t step, const struct cause_finding *finding)
{
	if (is_of_delay(&finding->out))
		return !set->in->paced_by_marks;
	if (is_of_receiver(&finding->out))
		return true;
	if (is_of_storm(&finding->out))
		return finding->claimed_ps <= 0 || queued_by_pauses(set, step);
	if (is_of_slow_link(&finding->out) || is_of_class(&finding->out))
		return finding->claimed_ps <= 0 || queued_before(set, step, finding->out.root_port);
	return false;
}

/* Late ACKs and pacing are all that a longer path costs: what it claims may have a part of the pacing. */
static double
beside_own_ps(const struct cause_set *set, uint32_t step, const struct cause_finding *finding, double paced_ps)
{
	double left_ps = paced_ps + cause_ledger_ps(set->in, step, LEDGER_LATE) - finding->claimed_ps;

	return is_of_delay(&finding->out) ? fmax(0, fmin(paced_ps, left_ps)) : paced_ps;
}

void
paced_by_ports(struct cause_set *set, uint32_t step)
{
	double paced_ps = cause_ledger_ps(set->in, step, LEDGER_PACED);
	uint32_t ports = 0;

	for (uint32_t i = 0; i < set->count; i++)
		ports += made_queue(set, step, &set->findings[i]);
	if (ports == 0 || paced_ps <= 0 || paced_all_waits(set, step) > 0)
		return;
	for (uint32_t i = 0; i < set->count; i++)
		if (made_queue(set, step, &set->findings[i]))
			set->findings[i].paced_ps = beside_own_ps(set, step, &set->findings[i], paced_ps / ports);
}

/* @return how many culprits the step's findings about queues have, and those about ports, of which each is one */
static uint32_t
count_culprits(const struct cause_set *set)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < set->count; i++)
		count += is_of_queue(&set->findings[i].out) ? set->findings[i].out.nflows
							    : is_of_port(&set->findings[i].out);
	return count < PACED_MAX_CARRIED ? count : PACED_MAX_CARRIED;
}

static void
carry(struct slowed *slowed, const struct cause_finding *finding, bool port, uint32_t flow, double waits)
{
	const struct finding *out = &finding->out;
	struct carried *carried = &slowed->carried[slowed->count++];

	*carried = (struct carried){
		.order = finding->order, .flow = flow, .waits = waits, .port = port, .receiver = is_of_receiver(out)
	};
	carried->want.type = out->type;
	carried->want.key = out->key;
	carried->want.root_port = out->root_port;
	carried->want.start_ps = out->start_ps;
	carried->want.end_ps = out->end_ps;
	carried->want.evidence = out->evidence;
	memcpy(carried->want.root, out->root, sizeof(out->root));
}

/*
 * Marks of a queue at a step's end slow its next step alone: what made a queue is carried on, too, where congestion control
 * did not hold this step back. What slowed steps before it then does not any more.
 */
void
paced_carry_out(struct cause_set *set, uint32_t step)
{
	struct slowed *slowed = &set->paced->flows[set->in->steps[step].flow];
	bool held = cause_ledger_ps(set->in, step, LEDGER_PACED) > 0;
	uint32_t count = count_culprits(set);

	paced_forget(set->paced, set->in->steps[step].flow);
	/* a generator's queue pair begins each of its flows anew */
	if (count == 0 ||
	    EV_AT(set->in->ev->collectives, struct rec_collective, set->in->steps[step].collective)->op == COLL_FLOWS)
		return;
	slowed->carried = calloc(count, sizeof(*slowed->carried));
	set->no_memory |= slowed->carried == NULL;
	for (uint32_t i = 0; i < set->count && slowed->carried != NULL; i++) {
		const struct cause_finding *finding = &set->findings[i];
		bool claims = finding->claimed_ps > 0 && made_queue(set, step, finding);
		bool port = held ? finding->paced_ps > 0 || (claims && is_of_delay(&finding->out)) : claims;

		for (uint32_t f = 0; is_of_queue(&finding->out) && f < finding->out.nflows && slowed->count < count; f++) {
			double waits = paced_waits(set, step, finding, f) - (held ? 0 : finding->carried[f]);

			if (held || waits > 0)
				carry(slowed, finding, false, finding->out.flows[f], waits);
		}
		if (port && slowed->count < count)
			carry(slowed, finding, true, is_of_class(&finding->out) ? finding->out.flows[0] : EV_NONE, 0);
	}
}

double
paced_behind_ps(const struct cause_input *in, uint32_t step, const struct prov_graph *graph, const struct prov_port *port,
		const struct prov_at *other)
{
	const struct ev_port *of = &in->ev->ports[port->port];
	double waits = 0, passed = 0, frames_ps = other->passed * in->ev->run.frame_bytes * 8e12 / (double)of->rate_bps;

	if (in->ev->flows[in->steps[step].flow].src_port != port->port)
		return 0;
	for (uint32_t a = port->first_at; a < port->first_at + port->nats; a++) {
		waits += graph->ats[a].cf_wait;
		passed += graph->ats[a].passed;
	}
	return waits > 0 || passed <= 0
		       ? 0
		       : fmin(frames_ps, cause_ledger_ps(in, step, LEDGER_BEHIND) * other->passed / passed);
}
