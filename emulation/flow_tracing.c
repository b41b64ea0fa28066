/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FlowTracer in a run (Algorithm 1): every request costs round trips of the management network in the clock of the
 * run; hosts and switches reply from their state when the reply is due. Where several processes run a fabric, each runs
 * the tracer and receives all replies, so that all have the same state.
 */
#include "emulation/service.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/flow.h"
#include "common/minmax.h"
#include "common/units.h"
#include "common/wire/record.h"
#include "common/wire/trace.h"
#include "dpswitch/control/switch_answer.h"
#include "dpswitch/pipeline/switch.h"
#include "emulation/emulation.h"
#include "rxe-hosts/device/embedded/embedded.h"
#include "scenario/scenario.h"
#include "topo/route.h"
#include "workload/plan.h"

/* ---- a run's flows by source and destination, which a tracer's processes divide among them ---- */

/* Flows of one source and destination, in the order of their numbers. */
struct flow_pair {
	uint32_t first, count; /* in order */
};

struct flow_pairs {
	uint32_t *order; /* [norder] flows, pair by pair */
	uint32_t norder;
	struct flow_pair *pairs; /* [npairs] by source, then destination */
	uint32_t npairs;
	uint32_t most; /* flows of a pair */
};

static bool
is_wanted(const struct flow *flow, bool all)
{
	return flow->kind == FLOW_COLLECTIVE || (all && (flow->kind == FLOW_BACKGROUND || flow->kind == FLOW_TRAFFIC));
}

static int
cmp_pair(const void *pa, const void *pb, void *of)
{
	const struct flow *flows = of;
	uint32_t i = *(const uint32_t *)pa, j = *(const uint32_t *)pb;
	const struct flow *a = &flows[i], *b = &flows[j];

	if (a->src_node != b->src_node)
		return a->src_node < b->src_node ? -1 : 1;
	if (a->dst_node != b->dst_node)
		return a->dst_node < b->dst_node ? -1 : 1;
	return ORDER(i, j);
}

static bool
is_same_pair(const struct flow *a, const struct flow *b)
{
	return a->src_node == b->src_node && a->dst_node == b->dst_node;
}

/*
 * Of hosts' connections: not of probes and notifications.
 * @param all  background flows and those of generators, too; false: those of collectives alone
 * @return 0 or -ENOMEM; flow_pairs_fini() either way
 */
static int
flow_pairs_init(struct flow_pairs *pairs, const struct flow_table *table, bool all)
{
	*pairs = (struct flow_pairs){ .order = calloc(table->count + 1u, sizeof(*pairs->order)),
				      .pairs = calloc(table->count + 1u, sizeof(*pairs->pairs)) };
	if (pairs->order == NULL || pairs->pairs == NULL)
		return -ENOMEM;
	for (uint32_t f = 0; f < table->count; f++)
		if (is_wanted(&table->flows[f], all))
			pairs->order[pairs->norder++] = f;
	qsort_r(pairs->order, pairs->norder, sizeof(*pairs->order), cmp_pair, table->flows);
	for (uint32_t i = 0; i < pairs->norder; i++) {
		const struct flow *flow = &table->flows[pairs->order[i]];

		if (i == 0 || !is_same_pair(flow, &table->flows[pairs->order[i - 1]]))
			pairs->pairs[pairs->npairs++] = (struct flow_pair){ .first = i };
		pairs->most = max_u32(pairs->most, ++pairs->pairs[pairs->npairs - 1].count);
	}
	return 0;
}

static void
flow_pairs_fini(struct flow_pairs *pairs)
{
	free(pairs->order);
	free(pairs->pairs);
}

/* ---- samples of leaf switches from hosts' packets: the flows, and the port by which each leaves its host ---- */

/* A port of a host whose flows are needed: its leaf is polled for it. */
struct samples_feed {
	uint32_t host, leaf;
	uint16_t nic, leaf_port;
};

struct flow_samples {
	struct samples_feed *feeds; /* [nfeeds] */
	uint32_t nfeeds;
	struct embedded_flow *reported; /* [nflows] messages: samples of the flow; 0: no sample reports it */
	uint64_t *reported_ps;          /* [nflows] when its leaf did */
	uint32_t nflows;
};

