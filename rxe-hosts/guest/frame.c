/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/guest/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int
frame_fill(struct frame_in *in, int fd)
{
	ssize_t n;

	if (in->begin > 0) {
		memmove(in->bytes, in->bytes + in->begin, in->end - in->begin);
		in->end -= in->begin;
		in->begin = 0;
	}
	if (in->end == sizeof(in->bytes))
		return 1;
	n = read(fd, in->bytes + in->end, sizeof(in->bytes) - in->end);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 1 : -errno;
	in->end += (size_t)n;
	return n > 0;
}

int
frame_next(struct frame_in *in, struct guest_frame *frame, const uint8_t **payload)
{
	size_t have = in->end - in->begin;

	if (have < sizeof(*frame))
		return 0;
	memcpy(frame, in->bytes + in->begin, sizeof(*frame));
	if (frame->size > GUEST_MAX_PAYLOAD)
		return -EPROTO;
	if (have < sizeof(*frame) + frame->size)
		return 0;
	*payload = in->bytes + in->begin + sizeof(*frame);
	in->begin += sizeof(*frame) + frame->size;
	return 1;
}

/* Makes room for size bytes at the end. */
static int
reserve(struct frame_out *out, size_t size)
{
	size_t pending = out->end - out->begin, cap = out->cap != 0 ? out->cap : 4096;
	uint8_t *bytes;

	if (pending + size > FRAME_OUT_MAX)
		return -ENOBUFS;
	if (out->begin > 0) {
		memmove(out->bytes, out->bytes + out->begin, pending);
		out->begin = 0;
		out->end = pending;
	}
	if (pending + size <= out->cap)
		return 0;
	while (cap < pending + size)
		cap *= 2;
	bytes = realloc(out->bytes, cap);
	if (bytes == NULL)
		return -ENOMEM;
	out->bytes = bytes;
	out->cap = cap;
	return 0;
}

int
frame_put(struct frame_out *out, enum guest_frame_type type, uint8_t session, const void *payload, size_t size)
{
	struct guest_frame frame = { .type = (uint8_t)type, .session = session, .size = (uint16_t)size };
	int rc;

	if (size > GUEST_MAX_PAYLOAD)
		return -ENOBUFS;
	rc = out->end + sizeof(frame) + size <= out->cap ? 0 : reserve(out, sizeof(frame) + size);
	if (rc < 0)
		return rc;
	memcpy(out->bytes + out->end, &frame, sizeof(frame));
	if (size > 0)
		memcpy(out->bytes + out->end + sizeof(frame), payload, size);
	out->end += sizeof(frame) + size;
	return 0;
}

size_t
frame_pending(const struct frame_out *out)
{
	return out->end - out->begin;
}

int
frame_flush(struct frame_out *out, int fd)
{
	ssize_t n;

	if (out->begin == out->end)
		return 0;
	n = write(fd, out->bytes + out->begin, out->end - out->begin);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	out->begin += (size_t)n;
	if (out->begin == out->end)
		out->begin = out->end = 0;
	return 0;
}

void
frame_out_fini(struct frame_out *out)
{
	free(out->bytes);
	*out = (struct frame_out){ 0 };
}
