/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/collect/source.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/input_file.h"
#include "common/interrupt.h"
#include "common/unix_socket.h"

int
source_open_file(const char *path, struct err *err)
{
	return input_open(path, err);
}

const void *
source_map(const char *path, size_t *size_bytes, struct err *err)
{
	int fd = source_open_file(path, err);
	struct stat status;
	void *data = MAP_FAILED;

	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
		data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	else
		errno = EINVAL;
	if (data == MAP_FAILED)
		err_set(err, -errno, "%s: it must be a file that can be read more than once: %s", path, strerror(errno));
	close(fd);
	*size_bytes = (size_t)status.st_size;
	return data != MAP_FAILED ? data : NULL;
}

/* Closes fd and keeps what went wrong. */
static int
fail(int fd, const char *address, const char *what, struct err *err)
{
	int code = errno;

	close(fd);
	return err_set(err, -code, "%s: %s: %s", address, what, strerror(code));
}

static int
listen_tcp(const char *address, const char *colon, struct err *err)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	struct addrinfo *list = NULL;
	char host[256];
	int fd, rc, on = 1;

	if ((size_t)(colon - address) >= sizeof(host))
		return err_set(err, -ENAMETOOLONG, "%s: host name too long", address);
	memcpy(host, address, (size_t)(colon - address));
	host[colon - address] = '\0';
	rc = getaddrinfo(host[0] != '\0' ? host : NULL, colon + 1, &hints, &list);
	if (rc != 0)
		return err_set(err, -EADDRNOTAVAIL, "%s: %s", address, gai_strerror(rc));
	fd = socket(list->ai_family, list->ai_socktype | SOCK_CLOEXEC, list->ai_protocol);
	if (fd < 0) {
		rc = err_set(err, -errno, "%s: socket: %s", address, strerror(errno));
	} else {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		rc = fd;
		if (bind(fd, list->ai_addr, list->ai_addrlen) != 0)
			rc = fail(fd, address, "bind", err);
		else if (listen(fd, 1) != 0)
			rc = fail(fd, address, "listen", err);
	}
	freeaddrinfo(list);
	return rc;
}

/* Somebody connects, or a signal ends the program. */
static void
wait_for_peer(int listener, const sigset_t *before)
{
	struct pollfd fd = { .fd = listener, .events = POLLIN };

	while (ppoll(&fd, 1, NULL, before) < 0 && errno == EINTR)
		continue;
}

int
source_accept(const char *address, sigset_t *before, struct err *err)
{
	const char *colon = strchr(address, '/') == NULL ? strrchr(address, ':') : NULL;
	struct unix_listener own = { .fd = -1, .lock = -1 };
	int listener = colon != NULL ? listen_tcp(address, colon, err) : unix_listen(&own, address, err), fd;

	interrupt_hold(before);
	if (listener < 0)
		return listener;
	if (colon == NULL)
		listener = own.fd;
	wait_for_peer(listener, before);
	do
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	while (fd < 0 && errno == EINTR);
	if (fd < 0)
		fd = err_set(err, -errno, "%s: accept: %s", address, strerror(errno));
	if (colon == NULL)
		unix_listener_close(&own);
	else
		close(listener);
	return fd;
}
