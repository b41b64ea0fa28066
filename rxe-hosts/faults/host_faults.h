/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults of hosts and their programs (dpswitch/faults/fault.h). */
#pragma once

#include "dpswitch/faults/fault.h"

/* NULL-terminated. */
extern const struct fault_ops *const host_faults[];
