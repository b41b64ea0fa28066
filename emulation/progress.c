/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/progress.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/progress_line.h"
#include "common/units.h"

#define PROGRESS_PERIOD_NS 200000000ULL

/* Bytes that hosts have accepted, and bytes that the plan will send. */
static double
share_done(const struct emulation *emulation)
{
	const struct plan *plan = emulation->scenario->plan;
	double total = 0, done = 0;

	for (uint32_t c = 0; c < plan->ncollectives; c++) {
		const struct plan_collective *collective = &plan->collectives[c];

		for (uint32_t r = 0; collective->enabled && r < collective->schedule->ranks; r++)
			for (uint32_t s = 1; s <= coll_steps(collective->schedule, r); s++)
				if (coll_step_at(collective->schedule, r, s)->peer != r)
					total += (double)plan_step_bytes(collective, r, s) * collective->iterations;
	}
	for (uint32_t b = 0; b < plan->nbackgrounds; b++)
		total += plan->backgrounds[b].repeat || plan->backgrounds[b].start_ps == TIME_NEVER
				 ? 0
				 : (double)plan->backgrounds[b].bytes;
	for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++)
		done += (double)emulation->fabric->nodes[i]->count.progress;
	return total > 0 ? done / total : 0;
}

void
progress_show(struct emulation *emulation, uint64_t now_ps)
{
	uint64_t wall_ns = clock_now_ns(), elapsed_ns = wall_ns - emulation->start_wall_ns;
	struct fabric_totals totals;
	char eta[64] = "";
	double share;

	if (!emulation->progress || wall_ns - emulation->shown_ns < PROGRESS_PERIOD_NS)
		return;
	emulation->shown_ns = wall_ns;
	fabric_sum(emulation->fabric, &totals);
	share = share_done(emulation);
	if (share > 0.01 && share < 1)
		snprintf(eta, sizeof(eta), "  %" PRIu64 " %%  ETA %" PRIu64 " s", (uint64_t)(share * 100),
			 (uint64_t)((double)elapsed_ns / 1e9 * (1 - share) / share));
	if (emulation->scenario->timing.clock == CLOCK_REAL)
		progress_line("%s  running, %.1f s  %.1f khops%s", emulation->scenario->name,
			      (double)now_ps / (double)PS_PER_S, (double)totals.hops / 1e3, eta);
	else
		progress_line("%s  %.3f ms of virtual time  %.1f Mhops  %.1f Mhops/s%s", emulation->scenario->name,
			      (double)now_ps / (double)PS_PER_MS, (double)totals.hops / 1e6,
			      (double)totals.hops * 1e3 / (double)(elapsed_ns + 1), eta);
}

void
progress_clear(const struct emulation *emulation)
{
	if (emulation->progress)
		progress_line("%s", "");
}
