/* SPDX-License-Identifier: BSD-3-Clause */
#include "operator/tracer/process.h"

#include <errno.h>
#include <stdlib.h>

#include "operator/tracer/thread.h"

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
