/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/pingmesh/judge.h"

#include <errno.h>
#include <stdlib.h>

#include "common/minmax.h"
#include "diag/pingmesh/ballot.h"
#include "diag/pingmesh/net.h"
#include "diag/run/fill.h"

/* ---- lost, or late? ---- */

/* The quickest probe of a kind, or of all. */
struct quickest {
	uint64_t rtt_ps, took_ps; /* without and with hosts' processing; UINT64_MAX: none is answered in time */
	bool answered;            /* as all probes are that need an answer, if there are any */
};

static void
note_probe(struct quickest *of, const struct net_probe *probe)
{
	of->answered &= probe->result == REC_PROBE_OK;
	if (probe->result != REC_PROBE_OK)
		return;
	of->rtt_ps = min_u64(of->rtt_ps, probe->rtt_ps);
	of->took_ps = min_u64(of->took_ps, probe->rtt_ps + probe->prober_ps + probe->responder_ps);
}

static bool
is_slow(const struct quickest *of, uint64_t timeout_ps)
{
	uint64_t part_ps = timeout_ps / LIMITS_SLOW;

	return !of->answered && ((of->rtt_ps > part_ps && of->rtt_ps != UINT64_MAX) ||
				 (of->took_ps > part_ps && timeout_ps < LIMITS_HOST_PS));
}

/*
 * By kind: probes over the switches between ToRs take longer than those within one. A kind without any answer takes as
 * long as one of a shorter path that has some. Without any answer at all the network's RTT is unknown: losses are losses.
 */
void
limits_prepare(struct judging *j)
{
	static const uint8_t shorter[ENUM_COUNT(REC_PROBE_KINDS)] = {
		[REC_PROBE_TOR_MESH] = REC_PROBE_TOR_MESH,
		[REC_PROBE_INTER_TOR] = REC_PROBE_TOR_MESH,
		[REC_PROBE_SERVICE] = REC_PROBE_INTER_TOR, /* seldom within a ToR */
		[REC_PROBE_RAIL] = REC_PROBE_RAIL,
	};
	struct quickest all = { UINT64_MAX, UINT64_MAX, true }, of[ENUM_COUNT(REC_PROBE_KINDS)];

	for (uint32_t kind = 0; kind < ENUM_COUNT(REC_PROBE_KINDS); kind++)
		of[kind] = all;
	for (uint32_t i = 0; i < j->net.nprobes; i++) {
		const struct net_probe *probe = &j->net.probes[i];

		if (net_is_one_way(probe))
			continue;
		note_probe(&all, probe);
		note_probe(&of[probe->kind], probe);
	}
	j->all_slow = is_slow(&all, j->net.config.timeout_ps);
	for (uint32_t kind = 0; kind < ENUM_COUNT(REC_PROBE_KINDS); kind++) {
		uint32_t like = of[kind].rtt_ps != UINT64_MAX ? kind : shorter[kind];

		j->slow[kind] =
			j->all_slow || (of[like].rtt_ps != UINT64_MAX && is_slow(&of[like], j->net.config.timeout_ps));
	}
}

/*
 * Probes to and from an RNIC, of the cluster's monitoring or of service tracing, which may be of another class and
 * queue.
 */
struct lateness {
	uint32_t late;          /* answered in time, but not by much */
	uint32_t late_answered; /* of the bad ones, answered after the timeout */
	uint32_t bad, answered;
};

/* @param hosts  hosts' time counts, too */
static bool
is_answered_late(const struct net_probe *probe, bool hosts)
{
	return probe->late == NET_LATE_BY_NETWORK || (hosts && probe->late == NET_LATE_BY_HOSTS);
}

static void
count_lateness(struct lateness *of, const struct judging *j, const struct net_probe *probe, bool hosts)
{
	bool answered = probe->result == REC_PROBE_OK && !net_is_one_way(probe);
	uint64_t took_ps = probe->rtt_ps + (hosts ? probe->prober_ps + probe->responder_ps : 0);

	of->answered += answered;
	of->late += answered && took_ps > j->net.config.timeout_ps / LIMITS_LATE;
	of->late_answered += probe->open && is_answered_late(probe, hosts);
	of->bad += probe->open;
}

