/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/pingmesh/sla.h"

#include <errno.h>
#include <stdlib.h>

#include "diag/run/fill.h"

/* The group of probes that are measured together, if they are of the network. */
struct group {
	enum pingmesh_network network;
	uint32_t first, count; /* of the probes, or of the list */
	const uint32_t *list;  /* their numbers; NULL: one after the other */
};

/* Room for the values of one distribution. */
struct room {
	uint64_t *rtt, *prober, *responder, *one_way; /* [nprobes] */
};

static int
cmp_u64(const void *pa, const void *pb)
{
	const uint64_t *a = pa, *b = pb;

	return *a < *b ? -1 : *a > *b;
}

/* Nearest rank: the least value that so large a share of all does not exceed. */
static struct pingmesh_spread
spread(uint64_t *values, uint64_t count)
{
	static const uint64_t per_mille[PINGMESH_QUANTILES] = { 500, 900, 990, 999 };
	struct pingmesh_spread out = { .count = count };

	if (count > 1)
		qsort(values, count, sizeof(*values), cmp_u64);
	for (uint32_t i = 0; count != 0 && i < PINGMESH_QUANTILES; i++)
		out.ps[i] = (double)values[(count * per_mille[i] + 999) / 1000 - 1];
	return out;
}

static struct pingmesh_sla
measure(const struct judging *j, struct group group, const struct room *room)
{
	struct pingmesh_sla sla = { 0 };
	uint64_t count = 0, ones = 0;

	for (uint32_t i = group.first; i < group.first + group.count; i++) {
		const struct net_probe *probe = &j->net.probes[group.list != NULL ? group.list[i] : i];

		if (network_of(probe) != group.network)
			continue;
		sla.probes++;
		sla.causes[probe->cause]++;
		if (probe->result != REC_PROBE_OK)
			continue;
		if (net_is_one_way(probe)) {
			room->one_way[ones++] = probe->rtt_ps;
			continue;
		}
		room->rtt[count] = probe->rtt_ps;
		room->prober[count] = probe->prober_ps;
		room->responder[count++] = probe->responder_ps;
	}
	sla.rtt = spread(room->rtt, count);
	sla.prober = spread(room->prober, count);
	sla.responder = spread(room->responder, count);
	sla.one_way = spread(room->one_way, ones);
	return sla;
}

/* Both hosts of a probe of service tracing; @return their number, 0: it is none */
static uint32_t
hosts_of(const struct judging *j, const struct net_probe *probe, uint32_t hosts[2])
{
	hosts[0] = j->net.rnics[probe->src].host;
	hosts[1] = j->net.rnics[probe->dst].host;
	if (network_of(probe) != PINGMESH_SERVICE)
		return 0;
	return hosts[0] != hosts[1] ? 2 : 1;
}

/* The service whose 5-tuple a probe of service tracing has; @return 1, 0: none */
static uint32_t
service_of(const struct judging *j, const struct net_probe *probe, uint32_t services[2])
{
	services[0] = j->net.tuples[probe->tuple].service;
	return network_of(probe) == PINGMESH_SERVICE && services[0] != RUN_NONE;
}

/* The sort keys of probes of service tracing. */
struct sorting {
	uint32_t (*keys_of)(const struct judging *j, const struct net_probe *probe, uint32_t keys[2]);
	uint32_t nkeys;
	uint32_t *ends; /* [nkeys + 1] those of key k are list[ends[k], ends[k + 1]) */
	uint32_t *list; /* [2 * nprobes] */
};

