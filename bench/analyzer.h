/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab bench analyzer: how fast records become a verdict, and how that grows with the fabric. */
#pragma once

#include <stdbool.h>

#include "common/err.h"

/*
 * Measures every case so many times, short ones more often, and prints the best of each.
 * @param dir  not used
 * @return 0 or a negative errno with err
 */
int bench_analyzer(const char *dir, int repeats, bool json, struct err *err);
