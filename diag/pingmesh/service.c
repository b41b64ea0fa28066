/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/pingmesh/service.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/minmax.h"
#include "diag/collect/radix.h"
#include "diag/pingmesh/net.h"
#include "diag/run/fill.h"

/* ---- owners of connections ---- */

struct owner {
	uint32_t collective, job;
};

static int
cmp_owner(const void *pa, const void *pb)
{
	const struct owner *a = pa, *b = pb;

	return ORDER(a->collective, b->collective);
}

static int
cmp_flow(const void *pa, const void *pb)
{
	const struct service_flow *a = pa, *b = pb;
	int by = ORDER(a->service, b->service);

	return by != 0 ? by : net_cmp_tuple(&a->tuple, &b->tuple);
}

static int
cmp_run_flow(const void *pa, const void *pb)
{
	const struct run_flow *a = pa, *b = pb;

	return net_cmp_tuple(&a->tuple, &b->tuple);
}

static uint32_t
find_run_flow(const struct run *run, const struct rec_tuple *tuple)
{
	const struct run_flow key = { .tuple = *tuple }, *found = NULL;

	if (run->nflows != 0)
		found = bsearch(&key, run->flows, run->nflows, sizeof(key), cmp_run_flow);
	return found != NULL ? (uint32_t)(found - run->flows) : RUN_NONE;
}

/* @param owners  [run.ncollectives] set, by the collective's id @return their number */
static uint32_t
list_owners(const struct run *run, struct owner *owners)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < run->ncollectives; i++)
		owners[i] = (struct owner){ run->collectives[i].id, run->iterations[run->collectives[i].in].job };
	if (run->ncollectives > 1)
		qsort(owners, run->ncollectives, sizeof(*owners), cmp_owner);
	for (uint32_t i = 0; i < run->ncollectives; i++)
		if (i == 0 || owners[i].collective != owners[count - 1].collective)
			owners[count++] = owners[i];
	return count;
}

/* Reported connections, each once. @param services  [njobs] of jobs */
static void
list_flows(struct judging *j, const struct owner *owners, uint32_t nowners, const uint32_t *services)
{
	const struct ev_vec *connections = &j->net.ev->connections;
	uint32_t count = 0;

	for (uint32_t i = 0; i < connections->count && nowners != 0; i++) {
		const struct rec_connection *c = EV_AT(*connections, struct rec_connection, i);
		const struct owner key = { .collective = c->collective };
		const struct owner *owner = bsearch(&key, owners, nowners, sizeof(key), cmp_owner);

		if (owner == NULL || services[owner->job] == RUN_NONE)
			continue;
		j->flows[j->nflows++] = (struct service_flow){
			.tuple = c->tuple,
			.service = services[owner->job],
			.probed = net_find_tuple(&j->net, &c->tuple),
			.flow = find_run_flow(j->run, &c->tuple),
			.ends = { net_find_rnic(&j->net, c->tuple.src_ip), net_find_rnic(&j->net, c->tuple.dst_ip) },
		};
	}
	if (j->nflows > 1)
		qsort(j->flows, j->nflows, sizeof(*j->flows), cmp_flow);
	for (uint32_t i = 0; i < j->nflows; i++)
		if (i == 0 || cmp_flow(&j->flows[i], &j->flows[count - 1]) != 0)
			j->flows[count++] = j->flows[i];
	j->nflows = count;
	for (uint32_t i = 0; i < j->nflows; i++) {
		j->own->services[j->flows[i].service].connections++;
		j->own->services[j->flows[i].service].traced += service_is_traced(j, &j->flows[i]);
		if (j->flows[i].probed != RUN_NONE)
			j->net.tuples[j->flows[i].probed].service = j->flows[i].service;
	}
}

/* Flows of generators are jobs of the run, too: none that iterates. */
static bool
is_service(const struct run *run, const struct run_job *job)
{
	const struct run_iteration *first = &run->iterations[job->first_iteration];

	return job->niterations != 0 &&
	       (first->ncollectives == 0 || !run_is_flows(&run->collectives[first->first_collective]));
}

