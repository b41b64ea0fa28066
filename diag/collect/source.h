/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a record stream comes from: a recorded file, or one connection. */
#pragma once

#include <signal.h>
#include <stddef.h>

#include "common/err.h"

/* @return file descriptor, or negative errno with err */
int source_open_file(const char *path, struct err *err);

/*
 * The bytes of a regular file, to be read again and again; to be given back by munmap().
 * @return NULL with err and errno set: there is none, it is a pipe, or empty
 */
const void *source_map(const char *path, size_t *size_bytes, struct err *err);

/*
 * Waits for one connection, then listens no more. Signals of common/interrupt.h end the program while it waits; they are
 * held back when it returns, so that none of them is lost on a stream that has begun.
 * @param address  "HOST:PORT" (TCP), else the path of a unix socket, which is made and removed again
 * @param before  set to the signals that were held back before
 * @return file descriptor of the connection, or negative errno with err
 */
int source_accept(const char *address, sigset_t *before, struct err *err);
