/* SPDX-License-Identifier: BSD-3-Clause */
#include "operator/tracer/process.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/flow.h"
#include "common/printable.h"

/* State that threads share: the process, and the fields that they write under the lock. */
struct shared {
	struct tracer_process *process;
	pthread_mutex_t lock;          /* of process->silent's texts, process->work */
	_Atomic(const char *) *silent; /* [nnodes] as process->silent: published once, never taken back */
	struct traced **all;           /* [nall] flows of all sources */
	uint32_t nall;
	atomic_uint next_source; /* taken by threads in turn */
	atomic_bool no_memory;
};

struct thread {
	struct shared *shared;
	uint32_t number, threads;
	struct client **clients; /* [nnodes] connections; NULL: none */
	uint32_t *batch;         /* [config->batch] walks in progress, as indices in shared->all */
	struct swm_query *queries;
	uint32_t *tags; /* [config->batch] of the request that a walk is in */
	uint64_t bytes, connections, questions, messages, samples, pool;
	pthread_t id;
};

static void thread_ask_leaves(struct thread *t, uint32_t i);

/* ---- Devices are connected to, and hosts queried: Algorithm 1, lines 5 to 7 ---- */

static void
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

static void
thread_disconnect(struct thread *t, uint32_t node)
{
	if (t->clients[node] == NULL)
		return;
	client_close(t->clients[node]);
	free(t->clients[node]);
	t->clients[node] = NULL;
}

static struct client *
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

/* A page of a host's flows. @return their total number; negative: no reply */
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

/* All flows of one source, as it reports them. */
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

/* Walks begin at the ports that the hosts reported. */
static void
begin_walks(struct tracer_process *process, uint32_t i)
{
	for (uint32_t k = 0; k < process->nflows[i]; k++) {
		struct traced *traced = &process->lists[i][k];

		topo_walk_begin(&traced->walk, process->config->topo, traced->source, traced->flow.nic,
				traced->flow.dst_ip);
	}
}

static void *
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

/* ---- Where hosts do not report: flows and their ports from packets that leaf switches sampled (III-B1) ---- */

/* A flow by one NIC, and its number of samples. */
struct seen {
	struct swm_flow flow;
	uint32_t samples;
};

/* Sampled flows of one source. */
struct sightings {
	struct seen *rows; /* [count] */
	size_t count;
};

static int
by_tuple(const struct swm_flow *x, const struct swm_flow *y)
{
	const uint64_t left[] = { x->src_ip, x->dst_ip, x->sport, x->dport, x->protocol };
	const uint64_t right[] = { y->src_ip, y->dst_ip, y->sport, y->dport, y->protocol };

	for (int i = 0; i < 5; i++)
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	return 0;
}

/* Compares by flow, and then the number of samples: the NIC of most first. */
static int
by_flow(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;
	int order = by_tuple(&x->flow, &y->flow);

	if (order != 0)
		return order;
	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return (x->flow.nic > y->flow.nic) - (x->flow.nic < y->flow.nic);
}

/* Keeps the first of each flow's rows in a sorted array. @param add  it gets the others' samples. @return rows kept */
static size_t
unique(struct seen *rows, size_t count, bool add)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (kept == 0 || by_tuple(&rows[kept - 1].flow, &rows[i].flow) != 0)
			rows[kept++] = rows[i];
		else if (add)
			rows[kept - 1].samples += rows[i].samples;
	}
	return kept;
}

static bool
is_wanted(const struct swm_sample *sample, const struct swm_filter *filter, uint32_t ip)
{
	return sample->src_ip == ip && sample_is_of_flow(sample) &&
	       (filter->dst_ip == 0 || filter->dst_ip == sample->dst_ip) &&
	       (filter->dport == 0 || filter->dport == sample->dport) &&
	       (filter->protocol == 0 || filter->protocol == sample->protocol);
}

