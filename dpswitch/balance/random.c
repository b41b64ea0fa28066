/* SPDX-License-Identifier: BSD-3-Clause */
/* Random packet spraying (Dixit et al., INFOCOM 2013): every packet takes a port at random, whatever went before. */
#include "dpswitch/balance/balance.h"

static uint32_t
choose(const struct balance *balance, struct balance_set *set, const struct balance_ask *ask)
{
	return balance_draw(balance, ask->p, set->count);
}

const struct balance_ops balance_random = {
	.name = "random",
	.reorders = true,
	.choose = choose,
};
