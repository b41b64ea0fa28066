/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/guest/reaper.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdnoreturn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Holds nothing but the pipe: any other descriptor kept here would keep its connection alive. */
static noreturn void
watch(int alive)
{
	sigset_t all;
	char none;

	prctl(PR_SET_NAME, "guest-warden");
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	dup2(alive, STDIN_FILENO);
	close_range(STDOUT_FILENO, UINT_MAX, 0);
	while (read(STDIN_FILENO, &none, 1) > 0)
		continue;
	kill(0, SIGKILL);
	_exit(0);
}

int
reaper_start(int alive)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		pid = fork();
		if (pid == 0)
			watch(alive);
		_exit(pid > 0 ? 0 : errno);
	}
	if (pid < 0)
		return -errno;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -ECHILD;
}
