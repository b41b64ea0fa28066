/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/pingmesh/judge.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "common/minmax.h"
#include "common/tail.h"
#include "diag/pingmesh/service.h"
#include "diag/run/fill.h"

/* ---- problems ---- */

/* Links that are as likely, without the switch that may be at fault instead. */
static uint32_t
links_of(const struct pingmesh_problem *problem)
{
	return problem->alike - (problem->or_node != RUN_NONE);
}

/* Of the same links, in whatever direction. */
static bool
is_same(const struct run *run, const struct pingmesh_problem *a, const struct pingmesh_problem *b)
{
	bool is_significant = a->or_node != RUN_NONE && b->or_node != RUN_NONE && a->or_node != b->or_node;

	if (is_significant || a->kind != b->kind || a->node != b->node || links_of(a) != links_of(b) ||
	    a->nports != b->nports)
		return false;
	for (uint32_t i = 0; i < a->nports; i++)
		if (a->ports[i] != b->ports[i] && run->ports[a->ports[i]].peer_port != b->ports[i])
			return false;
	return true;
}

/* The confidence of a problem that was seen twice: each period counts by its probes. */
static void
merge(struct pingmesh_problem *into, const struct pingmesh_problem *seen, uint32_t period)
{
	double weight = into->probes + seen->probes != 0 ? (double)seen->probes / (double)(into->probes + seen->probes) : 0;

	into->alike += into->or_node == RUN_NONE && seen->or_node != RUN_NONE;
	into->or_node = into->or_node == RUN_NONE ? seen->or_node : into->or_node;
	into->bases |= seen->bases;
	into->networks |= seen->networks;
	into->services |= seen->services;
	into->periods += into->last_period != period;
	into->last_period = period;
	into->start_ps = min_u64(into->start_ps, seen->start_ps);
	into->end_ps = max_u64(into->end_ps, seen->end_ps);
	into->confidence += weight * (seen->confidence - into->confidence);
	into->machine += weight * (seen->machine - into->machine);
	if (into->or_node != RUN_NONE) /* one period's doubt is of the place */
		into->confidence = fmin(into->confidence, 1.0 / into->alike);
	into->base_ps += weight * (seen->base_ps - into->base_ps);
	into->high_ps = fmax(into->high_ps, seen->high_ps);
	into->or_rnics = into->or_rnics < seen->or_rnics ? into->or_rnics : seen->or_rnics; /* one period parts them */
	into->both |= seen->both || (seen->nports != 0 && seen->ports[0] != into->ports[0]);
	into->probes += seen->probes;
	into->bad += seen->bad;
}

static bool
is_at(const struct run *run, const struct pingmesh_problem *of_link, uint32_t node)
{
	return of_link->node == RUN_NONE && of_link->nports == 1 && of_link->alike == 1 &&
	       (run->ports[of_link->ports[0]].node == node || run->ports[of_link->ports[0]].peer_node == node);
}

/*
 * Is one of two a switch of which a link loses, and the other that link? Some periods show the link, others only the
 * switch. Then the place is the link, and the probes over it are counted.
 */
static bool
joins(const struct run *run, struct pingmesh_problem *known, struct pingmesh_problem *seen)
{
	if (known->kind != seen->kind || known->unsure == seen->unsure)
		return false;
	if (seen->unsure) {
		if (!is_at(run, known, seen->node))
			return false;
		seen->probes = seen->bad = 0;
		return true;
	}
	if (!is_at(run, seen, known->node))
		return false;
	known->probes = known->bad = 0;
	known->node = RUN_NONE;
	known->ports[0] = seen->ports[0];
	known->nports = known->alike = 1;
	known->or_node = RUN_NONE;
	known->both = seen->both;
	known->unsure = false;
	return true;
}

