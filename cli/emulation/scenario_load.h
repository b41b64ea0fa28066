/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of the scenario's own groups; used by scenario.c and scenario_cfg.c. */
#pragma once

#include "common/cfg.h"

extern const struct cfg_table scenario_root_cfg, timing_cfg, limits_cfg, telemetry_cfg;
