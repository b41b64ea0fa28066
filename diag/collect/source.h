/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a record stream comes from: a recorded file, or one connection. */
#pragma once

#include "common/err.h"

/* @return file descriptor, or negative errno with err */
int source_open_file(const char *path, struct err *err);

/*
 * Waits for one connection, then listens no more.
 * @param address  "HOST:PORT" (TCP), else the path of a unix socket, which is made and removed again
 * @return file descriptor of the connection, or negative errno with err
 */
int source_accept(const char *address, struct err *err);
