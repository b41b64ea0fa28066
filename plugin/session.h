/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One outside program at work. Somebody feeds its record socket (a spool of common/spool.h) and calls this between two of its
 * turns. A turn is told by a line on the control socket: how far the run is, and how many bytes of the record stream it has by
 * then. It is over when the program says {"done": TURN}. In virtual time it is waited for, in real time it is not. Whoever does
 * what cannot be is left out: its process group is killed, and the run goes on without it.
 */
#pragma once

#include <sys/types.h>

#include "common/err.h"
#include "plugin/account.h"

/* What a program may ask for. Each @return 0; -EINVAL with err: there is no such thing; another negative value with err: not now */
struct plugin_driver {
	void *ctx;
	int (*poll_port)(void *ctx, const char *port, struct err *err);
	int (*poll_flow)(void *ctx, const char *flow, struct err *err);
	int (*probe)(void *ctx, const char *from, const char *to, struct err *err);
	/* Whether what a finding names is there; NULL: who reads it later says. */
	int (*check)(void *ctx, const struct plugin_finding *finding, struct err *err);
	bool (*hurried)(void); /* somebody is in a hurry: a tenth of the time must do */
};

/*
 * The process of an outside program. It leads a process group of its own, has /dev/null for its input, prints to this program's
 * stderr, and inherits two connected stream sockets, whose numbers are in its environment: ROCELAB_RECORDS_FD (3), on which it
 * reads the record stream, and ROCELAB_CONTROL_FD (4). It ends when this process does.
 */
struct plugin_program {
	pid_t pid;   /* 0: it has ended */
	int records; /* this end of its sockets, -1: closed */
	int control; /* does not block */
};

struct plugin_session {
	struct plugin_account account;
	struct plugin_program program;
	uint64_t answered; /* the last turn that it has answered */
	bool real_time;
	char *in; /* [PLUGIN_LINE_BYTES] what it has said, from the first byte that is not read yet */
	size_t in_bytes;
	char *out; /* [PLUGIN_LINE_BYTES] what it has not been told yet */
	size_t out_bytes;
	uint32_t turn_lines, turn_asked;
};

/* What a program is told first. */
struct plugin_intro {
	bool real_time, live; /* live: a run, which polls; else a recording */
	uint64_t epoch_ps;
};

/* Starts a program. @return 0, or negative errno with err set; plugin_session_close() in any case */
int plugin_session_start(struct plugin_session *session, const char *path, const struct plugin_account *const *before,
			 uint32_t index, struct err *err);

void plugin_session_begin(struct plugin_session *session, const struct plugin_intro *intro);

/*
 * Tells it of a turn.
 * @param bytes  of the record stream so far
 * @param last   no more records come: its last words are asked for
 */
void plugin_session_turn(struct plugin_session *session, uint64_t now_ps, uint64_t bytes, bool last);

/* Hears what it has said, no more than one line's bytes, and returns at once. */
void plugin_session_hear(struct plugin_session *session, const struct plugin_driver *driver, uint64_t now_ps);

/* Hears it until it has answered the turn, for PLUGIN_WAIT_NS at most: then it is left out. */
void plugin_session_wait(struct plugin_session *session, const struct plugin_driver *driver, uint64_t now_ps);

/* Its record socket failed: why, an errno of a spool's. 0: it did not */
void plugin_session_records(struct plugin_session *session, int error, uint64_t now_ps);

/* @return whether it is still asked */
static inline bool
plugin_session_works(const struct plugin_session *session)
{
	return session->in != NULL && !session->account.left_out;
}

/* Ends its process. The account stays. Twice is allowed. */
void plugin_session_close(struct plugin_session *session);

/* Reports on stderr what it was refused and what it lacks; of a live run also that it was left out. */
void plugin_session_log(const struct plugin_session *session, bool live);
