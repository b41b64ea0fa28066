/* SPDX-License-Identifier: BSD-3-Clause */
/* What the signatures that rest on drop counters share. */
#pragma once

#include "diag/cause/cause.h"

/*
 * Adds a finding for each port that dropped packets for this reason within a slow step's time, where the step's flow
 * was hit: it was the last dropped, or the port is on its configured path.
 * @param what  "packets dropped because the link was down"
 * @return true if there was one
 */
bool drops_add(struct cause_set *set, uint32_t step, enum verdict_type type, enum rec_drop reason, const char *what);
