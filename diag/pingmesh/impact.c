/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/pingmesh/impact.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "common/minmax.h"
#include "diag/pingmesh/service.h"
#include "diag/run/fill.h"

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

	return *a < *b ? -1 : *a > *b;
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
measure_services(struct judging *j, double threshold)
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
	return port_a < port_b ? -1 : port_a > port_b;
}

int
impact_assess(struct judging *j, double threshold)
{
	int rc = find_impacts(j);

	if (rc == 0)
		rc = measure_services(j, threshold);
	if (rc == 0)
		rc = rank_problems(j);
	if (rc == 0 && j->own->nproblems > 1)
		qsort(j->own->problems, j->own->nproblems, sizeof(*j->own->problems), cmp_problem);
	return rc;
}
