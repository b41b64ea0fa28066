/* SPDX-License-Identifier: BSD-3-Clause */
/* What systems made of their runs, side by side: in DIR/comparison.json, for people, and in the page of the base run. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/systems/plan.h"

/*
 * Diagnoses the recordings, each system by itself, and shows what came of it. Systems whose run left no recording say so.
 * @param json      print comparison.json, not tables
 * @param findings  set to how many there are of all systems
 * @return EXIT_DONE; EXIT_FAILED: a recording has no verdict; or negative errno with err: the comparison could not be written
 */
int systems_show(struct systems_plan *plan, bool json, size_t *findings, struct err *err);
