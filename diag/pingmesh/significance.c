/* SPDX-License-Identifier: BSD-3-Clause */
/* Is the voted place significant? By the likelihood of the observations with it against that of all others together. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diag/pingmesh/ballot.h"

#define AS_GOOD 0.5 /* of the bad probes of the likeliest place: one charged with this share without it fits as well */

void
significance_hold(const struct ballot *b, const struct pingmesh_problem *seen)
{

	for (uint32_t i = b->first; i < b->j->end; i++)
		if (ballot_takes_part(b, i) && b->j->net.probes[i].open && ballot_is_over(b, &b->j->net.probes[i], seen))
			b->voted[i - b->first] = 1;
}

/* Marks a link, in both directions. */
static void
mark_link(const struct run *run, uint32_t port, uint8_t *ports)
{
	ports[port] = 1;
	if (run->ports[port].peer_port != RUN_NONE)
		ports[run->ports[port].peer_port] = 1;
}

/* Marks the ports of a problem's place, and all that the same probes cross. */
static void
mark_place(const struct votes *v, const struct pingmesh_problem *at, uint8_t *ports)
{
	const struct run *run = v->run;

	memset(ports, 0, run->nports);
	for (uint32_t i = 0; i < at->nports; i++)
		mark_link(run, at->ports[i], ports);
	for (uint32_t i = 0; (at->node != RUN_NONE || at->or_node != RUN_NONE) && i < run->nports; i++)
		if (run->ports[i].node == at->node || run->ports[i].node == at->or_node)
			mark_link(run, i, ports);
	for (uint32_t i = 0; i < run->nports; i++)
		for (uint32_t k = 0; ports[i] == 1 && v->ports[i].bad != 0 && k < run->nports; k++)
			if (ports[k] == 0 && v->ports[k].bad != 0 && ballot_is_alike(v, i, k))
				ports[k] = 2;
}

static double
charged_at(const struct votes *v, const uint8_t *ports, const double *charged)
{
	double sum = 0;

	for (uint32_t i = 0; i < v->run->nports; i++)
		sum += ports[i] != 0 ? charged[i] : 0;
	return sum;
}

/* Is a problem's place one that was voted for? */
static bool
is_seen(const struct run *run, const struct pingmesh_problem *known, const struct pingmesh_problem *seen)
{
	if (known->node != RUN_NONE || seen->node != RUN_NONE)
		return known->node == seen->node;
	for (uint32_t i = 0; i < seen->nports; i++)
		if (ballot_link(run, seen->ports[i]) == ballot_link(run, known->ports[0]))
			return true;
	return false;
}

/* Is it a place that was named within the last minute? Then it is that one again, if it fits as well. */
static const struct pingmesh_problem *
known_place(const struct ballot *b, const struct pingmesh_problem *seen, const double *charged, double enough,
	    uint8_t *ports)
{
	const struct pingmesh *own = b->j->own;

	for (uint32_t i = own->nproblems; i-- > 0;) {
		const struct pingmesh_problem *known = &own->problems[i];

		if ((known->kind != PINGMESH_PROBLEM_SWITCH && known->kind != PINGMESH_PROBLEM_RNIC) ||
		    known->last_period + JUDGE_RNIC_PERIODS < b->j->period ||
		    (known->node == RUN_NONE && known->alike != 1 && known->or_node == RUN_NONE))
			continue;
		mark_place(b->j->votes, known, ports);
		if (is_seen(b->j->run, known, seen) || charged_at(b->j->votes, ports, charged) >= enough)
			return known;
	}
	return NULL;
}

static bool
is_named(const struct run *run, const struct pingmesh_problem *seen, uint32_t link)
{
	for (uint32_t i = 0; i < seen->nports; i++)
		if (ballot_link(run, seen->ports[i]) == link)
			return true;
	return false;
}

