/* SPDX-License-Identifier: BSD-3-Clause */
/* Alarms of several switches and iterations that point to one link are one fault. */
#pragma once

#include "common/err.h"
#include "diag/flowpulse/section.h"

/*
 * Sets own->faults.
 * @param fault_of  [own->nalarms] set to the fault that each alarm is part of
 * @return 0 or -ENOMEM with err
 */
int flowpulse_join(struct flowpulse *own, const struct run *run, uint32_t *fault_of, struct err *err);
