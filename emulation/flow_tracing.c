/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/flow_tracing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/flow_index.h"
#include "common/units.h"
#include "common/wire/record.h"
#include "dpswitch/control/switch_answer.h"
#include "emulation/emulation.h"
#include "emulation/flow_pairs.h"
#include "topo/walk.h"

/* A thread, and the question that it waits for. */
struct thread {
	uint64_t due_ps; /* when the reply is here; TIME_NEVER: it has nothing to do */
	uint32_t at;     /* of its pair's flows, the one that is traced */
	uint32_t node;   /* who is asked */
	struct topo_walk walk;
	bool *open; /* [nnodes] connections that stay */
};

/* A process has one pair at a time. */
struct process {
	uint32_t pair;              /* npairs or more: none is left */
	uint32_t host;              /* its source */
	uint32_t busy;              /* threads with flows of it to trace */
	bool listing;               /* its first thread asks the host for them */
	uint64_t told_ps;           /* when that told */
	struct embedded_flow *told; /* [pairs.most] what, of the pair's flows in order */
	struct thread *threads;
};

/* Of a host, in this round. */
struct host_account {
	uint32_t flows, traced, done, questions, connections;
	uint64_t start_ps, sent_bytes, received_bytes;
	bool asked; /* some pair of it is under way, and not all are done */
};

struct flow_tracing {
	const struct flowtracer_params *params;
	const struct flow_table *flows;
	struct flow_index *index;
	uint32_t nnodes;
	struct flow_pairs pairs;
	struct process *processes;
	uint32_t nprocesses, nthreads; /* threads of a process */
	struct host_account *accounts; /* [nnodes] */
	uint32_t round;
	uint32_t left;     /* pairs of this round that are not done */
	uint64_t round_ps; /* when the next round begins; TIME_NEVER: there is none */
};

/* What one question and its reply take on the management network (common/wire/switch_manage.h). */
#define ASK_EGRESS_BYTES (sizeof(struct swm_hdr) + sizeof(struct swm_list) + sizeof(struct swm_query))
#define EGRESS_BYTES (sizeof(struct swm_hdr) + sizeof(struct swm_list) + sizeof(struct swm_egress))
#define ASK_FLOWS_BYTES (sizeof(struct swm_hdr) + sizeof(struct swm_filter))
#define FLOWS_BYTES (sizeof(struct swm_hdr) + sizeof(struct swm_flows))
#define HELLO_BYTES (sizeof(struct swm_hdr) + sizeof(struct swm_hello))

static const struct flow *
flow_at(const struct flow_tracing *t, const struct process *process, uint32_t at)
{
	return &t->flows->flows[t->pairs.order[t->pairs.pairs[process->pair].first + at]];
}

/* ---- from creation to the first question ---- */

static int
create_processes(struct flow_tracing *t)
{
	t->nprocesses = (uint32_t)t->params->processes;
	t->nthreads = t->params->connections == REC_TRACE_PARALLEL ? (uint32_t)t->params->threads : 1;
	t->processes = calloc(t->nprocesses, sizeof(*t->processes));
	for (uint32_t p = 0; t->processes != NULL && p < t->nprocesses; p++) {
		t->processes[p].threads = calloc(t->nthreads, sizeof(*t->processes[p].threads));
		t->processes[p].told = calloc(t->pairs.most + 1u, sizeof(*t->processes[p].told));
		if (t->processes[p].threads == NULL || t->processes[p].told == NULL)
			return -ENOMEM;
		for (uint32_t i = 0; i < t->nthreads; i++) {
			t->processes[p].threads[i].due_ps = TIME_NEVER;
			t->processes[p].threads[i].open = calloc(t->nnodes, sizeof(bool));
			if (t->processes[p].threads[i].open == NULL)
				return -ENOMEM;
		}
	}
	return t->processes != NULL ? 0 : -ENOMEM;
}

