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
	uint16_t *set_of; /* [flows * 2] index in sets, where the route cache says SWITCH_EGRESS_SPRAY */
	struct balance_set **sets;
	size_t nsets, cap;
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
/* No flow has any. */
void spray_forget(struct spray *spray);
/* @return the egress of a packet whose flow has such ports */
uint8_t spray_choose(struct spray *spray, const struct pkt *p);
/* switch_route() where spray_is_on(). */
void switch_spray(struct sw *sw, uint16_t in_port, struct pkt *pkts, uint32_t count);
