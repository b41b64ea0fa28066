/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/vedrfolnir.h"

#include <errno.h>
#include <stdlib.h>

#include "diag/run/fill.h"
#include "diag/vedrfolnir/cause/cause.h"
#include "diag/vedrfolnir/graphs.h"
#include "diag/vedrfolnir/provenance/provenance.h"
#include "diag/vedrfolnir/rating/rating.h"
#include "diag/vedrfolnir/waiting/wgraph.h"

static int build_waiting(struct verdict *v, struct err *err);
static int build_graphs(struct verdict *v, const struct evidence *ev, enum prov_share share, struct prov_scratch *scratch,
			struct prov_graph **graphs, struct err *err);
static int rate_collectives(struct verdict *v, struct err *err);

int
vedrfolnir_diagnose(struct verdict *v, const struct evidence *ev, const struct vedrfolnir_options *options, struct err *err)
{
	enum prov_share share = options->share_by_senders ? PROV_SHARE_SENDERS : PROV_SHARE_RECEIVERS;
	struct prov_graph **graphs = run_alloc(v->run.nsteps, sizeof(*graphs), err);
	struct cause_input in = { .ev = ev, .steps = v->run.steps, .nsteps = v->run.nsteps, .graphs = graphs };
	struct prov_scratch scratch;
	int rc;

	if (graphs == NULL)
		return -ENOMEM;
	rc = prov_scratch_init(&scratch, ev, err);
	if (rc == 0)
		rc = build_waiting(v, err);
	if (rc == 0)
		rc = build_graphs(v, ev, share, &scratch, graphs, err);
	if (rc == 0)
		rc = cause_find(&in, &v->findings, &v->nfindings, err);
	if (rc == 0)
		rc = rate_collectives(v, err);
	prov_scratch_fini(&scratch);
	for (uint32_t i = 0; i < v->run.nsteps; i++)
		prov_destroy(graphs[i]);
	free(graphs);
	return rc;
}

static int
build_waiting(struct verdict *v, struct err *err)
{
	struct vedrfolnir *own = vedrfolnir_of(v);

	own->waiting = run_alloc(v->run.ncollectives, sizeof(*own->waiting), err);
	if (own->waiting == NULL)
		return -ENOMEM;
	own->nwaiting = v->run.ncollectives;
	for (uint32_t c = 0; c < v->run.ncollectives; c++) {
		const struct run_collective *coll = &v->run.collectives[c];
		struct waiting_graph *w = &own->waiting[c];
		int rc = wgraph_build(v->run.steps, coll->first_step, coll->nsteps, w, err);

		if (rc != 0)
			return rc;
		for (uint32_t i = 0; i < w->npath; i++)
			v->run.steps[w->path[i]].critical = true;
	}
	return 0;
}

/* The critical path's steps come first, so that the limit never leaves one of them out. */
static int
build_graphs(struct verdict *v, const struct evidence *ev, enum prov_share share, struct prov_scratch *scratch,
	     struct prov_graph **graphs, struct err *err)
{
	uint32_t slow = 0;

	for (uint32_t i = 0; i < v->run.nsteps; i++)
		slow += v->run.steps[i].slow;
	vedrfolnir_of(v)->graphs = run_alloc(slow < VEDRFOLNIR_MAX_GRAPHS ? slow : VEDRFOLNIR_MAX_GRAPHS,
					     sizeof(*vedrfolnir_of(v)->graphs), err);
	if (vedrfolnir_of(v)->graphs == NULL)
		return -ENOMEM;
	for (int critical = 1; critical >= 0; critical--) {
		for (uint32_t i = 0; i < v->run.nsteps; i++) {
			struct run_step *step = &v->run.steps[i];
			int rc;

			if (!step->slow || step->critical != (critical == 1))
				continue;
			if (vedrfolnir_of(v)->ngraphs == VEDRFOLNIR_MAX_GRAPHS) {
				vedrfolnir_of(v)->graphs_skipped++;
				continue;
			}
			rc = prov_build(ev, scratch, step->flow, step->start_ps, step->end_ps, share, &graphs[i], err);
			if (rc != 0)
				return rc;
			if (graphs[i]->nports == 0)
				continue;
			step->graph = vedrfolnir_of(v)->ngraphs++;
			rc = graphs_fill(&vedrfolnir_of(v)->graphs[step->graph], v, graphs[i], i, err);
			if (rc != 0)
				return rc;
		}
	}
	return 0;
}

/* What a flow did to the collectives, while that is being summed up. */
struct tally {
	double *score; /* [nflows] Eq. 3 */
	uint32_t *nshares;
};

static double
excess_sum_ps(const struct verdict *v, const struct waiting_graph *w)
{
	double sum_ps = 0;

	for (uint32_t i = 0; i < w->npath; i++) {
		const struct run_step *step = &v->run.steps[w->path[i]];

		sum_ps += rating_excess_ps(step->end_ps - step->start_ps, step->expect_ps);
	}
	return sum_ps;
}

