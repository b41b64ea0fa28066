/* SPDX-License-Identifier: BSD-3-Clause */
/* Stream sockets that are files (unix(7)). */
#pragma once

#include "common/err.h"

/*
 * Connects to whoever listens at a socket's path.
 * @param peer  who that should be, for people: "analyzer"
 * @return descriptor, closed on exec; or with err set -ENAMETOOLONG, -ECONNREFUSED (nobody listens) or the system's errno
 */
int unix_connect(const char *path, const char *peer, struct err *err);

/*
 * Listens for one connection at a time. The name appears once it does: whoever waits for it may connect at once. A socket
 * that was left behind there is replaced, never anything else.
 * @return descriptor, closed on exec, whose path is the caller's to remove; or with err set -ENAMETOOLONG or the system's errno
 */
int unix_listen(const char *path, struct err *err);
