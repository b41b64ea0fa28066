/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Delays of probes from one RNIC of a host to another (7.4), each end by its own clock. The offset of the two clocks is
 * unknown, but constant: a probe's time is known up to a constant of its pair. The sum of both directions is free of
 * it, and half of that counts as the usual time of either: the median of its tuples' least delays, so that a slow link
 * on the path of some of them does not hide in the constant. One that is slow on all paths of one direction, from the
 * beginning on, does.
 */
#include <errno.h>
#include <stdlib.h>

#include "common/minmax.h"
#include "diag/pingmesh/net.h"
#include "diag/run/fill.h"

/* The usual delay of a pair of RNICs, by their clocks. */
struct level {
	uint32_t src, dst;
	int64_t ps;
};

struct delay {
	struct level of;
	uint32_t tuple;
};

static int
cmp_pair(const struct level *a, const struct level *b)
{
	return a->src != b->src ? ORDER(a->src, b->src) : ORDER(a->dst, b->dst);
}

static int
cmp_level(const void *pa, const void *pb)
{
	return cmp_pair(pa, pb);
}

static int
cmp_tuple(const void *pa, const void *pb)
{
	const struct delay *a = pa, *b = pb;
	int by = cmp_pair(&a->of, &b->of);

	by = by != 0 ? by : ORDER(a->tuple, b->tuple);
	return by != 0 ? by : ORDER(a->of.ps, b->of.ps);
}

static int
cmp_least(const void *pa, const void *pb)
{
	const struct delay *a = pa, *b = pb;
	int by = cmp_pair(&a->of, &b->of);

	return by != 0 ? by : ORDER(a->of.ps, b->of.ps);
}

static bool
is_timed(const struct net_probe *probe)
{
	return probe->kind == REC_PROBE_RAIL && probe->result == REC_PROBE_OK;
}

/* By both ends' clocks, with its sign. */
static int64_t
difference_of(const struct net_probe *probe)
{
	uint64_t sign = 1ull << (NET_TIME_BITS - 1);

	return (int64_t)((probe->rtt_ps ^ sign) - sign);
}

/* @return the number of levels, which take the place of all delays */
static uint32_t
find_levels(struct delay *delays, uint32_t count, struct level *levels)
{
	uint32_t tuples = 0, pairs = 0;

	if (count > 1)
		qsort(delays, count, sizeof(*delays), cmp_tuple);
	for (uint32_t i = 0; i < count; i++) /* the least of each tuple */
		if (i == 0 || delays[i].tuple != delays[tuples - 1].tuple)
			delays[tuples++] = delays[i];
	if (tuples > 1)
		qsort(delays, tuples, sizeof(*delays), cmp_least);
	for (uint32_t first = 0, end; first < tuples; first = end) {
		for (end = first + 1; end < tuples && cmp_pair(&delays[end].of, &delays[first].of) == 0; end++)
			;
		levels[pairs++] = delays[first + (end - first - 1) / 2].of;
	}
	return pairs;
}

static const struct level *
find_level(const struct level *levels, uint32_t count, uint32_t src, uint32_t dst)
{
	const struct level key = { .src = src, .dst = dst };

	return count != 0 ? bsearch(&key, levels, count, sizeof(key), cmp_level) : NULL;
}

static int
cmp_i64(const void *pa, const void *pb)
{
	const int64_t *a = pa, *b = pb;

	return ORDER(*a, *b);
}

/* The usual time of one direction: half of both, the median of pairs that have both. @param halves  [count] room */
static int64_t
usual_of(const struct level *levels, uint32_t count, int64_t *halves)
{
	uint32_t known = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct level *back = find_level(levels, count, levels[i].dst, levels[i].src);

		if (back != NULL)
			halves[known++] = levels[i].ps / 2 + back->ps / 2;
	}
	if (known > 1)
		qsort(halves, known, sizeof(*halves), cmp_i64);
	return known != 0 ? halves[(known - 1) / 2] : 0;
}

/* The constant that is taken off a pair's delays. Without probes in the other direction, their time counts as usual. */
static int64_t
constant_of(const struct net *net, const struct level *levels, uint32_t count, int64_t usual_ps,
	    const struct net_probe *probe)
{
	const struct level *forth = find_level(levels, count, net_src(net, probe), net_dst(net, probe));
	const struct level *back = find_level(levels, count, net_dst(net, probe), net_src(net, probe));

	return back != NULL ? forth->ps / 2 - back->ps / 2 : forth->ps - usual_ps;
}

static uint64_t
beyond(int64_t ps, int64_t constant_ps)
{
	return ps > constant_ps ? (uint64_t)ps - (uint64_t)constant_ps : 0;
}

int
net_level_rails(struct net *net, struct err *err)
{
	struct delay *delays = run_alloc(net->nprobes, sizeof(*delays), err);
	struct level *levels = run_alloc(net->nprobes, sizeof(*levels), err);
	int64_t *halves = run_alloc(net->nprobes, sizeof(*halves), err), usual_ps = 0;
	int rc = delays != NULL && levels != NULL && halves != NULL ? 0 : -ENOMEM;
	uint32_t count = 0, pairs = 0;

	for (uint32_t i = 0; rc == 0 && i < net->nprobes; i++)
		if (is_timed(&net->probes[i]))
			delays[count++] = (struct delay){ { net_src(net, &net->probes[i]), net_dst(net, &net->probes[i]),
							    difference_of(&net->probes[i]) },
							  net->probes[i].tuple };
	if (rc == 0) {
		pairs = find_levels(delays, count, levels);
		usual_ps = usual_of(levels, pairs, halves);
	}
	for (uint32_t i = 0; rc == 0 && i < net->nprobes; i++) {
		struct net_probe *probe = &net->probes[i];

		if (is_timed(probe))
			probe->rtt_ps = beyond(difference_of(probe), constant_of(net, levels, pairs, usual_ps, probe));
	}
	free(delays);
	free(levels);
	free(halves);
	return rc;
}
