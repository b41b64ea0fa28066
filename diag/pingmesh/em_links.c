/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which direction of which link loses, by maximum likelihood. Each direction loses what crosses it with a probability
 * of its own, and the search is for the probabilities under which the observations are likeliest (binary tomography by
 * expectation and maximization). A bad probe is charged to the links of its paths in the ratio of their probabilities.
 * A link's next probability is its charge over the probes that crossed it. A link whose losses others explain ends with
 * nothing: neither one that two faulty links share, nor one that by chance had more of the bad probes and few others.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/minmax.h"
#include "diag/pingmesh/ballot.h"

#define ROUNDS 200
#define STILL 1e-4 /* no probability changed by a larger part of itself */
#define NEVER 1e-300

/* Bad probes of the same paths. */
struct bad_paths {
	uint32_t traces[BALLOT_PATHS], paths, count;
};

struct em_links {
	const struct ballot *b;
	struct votes *v;
	struct bad_paths *bad;
	uint32_t nbad;
	uint32_t *suspects; /* [nsuspects] ports that bad probes cross, one of those that the same probes do */
	uint32_t nsuspects;
	double *charged; /* [nports] bad probes */
};

static int
cmp_bad(const void *pa, const void *pb)
{
	const struct bad_paths *a = pa, *b = pb;

	if (a->paths != b->paths)
		return a->paths < b->paths ? -1 : 1;
	for (uint32_t w = 0; w < a->paths; w++)
		if (a->traces[w] != b->traces[w])
			return a->traces[w] < b->traces[w] ? -1 : 1;
	return 0;
}

static void
list_bad(struct em_links *l)
{
	const struct judging *j = l->b->j;
	uint32_t count = 0;

	for (uint32_t i = l->b->first; i < j->end; i++) {
		struct bad_paths *entry = &l->bad[count];

		if (!ballot_takes_part(l->b, i) || !ballot_is_bad(l->b, &j->net.probes[i]))
			continue;
		*entry = (struct bad_paths){ .count = 1 };
		entry->paths = ballot_paths(l->b, &j->net.probes[i], entry->traces);
		count += entry->paths != 0;
	}
	if (count > 1)
		qsort(l->bad, count, sizeof(*l->bad), cmp_bad);
	for (uint32_t i = 0; i < count; i++) {
		if (l->nbad != 0 && cmp_bad(&l->bad[l->nbad - 1], &l->bad[i]) == 0)
			l->bad[l->nbad - 1].count++;
		else
			l->bad[l->nbad++] = l->bad[i];
	}
}

/* ---- suspects ---- */

struct suspect {
	uint64_t which;
	uint32_t all, bad, port;
};

static int
cmp_suspect(const void *pa, const void *pb)
{
	const struct suspect *a = pa, *b = pb;

	if (a->which != b->which)
		return a->which < b->which ? -1 : 1;
	if (a->all != b->all)
		return a->all < b->all ? -1 : 1;
	return ORDER(a->port, b->port);
}

static int
list_suspects(struct em_links *l)
{
	uint32_t nports = l->v->run->nports, count = 0;
	struct suspect *all = calloc((size_t)nports + 1, sizeof(*all));

	if (all == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < nports; i++) {
		const struct vote_count *t = &l->v->ports[i];

		l->v->loss_rate[i] = 0;
		if (t->bad != 0)
			all[count++] = (struct suspect){ t->which, t->all, t->bad, i };
	}
	qsort(all, count, sizeof(*all), cmp_suspect);
	for (uint32_t i = 0; i < count; i++) {
		if (i != 0 && all[i].which == all[i - 1].which && all[i].all == all[i - 1].all)
			continue;
		l->suspects[l->nsuspects++] = all[i].port;
		l->v->loss_rate[all[i].port] = (double)all[i].bad / all[i].all;
	}
	free(all);
	return 0;
}

/* ---- expectation and maximization ---- */

/* @return the probability that no link of these paths loses a probe */
static double
stays_well(const struct em_links *l, const struct bad_paths *bad)
{
	const struct net *net = &l->b->j->net;
	double well = 1;

	for (uint32_t w = 0; w < bad->paths; w++) {
		for (uint32_t i = 0; i < net->traces[bad->traces[w]].count; i++) {
			well *= 1 - l->v->loss_rate[net->links[net->traces[bad->traces[w]].first + i]];
		}
	}
	return well;
}

static void
charge(struct em_links *l, const struct bad_paths *bad)
{
	const struct net *net = &l->b->j->net;
	const double *loss_rate = l->v->loss_rate;
	double well = stays_well(l, bad);

	if (well >= 1)
		return;
	for (uint32_t w = 0; w < bad->paths; w++) {
		for (uint32_t i = 0; i < net->traces[bad->traces[w]].count; i++) {
			uint32_t port = net->links[net->traces[bad->traces[w]].first + i];

			l->charged[port] += bad->count * loss_rate[port] / (1 - well);
		}
	}
}