int
services_list(struct judging *j)
{
	const struct run *run = j->run;
	struct owner *owners = run_alloc(run->ncollectives, sizeof(*owners), j->err);
	uint32_t *services = run_alloc(run->njobs, sizeof(*services), j->err);

	j->flows = run_alloc(j->net.ev->connections.count, sizeof(*j->flows), j->err);
	j->own->services = run_alloc(run->njobs, sizeof(*j->own->services), j->err);
	for (uint32_t i = 0; i < j->net.ntuples; i++)
		j->net.tuples[i].service = RUN_NONE;
	for (uint32_t i = 0; services != NULL && j->own->services != NULL && i < run->njobs; i++) {
		services[i] = is_service(run, &run->jobs[i]) ? j->own->nservices++ : RUN_NONE;
		if (services[i] != RUN_NONE)
			j->own->services[services[i]].job = i;
	}
	if (owners != NULL && services != NULL && j->flows != NULL && j->own->services != NULL)
		list_flows(j, owners, list_owners(run, owners), services);
	free(owners);
	free(services);
	return owners != NULL && services != NULL && j->flows != NULL && j->own->services != NULL ? 0 : -ENOMEM;
}

/* ---- links of connections ---- */

void
service_note(const struct judging *j, const struct net_probe *probe, struct pingmesh_problem *seen)
{
	uint32_t service = j->net.tuples[probe->tuple].service;

	seen->networks |= 1u << network_of(probe);
	if (network_of(probe) == PINGMESH_SERVICE && service < PINGMESH_SEEN_SERVICES)
		seen->services |= 1ull << service;
}

bool
service_is_traced(const struct judging *j, const struct service_flow *of)
{
	for (uint32_t back = 0; back < 2; back++) {
		uint32_t trace = of->probed != RUN_NONE ? net_trace_at(&j->net, of->probed, back != 0, 0) : RUN_NONE;

		if (trace == RUN_NONE || !j->net.traces[trace].whole)
			return false;
	}
	return true;
}

static bool
is_link(const struct run *run, uint32_t port, uint32_t other)
{
	return port == other || run->ports[port].peer_port == other;
}

/* A packet that leaves by this port: does it cross the place? */
static bool
is_port_at(const struct run *run, uint32_t port, const struct pingmesh_problem *at)
{
	if (at->node != RUN_NONE && (run->ports[port].node == at->node || run->ports[port].peer_node == at->node))
		return true;
	for (uint32_t i = 0; i < at->nports; i++)
		if (at->both ? is_link(run, port, at->ports[i]) : port == at->ports[i])
			return true;
	return false;
}

/* Both ends of a connection are known, traced or not: its hosts, their links in both directions, and their ToRs. */
static bool
is_end_at(const struct judging *j, const struct service_flow *of, const struct pingmesh_problem *at)
{
	for (uint32_t e = 0; e < 2; e++) {
		const struct net_rnic *rnic = of->ends[e] != RUN_NONE ? &j->net.rnics[of->ends[e]] : NULL;

		if (rnic == NULL)
			continue;
		if ((at->node != RUN_NONE && (at->node == rnic->host || at->node == rnic->tor)) ||
		    (at->or_node != RUN_NONE && at->or_node == rnic->tor))
			return true;
		for (uint32_t i = 0; i < at->nports; i++)
			if (is_link(j->run, rnic->port, at->ports[i]))
				return true;
	}
	return false;
}

static bool
is_trace_at(const struct net *net, const struct net_trace *trace, const struct pingmesh_problem *at)
{
	for (uint32_t i = 0; i < trace->count; i++)
		if (is_port_at(net->run, net->links[trace->first + i], at))
			return true;
	return false;
}

