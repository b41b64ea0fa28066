/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What must have happened before what, by vector clocks: a step's clock holds, for each chain, how many of its steps are
 * surely over when the step starts. A clock has an entry for each chain of its connected part of the graph; where these are
 * many, only for those that are not zero. It is kept as long as a step that waits for its own has not started.
 */
#pragma once

#include "collectives/proof/graph.h"

struct clocks;

/* @return NULL without memory */
struct clocks *clocks_create(const struct graph *graph);
void clocks_destroy(struct clocks *clocks);

/* A step starts: each one once, in the graph's order. @return 0 or -ENOMEM */
int clocks_start(struct clocks *clocks, uint32_t step);

/* Whether an earlier step is surely over when the step that started last does. */
bool clocks_over(const struct clocks *clocks, uint32_t earlier);
