/* SPDX-License-Identifier: BSD-3-Clause */
/* Whose time `rocelab blame` speaks of. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

struct scenario;

/*
 * @param run  folder of a run; NULL: a scenario was given
 * @param of   name of a job; NULL: of a run the one that its verdict's headline speaks of, else the first that is enabled
 * @param job  set to its number
 * @return 0 or -EINVAL with err
 */
int blame_job_choose(const char *run, const char *of, const struct scenario *scenario, uint32_t *job, struct err *err);
/* Is "all" meant, and no job's name? */
bool blame_job_is_all(const char *of, const struct scenario *scenario);
