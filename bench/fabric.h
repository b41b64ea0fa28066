/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab bench fabric. */
#pragma once

#include <stdbool.h>

#include "common/err.h"

/*
 * Runs every case so many times and prints medians and the best.
 * @param dir  for scratch files, removed by the caller
 * @return 0, or negative errno with err set
 */
int bench_fabric(const char *dir, int repeats, bool json, struct err *err);
