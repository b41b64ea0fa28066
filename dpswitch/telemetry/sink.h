/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the record stream goes: a recording file, and a socket whose other end may die. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct sink {
	uint8_t *buf;
	size_t used_bytes;
	int file_fd, socket_fd; /* -1: none */
	int file_errno;   /* why the recording ended early, 0 while it has not */
	int socket_errno; /* why the socket was given up, 0 while it has not been */
};

/*
 * @param recording  path of the file, truncated; NULL: no recording
 * @param socket_fd  a connected stream socket, the caller's to close; -1: none
 * @return 0, or a negative errno with err naming the path
 */
int sink_init(struct sink *sink, const char *recording, int socket_fd, struct err *err);

/* Flushes, and closes the recording. */
void sink_fini(struct sink *sink);

/* Appends to the stream. Returns when the bytes are buffered or taken: a slow reader is waited for. */
void sink_put(struct sink *sink, const void *data, size_t size_bytes);

/* Hands over what is buffered. A sink that fails is given up, its errno kept, and the other one carries on. */
void sink_flush(struct sink *sink);
