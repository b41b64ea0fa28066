/* SPDX-License-Identifier: BSD-3-Clause */
/* The time budget of one step: its findings' claims, weighed against each other. */
#pragma once

#include "diag/vedrfolnir/cause/cause.h"

/*
 * Sets what each finding of a step's set explains of what the step lost, and each of its culprits: disjoint, and in sum at
 * most that. Late hosts have what they were late by.
 */
void settle_step(struct cause_set *set, uint32_t step);
