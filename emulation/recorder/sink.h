/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the record stream goes: a recording file, and a socket whose other end may be slow, stopped or dead. Each has a
 * buffer and a thread that empties it (common/spool.h), so that neither holds up the other.
 *
 * In virtual time the run waits where a buffer is full. In real time nobody can wait: records are dropped whole, for the
 * one that does not keep up alone, and told to it (REC_GAP) before the next that it gets. What is configured and REC_END
 * are always waited for: they come before and after the run.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/spool.h"
#include "common/wire/record.h"
#include "emulation/recorder/gaps.h"

/* Held for each: what it may lag by before a run waits, or in real time loses records. */
#define SINK_BUFFER_BYTES (8u << 20)
/* One that takes not a byte for so long is given up. An analyzer is stopped or broken then, a disk hangs. */
#define SINK_ANALYZER_NS 10000000000ULL
#define SINK_RECORDING_NS 60000000000ULL

/* One of the two. */
struct outlet {
	struct spool *spool; /* NULL: there is none */
	int error;           /* why it was given up, 0 while it has not been */
	uint64_t give_up_ns;
	struct gaps gaps; /* what it lacks and has not been told of */
	uint32_t gap_seq;
	uint64_t dropped_records, dropped_bytes;
};

struct sink {
	struct outlet file, socket;
	int file_fd;
	bool real_time;
	bool (*hurried)(void);
};

/*
 * @param recording  path of the file, made anew; NULL: no recording
 * @param socket_fd  a connected stream socket, the caller's to close; -1: none
 * @param head       what a stream begins with
 * @return 0, or a negative errno with err naming the path
 */
int sink_init(struct sink *sink, const char *recording, int socket_fd, const struct rec_stream *head, struct err *err);

/* @param hurried  NULL, or asked while somebody is waited for: from when it is true, a tenth of the time must do */
void sink_set_clock(struct sink *sink, bool real_time, bool (*hurried)(void));

/* Waits until everything is written, or given up, and closes the recording. Twice is allowed. */
void sink_fini(struct sink *sink);

/* Appends a record to the stream, as said above. One that fails is given up, its errno kept; the other carries on. */
void sink_put(struct sink *sink, const struct rec_hdr *hdr);

/* Waits until the recording has all that was put, or is given up. @return 0, or the errno for which it was given up */
int sink_settle(struct sink *sink);

/* What is buffered is to be written at once, not in good time (SPOOL_GATHER_NS). Does not wait. */
void sink_flush(struct sink *sink);