bool
service_crosses(const struct judging *j, const struct service_flow *of, const struct pingmesh_problem *at)
{
	const struct net *net = &j->net;

	if (is_end_at(j, of, at))
		return true;
	for (uint32_t back = 0; back < 2 && of->probed != RUN_NONE; back++) {
		const struct net_tuple *tuple = &net->tuples[of->probed];
		uint32_t first = net_trace_at(net, of->probed, back != 0, at->start_ps);

		if (first != RUN_NONE && is_trace_at(net, &net->traces[first], at))
			return true;
		for (uint32_t t = tuple->first[back]; t < tuple->first[back] + tuple->count[back]; t++)
			if (net->traces[t].sent_ps >= at->start_ps && net->traces[t].sent_ps <= at->end_ps &&
			    is_trace_at(net, &net->traces[t], at))
				return true;
	}
	return false;
}

/* The group of probes that are measured together, if they are of the network. */
struct group {
	enum pingmesh_network network;
	uint32_t first, count; /* of the probes, or of the list */
	const uint32_t *list;  /* their numbers; NULL: one after the other */
};

#define SORTED_AT_ONCE (1u << 20) /* values of a distribution; of more only quantiles are looked for */

/* Room for the values of one distribution. */
struct room {
	uint64_t *values, *sorting; /* [size] */
	uint32_t size;
};

/* A time of good probes. */
enum taken { TAKEN_RTT, TAKEN_BY_PROBER, TAKEN_BY_RESPONDER, TAKEN_ONE_WAY };

static uint64_t
taken_ps(const struct net_probe *probe, enum taken taken)
{
	if (taken == TAKEN_BY_PROBER)
		return probe->prober_ps;
	return taken == TAKEN_BY_RESPONDER ? probe->responder_ps : probe->rtt_ps;
}

static const struct net_probe *
probe_of(const struct judging *j, const struct group *group, uint32_t i)
{
	return &j->net.probes[group->list != NULL ? group->list[i] : i];
}

/* @return does the group's probe have such a time? */
static bool
has_taken(const struct judging *j, const struct group *group, uint32_t i, enum taken taken, uint64_t *ps)
{
	const struct net_probe *probe = probe_of(j, group, i);

	*ps = taken_ps(probe, taken);
	return network_of(probe) == group->network && probe->result == REC_PROBE_OK &&
	       net_is_one_way(probe) == (taken == TAKEN_ONE_WAY);
}

#define DIGITS 256

/*
 * Values of these ranks, from 0 on, of more than there is room for: byte by byte, the highest first.
 * @param values  set; the first is the largest of all before
 */
static void
select_ranks(const struct judging *j, const struct group *group, enum taken taken, uint64_t ranks[PINGMESH_QUANTILES],
	     uint64_t values[PINGMESH_QUANTILES])
{
	int shift = 56;

	while (shift > 0 && values[0] >> shift == 0)
		shift -= 8;
	memset(values, 0, PINGMESH_QUANTILES * sizeof(*values));
	for (; shift >= 0; shift -= 8) {
		uint32_t counts[PINGMESH_QUANTILES][DIGITS] = { 0 };
		uint64_t ps;

		for (uint32_t i = group->first; i < group->first + group->count; i++) {
			if (!has_taken(j, group, i, taken, &ps))
				continue;
			for (uint32_t q = 0; q < PINGMESH_QUANTILES; q++) /* those that share its higher bytes */
				if (((ps ^ values[q]) >> shift) < DIGITS)
					counts[q][ps >> shift & (DIGITS - 1)]++;
		}
		for (uint32_t q = 0; q < PINGMESH_QUANTILES; q++) {
			uint64_t digit = 0;

			for (; digit < DIGITS - 1 && ranks[q] >= counts[q][digit]; digit++)
				ranks[q] -= counts[q][digit];
			values[q] |= digit << shift;
		}
	}
}

