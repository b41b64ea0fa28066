/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/pipeline/group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dpswitch/pipeline/fetch.h"
#include "dpswitch/pipeline/walk.h"

struct group_member {
	struct egress_walk walk;
	const struct pause_frame *pauses; /* still to come */
	uint32_t npauses;
	bool open;       /* something may happen there in this window */
	uint64_t due_ps; /* from then on something has happened that the queues do not show yet */
};

/* A group's way through a window. */
struct group_walk {
	struct sw *sw;
	struct group *group;
	const struct window *window;
	uint64_t due_ps; /* the earliest of its members, or earlier */
};

int
group_init(struct group *group, const struct sw *sw, uint32_t most)
{
	group->members = calloc(sw->node.nports, sizeof(*group->members));
	if (group->members == NULL || arrivals_init(&group->arrivals, most, sw->node.nports) < 0)
		return -ENOMEM;
	group_find(group, sw->config, sw->node.id);
	return 0;
}

void
group_fini(struct group *group, const struct sw *sw)
{
	arrivals_fini(&group->arrivals, sw->node.nports);
	free(group->members);
}

void
group_find(struct group *group, const struct switch_config *config, uint32_t node)
{
	const struct topo *topo = config->topo;

	memset(group->has, 0, sizeof(group->has));
	for (uint32_t h = 0; h < topo->nhosts; h++)
		for (uint16_t nic = 0; nic < topo->nodes[topo->hosts[h]].nports; nic++) {
			const uint8_t *hops;
			uint32_t count = route_next_hops(config->routes, node, topo->hosts[h], nic, &hops);

			for (uint32_t i = 0; i < count && count > 1; i++)
				group->has[hops[i]] = true;
		}
	group->count = 0;
	for (uint16_t port = 0; port < topo->nodes[node].nports; port++)
		if (group->has[port])
			group->ports[group->count++] = (uint8_t)port;
}

/* Something happened at a member: what stands there, and when the next thing happens of its own accord. */
static inline void
look(struct group_walk *walk, struct group_member *member)
{
	const struct egress *egress = &member->walk.port->egress;
	uint32_t port = (uint32_t)(member - walk->group->members);

	walk->group->free_ps[port] = (int64_t)egress->free_ps;
	walk->group->waiting += (uint32_t)(egress->backlog != 0) - (walk->group->backlog[port] != 0);
	walk->group->backlog[port] = egress->backlog;
	member->due_ps = member->npauses != 0 ? member->pauses->time_ps : TIME_NEVER;
	if (egress_ready(egress) != 0)
		member->due_ps = min_u64(member->due_ps, egress->free_ps + 1);
	walk->due_ps = min_u64(walk->due_ps, member->due_ps);
}

/* Pauses that come up to an instant, and what starts to leave before it. */
static void
advance(struct group_walk *walk, struct group_member *member, uint64_t now_ps)
{
	for (;;) {
		uint64_t pause_ps = member->npauses != 0 ? member->pauses->time_ps : TIME_NEVER;

		walk_drain(&member->walk, min_u64(pause_ps, now_ps));
		if (pause_ps > now_ps)
			break;
		member->walk.now_ps = pause_ps;
		walk_pause(walk->sw, member->walk.port, member->pauses++);
		member->npauses--;
	}
	look(walk, member);
}

/* All members show what waits at an instant. */
static void
advance_all(struct group_walk *walk, uint64_t now_ps)
{
	walk->due_ps = TIME_NEVER;
	for (uint32_t i = 0; i < walk->group->count; i++) {
		struct group_member *member = &walk->group->members[walk->group->ports[i]];

		if (member->due_ps <= now_ps)
			advance(walk, member, now_ps);
		else
			walk->due_ps = min_u64(walk->due_ps, member->due_ps);
	}
}

static void
open_member(struct group_walk *walk, uint8_t port, const struct pause_frame *pauses, uint32_t npauses)
{
	struct group_member *member = &walk->group->members[port];

	member->walk = walk_open(walk->sw, &walk->sw->ports[port], walk->window);
	member->pauses = pauses;
	member->npauses = npauses;
	member->open = true;
	look(walk, member);
}

/* How long a packet would wait for the transmitters of its set. */
static void
measure_wires(const struct group *group, const struct balance_set *set, int64_t now_ps, int64_t *waits_ps)
{
	uint32_t count = set->count, first = set->members[0], end = balance_blocks(count) * BALANCE_BLOCK;
	const int64_t *free_ps = &group->free_ps[first];
	int64_t gathered_ps[TOPO_MAX_PORTS];

	if (set->members[count - 1] != first + count - 1) { /* ascending: not ports in a row */
		memset(&gathered_ps[end - BALANCE_BLOCK], 0, BALANCE_BLOCK * sizeof(*gathered_ps));
		for (uint32_t i = 0; i < count; i++)
			gathered_ps[i] = group->free_ps[set->members[i]];
		free_ps = gathered_ps;
	}
	for (uint32_t i = 0; i < end; i++)
		waits_ps[i] = free_ps[i] > now_ps ? free_ps[i] - now_ps : 0;
	for (uint32_t i = count; i < end; i++)
		waits_ps[i] = 0;
}

