/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network namespace of the server with the server's own rdma_rxe. It requires root, and a kernel whose rxe supports
 * namespaces: older ones refuse the device there, or have no rdma_rxe at all. rxe-guest-init holds the namespace, which
 * ends with it.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rxe-hosts/guest/kind.h"

static int
command(const struct guest_boot *boot, struct guest_words *args, struct guest_words *env, struct err *err)
{
	char command_fd[16], manage_fd[16];
	int rc;

	if (geteuid() != 0)
		return err_set(err, -EPERM, "a network namespace of the server needs root");
	snprintf(command_fd, sizeof(command_fd), "fd:%d", boot->command_fd);
	snprintf(manage_fd, sizeof(manage_fd), "fd:%d", boot->manage_fd);
	rc = guest_word(args, err, "%s", boot->config->init);
	return rc < 0 ? rc : guest_parameters(boot, command_fd, manage_fd, env, err);
}

/* Moves a network device of the server into the namespace of a process, under the name that init expects. */
static int
move_device(const char *device, pid_t to, struct err *err)
{
	char pid[16];
	int status;
	pid_t ip;

	snprintf(pid, sizeof(pid), "%d", (int)to);
	ip = fork();
	if (ip == 0) {
		execlp("ip", "ip", "link", "set", device, "netns", pid, "name", "eth0", NULL);
		_exit(127);
	}
	if (ip < 0 || waitpid(ip, &status, 0) < 0)
		return err_set(err, -errno, "ip: %s", strerror(errno));
	return status == 0 ? 0 : err_set(err, -ENODEV, "%s: ip cannot move it into the guest's namespace", device);
}

/*
 * Hides init's mounts from other processes. Where the root is a folder of another file system (after chroot), only
 * mounts below it can be made private: /sys, on which alone init mounts here.
 */
static int
make_private(void)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
		return 0;
	return errno == EINVAL ? mount(NULL, "/sys", NULL, MS_PRIVATE, NULL) : -1;
}

/* A process that stays in the server's namespace moves the device. */
static int
enter(const struct guest_boot *boot, struct err *err)
{
	const char *device = boot->config->nic;
	int entered[2], status;
	char byte = 0;
	pid_t guest = getpid(), mover;

	if (pipe2(entered, O_CLOEXEC) < 0)
		return err_set(err, -errno, "pipe: %s", strerror(errno));
	mover = device != NULL ? fork() : 0;
	if (device != NULL && mover == 0) {
		close(entered[1]);
		_exit(read(entered[0], &byte, 1) == 1 && move_device(device, guest, NULL) == 0 ? 0 : 1);
	}
	close(entered[0]);
	if (mover < 0 || unshare(CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWUTS) < 0 ||
	    sethostname(boot->config->name, strlen(boot->config->name)) < 0 || make_private() < 0)
		return err_set(err, -errno, "a network namespace: %s", strerror(errno));
	if (device != NULL && (write(entered[1], &byte, 1) != 1 || waitpid(mover, &status, 0) < 0 || status != 0))
		return err_set(err, -ENODEV, "%s: cannot be moved into the guest's namespace", device);
	close(entered[1]);
	return 0;
}

const struct guest_kind guest_kind_netns = { .name = "netns", .command = command, .enter = enter };
