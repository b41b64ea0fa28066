/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/control/manage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dpswitch/control/manage_channel.h"

#define QUEUE_BYTES (256 * 1024)
#define MAX_EVENTS 64

void
manage_lose(struct manage *manage, struct manage_channel *channel, const char *why)
{
	if (channel->state == MANAGE_LOST || channel->state == MANAGE_FINISHED)
		return;
	channel->state = MANAGE_LOST;
	err_set(&channel->failure, 0, "host %s: %s", manage_name(manage, channel), why);
}

static int
watch(struct manage *manage, int fd, struct manage_channel *channel, struct err *err)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = channel };

	if (epoll_ctl(manage->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		return err_set(err, -errno, "%s cannot be watched: %s", channel->path, strerror(errno));
	return 0;
}

static int
listen_at(struct manage *manage, struct manage_channel *channel, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *name = manage_name(manage, channel);

	if (snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s.manage", manage->config.dir, name) >=
	    (int)sizeof(address.sun_path))
		return err_set(err, -ENAMETOOLONG, "%s/%s.manage: a socket's path has at most %zu characters",
			       manage->config.dir, name, sizeof(address.sun_path) - 1);
	channel->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (channel->listener < 0 || bind(channel->listener, (struct sockaddr *)&address, sizeof(address)) < 0)
		return err_set(err, -errno, "%s: %s", address.sun_path, strerror(errno));
	memcpy(channel->path, address.sun_path, sizeof(channel->path));
	if (listen(channel->listener, 1) < 0)
		return err_set(err, -errno, "%s: %s", channel->path, strerror(errno));
	return watch(manage, channel->listener, channel, err);
}

static int
make_channels(struct manage *manage, struct err *err)
{
	const struct topo *topo = manage->config.topo;
	int ret = 0;

	manage->channels = calloc(topo->nhosts + 1u, sizeof(*manage->channels));
	manage->of = calloc(topo->nnodes, sizeof(*manage->of));
	manage->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (manage->channels == NULL || manage->of == NULL || manage->epoll < 0)
		return err_set(err, -ENOMEM, "no memory for management channels");
	for (uint32_t i = 0; ret == 0 && i < topo->nnodes; i++) {
		struct manage_channel *channel = &manage->channels[manage->nchannels];

		if (!manage->config.managed[i])
			continue;
		manage->of[i] = manage->nchannels++;
		*channel = (struct manage_channel){ .node = i, .listener = -1, .stream.fd = -1 };
		ret = listen_at(manage, channel, err);
	}
	return ret;
}

struct manage *
manage_create(const struct manage_config *config, struct err *err)
{
	struct manage *manage = calloc(1, sizeof(*manage));
	int ret;

	if (manage == NULL) {
		err_set(err, -ENOMEM, "no memory for management channels");
		return NULL;
	}
	manage->config = *config;
	ret = make_channels(manage, err);
	manage->config.managed = NULL;
	if (ret == 0)
		return manage;
	manage_destroy(manage);
	errno = -ret;
	return NULL;
}

void
manage_destroy(struct manage *manage)
{
	if (manage == NULL)
		return;
	for (uint32_t i = 0; i < manage->nchannels; i++) {
		struct manage_channel *channel = &manage->channels[i];

		if (channel->connected) {
			close(channel->stream.fd);
			manage_stream_fini(&channel->stream);
		}
		if (channel->listener >= 0)
			close(channel->listener);
		if (channel->path[0] != '\0')
			unlink(channel->path);
		host_records_fini(&channel->records);
		free(channel->flows);
	}
	if (manage->epoll >= 0)
		close(manage->epoll);
	free(manage->channels);
	free(manage->of);
	free(manage);
}

bool
manage_pending(struct manage *manage)
{
	struct epoll_event event;

	return epoll_wait(manage->epoll, &event, 1, 0) > 0;
}

void
manage_send(struct manage *manage, struct manage_channel *channel, enum manage_type type, const void *body, size_t size)
{
	if (channel->state == MANAGE_ABSENT || channel->state == MANAGE_LOST || channel->state == MANAGE_FINISHED)
		return;
	if (manage_stream_send(&channel->stream, type, body, size) < 0)
		manage_lose(manage, channel, "its management channel does not take any more");
}

/* One connection a run: the listener has done its work. */
static void
greet(struct manage *manage, struct manage_channel *channel)
{
	struct err err = { 0 };
	int fd = accept4(channel->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	if (manage_stream_init(&channel->stream, fd, QUEUE_BYTES) < 0 || watch(manage, fd, channel, &err) < 0) {
		close(fd);
		manage_lose(manage, channel, "no memory for its management channel");
		return;
	}
	channel->connected = true;
	epoll_ctl(manage->epoll, EPOLL_CTL_DEL, channel->listener, NULL);
	close(channel->listener);
	channel->listener = -1;
}

static void
hear(struct manage *manage, struct manage_channel *channel, const struct manage_sink *sink)
{
	struct manage_message message;
	struct err err = { 0 };
	int ret = manage_stream_receive(&channel->stream), taken = 0;

	while (ret >= 0 && channel->state != MANAGE_LOST &&
	       (taken = manage_stream_take(&channel->stream, &message, &err)) > 0)
		manage_answer(manage, channel, &message, sink);
	channel->traffic.bytes = channel->stream.sent_bytes + channel->stream.received_bytes;
	if (taken < 0)
		manage_lose(manage, channel, err.text);
	if (ret < 0 || channel->stream.closed)
		manage_lose(manage, channel, "its management channel closed: it, or its rxe-host, has died");
	if (ret < 0 || channel->stream.closed || channel->state == MANAGE_LOST)
		epoll_ctl(manage->epoll, EPOLL_CTL_DEL, channel->stream.fd, NULL);
}

void
manage_service(struct manage *manage, const struct manage_sink *sink)
{
	struct epoll_event events[MAX_EVENTS];
	int count = epoll_wait(manage->epoll, events, MAX_EVENTS, 0);

	for (int i = 0; i < count; i++) {
		struct manage_channel *channel = events[i].data.ptr;

		if (channel->connected)
			hear(manage, channel, sink);
		else
			greet(manage, channel);
	}
	for (uint32_t i = 0; i < manage->nchannels; i++) {
		struct manage_channel *channel = &manage->channels[i];

		if (channel->connected && channel->state != MANAGE_LOST && manage_stream_pending(&channel->stream))
			manage_stream_flush(&channel->stream);
	}
}

void
manage_connect(struct manage *manage)
{
	manage->connecting = true;
	for (uint32_t i = 0; i < manage->nchannels; i++)
		manage_send(manage, &manage->channels[i], MANAGE_CONNECT, NULL, 0);
}

void
manage_start(struct manage *manage, uint64_t zero_ns)
{
	const struct manage_start start = { zero_ns };

	manage->zero_ns = zero_ns;
	for (uint32_t i = 0; i < manage->nchannels; i++)
		manage_send(manage, &manage->channels[i], MANAGE_START, &start, sizeof(start));
}

void
manage_stop(struct manage *manage, uint64_t end_ps)
{
	const struct manage_stop stop = { end_ps };

	manage->stopping = true;
	for (uint32_t i = 0; i < manage->nchannels; i++)
		manage_send(manage, &manage->channels[i], MANAGE_STOP, &stop, sizeof(stop));
}
