/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/unix_socket.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

int
unix_connect(const char *path, const char *peer, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd, ret;

	if (strlen(path) >= sizeof(address.sun_path))
		return err_set(err, -ENAMETOOLONG, "%s: a socket's path has at most %zu characters", path,
			       sizeof(address.sun_path) - 1);
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	ret = -errno;
	if (fd >= 0)
		close(fd);
	return err_set(err, ret, "%s: no %s there: %s", path, peer, strerror(-ret));
}

/* Closes fd and keeps what went wrong. */
static int
fail(int fd, const char *path, const char *what, struct err *err)
{
	int code = errno;

	close(fd);
	return err_set(err, -code, "%s: %s: %s", path, what, strerror(code));
}

/* A socket that an earlier run left behind; never anything else. */
static void
remove_socket(const char *path)
{
	struct stat st;

	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
		unlink(path);
}

int
unix_listen(const char *path, struct err *err)
{
	static const char suffix[] = ".new";
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) + sizeof(suffix) > sizeof(addr.sun_path))
		return err_set(err, -ENAMETOOLONG, "%s: a socket's path has at most %zu characters", path,
			       sizeof(addr.sun_path) - sizeof(suffix));
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s%s", path, suffix);
	remove_socket(path);
	remove_socket(addr.sun_path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_set(err, -errno, "%s: socket: %s", path, strerror(errno));
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0)
		return fail(fd, path, "bind", err);
	if (listen(fd, 1) != 0)
		return fail(fd, path, "listen", err);
	if (link(addr.sun_path, path) != 0) {
		fd = fail(fd, path, "link", err);
		unlink(addr.sun_path);
		return fd;
	}
	unlink(addr.sun_path);
	return fd;
}
