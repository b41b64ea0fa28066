/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/pingmesh/judge.h"

#include <math.h>
#include <string.h>

static void
note_peer(uint32_t *peer, bool *several, uint32_t host)
{
	*several |= *peer != RUN_NONE && *peer != host;
	*peer = host;
}

/* Counts the evidence about an RNIC: probes without a known anomalous RNIC, that are not explained yet. */
static void
count(struct judging *j)
{
	for (uint32_t i = 0; i < j->net.nrnics; i++)
		if (!j->mesh[i].anomalous) /* those keep the evidence that they were found by */
			j->mesh[i] = (struct mesh_rnic){ .peer = RUN_NONE, .bad_peer = RUN_NONE };
	for (uint32_t i = j->first; i < j->end; i++) {
		const struct net_probe *probe = &j->net.probes[i];
		struct mesh_rnic *src = &j->mesh[net_src(&j->net, probe)], *dst = &j->mesh[net_dst(&j->net, probe)];

		if (src->anomalous || dst->anomalous || (!probe->open && probe->result != REC_PROBE_OK))
			continue;
		src->all++;
		dst->all++;
		src->all_bad += probe->open;
		dst->all_bad += probe->open;
		if (probe->kind != REC_PROBE_TOR_MESH ||
		    j->net.rnics[net_src(&j->net, probe)].host == j->net.rnics[net_dst(&j->net, probe)].host)
			continue; /* RNICs of one host do not vouch for each other */
		dst->to++;
		dst->to_bad += probe->open;
		note_peer(&dst->peer, &dst->of_several, j->net.rnics[net_src(&j->net, probe)].host);
		if (probe->open)
			note_peer(&dst->bad_peer, &dst->bad_several, j->net.rnics[net_src(&j->net, probe)].host);
	}
}

/* The paper's rule. */
static bool
is_over_threshold(const struct mesh_rnic *rnic)
{
	return rnic->to >= JUDGE_LEAST_MESH && 100 * (uint64_t)rnic->to_bad > JUDGE_MESH_PERCENT * (uint64_t)rnic->to;
}

static bool
is_candidate(const struct mesh_rnic *rnic)
{
	return !rnic->anomalous && is_over_threshold(rnic) && (rnic->bad_several || !rnic->of_several);
}

/* Of candidates: more of all probes of the one are lost than of the other. */
static bool
is_worse(const struct mesh_rnic *a, const struct mesh_rnic *b)
{
	uint64_t share_a = (uint64_t)a->all_bad * b->all, share_b = (uint64_t)b->all_bad * a->all;

	return share_a != share_b ? share_a > share_b : (uint64_t)a->to_bad * b->to > (uint64_t)b->to_bad * a->to;
}

/* All bad probes of the worst are with one other, and the reverse: no third RNIC separates the two. */
static uint32_t
find_alike(const struct judging *j, uint32_t worst)
{
	uint32_t other = RUN_NONE;

	for (uint32_t i = j->first; i < j->end; i++) {
		const struct net_probe *probe = &j->net.probes[i];
		bool from = net_src(&j->net, probe) == worst, to = net_dst(&j->net, probe) == worst;
		uint32_t peer = from ? net_dst(&j->net, probe) : net_src(&j->net, probe);

		if ((!from && !to) || j->mesh[peer].anomalous || (!probe->open && probe->result != REC_PROBE_OK))
			continue;
		if (other != RUN_NONE && peer != other)
			return RUN_NONE;
		other = peer;
	}
	return other != RUN_NONE && is_candidate(&j->mesh[other]) && j->mesh[other].all == j->mesh[worst].all ? other
													      : RUN_NONE;
}

/* Is the only one that vouches against it worse? Then that one is at fault, even below the threshold. */
static bool
is_outdone(const struct judging *j, uint32_t rnic)
{
	const struct mesh_rnic *of = &j->mesh[rnic];

	for (uint32_t i = 0; !of->of_several && i < j->net.nrnics; i++)
		if (j->net.rnics[i].tor == j->net.rnics[rnic].tor && j->net.rnics[i].host == of->peer &&
		    !j->mesh[i].anomalous && is_worse(&j->mesh[i], of))
			return true;
	return false;
}

/* @return whether there was one */
static bool
take_worst(struct judging *j)
{
	uint32_t worst = RUN_NONE, alike;

	count(j);
	for (uint32_t i = 0; i < j->net.nrnics; i++)
		if (is_candidate(&j->mesh[i]) && !is_outdone(j, i) &&
		    (worst == RUN_NONE || is_worse(&j->mesh[i], &j->mesh[worst])))
			worst = i;
	if (worst == RUN_NONE)
		return false;
	alike = find_alike(j, worst);
	j->mesh[worst].anomalous = true;
	if (alike != RUN_NONE)
		j->mesh[worst].alike = j->mesh[alike].anomalous = j->mesh[alike].alike = true;
	return true;
}

