/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FlowTracer's Algorithm 1 (III-A): processes, threads in each, a connection to every device that they query. Hosts
 * report their flows and the port by which each leaves, or the packets that their leaves sampled show both (III-B1).
 * Switches report the next hop.
 *
 * All pairs of one source are given to the same process, so that each host is queried once. The flows of all pairs of a
 * process are divided among its threads.
 */
#pragma once

#include "common/err.h"
#include "common/wire/trace.h"
#include "topo/route.h"

#define TRACER_MAX_PROCESSES 64u
#define TRACER_MAX_THREADS 64u
#define TRACER_MAX_FLOWS 4000000u /* of a process */

/* Value, name, description (Fig. 5). */
#define TRACER_CONNECTIONS(ROW)                                                                                            \
	ROW(TRACER_AD_HOC, 0, "ad-hoc",                                                                                    \
	    "one thread, a connection for each device on a flow's path, closed after the flow")                            \
	ROW(TRACER_PERSISTENT, 1, "persistent", "one thread, a connection to a device stays until all is traced")          \
	ROW(TRACER_PARALLEL, 2, "parallel", "threads, each with connections that stay")

enum tracer_connections { TRACER_CONNECTIONS(ENUM_VALUE) TRACER_CONNECTION_KINDS };

struct tracer_config {
	const struct topo *topo;
	const char *dir;         /* of the sockets */
	const uint32_t *sources; /* [nsources] hosts */
	uint32_t nsources;
	enum rec_trace_first_hop first_hop;
	struct swm_filter filter; /* of flows, but for from; of samples, but for the job, which packets do not carry */
	uint32_t processes;
	uint32_t threads; /* of each, where connections are parallel */
	enum tracer_connections connections;
	uint32_t batch;      /* flows that a thread traces at a time: questions of one message; 1: as in Algorithm 1 */
	uint64_t timeout_ns; /* for a reply; a device that does not reply once is not queried again */
};

/* A flow and its path. */
struct traced {
	struct swm_flow flow;
	uint32_t source; /* host */
	struct topo_walk walk;
};

/* A device that did not reply, or replied wrongly. */
struct tracer_silent {
	uint32_t node;
	char why[160];
};

struct tracer_work {
	uint64_t connections, questions, messages, bytes;
	uint64_t samples, pool; /* reported by leaves; size of the pool of packets that they were sampled from */
	uint32_t died;          /* processes, with all that they had to trace */
};

struct tracer_result {
	struct traced *flows; /* [count] by source, in the order in which hosts list them */
	uint32_t count;
	struct tracer_silent *silent; /* [nsilent] by node */
	uint32_t nsilent;
	struct tracer_work work;
	uint64_t wall_ns;
};

/* @return 0; negative errno with err: not even processes could be started. A device that does not answer is no error. */
int tracer_run(const struct tracer_config *config, struct tracer_result *result, struct err *err);
void tracer_result_fini(struct tracer_result *result); /* also of one that is zero */
