/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/pingmesh/ballot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/prng.h"

#define DEVIATIONS 3.0

struct votes *
votes_create(const struct run *run)
{
	struct votes *v = calloc(1, sizeof(*v));

	if (v == NULL)
		return NULL;
	v->run = run;
	v->links = calloc((size_t)run->nports + 1, sizeof(*v->links));
	v->ports = calloc((size_t)run->nports + 1, sizeof(*v->ports));
	v->switches = calloc((size_t)run->nnodes + 1, sizeof(*v->switches));
	v->loss_rate = calloc((size_t)run->nports + 1, sizeof(*v->loss_rate));
	v->through = calloc((size_t)run->nnodes + 1, sizeof(*v->through));
	v->unsure = calloc((size_t)run->nports + 1, sizeof(*v->unsure));
	if (v->unsure != NULL && v->links != NULL && v->ports != NULL && v->switches != NULL && v->loss_rate != NULL &&
	    v->through != NULL)
		return v;
	votes_destroy(v);
	return NULL;
}

void
votes_destroy(struct votes *votes)
{
	if (votes == NULL)
		return;
	free(votes->links);
	free(votes->ports);
	free(votes->switches);
	free(votes->loss_rate);
	free(votes->through);
	free(votes->unsure);
	free(votes);
}

uint32_t
ballot_link(const struct run *run, uint32_t port)
{
	uint32_t peer = run->ports[port].peer_port;

	return peer != RUN_NONE && peer < port ? peer : port;
}

static void
counts(struct vote_count *t, uint32_t stamp, bool bad)
{
	if (t->stamp == stamp)
		return;
	t->stamp = stamp;
	t->all++;
	t->bad += bad;
	t->which += prng_mix(stamp);
}

bool
ballot_is_bad(const struct ballot *b, const struct net_probe *probe)
{
	return b->high ? probe->high : probe->open;
}

bool
ballot_takes_part(const struct ballot *b, uint32_t i)
{
	const struct net_probe *probe = &b->j->net.probes[i];

	return network_of(probe) == b->network && !b->voted[i - b->first] &&
	       (probe->result == REC_PROBE_OK || (probe->open && !b->high));
}

bool
ballot_can_wait(const struct judging *j, const struct net_probe *probe)
{
	uint64_t sent = probe->sent_ps / j->net.config.period_ps;

	return j->period + 1 < j->own->nperiods && sent + JUDGE_WAIT_PERIODS > (uint64_t)j->period + 1;
}

bool
ballot_is_of_path(const struct ballot *b, const struct net_probe *probe, bool back)
{
	if (b->paper)
		return !back || !net_is_one_way(probe);
	if (back)
		return probe->lost != NET_LOST_FORTH && !net_is_one_way(probe);
	return b->high || (probe->result != REC_PROBE_SECOND_LOST && probe->result != REC_PROBE_FIRST_LOST &&
			   probe->lost != NET_LOST_BACK);
}

uint32_t
ballot_paths(const struct ballot *b, const struct net_probe *probe, uint32_t traces[BALLOT_PATHS])
{
	bool bad = ballot_is_bad(b, probe);
	uint32_t count = 0;

	for (uint32_t back = 0; back < 2; back++) {
		uint32_t may[NET_PATHS], nmay = 1;

		if (!ballot_is_of_path(b, probe, back != 0))
			continue;
		if (net_is_em_sprayed(&b->j->net) && !b->paper) {
			uint32_t given = b->j->net.given[probe - b->j->net.probes][back];

			if (given == RUN_NONE)
				return 0;
			traces[count++] = given;
			continue;
		}
		may[0] = net_trace_at(&b->j->net, probe->tuple, back != 0, probe->sent_ps);
		if ((b->high && !b->paper) || (bad && (!b->plain || may[0] == RUN_NONE)))
			nmay = net_paths_at(&b->j->net, probe->tuple, back != 0, probe->sent_ps, may);
		if (b->high && nmay > 1)
			return 0; /* its path is unknown */
		if (bad && (nmay == 0 || !b->j->net.traces[may[0]].whole))
			return 0; /* it may have been lost on an untraced link */
		for (uint32_t i = 0; i < nmay && may[i] != RUN_NONE; i++)
			traces[count++] = may[i];
	}
	return count;
}

uint32_t
ballot_tor(const struct run *run, uint32_t port)
{
	uint32_t peer = run->ports[port].peer_node;

	if (peer == RUN_NONE || run->nodes[peer].host == run->nodes[run->ports[port].node].host)
		return RUN_NONE;
	return run->nodes[peer].host ? run->ports[port].node : peer;
}

uint32_t
ballot_only_link(const struct votes *v, uint32_t node)
{
	for (uint32_t i = 0; node != RUN_NONE && i < v->run->nports; i++)
		if (ballot_tor(v->run, i) == node && ballot_link(v->run, i) == i && v->links[i].all != 0 &&
		    v->links[i].all == v->switches[node].all && v->links[i].which == v->switches[node].which)
			return i;
	return RUN_NONE;
}

static void
count_link(struct votes *v, uint32_t port, bool bad)
{
	const struct run_port *p = &v->run->ports[port];

	counts(&v->links[ballot_link(v->run, port)], v->stamp, bad);
	counts(&v->ports[port], v->stamp, bad);
	if (!v->run->nodes[p->node].host)
		counts(&v->switches[p->node], v->stamp, bad);
	if (p->peer_node != RUN_NONE && !v->run->nodes[p->peer_node].host)
		counts(&v->switches[p->peer_node], v->stamp, bad);
}

bool
ballot_has_bad(const struct ballot *b, uint32_t least)
{
	uint32_t bad = 0;

	for (uint32_t i = b->first; i < b->j->end && bad < least; i++)
		bad += ballot_is_bad(b, &b->j->net.probes[i]) && ballot_takes_part(b, i);
	return bad >= least;
}

uint32_t
ballot_count(const struct ballot *b)
{
	const struct net *net = &b->j->net;
	struct votes *v = b->j->votes;
	uint32_t all_bad = 0, traces[BALLOT_PATHS];

	if (!ballot_has_bad(b, JUDGE_LEAST_TIMEOUTS))
		return 0;
	memset(v->links, 0, v->run->nports * sizeof(*v->links));
	memset(v->ports, 0, v->run->nports * sizeof(*v->ports));
	memset(v->switches, 0, v->run->nnodes * sizeof(*v->switches));
	v->stamp = 0;
	for (uint32_t i = b->first; i < b->j->end; i++) {
		const struct net_probe *probe = &net->probes[i];
		bool bad = ballot_is_bad(b, probe);
		uint32_t paths;

		if (!ballot_takes_part(b, i))
			continue;
		v->stamp++;
		paths = ballot_paths(b, probe, traces);
		for (uint32_t w = 0; w < paths; w++)
			for (uint32_t l = 0; l < net->traces[traces[w]].count; l++)
				count_link(v, net->links[net->traces[traces[w]].first + l], bad);
		all_bad += bad && paths != 0;
	}
	return all_bad;
}

double
wilson(double bad, double all, int side)
{
	double p = all > 0 ? fmin(bad / all, 1) : 0, z2 = DEVIATIONS * DEVIATIONS;

	if (all <= 0)
		return side < 0 ? 0 : 1;
	return (p + z2 / (2 * all) + side * DEVIATIONS * sqrt(p * (1 - p) / all + z2 / (4 * all * all))) / (1 + z2 / all);
}

double
ballot_lower_bound(const struct vote_count *t)
{
	return t->bad != 0 ? wilson(t->bad, t->all, -1) : 0;
}
