/* SPDX-License-Identifier: BSD-3-Clause */
/* From slow steps to provenance graphs, scores, findings and contributors. */
#include <errno.h>
#include <stdlib.h>

#include "diag/cause/cause.h"
#include "diag/provenance/provenance.h"
#include "diag/rating/rating.h"
#include "diag/verdict_graph.h"
#include "diag/verdict_internal.h"

static int build_graphs(struct verdict *v, const struct evidence *ev, enum prov_share share, struct prov_scratch *scratch,
			struct prov_graph **graphs, struct err *err);
static int rate_collectives(struct verdict *v, struct err *err);

int
verdict_explain(struct verdict *v, const struct evidence *ev, const struct verdict_options *options, struct err *err)
{
	enum prov_share share = options->share_by_senders ? PROV_SHARE_SENDERS : PROV_SHARE_RECEIVERS;
	struct prov_graph **graphs = verdict_alloc(v->nsteps, sizeof(*graphs), err);
	struct cause_input in = { .ev = ev, .steps = v->steps, .nsteps = v->nsteps, .graphs = graphs };
	struct prov_scratch scratch;
	int rc;

	if (graphs == NULL)
		return -ENOMEM;
	rc = prov_scratch_init(&scratch, ev, err);
	if (rc == 0)
		rc = build_graphs(v, ev, share, &scratch, graphs, err);
	if (rc == 0)
		rc = cause_find(&in, &v->findings, &v->nfindings, err);
	if (rc == 0)
		rc = rate_collectives(v, err);
	prov_scratch_fini(&scratch);
	for (uint32_t i = 0; i < v->nsteps; i++)
		prov_destroy(graphs[i]);
	free(graphs);
	return rc;
}

/* The critical path's steps come first, so that the limit never leaves one of them out. */
static int
build_graphs(struct verdict *v, const struct evidence *ev, enum prov_share share, struct prov_scratch *scratch,
	     struct prov_graph **graphs, struct err *err)
{
	uint32_t slow = 0;

	for (uint32_t i = 0; i < v->nsteps; i++)
		slow += v->steps[i].slow;
	v->graphs = verdict_alloc(slow < VERDICT_MAX_GRAPHS ? slow : VERDICT_MAX_GRAPHS, sizeof(*v->graphs), err);
	if (v->graphs == NULL)
		return -ENOMEM;
	for (int critical = 1; critical >= 0; critical--) {
		for (uint32_t i = 0; i < v->nsteps; i++) {
			struct verdict_step *step = &v->steps[i];
			int rc;

			if (!step->slow || step->critical != (critical == 1))
				continue;
			if (v->ngraphs == VERDICT_MAX_GRAPHS) {
				v->graphs_skipped++;
				continue;
			}
			rc = prov_build(ev, scratch, step->flow, step->start_ps, step->end_ps, share, &graphs[i], err);
			if (rc != 0)
				return rc;
			if (graphs[i]->nports == 0)
				continue;
			step->graph = v->ngraphs++;
			rc = verdict_graph_fill(&v->graphs[step->graph], v, graphs[i], i, err);
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
excess_sum_ps(const struct verdict *v, const struct verdict_waiting *w)
{
	double sum_ps = 0;

	for (uint32_t i = 0; i < w->npath; i++) {
		const struct verdict_step *step = &v->steps[w->path[i]];

		sum_ps += rating_excess_ps(step->end_ps - step->start_ps, step->expect_ps);
	}
	return sum_ps;
}

/* Eq. 3 over one critical path. Only flows outside of the collectives are rated. */
static void
tally_path(const struct verdict *v, const struct verdict_waiting *w, struct tally *tally)
{
	double sum_ps = excess_sum_ps(v, w);

	for (uint32_t i = 0; i < w->npath; i++) {
		const struct verdict_step *step = &v->steps[w->path[i]];
		double weight = rating_step_weight(step->end_ps - step->start_ps, step->expect_ps, sum_ps);

		if (step->graph == VERDICT_NONE)
			continue;
		for (uint32_t s = 0; s < v->graphs[step->graph].nscores; s++) {
			const struct verdict_pscore *score = &v->graphs[step->graph].scores[s];

			if (v->flows[score->flow].collective)
				continue;
			tally->score[score->flow] += score->score * weight;
			tally->nshares[score->flow]++;
		}
	}
}

static int
fill_shares(const struct verdict *v, struct verdict_contributor *contributor, uint32_t count, struct err *err)
{
	contributor->shares = verdict_alloc(count, sizeof(*contributor->shares), err);
	if (contributor->shares == NULL)
		return -ENOMEM;
	for (uint32_t c = 0; c < v->ncollectives; c++) {
		for (uint32_t i = 0; i < v->waiting[c].npath; i++) {
			uint32_t step = v->waiting[c].path[i];
			uint32_t graph = v->steps[step].graph;

			for (uint32_t s = 0; graph != VERDICT_NONE && s < v->graphs[graph].nscores; s++) {
				if (v->graphs[graph].scores[s].flow == contributor->flow)
					contributor->shares[contributor->nshares++] =
						(struct verdict_share){ step, v->graphs[graph].scores[s].score };
			}
		}
	}
	return 0;
}

static int
cmp_contributor(const void *pa, const void *pb)
{
	const struct verdict_contributor *a = pa, *b = pb;

	if (a->score != b->score)
		return a->score > b->score ? -1 : 1;
	return a->flow < b->flow ? -1 : a->flow > b->flow;
}

static int
list_contributors(struct verdict *v, const struct tally *tally, struct err *err)
{
	uint32_t count = 0;

	for (uint32_t f = 0; f < v->nflows; f++)
		count += tally->score[f] > 0;
	v->contributors = verdict_alloc(count, sizeof(*v->contributors), err);
	if (v->contributors == NULL)
		return -ENOMEM;
	for (uint32_t f = 0; f < v->nflows; f++) {
		struct verdict_contributor *contributor = &v->contributors[v->ncontributors];

		if (tally->score[f] <= 0)
			continue;
		contributor->flow = f;
		contributor->score = tally->score[f];
		v->ncontributors++;
		if (fill_shares(v, contributor, tally->nshares[f], err) != 0)
			return -ENOMEM;
	}
	qsort(v->contributors, v->ncontributors, sizeof(*v->contributors), cmp_contributor);
	return 0;
}

static int
rate_collectives(struct verdict *v, struct err *err)
{
	struct tally tally = {
		.score = verdict_alloc(v->nflows, sizeof(*tally.score), err),
		.nshares = verdict_alloc(v->nflows, sizeof(*tally.nshares), err),
	};
	int rc = -ENOMEM;

	if (tally.score != NULL && tally.nshares != NULL) {
		for (uint32_t c = 0; c < v->ncollectives; c++)
			tally_path(v, &v->waiting[c], &tally);
		rc = list_contributors(v, &tally, err);
	}
	free(tally.score);
	free(tally.nshares);
	return rc;
}
