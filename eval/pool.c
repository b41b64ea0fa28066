/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/pool.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

#include "common/interrupt.h"
#include "eval/job.h"

struct pool {
	const struct pool_ops *ops;
	void *ctx;
	uint32_t jobs;
	int cpus[POOL_MAX_JOBS];
	uint32_t ncpus;
	struct err *err;
	bool stopping;
};

/* The jobs under way, by slot, for stop_jobs(); 0: none. */
static volatile sig_atomic_t pids[POOL_MAX_JOBS];

/* In a signal's handler, too. What they leave behind is no result. */
static void
stop_jobs(void)
{
	for (uint32_t i = 0; i < POOL_MAX_JOBS; i++)
		if (pids[i] != 0)
			interrupt_pass_on((pid_t)pids[i]);
}

static int
start_some(struct pool *pool)
{
	for (uint32_t i = 0; i < pool->jobs && !interrupt_asked(); i++) {
		pid_t pid;

		if (pids[i] != 0)
			continue;
		pid = pool->ops->start(pool->ctx, i, pool->ncpus != 0 ? pool->cpus[i % pool->ncpus] : -1, pool->err);
		if (pid < 0)
			return pid;
		pids[i] = pid;
	}
	return 0;
}

static bool
is_busy(const struct pool *pool)
{
	for (uint32_t i = 0; i < pool->jobs; i++)
		if (pids[i] != 0)
			return true;
	return false;
}

/* Waits until one ends. */
static int
wait_for_one(struct pool *pool)
{
	int status;
	pid_t pid = waitpid(-1, &status, 0);
	uint32_t slot = 0;

	if (pid < 0)
		return errno == EINTR ? 0 : err_set(pool->err, -errno, "waiting for a run: %s", strerror(errno));
	while (slot < pool->jobs && pids[slot] != pid)
		slot++;
	if (slot == pool->jobs)
		return 0;
	pids[slot] = 0;
	if (interrupt_asked() || pool->stopping)
		return 0;
	return pool->ops->ended(pool->ctx, slot, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
				pool->err);
}

int
pool_run(uint32_t jobs, const struct pool_ops *ops, void *ctx, struct err *err)
{
	const struct interrupt_actions actions = { .ask = stop_jobs };
	struct pool pool = { .ops = ops, .ctx = ctx, .jobs = jobs, .err = err };
	int ret = 0;

	pool.ncpus = job_cpus(pool.cpus, POOL_MAX_JOBS);
	interrupt_catch(&actions);
	for (;;) {
		if (ret == 0 && !interrupt_asked())
			ret = start_some(&pool);
		if (!is_busy(&pool))
			break;
		if ((ret < 0 || interrupt_asked()) && !pool.stopping) {
			stop_jobs();
			pool.stopping = true;
		}
		if (wait_for_one(&pool) < 0 && ret == 0)
			ret = -EIO; /* err has it; the others are waited for */
	}
	return ret == 0 && interrupt_asked() ? -EINTR : ret;
}
