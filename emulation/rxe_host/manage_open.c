/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/rxe_host/manage_open.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/unix_socket.h"

static int
open_tcp(const char *where, const char *colon, struct err *err)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *list;
	char host[256];
	int rc, fd = -1;

	if ((size_t)(colon - where) >= sizeof(host))
		return err_set(err, -ENAMETOOLONG, "%s: the host's name is too long", where);
	memcpy(host, where, (size_t)(colon - where));
	host[colon - where] = '\0';
	rc = getaddrinfo(host, colon + 1, &hints, &list);
	if (rc != 0)
		return err_set(err, -EHOSTUNREACH, "%s: neither a device, a socket nor HOST:PORT: %s", where,
			       gai_strerror(rc));
	rc = -EHOSTUNREACH;
	for (const struct addrinfo *at = list; at != NULL && fd < 0; at = at->ai_next) {
		fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
		if (fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) == 0)
			break;
		rc = -errno;
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	freeaddrinfo(list);
	if (fd < 0)
		return err_set(err, rc, "%s: no fabric there: %s", where, strerror(-rc));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	return fd;
}

int
manage_open(const char *where, struct err *err)
{
	const char *colon = strrchr(where, ':');
	struct stat status;
	unsigned inherited;
	int fd, end;

	if (sscanf(where, "fd:%u%n", &inherited, &end) == 1 && where[end] == '\0') {
		fd = fcntl((int)inherited, F_DUPFD_CLOEXEC, 0);
		return fd >= 0 ? fd : err_set(err, -errno, "%s: %s", where, strerror(errno));
	}
	if (stat(where, &status) < 0) {
		if (colon != NULL && colon != where)
			return open_tcp(where, colon, err);
		return err_set(err, -errno, "%s: %s", where, strerror(errno));
	}
	if (S_ISSOCK(status.st_mode))
		return unix_connect(where, "fabric", err);
	if (!S_ISCHR(status.st_mode))
		return err_set(err, -EINVAL, "%s: neither a serial line, a socket nor HOST:PORT", where);
	fd = open(where, O_RDWR | O_NOCTTY | O_CLOEXEC);
	return fd >= 0 ? fd : err_set(err, -errno, "%s: %s", where, strerror(errno));
}
