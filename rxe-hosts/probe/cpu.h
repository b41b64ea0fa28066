/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How late a host's application handles what its RNIC completed: a seeded chance, later where the CPU is overloaded. Half of the
 * median it always takes, the rest is exponential: P99 is 3.8 times the median, P999 5.5 times.
 */
#pragma once

#include <stdint.h>

#include "common/prng.h"

#define PROBE_CPU_MAX_PS 10000000000000ULL /* of a median: 10 s */

struct probe_cpu {
	struct prng prng;
	uint64_t median_ps;
	uint64_t load_ps;    /* median of what overload adds, by the same law; 0: there is none */
	uint64_t overloaded; /* draws with it */
};

/* @param median_ps  at most PROBE_CPU_MAX_PS, as all medians here @param node  tells hosts of one seed apart */
void probe_cpu_init(struct probe_cpu *cpu, uint64_t median_ps, uint64_t seed, uint32_t node);
/* @return the delay of one completion, ps */
uint64_t probe_cpu_draw(struct probe_cpu *cpu);
