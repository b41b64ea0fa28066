/* SPDX-License-Identifier: BSD-3-Clause */
/* A run's flows by source and destination: what a tracer's processes divide among them (FlowTracer, Algorithm 1). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/flow.h"

/* Flows of one source and destination, in the order of their numbers. */
struct flow_pair {
	uint32_t first, count; /* in order */
};

struct flow_pairs {
	uint32_t *order; /* [norder] flows, pair by pair */
	uint32_t norder;
	struct flow_pair *pairs; /* [npairs] by source, then destination */
	uint32_t npairs;
	uint32_t most; /* flows of a pair */
};

/*
 * Of hosts' connections: not of probes and notifications.
 * @param all  background flows and those of generators, too; false: those of collectives alone
 * @return 0 or -ENOMEM; flow_pairs_fini() either way
 */
int flow_pairs_init(struct flow_pairs *pairs, const struct flow_table *table, bool all);
void flow_pairs_fini(struct flow_pairs *pairs);
