/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab bench realtime. */
#pragma once

#include <stdbool.h>

#include "common/err.h"

/*
 * Measures and prints.
 * @param dir  for scratch files, removed by this call
 * @return 0, or negative with err set
 */
int bench_realtime(const char *dir, int repeats, bool json, struct err *err);
