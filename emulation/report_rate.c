/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/units.h"
#include "emulation/preflight.h"
#include "rxe-hosts/agent/policy.h"
#include "scenario/scenario.h"
#include "workload/plan.h"

struct report_rate
report_rate_of(const struct plan *plan, const struct detection_config *detection)
{
	bool hands_over = detection->transfer && agent_policies[detection->policy]->notified != NULL;
	uint32_t step_bytes = REPORT_STEP_BYTES + (hands_over ? REPORT_HANDED_OVER_BYTES : 0);
	struct report_rate most = { 0 };

	for (uint32_t i = 0; i < plan->ncollectives; i++) {
		const struct plan_collective *c = &plan->collectives[i];
		double bytes = (double)coll_all_steps(c->schedule) * step_bytes;
		double bytes_per_s = c->enabled && c->expect_ps != 0 ? bytes * PS_PER_S / (double)c->expect_ps : 0;

		if (bytes_per_s > (double)most.bytes_per_s)
			most = (struct report_rate){ (uint64_t)bytes_per_s, i };
	}
	return most;
}

uint64_t
report_rate_of_ports(const struct scenario *sc)
{
	uint64_t records = 0;

	if (!agent_policies[sc->detection.policy]->every_epoch)
		return 0;
	for (uint32_t i = 0; i < sc->topo->nnodes; i++)
		records += sc->topo->nodes[i].kind == TOPO_SWITCH ? sc->topo->nodes[i].nports : 0;
	for (uint32_t f = 0; f < sc->plan->flows.count; f++) {
		struct route_path path;

		if (plan_flow_sends(sc->plan, f) && scenario_path(sc, f, false, &path) == 0)
			records += REPORT_PORT_ROWS * (uint64_t)(path.hops - 1); /* the first is a NIC's */
	}
	return records * REPORT_PORT_BYTES * PS_PER_S / sc->telemetry.epoch_ps;
}

uint64_t
report_rate_budget(uint64_t bytes_per_s)
{
	/* Half as much again: steps end together, and no millisecond has more than its own budget. */
	uint64_t budget = bytes_per_s + bytes_per_s / 2, unit = 1;

	while (budget / unit >= 100)
		unit *= 10;
	return (budget + unit - 1) / unit * unit;
}
