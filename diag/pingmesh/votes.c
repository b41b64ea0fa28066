/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/minmax.h"
#include "diag/pingmesh/ballot.h"
#include "diag/pingmesh/service.h"

#define LEAST_HIGH 0.05 /* a link at which a smaller share of RTTs is surely high is not reported */
#define AS_BAD 0.9      /* of another link's share of bad probes: nearly as bad */
#define DIRECTED 2.0    /* shares of a link's directions that differ by this factor identify the direction */

/* ---- choosing ---- */

/* Algorithm 1's own choice. */
static uint32_t
most_votes(const struct votes *v)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < v->run->nports; i++)
		most = v->links[i].bad > most ? v->links[i].bad : most;
	return most;
}

bool
ballot_is_host_link(const struct run *run, uint32_t port)
{
	uint32_t peer = run->ports[port].peer_node;

	return run->nodes[run->ports[port].node].host || (peer != RUN_NONE && run->nodes[peer].host);
}

bool
ballot_is_alike(const struct votes *v, uint32_t port, uint32_t other)
{
	return v->ports[port].which == v->ports[other].which && v->ports[port].all == v->ports[other].all;
}

/* Of ports that the same probes cross, em_links_port() has charged one. */
static double
likely_at(const struct votes *v, uint32_t port)
{
	double loss_rate = v->loss_rate[port];

	for (uint32_t i = 0; i < v->run->nports && loss_rate == 0 && v->ports[port].bad != 0; i++)
		if (ballot_is_alike(v, i, port))
			loss_rate = v->loss_rate[i];
	return loss_rate;
}

/* @return which of a link's directions is worse by far, -1: none, or the same probes cross both */
static int
direction(const struct votes *v, uint32_t link)
{
	uint32_t peer = v->run->ports[link].peer_port;

	if (peer == RUN_NONE || ballot_is_alike(v, link, peer))
		return -1;
	if (likely_at(v, link) > DIRECTED * likely_at(v, peer))
		return 0;
	return likely_at(v, peer) > DIRECTED * likely_at(v, link) ? 1 : -1;
}

void
ballot_name_link(const struct ballot *b, uint32_t link, struct pingmesh_problem *seen)
{
	const struct run *run = b->j->run;
	uint32_t peer = run->ports[link].peer_port, port = link;
	int worse = direction(b->j->votes, link);

	seen->alike++;
	if (seen->nports == PINGMESH_PLACES)
		return;
	if (!b->high && ballot_is_host_link(run, link))
		port = run->nodes[run->ports[link].node].host ? link : peer;
	else if (worse == 1)
		port = peer;
	if (seen->nports == 0)
		seen->both = worse < 0;
	seen->ports[seen->nports++] = port;
}

/*
 * Do RNICs of several hosts at a ToR probe each other? Then the cluster's probes separate places that a service's few
 * tuples cannot. In the cluster's ballot the probes that cross the ToR show it.
 */
static bool
has_mesh(const struct ballot *b, uint32_t tor)
{
	const struct net *net = &b->j->net;
	uint32_t host = RUN_NONE;

	for (uint32_t i = 0; i < net->nrnics && b->network == PINGMESH_SERVICE; i++) {
		if (net->rnics[i].tor != tor)
			continue;
		if (host != RUN_NONE && net->rnics[i].host != host)
			return true;
		host = net->rnics[i].host;
	}
	return false;
}

/*
 * A switch at an end of a link, all of whose probes cross one host's link and are nearly as bad: then the link is no
 * worse than they.
 */
static uint32_t
lonely_tor(const struct votes *v, uint32_t port)
{
	const uint32_t ends[2] = { v->run->ports[port].node, v->run->ports[port].peer_node };
	const struct vote_count *link = &v->links[ballot_link(v->run, port)];

	for (uint32_t e = 0; e < 2; e++) {
		uint32_t only = ballot_only_link(v, ends[e]);

		if (only != RUN_NONE &&
		    (double)v->links[only].bad * link->all >= AS_BAD * (double)link->bad * v->links[only].all)
			return ends[e];
	}
	return RUN_NONE;
}

/* Does each RNIC of a ToR lose, and no probe over it that is not to or from them? @return their number, 0: no */
static uint32_t
all_rnics(const struct ballot *b, const struct pingmesh_problem *tor)
{
	const struct net *net = &b->j->net;
	uint32_t rnics = mesh_bad_rnics(b->j, tor->node);

	for (uint32_t i = b->first; rnics != 0 && i < b->j->end; i++) {
		const struct net_probe *probe = &net->probes[i];

		if (ballot_takes_part(b, i) && ballot_is_bad(b, probe) &&
		    net->rnics[net_src(net, probe)].tor != tor->node && net->rnics[net_dst(net, probe)].tor != tor->node &&
		    ballot_is_over(b, probe, tor))
			rnics = 0;
	}
	return rnics;
}

