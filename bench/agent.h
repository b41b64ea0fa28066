/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab bench agent: what hosts and network pay for R-Pingmesh's agents (R-Pingmesh 6, Fig. 7). */
#pragma once

#include <stdbool.h>

#include "common/err.h"

/*
 * Measures so many times and prints the best.
 * @param dir  for a scenario
 * @return 0 or a negative errno with err
 */
int bench_agent(const char *dir, int repeats, bool json, struct err *err);
