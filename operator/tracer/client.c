/* SPDX-License-Identifier: BSD-3-Clause */
#include "operator/tracer/client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/printable.h"

/* Waits until a socket is ready for events, or a time. @return 0 or -ETIMEDOUT */
static int
wait_for(const struct client *client, short events, uint64_t until_ns, struct err *err)
{
	struct pollfd fd = { .fd = client->fd, .events = events };

	for (;;) {
		uint64_t now_ns = clock_now_ns();
		struct timespec rest = { 0, 0 };
		int ret;

		if (now_ns < until_ns)
			rest = (struct timespec){ (time_t)((until_ns - now_ns) / 1000000000),
						  (long)((until_ns - now_ns) % 1000000000) };
		ret = ppoll(&fd, 1, &rest, NULL);
		if (ret > 0)
			return 0;
		if (ret == 0)
			return err_set(err, -ETIMEDOUT, "no answer within %.3g s", (double)client->timeout_ns / 1e9);
		if (errno != EINTR)
			return err_set(err, -errno, "poll: %s", strerror(errno));
	}
}

static int
read_all(struct client *client, uint8_t *to, size_t size, uint64_t until_ns, struct err *err)
{
	for (size_t at = 0; at < size;) {
		ssize_t got = recv(client->fd, to + at, size - at, MSG_DONTWAIT);
		int ret;

		if (got > 0) {
			at += (size_t)got;
			*client->bytes += (uint64_t)got;
			continue;
		}
		if (got == 0)
			return err_set(err, -EPIPE, "it closed the connection");
		if (errno != EAGAIN && errno != EINTR)
			return err_set(err, -errno, "%s", strerror(errno));
		ret = wait_for(client, POLLIN, until_ns, err);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int
send_all(struct client *client, const void *data, size_t size, uint64_t until_ns, struct err *err)
{
	for (size_t at = 0; at < size;) {
		ssize_t sent = send(client->fd, (const uint8_t *)data + at, size - at, MSG_DONTWAIT | MSG_NOSIGNAL);
		int ret;

		if (sent >= 0) {
			at += (size_t)sent;
			*client->bytes += (uint64_t)sent;
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return err_set(err, -errno, "%s", strerror(errno));
		ret = wait_for(client, POLLOUT, until_ns, err);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int
client_ask(struct client *client, enum swm_type type, const void *body, size_t size, const void *rows, size_t rows_bytes,
	   struct err *err)
{
	const struct swm_hdr hdr = { SWM_MAGIC, SWM_VERSION, (uint16_t)type, (uint32_t)(size + rows_bytes), ++client->tag };
	uint64_t until_ns = clock_now_ns() + client->timeout_ns;
	uint8_t head[sizeof(hdr) + 64];
	int ret;

	memcpy(head, &hdr, sizeof(hdr));
	memcpy(head + sizeof(hdr), body, size);
	ret = send_all(client, head, sizeof(hdr) + size, until_ns, err);
	return ret == 0 ? send_all(client, rows, rows_bytes, until_ns, err) : ret;
}

int
client_reply(struct client *client, uint32_t tag, enum swm_type type, const void **body, struct err *err)
{
	uint64_t until_ns = clock_now_ns() + client->timeout_ns;
	struct swm_hdr *hdr = (void *)client->buf;
	struct swm_refused *refused = (void *)(hdr + 1);
	int ret = read_all(client, client->buf, sizeof(*hdr), until_ns, err);

	if (ret < 0)
		return ret;
	if (hdr->magic != SWM_MAGIC || hdr->version != SWM_VERSION || hdr->size > SWM_MAX_REPLY)
		return err_set(err, -EPROTO, "what answers there is no management socket of version %u", SWM_VERSION);
	ret = read_all(client, client->buf + sizeof(*hdr), hdr->size, until_ns, err);
	if (ret < 0)
		return ret;
	if (hdr->tag != tag)
		return err_set(err, -EPROTO, "its reply is to another request");
	if (hdr->type == SWM_REFUSED && hdr->size == sizeof(*refused)) {
		refused->text[sizeof(refused->text) - 1] = '\0';
		return err_set(err, -EACCES, "%s", printable_text(refused->text, refused->text, sizeof(refused->text)));
	}
	if (hdr->type != type)
		return err_set(err, -EPROTO, "its reply is of type %u; right would be %u", hdr->type, type);
	*body = hdr + 1;
	return (int)hdr->size;
}

static int
connect_to(struct client *client, const char *path, struct err *err)
{
	const struct timeval timeout = { (time_t)(client->timeout_ns / 1000000000),
					 (suseconds_t)(client->timeout_ns % 1000000000 / 1000) };
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(address.sun_path))
		return err_set(err, -ENAMETOOLONG, "%s: a socket's path has at most %zu characters", path,
			       sizeof(address.sun_path) - 1);
	strcpy(address.sun_path, path);
	client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (client->fd < 0)
		return err_set(err, -errno, "socket: %s", strerror(errno));
	/* of one that is frozen the queue of connections fills */
	if (setsockopt(client->fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) == 0 &&
	    connect(client->fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return 0;
	return err_set(err, errno == EAGAIN ? -ETIMEDOUT : -errno, "%s: %s", path,
		       errno == EAGAIN ? "it does not accept connections" : strerror(errno));
}

int
client_open(struct client *client, const char *path, const char *name, struct err *err)
{
	const void *body;
	int ret = connect_to(client, path, err);
	char device_name[SWM_NAME];

	client->tag = 0;
	if (ret == 0)
		ret = client_reply(client, 0, SWM_HELLO, &body, err);
	if (ret >= 0 && ret != (int)sizeof(struct swm_hello))
		ret = err_set(err, -EPROTO, "its greeting has %d B; right would be %zu B", ret, sizeof(struct swm_hello));
	if (ret >= 0) {
		snprintf(device_name, sizeof(device_name), "%.*s", SWM_NAME - 1, ((const struct swm_hello *)body)->name);
		ret = strcmp(device_name, name) == 0
			      ? 0
			      : err_set(err, -EPROTO, "%s answers there, and not %s",
					printable_text(device_name, device_name, sizeof(device_name)), name);
	}
	if (ret < 0)
		client_close(client);
	return ret;
}

void
client_close(struct client *client)
{
	if (client->fd >= 0)
		close(client->fd);
	client->fd = -1;
}
