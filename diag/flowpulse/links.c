/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/flowpulse/links.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/minmax.h"
#include "diag/run/fill.h"

/* A link that alarms point to, for sure or as one of two. */
struct suspect {
	struct flowpulse_link link;
	uint32_t sure;        /* alarms that name it alone */
	uint32_t node;        /* switch with an alarm that names it beside another */
	bool by_others;       /* and a further switch */
	uint32_t beside;      /* suspect beside which a monitor with too little to compare names it */
	bool by_senders;      /* and beside another: of another sender */
	uint32_t named;       /* the first alarm that names it alone: index */
	bool is_named_twice;  /* and another, of another switch or iteration */
	bool is_named_by_two; /* and another, of another switch */
	bool is_cleared;      /* the link lost no packet that left by it meanwhile for other leaves */
};

struct joining {
	const struct flowpulse *own;
	const struct run *run;
	struct suspect *suspects;
	uint32_t nsuspects;
	const struct paths *paths;
	uint32_t *above;   /* [nalarms] the alarm that accounts for this one; RUN_NONE: none */
	uint32_t (*of)[2]; /* [nalarms] suspects of each alarm; the second of pairs alone, else RUN_NONE */
};

/* ---- suspects ---- */

/* The link that ends at an alarm's port. */
static struct flowpulse_link
local_link(const struct run *run, const struct rec_volume_alarm *alarm)
{
	const struct run_port *port = &run->ports[run->nodes[alarm->hdr.node].first_port + alarm->port];

	return (struct flowpulse_link){ .from = port->peer_node, .to = alarm->hdr.node, .port = port->peer_port };
}

/* The link that an alarm names first. */
static struct flowpulse_link
first_link(const struct joining *j, uint32_t index)
{
	const struct rec_volume_alarm *alarm = &j->own->alarms[index];
	struct rec_volume_alarm of_sender = *alarm;

	if (alarm->place != REC_LOSS_LOCAL)
		return paths_remote(j->paths, alarm);
	of_sender.sender = j->own->only_sender[index];
	return of_sender.sender != REC_NONE ? paths_remote(j->paths, &of_sender) : local_link(j->run, alarm);
}

static uint32_t
find_suspect(struct joining *j, struct flowpulse_link link)
{
	for (uint32_t i = 0; i < j->nsuspects; i++) {
		const struct flowpulse_link *known = &j->suspects[i].link;

		if (known->from == link.from && known->to == link.to && known->port == link.port)
			return i;
	}
	j->suspects[j->nsuspects] =
		(struct suspect){ .link = link, .node = RUN_NONE, .named = RUN_NONE, .beside = RUN_NONE };
	return j->nsuspects++;
}

static void
suspect_one_of_two(struct suspect *suspect, uint32_t node)
{
	suspect->by_others |= suspect->node != RUN_NONE && suspect->node != node;
	suspect->node = node;
}

static void
suspect_beside(struct suspect *suspect, uint32_t beside)
{
	suspect->by_senders |= suspect->beside != RUN_NONE && suspect->beside != beside;
	suspect->beside = beside;
}

static void
name_alone(const struct joining *j, struct suspect *suspect, uint32_t alarm)
{
	const struct rec_volume_alarm *alarms = j->own->alarms;

	suspect->is_cleared |= j->own->is_cleared[alarm];
	if (suspect->named == RUN_NONE)
		suspect->named = alarm;
	else if (alarms[suspect->named].hdr.node != alarms[alarm].hdr.node)
		suspect->is_named_twice = suspect->is_named_by_two = true;
	else if (alarms[suspect->named].iteration != alarms[alarm].iteration)
		suspect->is_named_twice = true;
}

/*
 * One of two: with one sender at the port; and where one leaf alone points to one sender's link. All senders lose
 * packets while a fault of the leaf's own link lasts: if it begins or ends within the iteration, only those senders
 * that have their turn. In a further iteration the same would be chance, unless the sender's other traffic shows that
 * its link loses nothing then.
 */
static bool
is_of_two(const struct joining *j, uint32_t alarm)
{
	uint16_t place = j->own->alarms[alarm].place;
	const struct suspect *suspect = &j->suspects[j->of[alarm][0]];

	return place == REC_LOSS_PAIR ||
	       (place == REC_LOSS_REMOTE && !suspect->is_named_by_two && (!suspect->is_named_twice || suspect->is_cleared));
}

static void
collect(struct joining *j)
{
	for (uint32_t i = 0; i < j->own->nalarms; i++) {
		const struct rec_volume_alarm *alarm = &j->own->alarms[i];

		j->above[i] = RUN_NONE;
		j->of[i][0] = j->of[i][1] = RUN_NONE;
		if (j->own->held[i] != FLOWPULSE_JUDGED)
			continue;
		j->of[i][0] = find_suspect(j, first_link(j, i));
		j->above[i] = paths_above(j->paths, alarm);
		if (j->above[i] == RUN_NONE && alarm->place != REC_LOSS_PAIR)
			name_alone(j, &j->suspects[j->of[i][0]], i);
	}
	for (uint32_t i = 0; i < j->own->nalarms; i++) {
		const struct rec_volume_alarm *alarm = &j->own->alarms[i];
		uint32_t *of = j->of[i];

		if (j->above[i] != RUN_NONE || j->own->held[i] != FLOWPULSE_JUDGED)
			continue;
		if (!is_of_two(j, i)) {
			j->suspects[of[0]].sure++;
			continue;
		}
		of[1] = find_suspect(j, local_link(j->run, alarm));
		suspect_one_of_two(&j->suspects[of[0]], alarm->hdr.node);
		suspect_one_of_two(&j->suspects[of[1]], alarm->hdr.node);
		if (alarm->place == REC_LOSS_PAIR || j->suspects[of[0]].is_cleared)
			suspect_beside(&j->suspects[of[1]], of[0]);
	}
}

