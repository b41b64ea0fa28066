/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far a finding can be trusted, from what it rests on alone: of the time that it claims of a step, the part that was
 * measured, of what was to be reported of that time, the part that arrived, and the part that no other cause claims as well.
 */
#pragma once

#include "diag/vedrfolnir/cause/cause.h"

/* Weighs each finding of one step; before they become parts of others. */
void confidence_step(struct cause_set *set, uint32_t step);
/* Sets what it is of a finding by all of its steps: of those on the critical path, if there are any. */
void confidence_conclude(struct cause_finding *finding);

/* ---- its rule, for tests ---- */

/* Of what is inferred nothing is known but that it was inferred: it is as likely so as not. @param measured  part, 0 to 1 */
double confidence_half(double measured);
/* Of so many observations that agree and none that does not, by how much the next one may be expected to (Laplace). */
double confidence_seen(uint64_t times);
/* Of what one claims, what it keeps where others claim too and there is less than both want: its part of what is disputed. */
double confidence_undisputed(double claim_ps, double others_ps, double lost_ps);
