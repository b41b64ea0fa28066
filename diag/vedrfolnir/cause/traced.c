/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads of switches' ports without their telemetry: FlowTracer's questions show which flows leave by a port, and hosts'
 * reports of steps how much these sent. A step's bytes count as spread evenly over its time.
 */
#include "diag/vedrfolnir/cause/cause.h"

#include <stdlib.h>

#include "common/array.h"
#include "common/minmax.h"
#include "common/wire/record_paths.h"

/* A switch's reply: the port that a flow leaves it by. */
struct traced_reply {
	uint32_t flow, port, round;
	uint64_t time_ps;
};

struct traced {
	struct traced_reply *replies; /* by flow and time */
	uint32_t *first;              /* [flows + 1] into replies */
	uint32_t *flows;              /* by port, then flow: flows that were there at any time, once each */
	uint32_t *first_at;           /* [ports + 1] into flows */
};

static int
cmp_by_flow(const void *pa, const void *pb)
{
	const struct traced_reply *a = pa, *b = pb;

	if (a->flow != b->flow)
		return a->flow < b->flow ? -1 : 1;
	if (a->time_ps != b->time_ps)
		return a->time_ps < b->time_ps ? -1 : 1;
	return ORDER(a->port, b->port);
}

static int
cmp_by_port(const void *pa, const void *pb)
{
	const struct traced_reply *a = pa, *b = pb;

	if (a->port != b->port)
		return a->port < b->port ? -1 : 1;
	return ORDER(a->flow, b->flow);
}

/* @return number of replies that name a port and a known flow */
static uint32_t
collect(const struct evidence *ev, struct traced_reply *replies)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < ev->traced_hops.count; i++) {
		const struct rec_traced_hop *hop = EV_AT(ev->traced_hops, struct rec_traced_hop, i);
		uint32_t flow = evidence_flow(ev, &hop->tuple);
		uint32_t port = hop->out_port != REC_NO_PORT ? evidence_port(ev, hop->hdr.node, hop->out_port) : EV_NONE;

		if (flow != EV_NONE && port != EV_NONE)
			replies[count++] = (struct traced_reply){ flow, port, hop->round, hop->hdr.time_ps };
	}
	return count;
}

struct traced *
traced_create(const struct evidence *ev)
{
	struct traced *t = calloc(1, sizeof(*t));
	uint32_t count, port = 0, flow = 0, at = 0;

	if (t == NULL)
		return NULL;
	t->replies = malloc(((size_t)ev->traced_hops.count + 1) * sizeof(*t->replies));
	t->first = calloc((size_t)ev->nflows + 1, sizeof(*t->first));
	t->flows = malloc(((size_t)ev->traced_hops.count + 1) * sizeof(*t->flows));
	t->first_at = calloc((size_t)ev->nports + 1, sizeof(*t->first_at));
	if (t->replies == NULL || t->first == NULL || t->flows == NULL || t->first_at == NULL) {
		traced_destroy(t);
		return NULL;
	}
	count = collect(ev, t->replies);
	qsort(t->replies, count, sizeof(*t->replies), cmp_by_port);
	for (uint32_t i = 0; i < count; i++) {
		while (port < t->replies[i].port)
			t->first_at[++port] = at;
		if (at == t->first_at[port] || t->flows[at - 1] != t->replies[i].flow)
			t->flows[at++] = t->replies[i].flow;
	}
	while (port < ev->nports)
		t->first_at[++port] = at;
	qsort(t->replies, count, sizeof(*t->replies), cmp_by_flow);
	for (uint32_t i = 0; i < count; i++)
		while (flow < t->replies[i].flow)
			t->first[++flow] = i;
	while (flow < ev->nflows)
		t->first[++flow] = count;
	return t;
}

void
traced_destroy(struct traced *t)
{
	if (t == NULL)
		return;
	free(t->replies);
	free(t->first);
	free(t->flows);
	free(t->first_at);
	free(t);
}

/* The replies of the latest round of a flow that had begun at a time; of its first, if none had. */
static struct ev_range
round_at(const struct traced *t, uint32_t flow, uint64_t time_ps)
{
	uint32_t first = t->first[flow], end = t->first[flow + 1];
	uint32_t after = ARRAY_AFTER(t->replies, time_ps, first, end, time_ps);
	struct ev_range round;

	round.first = round.end = after > first ? after - 1 : first;
	while (round.first > first && t->replies[round.first - 1].round == t->replies[round.end].round)
		round.first--;
	while (round.end < end && t->replies[round.end].round == t->replies[round.first].round)
		round.end++;
	return round;
}

static bool
shows(const struct traced *t, struct ev_range round, uint32_t port)
{
	while (round.first < round.end && t->replies[round.first].port != port)
		round.first++;
	return round.first < round.end;
}

/* The bytes that a flow sent through a port in a step's time, by its path at the end of the step. */
static double
sent_through(const struct cause_set *set, uint32_t step, uint32_t flow, uint32_t port)
{
	const struct run_step *s = &set->in->steps[step];

	return shows(set->traced, round_at(set->traced, flow, s->end_ps), port)
		       ? cause_sent_bytes(set, flow, s->start_ps, s->end_ps)
		       : 0;
}

double
traced_packets(const struct cause_set *set, uint32_t step, uint32_t flow, uint32_t port)
{
	uint32_t payload_bytes = set->in->ev->run.payload_bytes;

	return sent_through(set, step, flow, port) / (payload_bytes != 0 ? payload_bytes : 1);
}

struct traced_flows
traced_at(const struct cause_set *set, uint32_t port)
{
	const struct traced *t = set->traced;

	return (struct traced_flows){ &t->flows[t->first_at[port]], t->first_at[port + 1] - t->first_at[port] };
}

struct window
traced_next(const struct cause_set *set, uint32_t port, uint64_t at_ps)
{
	const struct traced *t = set->traced;
	struct traced_flows flows = traced_at(set, port);
	struct window next = { UINT64_MAX, 0 };

	for (uint32_t f = 0; f < flows.count; f++) {
		struct ev_range round = round_at(t, flows.flows[f], at_ps);

		if (!shows(t, round, port) || round.end == t->first[flows.flows[f] + 1])
			continue;
		round = round_at(t, flows.flows[f], t->replies[round.end].time_ps);
		next.from_ps = min_u64(next.from_ps, t->replies[round.first].time_ps);
		next.to_ps = max_u64(next.to_ps, t->replies[round.end - 1].time_ps);
	}
	return next;
}

uint32_t
traced_full(const struct cause_set *set, uint32_t step, double *load)
{
	const struct cause_input *in = set->in;
	const struct run_step *s = &in->steps[step];
	struct ev_range round = round_at(set->traced, s->flow, s->end_ps);
	uint32_t full = EV_NONE;

	*load = 0;
	for (uint32_t i = round.first; i < round.end; i++) {
		uint32_t port = set->traced->replies[i].port;
		struct traced_flows flows = traced_at(set, port);
		double packets = 0, bits;

		for (uint32_t f = 0; f < flows.count; f++)
			packets += traced_packets(set, step, flows.flows[f], port);
		bits = packets * in->ev->run.frame_bytes * 8;
		bits /= (double)in->ev->ports[port].rate_bps * (double)(s->end_ps - s->start_ps) / 1e12;
		if (bits < CAUSE_FULL_LOAD || bits <= *load)
			continue;
		*load = bits;
		full = port;
	}
	return full;
}