/*
 * Of two, the one that other alarms name alone; else the one that other switches name, too, or that is named of other
 * senders, too: the place that several suspects share.
 */
static void
resolve(struct joining *j)
{
	for (uint32_t i = 0; i < j->own->nalarms; i++) {
		uint32_t *of = j->of[i];
		const struct suspect *remote, *local;
		bool sure;

		if (of[1] == RUN_NONE)
			continue;
		remote = &j->suspects[of[0]];
		local = &j->suspects[of[1]];
		sure = local->sure != 0 || remote->sure != 0;
		if (local->sure > remote->sure || (!sure && !remote->by_others && local->by_senders))
			of[0] = of[1];
		if (sure || remote->by_others || local->by_senders)
			of[1] = RUN_NONE;
	}
	/* No alarm of an aggregation has one above it. */
	for (uint32_t i = 0; i < j->own->nalarms; i++)
		if (j->above[i] != RUN_NONE)
			memcpy(j->of[i], j->of[j->above[i]], sizeof(j->of[i]));
}

/* ---- faults ---- */

static uint32_t
find_fault(struct flowpulse *own, const struct joining *j, const uint32_t *of, uint32_t (*keys)[2])
{
	struct flowpulse_fault *fault = &own->faults[own->nfaults];

	for (uint32_t i = 0; i < own->nfaults; i++)
		if (keys[i][0] == of[0] && keys[i][1] == of[1])
			return i;
	keys[own->nfaults][0] = of[0];
	keys[own->nfaults][1] = of[1];
	fault->links[0] = j->suspects[of[0]].link;
	fault->nlinks = 1;
	if (of[1] != RUN_NONE)
		fault->links[fault->nlinks++] = j->suspects[of[1]].link;
	return own->nfaults++;
}

/* An alarm in an order: by fault, then by a second number. */
struct ranked {
	uint32_t fault, by, alarm;
};

static int
cmp_ranked(const void *pa, const void *pb)
{
	const struct ranked *a = pa, *b = pb;

	if (a->fault != b->fault)
		return a->fault < b->fault ? -1 : 1;
	if (a->by != b->by)
		return a->by < b->by ? -1 : 1;
	return ORDER(a->alarm, b->alarm);
}

static void
sort_ranked(struct ranked *ranked, uint32_t count)
{
	if (count > 1)
		qsort(ranked, count, sizeof(*ranked), cmp_ranked);
}

/* Of the packets that a port was to see. */
static double
missing_share(const struct rec_volume_alarm *alarm)
{
	return alarm->predicted != 0 ? 1 - (double)alarm->seen / (double)alarm->predicted : 0;
}

/* The alarms of each fault: their number, iterations and switches. @param ranked  [nalarms] room */
static void
count_alarms(struct flowpulse *own, const uint32_t *fault_of, struct ranked *ranked)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < own->nalarms; i++)
		if (fault_of[i] != RUN_NONE)
			ranked[count++] = (struct ranked){ fault_of[i], own->alarms[i].iteration, i };
	sort_ranked(ranked, count);
	for (uint32_t i = 0; i < count; i++) {
		struct flowpulse_fault *fault = &own->faults[ranked[i].fault];

		if (fault->alarms++ == 0) {
			fault->first = ranked[i].alarm;
			fault->first_iteration = ranked[i].by;
		} else if (ranked[i].by == fault->first_iteration &&
			   missing_share(&own->alarms[ranked[i].alarm]) > missing_share(&own->alarms[fault->first])) {
			fault->first = ranked[i].alarm;
		}
		fault->iterations += fault->alarms == 1 || fault->last_iteration != ranked[i].by;
		fault->last_iteration = ranked[i].by;
	}
	for (uint32_t i = 0; i < count; i++)
		ranked[i].by = own->alarms[ranked[i].alarm].hdr.node;
	sort_ranked(ranked, count);
	for (uint32_t i = 0; i < count; i++)
		own->faults[ranked[i].fault].switches +=
			i == 0 || ranked[i].fault != ranked[i - 1].fault || ranked[i].by != ranked[i - 1].by;
}

int
flowpulse_join(struct flowpulse *own, const struct paths *paths, uint32_t *fault_of, struct err *err)
{
	struct joining j = { .own = own, .run = paths->run, .paths = paths };
	uint32_t(*keys)[2] = run_alloc(own->nalarms, sizeof(*keys), err);
	struct ranked *ranked = run_alloc(own->nalarms, sizeof(*ranked), err);
	bool whole;

	own->is_below = run_alloc(own->nalarms, sizeof(*own->is_below), err);
	j.above = run_alloc(own->nalarms, sizeof(*j.above), err);
	j.suspects = run_alloc(2 * (size_t)own->nalarms, sizeof(*j.suspects), err);
	j.of = run_alloc(own->nalarms, sizeof(*j.of), err);
	own->faults = run_alloc(own->nalarms, sizeof(*own->faults), err);
	whole = own->is_below != NULL && j.above != NULL && keys != NULL && ranked != NULL && j.suspects != NULL &&
		j.of != NULL && own->faults != NULL;
	if (whole) {
		collect(&j);
		resolve(&j);
		for (uint32_t i = 0; i < own->nalarms; i++) {
			fault_of[i] = j.of[i][0] != RUN_NONE ? find_fault(own, &j, j.of[i], keys) : RUN_NONE;
			own->is_below[i] = j.above[i] != RUN_NONE || own->only_sender[i] != REC_NONE;
		}
		count_alarms(own, fault_of, ranked);
	}
	free(keys);
	free(ranked);
	free(j.suspects);
	free(j.of);
	free(j.above);
	return whole ? 0 : -ENOMEM;
}

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
