/* SPDX-License-Identifier: BSD-3-Clause */
/* Embedded hosts in a run: device, telemetry of their NICs, and a step engine each, all in the fabric's own time. */
#pragma once

#include "emulation/hosts.h"

/* Its ctx is the emulation. */
extern const struct host_driver_ops embedded_hosts;
