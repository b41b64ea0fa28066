/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One plugin diagnoser at work. The caller feeds its record socket (a spool of common/spool.h) and calls this between
 * two of its turns. A line on the control socket announces a turn: the time of the run, and the bytes of the record
 * stream up to then. The turn is over when the program writes {"done": TURN}. In virtual time the run waits for it,
 * in real time it does not. A program that breaks the protocol is left out: its process group is killed, and the run
 * goes on without it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "plugin/account.h"

/*
 * The requests of a program. Each @return 0; -EINVAL with err: there is no such thing; another negative value with
 * err: not now
 */
struct plugin_driver {
	void *ctx;
	int (*poll_port)(void *ctx, const char *port, struct err *err);
	int (*poll_flow)(void *ctx, const char *flow, struct err *err);
	int (*probe)(void *ctx, const char *from, const char *to, struct err *err);
	/* Checks that the names in a finding exist; NULL: the reader of the report checks them. */
	int (*check)(void *ctx, const struct plugin_finding *finding, struct err *err);
	bool (*hurried)(void);    /* the user interrupted: waits are a tenth as long */
	void (*waits)(void *ctx); /* NULL, or called again and again while the run waits for a turn */
};

/*
 * The process of a plugin diagnoser. It leads a process group of its own, has /dev/null for its input, prints to this
 * program's stderr, and inherits two connected stream sockets, whose numbers are in its environment:
 * ROCELAB_RECORDS_FD (3), on which it reads the record stream, and ROCELAB_CONTROL_FD (4). It ends when this process
 * does.
 */
struct plugin_program {
	pid_t pid;   /* 0: it has ended */
	int records; /* this end of its sockets, -1: closed */
	int control; /* does not block */
};

struct plugin_session {
	struct plugin_account account;
	struct plugin_program program;
	const struct plugin_driver *driver;
	uint64_t answered; /* the last turn that it has answered */
	bool real_time;
	char *in; /* [PLUGIN_LINE_BYTES] received, from the first byte that is not read yet */
	size_t in_bytes;
	char *out; /* [PLUGIN_LINE_BYTES] not sent yet */
	size_t out_bytes;
	uint32_t turn_lines, turn_asked; /* since its last turn was announced or answered */
};

/* The first message to a program. */
struct plugin_intro {
	bool real_time, live; /* live: a run, which polls; else a recording */
	uint64_t epoch_ps;
};

/*
 * Starts a program.
 * @param driver  must outlive the session; used from its first turn on
 * @param before  [index] accounts of the programs before it
 * @return 0, or negative errno with err set; plugin_session_close() in any case
 */
int plugin_session_start(struct plugin_session *session, const char *path, const struct plugin_driver *driver,
			 const struct plugin_account *const *before, uint32_t index, struct err *err);

void plugin_session_begin(struct plugin_session *session, const struct plugin_intro *intro);

/*
 * Announces a turn to it.
 * @param bytes  of the record stream so far
 * @param last   no more records follow: its last findings are requested
 */
void plugin_session_turn(struct plugin_session *session, uint64_t now_ps, uint64_t bytes, bool last);

/*
 * Reads its output, one line's bytes at most, and returns at once. Called at the turns of real time, and whenever the
 * run waits until the program reads records: it may not read before it has written.
 */
void plugin_session_receive(struct plugin_session *session, uint64_t now_ps);

/* Reads its output until it has answered the turn, for PLUGIN_WAIT_NS at most: then it is left out. */
void plugin_session_wait(struct plugin_session *session, uint64_t now_ps);

/* Called when the plugin's record socket failed. @param error  a spool's errno; 0: it did not */
void plugin_session_records(struct plugin_session *session, int error, uint64_t now_ps);

/* @return whether it is still in the run */
static inline bool
plugin_session_works(const struct plugin_session *session)
{
	return session->in != NULL && !session->account.left_out;
}

/* Ends its process. The account stays. Twice is allowed. */
void plugin_session_close(struct plugin_session *session);

/* Reports its refused requests and its losses on stderr; of a live run also that it was left out. */
void plugin_session_log(const struct plugin_session *session, bool live);

/* Plugin diagnosers over a recording: the same bytes and turns as in the run, but nothing can be polled. */

/*
 * @param records  a recorded stream's path; the diagnosis checks its contents
 * @param paths    [count] of programs
 * @param report   path of the output, plugins.json
 * @param hurried  NULL, or called during each wait
 * @return 0, also where programs were left out, which the report names; or negative errno with err set; -EINVAL: a
 *         program cannot be run, or there are too many
 */
int plugin_replay(const char *records, const char *const *paths, uint32_t count, const char *report, bool (*hurried)(void),
		  struct err *err);
