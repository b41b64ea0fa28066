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
