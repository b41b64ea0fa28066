/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of one guest below the folder that the guests of a run share. */
#pragma once

#include <limits.h>
#include <stddef.h>

#include "rxe-hosts/guest/guest.h"

struct supervisor_files {
	char private_dir[PATH_MAX]; /* as the caller spells the folder */
	char guest_dir[PATH_MAX];   /* the same from the root, as the guest sees it */
	char log_path[PATH_MAX];
	char socket_path[PATH_MAX];
	int log;
	int listener; /* of DIR/NAME.sock */
};

/*
 * Makes the private folder with what the guest reads from it (cpuinfo), an empty log and the socket; what an
 * earlier guest of that name left is replaced.
 * @return 0, or negative errno with err set; what was made is removed by supervisor_files_fini() in either case
 */
int supervisor_files_init(struct supervisor_files *files, const struct guest_config *config, struct err *err);

/* Closes all, and removes all but the log. */
void supervisor_files_fini(struct supervisor_files *files);

/* The last line of a log that is not empty. */
void supervisor_last_line(const char *log_path, char *line, size_t cap);

/* Removes what a guest leaves when its keeper was killed. */
void supervisor_files_remove(const char *dir, const char *name);
