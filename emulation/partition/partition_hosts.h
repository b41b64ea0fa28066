/* SPDX-License-Identifier: BSD-3-Clause */
/* Hosts of other parts (emulation/hosts.h): nodes that stand still, and programs that report over the parts' streams. */
#pragma once

#include "emulation/partition.h"

extern const struct host_driver_ops partition_hosts;