/* @param pairs  whose sources are polled. @return 0 or -ENOMEM; flow_samples_fini() either way */
static int
flow_samples_init(struct flow_samples *samples, const struct topo *topo, const struct flow_table *flows,
		  const struct flow_pairs *pairs)
{
	uint32_t before = TOPO_NONE;

	*samples = (struct flow_samples){
		.feeds = calloc(topo->nports + 1u, sizeof(*samples->feeds)),
		.reported = calloc(flows->count + 1u, sizeof(*samples->reported)),
		.reported_ps = calloc(flows->count + 1u, sizeof(*samples->reported_ps)),
		.nflows = flows->count,
	};
	if (samples->feeds == NULL || samples->reported == NULL || samples->reported_ps == NULL)
		return -ENOMEM;
	for (uint32_t p = 0; p < pairs->npairs; p++) { /* by source */
		uint32_t host = flows->flows[pairs->order[pairs->pairs[p].first]].src_node;

		for (uint16_t nic = 0; host != before && nic < topo->nodes[host].nports; nic++) {
			const struct topo_port *port = topo_port_of(topo, host, nic);

			if (topo->nodes[port->peer].kind == TOPO_SWITCH)
				samples->feeds[samples->nfeeds++] =
					(struct samples_feed){ host, port->peer, nic, port->peer_index };
		}
		before = host;
	}
	return 0;
}

static void
flow_samples_fini(struct flow_samples *samples)
{
	free(samples->feeds);
	free(samples->reported);
	free(samples->reported_ps);
}

/* A new round: nothing is known. */
static void
flow_samples_forget(struct flow_samples *samples)
{
	memset(samples->reported, 0, samples->nflows * sizeof(*samples->reported));
}

/* A flow that left by several ports lately, as when a bond lost a member: the one of most samples counts. */
static void
report_flow(struct flow_samples *samples, const struct samples_feed *feed, uint32_t flow, uint64_t count, uint64_t now_ps)
{
	if (count <= samples->reported[flow].messages)
		return;
	samples->reported[flow] = (struct embedded_flow){ .messages = count, .nic = feed->nic };
	samples->reported_ps[flow] = now_ps;
}

static int
by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The report of the feed's leaf at this time. @param rows  [count] */
static void
flow_samples_take(struct flow_samples *samples, const struct samples_feed *feed, const struct swm_sample *rows,
		  uint32_t nrows, const struct flow_index *index, uint64_t now_ps)
{
	uint32_t flows[SWM_MAX_SAMPLES], count = 0;

	for (uint32_t i = 0; i < nrows; i++) {
		const struct rec_tuple tuple = {
			.src_ip = rows[i].src_ip, .dst_ip = rows[i].dst_ip, .sport = rows[i].sport, .dport = rows[i].dport
		};
		bool reverse = false;
		uint32_t flow = sample_is_of_flow(&rows[i]) ? flow_index_find(index, &tuple, &reverse) : FLOW_NONE;

		if (flow != FLOW_NONE && !reverse)
			flows[count++] = flow;
	}
	qsort(flows, count, sizeof(*flows), by_number);
	for (uint32_t i = 0, first = 0; i < count; i++)
		if (i + 1 == count || flows[i + 1] != flows[i]) {
			report_flow(samples, feed, flows[i], i + 1 - first, now_ps);
			first = i + 1;
		}
}

/* ---- the state of a round ---- */

/* The time of one request and its reply on the management network (common/wire/switch_manage.h). */
#define ASK_SAMPLES_BYTES (sizeof(struct swm_hdr) + sizeof(struct swm_sampled))
#define HELLO_BYTES (sizeof(struct swm_hdr) + sizeof(struct swm_hello))
#define ASK_EGRESS_BYTES (sizeof(struct swm_hdr) + sizeof(struct swm_list) + sizeof(struct swm_query))
#define EGRESS_BYTES (sizeof(struct swm_hdr) + sizeof(struct swm_list) + sizeof(struct swm_egress))
#define ASK_FLOWS_BYTES (sizeof(struct swm_hdr) + sizeof(struct swm_filter))
#define FLOWS_BYTES (sizeof(struct swm_hdr) + sizeof(struct swm_flows))

/* A thread, and the question that it waits for. */
struct trace_thread {
	uint64_t due_ps; /* when the reply is here; TIME_NEVER: it has nothing to do */
	uint32_t at;     /* of its pair's flows, the traced one; of the feeds of samples, the polled one */
	uint32_t node;   /* the polled node */
	struct topo_walk walk;
	bool *open;                   /* [nnodes] connections that stay */
	size_t reply_at, reply_bytes; /* in the tracer's replies, once it is here */
};

