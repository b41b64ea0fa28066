/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/pingmesh/limits.h"

#include <errno.h>
#include <stdlib.h>

#include "common/minmax.h"
#include "diag/pingmesh/tally.h"
#include "diag/run/fill.h"

/* ---- lost, or late? ---- */

void
limits_prepare(struct judging *j)
{
	uint64_t least_ps = UINT64_MAX, least_rtt_ps = UINT64_MAX, part_ps = j->net.config.timeout_ps / LIMITS_SLOW;
	bool answered = true; /* as all are that ask for an answer, if there are any */

	for (uint32_t i = 0; i < j->net.nprobes; i++) {
		const struct net_probe *probe = &j->net.probes[i];

		if (net_is_one_way(probe))
			continue;
		answered &= probe->result == REC_PROBE_OK;
		if (probe->result != REC_PROBE_OK)
			continue;
		least_rtt_ps = min_u64(least_rtt_ps, probe->rtt_ps);
		least_ps = min_u64(least_ps, probe->rtt_ps + probe->prober_ps + probe->responder_ps);
	}
	/* Of a network on which nothing came back nothing is known of its RTT: losses are losses. */
	j->slow = !answered && ((least_rtt_ps > part_ps && least_rtt_ps != UINT64_MAX) ||
				(least_ps > part_ps && j->net.config.timeout_ps < LIMITS_HOST_PS));
}

/* Probes to and from an RNIC. */
struct lateness {
	uint32_t late, bad, answered;
};

static void
count_lateness(struct lateness *of, const struct judging *j, const struct net_probe *probe)
{
	bool answered = probe->result == REC_PROBE_OK && !net_is_one_way(probe);

	of->answered += answered;
	of->late += answered && probe->rtt_ps > j->net.config.timeout_ps / LIMITS_LATE;
	of->bad += probe->open;
}

static bool
is_late(const struct lateness *of)
{
	return of->late != 0 && (of->late * LIMITS_PART >= of->bad || of->late * LIMITS_PART >= of->answered);
}

static void
leave_out(struct judging *j, struct net_probe *probe, enum pingmesh_limit because)
{
	probe->cause = PINGMESH_UNDECIDED;
	probe->open = false;
	j->own->limits[because]++;
}

int
limits_take_late(struct judging *j)
{
	struct lateness *rnics = run_alloc(j->net.nrnics, sizeof(*rnics), j->err), all = { 0 };

	for (uint32_t i = j->first; rnics != NULL && i < j->end; i++) {
		const struct net_probe *probe = &j->net.probes[i];

		count_lateness(&all, j, probe);
		count_lateness(&rnics[probe->src], j, probe);
		count_lateness(&rnics[probe->dst], j, probe);
	}
	j->late = is_late(&all) ||
		  (j->late && all.bad > all.answered); /* what came after it, too, until answers come again */
	for (uint32_t i = j->first; rnics != NULL && i < j->end; i++) {
		struct net_probe *probe = &j->net.probes[i];

		if (!probe->open || net_is_one_way(probe))
			continue;
		if (j->slow)
			leave_out(j, probe, PINGMESH_LIMIT_SLOW);
		else if (j->late || is_late(&rnics[probe->src]) || is_late(&rnics[probe->dst]))
			leave_out(j, probe, PINGMESH_LIMIT_LATE);
	}
	free(rnics);
	return rnics != NULL ? 0 : -ENOMEM;
}

/* ---- what nothing could judge ---- */

/* What is known of an RNIC, of the whole run and of a period. */
struct coverage {
	uint32_t probes, delays,
		witnesses; /* to or from it; answered by it; of the ToR-mesh, by other hosts, that say anything */
	uint32_t before;   /* witnesses before the period */
};

static void
cover(const struct judging *j, struct coverage *rnics, const struct net_probe *probe)
{
	rnics[probe->src].probes++;
	rnics[probe->dst].probes++;
	rnics[probe->dst].delays += probe->result == REC_PROBE_OK && !net_is_one_way(probe);
	rnics[probe->dst].witnesses += probe->kind == REC_PROBE_TOR_MESH &&
				       j->net.rnics[probe->src].host != j->net.rnics[probe->dst].host &&
				       (probe->result == REC_PROBE_OK || probe->cause == PINGMESH_RNIC ||
					probe->cause == PINGMESH_SWITCH || probe->cause == PINGMESH_CPU);
}

static void
count_rnics(struct judging *j, struct coverage *rnics)
{
	uint64_t *limits = j->own->limits;
	uint32_t at = 0;

	for (uint32_t p = 0; p < j->own->nperiods; p++) {
		for (uint32_t r = 0; r < j->net.nrnics; r++)
			rnics[r].before = rnics[r].witnesses;
		for (; at < j->net.nprobes && j->net.probes[at].sent_ps < j->own->periods[p].end_ps; at++)
			cover(j, rnics, &j->net.probes[at]);
		for (uint32_t r = 0; r < j->net.nrnics; r++)
			limits[PINGMESH_LIMIT_FEW_MESH] += rnics[r].witnesses != rnics[r].before &&
							   rnics[r].witnesses - rnics[r].before < JUDGE_LEAST_MESH;
	}
	for (uint32_t r = 0; r < j->net.nrnics; r++) {
		limits[PINGMESH_LIMIT_WITNESS] += rnics[r].probes != 0 && rnics[r].witnesses == 0;
		limits[PINGMESH_LIMIT_DELAYS] += rnics[r].probes != 0 && rnics[r].delays < JUDGE_LEAST_DELAYS;
	}
}

static void
count_links(struct judging *j, uint8_t *crossed)
{
	const struct run *run = j->run;
	bool sprayed = net_is_sprayed(&j->net) && !j->net.inband;

	for (uint32_t t = 0; t < j->net.ntraces; t++)
		for (uint32_t l = 0; l < j->net.traces[t].count; l++)
			crossed[tally_link(run, j->net.links[j->net.traces[t].first + l])] = 1;
	for (uint32_t i = 0; i < run->nports; i++) {
		if (run->ports[i].peer_port == RUN_NONE || tally_link(run, i) != i || tally_is_host_link(run, i))
			continue;
		j->own->limits[PINGMESH_LIMIT_SPRAYED] += sprayed;
		j->own->limits[PINGMESH_LIMIT_LINKS] += !sprayed && crossed[i] == 0;
	}
}

int
limits_count(struct judging *j)
{
	struct coverage *rnics = run_alloc(j->net.nrnics, sizeof(*rnics), j->err);
	uint8_t *crossed = run_alloc(j->run->nports, 1, j->err);

	if (rnics != NULL && crossed != NULL && j->net.nprobes != 0) {
		count_rnics(j, rnics);
		count_links(j, crossed);
		j->own->limits[PINGMESH_LIMIT_UNTRACED] = j->own->untraced;
		for (uint32_t i = 0; i < j->net.nprobes; i++)
			j->own->limits[PINGMESH_LIMIT_SOFTWARE] +=
				j->net.config.software_times != 0 && j->net.probes[i].result == REC_PROBE_OK;
	}
	free(rnics);
	free(crossed);
	return rnics != NULL && crossed != NULL ? 0 : -ENOMEM;
}
