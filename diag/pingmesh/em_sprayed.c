/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where each packet has a path of its own, and received packets report theirs (INT): which path did a lost packet take?
 * Each of its tuple's paths was as likely when it was sent. Expectation maximisation finds the loss probability of each
 * link under which all received and lost packets are likeliest (Dempster et al. 1977). A lost packet is shared out to
 * its paths by their loss probabilities, and a link's probability is its share of losses over all packets that it was
 * to carry. Then a lost packet is assigned to its likeliest path, and received packets to the paths that they reported.
 *
 * Chance spreads packets unevenly, too: after few losses several links explain them about as well. So a link has to be
 * significantly likelier than the likeliest explanation without it. Otherwise the links of its paths are equally good
 * candidates, and their common switch is named.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diag/pingmesh/ballot.h"

#define ROUNDS 50
#define FIRST 1e-3 /* loss probability of any link at the start */
#define LEAST 1e-12
#define CONVERGED 1e-4 /* gain of a round in log-likelihood */
#define MOST_LINKS 16  /* that are looked at, of those that most is shared out to */

struct drawing {
	const struct ballot *b;
	struct net *net;
	double *arrived;     /* [ntraces] of paths, at the first that is alike: packets of this ballot's time */
	double *lose;        /* [nports] loss probability */
	double *carried;     /* [nports] received packets that crossed it */
	double *shared;      /* [nports] lost packets that are shared out to it, of a round */
	double *most_shared; /* [nports] as shared, of the likeliest explanation */
	uint32_t *given;     /* [ntraces] received probes that were assigned a path, as arrived */
	uint32_t turn;
	uint8_t *unsure; /* [nports] others are about as likely */
};

static double
loses(const struct drawing *d, uint32_t path)
{
	const struct net_trace *trace = &d->net->traces[path];
	double sum = 0;

	for (uint32_t i = 0; i < trace->count; i++)
		sum += d->lose[d->net->links[trace->first + i]];
	return sum;
}

static void
count_arrived(struct drawing *d)
{
	const struct net *net = d->net;
	const struct judging *j = d->b->j;
	uint64_t from_ps = net->probes[d->b->first].sent_ps;
	uint64_t to_ps = (j->period + 1ull) * net->config.period_ps + net->config.timeout_ps;

	for (uint32_t t = 0; t < net->ntraces; t++) {
		const struct net_trace *trace = &net->traces[t];

		if (trace->packets == 0 || !trace->whole || trace->count == 0 || trace->sent_ps < from_ps ||
		    trace->sent_ps >= to_ps)
			continue;
		d->arrived[trace->alike] += trace->packets;
		for (uint32_t i = 0; i < trace->count; i++)
			d->carried[net->links[trace->first + i]] += trace->packets;
	}
}

/*
 * A lost packet is shared out to the paths of its tuple, forward, back or both. @return the probability that any of
 * them loses, sum and all
 */
static double
share_out(struct drawing *d, const struct net_probe *probe)
{
	const struct net *net = d->net;
	const struct net_tuple *of = &net->tuples[probe->tuple];
	double all = 0;

	for (uint32_t turn = 0; turn < 2; turn++) /* first the sum of all probabilities, then each one's share */
		for (uint32_t back = 0; back < 2; back++)
			for (uint32_t w = 0; ballot_is_of_path(d->b, probe, back != 0) && w < of->count_path[back]; w++) {
				uint32_t path = net->paths[of->first_path[back] + w];
				const struct net_trace *trace = &net->traces[path];

				if (turn == 0)
					all += loses(d, path);
				for (uint32_t i = 0; turn == 1 && all > 0 && i < trace->count; i++)
					d->shared[net->links[trace->first + i]] +=
						d->lose[net->links[trace->first + i]] / all;
			}
	return all;
}

/*
 * @param without  a link that loses nothing, RUN_NONE: any may
 * @return log-likelihood, but for the terms that do not depend on links
 */
static double
find_likelihood(struct drawing *d, uint32_t without)
{
	const struct ballot *b = d->b;
	uint32_t nports = b->j->run->nports;
	double log_likely = -INFINITY, before = -INFINITY;

	for (uint32_t i = 0; i < nports; i++)
		d->lose[i] = i != without ? FIRST : 0;
	for (uint32_t round = 0; round < 2 || (round < ROUNDS && log_likely - before > CONVERGED); round++) {
		before = log_likely;
		log_likely = 0;
		memset(d->shared, 0, nports * sizeof(*d->shared));
		for (uint32_t i = b->first; i < b->j->end; i++)
			if (ballot_takes_part(b, i) && ballot_is_bad(b, &d->net->probes[i]))
				log_likely += log(fmax(share_out(d, &d->net->probes[i]), LEAST));
		for (uint32_t i = 0; i < nports; i++)
			log_likely += d->carried[i] * log1p(-fmin(d->lose[i], 1 - LEAST));
		for (uint32_t i = 0; i < nports; i++)
			d->lose[i] = d->shared[i] > 0 ? d->shared[i] / (d->carried[i] + d->shared[i]) : 0;
	}
	return log_likely;
}