int
flow_tracing_create(struct emulation *emulation, struct err *err)
{
	const struct scenario *sc = emulation->scenario;
	struct flow_tracing *t;

	if (!sc->flowtracer.enabled || emulation->phase != EMULATION_RUN)
		return 0;
	t = emulation->tracing = calloc(1, sizeof(*t));
	if (t == NULL)
		return err_set(err, -ENOMEM, "out of memory for a tracer of flows");
	t->params = &sc->flowtracer;
	t->flows = &sc->plan->flows;
	t->nnodes = sc->topo->nnodes;
	t->round_ps = t->params->start_ps;
	t->index = flow_index_create(t->flows);
	t->accounts = calloc(t->nnodes, sizeof(*t->accounts));
	if (t->index == NULL || t->accounts == NULL || flow_pairs_init(&t->pairs, t->flows, t->params->all_flows) != 0 ||
	    create_processes(t) != 0)
		return err_set(err, -ENOMEM, "out of memory to trace %u flows", t->flows->count);
	return 0;
}

void
flow_tracing_destroy(struct flow_tracing *t)
{
	if (t == NULL)
		return;
	for (uint32_t p = 0; t->processes != NULL && p < t->nprocesses; p++) {
		for (uint32_t i = 0; t->processes[p].threads != NULL && i < t->nthreads; i++)
			free(t->processes[p].threads[i].open);
		free(t->processes[p].threads);
		free(t->processes[p].told);
	}
	flow_index_destroy(t->index);
	free(t->processes);
	flow_pairs_fini(&t->pairs);
	free(t->accounts);
	free(t);
}

/* Ad hoc, a connection is opened for each question: a round trip before its own. */
static void
ask(struct flow_tracing *t, const struct process *process, struct thread *thread, uint32_t node, uint64_t now_ps)
{
	struct host_account *account = &t->accounts[process->host];
	bool opens = t->params->connections == REC_TRACE_AD_HOC || !thread->open[node];

	thread->open[node] = true;
	thread->node = node;
	thread->due_ps = now_ps + (opens ? 2 : 1) * t->params->rtt_ps;
	account->questions++;
	account->connections += opens;
	account->received_bytes += opens ? HELLO_BYTES : 0;
	account->sent_bytes += process->listing ? ASK_FLOWS_BYTES : ASK_EGRESS_BYTES;
}

static void
begin_pair(struct flow_tracing *t, struct process *process, uint64_t now_ps)
{
	struct host_account *account;

	if (process->pair >= t->pairs.npairs)
		return;
	process->host = flow_at(t, process, 0)->src_node;
	account = &t->accounts[process->host];
	if (!account->asked)
		account->start_ps = now_ps;
	account->asked = true;
	process->listing = true;
	ask(t, process, &process->threads[0], process->host, now_ps);
}

static void
begin_round(struct flow_tracing *t, uint64_t now_ps)
{
	t->left = t->pairs.npairs;
	t->round_ps = TIME_NEVER;
	memset(t->accounts, 0, t->nnodes * sizeof(*t->accounts));
	for (uint32_t i = 0; i < t->pairs.norder; i++)
		t->accounts[t->flows->flows[t->pairs.order[i]].src_node].flows++;
	for (uint32_t p = 0; p < t->nprocesses; p++) {
		t->processes[p].pair = p;
		begin_pair(t, &t->processes[p], now_ps);
	}
}

/* ---- what becomes of a flow ---- */

static void
put_account(struct emulation *emulation, uint32_t host, uint64_t now_ps)
{
	struct flow_tracing *t = emulation->tracing;
	struct host_account *account = &t->accounts[host];
	struct rec_trace_round rec = {
		.start_ps = account->start_ps,
		.sent_bytes = account->sent_bytes,
		.received_bytes = account->received_bytes,
		.round = t->round,
		.flows = account->flows,
		.traced = account->traced,
		.questions = account->questions,
		.connections = account->connections,
		.complete = account->done == account->flows,
	};

	recbuf_put(emulation->records[host], &rec, REC_TRACE_ROUND, sizeof(rec), now_ps);
	account->asked = false;
}

static void
add_port(uint64_t *low, uint64_t *high, uint32_t port)
{
	*(port < 64 ? low : high) |= UINT64_C(1) << port % 64;
}

