/* SPDX-License-Identifier: BSD-3-Clause */
/* Incremental decoder of the record stream: bytes in any portions, whole records to the evidence. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "diag/collect/evidence.h"

#define STREAM_MAX_RECORD 256 /* bytes; no record type is larger */

struct stream {
	struct evidence *ev;
	uint64_t offset_bytes; /* of the next record, for messages */
	bool opened;           /* the stream header was accepted */
	uint32_t held_bytes;   /* of an incomplete header or record */
	uint8_t held[STREAM_MAX_RECORD] __attribute__((aligned(8)));
};

void stream_init(struct stream *stream, struct evidence *ev);

/*
 * Decodes what is complete and keeps the rest for the next call. Strict: the magic, version, sizes and types must be
 * those of common/wire/record.h, and nothing may follow the end record.
 * @return 0; -EPROTO with err naming the byte offset, the value and what would be right; or evidence_add()'s error
 */
int stream_feed(struct stream *stream, const void *data, size_t size_bytes, struct err *err);

/*
 * Reads a file, pipe or connection to its end into the evidence and finishes it. A connection that breaks or a file
 * that ends early leaves ev->ended false.
 * @return 0; stream_feed()'s or evidence_finish()'s error; negative errno of read() with err
 */
int stream_read_fd(int fd, struct evidence *ev, struct err *err);
