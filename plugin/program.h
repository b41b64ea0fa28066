/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The process of an outside program. It leads a process group of its own, has /dev/null for its input, prints to this program's
 * stderr, and inherits two connected stream sockets, whose numbers are in its environment: ROCELAB_RECORDS_FD (3), on which it
 * reads the record stream, and ROCELAB_CONTROL_FD (4). It ends when this process does.
 */
#pragma once

#include <sys/types.h>

#include "common/err.h"

struct plugin_program {
	pid_t pid;   /* 0: it has ended */
	int records; /* this end of its sockets, -1: closed */
	int control; /* does not block */
};

/* @return 0, or negative errno with err set: it is not there, or cannot be run */
int plugin_program_start(struct plugin_program *program, const char *path, struct err *err);

/* @return whether it has ended; *status as child_wait() returns it */
int plugin_program_ended(struct plugin_program *program, int *status);

/* Ends its process group at once, and what its sockets carry. Does not wait. */
void plugin_program_kill(const struct plugin_program *program);

/*
 * Closes both sockets, waits a second for it to end by that, then ends it as child_end() does, with all of its process group. After
 * plugin_program_kill() it is not waited for first. Twice is allowed.
 */
void plugin_program_close(struct plugin_program *program);
