/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rxe-guest-stage: process 1 of a QEMU guest until it has the server's file system. Loads the modules that its own one
 * brings (/0.ko, /1.ko, ..., in this order), mounts the server's root over 9p, and becomes the program that
 * ROCELAB_INIT names. Linked statically: nothing else is there yet.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROOT "/server"
#define ROOT_TAG "server" /* of the -virtfs option */

static void __attribute__((noreturn)) give_up(const char *what)
{
	fprintf(stderr, "rxe-guest-stage: %s: %s\n", what, strerror(errno));
	reboot(RB_POWER_OFF);
	_exit(1);
}

static void
load_modules(void)
{
	char path[32];

	for (int i = 0;; i++) {
		int fd;

		snprintf(path, sizeof(path), "/%d.ko", i);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return;
		if (syscall(SYS_finit_module, fd, "", 0) < 0 && errno != EEXIST)
			give_up(path);
		close(fd);
	}
}

int
main(void)
{
	char *init = getenv("ROCELAB_INIT");

	if (init == NULL) {
		errno = EINVAL;
		give_up("ROCELAB_INIT");
	}
	load_modules();
	mkdir(ROOT, 0755);
	if (mount(ROOT_TAG, ROOT, "9p", MS_RDONLY, "trans=virtio,version=9p2000.L,cache=loose,msize=262144") < 0)
		give_up("the server's file system");
	if (mount("devtmpfs", ROOT "/dev", "devtmpfs", 0, NULL) < 0)
		give_up(ROOT "/dev");
	if (chdir(ROOT) < 0 || mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 || chdir("/") < 0)
		give_up("chroot");
	execl(init, init, (char *)NULL);
	give_up(init);
}
