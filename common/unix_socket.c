/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/unix_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/log.h"

#define UNIX_LOCK_SUFFIX ".lock"
#define UNIX_LOCK_BYTES (UNIX_LISTEN_BYTES + sizeof(UNIX_LOCK_SUFFIX))
#define LOCK_TRIES 16

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

/* @return whether a program listens at the socket's path */
static bool
is_live(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool live;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	live = fd >= 0 && (connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) == 0 || errno == EAGAIN);
	if (fd >= 0)
		close(fd);
	return live;
}

int
unix_remove_stale(const char *path, struct err *err)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISSOCK(st.st_mode))
		return err_set(err, -EEXIST, "%s: exists and is no socket: remove it, or give another path", path);
	if (is_live(path))
		return err_set(err, -EADDRINUSE, "%s: another program listens there: end it, or give another path", path);
	if (unlink(path) < 0 && errno != ENOENT)
		return err_set(err, -errno, "%s: a stale socket cannot be removed: %s", path, strerror(errno));
	return 0;
}

/* @return -EADDRINUSE with err, which names the owner */
static int
refuse(const char *path, int lock, struct err *err)
{
	char pid[16] = "";
	ssize_t n = pread(lock, pid, sizeof(pid) - 1, 0);

	pid[n > 0 ? strspn(pid, "0123456789") : 0] = '\0';
	return err_set(err, -EADDRINUSE, "%s: process %s listens there: end it, or give another path", path,
		       pid[0] != '\0' ? pid : "of unknown number");
}

/* Whether a file has what owners write into their locks: nothing yet, or a process's number. */
static bool
is_lock(int fd)
{
	char text[16];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || n < 0)
		return false;
	text[n] = '\0';
	return n == 0 || (text[n - 1] == '\n' && strspn(text, "0123456789") == (size_t)n - 1);
}

/*
 * The lock of a name, PATH.lock: the kernel gives it back when its owner ends, however that is. One that was removed
 * between its opening and its locking is made again.
 * @return descriptor, or negative errno with err
 */
static int
lock_name(const char *path, struct err *err)
{
	char name[UNIX_LOCK_BYTES];

	snprintf(name, sizeof(name), "%s" UNIX_LOCK_SUFFIX, path);
	for (int i = 0; i < LOCK_TRIES; i++) {
		int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600), ret;
		struct stat ours, there;

		if (fd < 0)
			return err_set(err, -errno, "%s: cannot be a lock: %s: remove it, or give another path than %s",
				       name, strerror(errno), path);
		if (!is_lock(fd)) {
			close(fd);
			return err_set(err, -EEXIST, "%s: exists and is no lock: remove it, or give another path than %s",
				       name, path);
		}
		if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
			ret = refuse(path, fd, err);
			close(fd);
			return ret;
		}
		if (fstat(fd, &ours) == 0 && lstat(name, &there) == 0 && ours.st_ino == there.st_ino &&
		    ours.st_dev == there.st_dev) {
			if (ftruncate(fd, 0) < 0 || dprintf(fd, "%d\n", (int)getpid()) < 0)
				log_debug("%s: %s", name, strerror(errno)); /* its owner stays unknown */
			return fd;
		}
		close(fd);
	}
	return err_set(err, -EADDRINUSE, "%s: others take and leave this name all the time", path);
}

/* Listens at a path, whose name is locked. @return descriptor, or negative errno with err */
static int
listen_at(const char *path, struct err *err)
{
	static const char suffix[] = ".new";
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = unix_remove_stale(path, err);

	if (fd < 0)
		return fd;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s%s", path, suffix);
	fd = unix_remove_stale(addr.sun_path, err);
	if (fd < 0)
		return fd;
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

int
unix_listen(struct unix_listener *listener, const char *path, struct err *err)
{
	int fd;

	*listener = (struct unix_listener){ .fd = -1, .lock = -1 };
	if (strlen(path) >= sizeof(listener->path))
		return err_set(err, -ENAMETOOLONG, "%s: a socket's path has at most %zu characters", path,
			       sizeof(listener->path) - 1);
	strcpy(listener->path, path);
	listener->lock = lock_name(path, err);
	if (listener->lock < 0)
		return listener->lock;
	fd = listen_at(path, err);
	if (fd < 0) {
		unix_listener_close(listener);
		return fd;
	}
	listener->fd = fd;
	return 0;
}

void
unix_listener_close(struct unix_listener *listener)
{
	char name[UNIX_LOCK_BYTES];

	if (listener->fd >= 0) {
		close(listener->fd);
		unlink(listener->path);
	}
	if (listener->lock >= 0) {
		snprintf(name, sizeof(name), "%s" UNIX_LOCK_SUFFIX, listener->path);
		unlink(name);
		close(listener->lock);
	}
	listener->fd = listener->lock = -1;
}
