/* SPDX-License-Identifier: BSD-3-Clause */
/* kind = "poisson": every sender starts flows at random times, each to a receiver picked at random. */
#include "common/array.h"
#include "workload/traffic/generator.h"

struct poisson {
	struct generator common;
	struct arrivals_cfg arrivals;
};

static const struct cfg_field fields[] = {
	GENERATOR_FIELDS,
	GENERATOR_SETS,
	ARRIVALS_FIELDS(struct poisson, arrivals),
};

static const struct cfg_table table = {
	.path = "generators",
	.doc = "Flows with Poisson arrivals at every sender, each to a receiver picked uniformly.",
	.list = true,
	.size = sizeof(struct poisson),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};

static int
generate(const struct generator *g, struct traffic *traffic, struct err *err)
{
	const struct poisson *poisson = (const struct poisson *)g;
	int ret = arrivals_check(&poisson->arrivals, g, traffic, err);

	for (uint32_t i = 0; i < g->from.count && ret == 0; i++) {
		if (g->to.count > 1 || !endpoint_same(&g->from.ends[i], &g->to.ends[0]))
			ret = arrivals_make(&poisson->arrivals, g, traffic, &g->from.ends[i], &g->to, err);
	}
	return ret;
}

const struct generator_ops generator_poisson = {
	.kind = "poisson",
	.table = &table,
	.generate = generate,
};
