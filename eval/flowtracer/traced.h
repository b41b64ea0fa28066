/* SPDX-License-Identifier: BSD-3-Clause */
/* Ways of flows that were traced: a run's verdict.json (flowtracer), or what rocelab trace --out wrote. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/flow.h"
#include "topo/route.h"

struct ft_traced {
	struct flow *flows;       /* [count] whose ways are known to their ends */
	struct route_path *paths; /* [count] */
	uint32_t count;
	uint32_t astray; /* others, that were sprayed or dropped, or did not arrive */
	bool *usable; /* [topo->nports] links that switches named as of equal cost, or flows take; NULL: it does not say */
};

/*
 * Files may be of others: everything is checked.
 * @param topo  that they are of
 * @return 0, or negative errno with err set: file, what is wrong with it. ft_traced_fini() in any case
 */
int ft_traced_read(const char *file, const struct topo *topo, struct ft_traced *traced, struct err *err);
void ft_traced_fini(struct ft_traced *traced); /* also of one that is zero */
