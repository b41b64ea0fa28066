/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab bench monitor: what a host pays for its monitor and detection agent (VEDRFOLNIR Fig. 11). */
#pragma once

#include <stdbool.h>

#include "common/err.h"

/*
 * Measures every case so many times and prints the best of each.
 * @param dir  not used
 * @return 0 or a negative errno with err
 */
int bench_monitor(const char *dir, int repeats, bool json, struct err *err);