/* Samples of one port become flows of the NIC that it is cabled to. @return 0 or -ENOMEM */
static int
take_samples(struct thread *t, struct sightings *seen, const struct swm_sample *rows, uint32_t count,
	     const struct topo_port *port)
{
	const struct tracer_config *config = t->shared->process->config;
	uint32_t ip = topo_host_ip(config->topo, port->node, port->index);
	struct seen *more = realloc(seen->rows, (seen->count + count + 1) * sizeof(*more));
	size_t first = seen->count;

	if (more == NULL)
		return -ENOMEM;
	seen->rows = more;
	for (uint32_t k = 0; k < count; k++) {
		struct swm_flow flow = { .src_ip = rows[k].src_ip,
					 .dst_ip = rows[k].dst_ip,
					 .sport = rows[k].sport,
					 .dport = rows[k].dport,
					 .protocol = rows[k].protocol,
					 .flags = rows[k].is_rocev2 ? SWM_RDMA : 0,
					 .nic = port->index,
					 .job = SWM_ANY };

		if (is_wanted(&rows[k], &config->filter, ip))
			more[seen->count++] = (struct seen){ .flow = flow, .samples = 1 };
	}
	qsort(&more[first], seen->count - first, sizeof(*more), by_flow);
	seen->count = first + unique(&more[first], seen->count - first, true);
	return 0;
}

/* A leaf's samples of a host's port. @return 0; negative with err: no reply, or an invalid one */
static int
ask_leaf(struct thread *t, const struct topo_port *port, struct sightings *seen, struct err *err)
{
	const struct swm_sampled asked = { .port = port->peer_index };
	struct client *client = thread_connect(t, port->peer);
	const struct swm_samples *list;
	const void *body;
	int ret;

	if (client == NULL)
		return 0; /* the reason was reported */
	t->messages++;
	ret = client_ask(client, SWM_SAMPLES, &asked, sizeof(asked), "", 0, err);
	if (ret == 0)
		ret = client_reply(client, client->tag, SWM_SAMPLE_LIST, &body, err);
	if (ret < 0)
		return ret;
	list = body;
	if ((size_t)ret < sizeof(*list) || list->count > SWM_MAX_SAMPLES ||
	    (size_t)ret != sizeof(*list) + list->count * sizeof(struct swm_sample))
		return err_set(err, -EPROTO, "its list of samples is none, or has more than %u", SWM_MAX_SAMPLES);
	t->samples += list->count;
	t->pool += list->sample_pool;
	return take_samples(t, seen, (const void *)(list + 1), list->count, port);
}

/* The flows that are seen of a source become its list. */
static void
list_flows(struct thread *t, uint32_t i, struct sightings *seen)
{
	struct tracer_process *process = t->shared->process;

	if (seen->count != 0)
		qsort(seen->rows, seen->count, sizeof(*seen->rows), by_flow);
	seen->count = unique(seen->rows, seen->count, false);
	process->lists[i] = calloc(seen->count + 1, sizeof(*process->lists[i]));
	if (process->lists[i] == NULL) {
		atomic_store(&t->shared->no_memory, true);
		return;
	}
	for (size_t k = 0; k < seen->count; k++)
		process->lists[i][k] = (struct traced){ .flow = seen->rows[k].flow,
							.source = process->config->sources[process->first + i] };
	process->nflows[i] = (uint32_t)seen->count;
}

static void
thread_ask_leaves(struct thread *t, uint32_t i)
{
	const struct tracer_process *process = t->shared->process;
	const struct topo *topo = process->config->topo;
	uint32_t node = process->config->sources[process->first + i];
	struct sightings seen = { 0 };

	for (uint16_t nic = 0; nic < topo->nodes[node].nports; nic++) {
		const struct topo_port *port = topo_port_of(topo, node, nic);
		struct err err = { 0 };
		int ret = ask_leaf(t, port, &seen, &err);

		if (ret == -ENOMEM)
			atomic_store(&t->shared->no_memory, true);
		else if (ret < 0)
			thread_give_up(t, port->peer, &err);
		if (ret < 0 || process->config->connections == TRACER_AD_HOC)
			thread_disconnect(t, port->peer);
	}
	list_flows(t, i, &seen);
	free(seen.rows);
}

