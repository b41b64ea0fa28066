/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/probe/cpu.h"

#include "workload/traffic/exponential.h"

#define CPU_STREAM 0x70726f6265637075ULL /* "probecpu" */
#define MEAN_A_MEDIAN 1512775ULL         /* 1 / ln 2, in 2^-EXPONENTIAL_MEAN_BITS: an exponential's mean over its median */

void
probe_cpu_init(struct probe_cpu *cpu, uint64_t median_ps, uint64_t seed, uint32_t node)
{
	*cpu = (struct probe_cpu){ .median_ps = median_ps };
	prng_init(&cpu->prng, seed ^ CPU_STREAM, node);
}

static uint64_t
draw(struct probe_cpu *cpu, uint64_t median_ps)
{
	return median_ps / 2 + exponential_ps(&cpu->prng, (median_ps - median_ps / 2) * MEAN_A_MEDIAN);
}

uint64_t
probe_cpu_draw(struct probe_cpu *cpu)
{
	uint64_t delay_ps = draw(cpu, cpu->median_ps);

	if (cpu->load_ps == 0)
		return delay_ps;
	cpu->overloaded++;
	return delay_ps + draw(cpu, cpu->load_ps);
}
