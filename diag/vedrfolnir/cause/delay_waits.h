/* SPDX-License-Identifier: BSD-3-Clause */
/* What the queues of its way made the packets of a step wait, by telemetry: what round trips owe to them. */
#pragma once

#include "diag/vedrfolnir/cause/cause.h"

/*
 * The most that the luckiest of a step's packets can have waited, there and back: none of an epoch waits less than all of its
 * packets on average. Of the epochs of the step's time that all switches on its way tell of, the one with the least. All that
 * the flow's packets met in an epoch counts for those of the step; a halted port held up a window of them for as long as
 * it was halted; at each port of both ways a frame may have been on its way out, and hosts may be late by the run's jitter.
 * @return INFINITY: nobody knows: no epoch is told of by all, or packets were seen off their way
 */
double delay_least_wait_ps(const struct cause_input *in, uint32_t step);

/*
 * The most that its packets can have waited on average, there and back, in the same way.
 * @return INFINITY: nobody knows: a switch on its way does not tell of it, or packets were seen off their way
 */
double delay_mean_wait_ps(const struct cause_input *in, uint32_t step);

/*
 * What its packets waited on average in queues, as those did of which switches tell: evidence beside that of other steps only,
 * and an estimate, not a bound.
 * @return INFINITY: a switch of the way does not tell of any
 */
double delay_likely_wait_ps(const struct cause_input *in, uint32_t step);