/* Nearest rank: the least value that so large a share of all does not exceed. One time after the other, in one room. */
static struct pingmesh_spread
spread(const struct judging *j, const struct group *group, enum taken taken, const struct room *room)
{
	static const uint64_t per_mille[PINGMESH_QUANTILES] = { 500, 900, 990, 999 };
	uint64_t ranks[PINGMESH_QUANTILES], values[PINGMESH_QUANTILES] = { 0 }, ps;
	struct pingmesh_spread out = { 0 };
	const uint64_t *sorted;

	for (uint32_t i = group->first; i < group->first + group->count; i++) {
		if (!has_taken(j, group, i, taken, &ps))
			continue;
		if (out.count < room->size)
			room->values[out.count] = ps;
		values[0] = max_u64(values[0], ps);
		out.count++;
	}
	for (uint32_t q = 0; q < PINGMESH_QUANTILES; q++)
		ranks[q] = out.count != 0 ? (out.count * per_mille[q] + 999) / 1000 - 1 : 0;
	if (out.count > room->size) {
		select_ranks(j, group, taken, ranks, values);
	} else if (out.count != 0) {
		sorted = radix_sort_words(room->values, room->sorting, (uint32_t)out.count);
		for (uint32_t q = 0; q < PINGMESH_QUANTILES; q++)
			values[q] = sorted[ranks[q]];
	}
	for (uint32_t q = 0; q < PINGMESH_QUANTILES; q++)
		out.ps[q] = (double)values[q];
	return out;
}

static struct pingmesh_sla
measure(const struct judging *j, struct group group, const struct room *room)
{
	struct pingmesh_sla sla = { 0 };

	for (uint32_t i = group.first; i < group.first + group.count; i++) {
		const struct net_probe *probe = probe_of(j, &group, i);

		if (network_of(probe) != group.network)
			continue;
		sla.probes++;
		sla.causes[probe->cause]++;
	}
	sla.rtt = spread(j, &group, TAKEN_RTT, room);
	sla.prober = spread(j, &group, TAKEN_BY_PROBER, room);
	sla.responder = spread(j, &group, TAKEN_BY_RESPONDER, room);
	sla.one_way = spread(j, &group, TAKEN_ONE_WAY, room);
	return sla;
}

/* Both hosts of a probe of service tracing; @return their number, 0: it is none */
static uint32_t
hosts_of(const struct judging *j, const struct net_probe *probe, uint32_t hosts[2])
{
	hosts[0] = j->net.rnics[net_src(&j->net, probe)].host;
	hosts[1] = j->net.rnics[net_dst(&j->net, probe)].host;
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
	uint32_t size = j->net.nprobes < SORTED_AT_ONCE ? j->net.nprobes : SORTED_AT_ONCE;
	struct room room = { .values = run_alloc(size, sizeof(*room.values), j->err),
			     .sorting = run_alloc(size, sizeof(*room.sorting), j->err),
			     .size = size };
	int rc = room.values != NULL && room.sorting != NULL ? 0 : -ENOMEM;

	if (rc == 0) {
		measure_periods(j, &room);
		for (uint32_t network = 0; network < PINGMESH_NNETWORKS; network++)
			j->own->networks[network] = measure(j, (struct group){ network, 0, j->net.nprobes, NULL }, &room);
		rc = measure_servers(j, &room);
		rc = rc == 0 ? measure_services(j, &room) : rc;
	}
	free(room.values);
	free(room.sorting);
	return rc;
}

static const struct run_job *
job_of(const struct judging *j, uint32_t service)
{
	return &j->run->jobs[j->own->services[service].job];
}

static uint64_t
end_of(const struct run *run, const struct run_iteration *iteration)
{
	return iteration->complete ? iteration->end_ps : run->end_ps;
}

static bool
overlaps(const struct run *run, const struct run_iteration *iteration, const struct pingmesh_problem *problem)
{
	return problem->start_ps <= end_of(run, iteration) && problem->end_ps >= iteration->start_ps;
}

/* ---- the users of the place ---- */

/* Does a job iterate while a problem lasts? */
static bool
is_active(const struct run *run, const struct run_job *job, const struct pingmesh_problem *problem)
{
	for (uint32_t i = job->first_iteration; i < job->first_iteration + job->niterations; i++)
		if (overlaps(run, &run->iterations[i], problem))
			return true;
	return false;
}

