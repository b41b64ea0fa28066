/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Algorithm 1 of R-Pingmesh (4.3.3) as printed: each bad probe votes for all links of its path and of its ACKs' path,
 * and the links with most votes are the most suspicious. A baseline beside em_links.c: good probes do not count, a
 * link's directions are one, and of several faults in a period it finds one.
 */
#include <string.h>

#include "diag/pingmesh/ballot.h"

static void
name_link(const struct run *run, uint32_t link, struct pingmesh_problem *seen)
{
	if (seen->nports < PINGMESH_PLACES) {
		bool of_host = ballot_is_host_link(run, link);

		seen->ports[seen->nports++] =
			of_host && !run->nodes[run->ports[link].node].host ? run->ports[link].peer_port : link;
	}
	seen->alike++;
}

bool
algorithm1(const struct ballot *b, struct pingmesh_problem *seen)
{
	const struct votes *v = b->j->votes;
	bool all_hosts = true;
	uint32_t most = 0;

	*seen = (struct pingmesh_problem){ .node = RUN_NONE,
					   .or_node = RUN_NONE,
					   .both = true,
					   .bases = 1u << PINGMESH_BY_VOTES,
					   .networks = 1u << b->network };
	if (ballot_count(b) < JUDGE_LEAST_TIMEOUTS)
		return false;
	for (uint32_t i = 0; i < v->run->nports; i++)
		most = v->links[i].bad > most ? v->links[i].bad : most;
	for (uint32_t i = 0; i < v->run->nports && most != 0; i++) {
		if (ballot_link(v->run, i) != i || v->links[i].bad != most)
			continue;
		name_link(v->run, i, seen);
		all_hosts &= ballot_is_host_link(v->run, i);
		seen->probes = v->links[i].all;
		seen->bad = v->links[i].bad;
	}
	seen->kind = b->high ? PINGMESH_PROBLEM_RTT : all_hosts ? PINGMESH_PROBLEM_RNIC : PINGMESH_PROBLEM_SWITCH;
	return seen->nports != 0;
}