/* ---- Flows are traced hop by hop: Algorithm 1, lines 9 to 13 ---- */

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

/* @return whether a reply of EGRESSES has one answer for each of count questions */
static bool
are_answers(const struct swm_list *list, size_t size, uint32_t count)
{
	const struct swm_egress *rows = (const void *)(list + 1);
	uint32_t answers = 0;

	if (size < sizeof(*list) || size != sizeof(*list) + (size_t)list->count * sizeof(*rows))
		return false;
	for (uint32_t i = 0; i < list->count; i++)
		answers += rows[i].more == 0;
	return answers == count && (list->count == 0 || rows[list->count - 1].more == 0);
}

/* Takes the answers to them. */
static void
receive_switch(struct thread *t, uint32_t from, uint32_t to)
{
	uint32_t node = walk_of(t, from)->node, count = to - from;
	struct client *client = t->clients[node];
	const struct swm_list *list = NULL;
	const struct swm_egress *row;
	struct err err = { 0 };
	const void *body;
	int ret = -EPIPE;

	if (client != NULL) {
		ret = client_reply(client, t->tags[from], SWM_EGRESSES, &body, &err);
		list = body;
		if (ret >= 0 && !are_answers(list, (size_t)ret, count))
			ret = err_set(&err, -EPROTO, "it answers other questions than it was asked");
		if (ret < 0) {
			thread_give_up(t, node, &err);
			thread_disconnect(t, node);
		}
	}
	row = ret >= 0 ? (const void *)(list + 1) : NULL;
	for (uint32_t i = from; i < to; i++) {
		struct topo_walk *walk = walk_of(t, i);

		if (row == NULL) {
			topo_walk_unanswered(walk);
			continue;
		}
		topo_walk_on(walk, t->shared->process->config->topo, row);
		while (row->more != 0)
			row++;
		row++;
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
		by_switch(t, count, receive_switch);
	}
}

/* Flows number, number + threads, ... */
static void *
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

/* ---- The process ---- */

static void
thread_fini(struct thread *t)
{
	struct tracer_work *work = &t->shared->process->work;

	for (uint32_t node = 0; t->clients != NULL && node < t->shared->process->config->topo->nnodes; node++)
		thread_disconnect(t, node);
	work->bytes += t->bytes;
	work->connections += t->connections;
	work->questions += t->questions;
	work->messages += t->messages;
	work->samples += t->samples;
	work->pool += t->pool;
	free(t->clients);
	free(t->batch);
	free(t->queries);
	free(t->tags);
}

static bool
thread_init(struct thread *t, struct shared *shared, uint32_t number, uint32_t threads)
{
	const struct tracer_config *config = shared->process->config;

	*t = (struct thread){ .shared = shared, .number = number, .threads = threads };
	t->clients = calloc(config->topo->nnodes, sizeof(*t->clients));
	t->batch = calloc(config->batch, sizeof(*t->batch));
	t->queries = calloc(config->batch, sizeof(*t->queries));
	t->tags = calloc(config->batch, sizeof(*t->tags));
	return t->clients != NULL && t->batch != NULL && t->queries != NULL && t->tags != NULL;
}

/* One phase on all threads; a thread that cannot be started has its part done by this one. */
static void
run_threads(struct thread *threads, uint32_t count, void *(*phase)(void *arg))
{
	bool started[TRACER_MAX_THREADS] = { false };

	for (uint32_t i = 1; i < count; i++)
		started[i] = pthread_create(&threads[i].id, NULL, phase, &threads[i]) == 0;
	for (uint32_t i = 0; i < count; i++)
		if (!started[i])
			phase(&threads[i]);
	for (uint32_t i = 1; i < count; i++)
		if (started[i])
			pthread_join(threads[i].id, NULL);
}

