/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows are traced hop by hop: Algorithm 1, lines 9 to 13. */
#include <errno.h>
#include <stdlib.h>

#include "operator/tracer/thread.h"

static struct topo_walk *
walk_of(const struct thread *t, uint32_t i)
{
	return &t->shared->all[t->batch[i]]->walk;
}

/* Sends the questions of walks [from, to) of the batch, which are all at one switch. */
static void
ask_switch(struct thread *t, uint32_t from, uint32_t to)
{
	uint32_t node = walk_of(t, from)->node;
	struct client *client = thread_connect(t, node);
	const struct swm_list list = { .count = to - from };
	struct err err = { 0 };

	for (uint32_t i = from; i < to; i++) {
		const struct swm_flow *flow = &t->shared->all[t->batch[i]]->flow;

		t->queries[i] = (struct swm_query){ flow->src_ip,          flow->dst_ip,   flow->sport,
						    flow->dport,           flow->protocol, 0,
						    walk_of(t, i)->in_port };
		t->tags[i] = client != NULL ? client->tag + 1 : 0;
	}
	if (client == NULL)
		return;
	t->messages++;
	t->questions += list.count;
	if (client_ask(client, SWM_EGRESS, &list, sizeof(list), &t->queries[from], list.count * sizeof(t->queries[0]),
		       &err) == 0)
		return;
	thread_give_up(t, node, &err);
	thread_disconnect(t, node);
}

/* Takes the answers to them. */
static void
hear_switch(struct thread *t, uint32_t from, uint32_t to)
{
	uint32_t node = walk_of(t, from)->node, count = to - from;
	struct client *client = t->clients[node];
	const struct swm_list *list = NULL;
	const struct swm_egress *rows;
	struct err err = { 0 };
	const void *body;
	int ret = -EPIPE;

	if (client != NULL) {
		ret = client_reply(client, t->tags[from], SWM_EGRESSES, &body, &err);
		list = body;
		if (ret >= 0 && ((size_t)ret != sizeof(*list) + count * sizeof(*rows) || list->count != count))
			ret = err_set(&err, -EPROTO, "it answers other questions than it was asked");
		if (ret < 0) {
			thread_give_up(t, node, &err);
			thread_disconnect(t, node);
		}
	}
	for (uint32_t i = from; i < to; i++) {
		struct topo_walk *walk = walk_of(t, i);

		rows = (const void *)(list + 1);
		if (ret < 0)
			topo_walk_unanswered(walk);
		else
			topo_walk_on(walk, t->shared->process->config->topo, &rows[i - from]);
	}
}

static int
by_node(const void *a, const void *b, void *arg)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	struct traced *const *all = arg;

	if (all[x]->walk.node != all[y]->walk.node)
		return all[x]->walk.node < all[y]->walk.node ? -1 : 1;
	return (x > y) - (x < y);
}

/* @return walks that go on, moved to the front */
static uint32_t
keep_going(struct thread *t, uint32_t count)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++)
		if (walk_of(t, i)->state == WALK_GOES_ON)
			t->batch[kept++] = t->batch[i];
	return kept;
}

/* Calls something for each group of walks at the same switch. */
static void
by_switch(struct thread *t, uint32_t count, void (*call)(struct thread *t, uint32_t from, uint32_t to))
{
	for (uint32_t from = 0, to; from < count; from = to) {
		for (to = from + 1; to < count && walk_of(t, to)->node == walk_of(t, from)->node; to++)
			;
		call(t, from, to);
	}
}

static void
trace_batch(struct thread *t, uint32_t count)
{
	for (count = keep_going(t, count); count != 0; count = keep_going(t, count)) {
		qsort_r(t->batch, count, sizeof(t->batch[0]), by_node, t->shared->all);
		by_switch(t, count, ask_switch);
		by_switch(t, count, hear_switch);
	}
}

/* Flows number, number + threads, ... */
void *
thread_trace_flows(void *arg)
{
	struct thread *t = arg;
	const struct tracer_config *config = t->shared->process->config;

	for (uint32_t at = t->number; at < t->shared->nall;) {
		uint32_t count = 0;

		for (; count < config->batch && at < t->shared->nall; at += t->threads)
			t->batch[count++] = at;
		trace_batch(t, count);
		for (uint32_t node = 0; config->connections == TRACER_AD_HOC && node < config->topo->nnodes; node++)
			thread_disconnect(t, node);
	}
	return NULL;
}
