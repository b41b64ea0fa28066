/* SPDX-License-Identifier: BSD-3-Clause */
/* The tracer's life, its rounds and its clock; and how it comes to know of flows by samples. */
#include "emulation/flow_tracing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire/record.h"
#include "emulation/flow_tracing_state.h"

/* What one question and its reply take on the management network (common/wire/switch_manage.h). */
#define ASK_SAMPLES_BYTES (sizeof(struct swm_hdr) + sizeof(struct swm_sampled))
#define HELLO_BYTES (sizeof(struct swm_hdr) + sizeof(struct swm_hello))

/* ---- from creation to the first question ---- */

static int
create_process(const struct flow_tracing *t, struct trace_process *process)
{
	process->threads = calloc(t->nthreads, sizeof(*process->threads));
	process->told = calloc(t->pairs.most + 1u, sizeof(*process->told));
	process->flows = calloc(t->pairs.most + 1u, sizeof(*process->flows));
	if (process->threads == NULL || process->told == NULL || process->flows == NULL)
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
	    create_processes(t) != 0 ||
	    (flow_tracing_samples(t) && flow_samples_init(&t->samples, sc->topo, t->flows, &t->pairs) != 0))
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
		free(t->processes[p].flows);
	}
	flow_index_destroy(t->index);
	free(t->processes);
	flow_samples_fini(&t->samples);
	flow_pairs_fini(&t->pairs);
	free(t->accounts);
	free(t);
}

void
flow_tracing_ask(struct flow_tracing *t, struct trace_thread *thread, uint32_t host, uint32_t node, size_t bytes,
		 uint64_t now_ps)
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

void
flow_tracing_account(struct emulation *emulation, uint32_t host, uint64_t now_ps)
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

/* ---- flows, by samples ---- */

/* A thread asks a leaf about the next port of a host, if there is one. */
static void
ask_feed(struct flow_tracing *t, struct trace_thread *thread, uint64_t now_ps)
{
	const struct samples_feed *feed = &t->samples.feeds[t->next_feed];

	thread->due_ps = TIME_NEVER;
	if (t->next_feed == t->samples.nfeeds)
		return;
	thread->at = t->next_feed++;
	flow_tracing_ask(t, thread, feed->host, feed->leaf, ASK_SAMPLES_BYTES, now_ps);
}

/* All leaves have told: of hosts of which no flow is known nothing more is asked. */
static void
end_feeds(struct emulation *emulation, uint64_t now_ps)
{
	struct flow_tracing *t = emulation->tracing;

	for (uint32_t i = 0; i < t->pairs.norder; i++)
		if (t->samples.told[t->pairs.order[i]].messages != 0)
			t->accounts[t->flows->flows[t->pairs.order[i]].src_node].flows++;
	for (uint32_t node = 0; node < t->nnodes; node++)
		if (t->accounts[node].asked && t->accounts[node].flows == 0)
			flow_tracing_account(emulation, node, now_ps);
	flow_tracing_pairs(emulation, now_ps);
}

static void
take_feed(struct emulation *emulation, struct trace_thread *thread, uint64_t now_ps)
{
	struct flow_tracing *t = emulation->tracing;
	const struct samples_feed *feed = &t->samples.feeds[thread->at];

	t->accounts[feed->host].received_bytes +=
		sizeof(struct swm_hdr) +
		flow_samples_take(&t->samples, feed, emulation->switches[feed->leaf], t->index, now_ps);
	ask_feed(t, thread, now_ps);
	if (--t->feeds_left == 0)
		end_feeds(emulation, now_ps);
}

/* ---- time ---- */

static void
begin_round(struct emulation *emulation, uint64_t now_ps)
{
	struct flow_tracing *t = emulation->tracing;

	t->left = t->pairs.npairs;
	t->round_ps = TIME_NEVER;
	memset(t->accounts, 0, t->nnodes * sizeof(*t->accounts));
	if (!flow_tracing_samples(t)) {
		for (uint32_t i = 0; i < t->pairs.norder; i++)
			t->accounts[t->flows->flows[t->pairs.order[i]].src_node].flows++;
		flow_tracing_pairs(emulation, now_ps);
		return;
	}
	flow_samples_forget(&t->samples);
	t->next_feed = 0;
	t->feeds_left = t->samples.nfeeds;
	for (uint32_t p = 0; p < t->nprocesses; p++)
		for (uint32_t i = 0; i < t->nthreads; i++)
			ask_feed(t, &t->processes[p].threads[i], now_ps);
	if (t->feeds_left == 0)
		end_feeds(emulation, now_ps);
}

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
		begin_round(emulation, now_ps);
	for (uint32_t p = 0; p < t->nprocesses; p++) {
		struct trace_process *process = &t->processes[p];

		for (uint32_t i = 0; i < t->nthreads; i++) {
			if (process->threads[i].due_ps > now_ps)
				continue;
			if (t->feeds_left != 0)
				take_feed(emulation, &process->threads[i], now_ps);
			else
				flow_tracing_reply(emulation, process, &process->threads[i], now_ps);
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
			flow_tracing_account(emulation, node, now_ps);
}
