/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/faults/slow_host.h"

#include <stddef.h>

#include "common/array.h"

#define AT(field) offsetof(struct slow_host, field)

static const struct cfg_field slow_host_fields[] = {
	{ "host", CFG_STRING, AT(host), NULL, 0, 0, NULL, "The slow host." },
	{ "collective", CFG_INT, AT(collective), "-1", -1, 63, NULL, "Which collective, from 0; -1: all." },
	{ "step", CFG_INT, AT(step), "0", 0, 16383, NULL, "Which step, from 1; 0: every step." },
	{ "delay", CFG_TIME, AT(delay_ps), NULL, 0, 0, NULL, "How much later the step starts." },
};

const struct cfg_table slow_host_table = {
	.path = "faults",
	.doc = "A host starts steps later than it could.",
	.list = true,
	.size = sizeof(struct slow_host),
	.fields = slow_host_fields,
	.nfields = ARRAY_LEN(slow_host_fields),
};

int
slow_host_resolve(struct slow_host *fault, const struct topo *topo, struct err *err)
{
	fault->node = topo_find(topo, fault->host);
	if (fault->node != TOPO_NONE && topo->nodes[fault->node].kind == TOPO_HOST)
		return 0;
	return cfg_fail(&fault->where, "host", err, "\"%s\" is not a host of this topology", fault->host);
}

uint64_t
slow_host_delay_ps(const void *list, uint32_t node, uint32_t collective, uint32_t step)
{
	const struct slow_host_list *faults = list;
	uint64_t delay_ps = 0;

	for (size_t i = 0; i < faults->count; i++) {
		const struct slow_host *f = &faults->faults[i];

		if (f->node == node && (f->collective < 0 || f->collective == (int64_t)collective) &&
		    (f->step == 0 || f->step == (int64_t)step))
			delay_ps += f->delay_ps;
	}
	return delay_ps;
}