/* By all of its probes, even without an RNIC that vouches against it. */
static bool
is_bad(const struct mesh_rnic *rnic)
{
	return rnic->anomalous || 100 * (uint64_t)rnic->all_bad > JUDGE_MESH_PERCENT * (uint64_t)rnic->all;
}

/* @return hosts of a ToR's RNICs, if all of these are bad; 0: some are well */
static uint32_t
bad_hosts(const struct judging *j, uint32_t tor)
{
	const struct net *net = &j->net;
	uint32_t hosts = 0;

	for (uint32_t i = 0; i < net->nrnics; i++) {
		bool counted = j->mesh[i].all == 0; /* no RNIC probes it */

		if (net->rnics[i].tor != tor)
			continue;
		if (!is_bad(&j->mesh[i]) && !counted)
			return 0;
		for (uint32_t h = 0; h < i && !counted; h++)
			counted = net->rnics[h].tor == tor && net->rnics[h].host == net->rnics[i].host;
		hosts += !counted;
	}
	return hosts;
}

/* What all RNICs of a ToR have in common, if they are of three hosts at least, is the ToR. */
static bool
is_tor(const struct judging *j, uint32_t tor)
{
	return bad_hosts(j, tor) >= 3;
}

bool
mesh_is_all_bad(const struct judging *j, uint32_t tor)
{
	return bad_hosts(j, tor) >= 2;
}

uint32_t
mesh_bad_rnics(const struct judging *j, uint32_t tor)
{
	uint32_t rnics = 0;

	for (uint32_t i = 0; i < j->net.nrnics; i++) {
		uint32_t all = 0, bad = 0;

		for (uint32_t p = j->first; j->net.rnics[i].tor == tor && p < j->end; p++) {
			const struct net_probe *probe = &j->net.probes[p];

			if (probe->kind != REC_PROBE_TOR_MESH || net_dst(&j->net, probe) != i)
				continue;
			all++;
			bad += probe->result != REC_PROBE_OK;
		}
		if (all != 0 && 100 * (uint64_t)bad <= JUDGE_MESH_PERCENT * (uint64_t)all)
			return 0;
		rnics += all != 0;
	}
	return rnics;
}

double
mesh_believe_tor(const struct judging *j, uint32_t tor, uint32_t rnics)
{
	uint32_t others = 0, bad = 0;

	for (uint32_t i = 0; i < j->net.nrnics; i++) {
		bool other = j->net.rnics[i].tor != tor && (j->mesh[i].all != 0 || j->mesh[i].anomalous);

		others += other;
		bad += other && j->mesh[i].anomalous;
	}
	return 1 / (1 + pow((bad + 1.0) / (others + 2.0), rnics - 1.0));
}

static void
absolve_tors(struct judging *j)
{
	for (uint32_t i = 0; i < j->net.nrnics; i++) {
		uint32_t tor = j->net.rnics[i].tor;

		if (!j->mesh[i].anomalous || !is_tor(j, tor))
			continue;
		for (uint32_t k = 0; k < j->net.nrnics; k++)
			if (j->net.rnics[k].tor == tor)
				j->mesh[k].anomalous = j->mesh[k].alike = false;
	}
}

uint32_t
mesh_judge(struct judging *j)
{
	uint32_t plain = 0;

	memset(j->mesh, 0, (size_t)j->net.nrnics * sizeof(*j->mesh));
	count(j);
	for (uint32_t i = 0; i < j->net.nrnics; i++)
		plain += is_over_threshold(&j->mesh[i]);
	for (uint32_t i = 0; i < j->net.nrnics && take_worst(j); i++)
		;
	absolve_tors(j);
	return plain;
}

void
mesh_review(struct judging *j)
{
	for (uint32_t i = 0; i < j->net.nrnics; i++) {
		struct mesh_rnic others = { 0 };
		bool is_received = true; /* of all of its witnesses */

		if (!j->mesh[i].anomalous)
			continue;
		for (uint32_t p = j->first; p < j->end; p++) {
			const struct net_probe *probe = &j->net.probes[p];
			uint32_t host = j->net.rnics[net_src(&j->net, probe)].host;

			if (net_dst(&j->net, probe) != i || probe->kind != REC_PROBE_TOR_MESH ||
			    (!probe->open && probe->result != REC_PROBE_OK && !j->overloaded[host]))
				continue;
			is_received &= !j->overloaded[host];
			if (j->overloaded[host])
				continue;
			others.to++;
			others.to_bad += probe->open;
		}
		if (!is_received && !is_over_threshold(&others))
			j->mesh[i].anomalous = j->mesh[i].alike = false;
	}
}