/* A flow's trace ends here. Its threads take the next, of every so many; with the last of a pair the process takes another. */
static void
end_flow(struct emulation *emulation, struct process *process, struct thread *thread, enum rec_trace_result result,
	 uint64_t now_ps)
{
	struct flow_tracing *t = emulation->tracing;
	const struct flow *flow = flow_at(t, process, thread->at);
	const struct topo_node *host = &emulation->scenario->topo->nodes[flow->src_node];
	struct host_account *account = &t->accounts[flow->src_node];
	const struct embedded_flow *told = &process->told[thread->at];
	struct rec_traced rec = {
		.tuple = flow_tuple(flow),
		.told_ps = process->told_ps,
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

/* The switch that a flow of the pair comes to first. */
static void
begin_flow(struct emulation *emulation, struct process *process, struct thread *thread, uint64_t now_ps)
{
	struct flow_tracing *t = emulation->tracing;
	const struct flow *flow = flow_at(t, process, thread->at);

	topo_walk_begin(&thread->walk, emulation->scenario->topo, flow->src_node, process->told[thread->at].nic,
			flow->dst_ip);
	ask(t, process, thread, thread->walk.node, now_ps);
}

static void
next_flow(struct emulation *emulation, struct process *process, struct thread *thread, uint64_t now_ps)
{
	struct flow_tracing *t = emulation->tracing;

	thread->due_ps = TIME_NEVER;
	thread->at += t->nthreads;
	if (thread->at < t->pairs.pairs[process->pair].count) {
		begin_flow(emulation, process, thread, now_ps);
		return;
	}
	if (--process->busy != 0)
		return;
	if (t->accounts[process->host].done == t->accounts[process->host].flows)
		put_account(emulation, process->host, now_ps);
	process->pair += t->nprocesses;
	if (--t->left != 0) {
		begin_pair(t, process, now_ps);
		return;
	}
	t->round++;
	if (t->params->period_ps != 0)
		t->round_ps = now_ps + t->params->period_ps;
}

/* The host has told its flows to the pair's destination: all threads begin. */
static void
take_list(struct emulation *emulation, struct process *process, uint64_t now_ps)
{
	struct flow_tracing *t = emulation->tracing;
	uint32_t count = t->pairs.pairs[process->pair].count;

	process->listing = false;
	process->told_ps = now_ps;
	for (uint32_t i = 0; i < count; i++)
		process->told[i] = embedded_flow_of(emulation->hosts[process->host],
						    t->pairs.order[t->pairs.pairs[process->pair].first + i]);
	process->busy = count < t->nthreads ? count : t->nthreads;
	t->accounts[process->host].received_bytes += FLOWS_BYTES + count * sizeof(struct swm_flow);
	process->threads[0].due_ps = TIME_NEVER;
	for (uint32_t i = 0; i < process->busy; i++) {
		process->threads[i].at = i;
		begin_flow(emulation, process, &process->threads[i], now_ps);
	}
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
take_egress(struct emulation *emulation, struct process *process, struct thread *thread, uint64_t now_ps)
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
		ask(t, process, thread, thread->walk.node, now_ps);
		return;
	}
	end_flow(emulation, process, thread, result_of(&thread->walk), now_ps);
	next_flow(emulation, process, thread, now_ps);
}

/* ---- time ---- */

uint64_t
flow_tracing_next_ps(const struct flow_tracing *t)
{
	uint64_t next_ps = t != NULL && t->pairs.npairs != 0 ? t->round_ps : TIME_NEVER;

	for (uint32_t p = 0; t != NULL && p < t->nprocesses; p++)
		for (uint32_t i = 0; i < t->nthreads; i++)
			if (t->processes[p].threads[i].due_ps < next_ps)
				next_ps = t->processes[p].threads[i].due_ps;
	return next_ps;
}

void
flow_tracing_run(struct emulation *emulation, uint64_t now_ps)
{
	struct flow_tracing *t = emulation->tracing;

	if (t == NULL || t->pairs.npairs == 0)
		return;
	if (t->round_ps <= now_ps)
		begin_round(t, now_ps);
	for (uint32_t p = 0; p < t->nprocesses; p++) {
		struct process *process = &t->processes[p];

		for (uint32_t i = 0; i < t->nthreads; i++) {
			if (process->threads[i].due_ps > now_ps)
				continue;
			if (process->listing)
				take_list(emulation, process, now_ps);
			else
				take_egress(emulation, process, &process->threads[i], now_ps);
		}
	}
}

bool
flow_tracing_busy(const struct flow_tracing *t)
{
	return t != NULL && t->pairs.npairs != 0 && t->round == 0;
}

void
flow_tracing_end(struct emulation *emulation, uint64_t now_ps)
{
	struct flow_tracing *t = emulation->tracing;

	for (uint32_t node = 0; t != NULL && node < t->nnodes; node++)
		if (t->accounts[node].asked)
			put_account(emulation, node, now_ps);
}
