/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/run_delay.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_EVERY 10 /* reads: tasks start and end */

static int look(struct run_delay *delay);

struct schedstat {
	uint64_t ran_ns, waited_ns, times;
};

static int
read_schedstat(int fd, struct schedstat *stat)
{
	char line[96];
	ssize_t n = pread(fd, line, sizeof(line) - 1, 0);

	if (n <= 0)
		return n < 0 ? -errno : -ESRCH;
	line[n] = '\0';
	if (sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNu64, &stat->ran_ns, &stat->waited_ns, &stat->times) != 3)
		return -EPROTO;
	return 0;
}

bool
run_delay_available(void)
{
	struct schedstat stat = { 0 };
	int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	int rc = fd >= 0 ? read_schedstat(fd, &stat) : -errno;

	if (fd >= 0)
		close(fd);
	return rc == 0 && stat.times != 0;
}

static struct run_delay_task *
find(struct run_delay *delay, pid_t tid)
{
	for (uint32_t i = 0; i < delay->ntasks; i++)
		if (delay->tasks[i].tid == tid)
			return &delay->tasks[i];
	return NULL;
}

/* A task that has gone meanwhile is none. */
static void
add_task(struct run_delay *delay, pid_t pid, pid_t tid)
{
	struct run_delay_task *task = find(delay, tid);
	char path[64];
	int fd;

	if (task != NULL) {
		task->seen = true;
		return;
	}
	if (delay->ntasks == RUN_DELAY_MAX_TASKS) {
		delay->too_many = true;
		return;
	}
	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		delay->tasks[delay->ntasks++] = (struct run_delay_task){ .pid = pid, .tid = tid, .fd = fd, .seen = true };
}

static int
create(struct run_delay *delay, pid_t pid, bool tree)
{
	*delay = (struct run_delay){ .pid = pid, .tree = tree };
	delay->tasks = calloc(RUN_DELAY_MAX_TASKS, sizeof(*delay->tasks));
	return delay->tasks != NULL ? 0 : -ENOMEM;
}

/* Begins to count: waiting time until now is left out. */
static int
begin(struct run_delay *delay)
{
	uint64_t waited_ns;
	int rc = delay->ntasks != 0 ? run_delay_read(delay, &waited_ns) : -ESRCH;

	if (rc < 0)
		run_delay_fini(delay);
	return rc;
}

int
run_delay_thread(struct run_delay *delay, pid_t tid)
{
	int rc = create(delay, getpid(), false);

	if (rc < 0)
		return rc;
	add_task(delay, delay->pid, tid);
	return begin(delay);
}

int
run_delay_tree(struct run_delay *delay, pid_t pid)
{
	int rc = create(delay, pid, true);

	if (rc == 0)
		rc = look(delay);
	if (rc == 0)
		return begin(delay);
	run_delay_fini(delay);
	return rc;
}

void
run_delay_fini(struct run_delay *delay)
{
	for (uint32_t i = 0; i < delay->ntasks; i++)
		close(delay->tasks[i].fd);
	free(delay->tasks);
	*delay = (struct run_delay){ 0 };
}

/* The children that one thread started. */
static uint32_t
children_of(pid_t pid, pid_t tid, pid_t *children, uint32_t count)
{
	char path[64];
	FILE *file;
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)tid);
	file = fopen(path, "re");
	while (file != NULL && count < RUN_DELAY_MAX_TASKS && fscanf(file, "%d", &child) == 1)
		children[count++] = child;
	if (file != NULL)
		fclose(file);
	return count;
}

/* All threads of a process; its children go behind the processes to be looked at. @return their number then */
static uint32_t
look_at_process(struct run_delay *delay, pid_t pid, pid_t *pids, uint32_t count)
{
	char path[64];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid <= 0)
			continue;
		add_task(delay, pid, tid);
		count = children_of(pid, tid, pids, count);
	}
	if (dir != NULL)
		closedir(dir);
	return count;
}

static void
forget_unseen(struct run_delay *delay)
{
	for (uint32_t i = delay->ntasks; i-- > 0;) {
		if (delay->tasks[i].seen)
			continue;
		close(delay->tasks[i].fd);
		delay->tasks[i] = delay->tasks[--delay->ntasks];
	}
}

/* Looks for the tasks that there are now. */
static int
look(struct run_delay *delay)
{
	pid_t pids[RUN_DELAY_MAX_TASKS] = { delay->pid };
	uint32_t count = 1;

	for (uint32_t i = 0; i < delay->ntasks; i++)
		delay->tasks[i].seen = false;
	delay->too_many = false;
	for (uint32_t i = 0; i < count; i++)
		count = look_at_process(delay, pids[i], pids, count);
	delay->too_many |= count == RUN_DELAY_MAX_TASKS;
	forget_unseen(delay);
	return delay->ntasks != 0 ? 0 : -ESRCH;
}

int
run_delay_read(struct run_delay *delay, uint64_t *waited_ns)
{
	struct schedstat stat;
	int rc = 0;

	*waited_ns = 0;
	if (delay->tree && delay->reads++ % LOOK_EVERY == LOOK_EVERY - 1)
		rc = look(delay);
	for (uint32_t i = 0; i < delay->ntasks && rc == 0; i++) {
		struct run_delay_task *task = &delay->tasks[i];

		rc = read_schedstat(task->fd, &stat);
		if (rc == -ESRCH && delay->tree && task->tid != delay->pid) {
			rc = 0; /* it has ended; the others go on */
			continue;
		}
		if (rc < 0)
			break;
		*waited_ns += stat.waited_ns - task->delay_ns;
		task->delay_ns = stat.waited_ns;
	}
	return rc == 0 && delay->too_many ? -E2BIG : rc;
}
