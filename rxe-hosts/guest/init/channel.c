/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/guest/init/init.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "common/clock.h"

#define DEVICE_WAIT_NS 10000000000ULL
#define DEVICE_POLL_NS 10000000ULL

int
channel_open(const char *name, struct err *err)
{
	uint64_t end_ns = clock_now_ns() + DEVICE_WAIT_NS;
	struct termios raw;
	int fd;

	if (strncmp(name, "fd:", 3) == 0) {
		fd = atoi(name + 3);
		if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl(fd, F_SETFL, O_RDWR) < 0)
			return err_set(err, -errno, "%s: %s", name, strerror(errno));
		return fd;
	}
	while ((fd = open(name, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)) < 0 && errno == ENOENT &&
	       clock_now_ns() < end_ns)
		clock_sleep_until_ns(clock_now_ns() + DEVICE_POLL_NS);
	if (fd < 0)
		return err_set(err, -errno, "%s: %s", name, strerror(errno));
	fcntl(fd, F_SETFL, O_RDWR);
	if (isatty(fd)) {
		tcgetattr(fd, &raw);
		cfmakeraw(&raw);
		if (tcsetattr(fd, TCSANOW, &raw) < 0) {
			int rc = err_set(err, -errno, "%s: raw mode: %s", name, strerror(errno));

			close(fd);
			return rc;
		}
	}
	return fd;
}
