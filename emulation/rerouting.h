/* SPDX-License-Identifier: BSD-3-Clause */
/* Links that faults take down and bring up become known to the switches that are not at their ends. */
#pragma once

#include "emulation/service.h"

extern const struct run_service service_rerouting;
