/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/exit_code.h"

/* How long the analyzer may take to open its socket, and to finish after the run. */
#define ANALYZER_START_NS 10000000000ULL
#define ANALYZER_POLL_NS 5000000ULL
#define HOSTS_POLL_NS 20000000ULL

/* The fabric under way, and whether it is to end, for launch_interrupt(). */
static volatile sig_atomic_t fabric_pid, interrupted;

int
launch_make_dirs(const char *dir, struct err *err)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s", dir) >= (int)sizeof(path))
		return err_set(err, -ENAMETOOLONG, "%s: too long a path", dir);
	for (char *p = path + 1; *p != '\0'; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		mkdir(path, 0777);
		*p = '/';
	}
	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	return 0;
}

int
launch_lock_dir(const char *dir, struct err *err)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, -errno, "%s: %s", dir, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		close(fd);
		return err_set(err, -EBUSY, "%s: another run writes there; give --out DIR", dir);
	}
	return fd;
}

/* Starts the analyzer and waits for its socket. @return pid or negative */
static pid_t
start_analyzer(const struct launch *launch, const char *socket, struct err *err)
{
	struct child_args args = { .argv = { "analyzer", "--listen", socket, "--out", launch->dir }, .count = 5 };
	uint64_t deadline_ns = clock_now_ns() + ANALYZER_START_NS;
	char path[PATH_MAX];
	pid_t pid;
	int status;

	if (child_find("analyzer", "diag", path, sizeof(path), err) < 0)
		return -ENOENT;
	/* It prints when the stream has ended, and so after all that dpswitch has to say. */
	if (launch->print && child_add(&args, "--print", err) < 0)
		return -E2BIG;
	pid = child_start(path, &args, true, err);
	while (pid > 0 && access(socket, F_OK) < 0) {
		if (child_poll(pid, &status))
			return err_set(err, -ECHILD, "the analyzer ended at once with status %d", status);
		if (clock_now_ns() > deadline_ns) {
			kill(pid, SIGTERM);
			child_wait(pid);
			return err_set(err, -ETIMEDOUT, "the analyzer did not open %s", socket);
		}
		clock_sleep_until_ns(clock_now_ns() + ANALYZER_POLL_NS);
	}
	return pid;
}

static pid_t
start_dpswitch(const struct launch *launch, const char *socket, struct err *err)
{
	struct child_args args = { .argv = { "dpswitch", launch->scenario, "--out", launch->dir }, .count = 4 };
	char path[PATH_MAX];

	if (child_find("dpswitch", "dpswitch", path, sizeof(path), err) < 0)
		return -ENOENT;
	if (child_add(&args, launch->print ? "--brief" : "--quiet", err) < 0)
		return -E2BIG;
	if (child_add(&args, "--analyzer", err) < 0 || child_add(&args, socket, err) < 0)
		return -E2BIG;
	if (launch->hosts != NULL && (child_add(&args, "--hosts", err) < 0 ||
				      child_add(&args, run_hosts_sockets(launch->hosts), err) < 0))
		return -E2BIG;
	for (size_t i = 0; i < launch->pass->count; i++)
		if (child_add(&args, launch->pass->argv[i], err) < 0)
			return -E2BIG;
	return child_start(path, &args, false, err);
}

/* Without a stream there is nothing to wait for: bad input, no hosts, or a fabric that died before it connected. */
static int
wait_for_analyzer(pid_t analyzer, const char *socket, int fabric_status)
{
	bool begun = fabric_status != EXIT_USAGE && fabric_status != EXIT_NOT_BEGUN;
	uint64_t deadline_ns = clock_now_ns() + ANALYZER_START_NS;
	int status;

	/* The analyzer removes its socket when somebody has connected. */
	while (begun && fabric_status > EXIT_USAGE && access(socket, F_OK) == 0) {
		if (child_poll(analyzer, &status))
			return status;
		begun = clock_now_ns() < deadline_ns;
		clock_sleep_until_ns(clock_now_ns() + ANALYZER_POLL_NS);
	}
	if (begun)
		return child_wait(analyzer);
	kill(analyzer, SIGTERM);
	child_wait(analyzer);
	return LAUNCH_NO_STREAM;
}

/* While the fabric runs, its hosts are looked after. @return its exit status */
static int
wait_for_fabric(const struct launch *launch, pid_t fabric, struct err *err)
{
	int status;

	if (launch->hosts == NULL)
		return child_wait(fabric);
	while (!child_poll(fabric, &status)) {
		if (run_hosts_tend(launch->hosts, err) < 0) {
			fprintf(stderr, "rocelab: %s\n", err->text);
			kill(fabric, SIGTERM);
			status = child_wait(fabric);
			break;
		}
		clock_sleep_until_ns(clock_now_ns() + HOSTS_POLL_NS);
	}
	run_hosts_stop(launch->hosts);
	if (status == EXIT_NOT_BEGUN)
		fprintf(stderr, "rocelab: what the hosts said is in %s/guests\n", launch->dir);
	return status;
}

static int
run_programs(const struct launch *launch, const char *socket, struct launch_status *status, struct err *err)
{
	pid_t analyzer = start_analyzer(launch, socket, err), fabric;

	if (analyzer < 0)
		return analyzer;
	fabric = start_dpswitch(launch, socket, err);
	if (fabric > 0) {
		fabric_pid = fabric;
		if (interrupted) /* before there was a fabric */
			kill(fabric, SIGTERM);
		status->fabric = wait_for_fabric(launch, fabric, err);
		fabric_pid = 0;
		status->analyzer = wait_for_analyzer(analyzer, socket, status->fabric);
	} else {
		kill(analyzer, SIGTERM);
		child_wait(analyzer);
	}
	return fabric > 0 ? 0 : fabric;
}

int
launch_run(const struct launch *launch, struct launch_status *status, struct err *err)
{
	char private_dir[] = "/tmp/rocelab-XXXXXX", socket[sizeof(private_dir) + 16];
	int ret;

	*status = (struct launch_status){ 0 };
	if (mkdtemp(private_dir) == NULL)
		return err_set(err, -errno, "%s: %s", private_dir, strerror(errno));
	snprintf(socket, sizeof(socket), "%s/records.sock", private_dir);
	ret = run_programs(launch, socket, status, err);
	unlink(socket);
	rmdir(private_dir);
	return ret;
}

void
launch_interrupt(void)
{
	interrupted = 1;
	if (fabric_pid > 0)
		kill((pid_t)fabric_pid, SIGTERM);
}
