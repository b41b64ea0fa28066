/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/flowpulse/paths.h"

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
find_tiers(struct paths *paths, uint32_t *queue)
{
	const struct run *run = paths->run;
	uint32_t head = 0, tail = 0;

	memset(paths->tier, 0xff, run->nnodes);
	for (uint32_t i = 0; i < run->nnodes; i++)
		if (run->nodes[i].host) {
			paths->tier[i] = 0;
			queue[tail++] = i;
		}
	while (head < tail) {
		uint32_t node = queue[head++];

		for (uint32_t i = 0; i < run->nodes[node].nports; i++) {
			uint32_t peer = peer_of(run, node, i);

			if (peer == RUN_NONE || paths->tier[peer] != 0xff)
				continue;
			paths->tier[peer] = paths->tier[node] < TIER_CORE ? paths->tier[node] + 1 : TIER_CORE;
			paths->has_cores |= paths->tier[peer] == TIER_CORE;
			queue[tail++] = peer;
		}
	}
}

/* All that are connected with a switch without cores or hosts. @param stack  [nnodes] */
static void
mark_pod(struct paths *paths, uint32_t from, uint32_t *stack)
{
	const struct run *run = paths->run;
	uint32_t top = 0;

	stack[top++] = from;
	paths->pod[from] = from;
	while (top != 0) {
		uint32_t node = stack[--top];

		for (uint32_t i = 0; i < run->nodes[node].nports; i++) {
			uint32_t peer = peer_of(run, node, i);

			if (peer == RUN_NONE || paths->pod[peer] != RUN_NONE || paths->tier[peer] < TIER_EDGE ||
			    paths->tier[peer] > TIER_AGGREGATION)
				continue;
			paths->pod[peer] = from;
			stack[top++] = peer;
		}
	}
}

static void
find_pods(struct paths *paths, uint32_t *room)
{
	for (uint32_t i = 0; i < paths->run->nnodes; i++)
		if (paths->tier[i] == TIER_EDGE && paths->pod[i] == RUN_NONE)
			mark_pod(paths, i, room);
}

/* ---- what each switch reported ---- */

