/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long tasks waited on a run queue for a processor: the second field of /proc/PID/task/TID/schedstat (Linux,
 * Documentation/scheduler/sched-stats.rst). The kernel counts a wait when it ends. Any thread may read; one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define RUN_DELAY_MAX_TASKS 128 /* of one process with its descendants; run_delay_read() reports an excess */

struct run_delay_task {
	pid_t pid, tid;
	int fd; /* of its schedstat */
	uint64_t delay_ns;
	bool seen; /* by the latest look for tasks */
};

struct run_delay {
	pid_t pid; /* of the process whose tasks these are */
	bool tree; /* with its descendants, all threads of each; else the thread tid alone */
	uint32_t reads;
	bool too_many;
	struct run_delay_task *tasks; /* [ntasks] */
	uint32_t ntasks;
};

/* Does this kernel count run delays? Where it does not, its schedstat is missing, or has 0 for a running thread. */
bool run_delay_available(void);

/* A thread of this process. @return 0 or negative errno */
int run_delay_thread(struct run_delay *delay, pid_t tid);
/* A process and its descendants, those that it starts later too. @return 0 or negative errno */
int run_delay_tree(struct run_delay *delay, pid_t pid);
void run_delay_fini(struct run_delay *delay);

/*
 * @param waited_ns  set to what all tasks together waited since the last read: more than the time itself, if several
 *                   did at once
 * @return 0; -ESRCH: the process has ended; -E2BIG: it has more than RUN_DELAY_MAX_TASKS tasks; other negative errno
 */
int run_delay_read(struct run_delay *delay, uint64_t *waited_ns);
