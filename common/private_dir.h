/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A folder in /tmp of a program's own, for sockets and the like, that goes with the program. One whose program was killed
 * goes when the next is made: a file in it is locked for as long as the program, or one that it started, lives.
 */
#pragma once

#include "common/err.h"

#define PRIVATE_DIR_PATTERN "/tmp/rocelab-run-XXXXXX" /* short: a unix socket's path has few characters */
#define PRIVATE_DIR_FAILED ".failed" /* behind the name of a job's status file: a process other than the first has failed */

struct private_dir {
	char path[sizeof(PRIVATE_DIR_PATTERN)]; /* "": none */
	int lock;
};

/*
 * Makes one, and removes those that were left over.
 * @return 0, or negative errno with err set
 */
int private_dir_create(struct private_dir *dir, struct err *err);

/* Removes it and all that is in it. One that was never made is allowed, if it is all zero. */
void private_dir_remove(struct private_dir *dir);
