/* SPDX-License-Identifier: BSD-3-Clause */
/* kind = "permutation": every host sends to one other and receives from one other, in a single circle at random. */
#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "workload/traffic/generator.h"

struct permutation {
	struct generator common;
	struct arrivals_cfg arrivals;
};

static const struct cfg_field fields[] = {
	GENERATOR_FIELDS,
	ARRIVALS_FIELDS(struct permutation, arrivals),
};

static const struct cfg_table table = {
	.path = "generators",
	.doc = "Flows with Poisson arrivals at every host, all to the one partner that a random circle of the hosts gives "
	       "it.",
	.list = true,
	.size = sizeof(struct permutation),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};

static int
generate(const struct generator *g, struct traffic *traffic, struct err *err)
{
	const struct permutation *permutation = (const struct permutation *)g;
	uint32_t *order = calloc(g->from.count + 1u, sizeof(*order)), count = g->from.count;
	int ret = arrivals_check(&permutation->arrivals, g, traffic, err);
	struct prng prng;

	if (order == NULL)
		return err_set(err, -ENOMEM, "out of memory for %u hosts", count);
	generator_chance(g, traffic, NULL, &prng);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = (uint32_t)prng_below(&prng, i + 1);

		order[i] = order[at];
		order[at] = i;
	}
	for (uint32_t i = 0; i < count && ret == 0; i++) {
		struct endpoints partner = { .ends = &g->from.ends[order[(i + 1) % count]], .count = 1 };

		ret = arrivals_make(&permutation->arrivals, g, traffic, &g->from.ends[order[i]], &partner, err);
	}
	free(order);
	return ret;
}

const struct generator_ops generator_permutation = {
	.kind = "permutation",
	.table = &table,
	.generate = generate,
};