int
problem_add(struct judging *j, const struct pingmesh_problem *what)
{
	struct pingmesh_problem copy = *what, *seen = &copy;
	struct pingmesh *own = j->own;
	const struct rec_pingmesh *config = &j->net.config;
	struct pingmesh_problem *new;

	for (uint32_t i = own->nproblems; i-- > 0;) {
		struct pingmesh_problem *known = &own->problems[i];

		if (known->last_period + JUDGE_RNIC_PERIODS >= j->period &&
		    (is_same(j->run, known, seen) || joins(j->run, known, seen))) {
			merge(known, seen, j->period);
			return 0;
		}
	}
	if (own->nproblems == j->problem_cap) {
		uint32_t cap = j->problem_cap != 0 ? 2 * j->problem_cap : 16;
		void *grown = realloc(own->problems, cap * sizeof(*own->problems));

		if (grown == NULL)
			return err_set(j->err, -ENOMEM, "out of memory for problems");
		own->problems = grown;
		j->problem_cap = cap;
	}
	new = &own->problems[own->nproblems++];
	*new = *seen;
	new->first_period = new->last_period = j->period;
	new->periods = 1;
	new->found_ps = (j->period + 1) * config->period_ps + config->timeout_ps + config->upload_ps;
	/* A host's silence for a period is known only at the period's end. */
	if (seen->kind == PINGMESH_PROBLEM_HOST && new->found_ps < seen->start_ps + config->period_ps)
		new->found_ps += config->period_ps;
	new->found_ps = min_u64(new->found_ps, j->run->end_ps);
	return 0;
}

/* ---- timeouts that no network made ---- */

static void
judge_ends(struct judging *j)
{
	for (uint32_t i = j->first; i < j->end; i++) {
		struct net_probe *probe = &j->net.probes[i];
		uint64_t from_ps, to_ps;
		enum net_life life;

		if (!probe->open)
			continue;
		life = net_life_at(&j->net, j->net.rnics[net_dst(&j->net, probe)].host, probe->sent_ps, &from_ps, &to_ps);
		if (life == NET_DOWN)
			probe->cause = PINGMESH_HOST_DOWN;
		else if (net_is_reset(&j->net, probe))
			probe->cause = PINGMESH_QPN_RESET;
		else if (life == NET_SILENT || life == NET_UNREPORTED)
			probe->cause = PINGMESH_UNDECIDED;
		probe->open = probe->cause == PINGMESH_ANSWERED;
	}
}

/* A host's state at the period's begin and end: down, if it is at either. */
static enum net_life
life_in_period(const struct judging *j, uint32_t host, uint64_t *from_ps, uint64_t *to_ps)
{
	uint64_t begin_ps = j->period * j->net.config.period_ps, end_ps = begin_ps + j->net.config.period_ps;
	enum net_life first = net_life_at(&j->net, host, begin_ps, from_ps, to_ps), last;

	if (first == NET_DOWN || end_ps > j->net.horizon_ps)
		return first;
	last = net_life_at(&j->net, host, end_ps - 1, from_ps, to_ps);
	return last != NET_DOWN && first == NET_UNREPORTED ? first : last;
}

/* A host that is silent for longer than a period is down, even without probes to it. */
static int
find_silent(struct judging *j)
{
	uint64_t begin_ps = j->period * j->net.config.period_ps, end_ps = begin_ps + j->net.config.period_ps;

	for (uint32_t host = 0; host < j->run->nnodes; host++) {
		struct pingmesh_problem seen = { .kind = PINGMESH_PROBLEM_HOST,
						 .node = host,
						 .or_node = RUN_NONE,
						 .bases = 1u << PINGMESH_BY_UPLOADS,
						 .networks = 1u << PINGMESH_CLUSTER,
						 .confidence = 1 };
		uint64_t from_ps, to_ps;
		enum net_life life;

		if (!j->run->nodes[host].host)
			continue;
		life = life_in_period(j, host, &from_ps, &to_ps);
		j->own->limits[PINGMESH_LIMIT_UPLOADS] += life == NET_UNREPORTED;
		if (life != NET_DOWN || from_ps >= end_ps || to_ps <= begin_ps)
			continue;
		seen.start_ps = from_ps;
		seen.end_ps = to_ps;
		for (uint32_t p = j->first; p < j->end; p++) {
			const struct net_probe *probe = &j->net.probes[p];

			if (j->net.rnics[net_dst(&j->net, probe)].host != host)
				continue;
			seen.probes++;
			seen.bad += probe->cause == PINGMESH_HOST_DOWN;
		}
		if (problem_add(j, &seen) != 0)
			return -ENOMEM;
	}
	return 0;
}