static int
sort_probes(const struct judging *j, struct sorting *s)
{
	uint32_t keys[2], all;

	s->ends = run_alloc((size_t)s->nkeys + 1, sizeof(*s->ends), j->err);
	s->list = run_alloc(2 * (size_t)j->net.nprobes, sizeof(*s->list), j->err);
	if (s->ends == NULL || s->list == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < j->net.nprobes; i++)
		for (uint32_t k = s->keys_of(j, &j->net.probes[i], keys); k > 0; k--)
			s->ends[keys[k - 1] + 1]++;
	for (uint32_t key = 0; key < s->nkeys; key++)
		s->ends[key + 1] += s->ends[key];
	all = s->ends[s->nkeys];
	for (uint32_t i = j->net.nprobes; i-- > 0;) /* from behind: each end becomes its key's first */
		for (uint32_t k = s->keys_of(j, &j->net.probes[i], keys); k > 0; k--)
			s->list[--s->ends[keys[k - 1] + 1]] = i;
	for (uint32_t key = 0; key < s->nkeys; key++)
		s->ends[key] = s->ends[key + 1];
	s->ends[s->nkeys] = all;
	return 0;
}

static struct pingmesh_sla
measure_key(const struct judging *j, const struct sorting *s, uint32_t key, const struct room *room)
{
	return measure(j, (struct group){ PINGMESH_SERVICE, s->ends[key], s->ends[key + 1] - s->ends[key], s->list }, room);
}

/* The services' network is of few servers: each is measured by itself, not by ToR (7.4). */
static int
measure_servers(struct judging *j, const struct room *room)
{
	struct sorting s = { .keys_of = hosts_of, .nkeys = j->run->nnodes };
	int rc = sort_probes(j, &s);

	j->own->servers = run_alloc(s.nkeys, sizeof(*j->own->servers), j->err);
	rc = j->own->servers != NULL ? rc : -ENOMEM;
	for (uint32_t i = 0; rc == 0 && i < s.nkeys; i++)
		if (s.ends[i] != s.ends[i + 1])
			j->own->servers[j->own->nservers++] = (struct pingmesh_server){ i, measure_key(j, &s, i, room) };
	free(s.ends);
	free(s.list);
	return rc;
}

static int
measure_services(struct judging *j, const struct room *room)
{
	struct sorting s = { .keys_of = service_of, .nkeys = j->own->nservices };
	int rc = sort_probes(j, &s);

	for (uint32_t i = 0; rc == 0 && i < s.nkeys; i++)
		j->own->services[i].sla = measure_key(j, &s, i, room);
	free(s.ends);
	free(s.list);
	return rc;
}

static void
measure_periods(struct judging *j, const struct room *room)
{
	uint32_t first = 0, end = 0;

	for (uint32_t p = 0; p < j->own->nperiods; p++, first = end) {
		struct pingmesh_period *period = &j->own->periods[p];

		while (end < j->net.nprobes && j->net.probes[end].sent_ps < period->end_ps)
			end++;
		for (uint32_t network = 0; network < PINGMESH_NNETWORKS; network++)
			period->networks[network] = measure(j, (struct group){ network, first, end - first, NULL }, room);
	}
}

int
sla_measure(struct judging *j)
{
	struct room room = { .rtt = run_alloc(j->net.nprobes, sizeof(*room.rtt), j->err),
			     .prober = run_alloc(j->net.nprobes, sizeof(*room.prober), j->err),
			     .responder = run_alloc(j->net.nprobes, sizeof(*room.responder), j->err),
			     .one_way = run_alloc(j->net.nprobes, sizeof(*room.one_way), j->err) };
	int rc = room.rtt != NULL && room.prober != NULL && room.responder != NULL && room.one_way != NULL ? 0 : -ENOMEM;

	if (rc == 0) {
		measure_periods(j, &room);
		for (uint32_t network = 0; network < PINGMESH_NNETWORKS; network++)
			j->own->networks[network] = measure(j, (struct group){ network, 0, j->net.nprobes, NULL }, &room);
		rc = measure_servers(j, &room);
		rc = rc == 0 ? measure_services(j, &room) : rc;
	}
	free(room.rtt);
	free(room.prober);
	free(room.responder);
	free(room.one_way);
	return rc;
}
