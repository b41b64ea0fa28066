/* SPDX-License-Identifier: BSD-3-Clause */
/* How many 5-tuples it takes to use every one of several parallel paths, where ECMP chooses at random (R-Pingmesh, Eq. 1). */
#pragma once

#include <stdint.h>

#define COVERAGE_MAX_PATHS 65536u

/*
 * The left side of Eq. 1: the probability that so many tuples leave one of the paths out. Its alternating sum is only computed
 * where it is well conditioned, N(1 - 1/N)^k <= 16; where more than 16 paths are expected to be left out it is 1 within 2e-7.
 * @param paths  1 to COVERAGE_MAX_PATHS
 * @return 0 to 1
 */
double coverage_miss(uint32_t paths, uint64_t tuples);

/*
 * Eq. 1: the fewest tuples, no fewer than paths, that use all of them with a probability of at least covered.
 * @param paths    1 to COVERAGE_MAX_PATHS
 * @param covered  0.5 to less than 1: P
 */
uint64_t coverage_tuples(uint32_t paths, double covered);
