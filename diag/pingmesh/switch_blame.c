/* SPDX-License-Identifier: BSD-3-Clause */
/* When a link is named, and a switch is meant. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diag/pingmesh/ballot.h"

#define SWITCH_PART                                                                                                        \
	0.5 /* of its worst link's share of bad probes: if the rest of a switch has it, it is the whole switch */
#define COMMON_PART 0.9 /* of a link's bad probes: this share crosses a switch that they have in common */

static bool
is_end(const struct run *run, uint32_t link, uint32_t node)
{
	return run->ports[link].node == node || run->ports[link].peer_node == node;
}

static bool
is_of_host(const struct run *run, uint32_t link)
{
	uint32_t peer = run->ports[link].peer_node;

	return run->nodes[run->ports[link].node].host || (peer != RUN_NONE && run->nodes[peer].host);
}

/* Of a probe's paths: @return whether they cross any of the links */
static bool
crosses(const struct ballot *b, const uint32_t *traces, uint32_t paths, const uint32_t *links, uint32_t nlinks)
{
	const struct net *net = &b->j->net;

	for (uint32_t w = 0; w < paths; w++)
		for (uint32_t i = 0; i < net->traces[traces[w]].count; i++)
			for (uint32_t k = 0; k < nlinks; k++)
				if (ballot_link(net->run, net->links[net->traces[traces[w]].first + i]) == links[k])
					return true;
	return false;
}

static void
count_node(struct votes *v, uint32_t node, uint32_t stamp, bool bad)
{
	struct vote_count *t = &v->through[node];

	if (node == RUN_NONE || v->run->nodes[node].host || t->stamp == stamp)
		return;
	t->stamp = stamp;
	t->all++;
	t->bad += bad;
}

/*
 * Sets v->through: of each switch, probes that cross it and any of the links (inside), or none of them. @return their
 * sum
 */
static struct vote_count
count_through(const struct ballot *b, const uint32_t *links, uint32_t nlinks, bool inside)
{
	struct votes *v = b->j->votes;
	const struct net *net = &b->j->net;
	struct vote_count sum = { 0 };
	uint32_t traces[BALLOT_PATHS];

	memset(v->through, 0, v->run->nnodes * sizeof(*v->through));
	for (uint32_t i = b->first; i < b->j->end; i++) {
		const struct net_probe *probe = &net->probes[i];
		bool bad = ballot_is_bad(b, probe);
		uint32_t paths;

		if (!ballot_takes_part(b, i))
			continue;
		paths = ballot_paths(b, probe, traces);
		if (paths == 0 || crosses(b, traces, paths, links, nlinks) != inside)
			continue;
		sum.all++;
		sum.bad += bad;
		for (uint32_t w = 0; w < paths; w++) {
			for (uint32_t l = 0; l < net->traces[traces[w]].count; l++) {
				const struct run_port *p = &v->run->ports[net->links[net->traces[traces[w]].first + l]];

				count_node(v, p->node, i + 1, bad);
				count_node(v, p->peer_node, i + 1, bad);
			}
		}
	}
	return sum;
}

static double
likely_link(const struct votes *v, uint32_t link)
{
	uint32_t peer = v->run->ports[link].peer_port;

	return peer != RUN_NONE ? fmax(v->loss_rate[link], v->loss_rate[peer]) : v->loss_rate[link];
}

/* Probed links of a switch, the next most likely after one, and the number of those half as likely as that one. */
struct other_links {
	uint32_t probed, next, as_likely;
};

static struct other_links
others(const struct votes *v, uint32_t node, uint32_t link)
{
	struct other_links o = { .next = RUN_NONE };
	double most = 0;

	for (uint32_t i = 0; i < v->run->nports; i++) {
		if (ballot_link(v->run, i) != i || i == link || !is_end(v->run, i, node) || v->links[i].all == 0)
			continue;
		o.probed++;
		o.as_likely += likely_link(v, i) >= SWITCH_PART * likely_link(v, link);
		if (likely_link(v, i) <= most)
			continue;
		most = likely_link(v, i);
		o.next = i;
	}
	return o;
}

/* Do only the switch's other links explain their losses? Losses of another place that its probes cross do not count. */
static bool
is_needed(const struct ballot *b, uint32_t node, const uint32_t *but, double log_likely)
{
	const struct run *run = b->j->run;
	uint8_t *without = calloc(run->nports + 1u, 1);
	double *charged = malloc((run->nports + 1u) * sizeof(*charged)), log_without = log_likely;

	for (uint32_t i = 0; without != NULL && i < run->nports; i++)
		without[i] = is_end(run, i, node) && ballot_link(run, i) != but[0] && ballot_link(run, i) != but[1];
	if (without == NULL || charged == NULL || em_links_without(b, without, charged, &log_without) != 0)
		log_without = log_likely; /* unknown: it is no switch */
	free(without);
	free(charged);
	return log_likely - log_without >= JUDGE_SURELY;
}

bool
ballot_is_unsure(const struct ballot *b, uint32_t link)
{
	const struct votes *v = b->j->votes;
	uint32_t peer = v->run->ports[link].peer_port;

	return net_is_em_sprayed(&b->j->net) && v->unsure[link] != 0 && (peer == RUN_NONE || v->unsure[peer] != 0);
}

