/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/flowpulse/ways.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diag/run/fill.h"

#define TIER_EDGE 1
#define TIER_AGGREGATION 2
#define TIER_CORE 3

/* ---- tiers and pods ---- */

static uint32_t
peer_of(const struct run *run, uint32_t node, uint32_t port)
{
	return run->ports[run->nodes[node].first_port + port].peer_node;
}

/* Breadth first from all hosts. @param queue  [nnodes] */
static void
find_tiers(struct ways *ways, uint32_t *queue)
{
	const struct run *run = ways->run;
	uint32_t head = 0, tail = 0;

	memset(ways->tier, 0xff, run->nnodes);
	for (uint32_t i = 0; i < run->nnodes; i++)
		if (run->nodes[i].host) {
			ways->tier[i] = 0;
			queue[tail++] = i;
		}
	while (head < tail) {
		uint32_t node = queue[head++];

		for (uint32_t i = 0; i < run->nodes[node].nports; i++) {
			uint32_t peer = peer_of(run, node, i);

			if (peer == RUN_NONE || ways->tier[peer] != 0xff)
				continue;
			ways->tier[peer] = ways->tier[node] < TIER_CORE ? ways->tier[node] + 1 : TIER_CORE;
			ways->has_cores |= ways->tier[peer] == TIER_CORE;
			queue[tail++] = peer;
		}
	}
}

/* All that are connected with a switch without cores or hosts. @param stack  [nnodes] */
static void
mark_pod(struct ways *ways, uint32_t from, uint32_t *stack)
{
	const struct run *run = ways->run;
	uint32_t top = 0;

	stack[top++] = from;
	ways->pod[from] = from;
	while (top != 0) {
		uint32_t node = stack[--top];

		for (uint32_t i = 0; i < run->nodes[node].nports; i++) {
			uint32_t peer = peer_of(run, node, i);

			if (peer == RUN_NONE || ways->pod[peer] != RUN_NONE || ways->tier[peer] < TIER_EDGE ||
			    ways->tier[peer] > TIER_AGGREGATION)
				continue;
			ways->pod[peer] = from;
			stack[top++] = peer;
		}
	}
}

static void
find_pods(struct ways *ways, uint32_t *room)
{
	for (uint32_t i = 0; i < ways->run->nnodes; i++)
		if (ways->tier[i] == TIER_EDGE && ways->pod[i] == RUN_NONE)
			mark_pod(ways, i, room);
}

/* ---- what each switch said ---- */

/* The latest first. */
static void
chain(struct ways *ways)
{
	const struct flowpulse *own = ways->own;

	for (uint32_t i = 0; i < own->nalarms; i++) {
		ways->further[i] = ways->alarms[own->alarms[i].hdr.node];
		ways->alarms[own->alarms[i].hdr.node] = i;
	}
	for (uint32_t i = 0; i < own->nflaws; i++) {
		ways->flawed[i] = ways->flaws[own->flaws[i].hdr.node];
		ways->flaws[own->flaws[i].hdr.node] = i;
	}
	for (uint32_t i = 0; i < own->nmonitors; i++) {
		uint32_t node = own->monitors[i].hdr.node, iterations = 0, last = RUN_NONE;

		for (uint32_t a = ways->alarms[node]; a != RUN_NONE; a = ways->further[a]) {
			iterations += last == RUN_NONE || own->alarms[a].iteration != last;
			last = own->alarms[a].iteration;
		}
		ways->is_all_there[node] = iterations == own->monitors[i].alarms;
	}
}

static uint32_t *
alloc_none(uint32_t count, struct err *err)
{
	uint32_t *all = run_alloc(count, sizeof(*all), err);

	if (all != NULL)
		memset(all, 0xff, count * sizeof(*all)); /* RUN_NONE */
	return all;
}

int
ways_init(struct ways *ways, const struct flowpulse *own, const struct run *run, struct err *err)
{
	uint32_t *room = alloc_none(run->nnodes, err);
	bool whole;

	*ways = (struct ways){ .own = own, .run = run };
	ways->tier = run_alloc(run->nnodes, sizeof(*ways->tier), err);
	ways->pod = alloc_none(run->nnodes, err);
	ways->mark = alloc_none(run->nnodes, err);
	ways->alarms = alloc_none(run->nnodes, err);
	ways->flaws = alloc_none(run->nnodes, err);
	ways->further = alloc_none(own->nalarms, err);
	ways->flawed = alloc_none(own->nflaws, err);
	ways->is_all_there = run_alloc(run->nnodes, sizeof(*ways->is_all_there), err);
	whole = room != NULL && ways->tier != NULL && ways->pod != NULL && ways->mark != NULL && ways->alarms != NULL &&
		ways->flaws != NULL && ways->further != NULL && ways->flawed != NULL && ways->is_all_there != NULL;
	if (whole) {
		find_tiers(ways, room);
		find_pods(ways, room);
		chain(ways);
	}
	free(room);
	return whole ? 0 : -ENOMEM;
}

void
ways_fini(struct ways *ways)
{
	free(ways->tier);
	free(ways->pod);
	free(ways->mark);
	free(ways->alarms);
	free(ways->flaws);
	free(ways->further);
	free(ways->flawed);
	free(ways->is_all_there);
}

bool
ways_is_of_pods(const struct ways *ways, uint32_t node)
{
	return ways->tier[node] != TIER_EDGE;
}

/* ---- links ---- */

