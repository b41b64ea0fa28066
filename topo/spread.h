/* SPDX-License-Identifier: BSD-3-Clause */
/* Where packets come by if every switch spreads them evenly over all next hops of equal cost: per-packet spraying. */
#pragma once

#include "topo/route.h"

/*
 * Shares of a host's packets to another's NIC that come in at each port of a switch on the way. In a network of two tiers each
 * spine that connects both leaves brings 1 / (s - f) (FlowPulse, 5.2). Where a link is known to lose packets, those are sent
 * again, by any way: of those that arrive at last, a way brings its share times what it keeps, over the sum of that of all.
 * @param kept   [ports by global id] of what leaves by one, so much arrives; NULL: all
 * @param from   switch that the sender is attached to
 * @param dst    host, by its NIC dst_nic
 * @param at     switch; those that are not on the way get nothing
 * @param share  [ports of at] added to
 * @param again  [ports of at] the same of what would arrive if it had to come by its way a second time: over share, what ways
 *               keep on average of those packets; added to; NULL: not asked for
 */
void spread_add(const struct topo *topo, const struct route_table *routes, const double *kept, uint32_t from, uint32_t dst,
		uint16_t dst_nic, uint32_t at, double *share, double *again);
