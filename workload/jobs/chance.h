/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chance of jobs: every number that is drawn belongs to the thing it is drawn for, by its name and number. So one job,
 * rank or iteration less shifts no other's.
 */
#pragma once

#include <stdint.h>

/* What a number is drawn for. */
enum chance_of { CHANCE_PLACEMENT, CHANCE_COMPUTE, CHANCE_SKEW };

/*
 * @param seed              the run's
 * @param owner, part       names: of the job and of its collective, or a host
 * @param rank, iteration   of the thing; 0 where it has none
 * @return uniform in [0, 2^64)
 */
uint64_t chance(uint64_t seed, enum chance_of of, const char *owner, const char *part, uint32_t rank, uint32_t iteration);
