/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bonds (LAGs) of hosts: all ports of a bonded host have one address, and may lead to several leaves (MLAG, or EVPN
 * multihoming, on these). What comes to the address may come in at any port: topo/route.h has the leaves' side. What leaves
 * does so by the port that a hash of the flow's addresses and UDP ports chooses among those whose link is up, the fields
 * of Linux bonding's xmit_hash_policy layer3+4; ACKs by the same hash of their own, reversed tuple. The function is
 * the default one of switches (CRC-32C, then mixed), with a seed of the host's own, as NICs have it: the kernel's XOR, which is not
 * seeded, spreads ports in a row evenly, and so says little of adapters that hash themselves.
 */
#pragma once

#include <stdint.h>

#include "common/flow.h"
#include "topo/route.h"

/*
 * The member that a bonded host sends a flow by.
 * @param seed     the run's
 * @param host     node id of a bonded host: the flow's source, or its destination for reverse
 * @param is_down  [ports of the host] members that take no part; NULL: none. If all are down, all take part
 * @return port index
 */
uint16_t bond_member(const struct topo *topo, uint64_t seed, uint32_t host, const struct flow *flow, bool reverse,
		     const bool *is_down);

/*
 * Sets both ends' NICs of a flow whose hosts are bonded to the members that they send by: a pin's, where it names one,
 * or the hash's. Others stay as they are.
 */
void bond_place(const struct routing *routing, struct flow *flow);
