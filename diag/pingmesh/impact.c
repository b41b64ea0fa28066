/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/pingmesh/impact.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "diag/run/fill.h"

/* What services use. */
struct usage {
	uint8_t *ports;  /* [nports] of links in either direction */
	uint8_t *nodes;  /* [nnodes] */
	uint8_t *tuples; /* [ntuples] */
};

static void
use_port(const struct run *run, struct usage *use, uint32_t port)
{
	const struct run_port *p = &run->ports[port];

	use->ports[port] = 1;
	use->nodes[p->node] = 1;
	if (p->peer_port != RUN_NONE)
		use->ports[p->peer_port] = 1;
	if (p->peer_node != RUN_NONE)
		use->nodes[p->peer_node] = 1;
}

static void
use_address(const struct judging *j, struct usage *use, uint32_t ip)
{
	uint32_t rnic = net_find_rnic(&j->net, ip);

	if (rnic != RUN_NONE)
		use_port(j->run, use, j->net.rnics[rnic].port);
}

/* Ways of all tuples that service tracing probed, and both ends of all connections that it saw. */
static void
find_usage(const struct judging *j, struct usage *use)
{
	const struct net *net = &j->net;

	for (uint32_t i = 0; i < net->nprobes; i++)
		if (network_of(&net->probes[i]) == PINGMESH_SERVICE)
			use->tuples[net->probes[i].tuple] = 1;
	for (uint32_t i = 0; i < net->ntuples; i++) {
		const struct net_tuple *tuple = &net->tuples[i];

		if (!use->tuples[i])
			continue;
		use_address(j, use, tuple->tuple.src_ip);
		use_address(j, use, tuple->tuple.dst_ip);
		for (uint32_t back = 0; back < 2; back++)
			for (uint32_t t = tuple->first[back]; t < tuple->first[back] + tuple->count[back]; t++)
				for (uint32_t l = 0; l < net->traces[t].count; l++)
					use_port(j->run, use, net->links[net->traces[t].first + l]);
	}
	for (uint32_t i = 0; i < net->ev->connections.count; i++) {
		const struct rec_connection *c = EV_AT(net->ev->connections, struct rec_connection, i);

		use_address(j, use, c->tuple.src_ip);
		use_address(j, use, c->tuple.dst_ip);
	}
}

static bool
is_in_service(const struct usage *use, const struct pingmesh_problem *problem)
{
	bool used = (problem->networks & 1u << PINGMESH_SERVICE) != 0 ||
		    (problem->node != RUN_NONE && use->nodes[problem->node]);

	for (uint32_t i = 0; i < problem->nports && !used; i++)
		used = use->ports[problem->ports[i]];
	return used;
}

/* ---- the service's metric ---- */

static int
cmp_double(const void *pa, const void *pb)
{
	const double *a = pa, *b = pb;

	return *a < *b ? -1 : *a > *b;
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

/* @return what an iteration of a job usually takes, 0: not known */
static double
usual_ps(const struct judging *j, const struct run_job *job, double *room)
{
	const struct run *run = j->run;
	uint32_t all = 0, undisturbed = 0;

	for (uint32_t pass = 0; pass < 2 && undisturbed == 0; pass++) {
		all = 0;
		for (uint32_t i = job->first_iteration; i < job->first_iteration + job->niterations; i++) {
			const struct run_iteration *iteration = &run->iterations[i];
			bool disturbed = false;

			if (!iteration->complete)
				continue;
			all++;
			for (uint32_t p = 0; pass == 0 && p < j->own->nproblems && !disturbed; p++)
				disturbed =
					j->own->problems[p].in_service && overlaps(run, iteration, &j->own->problems[p]);
			if (!disturbed)
				room[undisturbed++] = (double)(iteration->end_ps - iteration->start_ps);
		}
	}
	if (undisturbed == 0 || all + (job->niterations > all) < 2)
		return 0; /* nothing to compare with */
	qsort(room, undisturbed, sizeof(*room), cmp_double);
	return room[(undisturbed - 1) / 2];
}

static void
assess_job(struct judging *j, const struct run_job *job, double usual)
{
	struct pingmesh_metric *metric = &j->own->metric;

	for (uint32_t i = job->first_iteration; i < job->first_iteration + job->niterations; i++) {
		const struct run_iteration *iteration = &j->run->iterations[i];
		uint64_t end_ps = end_of(j->run, iteration);
		double change = end_ps > iteration->start_ps ? (double)(end_ps - iteration->start_ps) / usual - 1 : 0;

		metric->worst = fmax(metric->worst, change);
		metric->degraded += change > metric->threshold;
		for (uint32_t p = 0; p < j->own->nproblems; p++) {
			struct pingmesh_problem *problem = &j->own->problems[p];

			if (overlaps(j->run, iteration, problem))
				problem->degradation = fmax(problem->degradation, change);
		}
	}
	metric->known = true;
}

static int
assess_metric(struct judging *j)
{
	double *room = run_alloc(j->run->niterations, sizeof(*room), j->err);

	for (uint32_t i = 0; room != NULL && i < j->run->njobs; i++) {
		const struct run_job *job = &j->run->jobs[i];
		double usual = usual_ps(j, job, room);

		j->own->metric.iterations += job->niterations;
		if (usual > 0)
			assess_job(j, job, usual);
	}
	free(room);
	return room != NULL ? 0 : -ENOMEM;
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
	return port_a < port_b ? -1 : port_a > port_b;
}

int
impact_assess(struct judging *j, double threshold)
{
	struct usage use = { .ports = run_alloc(j->run->nports, 1, j->err),
			     .nodes = run_alloc(j->run->nnodes, 1, j->err),
			     .tuples = run_alloc(j->net.ntuples, 1, j->err) };
	int rc = use.ports != NULL && use.nodes != NULL && use.tuples != NULL ? 0 : -ENOMEM;
	bool guilty = false;

	j->own->metric.threshold = threshold;
	if (rc == 0) {
		find_usage(j, &use);
		for (uint32_t i = 0; i < j->own->nproblems; i++)
			j->own->problems[i].in_service = is_in_service(&use, &j->own->problems[i]);
		rc = assess_metric(j);
	}
	for (uint32_t i = 0; rc == 0 && i < j->own->nproblems; i++) {
		struct pingmesh_problem *problem = &j->own->problems[i];

		problem->priority = !problem->in_service ? 2 : problem->degradation > threshold ? 0 : 1;
		guilty |= problem->in_service;
	}
	if (rc == 0 && j->own->nproblems > 1)
		qsort(j->own->problems, j->own->nproblems, sizeof(*j->own->problems), cmp_problem);
	j->own->innocent = j->own->metric.degraded != 0 && !guilty;
	free(use.ports);
	free(use.nodes);
	free(use.tuples);
	return rc;
}
