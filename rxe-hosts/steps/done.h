/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The steps of a host that are over, packed, until the run's tables are written: a run has millions of them. A row is a
 * byte of flags, and behind it what the row in front of it does not say, as LEB128 numbers: about 12 bytes in place of 48.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rxe-hosts/monitor/monitor.h"

/* A step that is over, or open at the end of the run, as steps.csv has it: what the plan does not know of it. */
struct step_done {
	uint64_t start_ps, end_ps;
	struct step_ref waited_for;
	uint32_t slot; /* of the host's ranks */
	uint32_t iteration, step;
	uint32_t unacked_bytes; /* a message has 2^31 at most */
	uint32_t retransmits;
	enum rec_step_state state;
};

struct done_log {
	uint8_t *bytes;    /* [cap_bytes] */
	uint32_t *blocks;  /* where each block of rows begins in bytes: none of its rows needs one before it */
	size_t count, cap; /* rows; those that there is room for in blocks */
	size_t used_bytes, cap_bytes;
	struct step_done last; /* row count - 1 */
};

/* @param cap  rows at most. @return 0 or -ENOMEM */
int done_log_init(struct done_log *log, size_t cap);
void done_log_fini(struct done_log *log);

static inline bool
done_log_full(const struct done_log *log)
{
	return log->count == log->cap;
}

/* Adds a row to a log that is not full. Ends the program when out of memory. */
void done_log_add(struct done_log *log, const struct step_done *row);
/* @param index  below count */
struct step_done done_log_at(const struct done_log *log, size_t index);
