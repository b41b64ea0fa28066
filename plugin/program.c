/* SPDX-License-Identifier: BSD-3-Clause */
#include "plugin/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"

#define RECORDS_FD 3
#define CONTROL_FD 4
#define FAILED_FD 5 /* until it runs */
#define END_NS 1000000000ULL
#define NAP_NS 2000000ULL

/* What can be said before there is a process. */
static int
check(const char *path, struct err *err)
{
	struct stat status;

	if (strchr(path, '/') == NULL)
		return err_set(err, -EINVAL, "diagnoser %s: a program is named by its path, with a slash: ./%s", path,
			       path);
	if (stat(path, &status) < 0)
		return err_set(err, -errno, "diagnoser %s: %s", path, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return err_set(err, -EINVAL, "diagnoser %s is no program: it is no regular file", path);
	if (access(path, X_OK) < 0)
		return err_set(err, -errno, "diagnoser %s cannot be run: %s; chmod +x makes a script a program", path,
			       strerror(errno));
	return 0;
}

/* Does not return. @param ours  its ends of the sockets; failed  where errno goes if it cannot be run */
static void
become(const char *path, const int ours[2], int failed, pid_t parent, const sigset_t *before)
{
	char *argv[] = { (char *)path, NULL };
	int input = open("/dev/null", O_RDONLY), high[2];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	for (int i = 0; i < 2; i++)
		high[i] = fcntl(ours[i], F_DUPFD, 64); /* out of each other's way */
	failed = fcntl(failed, F_DUPFD, 64);
	dup2(input, STDIN_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	dup2(high[0], RECORDS_FD);
	dup2(high[1], CONTROL_FD);
	dup3(failed, FAILED_FD, O_CLOEXEC);
	close_range(FAILED_FD + 1, UINT32_MAX, 0);
	setenv("ROCELAB_RECORDS_FD", "3", 1);
	setenv("ROCELAB_CONTROL_FD", "4", 1);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, before, NULL);
	if (getppid() == parent)
		execv(path, argv);
	if (write(FAILED_FD, &errno, sizeof(errno)) < 0)
		_exit(126);
	_exit(127);
}

/* @return 0, or the errno of its execv() */
static int
exec_error(int failed)
{
	int error = 0;
	ssize_t got;

	do
		got = read(failed, &error, sizeof(error));
	while (got < 0 && errno == EINTR);
	return got == (ssize_t)sizeof(error) ? error : 0;
}

static int
start(struct plugin_program *program, const char *path, const int theirs[2], struct err *err)
{
	pid_t parent = getpid(), pid;
	sigset_t before;
	int failed[2], error;

	if (pipe2(failed, O_CLOEXEC) < 0)
		return err_set(err, -errno, "diagnoser %s: no pipe: %s", path, strerror(errno));
	pid = child_fork(&before);
	error = errno;
	if (pid == 0)
		become(path, theirs, failed[1], parent, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(failed[1]);
	if (pid > 0) {
		setpgid(pid, pid); /* whoever of the two comes first */
		error = exec_error(failed[0]);
	}
	close(failed[0]);
	if (pid > 0 && error != 0)
		child_wait(pid);
	if (pid < 0 || error != 0)
		return err_set(err, -error, "diagnoser %s cannot be run: %s", path, strerror(error));
	program->pid = pid;
	return 0;
}

int
plugin_program_start(struct plugin_program *program, const char *path, struct err *err)
{
	int records[2] = { -1, -1 }, control[2] = { -1, -1 }, ret = check(path, err);

	*program = (struct plugin_program){ .records = -1, .control = -1 };
	if (ret == 0 && (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, records) < 0 ||
			 socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) < 0))
		ret = err_set(err, -errno, "diagnoser %s: no sockets: %s", path, strerror(errno));
	if (ret == 0)
		ret = start(program, path, (const int[2]){ records[1], control[1] }, err);
	for (int i = 0; i < 2; i++) {
		int end = i == 0 ? records[1] : control[1], own = i == 0 ? records[0] : control[0];

		if (end >= 0)
			close(end);
		if (own >= 0 && ret != 0)
			close(own);
	}
	if (ret != 0)
		return ret;
	program->records = records[0];
	program->control = control[0];
	fcntl(program->control, F_SETFL, O_NONBLOCK);
	return 0;
}

int
plugin_program_ended(struct plugin_program *program, int *status)
{
	if (program->pid == 0 || !child_poll(program->pid, status))
		return 0;
	kill(-program->pid, SIGKILL); /* what it has left behind in its group */
	program->pid = 0;
	return 1;
}

void
plugin_program_kill(const struct plugin_program *program)
{
	if (program->pid != 0)
		kill(-program->pid, SIGKILL);
	if (program->records >= 0)
		shutdown(program->records, SHUT_RDWR);
	if (program->control >= 0)
		shutdown(program->control, SHUT_RDWR);
}

static void
close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void
plugin_program_close(struct plugin_program *program)
{
	uint64_t deadline_ns = clock_now_ns() + END_NS;
	int status;

	close_end(&program->records);
	close_end(&program->control);
	while (program->pid != 0 && !plugin_program_ended(program, &status) && clock_now_ns() < deadline_ns)
		clock_sleep_until_ns(clock_now_ns() + NAP_NS);
	if (program->pid == 0)
		return;
	kill(-program->pid, SIGKILL);
	child_wait(program->pid);
	program->pid = 0;
}
