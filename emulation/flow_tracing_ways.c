/* SPDX-License-Identifier: BSD-3-Clause */
/* Algorithm 1, lines 4 to 14: pair by pair, flow by flow, hop by hop. */
#include "common/wire/record.h"
#include "dpswitch/control/switch_answer.h"
#include "emulation/flow_tracing_state.h"

/* What one question and its reply take on the management network (common/wire/switch_manage.h). */
#define ASK_EGRESS_BYTES (sizeof(struct swm_hdr) + sizeof(struct swm_list) + sizeof(struct swm_query))
#define EGRESS_BYTES (sizeof(struct swm_hdr) + sizeof(struct swm_list) + sizeof(struct swm_egress))
#define ASK_FLOWS_BYTES (sizeof(struct swm_hdr) + sizeof(struct swm_filter))
#define FLOWS_BYTES (sizeof(struct swm_hdr) + sizeof(struct swm_flows))

static const struct flow *
flow_at(const struct flow_tracing *t, const struct trace_process *process, uint32_t at)
{
	return &t->flows->flows[process->flows[at]];
}

/* ---- pairs ---- */

/* Flows of the process' pair: all, or those that samples tell of. @return whether there is one */
static bool
choose_flows(const struct flow_tracing *t, struct trace_process *process)
{
	const struct flow_pair *pair = &t->pairs.pairs[process->pair];

	process->count = 0;
	for (uint32_t i = 0; i < pair->count; i++) {
		uint32_t flow = t->pairs.order[pair->first + i];

		if (!flow_tracing_samples(t) || t->samples.told[flow].messages != 0)
			process->flows[process->count++] = flow;
	}
	return process->count != 0;
}

/* The switch that a flow of the pair comes to first. */
static void
begin_flow(struct emulation *emulation, const struct trace_process *process, struct trace_thread *thread, uint64_t now_ps)
{
	struct flow_tracing *t = emulation->tracing;
	const struct flow *flow = flow_at(t, process, thread->at);

	topo_walk_begin(&thread->walk, emulation->scenario->topo, flow->src_node, process->told[thread->at].nic,
			flow->dst_ip);
	flow_tracing_ask(t, thread, process->host, thread->walk.node, ASK_EGRESS_BYTES, now_ps);
}

/* Its flows are known: all threads begin. */
static void
begin_flows(struct emulation *emulation, struct trace_process *process, uint64_t now_ps)
{
	const struct flow_tracing *t = emulation->tracing;

	process->threads[0].due_ps = TIME_NEVER;
	process->busy = process->count < t->nthreads ? process->count : t->nthreads;
	for (uint32_t i = 0; i < process->busy; i++) {
		process->threads[i].at = i;
		begin_flow(emulation, process, &process->threads[i], now_ps);
	}
}

static void
end_round(struct flow_tracing *t, uint64_t now_ps)
{
	t->tracing = false;
	t->round++;
	if (t->params->period_ps != 0)
		t->round_ps = now_ps + t->params->period_ps;
}

/* The process' next pair that has flows; with the last of all the round ends. */
static void
begin_pair(struct emulation *emulation, struct trace_process *process, uint64_t now_ps)
{
	struct flow_tracing *t = emulation->tracing;

	for (; process->pair < t->pairs.npairs && !choose_flows(t, process); process->pair += t->nprocesses)
		t->left--;
	if (process->pair >= t->pairs.npairs) {
		if (t->left == 0 && t->tracing)
			end_round(t, now_ps);
		return;
	}
	process->host = flow_at(t, process, 0)->src_node;
	if (!flow_tracing_samples(t)) {
		process->listing = true;
		flow_tracing_ask(t, &process->threads[0], process->host, process->host, ASK_FLOWS_BYTES, now_ps);
		return;
	}
	for (uint32_t i = 0; i < process->count; i++)
		process->told[i] = t->samples.told[process->flows[i]];
	begin_flows(emulation, process, now_ps);
}

void
flow_tracing_pairs(struct emulation *emulation, uint64_t now_ps)
{
	struct flow_tracing *t = emulation->tracing;

	t->tracing = true;
	for (uint32_t p = 0; p < t->nprocesses; p++) {
		t->processes[p].pair = p;
		begin_pair(emulation, &t->processes[p], now_ps);
	}
}

/* ---- what becomes of a flow ---- */

static void
add_port(uint64_t *low, uint64_t *high, uint32_t port)
{
	*(port < 64 ? low : high) |= UINT64_C(1) << port % 64;
}

