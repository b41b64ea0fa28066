/* SPDX-License-Identifier: BSD-3-Clause */
/* DPDK's environment as a run needs it. */
#pragma once

#include "emulation/run/run.h"

/*
 * Starts it, and decides how lcores wait where the scenario leaves it to the machine.
 * @return 0 or negative with err set
 */
int eal_start(const struct run_options *options, struct scenario *scenario, struct err *err);
