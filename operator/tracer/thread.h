/* SPDX-License-Identifier: BSD-3-Clause */
/* What the threads of a process of the tracer share, and what each has of its own. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "operator/tracer/client.h"
#include "operator/tracer/process.h"

/* What threads share: the process, and what they write under the lock. */
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
	uint32_t *batch;         /* [config->batch] walks under way, as indices in shared->all */
	struct swm_query *queries;
	uint32_t *tags; /* [config->batch] of the request that a walk is in */
	uint64_t bytes, connections, questions, messages, samples, pool;
	pthread_t id;
};

/* @return a connection to a device; NULL: it does not answer, or there is no memory */
struct client *thread_connect(struct thread *t, uint32_t node);
void thread_disconnect(struct thread *t, uint32_t node);
/* A device that did not answer once is not asked again, by nobody. */
void thread_give_up(struct thread *t, uint32_t node, const struct err *err);

/* The flows of one source, by its index, which its leaves know from samples. */
void thread_ask_leaves(struct thread *t, uint32_t i);

/* A thread's phases: hosts are asked for their flows, in turn; then its own flows are traced. @param arg  a struct thread */
void *thread_ask_hosts(void *arg);
void *thread_trace_flows(void *arg);
