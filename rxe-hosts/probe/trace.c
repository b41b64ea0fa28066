/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Path tracing (4.2.3): an RNIC traces all tuples by which it probes, and the way back of all by which it is probed, in turn, with a
 * packet every upload_ps / PROBE_TRACES: what a traceroute found stands in records with the next upload.
 */
#include <stdlib.h>

#include "rxe-hosts/probe/inside.h"

static const struct probe_target *
target_at(const struct probe_nic *nic, uint32_t turn)
{
	for (uint32_t kind = 0; kind < PROBE_LISTS; kind++) {
		if (turn < nic->lists[kind].count)
			return &nic->lists[kind].targets[turn];
		turn -= nic->lists[kind].count;
	}
	return NULL;
}

/* @return false: there is nothing to trace */
static bool
begin(struct probe_nic *nic)
{
	struct probe_trace *trace = &nic->trace;
	uint32_t forth = 0;
	const struct probe_target *target;

	for (uint32_t kind = 0; kind < PROBE_LISTS; kind++)
		forth += nic->lists[kind].count;
	if (forth + nic->nbacks == 0)
		return false;
	trace->turn = trace->turn + 1 < forth + nic->nbacks ? trace->turn + 1 : 0;
	target = target_at(nic, trace->turn);
	trace->back = target == NULL;
	trace->flow = trace->back ? nic->backs[trace->turn - forth].flow : target->flow;
	trace->qpn = trace->back ? nic->backs[trace->turn - forth].qpn : target->qpn;
	trace->number++;
	trace->hop = 1;
	trace->nhops = 0;
	trace->is_on = true;
	trace->is_waiting = false;
	return true;
}

static void
end(struct probe_agent *agent, struct probe_trace *trace)
{
	trace->is_on = false;
	for (uint32_t i = 0; i < trace->nhops; i++) {
		if (agent->nhops == PROBE_HOP_RESULTS)
			agent->counts.dropped++;
		else
			agent->hops[agent->nhops++] = trace->hops[i];
	}
}

static void
send(struct probe_agent *agent, uint32_t nic, uint64_t now_ps)
{
	struct probe_nic *of = &agent->nics[nic];
	struct probe_trace *trace = &of->trace;
	const struct probe_completion what = { .seq = trace->number << PROBE_TTL_BITS | trace->hop,
					       .qpn = of->qpn,
					       .part = PROBE_TRACE };
	const struct datagram how = {
		.flow = trace->flow, .qpn = trace->qpn, .ttl = (uint8_t)trace->hop, .reply = trace->back
	};

	trace->is_waiting = true;
	trace->waiting_ps = now_ps;
	if (trace->hop == 1)
		trace->began_ps = now_ps;
	if (probe_post(agent, &how, &what) != 0)
		agent->counts.dropped++;
}

/* A switch that says nothing has had no token, or the packet is lost: the next hop is asked. */
void
probe_trace_due(struct probe_agent *agent, uint32_t nic, uint64_t now_ps)
{
	struct probe_trace *trace = &agent->nics[nic].trace;

	if (trace->next_ps > now_ps)
		return;
	trace->next_ps = now_ps + agent->upload_ps / PROBE_TRACES;
	if (trace->is_on && trace->is_waiting) {
		if (now_ps - trace->waiting_ps < agent->timeout_ps)
			return;
		trace->is_waiting = false;
		trace->hop++;
	}
	if (trace->is_on && trace->hop > trace->nhops + 2)
		end(agent, trace); /* two in a row */
	if (!trace->is_on && !begin(&agent->nics[nic]))
		return;
	send(agent, nic, now_ps);
}

/* @return NULL: there is no room, which is counted */
static struct probe_back *
back_of(struct probe_agent *agent, struct probe_nic *nic, uint32_t flow)
{
	for (uint32_t i = 0; i < nic->nbacks; i++)
		if (nic->backs[i].flow == flow)
			return &nic->backs[i];
	if (nic->nbacks == nic->backs_cap) {
		uint32_t cap = nic->backs_cap == 0 ? 16 : 2 * nic->backs_cap;
		struct probe_back *backs = realloc(nic->backs, cap * sizeof(*backs));

		if (backs == NULL) {
			agent->counts.dropped++;
			return NULL;
		}
		nic->backs = backs;
		nic->backs_cap = cap;
	}
	nic->backs[nic->nbacks] = (struct probe_back){ .flow = flow };
	return &nic->backs[nic->nbacks++];
}

void
probe_trace_back(struct probe_agent *agent, struct probe_nic *nic, const struct probe_completion *c)
{
	struct probe_back *back = back_of(agent, nic, c->flow);

	if (back == NULL)
		return;
	if (back->qpn != c->qpn) /* another agent than before, which counts by itself */
		*back = (struct probe_back){ .flow = c->flow, .qpn = c->qpn };
	if (back->count++ == 0)
		back->first_seq = c->seq;
	back->last_seq = c->seq;
	back->received_ps = c->ready_ps;
}

static bool
is_awaited(const struct probe_trace *trace, uint32_t seq)
{
	return trace->is_on && trace->is_waiting && seq == (trace->number << PROBE_TTL_BITS | trace->hop);
}

void
probe_trace_ended(struct probe_agent *agent, uint32_t nic, uint32_t seq, uint32_t arg)
{
	struct probe_trace *trace = &agent->nics[nic].trace;

	if (!is_awaited(trace, seq))
		return;
	trace->hops[trace->nhops++] = (struct rec_probe_hop){
		.tuple = flow_tuple(&agent->config.flows->flows[trace->flow]),
		.hop = trace->hop,
		.back = trace->back,
		.at = arg >> EXPIRED_NODE_SHIFT,
		.port = (uint16_t)(arg & EXPIRED_PORT_MASK),
		.trace = trace->number,
		.sent_ps = trace->began_ps,
	};
	trace->is_waiting = false;
	trace->hop++;
	if (trace->nhops == PROBE_HOPS)
		end(agent, trace);
}

void
probe_trace_arrived(struct probe_agent *agent, uint32_t nic, uint32_t seq)
{
	struct probe_trace *trace = &agent->nics[nic].trace;

	if (!is_awaited(trace, seq))
		return;
	if (trace->nhops != 0 && trace->hops[trace->nhops - 1].hop + 1 == trace->hop)
		trace->hops[trace->nhops - 1].last = 1;
	end(agent, trace);
}
