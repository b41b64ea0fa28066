/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FlowPulse, a diagnoser: from alarms of monitors in switches, which compare a collective's volumes with a prediction,
 * to findings about links that lose packets silently. It has no times: other diagnosers find the cost of a fault.
 */
#pragma once

#include "diag/diagnoser.h"

/* As in diagnoser.h; it has no options. */
int flowpulse_diagnose(const struct evidence *evidence, const struct run *run, const void *options, struct section *section,
		       struct err *err);
void flowpulse_destroy(void *own);