/* Names the place that is meant by a port that was voted for, or by a whole switch. @param seen  without a place */
static void
name_place(const struct ballot *b, uint32_t port, uint32_t node, struct pingmesh_problem *seen)
{
	const struct votes *v = b->j->votes;
	const struct vote_count *t = node != RUN_NONE ? &v->switches[node] : &v->links[ballot_link(v->run, port)];
	bool all_hosts = node == RUN_NONE;
	uint32_t tor = node != RUN_NONE ? node : lonely_tor(v, port);
	uint32_t only = has_mesh(b, tor) ? RUN_NONE : ballot_only_link(v, tor);

	if (only != RUN_NONE) {
		seen->or_node = tor;
		seen->alike = 1;
		node = RUN_NONE;
		all_hosts = true;
		t = &v->links[only];
	}
	seen->node = node;
	if (seen->or_node != RUN_NONE)
		ballot_name_link(b, only, seen);
	seen->unsure = node != RUN_NONE && ballot_is_unsure(b, port);
	seen->or_rnics = node != RUN_NONE && !b->high ? all_rnics(b, seen) : 0;
	for (uint32_t i = 0; node == RUN_NONE && seen->or_node == RUN_NONE && i < v->run->nports; i++) {
		if (!ballot_is_alike(v, i, port) ||
		    (ballot_link(v->run, i) != i && ballot_is_alike(v, ballot_link(v->run, i), port)))
			continue;
		ballot_name_link(b, ballot_link(v->run, i), seen);
		all_hosts &= ballot_is_host_link(v->run, i);
	}
	seen->kind = b->high ? PINGMESH_PROBLEM_RTT : all_hosts ? PINGMESH_PROBLEM_RNIC : PINGMESH_PROBLEM_SWITCH;
	seen->probes = t->all;
	seen->bad = t->bad;
}

static void
count_vote(const struct ballot *b, uint32_t port, const struct pingmesh_problem *seen)
{
	const struct votes *v = b->j->votes;

	b->j->own->votes++;
	b->j->own->strongest_elsewhere += v->links[ballot_link(v->run, port)].bad < most_votes(v) && seen->node == RUN_NONE;
}

/* ---- explained probes ---- */

/* Both ends of any path are known, traced or not. */
bool
ballot_is_over(const struct ballot *b, const struct net_probe *probe, const struct pingmesh_problem *at)
{
	const struct net *net = &b->j->net;
	const struct run *run = net->run;
	uint32_t traces[BALLOT_PATHS], paths = ballot_paths(b, probe, traces);

	for (uint32_t k = 0; k < at->nports; k++)
		if (ballot_link(run, net->rnics[net_src(net, probe)].port) == ballot_link(run, at->ports[k]) ||
		    ballot_link(run, net->rnics[net_dst(net, probe)].port) == ballot_link(run, at->ports[k]))
			return true;
	for (uint32_t w = 0; w < paths; w++) {
		for (uint32_t i = 0; i < net->traces[traces[w]].count; i++) {
			uint32_t port = net->links[net->traces[traces[w]].first + i];

			if (at->node != RUN_NONE &&
			    (run->ports[port].node == at->node || run->ports[port].peer_node == at->node))
				return true;
			for (uint32_t k = 0; k < at->nports; k++)
				if (ballot_link(run, port) == ballot_link(run, at->ports[k]))
					return true;
		}
	}
	return false;
}

static int
cmp_double(const void *pa, const void *pb)
{
	const double *a = pa, *b = pb;

	return ORDER(*a, *b);
}

/* The bad probes over the place have had their vote. @param rtts  [end - first] room @return their number */
static uint32_t
explain(const struct ballot *b, struct pingmesh_problem *seen, double *rtts)
{
	struct judging *j = b->j;
	uint32_t nrtts = 0, left = 0, taken = 0;

	seen->start_ps = UINT64_MAX;
	for (uint32_t i = b->first; i < j->end; i++) {
		struct net_probe *probe = &j->net.probes[i];

		if (!ballot_takes_part(b, i) || !ballot_is_bad(b, probe))
			continue;
		left++;
		if (!ballot_is_over(b, probe, seen))
			continue;
		b->voted[i - b->first] = 1;
		taken++;
		seen->start_ps = min_u64(seen->start_ps, probe->sent_ps);
		seen->end_ps = max_u64(seen->end_ps, probe->sent_ps);
		service_note(j, probe, seen);
		if (b->high) {
			rtts[nrtts++] = (double)probe->rtt_ps;
			continue;
		}
		probe->cause = seen->kind == PINGMESH_PROBLEM_RNIC ? PINGMESH_RNIC : PINGMESH_SWITCH;
		probe->open = false;
	}
	if (nrtts > 1)
		qsort(rtts, nrtts, sizeof(*rtts), cmp_double);
	seen->high_ps = nrtts != 0 ? rtts[(nrtts - 1) / 2] : 0;
	seen->confidence = left != 0 ? (double)taken / left / (seen->alike > 1 ? seen->alike : 1) : 0;
	if (seen->or_rnics != 0)
		seen->confidence *= mesh_believe_tor(j, seen->node, seen->or_rnics);
	return taken;
}

