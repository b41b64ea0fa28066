/* SPDX-License-Identifier: BSD-3-Clause */
/* Distributions of flow sizes that the field evaluates with, as published; a row each. */
#pragma once

#include "common/cfg/cfg.h"
#include "workload/traffic/size_cdf.h"

/* For a CFG_ENUM: 0 is none, a distribution's value is its row from 1. */
extern const struct cfg_choice traffic_sizes[];

/* @param choice  a value of traffic_sizes, not 0 */
struct size_cdf traffic_sizes_cdf(int choice);
