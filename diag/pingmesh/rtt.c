/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * High RTT, against what is usual. Congestion: above three times the tuple's own median of the run, and its P99 of the run's better half.
 * A way that has become, or always was, slower than its like: the least RTT of a period, without the propagation delays that
 * are known of its links, above that of most tuples with as many hops.
 */
#include <errno.h>
#include <stdlib.h>

#include "common/minmax.h"
#include "common/units.h"
#include "diag/pingmesh/judge.h"
#include "diag/run/fill.h"

#define CONGESTED 3.0              /* times the tuple's median */
#define LEAST_PS (5.0 * PS_PER_US) /* less above what is usual is no high RTT */
#define SLOWER 0.25                /* of what is usual, above it: a slower way */
#define LEAST_SAMPLES 5            /* of a tuple, that have a median */
#define LEAST_ALIKE 4              /* tuples with as many hops, that say what is usual */
#define MOST_HOPS 256

/* One good probe of a tuple. */
struct sample {
	uint32_t tuple, probe;
	uint64_t rtt_ps;
};

struct usual {
	double median_ps;  /* of the tuple; 0: too few samples */
	double nominal_ps; /* propagation delay of its links, there and back */
	uint32_t hops;     /* 0: its ways are not known */
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

/* What is known of the ways of a tuple. */
static void
add_ways(const struct judging *j, uint32_t tuple, struct usual *usual)
{
	const struct net *net = &j->net;

	for (uint32_t back = 0; back < 2; back++) {
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

/* @return the least RTT of a tuple beyond what its cables take; the first of its samples is its least */
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
		add_ways(m->j, m->samples[first].tuple, usual);
	}
}

/* What is usual of ways with as many hops. @return 0 or -ENOMEM */
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

/* By the run's median: what is usual is congested only where it is for most of the run, and then less usual ways tell it. */
static bool
is_congested(const struct usual *usual, uint64_t rtt_ps)
{
	return usual->median_ps > 0 && (double)rtt_ps > CONGESTED * usual->median_ps &&
	       (double)rtt_ps > usual->median_ps + LEAST_PS;
}

/* Samples of a tuple in time's order: the least of each period. */
static int
cmp_time(const void *pa, const void *pb)
{
	const struct sample *a = pa, *b = pb;

	return a->probe < b->probe ? -1 : a->probe > b->probe;
}

static void
mark_tuple(struct marking *m, uint32_t first, uint32_t end)
{
	const struct usual *usual = &m->tuples[m->samples[first].tuple];
	struct net_probe *probes = m->j->net.probes;
	double expected_ps = usual->nominal_ps + m->own_ps[usual->hops];

	qsort(&m->samples[first], end - first, sizeof(*m->samples), cmp_time);
	for (uint32_t from = first, to; from < end; from = to) {
		uint64_t period = period_of(m->j, &probes[m->samples[from].probe]), least_ps = UINT64_MAX;
		bool slower;

		for (to = from; to < end && period_of(m->j, &probes[m->samples[to].probe]) == period; to++)
			least_ps = min_u64(least_ps, m->samples[to].rtt_ps);
		slower = usual->hops != 0 && m->alike[usual->hops] >= LEAST_ALIKE &&
			 (double)least_ps > expected_ps * (1 + SLOWER) + LEAST_PS;
		for (uint32_t i = from; i < to; i++)
			probes[m->samples[i].probe].high = slower || is_congested(usual, m->samples[i].rtt_ps);
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