/* @return 0 or -ENOMEM */
static int
gather(struct shared *shared)
{
	const struct tracer_process *process = shared->process;
	uint64_t count = 0;

	for (uint32_t i = 0; i < process->count; i++)
		count += process->nflows[i];
	if (count > TRACER_MAX_FLOWS)
		return -ENOMEM;
	shared->all = calloc(count + 1, sizeof(*shared->all));
	if (shared->all == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < process->count; i++)
		for (uint32_t k = 0; k < process->nflows[i]; k++)
			shared->all[shared->nall++] = &process->lists[i][k];
	return 0;
}

int
tracer_process_run(struct tracer_process *process)
{
	const struct tracer_config *config = process->config;
	uint32_t count = config->connections == TRACER_PARALLEL ? config->threads : 1, nodes = config->topo->nnodes;
	struct shared shared = { .process = process, .lock = PTHREAD_MUTEX_INITIALIZER };
	struct thread threads[TRACER_MAX_THREADS];
	bool room = true;
	int ret = -ENOMEM;

	process->lists = calloc(process->count + 1u, sizeof(*process->lists));
	process->nflows = calloc(process->count + 1u, sizeof(*process->nflows));
	process->silent = calloc(nodes, sizeof(*process->silent));
	shared.silent = calloc(nodes, sizeof(*shared.silent));
	for (uint32_t i = 0; i < count; i++)
		room &= thread_init(&threads[i], &shared, i, count);
	if (room && process->lists != NULL && process->nflows != NULL && process->silent != NULL && shared.silent != NULL) {
		run_threads(threads, count, thread_ask_hosts);
		ret = gather(&shared);
		if (ret == 0)
			run_threads(threads, count, thread_trace_flows);
		if (atomic_load(&shared.no_memory))
			ret = -ENOMEM;
	}
	for (uint32_t i = 0; i < count; i++)
		thread_fini(&threads[i]);
	free((void *)shared.silent);
	free(shared.all);
	return ret;
}

/* Waits until a socket is ready for events, or a time. @return 0 or -ETIMEDOUT */
static int
wait_for(const struct client *client, short events, uint64_t until_ns, struct err *err)
{
	struct pollfd fd = { .fd = client->fd, .events = events };

	for (;;) {
		uint64_t now_ns = clock_now_ns();
		struct timespec rest = { 0, 0 };
		int ret;

		if (now_ns < until_ns)
			rest = (struct timespec){ (time_t)((until_ns - now_ns) / 1000000000),
						  (long)((until_ns - now_ns) % 1000000000) };
		ret = ppoll(&fd, 1, &rest, NULL);
		if (ret > 0)
			return 0;
		if (ret == 0)
			return err_set(err, -ETIMEDOUT, "no answer within %.3g s", (double)client->timeout_ns / 1e9);
		if (errno != EINTR)
			return err_set(err, -errno, "poll: %s", strerror(errno));
	}
}