/* A process has one pair at a time. */
struct trace_process {
	uint32_t pair;   /* npairs or more: none is left */
	uint32_t host;   /* its source */
	uint32_t *flows; /* [count] of the pair, that are traced */
	uint32_t count;
	uint32_t busy;                  /* threads with flows of it to trace */
	bool listing;                   /* its first thread polls the host for them */
	uint64_t reported_ps;           /* when the feed reported it */
	struct embedded_flow *reported; /* [count] the flows */
	struct trace_thread *threads;
};

/* Of a host, in this round. */
struct host_account {
	uint32_t flows, traced, done, questions, connections;
	uint64_t start_ps, sent_bytes, received_bytes;
	bool asked; /* its first request was sent, and not all of its flows are done */
};

struct flow_tracing {
	struct emulation *emulation;
	const struct flowtracer_params *params;
	const struct flow_table *flows;
	struct flow_index *index;
	uint32_t nnodes;
	struct flow_pairs pairs;
	struct flow_samples samples; /* by which flows are known, if the first hop is by sFlow */
	uint32_t next_feed;          /* of these, not polled yet */
	uint32_t feeds_left;         /* that have not reported; 0: flows are traced */
	struct trace_process *processes;
	uint32_t nprocesses, nthreads; /* threads of a process */
	struct host_account *accounts; /* [nnodes] */
	uint32_t round;
	bool tracing;      /* flows of the round are known, and not all of its pairs are done */
	uint32_t left;     /* pairs of this round that are not done */
	uint64_t round_ps; /* when the next round begins; TIME_NEVER: there is none */
	uint8_t *replies;  /* [replies_used] of [replies_cap], those that are due now, each behind its struct reply_of */
	size_t replies_used, replies_cap;
};

/* Before a reply. */
struct reply_of {
	uint32_t process, thread; /* whose it is */
};

static bool
by_samples(const struct flow_tracing *t)
{
	return t->params->first_hop == REC_TRACE_SFLOW;
}

/* ---- requests, and their cost ---- */

/*
 * A thread sends a request, charged to a host's account: a round trip, ad hoc, or for the first time, one more for a
 * connection.
 * @param bytes  of the request, its header included
 */
static void
ask(struct flow_tracing *t, struct trace_thread *thread, uint32_t host, uint32_t node, size_t bytes, uint64_t now_ps)
{
	struct host_account *account = &t->accounts[host];
	bool opens = t->params->connections == REC_TRACE_AD_HOC || !thread->open[node];

	if (!account->asked)
		account->start_ps = now_ps;
	account->asked = true;
	thread->open[node] = true;
	thread->node = node;
	thread->due_ps = now_ps + (opens ? 2 : 1) * t->params->rtt_ps;
	account->questions++;
	account->connections += opens;
	account->received_bytes += opens ? HELLO_BYTES : 0;
	account->sent_bytes += bytes;
}

/* Of a node that is here: others' are recorded where they are. */
static void
record(const struct flow_tracing *t, uint32_t node, void *rec, enum rec_type type, size_t size, uint64_t now_ps)
{
	if (!partition_is_remote(t->emulation, node))
		recbuf_put(t->emulation->records[node], rec, type, size, now_ps);
}

/* A host is through with the round, or the run is. */
static void
end_account(struct flow_tracing *t, uint32_t host, uint64_t now_ps)
{
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

	record(t, host, &rec, REC_TRACE_ROUND, sizeof(rec), now_ps);
	account->asked = false;
}

static const struct flow *
flow_at(const struct flow_tracing *t, const struct trace_process *process, uint32_t at)
{
	return &t->flows->flows[process->flows[at]];
}

/* ---- pairs ---- */

/* Flows of the process' pair: all, or those that samples report. @return whether there is one */
static bool
choose_flows(const struct flow_tracing *t, struct trace_process *process)
{
	const struct flow_pair *pair = &t->pairs.pairs[process->pair];

	process->count = 0;
	for (uint32_t i = 0; i < pair->count; i++) {
		uint32_t flow = t->pairs.order[pair->first + i];

		if (!by_samples(t) || t->samples.reported[flow].messages != 0)
			process->flows[process->count++] = flow;
	}
	return process->count != 0;
}