/*
 * @return of links between switches the one with the largest share, except those that were returned before; RUN_NONE:
 *         none has enough
 */
static uint32_t
next_link(const struct drawing *d, double *shared)
{
	const struct run *run = d->b->j->run;
	uint32_t most = RUN_NONE;

	for (uint32_t i = 0; i < run->nports; i++)
		if (!ballot_is_host_link(run, i) && shared[i] >= JUDGE_LEAST_TIMEOUTS &&
		    (most == RUN_NONE || shared[i] > shared[most]))
			most = i;
	if (most != RUN_NONE)
		shared[most] = 0;
	return most;
}

/* Marks links without significant loss. A switch does not choose host links. */
static void
find_unsure(struct drawing *d)
{
	const struct run *run = d->b->j->run;
	double loss_rate = find_likelihood(d, RUN_NONE);
	uint32_t link;

	memcpy(d->most_shared, d->shared, run->nports * sizeof(*d->shared));
	for (uint32_t i = 0; i < run->nports; i++)
		d->unsure[i] = !ballot_is_host_link(run, i);
	for (uint32_t n = 0; n < MOST_LINKS && (link = next_link(d, d->most_shared)) != RUN_NONE; n++)
		d->unsure[link] = loss_rate - find_likelihood(d, link) < JUDGE_SURELY;
	find_likelihood(d, RUN_NONE);
}

/* Is the link of this path that most likely lost the packet unsure? */
static bool
is_unsure(const struct drawing *d, uint32_t path)
{
	const struct net_trace *trace = &d->net->traces[path];
	uint32_t worst = d->net->links[trace->first];

	for (uint32_t i = 1; i < trace->count; i++)
		if (d->lose[d->net->links[trace->first + i]] > d->lose[worst])
			worst = d->net->links[trace->first + i];
	return d->unsure[worst] != 0;
}

/*
 * A received probe: the path of most packets that no probe is assigned to yet. A lost probe: the likeliest path, or
 * without significance each in turn.
 * @return RUN_NONE: none is known
 */
static uint32_t
give(struct drawing *d, const struct net_probe *probe, bool back)
{
	const struct net_tuple *of = &d->net->tuples[probe->tuple];
	const uint32_t *paths = &d->net->paths[of->first_path[back]];
	bool bad = ballot_is_bad(d->b, probe);
	uint32_t best = RUN_NONE;
	double most = 0;

	for (uint32_t w = 0; w < of->count_path[back]; w++) {
		double is = bad ? loses(d, paths[w]) : d->arrived[paths[w]] - d->given[paths[w]];

		if (best != RUN_NONE && is <= most)
			continue;
		best = paths[w];
		most = is;
	}
	if (best != RUN_NONE && !bad)
		d->given[best]++;
	return best != RUN_NONE && bad && is_unsure(d, best) ? paths[d->turn++ % of->count_path[back]] : best;
}

int
em_sprayed(const struct ballot *b)
{
	struct net *net = &b->j->net;
	size_t nports = (size_t)b->j->run->nports + 1, ntraces = (size_t)net->ntraces + 1;
	struct drawing d = { .b = b,
			     .net = net,
			     .arrived = calloc(ntraces, sizeof(*d.arrived)),
			     .lose = calloc(nports, sizeof(*d.lose)),
			     .carried = calloc(nports, sizeof(*d.carried)),
			     .shared = calloc(nports, sizeof(*d.shared)),
			     .most_shared = calloc(nports, sizeof(*d.most_shared)),
			     .given = calloc(ntraces, sizeof(*d.given)),
			     .unsure = b->j->votes->unsure };
	int rc = d.arrived != NULL && d.lose != NULL && d.carried != NULL && d.shared != NULL && d.most_shared != NULL &&
				 d.given != NULL
			 ? 0
			 : -ENOMEM;

	if (rc == 0 && b->first < b->j->end) {
		memset(d.unsure, 0, nports);
		count_arrived(&d);
		find_unsure(&d);
		for (uint32_t i = b->first; i < b->j->end; i++)
			for (uint32_t back = 0; back < 2; back++)
				if (ballot_takes_part(b, i) && ballot_is_of_path(b, &net->probes[i], back != 0))
					net->given[i][back] = give(&d, &net->probes[i], back != 0);
	}
	free(d.arrived);
	free(d.lose);
	free(d.carried);
	free(d.shared);
	free(d.most_shared);
	free(d.given);
	return rc;
}
