/* SPDX-License-Identifier: BSD-3-Clause */
/* One command that runs in the guest, between its descriptors and the command channel's frames. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

#include "rxe-hosts/guest/frame.h"

#define SESSION_POLL_FDS 3 /* input, output, errors */

struct session {
	bool used;
	pid_t pid; /* leads a process group of its own */
	bool ended;
	int status; /* once ended: 0..255, or 128 + signal */
	bool pty;
	bool input_ended;              /* close input when its queue is empty */
	int input, output, errors;     /* -1: none; on a terminal input and output are one */
	uint32_t credit;               /* bytes that may be sent to the server */
	size_t input_begin, input_end; /* what the command has not read yet */
	uint8_t input_queue[GUEST_WINDOW_BYTES];
};

/*
 * Starts a command. A program that cannot be executed ends with 127 and says so on its standard error.
 * @param payload  of GUEST_RUN
 * @param manage   descriptor for GUEST_RUN_MANAGE, or -1
 * @return 0, or negative errno
 */
int session_start(struct session *session, const uint8_t *payload, size_t size, int manage);

/* Queues input; an empty one is its end. @return 0, or -ENOBUFS when the server overspends its credit */
int session_input(struct session *session, const uint8_t *bytes, size_t size);

/* Tells the terminal its new size. */
void session_resize(struct session *session, uint16_t rows, uint16_t cols);

/* Ends the command and all that it started in its process group. */
void session_kill(struct session *session);

/* Fills what to wait for; descriptors that do not matter now are -1. */
void session_poll(const struct session *session, struct pollfd fds[SESSION_POLL_FDS]);

/*
 * Moves bytes as poll() said; queues frames for the server, GUEST_EXIT last, which frees the session.
 * @return 0, or negative errno of frame_put()
 */
int session_move(struct session *session, uint8_t number, const struct pollfd fds[SESSION_POLL_FDS], struct frame_out *out);
