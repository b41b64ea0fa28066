/* SPDX-License-Identifier: BSD-3-Clause */
/* The impact of problems on services: P0, P1, P2 (R-Pingmesh 4.3.4). */
#pragma once

#include "diag/pingmesh/judge.h"

/*
 * Sets own->impacts, priorities and degradations of all problems, puts the most urgent first, and sets the metric of
 * each service and of all, and whether the network is innocent. A service's metric is the time of iterations of its
 * job, against the median of those that no problem of its own network overlaps. A problem counts for a service only if
 * its probes show it, or its connections cross it.
 * @param threshold  of degradation, beyond which a problem is P0: 0.1 for 10 %
 * @return 0 or -ENOMEM with j->err
 */
int impact_assess(struct judging *j, double threshold);
