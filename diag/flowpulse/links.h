/* SPDX-License-Identifier: BSD-3-Clause */
/* Alarms of several switches and iterations that point to one link are one fault. */
#pragma once

#include "common/err.h"
#include "diag/flowpulse/section.h"
#include "diag/flowpulse/ways.h"

/*
 * Sets own->faults, of alarms that are judged.
 * @param fault_of  [own->nalarms] set to the fault that each alarm is part of, RUN_NONE: of none
 * @return 0 or -ENOMEM with err
 */
int flowpulse_join(struct flowpulse *own, const struct ways *ways, uint32_t *fault_of, struct err *err);
