/* SPDX-License-Identifier: BSD-3-Clause */
/* Which steps started later than they could have: the host's own delay. */
#pragma once

#include "diag/run/run.h"

/*
 * Sets late_ps of all steps; all else of the run's collectives, ranks and steps is filled in.
 * A step can start when all that it depends on has ended. One that depends on nothing, a rank's first: when all that
 * the rank sends and receives in the collectives that this one follows has ended (a rank without a part in one passes over it), or if it follows none in those of the
 * job's iteration before, plus a pause that all ranks make (the shortest counts); in the first iteration when the first
 * of all ranks does.
 */
void late_fill(struct run *run);
