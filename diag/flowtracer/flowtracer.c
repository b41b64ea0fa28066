/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/flowtracer/flowtracer.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/wire/record.h"
#include "diag/collect/evidence.h"
#include "diag/flowtracer/collisions.h"
#include "diag/flowtracer/links.h"
#include "diag/flowtracer/pairs.h"
#include "diag/flowtracer/paths.h"
#include "diag/run/fill.h"

enum { CLAUSE_ALONE, CLAUSE_TOGETHER };
static const char *const clauses[] = {
	[CLAUSE_ALONE] =
		"{count} flows left by {port} at once while {depth} left by {other}, of equal cost; if they had shared "
		"evenly, jobs would have taken about {ms} ms less of {of ms} ms. Among its flows are {flows}",
	[CLAUSE_TOGETHER] =
		"{count} flows left by {port} at once while {depth} left by {other}, of equal cost, and others met "
		"on further links; if all had shared evenly, jobs would have taken about {ms} ms less of {of ms} "
		"ms. Among its flows are {flows}",
};

static const struct finding_type path_imbalance = {
	.key = "path-imbalance",
	.title = "path imbalance",
	.preposition = "at ",
	.badge = "queue",
	.traits = FINDING_UNTIMED,
	.clauses = clauses,
	.nclauses = ARRAY_LEN(clauses),
};

/* All iterations of all jobs, one behind the other. */
static double
jobs_ps(const struct run *run)
{
	double sum_ps = 0;

	for (uint32_t i = 0; i < run->niterations; i++) {
		const struct run_iteration *iteration = &run->iterations[i];
		uint64_t end_ps = iteration->complete ? iteration->end_ps : run->end_ps;

		sum_ps += end_ps > iteration->start_ps ? (double)(end_ps - iteration->start_ps) : 0;
	}
	return sum_ps;
}

static uint32_t *
copy(const uint32_t *list, uint32_t count, struct err *err)
{
	uint32_t *all = run_alloc(count, sizeof(*all), err);

	if (all != NULL && count != 0)
		memcpy(all, list, count * sizeof(*all));
	return all;
}

/* Of the bytes of all steps, those of flows whose way is known. */
static double
known_share(const struct flowtracer *own, const struct run *run)
{
	double known = 0, all = 0;

	for (uint32_t i = 0; i < run->nsteps; i++) {
		const struct run_step *step = &run->steps[i];

		if (run_is_local(step) || !step->started)
			continue;
		all += (double)step->bytes;
		known += flowtracer_path_of(own, step->flow, step->start_ps) != NULL ? (double)step->bytes : 0;
	}
	return all > 0 ? known / all : 0;
}

/*
 * How much of what there was to trace was traced: of what is not known no finding can be sure. Hosts name all flows that they
 * have, samples those that they tell of: then what is missing shows in hosts' reports of steps alone.
 */
static double
traced_share(const struct flowtracer *own, const struct run *run)
{
	const struct flowtracer_round *round;
	double share;

	if (own->shown >= own->nrounds || own->rounds[own->shown].flows == 0)
		return 0;
	round = &own->rounds[own->shown];
	share = (double)round->traced / round->flows;
	return own->config.first_hop == REC_TRACE_SFLOW ? share * known_share(own, run) : share;
}

