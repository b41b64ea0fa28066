/* SPDX-License-Identifier: BSD-3-Clause */
/* What the hosts saw of their collectives, in the columns of nccl-tests. */
#pragma once

#include <stdio.h>

#include "emulation/emulation.h"

void results_print(const struct emulation *emulation, FILE *to);

/* @return wrong elements over all collectives, iterations and ranks */
uint64_t results_wrong(const struct emulation *emulation);
