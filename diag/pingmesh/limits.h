/* SPDX-License-Identifier: BSD-3-Clause */
/* The preconditions of the analyzer's tests, and the tests that were not made where one does not hold. */
#pragma once

#include "diag/pingmesh/judge.h"

#define LIMITS_SLOW 4 /* an undelayed probe takes no more than this part of the timeout, or late and lost are one */
#define LIMITS_HOST_PS                                                                                                     \
	(1000ull * 1000 * 1000) /* a shorter timeout is one that processors make, which take some 10 us a completion */
#define LIMITS_LATE 2           /* an answer that took this part of the timeout was late, */
#define LIMITS_PART 10 /* and where they are this part of the timeouts, or of the answers, timeouts may be late, too */

/* Before periods are judged: sets j->slow and j->all_slow. */
void limits_prepare(struct judging *j);
/*
 * Takes out the period's timeouts that may be late answers: all of a kind of which even the quickest probe takes long
 * (j->slow); else those of RNICs to or from which, or of a period in which, other answers were late.
 * @param hosts  after cpu_judge(): processing time of hosts counts, too, but for those with overloaded CPUs: queues of
 *               their RNICs
 * @return 0 or -ENOMEM
 */
int limits_take_late(struct judging *j, bool hosts);
/*
 * After cpu_judge(): takes out timeouts of hosts whose agents had no room for received packets, by their own count,
 * where that explains them.
 * @return 1: there were some, 0, or -ENOMEM
 */
int limits_take_dropped(struct judging *j);
/* After all periods: counts the tests that could not be made in own->limits. @return 0 or -ENOMEM */
int limits_count(struct judging *j);