/* The usual RTT over the place: of probes that were well. */
static double
usual_rtt(const struct ballot *b, const struct pingmesh_problem *seen, double *rtts)
{
	uint32_t nrtts = 0;

	for (uint32_t i = b->first; i < b->j->end; i++) {
		const struct net_probe *probe = &b->j->net.probes[i];

		if (ballot_takes_part(b, i) && !probe->high && ballot_is_over(b, probe, seen))
			rtts[nrtts++] = (double)probe->rtt_ps;
	}
	if (nrtts > 1)
		qsort(rtts, nrtts, sizeof(*rtts), cmp_double);
	return nrtts != 0 ? rtts[(nrtts - 1) / 2] : 0;
}

/* ---- a period ---- */

/*
 * A place of the cluster's probes in the same period also explains the losses of a service's few tuples, which rarely
 * separate the links of their paths. The cluster's probes count it. @return 0 or -ENOMEM
 */
static int
take_known(const struct ballot *b, double *rtts)
{
	struct pingmesh *own = b->j->own;

	for (uint32_t i = 0; b->network == PINGMESH_SERVICE && i < own->nproblems; i++) {
		struct pingmesh_problem seen = own->problems[i];

		seen.services = 0;
		if ((seen.bases & 1u << PINGMESH_BY_VOTES) == 0 || seen.last_period != b->j->period ||
		    (seen.kind == PINGMESH_PROBLEM_RTT) != b->high || (seen.nports == 0 && seen.node == RUN_NONE) ||
		    explain(b, &seen, rtts) == 0)
			continue;
		seen.networks = 1u << PINGMESH_SERVICE;
		seen.probes = seen.bad = 0;
		seen.base_ps = 0;
		if (problem_add(b->j, &seen) != 0)
			return -ENOMEM;
	}
	return 0;
}

/* @return 1: the likeliest place; 0: there is none; -ENOMEM */
static int
find_place(const struct ballot *b, struct em_place *place, struct pingmesh_problem *seen)
{
	struct votes *v = b->j->votes;
	uint32_t link;
	int rc;

	*seen = (struct pingmesh_problem){
		.node = RUN_NONE, .or_node = RUN_NONE, .bases = 1u << PINGMESH_BY_VOTES, .networks = 1u << b->network
	};
	if (ballot_count(b) < JUDGE_LEAST_TIMEOUTS)
		return 0;
	rc = em_links_port(b, place);
	if (rc < 0 || place->port == RUN_NONE)
		return rc;
	link = ballot_link(v->run, place->port);
	if (b->high && ballot_lower_bound(&v->links[link]) < LEAST_HIGH)
		return 0;
	name_place(b, place->port, switch_blame(b, link, place->log_likelihood), seen);
	return 1;
}

/*
 * A place that is significant by the paths traced before alone, without those that routes changed to since. @return as
 * find_place()
 */
static int
find_plain(const struct ballot *b, struct em_place *place, struct pingmesh_problem *seen)
{
	struct ballot plain = *b;
	int rc;

	plain.plain = true;
	rc = find_place(&plain, place, seen);
	return rc == 1 ? significance_is_sure(&plain, place, seen) : rc;
}

/* @return 1: a place was named, or probes without one wait; 0: there is nothing left; -ENOMEM */
static int
vote_once(const struct ballot *b, double *rtts)
{
	struct pingmesh_problem seen;
	struct em_place place;
	int rc = b->high ? 0 : find_plain(b, &place, &seen);
	bool sure = rc == 1;
	int uncertain;

	if (rc == 0)
		rc = find_place(b, &place, &seen);
	if (rc != 1)
		return rc;
	uncertain = b->high ? 0 : selective_is_likelier(b, &seen);
	if (uncertain < 0)
		return uncertain;
	count_vote(b, place.port, &seen);
	if (!b->high && (!sure || uncertain)) {
		rc = significance_place(b, &place, uncertain, &seen);
		if (rc < 0)
			return rc;
		if (rc == SIGNIFICANCE_WAITS) {
			significance_hold(b, &seen);
			return 1;
		}
	}
	explain(b, &seen, rtts);
	seen.base_ps = b->high ? usual_rtt(b, &seen, rtts) : 0;
	rc = problem_add(b->j, &seen);
	return rc == 0 ? 1 : rc;
}

