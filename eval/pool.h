/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs side by side: processes that are started while there are some to start, and all ended when somebody interrupts. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"

#define POOL_MAX_JOBS 256

struct pool_ops {
	/*
	 * Starts the next job, if there is one now.
	 * @param slot  below the number of jobs; of this job until it has ended
	 * @param cpu   it has to itself, or shares with fewest others; -1: anywhere
	 * @return its pid, 0: none to start for now, negative errno with err set: no more jobs
	 */
	pid_t (*start)(void *ctx, uint32_t slot, int cpu, struct err *err);
	/*
	 * One has ended by itself. Not called for what was stopped: that leaves no result.
	 * @param status  its exit status, or 128 and the signal
	 * @return 0, or negative errno with err set: no more jobs
	 */
	int (*ended)(void *ctx, uint32_t slot, int status, struct err *err);
};

/*
 * Runs all that there is, one pool a process at a time; Ctrl-C, SIGTERM and SIGHUP end it.
 * @param jobs  at the same time, up to POOL_MAX_JOBS
 * @return 0: all have ended; -EINTR: interrupted; other negative errno with err set. No job runs any more
 */
int pool_run(uint32_t jobs, const struct pool_ops *ops, void *ctx, struct err *err);
