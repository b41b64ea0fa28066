/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * High RTT, against the usual RTT. Temporary congestion: above three times the tuple's own median of the run. Lasting
 * congestion, also of the whole run: the median of a period above three times the path's idle time. A path that has
 * become, or always was, slower than its like: the least RTT of a period above that. A path's idle time is the known
 * propagation delays of its links, and the excess of the least RTT over these of most tuples with as many hops.
 */
#include <errno.h>
#include <stdlib.h>

#include "common/minmax.h"
#include "common/units.h"
#include "diag/pingmesh/judge.h"
#include "diag/run/fill.h"

#define CONGESTED 3.0              /* times the tuple's median */
#define LEAST_PS (5.0 * PS_PER_US) /* a smaller excess over the usual is no high RTT */
#define SLOWER 0.25                /* share of the usual RTT above it: a slower path */
#define LEAST_SAMPLES 5            /* of a tuple, that have a median */
#define LEAST_ALIKE 4              /* tuples with as many hops, that define the usual RTT */
#define MOST_HOPS 256
#define ONE_WAY_HOPS (MOST_HOPS / 2) /* added to the hops of one-way probes, which are compared with their like */

struct usual {
	double median_ps;  /* of the tuple; 0: too few samples */
	double nominal_ps; /* propagation delay of its links, there and back */
	uint64_t least_ps; /* of its samples */
	bool sampled;      /* it has some */
	uint32_t hops;     /* those of one-way probes from ONE_WAY_HOPS on; 0: its paths are not known */
};

struct marking {
	struct judging *j;
	uint32_t *samples; /* [nsamples] good probes, by tuple, those of a tuple in order of time: in net.probes */
	uint32_t nsamples;
	uint64_t *rtts_ps;         /* [most samples of a tuple] of one tuple or period, sorted */
	struct usual *tuples;      /* [ntuples] */
	double own_ps[MOST_HOPS];  /* by hops: the least RTT of a tuple without nominal_ps, the median of tuples */
	uint32_t alike[MOST_HOPS]; /* tuples */
};

static const struct net_probe *
sample(const struct marking *m, uint32_t i)
{
	return &m->j->net.probes[m->samples[i]];
}

/* @return the end of the samples of a tuple that begin there */
static uint32_t
end_of_tuple(const struct marking *m, uint32_t first)
{
	uint32_t end = first + 1;

	while (end < m->nsamples && sample(m, end)->tuple == sample(m, first)->tuple)
		end++;
	return end;
}

static int
cmp_rtt(const void *pa, const void *pb)
{
	return ORDER(*(const uint64_t *)pa, *(const uint64_t *)pb);
}

/* The RTTs of samples [from, to), at least one, sorted. */
static const uint64_t *
sorted_rtts(struct marking *m, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		m->rtts_ps[i - from] = sample(m, i)->rtt_ps;
	qsort(m->rtts_ps, to - from, sizeof(*m->rtts_ps), cmp_rtt);
	return m->rtts_ps;
}

static int
cmp_double(const void *pa, const void *pb)
{
	const double *a = pa, *b = pb;

	return ORDER(*a, *b);
}

/* The paths of a tuple. */
static void
add_paths(const struct judging *j, uint32_t tuple, bool one_way, struct usual *usual)
{
	const struct net *net = &j->net;

	usual->hops = one_way ? ONE_WAY_HOPS : 0;
	for (uint32_t back = 0; back < (one_way ? 1 : 2); back++) {
		uint32_t trace = net_trace_at(net, tuple, back != 0, 0);

		if (trace == RUN_NONE || !net->traces[trace].whole) {
			usual->hops = 0;
			return;
		}
		for (uint32_t i = 0; i < net->traces[trace].count; i++)
			usual->nominal_ps += (double)net->ev->ports[net->links[net->traces[trace].first + i]].delay_ps;
		usual->hops += net->traces[trace].count;
	}
	/* The sender's own cables, in both directions. */
	if (usual->hops >= MOST_HOPS)
		usual->hops = 0;
}

/* @return the least RTT of a tuple beyond the time of its cables */
static double
own_part(const struct usual *usual)
{
	return (double)usual->least_ps > usual->nominal_ps ? (double)usual->least_ps - usual->nominal_ps : 0;
}

static void
find_medians(struct marking *m)
{
	for (uint32_t first = 0, end; first < m->nsamples; first = end) {
		struct usual *usual = &m->tuples[sample(m, first)->tuple];
		const uint64_t *rtts_ps;

		end = end_of_tuple(m, first);
		rtts_ps = sorted_rtts(m, first, end);
		usual->sampled = true;
		usual->least_ps = rtts_ps[0];
		if (end - first >= LEAST_SAMPLES)
			usual->median_ps = (double)rtts_ps[(end - first - 1) / 2];
		add_paths(m->j, sample(m, first)->tuple, net_is_one_way(sample(m, first)), usual);
	}
}

