/* SPDX-License-Identifier: BSD-3-Clause */
/* One run of a host with its own RDMA device, under the direction of the fabric (common/wire/manage.h). */
#pragma once

#include "common/err.h"
#include "scenario/scenario.h"

struct session_config {
	const struct scenario *scenario;
	uint32_t node; /* this host */
	int manage_fd; /* management channel; stays the caller's */
	/* Set by a signal handler: the run is to end. */
	const volatile int *interrupted;
};

/*
 * From HELLO to RESULT. Errors are sent over the channel and set in err.
 * @return 0, -EIO when a queue pair failed in the run (which was reported then), or negative errno with err set
 */
int session_run(const struct session_config *config, struct err *err);

/*
 * Opens a management channel.
 * @param where  a serial line's device, the path of a unix socket, HOST:PORT of a TCP listener, or "fd:N": a descriptor
 * that
 *               this process was started with
 * @return descriptor, or negative errno with err set
 */
int manage_open(const char *where, struct err *err);
