/* SPDX-License-Identifier: BSD-3-Clause */
#include "topo/walk.h"

#define WALK_NAME(id, value, name, text) [value] = (name),
#define WALK_TEXT(id, value, name, text) [value] = (text),

const char *const topo_walk_names[] = { TOPO_WALKS(WALK_NAME) }, *const topo_walk_texts[] = { TOPO_WALKS(WALK_TEXT) };

static void
end(struct topo_walk *walk, enum topo_walk_state state)
{
	walk->state = (uint8_t)state;
}

/* Over the cable of a port. @return as topo_walk_on() */
static bool
cross(struct topo_walk *walk, const struct topo *topo, uint16_t index)
{
	const struct topo_port *port = topo_port_of(topo, walk->node, index);
	uint32_t id = topo->nodes[walk->node].first_port + index;

	for (uint32_t i = 0; i < walk->path.hops; i++)
		if (walk->path.ports[i] == id || walk->path.hops == ROUTE_MAX_HOPS) {
			end(walk, WALK_LOOPS);
			return false;
		}
	walk->path.ports[walk->path.hops++] = id;
	walk->node = port->peer;
	walk->in_port = port->peer_index;
	if (topo->nodes[walk->node].kind == TOPO_SWITCH)
		return true;
	end(walk, walk->node == walk->dst ? WALK_ARRIVED : WALK_LOST);
	return false;
}

void
topo_walk_begin(struct topo_walk *walk, const struct topo *topo, uint32_t host, uint16_t nic, uint32_t dst_ip)
{
	uint16_t dst_nic;

	*walk = (struct topo_walk){ .node = host };
	if (!topo_find_nic(topo, dst_ip, &walk->dst, &dst_nic))
		walk->dst = TOPO_NONE;
	if (nic >= topo->nodes[host].nports)
		end(walk, WALK_CONTRADICTED);
	else
		cross(walk, topo, nic);
}

bool
topo_walk_on(struct topo_walk *walk, const struct topo *topo, const struct swm_egress *answer)
{
	switch (answer->result) {
	case SWM_FORWARDED:
		if (answer->port < topo->nodes[walk->node].nports)
			return cross(walk, topo, answer->port);
		end(walk, WALK_CONTRADICTED);
		return false;
	case SWM_SPRAYED:
		end(walk, WALK_SPRAYED);
		walk->members[0] = answer->members[0];
		walk->members[1] = answer->members[1];
		return false;
	case SWM_DROPPED:
		end(walk, WALK_DROPPED);
		walk->reason = answer->reason;
		return false;
	default: /* an ingress or an address that it does not know, though the topology has it */
		end(walk, WALK_CONTRADICTED);
		return false;
	}
}

void
topo_walk_unanswered(struct topo_walk *walk)
{
	end(walk, WALK_UNANSWERED);
}
