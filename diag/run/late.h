/* SPDX-License-Identifier: BSD-3-Clause */
/* Which steps started later than they could have: the host's own delay. */
#pragma once

#include "diag/run/run.h"

/*
 * Sets late_ps of the steps of one collective, whose steps, and those of the iterations before it, are filled in.
 * A step can start when its own previous step and the one whose data it sends on have ended. The first step of a rank:
 * in the first iteration when the first of all ranks does; in later ones when all that the rank sends and receives in
 * the iteration before has ended, plus a pause between iterations that all ranks make (the shortest counts).
 * @param collective  index into run->collectives
 * @return 0 or -ENOMEM with err
 */
int late_fill(struct run *run, uint32_t collective, struct err *err);