/* Do all paths of a tuple, in one direction, cross a switch? */
static bool
all_cross(const struct net *net, const struct net_tuple *of, bool back, uint32_t node)
{
	bool all = of->count_path[back] != 0;

	for (uint32_t w = 0; all && w < of->count_path[back]; w++) {
		const struct net_trace *trace = &net->traces[net->paths[of->first_path[back] + w]];

		all = false;
		for (uint32_t i = 0; i < trace->count; i++)
			all |= is_end(net->run, net->links[trace->first + i], node);
	}
	return all;
}

/* Of a link among several as likely ones: the end that more of the lost probes had to cross, by whichever of them. */
static uint32_t
common_end(const struct ballot *b, uint32_t link)
{
	const struct net *net = &b->j->net;
	const uint32_t ends[2] = { net->run->ports[link].node, net->run->ports[link].peer_node };
	uint32_t had[2] = { 0, 0 };

	for (uint32_t i = b->first; i < b->j->end; i++) {
		const struct net_probe *probe = &net->probes[i];

		for (uint32_t e = 0; ballot_takes_part(b, i) && ballot_is_bad(b, probe) && e < 2; e++)
			had[e] += (ballot_is_of_path(b, probe, false) &&
				   all_cross(net, &net->tuples[probe->tuple], false, ends[e])) ||
				  (ballot_is_of_path(b, probe, true) &&
				   all_cross(net, &net->tuples[probe->tuple], true, ends[e]));
	}
	if (had[0] == had[1])
		return RUN_NONE;
	return had[0] > had[1] ? ends[0] : ends[1];
}

/*
 * Two bad links make no bad switch: its others have to be as bad, or nearly. Where it has no more than one other, which
 * no probe crosses alone, all have to be as likely.
 */
static bool
is_whole(const struct ballot *b, uint32_t node, uint32_t link, double log_likely)
{
	const struct votes *v = b->j->votes;
	struct other_links o = others(v, node, link);
	uint32_t links[2] = { link, o.next };
	const struct vote_count *rest = &v->through[node];

	if (o.probed < 2 || o.next == RUN_NONE)
		return false;
	if (net_is_sprayed(&b->j->net) && !net_is_em_sprayed(&b->j->net) && !is_of_host(v->run, link))
		return o.as_likely != 0; /* the link that a probe took is unknown */
	if (o.probed == 2)
		return o.as_likely == 2;
	count_through(b, links, 2, false);
	return rest->bad >= JUDGE_LEAST_TIMEOUTS &&
	       (double)rest->bad / rest->all >= SWITCH_PART * v->links[link].bad / v->links[link].all &&
	       is_needed(b, node, links, log_likely);
}

/* Of the switches that the link's bad probes have in common, the one that most of all bad probes cross. */
static uint32_t
common_switch(const struct votes *v, uint32_t link, bool of_host)
{
	uint32_t node = RUN_NONE, most = 0;

	for (uint32_t i = 0; i < v->run->nnodes; i++)
		most = is_end(v->run, link, i) || v->through[i].bad < most ? most : v->through[i].bad;
	for (uint32_t i = 0; i < v->run->nnodes && most != 0; i++) {
		/* All probes over a host's link cross its ToR; other probes separate the two. */
		if ((of_host && is_end(v->run, link, i)) || v->through[i].bad < COMMON_PART * most)
			continue;
		if (node == RUN_NONE || v->switches[i].bad > v->switches[node].bad ||
		    (v->switches[i].bad == v->switches[node].bad && v->through[i].all < v->through[node].all))
			node = i;
	}
	return node;
}

/*
 * Is the link well but for packets of one switch, which is not at its end? That switch loses by addresses, not by
 * links: a route or an entry of an ACL is missing. Of a link and a switch that either is well without the other, the
 * switch is named where the link is a host's: an RNIC does not know the path.
 */
static uint32_t
selective_switch(const struct ballot *b, uint32_t link, bool of_host)
{
	const struct votes *v = b->j->votes;
	struct vote_count sum = count_through(b, &link, 1, true);
	uint32_t node = common_switch(v, link, of_host);
	const struct vote_count *t = &v->through[node != RUN_NONE ? node : 0];
	double without, alone;

	if (node == RUN_NONE || is_end(v->run, link, node))
		return RUN_NONE;
	without = wilson(sum.bad - t->bad, sum.all - t->all, 1);
	alone = wilson((double)v->switches[node].bad - t->bad, (double)v->switches[node].all - t->all, -1);
	if (without >= SWITCH_PART * wilson(t->bad, t->all, -1))
		return RUN_NONE;
	return of_host || alone > without ? node : RUN_NONE;
}

uint32_t
switch_blame(const struct ballot *b, uint32_t link, double log_likely)
{
	const struct run *run = b->j->run;
	const uint32_t ends[2] = { run->ports[link].node, run->ports[link].peer_node };
	bool of_host = is_of_host(run, link);
	uint32_t node = selective_switch(b, link, of_host);

	if (node == RUN_NONE && !of_host && ballot_is_unsure(b, link))
		return common_end(b, link);
	for (uint32_t i = 0; node == RUN_NONE && i < 2; i++)
		if (ends[i] != RUN_NONE && !run->nodes[ends[i]].host && is_whole(b, ends[i], link, log_likely))
			node = ends[i];
	return node;
}
