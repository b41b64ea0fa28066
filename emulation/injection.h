/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The scenario's faults in a run: they begin and end between windows. Faults that changed nothing are reported, because whoever
 * looks for them in the verdict should know. The diagnosis does not; of faults it sees those alone that an operator knows.
 */
#pragma once

#include <jansson.h>

#include "emulation/service.h"

/* Its state is a struct fault_env. */
extern const struct run_service service_injection;

/* "FILE:LINE: loss at a0:1 never acted: no frame was lost", one a fault, for run.json. After emulation_end() */
json_t *injection_idle_json(const struct emulation *emulation);
