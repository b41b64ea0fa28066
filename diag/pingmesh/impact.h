/* SPDX-License-Identifier: BSD-3-Clause */
/* What problems mean to services: P0, P1, P2 (R-Pingmesh 4.3.4). */
#pragma once

#include "diag/pingmesh/judge.h"

/*
 * Sets priorities and degradations of all problems, puts the most urgent first, and sets own->metric and own->innocent. The service's metric is how long iterations
 * of its jobs take, against the median of those that no problem of the
 * services' network overlaps.
 * @param threshold  of its degradation, beyond which a problem is P0: 0.1 for 10 %
 * @return 0 or -ENOMEM with j->err
 */
int impact_assess(struct judging *j, double threshold);
