/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that a user names as input: regular ones alone, for a FIFO or a device would hold the program up. */
#pragma once

#include <stdio.h>

#include "common/err.h"

/* @return descriptor, closed on exec; or negative errno with err: it cannot be opened, or -EINVAL: it is no regular file */
int input_open(const char *path, struct err *err);

/* As input_open(). @return NULL with err and errno */
FILE *input_fopen(const char *path, struct err *err);
