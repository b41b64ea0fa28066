/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/manage_stream.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "common/wire/record_hdr.h"

#define IN_BYTES (sizeof(struct manage_hdr) + MANAGE_MAX_BODY)
#define SIZE_ANY UINT32_MAX
#define SIZE_UNKNOWN (UINT32_MAX - 1)

static uint32_t
body_size(uint16_t type)
{
	switch ((enum manage_type)type) {
	case MANAGE_HELLO:
		return sizeof(struct manage_hello);
	case MANAGE_TIME:
		return sizeof(struct manage_time);
	case MANAGE_CONNECT:
		return 0;
	case MANAGE_QP:
		return sizeof(struct manage_qp);
	case MANAGE_CONNECTED:
		return sizeof(struct manage_connected);
	case MANAGE_START:
		return sizeof(struct manage_start);
	case MANAGE_RECORDS:
	case MANAGE_PINGMESH:
	case MANAGE_FLOWS:
		return SIZE_ANY;
	case MANAGE_PROGRESS:
		return sizeof(struct manage_progress);
	case MANAGE_STOP:
		return sizeof(struct manage_stop);
	case MANAGE_STEP:
		return sizeof(struct manage_step);
	case MANAGE_ITERATION:
		return sizeof(struct manage_iteration);
	case MANAGE_COUNTER:
		return sizeof(struct manage_counter);
	case MANAGE_RESULT:
		return sizeof(struct manage_result);
	case MANAGE_FAILED:
	case MANAGE_QP_ERROR:
		return sizeof(struct manage_failed);
	}
	return SIZE_UNKNOWN;
}

int
manage_stream_init(struct manage_stream *stream, int fd, size_t queue_bytes)
{
	int flags = fcntl(fd, F_GETFL);
	struct termios line;

	assert(queue_bytes >= IN_BYTES);
	*stream = (struct manage_stream){ .fd = fd, .out_cap = queue_bytes };
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	if (tcgetattr(fd, &line) == 0) { /* a terminal */
		cfmakeraw(&line);
		if (tcsetattr(fd, TCSANOW, &line) < 0)
			return -errno;
	}
	stream->in = malloc(IN_BYTES);
	stream->out = malloc(queue_bytes);
	if (stream->in != NULL && stream->out != NULL)
		return 0;
	manage_stream_fini(stream);
	return -ENOMEM;
}

void
manage_stream_fini(struct manage_stream *stream)
{
	free(stream->in);
	free(stream->out);
	stream->in = stream->out = NULL;
}

int
manage_stream_receive(struct manage_stream *stream)
{
	ssize_t got;

	memmove(stream->in, stream->in + stream->in_taken, stream->in_used - stream->in_taken);
	stream->in_used -= stream->in_taken;
	stream->in_taken = 0;
	if (stream->closed || stream->in_used == IN_BYTES)
		return 0;
	got = read(stream->fd, stream->in + stream->in_used, IN_BYTES - stream->in_used);
	if (got > 0) {
		stream->in_used += (size_t)got;
		stream->received_bytes += (size_t)got;
		return (int)got;
	}
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	/* A serial line whose other end hangs up reads as EIO, a socket that was reset as ECONNRESET. */
	if (got < 0 && errno != EIO && errno != ECONNRESET)
		return -errno;
	stream->closed = true;
	return 0;
}

/* @return whether the body consists of whole records, each as long as its header states */
static bool
records_whole(const uint8_t *body, uint32_t size)
{
	uint32_t at = 0;

	while (size - at >= sizeof(struct rec_hdr)) {
		struct rec_hdr hdr;

		memcpy(&hdr, body + at, sizeof(hdr));
		if (hdr.size < sizeof(hdr) || hdr.size % 8 != 0 || hdr.size > size - at)
			return false;
		at += hdr.size;
	}
	return at == size;
}

