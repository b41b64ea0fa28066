/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libFuzzer target: whatever comes over a management channel, in portions of any size, is taken as whole messages of the
 * right sizes or refused with a reason. The first byte says how large the portions are.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/manage_stream.h"

#define QUEUE_BYTES (sizeof(struct manage_hdr) + MANAGE_MAX_BODY)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Takes all that is whole. @return bytes of it, or negative: refused */
static long
take_all(struct manage_stream *stream)
{
	struct manage_message message;
	struct err err = { 0 };
	long taken = 0;
	int rc;

	while ((rc = manage_stream_take(stream, &message, &err)) > 0) {
		uint8_t body[MANAGE_MAX_BODY];

		if (message.size > sizeof(body))
			abort();
		memcpy(body, message.body, message.size); /* all of it can be read */
		taken += (long)(sizeof(struct manage_hdr) + message.size);
	}
	if (rc < 0 && err.text[0] == '\0')
		abort(); /* every refusal has a reason */
	return rc < 0 ? rc : taken;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct manage_stream stream;
	size_t portion, taken = 0;
	long got = 0;
	int fd[2];

	if (size == 0 || pipe(fd) < 0)
		return 0;
	if (manage_stream_init(&stream, fd[0], QUEUE_BYTES) < 0)
		abort();
	portion = 1 + (size_t)data[0] * 16;
	for (size_t at = 1; at < size && got >= 0; at += portion) {
		size_t part = size - at < portion ? size - at : portion;

		if (write(fd[1], data + at, part) != (ssize_t)part || manage_stream_receive(&stream) != (int)part)
			abort();
		got = take_all(&stream);
		taken += got > 0 ? (size_t)got : 0;
	}
	if (taken > size)
		abort();
	manage_stream_fini(&stream);
	close(fd[0]);
	close(fd[1]);
	return 0;
}
