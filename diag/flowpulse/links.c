/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/flowpulse/links.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
		j->of[i][0] = find_suspect(j, alarm->place == REC_LOSS_LOCAL ? local_link(j->run, alarm)
									     : paths_remote(j->paths, alarm));
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
	return a->alarm < b->alarm ? -1 : a->alarm > b->alarm;
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
			own->is_below[i] = j.above[i] != RUN_NONE;
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