/* @return whether anything has changed */
static bool
improve(struct em_links *l)
{
	bool changed = false;

	for (uint32_t i = 0; i < l->nsuspects; i++)
		l->charged[l->suspects[i]] = 0;
	for (uint32_t i = 0; i < l->nbad; i++)
		charge(l, &l->bad[i]);
	for (uint32_t i = 0; i < l->nsuspects; i++) {
		uint32_t port = l->suspects[i];
		double loss_rate = fmin(1, l->charged[port] / l->v->ports[port].all);

		changed |= fabs(loss_rate - l->v->loss_rate[port]) > STILL * loss_rate;
		l->v->loss_rate[port] = loss_rate;
	}
	return changed;
}

/* @return the one that surely loses the largest share, RUN_NONE: none is charged with enough */
static uint32_t
worst(const struct em_links *l)
{
	uint32_t worst = RUN_NONE;
	double most = 0;

	for (uint32_t i = 0; i < l->nsuspects; i++) {
		uint32_t port = l->suspects[i];
		double surely = wilson(l->charged[port], l->v->ports[port].all, -1);

		if (l->charged[port] < JUDGE_LEAST_TIMEOUTS - 0.5 || surely <= most)
			continue;
		worst = port;
		most = surely;
	}
	return worst;
}

/* The log-likelihood of all of the ballot's probes. */
static double
log_likelihood(const struct em_links *l)
{
	double sum = 0;

	for (uint32_t i = 0; i < l->nbad; i++)
		sum += l->bad[i].count * log(fmax(1 - stays_well(l, &l->bad[i]), NEVER));
	for (uint32_t i = 0; i < l->nsuspects; i++) {
		const struct vote_count *t = &l->v->ports[l->suspects[i]];

		if (t->all > t->bad)
			sum += (double)(t->all - t->bad) * log(fmax(1 - l->v->loss_rate[l->suspects[i]], NEVER));
	}
	return sum;
}

static void
fit(struct em_links *l)
{
	for (uint32_t i = 0; i < ROUNDS && improve(l); i++)
		;
}

static void
em_links_fini(struct em_links *l)
{
	free(l->bad);
	free(l->suspects);
	free(l->charged);
}

/* @return 0 or -ENOMEM; em_links_fini() in any case */
static int
em_links_init(struct em_links *l, const struct ballot *b)
{
	size_t count = b->j->end - b->first + 1, nports = b->j->votes->run->nports + 1;
	int rc;

	*l = (struct em_links){ .b = b,
				.v = b->j->votes,
				.bad = calloc(count, sizeof(*l->bad)),
				.suspects = calloc(nports, sizeof(*l->suspects)),
				.charged = calloc(nports, sizeof(*l->charged)) };
	rc = l->bad != NULL && l->suspects != NULL && l->charged != NULL ? list_suspects(l) : -ENOMEM;
	if (rc == 0)
		list_bad(l);
	return rc;
}

int
em_links_port(const struct ballot *b, struct em_place *place)
{
	struct em_links l;
	int rc = em_links_init(&l, b);

	*place = (struct em_place){ .port = RUN_NONE };
	if (rc == 0) {
		fit(&l);
		place->port = worst(&l);
		place->log_likelihood = log_likelihood(&l);
	}
	if (rc == 0 && place->port != RUN_NONE)
		place->charged = l.charged[place->port];
	em_links_fini(&l);
	return rc;
}

int
em_links_without(const struct ballot *b, const uint8_t *without, double *charged, double *log_likely)
{
	struct em_links l;
	uint32_t nports = b->j->votes->run->nports, count = 0;
	double *before = malloc((nports + 1) * sizeof(*before));
	int rc;

	if (before == NULL)
		return -ENOMEM;
	memcpy(before, b->j->votes->loss_rate, nports * sizeof(*before));
	rc = em_links_init(&l, b);
	for (uint32_t i = 0; rc == 0 && i < l.nsuspects; i++) {
		if (without[l.suspects[i]])
			l.v->loss_rate[l.suspects[i]] = 0;
		else
			l.suspects[count++] = l.suspects[i];
	}
	if (rc == 0) {
		l.nsuspects = count;
		fit(&l);
		*log_likely = log_likelihood(&l);
		memcpy(charged, l.charged, nports * sizeof(*charged));
	}
	memcpy(b->j->votes->loss_rate, before, nports * sizeof(*before));
	em_links_fini(&l);
	free(before);
	return rc;
}