/* A problem is a service's if its own probes show it, or if it lies where the service's connections cross (4.3.4). */
static bool
is_of(const struct judging *j, const struct pingmesh_problem *problem, struct pingmesh_impact *impact)
{
	bool is_seen = impact->service < PINGMESH_SEEN_SERVICES && (problem->services & 1ull << impact->service) != 0;

	if (!is_seen && !is_active(j->run, job_of(j, impact->service), problem))
		return false;
	for (uint32_t i = 0; i < j->nflows; i++) {
		if (j->flows[i].service != impact->service || !service_crosses(j, &j->flows[i], problem))
			continue;
		if (impact->nflows < PINGMESH_FLOWS && j->flows[i].flow != RUN_NONE)
			impact->flows[impact->nflows] = j->flows[i].flow;
		impact->nflows++;
	}
	return is_seen || impact->nflows != 0;
}

static int
find_impacts(struct judging *j)
{
	struct pingmesh *own = j->own;

	own->impacts = run_alloc((size_t)own->nproblems * own->nservices, sizeof(*own->impacts), j->err);
	if (own->impacts == NULL)
		return -ENOMEM;
	for (uint32_t p = 0; p < own->nproblems; p++) {
		struct pingmesh_problem *problem = &own->problems[p];

		problem->first_impact = own->nimpacts;
		for (uint32_t s = 0; s < own->nservices; s++) {
			struct pingmesh_impact impact = { .service = s };

			for (uint32_t f = 0; f < PINGMESH_FLOWS; f++)
				impact.flows[f] = RUN_NONE;
			if (is_of(j, problem, &impact))
				own->impacts[own->nimpacts++] = impact;
		}
		problem->nimpacts = own->nimpacts - problem->first_impact;
		problem->in_service = problem->nimpacts != 0;
	}
	return 0;
}

static struct pingmesh_impact *
impact_on(const struct judging *j, const struct pingmesh_problem *problem, uint32_t service)
{
	for (uint32_t i = problem->first_impact; i < problem->first_impact + problem->nimpacts; i++)
		if (j->own->impacts[i].service == service)
			return &j->own->impacts[i];
	return NULL;
}

/* ---- a service's metric ---- */

static int
cmp_double(const void *pa, const void *pb)
{
	const double *a = pa, *b = pb;

	return ORDER(*a, *b);
}

/* Does a problem of the service's own network overlap an iteration of it? */
static bool
is_disturbed(const struct judging *j, uint32_t service, const struct run_iteration *iteration)
{
	for (uint32_t p = 0; p < j->own->nproblems; p++)
		if (overlaps(j->run, iteration, &j->own->problems[p]) &&
		    impact_on(j, &j->own->problems[p], service) != NULL)
			return true;
	return false;
}

/* @return the usual time of a service's iteration, 0: not known */
static double
usual_ps(const struct judging *j, uint32_t service, double *room)
{
	const struct run_job *job = job_of(j, service);
	uint32_t all = 0, undisturbed = 0;

	for (uint32_t pass = 0; pass < 2 && undisturbed == 0; pass++) {
		all = 0;
		for (uint32_t i = job->first_iteration; i < job->first_iteration + job->niterations; i++) {
			const struct run_iteration *iteration = &j->run->iterations[i];

			if (!iteration->complete)
				continue;
			all++;
			if (pass == 1 || !is_disturbed(j, service, iteration))
				room[undisturbed++] = (double)(iteration->end_ps - iteration->start_ps);
		}
	}
	if (undisturbed == 0 || all + (job->niterations > all) < 2)
		return 0; /* nothing to compare with */
	qsort(room, undisturbed, sizeof(*room), cmp_double);
	return room[(undisturbed - 1) / 2];
}

static void
measure_service(struct judging *j, uint32_t service, double usual)
{
	struct pingmesh_metric *metric = &j->own->services[service].metric;
	const struct run_job *job = job_of(j, service);

	metric->known = true;
	for (uint32_t i = job->first_iteration; i < job->first_iteration + job->niterations; i++) {
		const struct run_iteration *iteration = &j->run->iterations[i];
		uint64_t end_ps = end_of(j->run, iteration);
		double change = end_ps > iteration->start_ps ? (double)(end_ps - iteration->start_ps) / usual - 1 : 0;

		metric->worst = fmax(metric->worst, change);
		metric->degraded += change > metric->threshold;
		for (uint32_t p = 0; p < j->own->nproblems; p++) {
			struct pingmesh_impact *impact = impact_on(j, &j->own->problems[p], service);

			if (impact != NULL && overlaps(j->run, iteration, &j->own->problems[p]))
				impact->degradation = fmax(impact->degradation, change);
		}
	}
}