/* A flow's trace ends here. Its threads take the next, of every so many; with the last of a pair the process takes another. */
static void
end_flow(struct emulation *emulation, const struct trace_process *process, const struct trace_thread *thread,
	 enum rec_trace_result result, uint64_t now_ps)
{
	struct flow_tracing *t = emulation->tracing;
	const struct flow *flow = flow_at(t, process, thread->at);
	const struct topo_node *host = &emulation->scenario->topo->nodes[flow->src_node];
	struct host_account *account = &t->accounts[flow->src_node];
	const struct embedded_flow *told = &process->told[thread->at];
	struct rec_traced rec = {
		.tuple = flow_tuple(flow),
		.told_ps = flow_tracing_samples(t) ? t->samples.told_ps[process->flows[thread->at]] : process->told_ps,
		.messages = told->messages,
		.round = t->round,
		.nic = told->nic,
		.result = (uint16_t)result,
	};

	for (uint32_t nic = 0; nic < host->nports; nic++)
		if (host->bonded || nic == told->nic)
			add_port(&rec.set_low, &rec.set_high, nic);
	recbuf_put(emulation->records[flow->src_node], &rec, REC_TRACED, sizeof(rec), now_ps);
	account->traced += result == REC_TRACE_EGRESS || result == REC_TRACE_SPRAYED;
	account->done++;
}

static void
next_flow(struct emulation *emulation, struct trace_process *process, struct trace_thread *thread, uint64_t now_ps)
{
	struct flow_tracing *t = emulation->tracing;

	thread->due_ps = TIME_NEVER;
	thread->at += t->nthreads;
	if (thread->at < process->count) {
		begin_flow(emulation, process, thread, now_ps);
		return;
	}
	if (--process->busy != 0)
		return;
	if (t->accounts[process->host].done == t->accounts[process->host].flows)
		flow_tracing_account(emulation, process->host, now_ps);
	t->left--;
	process->pair += t->nprocesses;
	begin_pair(emulation, process, now_ps);
}

/* The host has told its flows to the pair's destination. */
static void
take_list(struct emulation *emulation, struct trace_process *process, uint64_t now_ps)
{
	struct flow_tracing *t = emulation->tracing;

	process->listing = false;
	process->told_ps = now_ps;
	for (uint32_t i = 0; i < process->count; i++)
		process->told[i] = embedded_flow_of(emulation->hosts[process->host], process->flows[i]);
	t->accounts[process->host].received_bytes += FLOWS_BYTES + process->count * sizeof(struct swm_flow);
	begin_flows(emulation, process, now_ps);
}

/* What is known of the way where the walk is; a way that loops, or comes to another host, went astray. */
static enum rec_trace_result
result_of(const struct topo_walk *walk)
{
	switch (walk->state) {
	case WALK_GOES_ON:
	case WALK_ARRIVED:
		return REC_TRACE_EGRESS;
	case WALK_SPRAYED:
		return REC_TRACE_SPRAYED;
	case WALK_DROPPED:
		return REC_TRACE_DROPPED;
	default:
		return REC_TRACE_ASTRAY;
	}
}

/* A switch has replied: on to the next, by the cable. */
static void
take_egress(struct emulation *emulation, struct trace_process *process, struct trace_thread *thread, uint64_t now_ps)
{
	struct flow_tracing *t = emulation->tracing;
	const struct flow *flow = flow_at(t, process, thread->at);
	const struct swm_query query = { .src_ip = flow->src_ip,
					 .dst_ip = flow->dst_ip,
					 .sport = flow->sport,
					 .dport = flow->dport,
					 .in_port = thread->walk.in_port };
	struct swm_egress answer = answer_headers(emulation->switches[thread->node], t->index, &query);
	struct rec_traced_hop rec = { .tuple = flow_tuple(flow),
				      .set_low = answer.members[0],
				      .set_high = answer.members[1],
				      .round = t->round,
				      .hop = (uint16_t)thread->walk.path.hops,
				      .in_port = thread->walk.in_port,
				      .out_port = REC_NO_PORT };
	bool goes_on = topo_walk_on(&thread->walk, emulation->scenario->topo, &answer);

	rec.result = (uint16_t)(answer.result == SWM_FORWARDED ? REC_TRACE_EGRESS : result_of(&thread->walk));
	if (rec.result == REC_TRACE_EGRESS)
		rec.out_port = answer.port;
	t->accounts[flow->src_node].received_bytes += EGRESS_BYTES;
	recbuf_put(emulation->records[thread->node], &rec, REC_TRACED_HOP, sizeof(rec), now_ps);
	if (goes_on) {
		flow_tracing_ask(t, thread, process->host, thread->walk.node, ASK_EGRESS_BYTES, now_ps);
		return;
	}
	end_flow(emulation, process, thread, result_of(&thread->walk), now_ps);
	next_flow(emulation, process, thread, now_ps);
}

void
flow_tracing_reply(struct emulation *emulation, struct trace_process *process, struct trace_thread *thread, uint64_t now_ps)
{
	if (process->listing)
		take_list(emulation, process, now_ps);
	else
		take_egress(emulation, process, thread, now_ps);
}
