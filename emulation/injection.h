/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The scenario's faults in a run: they begin and end between windows. Faults that changed nothing are reported,
 * because a user would look for them in the verdict. The diagnosis does not; of faults it sees only those that an
 * operator knows.
 */
#pragma once

#include <jansson.h>

#include "emulation/service.h"

/* Its state is a struct fault_env. */
extern const struct run_service service_injection;

/* "FILE:LINE: loss at a0:1 never acted: no frame was lost", one a fault, for run.json. After emulation_end() */
json_t *injection_idle_json(const struct emulation *emulation);