/* All of a node's ports that lead to another. @return how many; port is set to the first */
static uint32_t
count_links(const struct run *run, uint32_t from, uint32_t to, uint32_t *port)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < run->nodes[from].nports; i++)
		if (peer_of(run, from, i) == to && count++ == 0)
			*port = run->nodes[from].first_port + i;
	return count;
}

static struct flowpulse_link
link_between(const struct run *run, uint32_t from, uint32_t to)
{
	struct flowpulse_link link = { .from = from, .to = to, .port = RUN_NONE };
	uint32_t count;

	if (from >= run->nnodes || to >= run->nnodes)
		return link;
	count = count_links(run, from, to, &link.port);
	link.is_way = count == 0;
	if (count != 1)
		link.port = RUN_NONE;
	return link;
}

static uint32_t
peer_of_alarm(const struct ways *ways, const struct rec_volume_alarm *alarm)
{
	return peer_of(ways->run, alarm->hdr.node, alarm->port);
}

/* The one neighbour of a switch that is of a tier, and of a pod or marked. @return RUN_NONE: there is none, or several */
static uint32_t
find_neighbour(const struct ways *ways, uint32_t node, uint8_t tier, uint32_t pod, uint32_t mark)
{
	uint32_t found = RUN_NONE;

	for (uint32_t i = 0; i < ways->run->nodes[node].nports; i++) {
		uint32_t peer = peer_of(ways->run, node, i);

		if (peer == RUN_NONE || ways->tier[peer] != tier || peer == found)
			continue;
		if (pod != RUN_NONE ? ways->pod[peer] != pod : ways->mark[peer] != mark)
			continue;
		if (found != RUN_NONE)
			return RUN_NONE;
		found = peer;
	}
	return found;
}

/* By which aggregation an edge sends what comes by another one, of another pod: by the one that shares cores with it. */
static uint32_t
way_up(const struct ways *ways, uint32_t edge, uint32_t aggregation)
{
	const struct run *run = ways->run;

	for (uint32_t i = 0; i < run->nodes[aggregation].nports; i++) {
		uint32_t core = peer_of(run, aggregation, i);

		if (core == RUN_NONE || ways->tier[core] != TIER_CORE)
			continue;
		for (uint32_t k = 0; k < run->nodes[core].nports; k++)
			if (peer_of(run, core, k) != RUN_NONE)
				ways->mark[peer_of(run, core, k)] = aggregation;
	}
	return find_neighbour(ways, edge, TIER_AGGREGATION, RUN_NONE, aggregation);
}

/* ---- alarms ---- */

static bool
is_of_sender(const struct ways *ways, uint32_t sender, uint32_t edge)
{
	return sender == REC_NONE || edge == REC_NONE || ways->pod[sender] == ways->pod[edge];
}

uint32_t
ways_above(const struct ways *ways, const struct rec_volume_alarm *alarm)
{
	uint32_t above = peer_of_alarm(ways, alarm);

	if (!ways->has_cores || ways->tier[alarm->hdr.node] != TIER_EDGE || above == RUN_NONE)
		return RUN_NONE;
	/* What comes from the edge's own pod passes no core. */
	if (alarm->sender != REC_NONE && ways->pod[alarm->sender] == ways->pod[above])
		return RUN_NONE;
	for (uint32_t i = ways->alarms[above]; i != RUN_NONE; i = ways->further[i]) {
		const struct rec_volume_alarm *other = &ways->own->alarms[i];

		if (ways->own->held[i] != FLOWPULSE_JUDGED)
			continue;
		/* One of several links cannot make all of them lack more than it lacks itself. */
		if (other->iteration != alarm->iteration || alarm->low_ppm > other->high_ppm)
			continue;
		if (other->place == REC_LOSS_REMOTE &&
		    (alarm->sender == REC_NONE || !is_of_sender(ways, other->sender, alarm->sender)))
			continue;
		if (other->place == REC_LOSS_PAIR && !is_of_sender(ways, other->sender, alarm->sender))
			continue;
		return i;
	}
	return RUN_NONE;
}

/* Did a switch compare what came from a sender's pod, and miss nothing? */
static bool
misses_nothing(const struct ways *ways, uint32_t node, uint32_t iteration, uint32_t sender)
{
	for (uint32_t i = ways->flaws[node]; i != RUN_NONE; i = ways->flawed[i])
		if (ways->own->flaws[i].flaw != REC_FLAW_SHARED && ways->own->flaws[i].iteration == iteration &&
		    is_of_sender(ways, ways->own->flaws[i].sender, sender))
			return false;
	for (uint32_t i = ways->alarms[node]; i != RUN_NONE; i = ways->further[i])
		if (ways->own->alarms[i].iteration == iteration && is_of_sender(ways, ways->own->alarms[i].sender, sender))
			return false;
	return ways->is_all_there[node];
}

struct flowpulse_link
ways_remote(const struct ways *ways, const struct rec_volume_alarm *alarm)
{
	uint32_t to = peer_of_alarm(ways, alarm), from = alarm->sender, by;
	struct flowpulse_link link = link_between(ways->run, from, to);

	if (!ways->has_cores || !link.is_way)
		return link;
	if (ways->tier[to] == TIER_CORE) {
		by = find_neighbour(ways, to, TIER_AGGREGATION, ways->pod[from], RUN_NONE);
		return by != RUN_NONE ? link_between(ways->run, by, to) : link;
	}
	by = way_up(ways, from, to);
	if (by != RUN_NONE && misses_nothing(ways, to, alarm->iteration, from))
		return link_between(ways->run, from, by);
	return link;
}
