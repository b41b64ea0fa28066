/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fabric that several programs run, each a partition of its nodes: the emulation's view of it. Every program builds
 * its own nodes and applies all faults; nodes of other partitions stand still. The composition root provides the rest
 * (emulation/partition), because it uses sockets.
 */
#pragma once

#include <jansson.h>

#include "common/wire/partition.h"
#include "dpswitch/fabric/fabric.h"
#include "emulation/hosts.h"

struct emulation;

/*
 * A message of a node of another partition to a program that every partition runs: a host's request to R-Pingmesh's
 * controller, a device's reply to FlowTracer.
 */
struct partition_request {
	uint32_t node, rest_bytes; /* that have not arrived: 0 */
	enum partition_program program;
	uint64_t time_ps; /* it arrives */
	void *bytes;      /* [size] aligned as malloc() does */
	size_t size;
};

/* Traffic over the boundaries of this partition. */
struct partition_crossed {
	uint64_t in_packets, in_bytes, out_packets, out_bytes;
	/*
	 * of flows that are not in the plan: that ended at a partition boundary, for want of a slot, or as control
	 * packets about such a flow
	 */
	uint64_t ended_packets;
};

struct partition_ops {
	/* Before nodes are built. */
	void (*join)(void *ctx, struct emulation *emulation);
	/*
	 * A phase of the run (emulation/hosts.h) begins, in all partitions at once or in none. @param zero_ns  set to
	 * clock_now_ns() at its time 0. @return 0 or negative errno with err set
	 */
	int (*start)(void *ctx, uint64_t *zero_ns, struct err *err);
	/* Its fabric has stopped: notifies the others. */
	void (*stop)(void *ctx);
	/* In the first phase: whether this partition's hosts are up. @return whether those of all partitions are */
	bool (*up)(void *ctx, bool ours);
	/* The store for the bytes of packets from other partitions; NULL: they have none. */
	struct bodies *(*bodies)(void *ctx);
	/* Of struct fabric_hooks, for this partition. */
	uint64_t (*pace)(void *ctx, uint64_t earliest_ps, uint64_t start_ps);
	void (*leaving)(void *ctx, const struct window *window);
	void (*entering)(void *ctx, const struct window *window);
	uint64_t (*horizon_ps)(void *ctx);
	uint64_t (*agree)(void *ctx, const struct window *window, uint64_t next_ps);
	uint8_t (*pausing)(void *ctx, uint32_t port);
	bool (*interrupted)(void *ctx);
	/* The others wait for this partition, which waits for another program: it is alive. */
	void (*alive)(void *ctx);
	/*
	 * Where all open the same windows, between them: sends a request of a node here to all; receives those that all
	 * others have sent since their last call, in all partitions at the same points of the run.
	 * @return [*count] those of a partition in its order, until the next call
	 */
	void (*share)(void *ctx, const struct partition_request *request);
	const struct partition_request *(*shared)(void *ctx, uint32_t *count);
	/*
	 * Where they do not: the next request for a program that others have sent. Does not wait.
	 * @param request  set; its bytes are the caller's to free. @return whether there is one
	 */
	bool (*arrived)(void *ctx, enum partition_program program, struct partition_request *request);
	bool (*over)(void *ctx, enum rec_end_reason *reason, uint32_t *node);
	/*
	 * Records are about to be collected. @return the time before which all records of all partitions have arrived
	 */
	uint64_t (*collect)(void *ctx, uint64_t now_ps);
	/*
	 * After the last window and the hosts' last reports: receives the results of the other partitions' nodes, or
	 * sends its own.
	 */
	void (*finish)(void *ctx);
	struct partition_crossed (*crossed)(const void *ctx);
	/* The reason why the run ended, where another partition ended it; NULL: it did not. */
	const char *(*why)(const void *ctx);
	/*
	 * Whether another partition was lost, so that the report of the fabric lacks it, or an invariant does not
	 * hold there.
	 */
	bool (*broken)(const void *ctx);
	/* Whether this partition prints why the run ended: in a job, the first that is not lost. */
	bool (*prints_end)(const void *ctx);
	/*
	 * Another partition's report of its nodes (output_partition()), checked; NULL: there is no report, or no such
	 * partition.
	 */
	const json_t *(*reported)(const void *ctx, uint32_t partition);
	/*
	 * As host_driver_ops.clock_error_ns, for kernel hosts: against the first partition's clock, as far as this
	 * partition knows.
	 */
	uint64_t (*clock_error_ns)(const void *ctx);
	/* For run.json. */
	json_t *(*json)(const void *ctx);
};

struct partition {
	const struct partition_ops *ops;
	void *ctx;
	uint32_t which, count;    /* this one, from 0; the number of partitions */
	const bool *remote;       /* [topo->nnodes] nodes of other partitions */
	bool whole;               /* this one receives the results of all nodes */
	bool windows;             /* all open the same; else each promises how far it goes */
	struct host_driver hosts; /* of their hosts */
};
