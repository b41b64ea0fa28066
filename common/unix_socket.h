/* SPDX-License-Identifier: BSD-3-Clause */
/* Stream sockets that are files (unix(7)). */
#pragma once

#include "common/err.h"

/*
 * Connects to the program that listens at a socket's path.
 * @param peer  the expected program, for people: "analyzer"
 * @return descriptor, closed on exec; or with err set -ENAMETOOLONG, -ECONNREFUSED (no listener) or the system's errno
 */
int unix_connect(const char *path, const char *peer, struct err *err);

/*
 * Removes a socket that a program left behind that is gone; never anything else.
 * @return 0, also where there is nothing; or with err set -EEXIST (no socket), -EADDRINUSE (a program listens there) or the
 *         system's errno
 */
int unix_remove_stale(const char *path, struct err *err);

#define UNIX_LISTEN_BYTES 104 /* of a path that can be listened at, its end included */

/* A name at which a program listens, and which is its own. */
struct unix_listener {
	int fd;   /* closed on exec; -1: it does not listen */
	int lock; /* of PATH.lock; -1: none */
	char path[UNIX_LISTEN_BYTES];
};

/*
 * Listens for one connection at a time. The name appears once it does: a program that waits for it may connect at once.
 * A lock beside it (PATH.lock) makes the name the caller's: while its owner lives, no other program gets it. A socket
 * that a program left behind that is gone is replaced, never anything else.
 * @return 0; or with err set -ENAMETOOLONG, -EADDRINUSE (another program listens there; err names it), -EEXIST (the path is
 *         no socket, or PATH.lock no lock) or the system's errno
 */
int unix_listen(struct unix_listener *listener, const char *path, struct err *err);

/* Removes the name, if it is the caller's, and its lock. Twice does no harm. */
void unix_listener_close(struct unix_listener *listener);