static int
measure_suffering(struct judging *j, double threshold)
{
	struct pingmesh *own = j->own;
	double *room = run_alloc(j->run->niterations, sizeof(*room), j->err);

	own->metric.threshold = threshold;
	for (uint32_t s = 0; room != NULL && s < own->nservices; s++) {
		struct pingmesh_metric *metric = &own->services[s].metric;
		double usual = usual_ps(j, s, room);

		*metric = (struct pingmesh_metric){ .iterations = job_of(j, s)->niterations, .threshold = threshold };
		if (usual > 0)
			measure_service(j, s, usual);
		own->metric.iterations += metric->iterations;
		own->metric.degraded += metric->degraded;
		own->metric.worst = fmax(own->metric.worst, metric->worst);
		own->metric.known |= metric->known;
	}
	free(room);
	return room != NULL ? 0 : -ENOMEM;
}

/* ---- priorities, and the verdict on the network ---- */

static bool
is_of_network(const struct pingmesh_problem *problem)
{
	return problem->kind != PINGMESH_PROBLEM_HOST && problem->kind != PINGMESH_PROBLEM_CPU;
}

static void
rank_problem(struct judging *j, struct pingmesh_problem *problem, bool *guilty)
{
	problem->priority = problem->in_service ? 1 : 2;
	for (uint32_t i = problem->first_impact; i < problem->first_impact + problem->nimpacts; i++) {
		struct pingmesh_impact *impact = &j->own->impacts[i];

		impact->known = j->own->services[impact->service].metric.known;
		impact->priority = impact->degradation > j->own->metric.threshold ? 0 : 1;
		problem->priority = min_u32(problem->priority, impact->priority);
		problem->degradation = fmax(problem->degradation, impact->degradation);
		guilty[impact->service] |= impact->priority == 0 && is_of_network(problem);
	}
}

static int
rank_problems(struct judging *j)
{
	struct pingmesh *own = j->own;
	bool *guilty = run_alloc(own->nservices, sizeof(*guilty), j->err);
	uint32_t degraded = 0, innocent = 0;

	for (uint32_t p = 0; guilty != NULL && p < own->nproblems; p++)
		rank_problem(j, &own->problems[p], guilty);
	for (uint32_t s = 0; guilty != NULL && s < own->nservices; s++) {
		struct pingmesh_service *service = &own->services[s];

		service->decided = service->metric.known &&
				   (guilty[s] || (service->connections != 0 && service->traced == service->connections));
		service->innocent = service->decided && service->metric.degraded != 0 && !guilty[s];
		degraded += service->metric.degraded != 0;
		innocent += service->innocent;
	}
	own->innocent = degraded != 0 && innocent == degraded;
	free(guilty);
	return guilty != NULL ? 0 : -ENOMEM;
}

/* Most urgent first, then as they began. */
static int
cmp_problem(const void *pa, const void *pb)
{
	const struct pingmesh_problem *a = pa, *b = pb;
	uint32_t port_a = a->nports != 0 ? a->ports[0] : RUN_NONE, port_b = b->nports != 0 ? b->ports[0] : RUN_NONE;

	if (a->priority != b->priority)
		return a->priority < b->priority ? -1 : 1;
	if (a->start_ps != b->start_ps)
		return a->start_ps < b->start_ps ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return ORDER(port_a, port_b);
}

int
impact_assess(struct judging *j, double threshold)
{
	int rc = find_impacts(j);

	if (rc == 0)
		rc = measure_suffering(j, threshold);
	if (rc == 0)
		rc = rank_problems(j);
	if (rc == 0 && j->own->nproblems > 1)
		qsort(j->own->problems, j->own->nproblems, sizeof(*j->own->problems), cmp_problem);
	return rc;
}
