/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/partition/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/grow.h"

_Static_assert(CHANNEL_OUT_BYTES == 64 * 1024 * 1024, "see channel_flaw()");

#define READ_BYTES (128u * 1024)
/* Frames that arrive meanwhile are handled before more are read: a number of reads in a row. */
#define READS 16

static const struct {
	const char *name;
	uint32_t least, most;
} kinds[PARTITION_TYPES] = {
#define KIND(id, number, name, least, most) [number] = { name, least, most },
	PARTITION_MESSAGES(KIND)
#undef KIND
};

int
channel_init(struct channel *channel, int fd)
{
	int one = 1, flags = fcntl(fd, F_GETFL), ret = 0;

	*channel = (struct channel){ .fd = fd };
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) {
		ret = -errno;
		channel_fini(channel);
		return ret;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)); /* refused by unix sockets, which need none */
	return 0;
}

void
channel_fini(struct channel *channel)
{
	if (channel->fd >= 0)
		close(channel->fd);
	free(channel->in);
	free(channel->out);
	*channel = (struct channel){ .fd = -1 };
}

static void
append(struct channel *channel, const void *data, size_t size)
{
	if (size == 0)
		return;
	channel->out = grow(channel->out, &channel->out_cap, channel->out_used + size, 1, "messages to another partition");
	memcpy(channel->out + channel->out_used, data, size);
	channel->out_used += size;
}

void
channel_put(struct channel *channel, enum partition_type type, const void *body, size_t size, const void *more,
	    size_t more_size)
{
	const struct partition_hdr hdr = { .magic = PARTITION_MAGIC,
					   .type = (uint16_t)type,
					   .size = (uint32_t)(size + more_size) };

	if (channel->fd < 0 || channel->error != 0)
		return;
	if (channel->out_used - channel->out_head > CHANNEL_OUT_BYTES) {
		channel->error = ENOBUFS;
		return;
	}
	append(channel, &hdr, sizeof(hdr));
	append(channel, body, size);
	append(channel, more, more_size);
}

void
channel_flush(struct channel *channel)
{
	while (channel->fd >= 0 && channel->error == 0 && channel->out_head < channel->out_used) {
		ssize_t sent = send(channel->fd, channel->out + channel->out_head, channel->out_used - channel->out_head,
				    MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && errno != EAGAIN)
			channel->error = errno;
		if (sent < 0)
			break;
		channel->out_head += (size_t)sent;
	}
	if (channel->out_head == channel->out_used) {
		channel->out_head = channel->out_used = 0;
	} else if (channel->out_head > channel->out_cap / 2) {
		memmove(channel->out, channel->out + channel->out_head, channel->out_used - channel->out_head);
		channel->out_used -= channel->out_head;
		channel->out_head = 0;
	}
}

void
channel_shut(struct channel *channel)
{
	if (channel->fd < 0 || channel->shut || channel_waits(channel))
		return;
	channel->shut = true;
	shutdown(channel->fd, SHUT_WR);
}

bool
channel_read(struct channel *channel)
{
	bool any = false;

	if (channel->in_head != 0) {
		memmove(channel->in, channel->in + channel->in_head, channel->in_used - channel->in_head);
		channel->in_used -= channel->in_head;
		channel->in_head = 0;
	}
	for (uint32_t i = 0; i < READS && channel->fd >= 0 && !channel->ended; i++) {
		ssize_t got;

		channel->in = grow(channel->in, &channel->in_cap, channel->in_used + READ_BYTES, 1,
				   "messages of another partition");
		got = recv(channel->fd, channel->in + channel->in_used, READ_BYTES, MSG_DONTWAIT);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			break;
		if (got <= 0) {
			channel->ended = true;
			break;
		}
		any = true;
		channel->in_used += (size_t)got;
		if ((size_t)got < READ_BYTES)
			break;
	}
	return any;
}

int
channel_take(struct channel *channel, struct channel_message *message, struct err *err)
{
	size_t left = channel->in_used - channel->in_head;
	struct partition_hdr hdr;

	if (left < sizeof(hdr))
		return 0;
	memcpy(&hdr, channel->in + channel->in_head, sizeof(hdr));
	if (hdr.magic != PARTITION_MAGIC)
		return err_set(err, -EPROTO, "not a message of a partition (magic %#x)", hdr.magic);
	if (hdr.type >= PARTITION_TYPES || hdr.type == PARTITION_NONE)
		return err_set(err, -EPROTO, "type = %u is not a message of a partition", hdr.type);
	if (hdr.size < kinds[hdr.type].least || hdr.size > kinds[hdr.type].most)
		return err_set(err, -EPROTO, "%s of %u B; right would be %u to %u", kinds[hdr.type].name, hdr.size,
			       kinds[hdr.type].least, kinds[hdr.type].most);
	if (left < sizeof(hdr) + hdr.size)
		return 0;
	*message = (struct channel_message){ hdr.type, hdr.size, channel->in + channel->in_head + sizeof(hdr) };
	channel->in_head += sizeof(hdr) + hdr.size;
	return 1;
}

enum partition_type
channel_incoming(const struct channel *channel)
{
	struct partition_hdr hdr;

	if (channel->in_used - channel->in_head < sizeof(hdr))
		return PARTITION_NONE;
	memcpy(&hdr, channel->in + channel->in_head, sizeof(hdr));
	return hdr.type;
}

const char *
channel_flaw(const struct channel *channel)
{
	return channel->error == ENOBUFS ? "it leaves more than 64 MB unread" : strerror(channel->error);
}
