/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stage 1 where packets, rather than flows, have a port each (dpswitch/balance): the sets of ports that flows have, and the
 * choice of one for a packet.
 */
#pragma once

#include <stddef.h>

#include "dpswitch/balance/balance.h"
#include "dpswitch/pipeline/switch_cfg.h"

struct sw;

struct spray {
	struct balance balance;
	uint16_t *set_of; /* [flows * 2] index in sets, where the route cache has SWITCH_EGRESS_SPRAY */
	struct balance_set **sets;
	size_t nsets, cap;
	const struct topo *topo;
	uint32_t node;
};

/* @return 0 or -ENOMEM */
int spray_init(struct spray *spray, const struct switch_config *config, uint32_t node);
void spray_fini(struct spray *spray);

static inline bool
spray_is_on(const struct spray *spray)
{
	return spray->set_of != NULL;
}

/* The ports of a flow are these, more than one, ascending. */
void spray_remember(struct spray *spray, uint32_t flow, bool reverse, const uint8_t *ports, uint32_t count);
/* @return the ports of a flow that has several */
static inline struct balance_set *
spray_set(const struct spray *spray, uint32_t flow, bool reverse)
{
	return spray->sets[spray->set_of[flow * 2 + reverse]];
}
/* @return the egress of a packet whose flow has these ports */
static inline uint8_t
spray_choose(const struct spray *spray, struct balance_set *set, const struct balance_ask *ask)
{
	return set->members[spray->balance.params->ops->choose(&spray->balance, set, ask)];
}
/* The routes have changed; between windows. No flow has any ports, the group may have others. */
void switch_forget_sets(struct sw *sw);
/* See switch_forward() in switch.h. */
void switch_hand_over_sprayed(struct sw *sw, uint16_t in_port, uint8_t egress, struct pkt *p);
/* switch_route() where spray_is_on(). */
void switch_spray(struct sw *sw, uint16_t in_port, struct pkt *pkts, uint32_t count);
