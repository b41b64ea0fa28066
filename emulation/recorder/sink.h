/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the record stream goes: a list of outputs, none of which holds up another. */
#pragma once

#include "emulation/recorder/output.h"

#define SINK_MAX_OUTPUTS 8

struct sink {
	struct output outputs[SINK_MAX_OUTPUTS]; /* [count] */
	uint32_t count;
	bool real_time;
	bool (*hurried)(void);
};

/*
 * @param targets  [count]
 * @param head     what a stream begins with
 * @return 0, or a negative errno with err naming the output
 */
int sink_init(struct sink *sink, const struct output_target *targets, uint32_t count, const struct rec_stream *head,
	      struct err *err);

/* @param hurried  NULL, or asked while somebody is waited for: from when it is true, a tenth of the time must do */
void sink_set_clock(struct sink *sink, bool real_time, bool (*hurried)(void));

/* Waits until everything is written, or given up, and closes all outputs. Twice is allowed. */
void sink_fini(struct sink *sink);

/* Appends a record to every stream. One that fails is given up; the others carry on. */
void sink_put(struct sink *sink, const struct rec_hdr *hdr);

/* Waits until those that are kept have all that was put. @return 0, or the errno for which the first was given up */
int sink_settle(struct sink *sink);

/* What is buffered is to be written at once, not in good time (SPOOL_GATHER_NS). Does not wait. */
void sink_flush(struct sink *sink);

/* @return of the first output of a row; all 0: there is none */
struct output_stats sink_stats(const struct sink *sink, const struct output_ops *ops);
/* @return of the output that an open target became, also when it is closed */
struct output_stats sink_stats_fd(const struct sink *sink, int fd);
