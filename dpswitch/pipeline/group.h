/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stage 2 of egresses among which packets choose by what happened before, or by what waits at each (struct balance_ops,
 * in_order): all ports that are ever one of several of equal cost. They go through a window together, packet by packet in the
 * order of arrival, whichever port each came by. Egresses outside of the group stay alone.
 */
#pragma once

#include "dpswitch/pipeline/arrivals.h"
#include "dpswitch/pipeline/switch_cfg.h"

struct sw;
struct window;
struct pause_frame;
struct group_member;

struct group {
	uint32_t count; /* 0: every egress is alone */
	uint8_t ports[TOPO_MAX_PORTS];
	bool has[TOPO_MAX_PORTS];
	struct arrivals arrivals; /* of this window; a packet's out_port is its egress, SWITCH_EGRESS_SPRAY: to be chosen */
	struct group_member *members; /* [ports of the switch] */
	/* What stands at each port, beside each other while packets choose: of struct egress, as of the last look. */
	int64_t free_ps[TOPO_MAX_PORTS + BALANCE_BLOCK]; /* a block may begin at the last port */
	uint8_t backlog[TOPO_MAX_PORTS];
	uint32_t waiting; /* ports with a backlog */
};

/* @param most  packets in one window. @return 0 or -ENOMEM */
int group_init(struct group *group, const struct sw *sw, uint32_t most);
void group_fini(struct group *group, const struct sw *sw);
/* Which ports are of the group, by the routes of the configuration: at first, and when those have changed. */
void group_find(struct group *group, const struct switch_config *config, uint32_t node);

static inline bool
group_has(const struct group *group, uint16_t port)
{
	return group->has[port];
}

/*
 * Moves the group through the window.
 * @param pauses, npauses  by port of the switch
 */
void switch_transmit_group(struct sw *sw, const struct pause_frame *const *pauses, const uint32_t *npauses,
			   const struct window *window);
