/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/minmax.h"
#include "diag/pingmesh/net.h"
#include "diag/run/fill.h"

#define MOST_PATHS 64 /* of a tuple, in one direction */

static int
cmp_hop(const void *pa, const void *pb)
{
	const struct rec_probe_hop *a = pa, *b = pb;
	int by = net_cmp_tuple(&a->tuple, &b->tuple);

	by = by != 0 ? by : ORDER(a->back, b->back);
	by = by != 0 ? by : ORDER(a->sent_ps, b->sent_ps);
	return by != 0 ? by : ORDER(a->hop, b->hop);
}

/* A restarted agent counts its traceroutes from the beginning: the same number is the same one only if hops go on. */
static bool
is_next_hop(const struct rec_probe_hop *a, const struct rec_probe_hop *b)
{
	return net_cmp_tuple(&a->tuple, &b->tuple) == 0 && a->back == b->back && a->trace == b->trace && a->hop < b->hop;
}

/* The link by which a packet reached the node that reported it. */
static uint32_t
link_to(const struct run *run, uint32_t node, uint16_t port)
{
	return port < run->nodes[node].nports ? run->ports[run->nodes[node].first_port + port].peer_port : RUN_NONE;
}

/* Hops of one traceroute, in order: each names its own link, so that those between which one is missing serve, too. */
static void
put_trace(struct net *net, const struct rec_probe_hop *hops, uint32_t count, uint32_t tuple, uint32_t *nlinks)
{
	const struct rec_probe_hop *last = &hops[count - 1];
	uint32_t end = net_find_rnic(net, last->back ? last->tuple.src_ip : last->tuple.dst_ip);
	struct net_trace trace = { .tuple = tuple,
				   .back = last->back != 0,
				   .whole = last->last && hops[0].hop == 1,
				   .sent_ps = hops[0].sent_ps,
				   .packets = hops[0].count,
				   .reported_ps = hops[0].hdr.time_ps,
				   .first = *nlinks };
	const struct net_trace *before = net->ntraces != 0 ? &net->traces[net->ntraces - 1] : NULL;
	bool is_torn = false; /* a packet arrived from another node than where the one before it ended */

	for (uint32_t i = 0; i < count; i++) {
		uint32_t link = link_to(net->run, hops[i].at, hops[i].port);

		is_torn |= link != RUN_NONE && i != 0 && net->run->ports[link].node != hops[i - 1].at;
		if (link != RUN_NONE)
			net->links[(*nlinks)++] = link;
		trace.whole &= i == 0 || hops[i].hop == hops[i - 1].hop + 1;
	}
	if (last->last && end != RUN_NONE && net->run->ports[net->rnics[end].port].peer_port != RUN_NONE)
		net->links[(*nlinks)++] = net->run->ports[net->rnics[end].port].peer_port;
	net->inband |= trace.packets != 0;
	is_torn |= trace.packets != 0 && before != NULL && before->tuple == tuple && before->back == trace.back &&
		   before->reported_ps == trace.reported_ps;
	net->walked += trace.whole && count > 1;
	net->torn += trace.whole && is_torn;
	trace.count = *nlinks - trace.first;
	if (net->tuples[tuple].count[trace.back]++ == 0)
		net->tuples[tuple].first[trace.back] = net->ntraces;
	net->traces[net->ntraces++] = trace;
}

/* RNICs of one ToR have one path, which needs no trace. */
static void
put_known(struct net *net, uint32_t tuple, uint32_t *nlinks)
{
	struct net_tuple *of = &net->tuples[tuple];
	uint32_t ends[2] = { net_find_rnic(net, of->tuple.src_ip), net_find_rnic(net, of->tuple.dst_ip) };

	if (ends[0] == RUN_NONE || ends[1] == RUN_NONE || net->rnics[ends[0]].tor != net->rnics[ends[1]].tor)
		return;
	for (uint32_t back = 0; back < 2; back++) {
		uint32_t out = net->rnics[ends[back]].port, in = net->run->ports[net->rnics[ends[!back]].port].peer_port;

		if (of->count[back] != 0 || in == RUN_NONE)
			continue;
		net->links[*nlinks] = out;
		net->links[*nlinks + 1] = in;
		of->first[back] = net->ntraces;
		of->count[back] = 1;
		net->traces[net->ntraces++] = (struct net_trace){
			.tuple = tuple, .back = back != 0, .whole = true, .first = *nlinks, .count = 2
		};
		*nlinks += 2;
	}
}

static bool
is_same_path(const struct net *net, const struct net_trace *a, const struct net_trace *b)
{
	return a->count == b->count &&
	       memcmp(&net->links[a->first], &net->links[b->first], a->count * sizeof(*net->links)) == 0;
}

