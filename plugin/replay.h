/* SPDX-License-Identifier: BSD-3-Clause */
/* Plugin diagnosers over a recording: the same bytes and turns as in the run, but nothing can be polled. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "plugin/bounds.h"

/*
 * @param records  a recorded stream's path; the diagnosis checks its contents
 * @param paths    [count] of programs
 * @param report   path of the output, plugins.json
 * @param hurried  NULL, or called during each wait
 * @return 0, also where programs were left out, which the report names; or negative errno with err set; -EINVAL: a
 *         program cannot be run, or there are too many
 */
int plugin_replay(const char *records, const char *const *paths, uint32_t count, const char *report, bool (*hurried)(void),
		  struct err *err);
