/* SPDX-License-Identifier: BSD-3-Clause */
/* The rate at which a run's hosts are going to report steps: known before it begins, unlike telemetry that is asked for. */
#pragma once

#include <stdint.h>

#include "workload/plan.h"

/*
 * What a step's reports take of the exporter's budget, beginning and end, in frames of their own time: 61 to 67 B measured
 * in rings of 16 and of 128 ranks (export.offered_bytes in run.json by the number of steps).
 */
#define REPORT_STEP_BYTES 67

struct report_rate {
	uint64_t bytes_per_s; /* of the collective that reports fastest, beside all others; 0: there is none */
	uint32_t collective;
};

/* @param plan  with its expected times */
struct report_rate report_rate_of(const struct plan *plan);

/*
 * A budget that holds them, with a fifth for what they do not arrive evenly. @return bytes a second, two digits and zeros
 */
uint64_t report_rate_budget(uint64_t bytes_per_s);
