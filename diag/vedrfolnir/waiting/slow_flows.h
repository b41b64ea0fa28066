/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What stands for the critical path where nothing waits for a flow but itself: the slow flows of generators that lost most
 * time, most first. Flows are rated over it as over a critical path.
 */
#pragma once

#include "diag/run/run.h"
#include "diag/vedrfolnir/section.h"

#define SLOW_FLOWS_LISTED 24

/* @param waiting  of wgraph_build() over the same steps: its path has room for all of them, and is replaced */
void slow_flows_list(const struct run_step *steps, uint32_t first, uint32_t count, struct waiting_graph *waiting);