/* Eq. 3 over one critical path. Only flows outside of the collectives are rated. */
static void
tally_path(const struct verdict *v, const struct waiting_graph *w, struct tally *tally)
{
	double sum_ps = excess_sum_ps(v, w);

	for (uint32_t i = 0; i < w->npath; i++) {
		const struct run_step *step = &v->run.steps[w->path[i]];
		double weight = rating_step_weight(step->end_ps - step->start_ps, step->expect_ps, sum_ps);

		if (step->graph == RUN_NONE)
			continue;
		for (uint32_t s = 0; s < vedrfolnir_of(v)->graphs[step->graph].nscores; s++) {
			const struct provenance_score *score = &vedrfolnir_of(v)->graphs[step->graph].scores[s];

			if (v->run.flows[score->flow].collective)
				continue;
			tally->score[score->flow] += score->score * weight;
			tally->nshares[score->flow]++;
		}
	}
}

static int
fill_shares(const struct verdict *v, struct contributor *contributor, uint32_t count, struct err *err)
{
	contributor->shares = run_alloc(count, sizeof(*contributor->shares), err);
	if (contributor->shares == NULL)
		return -ENOMEM;
	for (uint32_t c = 0; c < v->run.ncollectives; c++) {
		for (uint32_t i = 0; i < vedrfolnir_of(v)->waiting[c].npath; i++) {
			uint32_t step = vedrfolnir_of(v)->waiting[c].path[i];
			uint32_t graph = v->run.steps[step].graph;

			for (uint32_t s = 0; graph != RUN_NONE && s < vedrfolnir_of(v)->graphs[graph].nscores; s++) {
				if (vedrfolnir_of(v)->graphs[graph].scores[s].flow == contributor->flow)
					contributor->shares[contributor->nshares++] = (struct contributor_share){
						step, vedrfolnir_of(v)->graphs[graph].scores[s].score
					};
			}
		}
	}
	return 0;
}

static int
cmp_contributor(const void *pa, const void *pb)
{
	const struct contributor *a = pa, *b = pb;

	if (a->score != b->score)
		return a->score > b->score ? -1 : 1;
	return a->flow < b->flow ? -1 : a->flow > b->flow;
}

static int
list_contributors(struct verdict *v, const struct tally *tally, struct err *err)
{
	uint32_t count = 0;

	for (uint32_t f = 0; f < v->run.nflows; f++)
		count += tally->score[f] > 0;
	vedrfolnir_of(v)->contributors = run_alloc(count, sizeof(*vedrfolnir_of(v)->contributors), err);
	if (vedrfolnir_of(v)->contributors == NULL)
		return -ENOMEM;
	for (uint32_t f = 0; f < v->run.nflows; f++) {
		struct contributor *contributor = &vedrfolnir_of(v)->contributors[vedrfolnir_of(v)->ncontributors];

		if (tally->score[f] <= 0)
			continue;
		contributor->flow = f;
		contributor->score = tally->score[f];
		vedrfolnir_of(v)->ncontributors++;
		if (fill_shares(v, contributor, tally->nshares[f], err) != 0)
			return -ENOMEM;
	}
	qsort(vedrfolnir_of(v)->contributors, vedrfolnir_of(v)->ncontributors, sizeof(*vedrfolnir_of(v)->contributors),
	      cmp_contributor);
	return 0;
}

static int
rate_collectives(struct verdict *v, struct err *err)
{
	struct tally tally = {
		.score = run_alloc(v->run.nflows, sizeof(*tally.score), err),
		.nshares = run_alloc(v->run.nflows, sizeof(*tally.nshares), err),
	};
	int rc = -ENOMEM;

	if (tally.score != NULL && tally.nshares != NULL) {
		for (uint32_t c = 0; c < v->run.ncollectives; c++)
			tally_path(v, &vedrfolnir_of(v)->waiting[c], &tally);
		rc = list_contributors(v, &tally, err);
	}
	free(tally.score);
	free(tally.nshares);
	return rc;
}

static void
free_graph(struct provenance *graph)
{
	free(graph->vertices);
	free(graph->edges);
	free(graph->waits);
	free(graph->scores);
}

void
vedrfolnir_fini(struct vedrfolnir *own)
{
	for (uint32_t i = 0; i < own->nwaiting; i++) {
		free(own->waiting[i].vertices);
		free(own->waiting[i].edges);
		free(own->waiting[i].path);
	}
	for (uint32_t i = 0; i < own->ngraphs; i++)
		free_graph(&own->graphs[i]);
	for (uint32_t i = 0; i < own->ncontributors; i++)
		free(own->contributors[i].shares);
	free(own->waiting);
	free(own->graphs);
	free(own->contributors);
}
