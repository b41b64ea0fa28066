/* SPDX-License-Identifier: BSD-3-Clause */
/* The supervisor of one guest: the process between the caller of guest_start() and the process that runs the guest. */
#pragma once

#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdnoreturn.h>

#include "rxe-hosts/guest/frame.h"
#include "rxe-hosts/guest/guest.h"

/*
 * Runs the guest until it ends, the caller requests its end, or the caller is gone; then removes all of it. Never
 * returns.
 * @param report  SOCK_SEQPACKET connection to the caller: sends struct guest_status, one per message, GUEST_ENDED last;
 *                receives any byte, or the end, as the request to stop
 */
noreturn void supervisor_run(const struct guest_config *config, int report);

/* The files of one guest below the folder that the guests of a run share. */

struct supervisor_files {
	char private_dir[PATH_MAX]; /* as the caller spells the folder */
	char guest_dir[PATH_MAX];   /* the same from the root, as the guest sees it */
	char log_path[PATH_MAX];
	char socket_path[PATH_MAX];
	int log;
	int listener; /* of DIR/NAME.sock */
};

/* The last line of a log that is not empty. */
void supervisor_last_line(const char *log_path, char *line, size_t cap);

/* Removes the files that a guest leaves when its supervisor was killed. */
void supervisor_files_remove(const char *dir, const char *name);

/*
 * A guest's command channel, shared: the supervisor's own session runs the guest's program, and every program that
 * connects to the guest's socket has one.
 */

#define SESSIONS_MAX_FDS (2 + GUEST_MAX_SESSIONS)
#define SESSIONS_PROGRAM 1 /* number of the supervisor's own */

struct session_peer {
	bool used;    /* a session of the guest, until its GUEST_EXIT */
	bool started; /* GUEST_RUN went by */
	int fd;       /* of the program that connected; -1: gone, or the supervisor's own */
	struct frame_in in;
	struct frame_out out;
};

struct sessions {
	int guest;             /* the supervisor's end of the command channel */
	int listener;          /* the guest's socket */
	int log;               /* where output of the guest's program goes */
	size_t log_lost_bytes; /* of it, since the log last took any */
	struct frame_in in;
	struct frame_out out;
	struct session_peer peers[GUEST_MAX_SESSIONS];

	/* Output of the guest so far. */
	bool hello, program_ended;
	struct guest_hello up;
	char up_text[256];
	int program_status;
};

/*
 * Fills the descriptors to poll; then moves the received bytes. @return 0, or negative errno: the guest closed the
 * connection or violated the protocol
 */
void sessions_poll(struct sessions *sessions, struct pollfd fds[SESSIONS_MAX_FDS]);
int sessions_move(struct sessions *sessions, const struct pollfd fds[SESSIONS_MAX_FDS]);

/* Starts the guest's program; its output goes to the log. @return 0 or negative errno */
int sessions_start_program(struct sessions *sessions, const char *const *argv, bool manage);

/* Asks the guest to stop. */
int sessions_power_off(struct sessions *sessions);

void sessions_fini(struct sessions *sessions);
