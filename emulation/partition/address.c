/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/partition/address.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/unix_socket.h"

#define HOST_BYTES 256
#define PATH_MOST (sizeof(((struct sockaddr_un *)NULL)->sun_path) - sizeof(".new")) /* as unix_listen() takes it */

static bool
is_path(const char *address)
{
	return strchr(address, '/') != NULL;
}

/* @return the port's digits within address, NULL: there are none */
static const char *
split(const char *address, char host[HOST_BYTES])
{
	const char *colon = strrchr(address, ':');
	size_t length = colon != NULL ? (size_t)(colon - address) : 0;

	if (length == 0 || length >= HOST_BYTES || colon[1] == '\0' ||
	    strspn(colon + 1, "0123456789") != strlen(colon + 1) || strlen(colon + 1) > 5 || atoi(colon + 1) > 65535)
		return NULL;
	if (address[0] == '[' && colon[-1] == ']') { /* RFC 3986, 3.2.2 */
		address++;
		length -= 2;
	}
	snprintf(host, HOST_BYTES, "%.*s", (int)length, address);
	return colon + 1;
}

bool
address_is_local(const char *address)
{
	char host[HOST_BYTES];

	if (is_path(address))
		return true;
	return split(address, host) != NULL &&
	       (strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 || strcmp(host, "localhost") == 0);
}

int
address_check(const char *address, struct err *err)
{
	char host[HOST_BYTES];

	if (is_path(address) && strlen(address) > PATH_MOST)
		return err_set(err, -EINVAL, "%s: a socket's path has at most %zu characters", address, PATH_MOST);
	if (is_path(address) || split(address, host) != NULL)
		return 0;
	return err_set(err, -EINVAL,
		       "\"%s\" is no address of a part: give the path of a unix socket, with a '/', or HOST:PORT", address);
}

/* @return 0 with *list to be freed; negative errno with err set: there is no such host */
static int
resolve(const char *address, bool passive, struct addrinfo **list, struct err *err)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = passive ? AI_PASSIVE : 0 };
	char host[HOST_BYTES];
	const char *port = split(address, host);
	int ret = port != NULL ? getaddrinfo(host, port, &hints, list) : EAI_NONAME;

	return ret == 0 ? 0 : err_set(err, -EADDRNOTAVAIL, "%s: %s", address, gai_strerror(ret));
}

static int
try_listen(const struct addrinfo *at, int backlog)
{
	int fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol), one = 1, ret;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, at->ai_addr, at->ai_addrlen) == 0 && listen(fd, backlog) == 0)
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}

int
address_listen(struct unix_listener *listener, const char *address, int backlog, struct err *err)
{
	struct addrinfo *list = NULL;
	int fd, ret;

	if (is_path(address)) {
		ret = unix_listen(listener, address, err);
		if (ret == 0)
			listen(listener->fd, backlog); /* more of them than it is made for */
		return ret;
	}
	*listener = (struct unix_listener){ .fd = -1, .lock = -1 };
	ret = resolve(address, true, &list, err);
	if (ret < 0)
		return ret;
	fd = -EADDRNOTAVAIL;
	for (const struct addrinfo *at = list; at != NULL && fd < 0; at = at->ai_next)
		fd = try_listen(at, backlog);
	freeaddrinfo(list);
	listener->fd = fd >= 0 ? fd : -1;
	return fd >= 0 ? 0 : err_set(err, fd, "%s: cannot listen there: %s", address, strerror(-fd));
}

/* Waits for a connection that has begun. @return 0 or negative errno */
static int
connected(int fd)
{
	struct pollfd wait = { .fd = fd, .events = POLLOUT };
	socklen_t size = sizeof(int);
	int error = 0;

	if (poll(&wait, 1, ADDRESS_TRY_NS / 1000000) != 1)
		return -ETIMEDOUT;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		return -errno;
	return -error;
}

static int
try_connect(int family, const struct sockaddr *to, socklen_t size)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), ret = 0;

	if (fd < 0)
		return -errno;
	if (connect(fd, to, size) != 0)
		ret = errno == EINPROGRESS ? connected(fd) : -errno;
	if (ret == 0)
		return fd;
	close(fd);
	return ret;
}

int
address_connect(const char *address, struct err *err)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct addrinfo *list = NULL;
	int fd = -EADDRNOTAVAIL, ret;

	if (is_path(address)) {
		if (strlen(address) >= sizeof(to.sun_path))
			return err_set(err, -ENAMETOOLONG, "%s: %s", address, strerror(ENAMETOOLONG));
		strcpy(to.sun_path, address);
		fd = try_connect(AF_UNIX, (const struct sockaddr *)&to, sizeof(to));
		return fd >= 0 ? fd : err_set(err, fd, "%s: %s", address, strerror(-fd));
	}
	ret = resolve(address, false, &list, err);
	if (ret < 0)
		return ret;
	for (const struct addrinfo *at = list; at != NULL && fd < 0; at = at->ai_next)
		fd = try_connect(at->ai_family, at->ai_addr, at->ai_addrlen);
	freeaddrinfo(list);
	return fd >= 0 ? fd : err_set(err, fd, "%s: %s", address, strerror(-fd));
}

void
address_close(const char *address, struct unix_listener *listener)
{
	if (is_path(address))
		unix_listener_close(listener);
	else if (listener->fd >= 0)
		close(listener->fd);
}
