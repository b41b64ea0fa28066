/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FlowPulse, a diagnoser: alarms of monitors in switches, which compare a collective's volumes with a prediction, to findings
 * about links that lose packets silently. It knows of no time: whether a fault cost any, others say.
 */
#pragma once

#include "diag/diagnoser.h"

/* As diagnoser.h says; it has no options. */
int flowpulse_diagnose(const struct evidence *evidence, const struct run *run, const void *options, struct section *section,
		       struct err *err);
void flowpulse_destroy(void *own);