static int
check(const struct manage_hdr *hdr, struct err *err)
{
	uint32_t expected = body_size(hdr->type);

	if (hdr->magic != MANAGE_MAGIC)
		return err_set(err, -EPROTO,
			       "management channel: a message starts with %08x, not %08x: something else"
			       " writes to it",
			       hdr->magic, MANAGE_MAGIC);
	if (hdr->reserved != 0)
		return err_set(err, -EPROTO, "management channel: the reserved field of a message is %u, not 0",
			       hdr->reserved);
	if (expected == SIZE_UNKNOWN)
		return err_set(err, -EPROTO, "management channel: type %u is none of version %u", hdr->type,
			       MANAGE_VERSION);
	if (expected == SIZE_ANY ? hdr->size > MANAGE_MAX_BODY : hdr->size != expected)
		return err_set(err, -EPROTO, "management channel: a message of type %u has %u B; %s%u would be right",
			       hdr->type, hdr->size, expected == SIZE_ANY ? "at most " : "",
			       expected == SIZE_ANY ? MANAGE_MAX_BODY : expected);
	return 0;
}

int
manage_stream_take(struct manage_stream *stream, struct manage_message *message, struct err *err)
{
	size_t held = stream->in_used - stream->in_taken;
	const uint8_t *at = stream->in + stream->in_taken;
	struct manage_hdr hdr;
	int rc;

	if (held < sizeof(hdr))
		return 0;
	memcpy(&hdr, at, sizeof(hdr));
	rc = check(&hdr, err);
	if (rc < 0)
		return rc;
	if (held - sizeof(hdr) < hdr.size)
		return 0;
	*message = (struct manage_message){ .type = hdr.type, .size = hdr.size, .body = at + sizeof(hdr) };
	if (hdr.type == MANAGE_RECORDS && !records_whole(message->body, hdr.size))
		return err_set(err, -EPROTO, "management channel: %u B of records end within a record", hdr.size);
	stream->in_taken += sizeof(hdr) + hdr.size;
	return 1;
}

static void
append(struct manage_stream *stream, const void *data, size_t size)
{
	if (size != 0)
		memcpy(stream->out + stream->out_head + stream->out_used, data, size);
	stream->out_used += size;
}

int
manage_stream_send(struct manage_stream *stream, enum manage_type type, const void *body, size_t size)
{
	struct manage_hdr hdr = { .magic = MANAGE_MAGIC, .type = type, .size = (uint32_t)size };
	int rc;

	assert(size <= MANAGE_MAX_BODY);
	if (!manage_stream_has_room(stream, size)) {
		stream->refused++;
		return -ENOSPC;
	}
	if (stream->out_cap - stream->out_head - stream->out_used < sizeof(hdr) + size) {
		memmove(stream->out, stream->out + stream->out_head, stream->out_used);
		stream->out_head = 0;
	}
	append(stream, &hdr, sizeof(hdr));
	append(stream, body, size);
	rc = manage_stream_flush(stream);
	return rc < 0 ? rc : 0;
}

/* A socket whose other end is gone must not raise SIGPIPE in a program that did not ask for it. */
static ssize_t
write_some(int fd, const void *data, size_t size)
{
	ssize_t wrote = send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);

	return wrote < 0 && errno == ENOTSOCK ? write(fd, data, size) : wrote;
}

int
manage_stream_flush(struct manage_stream *stream)
{
	while (stream->out_used != 0) {
		ssize_t wrote = write_some(stream->fd, stream->out + stream->out_head, stream->out_used);

		if (wrote < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (wrote < 0) {
			int rc = errno == EIO || errno == ECONNRESET ? -EPIPE : -errno;

			stream->closed = stream->closed || rc == -EPIPE;
			return rc;
		}
		stream->out_head += (size_t)wrote;
		stream->out_used -= (size_t)wrote;
		stream->sent_bytes += (size_t)wrote;
	}
	if (stream->out_used == 0)
		stream->out_head = 0;
	return (int)stream->out_used;
}
