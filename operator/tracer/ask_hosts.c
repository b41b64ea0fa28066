/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices are connected to, and hosts asked: Algorithm 1, lines 5 to 7. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operator/tracer/thread.h"

void
thread_give_up(struct thread *t, uint32_t node, const struct err *err)
{
	struct shared *shared = t->shared;

	pthread_mutex_lock(&shared->lock);
	if (atomic_load_explicit(&shared->silent[node], memory_order_relaxed) == NULL) {
		shared->process->silent[node] = strdup(err->text);
		atomic_store_explicit(&shared->silent[node],
				      shared->process->silent[node] != NULL ? shared->process->silent[node] : "",
				      memory_order_release);
	}
	pthread_mutex_unlock(&shared->lock);
}

void
thread_disconnect(struct thread *t, uint32_t node)
{
	if (t->clients[node] == NULL)
		return;
	client_close(t->clients[node]);
	free(t->clients[node]);
	t->clients[node] = NULL;
}

struct client *
thread_connect(struct thread *t, uint32_t node)
{
	const struct tracer_config *config = t->shared->process->config;
	const char *name = config->topo->nodes[node].name;
	struct err err = { 0 };
	char path[PATH_MAX];
	struct client *client = t->clients[node];

	if (client != NULL || atomic_load_explicit(&t->shared->silent[node], memory_order_acquire) != NULL)
		return client;
	client = malloc(sizeof(*client));
	if (client == NULL) {
		atomic_store(&t->shared->no_memory, true);
		return NULL;
	}
	client->timeout_ns = config->timeout_ns;
	client->bytes = &t->bytes;
	snprintf(path, sizeof(path), "%s/%s.manage", config->dir, name);
	t->connections++;
	if (client_open(client, path, name, &err) < 0) {
		thread_give_up(t, node, &err);
		free(client);
		return NULL;
	}
	return t->clients[node] = client;
}

/* A page of a host's flows. @return how many there are in all, negative: it does not say */
static int64_t
take_page(struct thread *t, struct client *client, uint32_t node, uint32_t i, uint32_t from, struct err *err)
{
	struct tracer_process *process = t->shared->process;
	struct swm_filter filter = process->config->filter;
	const struct swm_flows *list;
	const struct swm_flow *rows;
	struct traced *flows;
	const void *body;
	int ret;

	filter.from = from;
	t->messages++;
	ret = client_ask(client, SWM_FLOWS, &filter, sizeof(filter), "", 0, err);
	if (ret == 0)
		ret = client_reply(client, client->tag, SWM_FLOW_LIST, &body, err);
	if (ret < 0)
		return ret;
	list = body;
	rows = (const void *)(list + 1);
	if ((size_t)ret < sizeof(*list) || list->count > SWM_MAX_FLOWS ||
	    (size_t)ret != sizeof(*list) + list->count * sizeof(*rows) || list->from != from ||
	    list->total > TRACER_MAX_FLOWS || list->count > list->total ||
	    (list->count < SWM_MAX_FLOWS && from + list->count < list->total)) /* pages are full but for the last */
		return err_set(err, -EPROTO, "its list of flows is none, or has more than %u", TRACER_MAX_FLOWS);
	flows = realloc(process->lists[i], ((size_t)from + list->count + 1) * sizeof(*flows));
	if (flows == NULL)
		return err_set(err, -ENOMEM, "out of memory for flows");
	process->lists[i] = flows;
	for (uint32_t k = 0; k < list->count; k++)
		flows[from + k] = (struct traced){ .flow = rows[k], .source = node };
	process->nflows[i] = from + list->count;
	return list->count != 0 ? (int64_t)list->total : process->nflows[i];
}

/* All flows of one source, as it tells them. */
static void
ask_host(struct thread *t, uint32_t i)
{
	struct tracer_process *process = t->shared->process;
	uint32_t node = process->config->sources[process->first + i];
	struct client *client = thread_connect(t, node);
	struct err err = { 0 };
	int64_t total = 1;

	while (client != NULL && (int64_t)process->nflows[i] < total) {
		total = take_page(t, client, node, i, process->nflows[i], &err);
		if (total < 0)
			thread_give_up(t, node, &err);
	}
	thread_disconnect(t, node);
}

/* They leave by the ports that were told. */
static void
begin_walks(struct tracer_process *process, uint32_t i)
{
	for (uint32_t k = 0; k < process->nflows[i]; k++) {
		struct traced *traced = &process->lists[i][k];

		topo_walk_begin(&traced->walk, process->config->topo, traced->source, traced->flow.nic,
				traced->flow.dst_ip);
	}
}

void *
thread_ask_hosts(void *arg)
{
	struct thread *t = arg;
	struct tracer_process *process = t->shared->process;

	for (;;) {
		uint32_t i = atomic_fetch_add(&t->shared->next_source, 1);

		if (i >= process->count)
			return NULL;
		if (process->config->first_hop == REC_TRACE_SFLOW)
			thread_ask_leaves(t, i);
		else
			ask_host(t, i);
		begin_walks(process, i);
	}
}
