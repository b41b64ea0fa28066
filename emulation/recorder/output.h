/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A destination of the record stream: a recording file, an analyzer's socket. Each is a row {name, contents, behaviour
 * when it does not keep up}, and has a buffer and a thread that empties it (common/spool.h), so that none holds up
 * another. A new output, such as a page that follows the run, is another row: it reads the stream from the other end
 * of a file descriptor.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/delays.h"
#include "common/err.h"
#include "common/spool.h"
#include "common/wire/record_hdr.h"
#include "emulation/recorder/gaps.h"

/*
 * When a buffer is full. The stream always waits for the configuration and REC_END: they are sent before and after
 * the run.
 */
enum output_full {
	OUTPUT_WAIT, /* the run waits */
	OUTPUT_DROP, /* drops whole records, for this output alone, and reports it (REC_GAP) before the next record */
};

struct output;
struct output_stats;

struct output_target {
	const struct output_ops *ops;
	const char *path; /* of the file that it opens, or */
	int fd;           /* already open, the caller's to close */
	/* NULL, or called during each wait for its reader (common/spool.h). */
	void (*meanwhile)(void *ctx);
	void *ctx;
};

struct output_ops {
	const char *name;            /* in run.json */
	const char *what;            /* for people: "the recording" */
	size_t cap_bytes;            /* its largest lag */
	uint64_t give_up_ns;         /* one that takes not a byte for this long is given up */
	enum output_full on_full[2]; /* in virtual time, in real time */
	bool socket;
	/* The run is worth nothing without it: other outputs learn in REC_END why it broke off, and the run fails. */
	bool kept;
	/* @return the file descriptor to write to, or negative errno with err set */
	int (*open)(const struct output_target *target, struct err *err);
	/* Of the result of open(). @return 0 or errno. NULL: it is the caller's */
	int (*close)(int fd);
	/* Prints its losses, for people. NULL: another module does. @param dir  of the run's files */
	void (*report)(const struct output_stats *stats, const char *dir);
};

extern const struct output_ops output_analyzer, output_plugin, output_recording;
/* All of them, NULL-terminated. */
extern const struct output_ops *const output_registry[];

struct output {
	const struct output_ops *ops;
	int fd, given_fd;    /* given_fd: the target's, by which it is known */
	struct spool *spool; /* NULL: closed */
	struct spool_waiter waiter;
	int error; /* why it was given up, 0 while it has not been */
	uint64_t give_up_ns;
	struct gaps gaps; /* its losses that are not reported to it yet */
	uint32_t gap_seq;
	uint64_t put_bytes;                      /* of the stream as its reader finds it */
	uint64_t dropped_records, dropped_bytes; /* bytes of frames */
	struct delays written;                   /* of its spool, once it is closed */
};

/* The run's. */
struct output_clock {
	bool real_time;
	uint64_t zero_ns; /* clock_now_ns() at the run's time 0; 0: frames' delays are not measured */
};

/* Zeroed: an output that there is not. */
struct output_stats {
	const struct output_ops *ops;
	int error;                    /* it ended early: why; 0: it is whole so far */
	uint64_t dropped_records;     /* sent, but it did not keep up; reported to it, and as dropped in its REC_END */
	uint64_t put_bytes;           /* of the stream as its reader finds it */
	const struct delays *written; /* from a frame's time until it is in the file or socket; of a closed output */
};

/* @param head  the stream head. @return 0, or negative errno with err set */
int output_open(struct output *output, const struct output_target *target, const struct rec_stream *head, struct err *err);

/* Appends a record to the stream. An output that fails is given up, its errno kept. */
void output_put(struct output *output, const struct rec_hdr *hdr, const struct output_clock *clock);

/* Waits until it has all that was put, or is given up. @return 0, or the errno for which it was given up */
int output_settle(struct output *output);

/* Settles and closes it. Twice is allowed. */
void output_close(struct output *output);

/* "it took nothing for long: stopped, or stuck", for the text of output_ops.report */
const char *output_why(int error);

/* Where the record stream goes: a list of outputs, none of which holds up another. */

#define SINK_MAX_OUTPUTS 8

struct sink {
	struct output outputs[SINK_MAX_OUTPUTS]; /* [count] */
	uint32_t count;
	struct output_clock clock;
	struct delays queued; /* from a frame's time until the outputs have it in their buffers */
};

/*
 * @param targets  [count]
 * @param head     the stream head
 * @return 0, or a negative errno with err naming the output
 */
int sink_init(struct sink *sink, const struct output_target *targets, uint32_t count, const struct rec_stream *head,
	      struct err *err);

/* @param hurried  NULL, or called during each wait: once it is true, waits are a tenth as long */
void sink_set_clock(struct sink *sink, bool real_time, bool (*hurried)(void));

/*
 * Measures frames from now on: how long after its time each is queued and written.
 * @param zero_ns  clock_now_ns() at the run's time 0
 */
void sink_measure(struct sink *sink, uint64_t zero_ns);

/* Waits until everything is written, or given up, and closes all outputs. Twice is allowed. */
void sink_fini(struct sink *sink);

/* Appends a record to every stream. One that fails is given up; the others carry on. */
void sink_put(struct sink *sink, const struct rec_hdr *hdr);

/* Waits until those that are kept have all that was put. @return 0, or the errno for which the first was given up */
int sink_settle(struct sink *sink);

/*
 * Writes the buffered bytes at once, not within SPOOL_GATHER_NS. Does not wait. In real time the threads of sockets are
 * woken: their readers wait for the bytes.
 */
void sink_flush(struct sink *sink);

/* @return of the first output of a row; all 0: there is none */
struct output_stats sink_stats(const struct sink *sink, const struct output_ops *ops);
/* @return of the output that an open target became, also when it is closed */
struct output_stats sink_stats_fd(const struct sink *sink, int fd);
