/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/service.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/units.h"
#include "emulation/emulation.h"
#include "scenario/scenario.h"
#include "workload/plan.h"

#define PROGRESS_PERIOD_NS 200000000ULL

struct progress {
	const struct emulation *emulation;
	uint64_t start_ns, shown_ns;
};

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
				if (coll_step_get(collective->schedule, r, s).peer != r)
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

/* Virtual time, hops a second and the remaining time. */
static void
collect(void *state, uint64_t now_ps)
{
	struct progress *progress = state;
	const struct emulation *emulation = progress->emulation;
	uint64_t wall_ns = clock_now_ns(), elapsed_ns = wall_ns - progress->start_ns;
	struct fabric_totals totals;
	char eta[64] = "";
	double share;

	if (wall_ns - progress->shown_ns < PROGRESS_PERIOD_NS)
		return;
	progress->shown_ns = wall_ns;
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

static void
finish(void *state, uint64_t end_ps)
{
	(void)state;
	(void)end_ps;
	progress_line("%s", "");
}

static const struct run_service service_progress = {
	.name = "progress",
	.collect = collect,
	.finish = finish,
	.destroy = free,
};

int
progress_attach(struct emulation *emulation, struct err *err)
{
	struct progress *progress = malloc(sizeof(*progress));

	if (progress == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	*progress = (struct progress){ .emulation = emulation, .start_ns = clock_now_ns() };
	emulation_attach(emulation, &service_progress, progress);
	return 0;
}