static bool
is_late(const struct lateness *of)
{
	/*
	 * Late answers are known one by one. The other timeouts may be late, too, where a quarter of all were late
	 * answers.
	 */
	uint32_t late = of->late + (4 * of->late_answered >= of->bad ? of->late_answered : 0);

	return late != 0 && (late * LIMITS_PART >= of->bad || late * LIMITS_PART >= of->answered);
}

static uint32_t
lateness_at(const struct net_probe *probe, uint32_t rnic)
{
	return 2 * rnic + (probe->kind == REC_PROBE_SERVICE);
}

/* An RNIC's lateness ends when it answers again, or JUDGE_RNIC_PERIODS after its last late period. */
static bool
may_be_late(const struct judging *j, const struct lateness *of, uint32_t at)
{
	return is_late(&of[at]) ||
	       (of[at].bad > of[at].answered && j->own->periods[j->period].start_ps < j->late_until_ps[at]);
}

static void
note_late(struct judging *j, const struct lateness *of)
{
	for (uint32_t at = 0; at < 2 * j->net.nrnics; at++)
		if (is_late(&of[at]))
			j->late_until_ps[at] =
				j->own->periods[j->period].end_ps + JUDGE_RNIC_PERIODS * j->net.config.period_ps;
}

static void
leave_out(struct judging *j, struct net_probe *probe, enum pingmesh_limit because)
{
	probe->cause = PINGMESH_UNDECIDED;
	probe->open = false;
	j->own->limits[because]++;
}

static bool
is_of_overloaded(const struct judging *j, const struct net_probe *probe)
{
	return j->overloaded[j->net.rnics[net_src(&j->net, probe)].host] ||
	       j->overloaded[j->net.rnics[net_dst(&j->net, probe)].host];
}

int
limits_take_late(struct judging *j, bool hosts)
{
	struct lateness *rnics = run_alloc(2 * (size_t)j->net.nrnics, sizeof(*rnics), j->err), all = { 0 };

	for (uint32_t i = j->first; rnics != NULL && i < j->end; i++) {
		const struct net_probe *probe = &j->net.probes[i];

		if ((hosts && is_of_overloaded(j, probe)) || j->slow[probe->kind])
			continue;
		count_lateness(&all, j, probe, hosts);
		count_lateness(&rnics[lateness_at(probe, net_src(&j->net, probe))], j, probe, hosts);
		count_lateness(&rnics[lateness_at(probe, net_dst(&j->net, probe))], j, probe, hosts);
	}
	if (rnics != NULL)
		note_late(j, rnics);
	if (hosts)
		j->late |= is_late(&all);
	else /* probes after it, too, until answers arrive again */
		j->late = is_late(&all) || (j->late && all.bad > all.answered);
	for (uint32_t i = j->first; rnics != NULL && i < j->end; i++) {
		struct net_probe *probe = &j->net.probes[i];

		if (!probe->open)
			continue;
		if (!net_is_one_way(probe) && is_answered_late(probe, hosts))
			leave_out(j, probe, PINGMESH_LIMIT_ANSWERED);
		else if (!net_is_one_way(probe) && j->slow[probe->kind])
			leave_out(j, probe, PINGMESH_LIMIT_SLOW);
		else if (!net_is_one_way(probe) &&
			 (j->late || may_be_late(j, rnics, lateness_at(probe, net_src(&j->net, probe))) ||
			  may_be_late(j, rnics, lateness_at(probe, net_dst(&j->net, probe)))))
			leave_out(j, probe, PINGMESH_LIMIT_LATE);
		else if (held_may_hold(j, probe))
			leave_out(j, probe, PINGMESH_LIMIT_HELD);
	}
	free(rnics);
	return rnics != NULL ? 0 : -ENOMEM;
}

/* ---- lost by the network, or by an agent? ---- */