/* The latest first. */
static void
chain(struct paths *paths)
{
	const struct flowpulse *own = paths->own;

	for (uint32_t i = 0; i < own->nalarms; i++) {
		paths->further[i] = paths->alarms[own->alarms[i].hdr.node];
		paths->alarms[own->alarms[i].hdr.node] = i;
	}
	for (uint32_t i = 0; i < own->nflaws; i++) {
		paths->flawed[i] = paths->flaws[own->flaws[i].hdr.node];
		paths->flaws[own->flaws[i].hdr.node] = i;
	}
	for (uint32_t i = 0; i < own->nmonitors; i++) {
		uint32_t node = own->monitors[i].hdr.node, iterations = 0, last = RUN_NONE;

		for (uint32_t a = paths->alarms[node]; a != RUN_NONE; a = paths->further[a]) {
			iterations += last == RUN_NONE || own->alarms[a].iteration != last;
			last = own->alarms[a].iteration;
		}
		paths->is_all_there[node] = iterations == own->monitors[i].alarms;
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
paths_init(struct paths *paths, const struct flowpulse *own, const struct run *run, struct err *err)
{
	uint32_t *room = alloc_none(run->nnodes, err);
	bool whole;

	*paths = (struct paths){ .own = own, .run = run };
	paths->tier = run_alloc(run->nnodes, sizeof(*paths->tier), err);
	paths->pod = alloc_none(run->nnodes, err);
	paths->mark = alloc_none(run->nnodes, err);
	paths->alarms = alloc_none(run->nnodes, err);
	paths->flaws = alloc_none(run->nnodes, err);
	paths->further = alloc_none(own->nalarms, err);
	paths->flawed = alloc_none(own->nflaws, err);
	paths->is_all_there = run_alloc(run->nnodes, sizeof(*paths->is_all_there), err);
	whole = room != NULL && paths->tier != NULL && paths->pod != NULL && paths->mark != NULL && paths->alarms != NULL &&
		paths->flaws != NULL && paths->further != NULL && paths->flawed != NULL && paths->is_all_there != NULL;
	if (whole) {
		find_tiers(paths, room);
		find_pods(paths, room);
		chain(paths);
	}
	free(room);
	return whole ? 0 : -ENOMEM;
}

void
paths_fini(struct paths *paths)
{
	free(paths->tier);
	free(paths->pod);
	free(paths->mark);
	free(paths->alarms);
	free(paths->flaws);
	free(paths->further);
	free(paths->flawed);
	free(paths->is_all_there);
}

bool
paths_is_of_pods(const struct paths *paths, uint32_t node)
{
	return paths->tier[node] != TIER_EDGE;
}

/* ---- links ---- */

/* All of a node's ports that lead to another. @return their number; port is set to the first */
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
	link.is_path = count == 0;
	if (count != 1)
		link.port = RUN_NONE;
	return link;
}

static uint32_t
peer_of_alarm(const struct paths *paths, const struct rec_volume_alarm *alarm)
{
	return peer_of(paths->run, alarm->hdr.node, alarm->port);
}

/* The only neighbour of a switch that is of a tier, and of a pod or marked. @return RUN_NONE: none, or several */
static uint32_t
find_neighbour(const struct paths *paths, uint32_t node, uint8_t tier, uint32_t pod, uint32_t mark)
{
	uint32_t found = RUN_NONE;

	for (uint32_t i = 0; i < paths->run->nodes[node].nports; i++) {
		uint32_t peer = peer_of(paths->run, node, i);

		if (peer == RUN_NONE || paths->tier[peer] != tier || peer == found)
			continue;
		if (pod != RUN_NONE ? paths->pod[peer] != pod : paths->mark[peer] != mark)
			continue;
		if (found != RUN_NONE)
			return RUN_NONE;
		found = peer;
	}
	return found;
}

/*
 * The aggregation by which an edge sends packets that arrive by another one, of another pod: the one that shares cores
 * with it.
 */
static uint32_t
uplink(const struct paths *paths, uint32_t edge, uint32_t aggregation)
{
	const struct run *run = paths->run;

	for (uint32_t i = 0; i < run->nodes[aggregation].nports; i++) {
		uint32_t core = peer_of(run, aggregation, i);

		if (core == RUN_NONE || paths->tier[core] != TIER_CORE)
			continue;
		for (uint32_t k = 0; k < run->nodes[core].nports; k++)
			if (peer_of(run, core, k) != RUN_NONE)
				paths->mark[peer_of(run, core, k)] = aggregation;
	}
	return find_neighbour(paths, edge, TIER_AGGREGATION, RUN_NONE, aggregation);
}

/* ---- alarms ---- */

static bool
is_of_sender(const struct paths *paths, uint32_t sender, uint32_t edge)
{
	return sender == REC_NONE || edge == REC_NONE || paths->pod[sender] == paths->pod[edge];
}

uint32_t
paths_above(const struct paths *paths, const struct rec_volume_alarm *alarm)
{
	uint32_t above = peer_of_alarm(paths, alarm);

	if (!paths->has_cores || paths->tier[alarm->hdr.node] != TIER_EDGE || above == RUN_NONE)
		return RUN_NONE;
	/* Packets of the edge's own pod cross no core. */
	if (alarm->sender != REC_NONE && paths->pod[alarm->sender] == paths->pod[above])
		return RUN_NONE;
	for (uint32_t i = paths->alarms[above]; i != RUN_NONE; i = paths->further[i]) {
		const struct rec_volume_alarm *other = &paths->own->alarms[i];

		if (paths->own->held[i] != FLOWPULSE_JUDGED)
			continue;
		/* One of several links cannot make all of them lack more than it lacks itself. */
		if (other->iteration != alarm->iteration || alarm->low_ppm > other->high_ppm)
			continue;
		if (other->place == REC_LOSS_REMOTE &&
		    (alarm->sender == REC_NONE || !is_of_sender(paths, other->sender, alarm->sender)))
			continue;
		if (other->place == REC_LOSS_PAIR && !is_of_sender(paths, other->sender, alarm->sender))
			continue;
		return i;
	}
	return RUN_NONE;
}

/* Did a switch compare what it received from a sender's pod, and miss nothing? */
static bool
misses_nothing(const struct paths *paths, uint32_t node, uint32_t iteration, uint32_t sender)
{
	for (uint32_t i = paths->flaws[node]; i != RUN_NONE; i = paths->flawed[i])
		if (paths->own->flaws[i].flaw != REC_FLAW_SHARED && paths->own->flaws[i].iteration == iteration &&
		    is_of_sender(paths, paths->own->flaws[i].sender, sender))
			return false;
	for (uint32_t i = paths->alarms[node]; i != RUN_NONE; i = paths->further[i])
		if (paths->own->alarms[i].iteration == iteration &&
		    is_of_sender(paths, paths->own->alarms[i].sender, sender))
			return false;
	return paths->is_all_there[node];
}

struct flowpulse_link
paths_remote(const struct paths *paths, const struct rec_volume_alarm *alarm)
{
	uint32_t to = peer_of_alarm(paths, alarm), from = alarm->sender, by;
	struct flowpulse_link link = link_between(paths->run, from, to);

	if (!paths->has_cores || !link.is_path)
		return link;
	if (paths->tier[to] == TIER_CORE) {
		by = find_neighbour(paths, to, TIER_AGGREGATION, paths->pod[from], RUN_NONE);
		return by != RUN_NONE ? link_between(paths->run, by, to) : link;
	}
	by = uplink(paths, from, to);
	if (by != RUN_NONE && misses_nothing(paths, to, alarm->iteration, from))
		return link_between(paths->run, from, by);
	return link;
}
