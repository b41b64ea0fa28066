/* SPDX-License-Identifier: BSD-3-Clause */
/* Alarms of several switches and iterations that point to one link are one fault. */
#pragma once

#include "common/err.h"
#include "diag/flowpulse/paths.h"
#include "diag/flowpulse/section.h"

/*
 * Sets own->faults, of alarms that are judged.
 * @param fault_of  [own->nalarms] set to the fault that each alarm is part of, RUN_NONE: of none
 * @return 0 or -ENOMEM with err
 */
int flowpulse_join(struct flowpulse *own, const struct paths *paths, uint32_t *fault_of, struct err *err);