/* ---- RNICs ---- */

/* Two RNICs with evidence against them from each other alone: one of them is at fault. */
static uint32_t
alike_of(const struct judging *j, uint32_t rnic)
{
	for (uint32_t i = 0; i < j->net.nrnics && j->mesh[rnic].alike; i++)
		if (i != rnic && j->mesh[i].alike && j->net.rnics[i].tor == j->net.rnics[rnic].tor)
			return i;
	return RUN_NONE;
}

static int
name_rnic(struct judging *j, uint32_t rnic)
{
	const struct mesh_rnic *mesh = &j->mesh[rnic];
	uint32_t alike = alike_of(j, rnic);
	struct pingmesh_problem seen = { .kind = PINGMESH_PROBLEM_RNIC,
					 .node = RUN_NONE,
					 .or_node = RUN_NONE,
					 .ports = { j->net.rnics[rnic].port },
					 .nports = 1,
					 .alike = 1,
					 .both = true,
					 .bases = 1u << PINGMESH_BY_MESH,
					 .networks = 1u << PINGMESH_CLUSTER,
					 .start_ps = UINT64_MAX };

	if (alike != RUN_NONE && alike < rnic)
		return 0; /* reported with that one */
	if (alike != RUN_NONE) {
		seen.ports[seen.nports++] = j->net.rnics[alike].port;
		seen.alike = 2;
	}
	if (alike == RUN_NONE && mesh_is_all_bad(j, j->net.rnics[rnic].tor)) {
		seen.or_node = j->net.rnics[rnic].tor;
		seen.alike++;
	}
	for (uint32_t i = j->first; i < j->end; i++) {
		const struct net_probe *probe = &j->net.probes[i];

		if (net_src(&j->net, probe) != rnic && net_dst(&j->net, probe) != rnic)
			continue;
		seen.probes += probe->kind == REC_PROBE_TOR_MESH;
		if (!probe->open)
			continue;
		seen.bad += probe->kind == REC_PROBE_TOR_MESH;
		service_note(j, probe, &seen);
		seen.start_ps = min_u64(seen.start_ps, probe->sent_ps);
		seen.end_ps = max_u64(seen.end_ps, probe->sent_ps);
	}
	/* That no RNIC with 10 % of lost probes makes as many by chance. */
	seen.confidence = tail_binomial((int64_t)mesh->to_bad - 1, mesh->to, JUDGE_MESH_PERCENT / 100.0) / seen.alike;
	return problem_add(j, &seen);
}

static int
judge_rnics(struct judging *j)
{
	uint64_t until_ps = (j->period + 1 + JUDGE_RNIC_PERIODS) * j->net.config.period_ps;

	for (uint32_t i = 0; i < j->net.nrnics; i++) {
		if (!j->mesh[i].anomalous)
			continue;
		j->rnic_until_ps[i] = until_ps;
		if (name_rnic(j, i) != 0)
			return -ENOMEM;
	}
	for (uint32_t i = j->begin; i < j->end; i++) {
		struct net_probe *probe = &j->net.probes[i];

		if (!probe->open || (probe->sent_ps >= j->rnic_until_ps[net_src(&j->net, probe)] &&
				     probe->sent_ps >= j->rnic_until_ps[net_dst(&j->net, probe)]))
			continue;
		probe->cause = PINGMESH_RNIC;
		probe->open = false;
	}
	return 0;
}

/* ---- periods ---- */

static uint64_t
late_probes(const struct judging *j)
{
	return j->own->limits[PINGMESH_LIMIT_LATE] + j->own->limits[PINGMESH_LIMIT_ANSWERED];
}

/* After overloaded CPUs are removed: RNICs whose anomaly rested on the removed timeouts are no longer anomalous. */
static int
take_more(struct judging *j)
{
	uint64_t late = late_probes(j);
	int rc = limits_take_late(j, true);

	if (rc == 0)
		rc = limits_take_dropped(j);
	if (rc == 1 || (rc == 0 && late_probes(j) != late))
		mesh_judge(j);
	return rc < 0 ? rc : 0;
}