static int
read_all(struct client *client, uint8_t *to, size_t size, uint64_t until_ns, struct err *err)
{
	for (size_t at = 0; at < size;) {
		ssize_t got = recv(client->fd, to + at, size - at, MSG_DONTWAIT);
		int ret;

		if (got > 0) {
			at += (size_t)got;
			*client->bytes += (uint64_t)got;
			continue;
		}
		if (got == 0)
			return err_set(err, -EPIPE, "it closed the connection");
		if (errno != EAGAIN && errno != EINTR)
			return err_set(err, -errno, "%s", strerror(errno));
		ret = wait_for(client, POLLIN, until_ns, err);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int
send_all(struct client *client, const void *data, size_t size, uint64_t until_ns, struct err *err)
{
	for (size_t at = 0; at < size;) {
		ssize_t sent = send(client->fd, (const uint8_t *)data + at, size - at, MSG_DONTWAIT | MSG_NOSIGNAL);
		int ret;

		if (sent >= 0) {
			at += (size_t)sent;
			*client->bytes += (uint64_t)sent;
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return err_set(err, -errno, "%s", strerror(errno));
		ret = wait_for(client, POLLOUT, until_ns, err);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int
client_ask(struct client *client, enum swm_type type, const void *body, size_t size, const void *rows, size_t rows_bytes,
	   struct err *err)
{
	const struct swm_hdr hdr = { SWM_MAGIC, SWM_VERSION, (uint16_t)type, (uint32_t)(size + rows_bytes), ++client->tag };
	uint64_t until_ns = clock_now_ns() + client->timeout_ns;
	uint8_t head[sizeof(hdr) + 64];
	int ret;

	memcpy(head, &hdr, sizeof(hdr));
	memcpy(head + sizeof(hdr), body, size);
	ret = send_all(client, head, sizeof(hdr) + size, until_ns, err);
	return ret == 0 ? send_all(client, rows, rows_bytes, until_ns, err) : ret;
}

int
client_reply(struct client *client, uint32_t tag, enum swm_type type, const void **body, struct err *err)
{
	uint64_t until_ns = clock_now_ns() + client->timeout_ns;
	struct swm_hdr *hdr = (void *)client->buf;
	struct swm_refused *refused = (void *)(hdr + 1);
	int ret = read_all(client, client->buf, sizeof(*hdr), until_ns, err);

	if (ret < 0)
		return ret;
	if (hdr->magic != SWM_MAGIC || hdr->version != SWM_VERSION || hdr->size > SWM_MAX_REPLY)
		return err_set(err, -EPROTO, "what answers there is no management socket of version %u", SWM_VERSION);
	ret = read_all(client, client->buf + sizeof(*hdr), hdr->size, until_ns, err);
	if (ret < 0)
		return ret;
	if (hdr->tag != tag)
		return err_set(err, -EPROTO, "its reply is to another request");
	if (hdr->type == SWM_REFUSED && hdr->size == sizeof(*refused)) {
		refused->text[sizeof(refused->text) - 1] = '\0';
		return err_set(err, -EACCES, "%s", printable_text(refused->text, refused->text, sizeof(refused->text)));
	}
	if (hdr->type != type)
		return err_set(err, -EPROTO, "its reply is of type %u; right would be %u", hdr->type, type);
	*body = hdr + 1;
	return (int)hdr->size;
}

static int
connect_to(struct client *client, const char *path, struct err *err)
{
	const struct timeval timeout = { (time_t)(client->timeout_ns / 1000000000),
					 (suseconds_t)(client->timeout_ns % 1000000000 / 1000) };
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(address.sun_path))
		return err_set(err, -ENAMETOOLONG, "%s: a socket's path has at most %zu characters", path,
			       sizeof(address.sun_path) - 1);
	strcpy(address.sun_path, path);
	client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (client->fd < 0)
		return err_set(err, -errno, "socket: %s", strerror(errno));
	/* of one that is frozen the queue of connections fills */
	if (setsockopt(client->fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) == 0 &&
	    connect(client->fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return 0;
	return err_set(err, errno == EAGAIN ? -ETIMEDOUT : -errno, "%s: %s", path,
		       errno == EAGAIN ? "it does not accept connections" : strerror(errno));
}

int
client_open(struct client *client, const char *path, const char *name, struct err *err)
{
	const void *body;
	int ret = connect_to(client, path, err);
	char device_name[SWM_NAME];

	client->tag = 0;
	if (ret == 0)
		ret = client_reply(client, 0, SWM_HELLO, &body, err);
	if (ret >= 0 && ret != (int)sizeof(struct swm_hello))
		ret = err_set(err, -EPROTO, "its greeting has %d B; right would be %zu B", ret, sizeof(struct swm_hello));
	if (ret >= 0) {
		snprintf(device_name, sizeof(device_name), "%.*s", SWM_NAME - 1, ((const struct swm_hello *)body)->name);
		ret = strcmp(device_name, name) == 0
			      ? 0
			      : err_set(err, -EPROTO, "%s answers there, and not %s",
					printable_text(device_name, device_name, sizeof(device_name)), name);
	}
	if (ret < 0)
		client_close(client);
	return ret;
}

void
client_close(struct client *client)
{
	if (client->fd >= 0)
		close(client->fd);
	client->fd = -1;
}
