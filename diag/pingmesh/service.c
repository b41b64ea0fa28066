/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/pingmesh/service.h"

#include <errno.h>
#include <stdlib.h>

#include "diag/pingmesh/net_inside.h"
#include "diag/run/fill.h"

/* ---- owners of connections ---- */

struct owner {
	uint32_t collective, job;
};

static int
cmp_owner(const void *pa, const void *pb)
{
	const struct owner *a = pa, *b = pb;

	return CMP(a->collective, b->collective);
}

static int
cmp_flow(const void *pa, const void *pb)
{
	const struct service_flow *a = pa, *b = pb;
	int by = CMP(a->service, b->service);

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
