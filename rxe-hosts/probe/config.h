/* SPDX-License-Identifier: BSD-3-Clause */
/* R-Pingmesh's part of a scenario. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/cfg/cfg.h"

enum pingmesh_tracing { PINGMESH_TRACEROUTE, PINGMESH_INT };

struct pingmesh_params {
	struct cfg_where where;
	bool enabled;
	double time_factor;
	uint64_t duration_ps;
	uint64_t management_ps;
	uint64_t cpu_ps;
	uint64_t clock_ps;
	bool service;
	bool rails;
	int64_t trace_rate;
	int tracing;   /* enum pingmesh_tracing */
	int algorithm; /* enum rec_pingmesh_algorithm */
};

extern const struct cfg_table pingmesh_cfg;

/* @return the factor in millionths, 1 at least */
uint32_t pingmesh_factor_ppm(const struct pingmesh_params *params);
