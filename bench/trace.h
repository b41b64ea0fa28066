/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab bench trace: how long FlowTracer takes (Fig. 4, 5), with processes, threads and sockets as they are. */
#pragma once

#include <stdbool.h>

#include "common/err.h"

/*
 * Measures every case so many times and prints the best of each.
 * @param dir  for sockets
 * @return 0 or a negative errno with err
 */
int bench_trace(const char *dir, int repeats, bool json, struct err *err);
