/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of an operator's tracer share (flow_tracing.h). */
#pragma once

#include "common/flow_index.h"
#include "common/units.h"
#include "common/wire/trace.h"
#include "emulation/emulation.h"
#include "emulation/flow_pairs.h"
#include "emulation/flow_samples.h"
#include "topo/walk.h"

/* A thread, and the question that it waits for. */
struct trace_thread {
	uint64_t due_ps; /* when the reply is here; TIME_NEVER: it has nothing to do */
	uint32_t at;     /* of its pair's flows, the one that is traced; of the feeds of samples, the one that is asked */
	uint32_t node;   /* who is asked */
	struct topo_walk walk;
	bool *open; /* [nnodes] connections that stay */
};

/* A process has one pair at a time. */
struct trace_process {
	uint32_t pair;   /* npairs or more: none is left */
	uint32_t host;   /* its source */
	uint32_t *flows; /* [count] of the pair, that are traced */
	uint32_t count;
	uint32_t busy;              /* threads with flows of it to trace */
	bool listing;               /* its first thread asks the host for them */
	uint64_t told_ps;           /* when that told */
	struct embedded_flow *told; /* [count] what */
	struct trace_thread *threads;
};

/* Of a host, in this round. */
struct host_account {
	uint32_t flows, traced, done, questions, connections;
	uint64_t start_ps, sent_bytes, received_bytes;
	bool asked; /* something of it was asked, and not all of its flows are done */
};

struct flow_tracing {
	const struct flowtracer_params *params;
	const struct flow_table *flows;
	struct flow_index *index;
	uint32_t nnodes;
	struct flow_pairs pairs;
	struct flow_samples samples; /* by which flows are known, if the first hop is by sFlow */
	uint32_t next_feed;          /* of these, that nobody has asked yet */
	uint32_t feeds_left;         /* that have not told; 0: flows are traced */
	struct trace_process *processes;
	uint32_t nprocesses, nthreads; /* threads of a process */
	struct host_account *accounts; /* [nnodes] */
	uint32_t round;
	bool tracing;      /* flows of the round are known, and not all of its pairs are done */
	uint32_t left;     /* pairs of this round that are not done */
	uint64_t round_ps; /* when the next round begins; TIME_NEVER: there is none */
};

static inline bool
flow_tracing_samples(const struct flow_tracing *t)
{
	return t->params->first_hop == REC_TRACE_SFLOW;
}

/*
 * A thread asks somebody, at the expense of a host's account: a round trip, ad hoc, or for the first time, one more for a connection.
 * @param bytes  of the request, its header included
 */
void flow_tracing_ask(struct flow_tracing *t, struct trace_thread *thread, uint32_t host, uint32_t node, size_t bytes,
		      uint64_t now_ps);
/* A host is through with the round, or the run is. */
void flow_tracing_account(struct emulation *emulation, uint32_t host, uint64_t now_ps);

/* Of the first round or a later one: all processes begin with their first pairs. */
void flow_tracing_pairs(struct emulation *emulation, uint64_t now_ps);
/* A process' first thread has the list of its host, or one of its threads what a switch says. */
void flow_tracing_reply(struct emulation *emulation, struct trace_process *process, struct trace_thread *thread,
			uint64_t now_ps);