/* Which whole traces of a tuple are the same path? Paths beyond the room count as the last one. */
static void
list_paths(struct net *net, struct net_tuple *of, bool back)
{
	uint32_t *paths = &net->paths[net->npaths], count = 0;

	for (uint32_t t = of->first[back]; t < of->first[back] + of->count[back]; t++) {
		struct net_trace *trace = &net->traces[t];
		uint32_t k = 0;

		if (!trace->whole || trace->count == 0)
			continue;
		while (k < count && k < MOST_PATHS && !is_same_path(net, &net->traces[paths[k]], trace))
			k++;
		if (k == count && count < MOST_PATHS)
			paths[count++] = t;
		trace->alike = paths[k < count ? k : count - 1];
	}
	of->first_path[back] = net->npaths;
	of->count_path[back] = count;
	net->npaths += count;
}

void
net_find_valid(struct net *net, const struct net_tuple *of, bool back)
{
	uint32_t first = of->first[back], end = first + of->count[back], whole = first;

	while (whole < end && !net->traces[whole].whole)
		whole++;
	for (uint32_t t = first; t < end; t++) {
		if (net->traces[t].whole)
			whole = t;
		net->traces[t].valid = whole < end ? whole : RUN_NONE;
	}
}

int
net_list_traces(struct net *net, const struct ev_vec *records, struct err *err)
{
	uint32_t count = 0, nlinks = 0;
	struct rec_probe_hop *hops = net_sorted(records, sizeof(*hops), cmp_hop, &count, err);

	net->traces = run_alloc(count + 2 * (size_t)net->ntuples, sizeof(*net->traces), err);
	net->links = run_alloc(2 * (size_t)count + 4 * (size_t)net->ntuples, sizeof(*net->links), err);
	for (uint32_t first = 0, end; hops != NULL && net->traces != NULL && net->links != NULL && first < count;
	     first = end) {
		uint32_t tuple = net_find_tuple(net, &hops[first].tuple);

		for (end = first + 1; end < count && is_next_hop(&hops[end - 1], &hops[end]); end++)
			;
		if (tuple != RUN_NONE)
			put_trace(net, &hops[first], end - first, tuple, &nlinks);
	}
	for (uint32_t i = 0; hops != NULL && net->traces != NULL && net->links != NULL && i < net->ntuples; i++)
		put_known(net, i, &nlinks);
	for (uint32_t i = 0; net->traces != NULL && i < 2 * net->ntuples; i++)
		net_find_valid(net, &net->tuples[i / 2], i % 2 != 0);
	if (net->inband)
		net->paths = run_alloc(net->ntraces, sizeof(*net->paths), err);
	for (uint32_t i = 0; net->paths != NULL && i < 2 * net->ntuples; i++)
		list_paths(net, &net->tuples[i / 2], i % 2 != 0);
	free(hops);
	return hops != NULL && net->traces != NULL && net->links != NULL && (!net->inband || net->paths != NULL) ? 0
														 : -ENOMEM;
}

uint32_t
net_trace_at(const struct net *net, uint32_t tuple, bool back, uint64_t time_ps)
{
	const struct net_tuple *of = &net->tuples[tuple];
	uint32_t first = of->first[back], end = first + of->count[back], best = RUN_NONE;
	uint32_t after = ARRAY_AFTER(net->traces, sent_ps, first, end, time_ps);

	if (first != end)
		best = net->traces[after > first ? after - 1 : after].valid;
	if (best != RUN_NONE)
		return best;
	/* None is whole: the newest before of the longest. */
	for (uint32_t i = first; i < end; i++) {
		const struct net_trace *trace = &net->traces[i], *so_far = best != RUN_NONE ? &net->traces[best] : NULL;

		if (so_far == NULL || (trace->sent_ps <= time_ps && trace->count >= so_far->count))
			best = i;
	}
	return best;
}

uint32_t
net_paths_at(const struct net *net, uint32_t tuple, bool back, uint64_t time_ps, uint32_t paths[NET_PATHS])
{
	const struct net_tuple *of = &net->tuples[tuple];
	uint64_t period_ps = net->config.period_ps, recent_ps = time_ps > period_ps ? time_ps - period_ps : 0;
	uint32_t count = 1, first = of->first[back], end = first + of->count[back];

	paths[0] = net_trace_at(net, tuple, back, time_ps);
	if (paths[0] == RUN_NONE)
		return 0;
	if (net_is_sprayed(net))
		return 1; /* any of them, and the traced one is drawn as its own was */
	for (uint32_t i = ARRAY_FROM(net->traces, sent_ps, first, end, recent_ps); i < end && count < NET_PATHS; i++) {
		const struct net_trace *trace = &net->traces[i];
		bool is_known = !trace->whole;

		for (uint32_t k = 0; k < count && !is_known; k++)
			is_known = is_same_path(net, trace, &net->traces[paths[k]]);
		if (!is_known)
			paths[count++] = i;
		if (trace->whole && trace->sent_ps > time_ps)
			break;
	}
	return count;
}
