/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Iterations of a schedule follow each other without a barrier: a rank that has done its part of one begins the next.
 * So that no message arrives more than one iteration early, it must not be sent before its receiver has started the
 * iteration before: the message has to wait for the start of some rank, whose end of an iteration depends on the
 * receiver's start of it. Mostly that is the sender itself. A ring holds its ranks together so; a Broadcast does not,
 * its root would run away.
 */
#pragma once

#include "collectives/schedule.h"

/*
 * Makes a schedule fit to be iterated. Where it is not by itself it gets a closing barrier: a rank that has done all else
 * enters a dissemination barrier (Hensgen, Finkel, Manber, IJPP 17(1), 1988; Mellor-Crummey and Scott, ACM TOCS 9(1), 1991,
 * section 3.3) among all that send or receive, of ceil(log2 n) rounds, one element a message, into elements behind its
 * memory. These are steps like any others.
 * @param schedule  acyclic; gone where another is returned, and after an error
 * @return the same, or one with the barrier; NULL with err and errno set: ENOMEM, E2BIG, EINVAL: steps wait for each other
 */
struct coll_schedule *coll_schedule_close(struct coll_schedule *schedule, struct err *err);
