/* SPDX-License-Identifier: BSD-3-Clause */
/* The supervisor of one guest: the process between the caller of guest_start() and the process that runs the guest. */
#pragma once

#include <limits.h>
#include <stddef.h>
#include <stdnoreturn.h>

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