/* The switch at which all of several links end; RUN_NONE: there is none. */
static uint32_t
common_switch(const struct run *run, const struct pingmesh_problem *seen)
{
	const struct run_port *first = &run->ports[seen->ports[0]];
	uint32_t common = RUN_NONE;

	for (uint32_t e = 0; seen->nports > 1 && e < 2 && common == RUN_NONE; e++) {
		common = e == 0 ? first->node : first->peer_node;
		for (uint32_t i = 1; i < seen->nports && common != RUN_NONE; i++)
			if (run->ports[seen->ports[i]].node != common && run->ports[seen->ports[i]].peer_node != common)
				common = RUN_NONE;
	}
	return common != RUN_NONE && !run->nodes[common].host ? common : RUN_NONE;
}

/* All places that would fit as well by themselves are named, too. */
static void
add_others(const struct ballot *b, const double *charged, double enough, struct pingmesh_problem *seen)
{
	const struct votes *v = b->j->votes;

	for (uint32_t i = 0; i < v->run->nports; i++) {
		if (charged[i] < enough)
			continue;
		for (uint32_t k = 0; k < v->run->nports; k++)
			if (v->ports[k].bad != 0 && ballot_is_alike(v, i, k) &&
			    (ballot_link(v->run, k) == k || !ballot_is_alike(v, k, ballot_link(v->run, k))) &&
			    !is_named(v->run, seen, ballot_link(v->run, k)))
				ballot_name_link(b, ballot_link(v->run, k), seen);
	}
	for (uint32_t i = 0; i < seen->nports; i++)
		if (!ballot_is_host_link(v->run, seen->ports[i]))
			seen->kind = PINGMESH_PROBLEM_SWITCH;
}

static bool
waits(const struct ballot *b, const struct pingmesh_problem *seen)
{

	for (uint32_t i = b->first; i < b->j->end; i++)
		if (ballot_takes_part(b, i) && b->j->net.probes[i].open && ballot_is_over(b, &b->j->net.probes[i], seen))
			return ballot_can_wait(b->j, &b->j->net.probes[i]); /* the oldest */
	return false;
}

int
significance_is_sure(const struct ballot *b, const struct em_place *place, const struct pingmesh_problem *seen)
{
	const struct votes *v = b->j->votes;
	uint8_t *ports = malloc(v->run->nports + 1);
	double *charged = malloc((v->run->nports + 1) * sizeof(*charged)), without = 0;
	int rc = ports != NULL && charged != NULL ? 0 : -ENOMEM;

	if (rc == 0) {
		mark_place(v, seen, ports);
		rc = em_links_without(b, ports, charged, &without);
	}
	if (rc == 0)
		rc = place->log_likelihood - without >= JUDGE_SURELY;
	free(ports);
	free(charged);
	return rc;
}

int
significance_place(const struct ballot *b, const struct em_place *place, bool uncertain, struct pingmesh_problem *seen)
{
	const struct votes *v = b->j->votes;
	uint8_t *ports = malloc(v->run->nports + 1);
	double *charged = malloc((v->run->nports + 1) * sizeof(*charged)), without = 0, enough = place->charged * AS_GOOD;
	const struct pingmesh_problem *known = NULL;
	int rc = ports != NULL && charged != NULL ? SIGNIFICANCE_SURE : -ENOMEM;

	if (rc == SIGNIFICANCE_SURE) {
		mark_place(v, seen, ports);
		rc = em_links_without(b, ports, charged, &without);
	}
	if (rc == SIGNIFICANCE_SURE && (uncertain || place->log_likelihood - without < JUDGE_SURELY)) {
		known = known_place(b, seen, charged, enough, ports);
		if (known != NULL) {
			seen->kind = known->kind;
			seen->node = known->node;
			seen->nports = known->nports;
			seen->alike = known->alike;
			seen->or_node = known->or_node;
			seen->or_rnics = known->or_rnics;
			seen->both = known->both;
			memcpy(seen->ports, known->ports, sizeof(seen->ports));
		} else if (waits(b, seen)) {
			rc = SIGNIFICANCE_WAITS;
		} else if (seen->node == RUN_NONE && seen->or_node == RUN_NONE) {
			add_others(b, charged, enough, seen);
			seen->or_node = uncertain ? common_switch(v->run, seen) : RUN_NONE;
			seen->alike += seen->or_node != RUN_NONE;
		}
	}
	free(ports);
	free(charged);
	return rc;
}