/* The first switch on the path of a flow of the pair. */
static void
begin_flow(struct flow_tracing *t, const struct trace_process *process, struct trace_thread *thread, uint64_t now_ps)
{
	const struct flow *flow = flow_at(t, process, thread->at);

	topo_walk_begin(&thread->walk, t->emulation->scenario->topo, flow->src_node, process->reported[thread->at].nic,
			flow->dst_ip);
	ask(t, thread, process->host, thread->walk.node, ASK_EGRESS_BYTES, now_ps);
}

/* Its flows are known: all threads begin. */
static void
begin_flows(struct flow_tracing *t, struct trace_process *process, uint64_t now_ps)
{

	process->threads[0].due_ps = TIME_NEVER;
	process->busy = process->count < t->nthreads ? process->count : t->nthreads;
	for (uint32_t i = 0; i < process->busy; i++) {
		process->threads[i].at = i;
		begin_flow(t, process, &process->threads[i], now_ps);
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
begin_pair(struct flow_tracing *t, struct trace_process *process, uint64_t now_ps)
{

	for (; process->pair < t->pairs.npairs && !choose_flows(t, process); process->pair += t->nprocesses)
		t->left--;
	if (process->pair >= t->pairs.npairs) {
		if (t->left == 0 && t->tracing)
			end_round(t, now_ps);
		return;
	}
	process->host = flow_at(t, process, 0)->src_node;
	if (!by_samples(t)) {
		process->listing = true;
		ask(t, &process->threads[0], process->host, process->host, ASK_FLOWS_BYTES, now_ps);
		return;
	}
	for (uint32_t i = 0; i < process->count; i++)
		process->reported[i] = t->samples.reported[process->flows[i]];
	begin_flows(t, process, now_ps);
}

/* Of the first round or a later one: all processes begin with their first pairs. */
static void
begin_pairs(struct flow_tracing *t, uint64_t now_ps)
{

	t->tracing = true;
	for (uint32_t p = 0; p < t->nprocesses; p++) {
		t->processes[p].pair = p;
		begin_pair(t, &t->processes[p], now_ps);
	}
}

/* ---- the end of a flow ---- */

static void
add_port(uint64_t *low, uint64_t *high, uint32_t port)
{
	*(port < 64 ? low : high) |= UINT64_C(1) << port % 64;
}

/*
 * A flow's trace ends here. Its thread takes its next flow of the pair; after the last one the process takes the next
 * pair.
 */
static void
end_flow(struct flow_tracing *t, const struct trace_process *process, const struct trace_thread *thread,
	 enum rec_trace_result result, uint64_t now_ps)
{
	const struct flow *flow = flow_at(t, process, thread->at);
	const struct topo_node *host = &t->emulation->scenario->topo->nodes[flow->src_node];
	struct host_account *account = &t->accounts[flow->src_node];
	const struct embedded_flow *reported = &process->reported[thread->at];
	struct rec_traced rec = {
		.tuple = flow_tuple(flow),
		.reported_ps = by_samples(t) ? t->samples.reported_ps[process->flows[thread->at]] : process->reported_ps,
		.messages = reported->messages,
		.round = t->round,
		.nic = reported->nic,
		.result = (uint16_t)result,
	};

	for (uint32_t nic = 0; nic < host->nports; nic++)
		if (host->bonded || nic == reported->nic)
			add_port(&rec.set_low, &rec.set_high, nic);
	record(t, flow->src_node, &rec, REC_TRACED, sizeof(rec), now_ps);
	account->traced += result == REC_TRACE_EGRESS || result == REC_TRACE_SPRAYED;
	account->done++;
}

static void
next_flow(struct flow_tracing *t, struct trace_process *process, struct trace_thread *thread, uint64_t now_ps)
{

	thread->due_ps = TIME_NEVER;
	thread->at += t->nthreads;
	if (thread->at < process->count) {
		begin_flow(t, process, thread, now_ps);
		return;
	}
	if (--process->busy != 0)
		return;
	if (t->accounts[process->host].done == t->accounts[process->host].flows)
		end_account(t, process->host, now_ps);
	t->left--;
	process->pair += t->nprocesses;
	begin_pair(t, process, now_ps);
}

/* The host has sent its flows to the pair's destination. */
static void
take_list(struct flow_tracing *t, struct trace_process *process, uint64_t now_ps)
{

	process->listing = false;
	process->reported_ps = now_ps;
	memcpy(process->reported, t->replies + process->threads[0].reply_at, process->count * sizeof(*process->reported));
	t->accounts[process->host].received_bytes += FLOWS_BYTES + process->count * sizeof(struct swm_flow);
	begin_flows(t, process, now_ps);
}

/* The path as known where the walk is. A path that loops or reaches another host is astray. */
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
take_egress(struct flow_tracing *t, struct trace_process *process, struct trace_thread *thread, uint64_t now_ps)
{
	const struct flow *flow = flow_at(t, process, thread->at);
	struct swm_egress rows[SWM_EGRESS_ROWS];
	size_t count = thread->reply_bytes / sizeof(rows[0]);
	struct rec_traced_hop rec = { .tuple = flow_tuple(flow),
				      .round = t->round,
				      .hop = (uint16_t)thread->walk.path.hops,
				      .in_port = thread->walk.in_port,
				      .out_port = REC_NO_PORT };
	bool goes_on;

	memcpy(rows, t->replies + thread->reply_at, thread->reply_bytes);
	goes_on = topo_walk_on(&thread->walk, t->emulation->scenario->topo, &rows[0]);
	rec.result = (uint16_t)(rows[0].result == SWM_FORWARDED ? REC_TRACE_EGRESS : result_of(&thread->walk));
	if (rec.result == REC_TRACE_EGRESS)
		rec.out_port = rows[0].port;
	t->accounts[flow->src_node].received_bytes += EGRESS_BYTES + (count - 1) * sizeof(rows[0]);
	for (size_t i = 0; i < count; i++) {
		rec.set_low = rows[i].members[0];
		rec.set_high = rows[i].members[1];
		rec.first = rows[i].first;
		record(t, thread->node, &rec, REC_TRACED_HOP, sizeof(rec), now_ps);
	}
	if (goes_on) {
		ask(t, thread, process->host, thread->walk.node, ASK_EGRESS_BYTES, now_ps);
		return;
	}
	end_flow(t, process, thread, result_of(&thread->walk), now_ps);
	next_flow(t, process, thread, now_ps);
}

/* A process' first thread has the list of its host, or one of its threads the reply of a switch. */
static void
take_reply(struct flow_tracing *t, struct trace_process *process, struct trace_thread *thread, uint64_t now_ps)
{
	if (process->listing)
		take_list(t, process, now_ps);
	else
		take_egress(t, process, thread, now_ps);
}

/* ---- flows, by samples ---- */

/* A thread polls a leaf about the next port of a host, if there is one. */
static void
ask_feed(struct flow_tracing *t, struct trace_thread *thread, uint64_t now_ps)
{
	const struct samples_feed *feed = &t->samples.feeds[t->next_feed];

	thread->due_ps = TIME_NEVER;
	if (t->next_feed == t->samples.nfeeds)
		return;
	thread->at = t->next_feed++;
	ask(t, thread, feed->host, feed->leaf, ASK_SAMPLES_BYTES, now_ps);
}

/* All leaves have reported. Hosts without a known flow are not polled again. */
static void
end_feeds(struct flow_tracing *t, uint64_t now_ps)
{

	for (uint32_t i = 0; i < t->pairs.norder; i++)
		if (t->samples.reported[t->pairs.order[i]].messages != 0)
			t->accounts[t->flows->flows[t->pairs.order[i]].src_node].flows++;
	for (uint32_t node = 0; node < t->nnodes; node++)
		if (t->accounts[node].asked && t->accounts[node].flows == 0)
			end_account(t, node, now_ps);
	begin_pairs(t, now_ps);
}

static void
take_feed(struct flow_tracing *t, struct trace_thread *thread, uint64_t now_ps)
{
	const struct samples_feed *feed = &t->samples.feeds[thread->at];
	struct swm_sample rows[SWM_MAX_SAMPLES];

	memcpy(rows, t->replies + thread->reply_at, thread->reply_bytes);
	t->accounts[feed->host].received_bytes += sizeof(struct swm_hdr) + sizeof(struct swm_samples) + thread->reply_bytes;
	flow_samples_take(&t->samples, feed, rows, (uint32_t)(thread->reply_bytes / sizeof(rows[0])), t->index, now_ps);
	ask_feed(t, thread, now_ps);
	if (--t->feeds_left == 0)
		end_feeds(t, now_ps);
}

/* ---- devices reply ---- */

/* Of a device that is here, to a thread whose reply is due. @param bytes  the reply. @return for its bytes */
static void *
put_reply(struct flow_tracing *t, uint32_t p, uint32_t i, size_t bytes)
{
	struct trace_thread *thread = &t->processes[p].threads[i];
	const struct reply_of of = { p, i };

	t->replies = grow(t->replies, &t->replies_cap, t->replies_used + sizeof(of) + bytes, 1, "replies to a tracer");
	memcpy(t->replies + t->replies_used, &of, sizeof(of));
	thread->reply_at = t->replies_used + sizeof(of);
	thread->reply_bytes = bytes;
	t->replies_used = thread->reply_at + bytes;
	return t->replies + thread->reply_at;
}

/* A leaf's samples of a host's port. */
static void
reply_samples(struct flow_tracing *t, uint32_t p, uint32_t i)
{
	const struct samples_feed *feed = &t->samples.feeds[t->processes[p].threads[i].at];
	struct swm_sample rows[SWM_MAX_SAMPLES];
	struct swm_samples list = { 0 };

	switch_samples_list(t->emulation->switches[feed->leaf]->samples, feed->leaf_port, &list, rows);
	memcpy(put_reply(t, p, i, list.count * sizeof(rows[0])), rows, list.count * sizeof(rows[0]));
}

/* A host's flows to the pair's destination. */
static void
reply_flows(struct flow_tracing *t, uint32_t p, uint32_t i)
{
	const struct trace_process *process = &t->processes[p];
	uint8_t *reply = put_reply(t, p, i, process->count * sizeof(struct embedded_flow));

	for (uint32_t f = 0; f < process->count; f++) {
		struct embedded_flow flow = embedded_flow_of(t->emulation->hosts[process->host], process->flows[f]);

		memcpy(reply + f * sizeof(flow), &flow, sizeof(flow));
	}
}

/* The egress of a flow at a switch. */
static void
reply_egress(struct flow_tracing *t, uint32_t p, uint32_t i)
{
	const struct trace_process *process = &t->processes[p];
	const struct trace_thread *thread = &process->threads[i];
	const struct flow *flow = flow_at(t, process, thread->at);
	const struct swm_query query = { .src_ip = flow->src_ip,
					 .dst_ip = flow->dst_ip,
					 .sport = flow->sport,
					 .dport = flow->dport,
					 .in_port = thread->walk.in_port };
	struct swm_egress rows[SWM_EGRESS_ROWS];
	size_t bytes = answer_headers(t->emulation->switches[thread->node], t->index, &query, rows) * sizeof(rows[0]);

	memcpy(put_reply(t, p, i, bytes), rows, bytes);
}

static void
reply(struct flow_tracing *t, uint32_t p, uint32_t i)
{
	if (t->feeds_left != 0)
		reply_samples(t, p, i);
	else if (t->processes[p].listing)
		reply_flows(t, p, i);
	else
		reply_egress(t, p, i);
}

/* Whether a reply of another partition is one to this thread. */
static bool
is_reply(const struct flow_tracing *t, const struct reply_of *of, const uint8_t *bytes, size_t size, uint64_t now_ps)
{
	const struct trace_process *process = of->process < t->nprocesses ? &t->processes[of->process] : NULL;
	const struct topo *topo = t->emulation->scenario->topo;

	if (process == NULL || of->thread >= t->nthreads || process->threads[of->thread].due_ps > now_ps)
		return false;
	if (t->feeds_left != 0)
		return size % sizeof(struct swm_sample) == 0 && size <= SWM_MAX_SAMPLES * sizeof(struct swm_sample);
	if (!process->listing)
		return size % sizeof(struct swm_egress) == 0 && size != 0 &&
		       size <= SWM_EGRESS_ROWS * sizeof(struct swm_egress);
	for (uint32_t f = 0; f < process->count && size == process->count * sizeof(struct embedded_flow); f++) {
		struct embedded_flow flow;

		memcpy(&flow, bytes + f * sizeof(flow), sizeof(flow));
		if (flow.nic >= topo->nodes[process->host].nports)
			return false;
	}
	return size == process->count * sizeof(struct embedded_flow);
}

/* Replies of devices that are here go to all other partitions, and theirs arrive. */
static void
share_replies(struct flow_tracing *t, uint64_t now_ps)
{
	const struct partition *partition = t->emulation->partition;
	const struct partition_request *shared;
	struct reply_of of;
	uint32_t count;

	for (size_t at = 0; at < t->replies_used;) {
		const struct trace_thread *thread;

		memcpy(&of, t->replies + at, sizeof(of));
		thread = &t->processes[of.process].threads[of.thread];
		partition->ops->share(partition->ctx,
				      &(struct partition_request){ .node = thread->node,
								   .program = PARTITION_TRACER,
								   .time_ps = now_ps,
								   .bytes = t->replies + at,
								   .size = sizeof(of) + thread->reply_bytes });
		at = thread->reply_at + thread->reply_bytes;
	}
	shared = partition->ops->shared(partition->ctx, &count);
	for (uint32_t r = 0; r < count; r++) {
		const uint8_t *bytes = (const uint8_t *)shared[r].bytes + sizeof(of);
		size_t size = shared[r].size - sizeof(of);

		if (shared[r].size < sizeof(of))
			continue;
		memcpy(&of, shared[r].bytes, sizeof(of));
		if (is_reply(t, &of, bytes, size, now_ps))
			memcpy(put_reply(t, of.process, of.thread, size), bytes, size);
	}
}

/* All replies that are due. A partition that is lost sends none, and the run ends. */
static void
take_replies(struct flow_tracing *t, uint64_t now_ps)
{
	bool any = false;

	t->replies_used = 0;
	for (uint32_t p = 0; p < t->nprocesses; p++)
		for (uint32_t i = 0; i < t->nthreads; i++) {
			struct trace_thread *thread = &t->processes[p].threads[i];

			thread->reply_at = SIZE_MAX;
			if (thread->due_ps > now_ps)
				continue;
			any = true;
			if (!partition_is_remote(t->emulation, thread->node))
				reply(t, p, i);
		}
	if (any && t->emulation->partition != NULL)
		share_replies(t, now_ps);
}

/* ---- time ---- */

static void
begin_round(struct flow_tracing *t, uint64_t now_ps)
{

	t->left = t->pairs.npairs;
	t->round_ps = TIME_NEVER;
	memset(t->accounts, 0, t->nnodes * sizeof(*t->accounts));
	if (!by_samples(t)) {
		for (uint32_t i = 0; i < t->pairs.norder; i++)
			t->accounts[t->flows->flows[t->pairs.order[i]].src_node].flows++;
		begin_pairs(t, now_ps);
		return;
	}
	flow_samples_forget(&t->samples);
	t->next_feed = 0;
	t->feeds_left = t->samples.nfeeds;
	for (uint32_t p = 0; p < t->nprocesses; p++)
		for (uint32_t i = 0; i < t->nthreads; i++)
			ask_feed(t, &t->processes[p].threads[i], now_ps);
	if (t->feeds_left == 0)
		end_feeds(t, now_ps);
}

/* When the next reply is due, or the next round; TIME_NEVER: none. */
static uint64_t
next_ps(const void *state, uint64_t now_ps)
{
	const struct flow_tracing *t = state;
	uint64_t next_ps = t->pairs.npairs != 0 ? t->round_ps : TIME_NEVER;

	(void)now_ps;
	for (uint32_t p = 0; p < t->nprocesses; p++)
		for (uint32_t i = 0; i < t->nthreads; i++)
			if (t->processes[p].threads[i].due_ps < next_ps)
				next_ps = t->processes[p].threads[i].due_ps;
	return next_ps;
}

/* Replies that are due, and the next requests. */
static void
change(void *state, uint64_t now_ps)
{
	struct flow_tracing *t = state;

	if (t->pairs.npairs == 0)
		return;
	if (t->round_ps <= now_ps)
		begin_round(t, now_ps);
	take_replies(t, now_ps);
	for (uint32_t p = 0; p < t->nprocesses; p++) {
		struct trace_process *process = &t->processes[p];

		for (uint32_t i = 0; i < t->nthreads; i++) {
			if (process->threads[i].due_ps > now_ps)
				continue;
			if (process->threads[i].reply_at == SIZE_MAX)
				process->threads[i].due_ps = TIME_NEVER;
			else if (t->feeds_left != 0)
				take_feed(t, &process->threads[i], now_ps);
			else
				take_reply(t, process, &process->threads[i], now_ps);
		}
	}
}

/* The first round is not over. */
static bool
is_busy(const void *state)
{
	const struct flow_tracing *t = state;

	return t->pairs.npairs != 0 && t->round == 0;
}

/* Requests in flight stay without a reply. */
static void
finish(void *state, uint64_t end_ps)
{
	struct flow_tracing *t = state;

	for (uint32_t node = 0; node < t->nnodes; node++)
		if (t->accounts[node].asked)
			end_account(t, node, end_ps);
}

/* ---- the service ---- */

static int
create_process(const struct flow_tracing *t, struct trace_process *process)
{
	process->threads = calloc(t->nthreads, sizeof(*process->threads));
	process->reported = calloc(t->pairs.most + 1u, sizeof(*process->reported));
	process->flows = calloc(t->pairs.most + 1u, sizeof(*process->flows));
	if (process->threads == NULL || process->reported == NULL || process->flows == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->nthreads; i++) {
		process->threads[i].due_ps = TIME_NEVER;
		process->threads[i].open = calloc(t->nnodes, sizeof(bool));
		if (process->threads[i].open == NULL)
			return -ENOMEM;
	}
	return 0;
}

static int
create_processes(struct flow_tracing *t)
{
	int ret;

	t->nprocesses = (uint32_t)t->params->processes;
	t->nthreads = t->params->connections == REC_TRACE_PARALLEL ? (uint32_t)t->params->threads : 1;
	t->processes = calloc(t->nprocesses, sizeof(*t->processes));
	ret = t->processes != NULL ? 0 : -ENOMEM;
	for (uint32_t p = 0; ret == 0 && p < t->nprocesses; p++)
		ret = create_process(t, &t->processes[p]);
	return ret;
}

static int
create(struct emulation *emulation, const struct emulation_options *options, void **state, struct err *err)
{
	const struct scenario *sc = emulation->scenario;
	struct flow_tracing *t;

	(void)options;
	if (!sc->flowtracer.enabled || emulation->phase != EMULATION_RUN)
		return 0;
	t = *state = calloc(1, sizeof(*t));
	if (t == NULL)
		return err_set(err, -ENOMEM, "out of memory for a tracer of flows");
	t->emulation = emulation;
	t->params = &sc->flowtracer;
	t->flows = &sc->plan->flows;
	t->nnodes = sc->topo->nnodes;
	t->round_ps = t->params->start_ps;
	t->index = flow_index_create(t->flows);
	t->accounts = calloc(t->nnodes, sizeof(*t->accounts));
	if (t->index == NULL || t->accounts == NULL || flow_pairs_init(&t->pairs, t->flows, t->params->all_flows) != 0 ||
	    create_processes(t) != 0 ||
	    (by_samples(t) && flow_samples_init(&t->samples, sc->topo, t->flows, &t->pairs) != 0))
		return err_set(err, -ENOMEM, "out of memory to trace %u flows", t->flows->count);
	return 0;
}

static void
destroy(void *state)
{
	struct flow_tracing *t = state;

	for (uint32_t p = 0; t->processes != NULL && p < t->nprocesses; p++) {
		for (uint32_t i = 0; t->processes[p].threads != NULL && i < t->nthreads; i++)
			free(t->processes[p].threads[i].open);
		free(t->processes[p].threads);
		free(t->processes[p].reported);
		free(t->processes[p].flows);
	}
	flow_index_destroy(t->index);
	free(t->processes);
	free(t->replies);
	flow_samples_fini(&t->samples);
	flow_pairs_fini(&t->pairs);
	free(t->accounts);
	free(t);
}

static void
stream_head(const void *state, struct exporter *exporter)
{
	const struct flowtracer_params *params = ((const struct flow_tracing *)state)->params;
	struct rec_tracer rec = {
		.hdr.node = REC_NONE,
		.rtt_ps = params->rtt_ps,
		.period_ps = params->period_ps,
		.connections = (uint16_t)params->connections,
		.first_hop = (uint16_t)params->first_hop,
		.processes = (uint16_t)params->processes,
		.threads = (uint16_t)params->threads,
	};

	exporter_header(exporter, &rec, REC_TRACER, sizeof(rec));
}

const struct run_service service_flowtracer = {
	.name = "flowtracer",
	.create = create,
	.next_ps = next_ps,
	.change = change,
	.busy = is_busy,
	.stream_head = stream_head,
	.finish = finish,
	.destroy = destroy,
};
