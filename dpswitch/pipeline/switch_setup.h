/* SPDX-License-Identifier: BSD-3-Clause */
/* From configuration to a switch's derived state; used by switch_create() alone. */
#pragma once

#include "dpswitch/pipeline/switch.h"

/* Which classes are lossless. @return 0 or -EINVAL */
int switch_setup_classes(struct sw *sw, struct err *err);
/* Ports, buffer and thresholds. Needs ports and ingress allocated. @return 0, -EINVAL, -ERANGE, -ENOMEM */
int switch_setup(struct sw *sw, struct err *err);
