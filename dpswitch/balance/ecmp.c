/* SPDX-License-Identifier: BSD-3-Clause */
/* Equal-cost multipath (RFC 2992): a flow's packets take one port, by its hash (topo/hash.h). */
#include "dpswitch/balance/balance.h"

const struct balance_ops balance_ecmp = {
	.name = "ecmp",
};
