/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bytes in transit to a file or a socket that may be slow, stopped or gone: a bounded buffer that a thread of its own
 * empties, so that the thread that fills it never waits, unless it wants to. One thread at a time fills; no call but
 * spool_wait() and spool_close() takes longer than a copy.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/delays.h"
#include "common/err.h"

/*
 * Committed bytes are written within this time, as long as the other end takes them. Wall time, whatever clock a run
 * has.
 */
#define SPOOL_GATHER_NS 250000000ULL

struct spool;

struct spool_config {
	int fd;           /* made non-blocking here; the caller's to close, after spool_close() */
	bool socket;      /* a stream socket, whose other end may go without a signal */
	size_t cap_bytes; /* most that is held */
};

/* @param what  whose buffer it is, for err. @return NULL with err set and errno */
struct spool *spool_create(const struct spool_config *config, const char *what, struct err *err);

/* @return bytes that spool_put() may take now */
size_t spool_room(const struct spool *spool);
/* Takes bytes, at most spool_room(); they are not written before spool_commit(). */
void spool_put(struct spool *spool, const void *data, size_t size_bytes);
/* Ends a unit: a file never keeps part of a unit that could not be written to its end. */
void spool_commit(struct spool *spool);
/* Has committed bytes written as soon as the thread looks, instead of within SPOOL_GATHER_NS. Does not wait. */
void spool_flush(struct spool *spool);
/* spool_flush(), and wakes the thread: a system call, if it sleeps. */
void spool_wake(struct spool *spool);

/*
 * Measures the delay from a moment until all bytes that were put before are written. Called before their
 * spool_commit(). At most SPOOL_MARKS wait; further ones are ignored.
 * @param since_ns  clock_now_ns(); a later one than the writing is no delay
 */
#define SPOOL_MARKS 4096
void spool_mark(struct spool *spool, uint64_t since_ns);
/* The noted delays: while nothing is committed that is not written (spool_wait()). */
const struct delays *spool_delays(const struct spool *spool);

/* @return why it was given up, an errno: nothing is written any more; 0: it works */
int spool_errno(const struct spool *spool);

/* What a wait calls again and again; each may be NULL. */
struct spool_waiter {
	bool (*hurried)(void); /* from when it is true, a tenth of the time must do */
	/* Serves the other end: it may not read before it can write elsewhere. */
	void (*meanwhile)(void *ctx);
	void *ctx;
};

/*
 * Waits for room.
 * @param size_bytes   room wanted, at most cap_bytes; cap_bytes: until everything is written
 * @param give_up_ns   if not a byte is taken for so long, the other end is given up (ETIMEDOUT)
 * @return 0, or the errno for which it was given up
 */
int spool_wait(struct spool *spool, size_t size_bytes, uint64_t give_up_ns, const struct spool_waiter *waiter);

/*
 * Ends the thread and forgets unwritten bytes: spool_wait() for all of it before. A thread that hangs in a file system
 * is left behind, with the buffer.
 * @return as spool_errno()
 */
int spool_close(struct spool *spool);