static int
judge_period(struct judging *j)
{
	struct pingmesh_period *period = &j->own->periods[j->period];
	uint32_t plain;
	int rc;

	judge_ends(j);
	rc = find_silent(j);
	if (rc == 0)
		rc = limits_take_late(j, false);
	plain = mesh_judge(j);
	if (rc == 0 && !j->all_slow)
		rc = cpu_judge(j);
	if (rc == 0)
		rc = take_more(j);
	if (rc == 0)
		mesh_review(j);
	if (rc == 0)
		rc = judge_rnics(j);
	for (uint32_t network = 0; rc == 0 && network < PINGMESH_NNETWORKS; network++)
		rc = votes_judge(j, network);
	for (uint32_t network = 0; rc == 0 && network < PINGMESH_NNETWORKS; network++)
		rc = votes_judge_high(j, network);
	period->plain_rnics = plain;
	return rc;
}

static int
make_periods(struct judging *j)
{
	const struct rec_pingmesh *config = &j->net.config;
	uint64_t last_ps = j->net.nprobes != 0 ? j->net.probes[j->net.nprobes - 1].sent_ps : 0;

	j->own->nperiods = j->net.nprobes != 0 ? (uint32_t)(last_ps / config->period_ps) + 1 : 0;
	j->own->periods = run_alloc(j->own->nperiods, sizeof(*j->own->periods), j->err);
	for (uint32_t i = 0; j->own->periods != NULL && i < j->own->nperiods; i++) {
		struct pingmesh_period *period = &j->own->periods[i];

		period->start_ps = i * config->period_ps;
		period->end_ps = period->start_ps + config->period_ps;
		period->complete = period->end_ps + config->timeout_ps <= max_u64(j->net.horizon_ps, j->run->end_ps);
	}
	return j->own->periods != NULL ? 0 : -ENOMEM;
}

/* The probe that waits longest sets the first probe of the next period. */
static void
keep_waiting(struct judging *j)
{
	uint32_t periods = j->period + 1 < JUDGE_WAIT_PERIODS ? j->period + 1 : JUDGE_WAIT_PERIODS - 1, i = j->begin;

	while (i < j->end && !j->net.probes[i].open)
		i++;
	j->begin = j->end;
	for (uint32_t back = 0; back < periods && i < j->begin; back++)
		j->begin = j->firsts[(j->period - back) % JUDGE_WAIT_PERIODS];
}

int
judge_all(struct judging *j)
{
	int rc = services_list(j) == 0 ? make_periods(j) : -ENOMEM;

	j->rnic_until_ps = run_alloc(j->net.nrnics, sizeof(*j->rnic_until_ps), j->err);
	j->mesh = run_alloc(j->net.nrnics, sizeof(*j->mesh), j->err);
	j->overloaded = run_alloc(j->run->nnodes, sizeof(*j->overloaded), j->err);
	j->votes = votes_create(j->run);
	j->late_until_ps = run_alloc(2 * (size_t)j->net.nrnics, sizeof(*j->late_until_ps), j->err);
	if (j->late_until_ps == NULL || j->overloaded == NULL || j->rnic_until_ps == NULL || j->mesh == NULL ||
	    j->votes == NULL)
		rc = err_set(j->err, -ENOMEM, "out of memory for probes");
	limits_prepare(j);
	if (rc == 0)
		rc = held_prepare(j);
	if (rc == 0)
		rc = cpu_prepare(j);
	if (rc == 0 && !j->net.config.software_times)
		rc = rtt_mark(j);
	for (; rc == 0 && j->period < j->own->nperiods; j->period++) {
		j->first = j->firsts[j->period % JUDGE_WAIT_PERIODS] = j->end;
		while (j->end < j->net.nprobes && j->net.probes[j->end].sent_ps < j->own->periods[j->period].end_ps)
			j->end++;
		rc = judge_period(j);
		keep_waiting(j);
	}
	if (rc == 0)
		rc = limits_count(j);
	if (rc == 0)
		rc = sla_measure(j);
	votes_destroy(j->votes);
	free(j->rnic_until_ps);
	free(j->late_until_ps);
	held_destroy(j->held);
	free(j->overloaded);
	free(j->mesh);
	return rc;
}
