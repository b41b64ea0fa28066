/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * High RTT, against the usual RTT. Temporary congestion: above three times the tuple's own median of the run. Lasting
 * congestion, also of the whole run: the median of a period above three times the path's idle time. A path that has
 * become, or always was, slower than its like: the least RTT of a period above that. A path's idle time is the known
 * propagation delays of its links, and the excess of the least RTT over these of most tuples with as many hops.
 */
#include <errno.h>
#include <stdlib.h>

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

/* One good probe of a tuple. */
struct sample {
	uint32_t tuple, probe;
	uint64_t rtt_ps;
};

struct usual {
	double median_ps;  /* of the tuple; 0: too few samples */
	double nominal_ps; /* propagation delay of its links, there and back */
	uint32_t hops;     /* those of one-way probes from ONE_WAY_HOPS on; 0: its paths are not known */
};

struct marking {
	struct judging *j;
	struct sample *samples;
	uint32_t nsamples;
	struct usual *tuples;      /* [ntuples] */
	double own_ps[MOST_HOPS];  /* by hops: the least RTT of a tuple without nominal_ps, the median of tuples */
	uint32_t alike[MOST_HOPS]; /* tuples */
};

static int
cmp_sample(const void *pa, const void *pb)
{
	const struct sample *a = pa, *b = pb;

	if (a->tuple != b->tuple)
		return a->tuple < b->tuple ? -1 : 1;
	if (a->rtt_ps != b->rtt_ps)
		return a->rtt_ps < b->rtt_ps ? -1 : 1;
	return a->probe < b->probe ? -1 : a->probe > b->probe;
}

static int
cmp_double(const void *pa, const void *pb)
{
	const double *a = pa, *b = pb;

	return *a < *b ? -1 : *a > *b;
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

/* @return the least RTT of a tuple beyond the time of its cables; the first of its samples is its least */
static double
own_part(const struct sample *least, const struct usual *usual)
{
	return (double)least->rtt_ps > usual->nominal_ps ? (double)least->rtt_ps - usual->nominal_ps : 0;
}

static void
find_medians(struct marking *m)
{
	for (uint32_t first = 0, end; first < m->nsamples; first = end) {
		struct usual *usual = &m->tuples[m->samples[first].tuple];

		for (end = first + 1; end < m->nsamples && m->samples[end].tuple == m->samples[first].tuple; end++)
			;
		if (end - first >= LEAST_SAMPLES)
			usual->median_ps = (double)m->samples[first + (end - first - 1) / 2].rtt_ps;
		add_paths(m->j, m->samples[first].tuple, net_is_one_way(&m->j->net.probes[m->samples[first].probe]), usual);
	}
}

/* The usual RTT of paths with as many hops. @return 0 or -ENOMEM */
static int
find_alike(struct marking *m)
{
	double *all = run_alloc(m->j->net.ntuples, sizeof(*all), m->j->err);

	for (uint32_t hops = 1; all != NULL && hops < MOST_HOPS; hops++) {
		uint32_t count = 0;

		for (uint32_t i = 0; i < m->nsamples; i++) {
			const struct usual *usual = &m->tuples[m->samples[i].tuple];

			if (usual->hops == hops && (i == 0 || m->samples[i].tuple != m->samples[i - 1].tuple))
				all[count++] = own_part(&m->samples[i], usual);
		}
		m->alike[hops] = count;
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

/* Samples of a tuple in time's order. */
static int
cmp_time(const void *pa, const void *pb)
{
	const struct sample *a = pa, *b = pb;

	return a->probe < b->probe ? -1 : a->probe > b->probe;
}

/* Samples of a tuple in a period, [from, to), which are sorted by their RTTs. @return the end of them */
static void
mark_period(struct marking *m, uint32_t from, uint32_t to)
{
	const struct usual *usual = &m->tuples[m->samples[from].tuple];
	struct sample *samples = m->samples;
	double idle_ps = 0;
	bool slower, stays;

	if (usual->hops != 0 && m->alike[usual->hops] >= LEAST_ALIKE)
		idle_ps = usual->nominal_ps + m->own_ps[usual->hops];
	qsort(&samples[from], to - from, sizeof(*samples), cmp_sample);
	slower = idle_ps > 0 && (double)samples[from].rtt_ps > idle_ps * (1 + SLOWER) + LEAST_PS;
	stays = to - from >= LEAST_SAMPLES && is_congested(idle_ps, samples[from + (to - from - 1) / 2].rtt_ps);
	for (uint32_t i = from; i < to; i++)
		m->j->net.probes[samples[i].probe].high = slower || is_congested(usual->median_ps, samples[i].rtt_ps) ||
							  (stays && is_congested(idle_ps, samples[i].rtt_ps));
}

static void
mark_tuple(struct marking *m, uint32_t first, uint32_t end)
{
	const struct net_probe *probes = m->j->net.probes;

	qsort(&m->samples[first], end - first, sizeof(*m->samples), cmp_time);
	for (uint32_t from = first, to; from < end; from = to) {
		uint64_t period = period_of(m->j, &probes[m->samples[from].probe]);

		for (to = from; to < end && period_of(m->j, &probes[m->samples[to].probe]) == period; to++)
			;
		mark_period(m, from, to);
	}
}

static void
collect(struct marking *m)
{
	for (uint32_t i = 0; i < m->j->net.nprobes; i++) {
		const struct net_probe *probe = &m->j->net.probes[i];

		if (probe->result == REC_PROBE_OK)
			m->samples[m->nsamples++] = (struct sample){ probe->tuple, i, probe->rtt_ps };
	}
	if (m->nsamples > 1)
		qsort(m->samples, m->nsamples, sizeof(*m->samples), cmp_sample);
}

int
rtt_mark(struct judging *j)
{
	struct marking *m = run_alloc(1, sizeof(*m), j->err);
	int rc = -ENOMEM;

	if (m == NULL)
		return -ENOMEM;
	m->j = j;
	m->samples = run_alloc(j->net.nprobes, sizeof(*m->samples), j->err);
	m->tuples = run_alloc(j->net.ntuples, sizeof(*m->tuples), j->err);
	if (m->samples != NULL && m->tuples != NULL) {
		collect(m);
		find_medians(m);
		rc = find_alike(m);
	}
	for (uint32_t first = 0, end; rc == 0 && first < m->nsamples; first = end) {
		uint32_t tuple = m->samples[first].tuple;

		for (end = first + 1; end < m->nsamples && m->samples[end].tuple == tuple; end++)
			;
		mark_tuple(m, first, end);
	}
	free(m->samples);
	free(m->tuples);
	free(m);
	return rc;
}
