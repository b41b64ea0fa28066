/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/report_rate.h"

#include "common/units.h"

struct report_rate
report_rate_of(const struct plan *plan)
{
	struct report_rate most = { 0 };

	for (uint32_t i = 0; i < plan->ncollectives; i++) {
		const struct plan_collective *c = &plan->collectives[i];
		double bytes = (double)coll_all_steps(c->schedule) * REPORT_STEP_BYTES;
		double bytes_per_s = c->enabled && c->expect_ps != 0 ? bytes * PS_PER_S / (double)c->expect_ps : 0;

		if (bytes_per_s > (double)most.bytes_per_s)
			most = (struct report_rate){ (uint64_t)bytes_per_s, i };
	}
	return most;
}

uint64_t
report_rate_budget(uint64_t bytes_per_s)
{
	uint64_t budget = bytes_per_s + bytes_per_s / 5, unit = 1;

	while (budget / unit >= 100)
		unit *= 10;
	return (budget + unit - 1) / unit * unit;
}
