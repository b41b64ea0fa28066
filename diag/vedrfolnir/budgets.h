/* SPDX-License-Identifier: BSD-3-Clause */
/* The time budget of each collective. */
#pragma once

#include "common/err.h"
#include "diag/section.h"
#include "diag/vedrfolnir/section.h"

/*
 * Sums up what each collective's steps on the critical path lost, and what the section's findings explain of it; says which
 * of these are without effect, and puts them last.
 * @return 0, or -ENOMEM with err
 */
int budgets_sum_up(const struct run *run, struct section *section, struct err *err);