static int
make_finding(const struct flowtracer *own, const struct run *run, const struct flowtracer_collision *c, uint32_t clause,
	     struct finding *finding, struct err *err)
{
	*finding = (struct finding){
		.type = &path_imbalance,
		.root_port = c->port,
		.origin_port = RUN_NONE,
		.collective = run->steps[c->step].collective,
		.start_ps = c->start_ps,
		.end_ps = c->end_ps,
		.score = c->cost_ps,
		.costless = true,
		.confidence = traced_share(own, run) * run->overhead.completeness,
		.evidence = { .clauses = { clause },
			      .nclauses = 1,
			      .port = c->port,
			      .other_port = c->other,
			      .count = c->most,
			      .depth_packets = c->least,
			      .flow = c->nflows != 0 ? c->flows[0] : RUN_NONE,
			      .flows = c->nflows,
			      .ps = clause == CLAUSE_ALONE ? c->cost_ps : own->cost_ps,
			      .of_ps = jobs_ps(run) },
	};
	finding->borne_out = finding->confidence;
	snprintf(finding->root, sizeof(finding->root), "%s", run->ports[c->port].name);
	finding->ports = copy((uint32_t[]){ c->port, c->other }, 2, err);
	finding->flows = copy(c->flows, c->nflows, err);
	finding->flow_ps = run_alloc(c->nflows, sizeof(*finding->flow_ps), err);
	finding->steps = copy(c->steps, c->nsteps, err);
	if (finding->ports == NULL || finding->flows == NULL || finding->flow_ps == NULL || finding->steps == NULL)
		return -ENOMEM;
	finding->nports = 2;
	finding->nflows = c->nflows;
	finding->nsteps = c->nsteps;
	return 0;
}

/* What costs jobs something by itself first, then by what steps lost. */
static int
cmp_collision(const void *pa, const void *pb, void *least_ps)
{
	const struct flowtracer_collision *a = pa, *b = pb;
	double least = *(const double *)least_ps;
	double x = a->cost_ps >= least ? a->cost_ps : 0, y = b->cost_ps >= least ? b->cost_ps : 0;

	if (x != y)
		return x > y ? -1 : 1;
	if (a->steps_ps != b->steps_ps)
		return a->steps_ps > b->steps_ps ? -1 : 1;
	return a->port < b->port ? -1 : a->port > b->port;
}

/*
 * A link is named that costs jobs something by itself. Where many do, each regains nothing while the others are left: then the one
 * on which steps lost most stands for all.
 */
static int
find(const struct flowtracer *own, const struct run *run, struct section *section, struct err *err)
{
	double least_ps = fmax(1, FINDING_LEAST_SHARE * jobs_ps(run));
	bool together = own->cost_ps >= least_ps;
	int rc = 0;

	qsort_r(own->collisions, own->ncollisions, sizeof(*own->collisions), cmp_collision, &least_ps);
	section->findings = run_alloc(own->ncollisions, sizeof(*section->findings), err);
	if (section->findings == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < own->ncollisions && rc == 0; i++) {
		bool alone = own->collisions[i].cost_ps >= least_ps;

		if (!alone && (i != 0 || !together))
			break;
		rc = make_finding(own, run, &own->collisions[i], alone ? CLAUSE_ALONE : CLAUSE_TOGETHER,
				  &section->findings[section->nfindings++], err);
	}
	return rc;
}

int
flowtracer_diagnose(const struct evidence *ev, const struct run *run, const void *options, struct section *section,
		    struct err *err)
{
	struct flowtracer *own = section->own = run_alloc(1, sizeof(*own), err);
	int rc;

	(void)options;
	if (own == NULL)
		return -ENOMEM;
	section->claim = (struct claim){ .kind = CLAIM_UNTIMED };
	if (ev->tracers.count != 0)
		own->config = *EV_AT(ev->tracers, struct rec_tracer, 0);
	rc = flowtracer_paths(own, ev, run, err);
	if (rc == 0)
		rc = flowtracer_links(own, run, err);
	if (rc == 0)
		rc = flowtracer_pairs(own, run, err);
	if (rc == 0)
		rc = flowtracer_collisions(own, run, err);
	if (rc == 0)
		rc = find(own, run, section, err);
	return rc;
}

void
flowtracer_destroy(void *section)
{
	struct flowtracer *own = section;

	for (uint32_t i = 0; i < own->ncollisions; i++) {
		free(own->collisions[i].flows);
		free(own->collisions[i].steps);
		free(own->collisions[i].lost_ps);
		free(own->collisions[i].all_ps);
	}
	free(own->rounds);
	free(own->paths);
	free(own->hops);
	free(own->layers);
	free(own->links);
	free(own->pairs);
	free(own->collisions);
	free(own);
}
