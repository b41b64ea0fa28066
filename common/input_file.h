/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that a user names as input: regular ones alone, for a FIFO or a device would hold the program up. */
#pragma once

#include <stdio.h>

#include "common/err.h"

/* @return descriptor, closed on exec; or negative errno with err: it cannot be opened, or -EINVAL: it is no regular file */
int input_open(const char *path, struct err *err);

/* As input_open(). @return NULL with err and errno */
FILE *input_fopen(const char *path, struct err *err);

/*
 * The whole of a file, as input_open() opens it, with a zero byte behind it, the caller's to free.
 * @return NULL with err and errno, EINVAL too where it has more than max_bytes, whole MiB
 */
char *input_read(const char *path, size_t max_bytes, size_t *length, struct err *err);
