/* SPDX-License-Identifier: BSD-3-Clause */
/* Results in a store are of the cases that are beside it: a generator that writes another case has to notice. */
#pragma once

#include <stdint.h>

#include "common/err.h"

/* @return of the file's bytes; 0: it cannot be read */
uint64_t case_file_digest(const char *path);

/*
 * @param before  its digest before it was written again; 0: it was not there
 * @return 0; -EINVAL with err: it was another case
 */
int case_file_check(const char *path, uint64_t before, struct err *err);
