/* SPDX-License-Identifier: BSD-3-Clause */
#include "operator/tracer/tracer.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/minmax.h"
#include "operator/tracer/process.h"

/* A process's file: this header, its flows, its silent devices; flows of a source are adjacent. */
struct left_behind {
	struct tracer_work work;
	uint32_t nflows, nsilent;
	int32_t ret;
	uint32_t complete; /* 1: written last */
};

struct worker {
	pid_t pid; /* 0: not started */
	int fd;
};

/* ---- in a process ---- */

static bool
write_all(int fd, const void *data, size_t size)
{
	for (size_t at = 0; at < size;) {
		ssize_t written = write(fd, (const uint8_t *)data + at, size - at);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		at += (size_t)written;
	}
	return true;
}

static bool
leave_behind(const struct tracer_process *process, int ret, int fd)
{
	uint32_t nodes = process->config->topo->nnodes;
	struct left_behind left = { .work = process->work, .ret = ret };
	bool good;

	for (uint32_t i = 0; ret == 0 && i < process->count; i++)
		left.nflows += process->nflows[i];
	for (uint32_t node = 0; ret == 0 && node < nodes; node++)
		left.nsilent += process->silent[node] != NULL;
	good = write_all(fd, &left, sizeof(left));
	for (uint32_t i = 0; ret == 0 && good && i < process->count; i++)
		good = write_all(fd, process->lists[i], process->nflows[i] * sizeof(struct traced));
	for (uint32_t node = 0; ret == 0 && good && node < nodes; node++) {
		struct tracer_silent silent = { .node = node };

		if (process->silent[node] == NULL)
			continue;
		snprintf(silent.why, sizeof(silent.why), "%s", process->silent[node]);
		good = write_all(fd, &silent, sizeof(silent));
	}
	left.complete = 1;
	return good && pwrite(fd, &left, sizeof(left), 0) == (ssize_t)sizeof(left);
}

static _Noreturn void
work(const struct tracer_config *config, uint32_t first, uint32_t count, int fd, const sigset_t *before)
{
	struct tracer_process process = { .config = config, .first = first, .count = count };

	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigprocmask(SIG_SETMASK, before, NULL);
	_exit(leave_behind(&process, tracer_process_run(&process), fd) ? 0 : 1);
}

/* ---- in the one that started them ---- */

static int
start(const struct tracer_config *config, uint32_t i, uint32_t processes, struct worker *worker, struct err *err)
{
	uint32_t first = (uint32_t)((uint64_t)config->nsources * i / processes);
	uint32_t end = (uint32_t)((uint64_t)config->nsources * (i + 1) / processes);
	sigset_t before;
	int code;

	worker->fd = memfd_create("traced", MFD_CLOEXEC);
	if (worker->fd < 0)
		return err_set(err, -errno, "memfd_create: %s", strerror(errno));
	worker->pid = child_fork(&before);
	if (worker->pid == 0)
		work(config, first, end - first, worker->fd, &before);
	code = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (worker->pid > 0)
		return 0;
	worker->pid = 0;
	return err_set(err, -code, "fork: %s", strerror(code));
}

static bool
read_all(int fd, void *data, size_t size, off_t at)
{
	for (size_t got = 0; got < size;) {
		ssize_t bytes = pread(fd, (uint8_t *)data + got, size - got, at + (off_t)got);

		if (bytes < 0 && errno == EINTR)
			continue;
		if (bytes <= 0)
			return false;
		got += (size_t)bytes;
	}
	return true;
}

static int
by_node(const void *a, const void *b)
{
	uint32_t x = ((const struct tracer_silent *)a)->node, y = ((const struct tracer_silent *)b)->node;

	return (x > y) - (x < y);
}

/* @return 0; -ENOMEM. A process that left nothing complete has died */
static int
take(const struct worker *worker, struct tracer_result *result)
{
	struct left_behind left = { .complete = 0 };
	struct tracer_silent *silent;
	struct traced *flows;
	size_t bytes;

	if (!read_all(worker->fd, &left, sizeof(left), 0) || left.complete == 0) {
		result->work.died++;
		return 0;
	}
	if (left.ret != 0)
		return left.ret;
	bytes = left.nflows * sizeof(*flows);
	flows = realloc(result->flows, (result->count + (size_t)left.nflows + 1) * sizeof(*flows));
	result->flows = flows != NULL ? flows : result->flows;
	silent = realloc(result->silent, (result->nsilent + (size_t)left.nsilent + 1) * sizeof(*silent));
	result->silent = silent != NULL ? silent : result->silent;
	if (flows == NULL || silent == NULL || !read_all(worker->fd, &flows[result->count], bytes, sizeof(left)) ||
	    !read_all(worker->fd, &silent[result->nsilent], left.nsilent * sizeof(*silent), (off_t)(sizeof(left) + bytes)))
		return -ENOMEM;
	result->count += left.nflows;
	result->nsilent += left.nsilent;
	result->work.connections += left.work.connections;
	result->work.questions += left.work.questions;
	result->work.messages += left.work.messages;
	result->work.samples += left.work.samples;
	result->work.pool += left.work.pool;
	result->work.bytes += left.work.bytes;
	return 0;
}

/* A device that several processes found silent is reported once. */
static void
log_once(struct tracer_result *result)
{
	uint32_t kept = 0;

	if (result->nsilent > 1)
		qsort(result->silent, result->nsilent, sizeof(*result->silent), by_node);
	for (uint32_t i = 0; i < result->nsilent; i++)
		if (i == 0 || result->silent[i].node != result->silent[i - 1].node)
			result->silent[kept++] = result->silent[i];
	result->nsilent = kept;
}

int
tracer_run(const struct tracer_config *config, struct tracer_result *result, struct err *err)
{
	uint32_t processes = min_u32(min_u32(config->processes, TRACER_MAX_PROCESSES), config->nsources);
	struct worker workers[TRACER_MAX_PROCESSES] = { { 0 } };
	uint64_t start_ns = clock_now_ns();
	uint32_t started = 0;
	int ret = 0;

	*result = (struct tracer_result){ 0 };
	for (; ret == 0 && started < processes; started++)
		ret = start(config, started, processes, &workers[started], err);
	for (uint32_t i = 0; i < started; i++)
		if (workers[i].pid != 0)
			child_wait(workers[i].pid);
	for (uint32_t i = 0; ret == 0 && i < started; i++)
		if ((ret = take(&workers[i], result)) < 0)
			err_set(err, ret, "out of memory for traced flows");
	for (uint32_t i = 0; i < started; i++)
		if (workers[i].fd >= 0)
			close(workers[i].fd);
	if (ret == 0)
		log_once(result);
	else
		tracer_result_fini(result);
	result->wall_ns = clock_now_ns() - start_ns;
	return ret;
}

void
tracer_result_fini(struct tracer_result *result)
{
	free(result->flows);
	free(result->silent);
	*result = (struct tracer_result){ 0 };
}