/* Received probes that a host's agent had no room for in a period, by its own count. */
struct room {
	uint64_t dropped;
	bool unknown; /* it has dropped something, and reports no more of the period */
};

static struct room
room_of(const struct judging *j, uint32_t host)
{
	const struct pingmesh_period *period = &j->own->periods[j->period];
	struct room room = { 0 };
	bool received = false, before = false;

	for (uint32_t i = net_first_upload(&j->net, host, 0);
	     !received && i < j->net.nuploads && j->net.uploads[i].hdr.node == host; i++) {
		const struct rec_upload *upload = &j->net.uploads[i];

		before |= upload->dropped != 0;
		room.dropped += upload->hdr.time_ps > period->start_ps ? upload->dropped : 0;
		received = upload->hdr.time_ps > period->end_ps + j->net.config.timeout_ps;
	}
	room.unknown = before && !received;
	return room;
}

/* Is a probe a timeout of a host that dropped something? */
static bool
may_be_dropped(const struct judging *j, const struct net_probe *probe, const struct room *rooms)
{
	const struct room *src = &rooms[j->net.rnics[net_src(&j->net, probe)].host],
			  *dst = &rooms[j->net.rnics[net_dst(&j->net, probe)].host];

	return probe->open && !net_is_one_way(probe) && src->dropped + dst->dropped + src->unknown + dst->unknown != 0;
}

int
limits_take_dropped(struct judging *j)
{
	struct room *rooms = run_alloc(j->run->nnodes, sizeof(*rooms), j->err);
	uint64_t dropped = 0, bad = 0, before = j->own->limits[PINGMESH_LIMIT_DROPPED];
	bool unknown = false;

	for (uint32_t i = 0; rooms != NULL && i < j->run->nnodes; i++) {
		if (j->run->nodes[i].host)
			rooms[i] = room_of(j, i);
		dropped += rooms[i].dropped;
		unknown |= rooms[i].unknown;
	}
	for (uint32_t i = j->first; rooms != NULL && i < j->end; i++)
		bad += may_be_dropped(j, &j->net.probes[i], rooms);
	/* Each drop makes one timeout at most: do too few remain for any problem? */
	for (uint32_t i = j->first; rooms != NULL && (unknown || bad < dropped + JUDGE_LEAST_TIMEOUTS) && i < j->end; i++)
		if (may_be_dropped(j, &j->net.probes[i], rooms))
			leave_out(j, &j->net.probes[i], PINGMESH_LIMIT_DROPPED);
	free(rooms);
	if (rooms == NULL)
		return -ENOMEM;
	return j->own->limits[PINGMESH_LIMIT_DROPPED] != before;
}

/* ---- tests that could not be made ---- */

/* The evidence about an RNIC, of the whole run and of a period. */
struct coverage {
	uint32_t probes, delays,
		witnesses; /* to or from it; answered by it; of the ToR-mesh, by other hosts, that count as evidence */
	uint32_t before;   /* witnesses before the period */
};

static void
cover(const struct judging *j, struct coverage *rnics, const struct net_probe *probe)
{
	rnics[net_src(&j->net, probe)].probes++;
	rnics[net_dst(&j->net, probe)].probes++;
	rnics[net_dst(&j->net, probe)].delays += probe->result == REC_PROBE_OK && !net_is_one_way(probe);
	rnics[net_dst(&j->net, probe)].witnesses +=
		probe->kind == REC_PROBE_TOR_MESH &&
		j->net.rnics[net_src(&j->net, probe)].host != j->net.rnics[net_dst(&j->net, probe)].host &&
		(probe->result == REC_PROBE_OK || probe->cause == PINGMESH_RNIC || probe->cause == PINGMESH_SWITCH ||
		 probe->cause == PINGMESH_CPU);
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
			crossed[ballot_link(run, j->net.links[j->net.traces[t].first + l])] = 1;
	for (uint32_t i = 0; i < run->nports; i++) {
		if (run->ports[i].peer_port == RUN_NONE || ballot_link(run, i) != i || ballot_is_host_link(run, i))
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
