/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/guest/warden.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Holds nothing but the pipe: any other descriptor kept here would keep its connection alive. */
static noreturn void
watch(int keepers_end)
{
	sigset_t all;
	char none;

	setpgid(0, 0);
	prctl(PR_SET_NAME, "guest-warden");
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	dup2(keepers_end, STDIN_FILENO);
	close_range(STDOUT_FILENO, UINT_MAX, 0);
	while (read(STDIN_FILENO, &none, 1) > 0)
		continue;
	kill(0, SIGKILL);
	_exit(0);
}

int
warden_start(struct warden *warden)
{
	int ends[2], rc;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	warden->group = fork();
	if (warden->group == 0)
		watch(ends[0]);
	rc = warden->group > 0 ? 0 : -errno;
	close(ends[0]);
	if (rc < 0) {
		warden->group = 0;
		close(ends[1]);
		return rc;
	}
	setpgid(warden->group, warden->group); /* whoever of the two comes first */
	warden->alive = ends[1];
	return 0;
}

void
warden_stop(struct warden *warden)
{
	if (warden->group == 0)
		return;
	kill(-warden->group, SIGKILL);
	while (waitpid(warden->group, NULL, 0) < 0 && errno == EINTR)
		continue;
	close(warden->alive);
	warden->group = 0;
}
