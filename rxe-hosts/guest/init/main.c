/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rxe-guest-init: process 1 of a guest, or, in a network namespace of the server, the process that holds it.
 * ROCELAB_NAME is the host's name, ROCELAB_COMMAND and ROCELAB_MANAGE are the two channels to the server; init.h tells the
 * rest.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <termios.h>
#include <unistd.h>

#include "common/stdio_guard.h"
#include "rxe-hosts/guest/init/init.h"

/* Programs find a usual environment; what they may write is below /run. */
static void
set_environment(void)
{
	setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
	setenv("HOME", "/run", 1);
	setenv("TMPDIR", "/run", 1);
}

int
main(void)
{
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	const char *name = getenv("ROCELAB_NAME"), *command = getenv("ROCELAB_COMMAND"), *manage = getenv("ROCELAB_MANAGE");
	bool namespace_only = getpid() != 1;
	uint32_t gid_index = UINT32_MAX;
	struct err err = { 0 };
	int rc, channel, manage_fd = -1;

	stdio_guard();
	signal(SIGPIPE, SIG_IGN);
	set_environment();
	setrlimit(RLIMIT_MEMLOCK, &unlimited);
	rc = mounts_setup(namespace_only, &err);
	if (rc == 0)
		rc = modules_load(&err);
	if (rc == 0 && !namespace_only && name != NULL && sethostname(name, strlen(name)) < 0)
		perror(name);
	channel = command != NULL ? channel_open(command, &err) : err_set(&err, -1, "ROCELAB_COMMAND is not set");
	if (manage != NULL && channel >= 0)
		manage_fd = channel_open(manage, &err);
	if (rc == 0)
		rc = network_setup(&gid_index, &err);
	if (err.text[0] != '\0')
		fprintf(stderr, "rxe-guest-init: %s\n", err.text);
	if (channel >= 0)
		serve(channel, manage_fd, rc < 0 ? -rc : 0, gid_index, err.text);
	if (manage_fd >= 0)
		tcdrain(manage_fd); /* a serial line sends later than it takes */
	if (!namespace_only)
		reboot(RB_POWER_OFF);
	return channel < 0;
}
