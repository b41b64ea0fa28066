/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab bench telemetry: what it takes to bring what switches see to the analyzer, by budget. */
#pragma once

#include <stdbool.h>

#include "common/err.h"

/*
 * Runs every case so many times and prints counts, bytes and lags, which repeat in virtual time, and the best times.
 * @param dir  for scratch files and a socket, removed by the caller
 * @return 0, or negative errno with err set: a run failed, or its counts do not agree
 */
int bench_telemetry(const char *dir, int repeats, bool json, struct err *err);
