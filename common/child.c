/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/array.h"
#include "common/clock.h"
#include "common/interrupt.h"
#include "common/log.h"

#define LIBEXEC "../libexec/rocelab" /* where it is installed, from where `rocelab` is */
#define STATUS_LOST 127              /* as shells have it for what did not run */

#define NS_PER_S 1000000000ULL
#define END_NS 2000000000ULL
#define END_POLL_NS 5000000ULL
/* /proc is not read more often. */
#define LOOK_NS 50000000ULL

int
child_add(struct child_args *args, const char *arg, struct err *err)
{
	if (args->count == CHILD_MAX_ARGS)
		return err_set(err, -E2BIG, "more than %d arguments", CHILD_MAX_ARGS);
	args->argv[args->count++] = arg;
	args->argv[args->count] = NULL;
	return 0;
}

const char *
child_path(const char *path, char buf[PATH_MAX])
{
	if (path[0] != '-')
		return path;
	snprintf(buf, PATH_MAX, "./%s", path);
	return buf;
}

int
child_find(const char *program, const char *folder, char *path, size_t cap, struct err *err)
{
	return child_find_beside("/proc/self/exe", program, folder, path, cap, err);
}

int
child_find_beside(const char *of, const char *program, const char *folder, char *path, size_t cap, struct err *err)
{
	char self[PATH_MAX];

	if (realpath(of, self) == NULL)
		return err_set(err, -errno, "%s: %s", of, strerror(errno));
	*strrchr(self, '/') = '\0';
	if (snprintf(path, cap, "%s/%s", self, program) < (int)cap && access(path, X_OK) == 0)
		return 0;
	if (snprintf(path, cap, "%s/../%s/%s", self, folder, program) < (int)cap && access(path, X_OK) == 0)
		return 0;
	if (snprintf(path, cap, "%s/" LIBEXEC "/%s", self, program) < (int)cap && access(path, X_OK) == 0)
		return 0;
	return err_set(err, -ENOENT, "%s is neither in %s, nor in %s/../%s, nor in %s/" LIBEXEC ": build it with ninja",
		       program, self, self, folder, self);
}

pid_t
child_fork(sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, before);
	signal(SIGCHLD, SIG_DFL); /* if it is ignored, as a parent may have set it, a child's status is lost */
	return fork();
}

/* Resets handlers as exec() would, but while signals are still blocked. */
static void
drop_handlers(void)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGTERM };
	struct sigaction action;

	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		if (sigaction(signals[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			signal(signals[i], SIG_DFL);
}

/* Does not return. @param before  signals that were blocked before the fork */
static void
become(const char *path, const struct child_args *args, bool ignore_interrupt, pid_t parent, const sigset_t *before)
{
	/* However rocelab ends, the programs that it started end too. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (args->stderr_fd != 0)
		dup2(args->stderr_fd, STDERR_FILENO);
	if (args->apart)
		setpgid(0, 0);
	drop_handlers();
	signal(SIGINT, ignore_interrupt ? SIG_IGN : SIG_DFL);
	sigprocmask(SIG_SETMASK, before, NULL);
	if (getppid() == parent)
		execv(path, (char *const *)args->argv);
	log_error("%s: %s", path, strerror(errno));
	_exit(127);
}

pid_t
child_start(const char *path, const struct child_args *args, bool ignore_interrupt, struct err *err)
{
	pid_t parent = getpid(), pid;
	sigset_t before;
	int failure;

	pid = child_fork(&before);
	failure = errno;
	if (pid == 0)
		become(path, args, ignore_interrupt, parent, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return err_set(err, -failure, "%s: %s", path, strerror(failure));
	log_debug("%s is process %d", path, (int)pid);
	return pid;
}

FILE *
child_read(const char *path, const struct child_args *args, pid_t *pid, struct err *err)
{
	int ends[2];
	FILE *from;
	pid_t parent = getpid();
	sigset_t before;

	if (pipe2(ends, O_CLOEXEC) < 0) {
		err_set(err, -errno, "pipe: %s", strerror(errno));
		return NULL;
	}
	*pid = child_fork(&before);
	if (*pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		become(path, args, false, parent, &before);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(ends[1]);
	from = *pid > 0 ? fdopen(ends[0], "r") : NULL;
	if (from == NULL)
		err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (from == NULL)
		close(ends[0]);
	return from;
}

static int
status_of(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : CHILD_KILLED + WTERMSIG(status);
}

int
child_wait(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 127;
	return status_of(status);
}

int
child_poll(pid_t pid, int *status)
{
	uint64_t cpu_ns;

	return child_poll_cpu(pid, status, &cpu_ns);
}

int
child_poll_cpu(pid_t pid, int *status, uint64_t *cpu_ns)
{
	struct rusage used;
	pid_t got;
	int raw;

	got = wait4(pid, &raw, WNOHANG, &used);
	if (got < 0 && errno == ECHILD) { /* its status was collected elsewhere: it will not be reported any more */
		*status = STATUS_LOST;
		*cpu_ns = 0;
		return 1;
	}
	if (got != pid)
		return 0;
	*status = status_of(raw);
	*cpu_ns = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * NS_PER_S +
		  (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000;
	return 1;
}

const char *
child_text(int status, char *buf, size_t cap)
{
	if (status > CHILD_KILLED)
		snprintf(buf, cap, "was killed (signal %d: %s)", status - CHILD_KILLED, strsignal(status - CHILD_KILLED));
	else
		snprintf(buf, cap, "ended with status %d", status);
	return buf;
}

bool
child_interrupted(int status)
{
	int number = status - CHILD_KILLED;

	return interrupt_asked() && (number == SIGINT || number == SIGTERM || number == SIGHUP);
}

int
child_end(pid_t pid)
{
	uint64_t deadline_ns = clock_now_ns() + END_NS;
	int status;

	kill(pid, SIGTERM);
	while (clock_now_ns() < deadline_ns) {
		if (child_poll(pid, &status))
			return status;
		clock_sleep_until_ns(clock_now_ns() + END_POLL_NS);
	}
	kill(pid, SIGKILL);
	return child_wait(pid);
}

/*
 * Behind the name in its parentheses, /proc/PID/stat has: state, ppid, pgrp, session, tty, tpgid, flags, minflt, cminflt,
 * majflt, cmajflt, utime, stime.
 * @param work  set to what only grows while it does anything. @return its state, 0: it cannot be read
 */
static char
state_of(pid_t pid, uint64_t *work)
{
	char path[64], line[1024];
	unsigned long long minor, major, user, kernel;
	const char *rest = NULL;
	char state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (file == NULL)
		return 0;
	if (fgets(line, sizeof(line), file) != NULL)
		rest = strrchr(line, ')');
	fclose(file);
	if (rest == NULL || sscanf(rest, ") %c %*s %*s %*s %*s %*s %*s %llu %*s %llu %*s %llu %llu", &state, &minor, &major,
				   &user, &kernel) != 5)
		return 0;
	*work = minor + major + user + kernel;
	return state;
}

uint64_t
child_idle_ns(struct child_watch *watch)
{
	uint64_t now_ns = clock_now_ns(), work = watch->work;
	char state;

	if (watch->stall_timer.last_ns != 0 && now_ns - watch->stall_timer.last_ns < LOOK_NS)
		return watch->stall_timer.waited_ns;
	state = state_of(watch->pid, &work);
	stall_timer_look(&watch->stall_timer, now_ns);
	if (work != watch->work || state == 'R' || state == 'D')
		stall_timer_renew(&watch->stall_timer);
	watch->work = work;
	return watch->stall_timer.waited_ns;
}