/* Was any place named that loses in this period? Untraced probes may have been lost there. */
static bool
is_any_named(const struct judging *j)
{
	for (uint32_t i = 0; i < j->own->nproblems; i++) {
		const struct pingmesh_problem *problem = &j->own->problems[i];

		if (problem->last_period == j->period && problem->kind != PINGMESH_PROBLEM_RTT &&
		    (problem->nports != 0 || problem->node != RUN_NONE))
			return true;
	}
	return false;
}

/*
 * Timeouts without a place are still the switches'. Those with a traced path wait for more of their like; of the rest,
 * more than the threshold are a problem at an unknown place.
 */
static int
leave_rest(const struct ballot *b)
{
	struct judging *j = b->j;
	struct pingmesh_problem seen = { .kind = PINGMESH_PROBLEM_SWITCH,
					 .node = RUN_NONE,
					 .or_node = RUN_NONE,
					 .bases = 1u << PINGMESH_BY_VOTES,
					 .networks = 1u << b->network,
					 .start_ps = UINT64_MAX };
	uint32_t traces[BALLOT_PATHS];

	for (uint32_t i = b->first; i < j->end; i++) {
		struct net_probe *probe = &j->net.probes[i];

		if (network_of(probe) != b->network || !probe->open)
			continue;
		probe->cause = PINGMESH_SWITCH;
		probe->open = !b->paper && ballot_can_wait(j, probe);
		if (ballot_paths(b, probe, traces) != 0)
			continue;
		probe->open = false;
		j->own->untraced++;
		seen.bad++;
		service_note(j, probe, &seen);
		seen.start_ps = min_u64(seen.start_ps, probe->sent_ps);
		seen.end_ps = max_u64(seen.end_ps, probe->sent_ps);
	}
	seen.probes = seen.bad;
	return seen.bad >= JUDGE_LEAST_TIMEOUTS && !is_any_named(j) ? problem_add(j, &seen) : 0;
}

/*
 * The most suspicious links, once (4.3.3); probes that they do not explain do not count further. @return 0 or -ENOMEM
 */
static int
vote_as_printed(const struct ballot *b, double *rtts)
{
	struct pingmesh_problem seen;

	if (!algorithm1(b, &seen))
		return 0;
	b->j->own->votes++;
	explain(b, &seen, rtts);
	seen.base_ps = b->high ? usual_rtt(b, &seen, rtts) : 0;
	return problem_add(b->j, &seen);
}

/* @return 0 or -ENOMEM */
static int
vote_by_likelihood(const struct ballot *b, double *rtts)
{
	int rc = 1;

	if (net_is_em_sprayed(&b->j->net) && em_sprayed(b) != 0)
		rc = -ENOMEM;
	if (rc == 1 && take_known(b, rtts) != 0)
		rc = -ENOMEM;
	for (uint32_t i = 0; rc == 1 && !b->high && i < JUDGE_MOST_VOTES && ballot_has_bad(b, 1); i++)
		rc = selective_once(b);
	rc = rc < 0 ? rc : 1;
	for (uint32_t i = 0; rc == 1 && i < JUDGE_MOST_VOTES; i++)
		rc = vote_once(b, rtts);
	return rc < 0 ? rc : 0;
}

static int
judge(struct judging *j, enum pingmesh_network network, bool high)
{
	bool paper = j->net.config.algorithm == REC_PINGMESH_PAPER;
	struct ballot b = { .j = j,
			    .network = network,
			    .high = high,
			    .plain = paper,
			    .paper = paper,
			    .first = high || paper ? j->first : j->begin };
	size_t count = j->end - b.first;
	double *rtts = malloc((count + 1) * sizeof(*rtts));
	int rc;

	b.voted = calloc(count + 1, 1);
	if (b.voted == NULL || rtts == NULL)
		rc = -ENOMEM;
	else
		rc = paper ? vote_as_printed(&b, rtts) : vote_by_likelihood(&b, rtts);
	if (rc == 0 && !high)
		rc = leave_rest(&b);
	free(b.voted);
	free(rtts);
	return rc;
}

int
votes_judge(struct judging *j, enum pingmesh_network network)
{
	return judge(j, network, false);
}

int
votes_judge_high(struct judging *j, enum pingmesh_network network)
{
	return judge(j, network, true);
}
