/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Service tracing on Linux (R-Pingmesh 4.2.2): the connections of a host's programs as they open and close, of all
 * owners. It joins rdma netlink's queue pairs with frames of the network device below soft-RoCE (connections.h). A
 * kernel with eBPF could report ibv_modify_qp() itself; the guests' kernels have none.
 */
#pragma once

#include <stdint.h>

#include "common/err.h"
#include "rxe-hosts/device/verbs/loop.h"
#include "rxe-hosts/tracing/connections.h"

struct tracer;

struct tracer_config {
	const char *device; /* RDMA device */
	struct loop *loop;  /* outlives it */
	void (*changed)(void *ctx, const struct traced_tuple *tuple, bool open);
	void *ctx;
};

/* @return NULL with errno and err: the data that the kernel does not expose */
struct tracer *tracer_create(const struct tracer_config *config, struct err *err);
void tracer_destroy(struct tracer *tracer);
/* Looks at the queue pairs, if that is due. */
void tracer_run(struct tracer *tracer, uint64_t now_ns);
/* A connection whose tuple is known. */
struct traced_connection {
	struct traced_tuple tuple;
	uint32_t qpn; /* this host's */
};

/* @return connections written to rows, cap at most */
uint32_t tracer_connections(const struct tracer *tracer, struct traced_connection *rows, uint32_t cap);
/* @return when it will be, by clock_now_ns() */
uint64_t tracer_next_ns(const struct tracer *tracer);
