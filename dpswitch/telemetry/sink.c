/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/telemetry/sink.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SINK_BUFFER_BYTES (64u << 10)

static int drain(int fd, bool is_socket, const uint8_t *data, size_t size_bytes);

int
sink_init(struct sink *sink, const char *recording, int socket_fd, struct err *err)
{
	*sink = (struct sink){ .file_fd = -1, .socket_fd = socket_fd };
	sink->buf = malloc(SINK_BUFFER_BYTES);
	if (sink->buf == NULL)
		return err_set(err, -ENOMEM, "out of memory for the record stream's buffer");
	if (recording == NULL)
		return 0;
	sink->file_fd = open(recording, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (sink->file_fd < 0) {
		int code = -errno;

		free(sink->buf);
		sink->buf = NULL;
		return err_set(err, code, "%s: cannot write the recording: %s", recording, strerror(-code));
	}
	return 0;
}

void
sink_fini(struct sink *sink)
{
	if (sink->buf == NULL)
		return;
	sink_flush(sink);
	if (sink->file_fd >= 0 && close(sink->file_fd) != 0 && sink->file_errno == 0)
		sink->file_errno = errno;
	sink->file_fd = -1;
	free(sink->buf);
	sink->buf = NULL;
}

void
sink_put(struct sink *sink, const void *data, size_t size_bytes)
{
	assert(size_bytes <= SINK_BUFFER_BYTES);
	if (sink->used_bytes + size_bytes > SINK_BUFFER_BYTES)
		sink_flush(sink);
	memcpy(sink->buf + sink->used_bytes, data, size_bytes);
	sink->used_bytes += size_bytes;
}

void
sink_flush(struct sink *sink)
{
	if (sink->file_fd >= 0 && sink->file_errno == 0)
		sink->file_errno = drain(sink->file_fd, false, sink->buf, sink->used_bytes);
	if (sink->socket_fd >= 0 && sink->socket_errno == 0)
		sink->socket_errno = drain(sink->socket_fd, true, sink->buf, sink->used_bytes);
	sink->used_bytes = 0;
}

/* @return 0 or an errno. A peer that is gone raises no signal. */
static int
drain(int fd, bool is_socket, const uint8_t *data, size_t size_bytes)
{
	while (size_bytes > 0) {
		ssize_t done = is_socket ? send(fd, data, size_bytes, MSG_NOSIGNAL) : write(fd, data, size_bytes);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return errno;
		data += done;
		size_bytes -= (size_t)done;
	}
	return 0;
}