/* The usual RTT of paths with as many hops. @return 0 or -ENOMEM */
static int
find_alike(struct marking *m)
{
	double *all = run_alloc(m->j->net.ntuples, sizeof(*all), m->j->err);

	for (uint32_t tuple = 0; tuple < m->j->net.ntuples; tuple++)
		m->alike[m->tuples[tuple].hops] += m->tuples[tuple].sampled;
	m->alike[0] = 0; /* of unknown paths */
	for (uint32_t hops = 1; all != NULL && hops < MOST_HOPS; hops++) {
		uint32_t count = 0;

		for (uint32_t i = 0; count < m->alike[hops]; i++) {
			const struct usual *usual = &m->tuples[i];

			if (usual->hops == hops && usual->sampled)
				all[count++] = own_part(usual);
		}
		if (count == 0)
			continue;
		qsort(all, count, sizeof(*all), cmp_double);
		m->own_ps[hops] = all[(count - 1) / 2];
	}
	free(all);
	return all != NULL ? 0 : -ENOMEM;
}

static uint64_t
period_of(const struct judging *j, const struct net_probe *probe)
{
	return probe->sent_ps / j->net.config.period_ps;
}

static bool
is_congested(double usual_ps, uint64_t rtt_ps)
{
	return usual_ps > 0 && (double)rtt_ps > CONGESTED * usual_ps && (double)rtt_ps > usual_ps + LEAST_PS;
}

/* Samples of a tuple in a period, [from, to). */
static void
mark_period(struct marking *m, uint32_t from, uint32_t to)
{
	const struct usual *usual = &m->tuples[sample(m, from)->tuple];
	const uint64_t *rtts_ps = sorted_rtts(m, from, to);
	double idle_ps = 0;
	bool slower, stays;

	if (usual->hops != 0 && m->alike[usual->hops] >= LEAST_ALIKE)
		idle_ps = usual->nominal_ps + m->own_ps[usual->hops];
	slower = idle_ps > 0 && (double)rtts_ps[0] > idle_ps * (1 + SLOWER) + LEAST_PS;
	stays = to - from >= LEAST_SAMPLES && is_congested(idle_ps, rtts_ps[(to - from - 1) / 2]);
	for (uint32_t i = from; i < to; i++) {
		struct net_probe *probe = &m->j->net.probes[m->samples[i]];

		probe->high = slower || is_congested(usual->median_ps, probe->rtt_ps) ||
			      (stays && is_congested(idle_ps, probe->rtt_ps));
	}
}

static void
mark_tuple(struct marking *m, uint32_t first, uint32_t end)
{
	for (uint32_t from = first, to; from < end; from = to) {
		uint64_t period = period_of(m->j, sample(m, from));

		for (to = from; to < end && period_of(m->j, sample(m, to)) == period; to++)
			;
		mark_period(m, from, to);
	}
}

/*
 * A counting sort by tuples: probes are in order of time. @param next  [ntuples + 1] of zeros: the place of each's next
 * @return the most samples of a tuple
 */
static uint32_t
collect(struct marking *m, uint32_t *next)
{
	const struct net *net = &m->j->net;
	uint32_t most = 0;

	for (uint32_t i = 0; i < net->nprobes; i++)
		next[net->probes[i].tuple + 1] += net->probes[i].result == REC_PROBE_OK;
	for (uint32_t tuple = 0; tuple < net->ntuples; tuple++) {
		most = max_u32(most, next[tuple + 1]);
		next[tuple + 1] += next[tuple];
	}
	m->nsamples = next[net->ntuples];
	for (uint32_t i = 0; i < net->nprobes; i++)
		if (net->probes[i].result == REC_PROBE_OK)
			m->samples[next[net->probes[i].tuple]++] = i;
	return most;
}

int
rtt_mark(struct judging *j)
{
	struct marking *m = run_alloc(1, sizeof(*m), j->err);
	uint32_t *next = run_alloc(j->net.ntuples + 1, sizeof(*next), j->err);
	int rc = -ENOMEM;

	if (m == NULL || next == NULL)
		goto out;
	m->j = j;
	m->samples = run_alloc(j->net.nprobes, sizeof(*m->samples), j->err);
	m->tuples = run_alloc(j->net.ntuples, sizeof(*m->tuples), j->err);
	if (m->samples != NULL)
		m->rtts_ps = run_alloc(collect(m, next), sizeof(*m->rtts_ps), j->err);
	if (m->rtts_ps != NULL && m->tuples != NULL) {
		find_medians(m);
		rc = find_alike(m);
	}
	for (uint32_t first = 0, end; rc == 0 && first < m->nsamples; first = end) {
		end = end_of_tuple(m, first);
		mark_tuple(m, first, end);
	}
	free(m->samples);
	free(m->rtts_ps);
	free(m->tuples);
out:
	free(next);
	free(m);
	return rc;
}
