/* SPDX-License-Identifier: BSD-3-Clause */
/* Outside programs over a recording: the same bytes and turns as in the run, but that nobody is there to be polled. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "plugin/bounds.h"

/*
 * @param records  a recorded stream's path; what is wrong with its contents is left to who diagnoses it
 * @param paths    [count] of programs
 * @param report   path of what is to be written: plugins.json
 * @param hurried  NULL, or asked while somebody is waited for
 * @return 0, whoever was left out: the report has it; or negative errno with err set; -EINVAL: a program cannot be run, or there
 *         are too many
 */
int plugin_replay(const char *records, const char *const *paths, uint32_t count, const char *report, bool (*hurried)(void),
		  struct err *err);
