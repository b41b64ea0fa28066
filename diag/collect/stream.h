/* SPDX-License-Identifier: BSD-3-Clause */
/* Incremental decoder of the record stream: bytes in any portions, whole records to the evidence. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"
#include "common/record/check.h"
#include "common/record/frame.h"
#include "diag/collect/evidence.h"

#define STREAM_MAX_RECORD 256 /* bytes; no record type is larger, a frame of some is */

struct stream {
	struct evidence *ev;
	struct record_check *check;   /* from the stream header on */
	uint64_t offset_bytes;        /* of the next record, for messages */
	bool opened;                  /* the stream header was accepted */
	uint32_t held_bytes;          /* of an incomplete header, record or frame */
	struct err why;               /* of the record at hand */
	struct recframe_reader frame; /* at hand */
	uint8_t held[REC_FRAME_MAX_BYTES] __attribute__((aligned(8)));
};

void stream_init(struct stream *stream, struct evidence *ev);
void stream_fini(struct stream *stream);

/*
 * Decodes complete records and keeps the rest for the next call. Here records enter the program: every field of each is
 * checked (common/record/check.h). Without a header record nothing can be decoded, so a bad one refuses the stream. So
 * do wrong magics, sizes and types, frames that cannot be unpacked, and anything behind the end record. A bad report is
 * left out and counted; the evidence keeps the first one's error.
 * @return 0; -EPROTO or -EINVAL with err naming the byte offset, the value and what would be right; or evidence_add()'s
 *         error
 */
int stream_feed(struct stream *stream, const void *data, size_t size_bytes, struct err *err);

/*
 * Call it at the end of the stream: a record that the stream ends in is left out and reported, and the evidence is
 * finished. A stream without its end record broke off, and leaves ev->ended false.
 * @return 0; -EINVAL with err: it broke off before the run began, or steps are missing; or evidence_finish()'s error
 */
int stream_finish(struct stream *stream, struct err *err);

/*
 * Reads a file, pipe or connection to its end into the evidence and finishes it.
 * @param arrivals  NULL, or where a line of each portion goes: bytes up to its end, clock_now_ns() when it had been read,
 *                  and when the evidence had it
 * @return 0; stream_feed()'s or stream_finish()'s error; negative errno of read() with err
 */
int stream_read_fd(int fd, struct evidence *ev, FILE *arrivals, struct err *err);

/* The source of a record stream: a recorded file, or one connection. */

/* @return file descriptor, or negative errno with err */
int source_open_file(const char *path, struct err *err);

/*
 * The bytes of a regular file, to be read again and again; to be given back by munmap().
 * @return NULL with err and errno set: there is none, it is a pipe, or empty
 */
const void *source_map(const char *path, size_t *size_bytes, struct err *err);

/*
 * Waits for one connection, then stops listening. Signals of common/interrupt.h, which it catches, end the wait; they
 * are held back when it returns, so that none of them is lost on a stream that has begun.
 * @param address  "HOST:PORT" (TCP), else the path of a unix socket, which is made and removed again
 * @param before  set to the signals that were held back before
 * @return file descriptor of the connection, or negative errno with err: -EINTR, a signal ended the wait
 */
int source_accept(const char *address, sigset_t *before, struct err *err);