/* What would go before a packet by each member of its set, on the wire and in the queues. */
static void
measure(const struct group_walk *walk, const struct balance_set *set, const struct pkt *p, int64_t *waits_ps)
{
	const struct group *group = walk->group;

	measure_wires(group, set, (int64_t)p->time_ps, waits_ps);
	if (group->waiting == 0)
		return;
	for (uint32_t i = 0; i < set->count; i++) {
		uint8_t port = set->members[i];
		const struct egress *egress = &walk->sw->ports[port].egress;
		uint32_t ahead;

		if (group->backlog[port] == 0)
			continue;
		ahead = group->backlog[port] & egress_ahead(egress, p->prio);
		waits_ps[i] += (int64_t)(egress_bytes(egress, ahead) * set->byte_ps[i]);
	}
}

static uint8_t
choose(struct group_walk *walk, const struct pkt *p)
{
	struct spray *spray = &walk->sw->spray;
	struct balance_set *set = spray_set(spray, p->flow, p->flags & PKT_REVERSE);
	int64_t waits_ps[TOPO_MAX_PORTS];
	const struct balance_ask ask = { p, waits_ps };

	if (spray->balance.params->ops->sees_waits) {
		if (walk->due_ps <= p->time_ps)
			advance_all(walk, p->time_ps);
		measure(walk, set, p, waits_ps);
	}
	return spray_choose(spray, set, &ask);
}

/* @param next_ps  when the next packet of the group comes: to any member */
static void
take_in(struct group_walk *walk, struct pkt *p, uint64_t next_ps)
{
	uint8_t port = p->out_port != SWITCH_EGRESS_SPRAY ? p->out_port : choose(walk, p);
	struct group_member *member = &walk->group->members[port];

	if (!member->open)
		open_member(walk, port, NULL, 0);
	if (member->due_ps <= p->time_ps)
		advance(walk, member, p->time_ps);
	member->walk.now_ps = p->time_ps;
	if (member->npauses != 0)
		next_ps = min_u64(next_ps, member->pauses->time_ps);
	walk_enqueue(&member->walk, p, next_ps);
	look(walk, member);
}

static void
close_all(struct group_walk *walk)
{
	for (uint32_t i = 0; i < walk->group->count; i++) {
		struct group_member *member = &walk->group->members[walk->group->ports[i]];

		if (!member->open)
			continue;
		advance(walk, member, walk->window->end_ps);
		walk_close(&member->walk, walk->window);
		member->open = false;
		member->due_ps = TIME_NEVER;
	}
	account_end_mixed_run(&walk->sw->account);
}

/* Spread over many ports, a window has a packet or two for each: their state is asked for before the first comes. */
static void
fetch_members(const struct sw *sw, uint32_t parity)
{
	const struct group *group = &sw->group;

	for (uint32_t step = 0; step < FETCH_STEPS; step++)
		for (uint32_t i = 0; i < group->count; i++)
			fetch_port(&sw->ports[group->ports[i]], parity, step);
}

void
switch_transmit_group(struct sw *sw, const struct pause_frame *const *pauses, const uint32_t *npauses,
		      const struct window *window)
{
	struct group_walk walk = { .sw = sw, .group = &sw->group, .window = window, .due_ps = TIME_NEVER };
	struct arrivals arrivals = arrivals_take_all(&sw->group.arrivals);
	uint32_t run = 0;
	uint64_t arrival_ps = arrivals_next_ps(&arrivals, &run);

	sw->group.waiting = 0;
	if (arrivals.count > sw->group.count / 2)
		fetch_members(sw, window->parity);
	for (uint32_t i = 0; i < sw->group.count; i++) {
		uint8_t port = sw->group.ports[i];

		sw->group.members[port].due_ps = TIME_NEVER;
		sw->group.free_ps[port] = (int64_t)sw->ports[port].egress.free_ps;
		sw->group.backlog[port] = 0;
		if (sw->ports[port].egress.backlog != 0 || npauses[port] != 0)
			open_member(&walk, port, pauses[port], npauses[port]);
	}
	while (arrival_ps != TIME_NEVER) {
		struct pkt *p = arrivals_take(&arrivals, run);

		arrival_ps = arrivals_next_ps(&arrivals, &run);
		take_in(&walk, p, min_u64(arrival_ps, window->end_ps));
	}
	close_all(&walk);
}
