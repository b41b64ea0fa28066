/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/vedrfolnir.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diag/run/fill.h"
#include "diag/vedrfolnir/budgets.h"
#include "diag/vedrfolnir/cause/cause.h"
#include "diag/vedrfolnir/conclude.h"
#include "diag/vedrfolnir/graphs.h"
#include "diag/vedrfolnir/provenance/provenance.h"
#include "diag/vedrfolnir/rating/rating.h"
#include "diag/vedrfolnir/section.h"
#include "diag/vedrfolnir/waiting/slow_flows.h"
#include "diag/vedrfolnir/waiting/wgraph.h"

/* What is being made of a run. */
struct diagnosing {
	const struct evidence *ev;
	const struct run *run;
	struct vedrfolnir *own;
	struct section *section;
	struct prov_graph **graphs; /* [run->nsteps] NULL: not slow, or nothing reported */
};

static int build_waiting(struct diagnosing *d, struct err *err);
static int build_graphs(struct diagnosing *d, enum prov_share share, struct err *err);
static int rate_collectives(const struct run *run, struct vedrfolnir *own, struct err *err);

/*
 * So much a flow has under way that uses its link: its window, or, where that is not told, what a link carries in the longest
 * round trip that a step has.
 */
static double
window_packets(const struct evidence *ev, const struct run *run)
{
	double bits = 0;

	if (ev->run.window_bytes != 0 && ev->run.payload_bytes != 0)
		return ceil((double)ev->run.window_bytes / ev->run.payload_bytes);
	for (uint32_t i = 0; i < run->nsteps; i++) {
		const struct run_step *step = &run->steps[i];
		const struct run_node *host = &run->nodes[step->host];
		double rate_bps = host->nports != 0 ? (double)run->ports[host->first_port].rate_bps : 0;

		bits = fmax(bits, (double)step->base_rtt_ps / 1e12 * rate_bps);
	}
	return fmax(1, ev->run.frame_bytes != 0 ? bits / 8 / ev->run.frame_bytes : 1);
}

int
vedrfolnir_diagnose(const struct evidence *evidence, const struct run *run, const void *options, struct section *section,
		    struct err *err)
{
	const struct vedrfolnir_options *chosen = options;
	struct vedrfolnir *own = section->own = run_alloc(1, sizeof(*own), err);
	struct diagnosing d = { .ev = evidence, .run = run, .own = own, .section = section };
	struct cause_input in = { .causes = chosen->causes != NULL ? chosen->causes : causes,
				  .ncauses = chosen->causes != NULL ? chosen->ncauses : ncauses,
				  .ev = evidence,
				  .steps = run->steps,
				  .nsteps = run->nsteps };
	int rc;

	if (own == NULL)
		return -ENOMEM;
	in.window = window_packets(evidence, run);
	in.unjudged = &own->unjudged;
	own->steps = run_alloc(run->nsteps, sizeof(*own->steps), err);
	in.own = own->steps;
	in.graphs = d.graphs = run_alloc(run->nsteps, sizeof(*d.graphs), err);
	rc = own->steps != NULL && d.graphs != NULL ? build_waiting(&d, err) : -ENOMEM;
	if (rc == 0)
		rc = build_graphs(&d, chosen->share_by_senders ? PROV_SHARE_SENDERS : PROV_SHARE_RECEIVERS, err);
	if (rc == 0)
		rc = cause_find(&in, &section->findings, &section->nfindings, err);
	if (rc == 0)
		rc = rate_collectives(run, own, err);
	if (rc == 0)
		rc = budgets_sum_up(run, section, err);
	if (rc == 0) {
		conclude_findings(run, section);
		section->claim = conclude(run, section);
	}
	for (uint32_t i = 0; d.graphs != NULL && i < run->nsteps; i++)
		prov_destroy(d.graphs[i]);
	free(d.graphs);
	return rc;
}

static void
mark(const struct run *run, struct vedrfolnir *own, const struct run_iteration *iteration, const struct waiting_graph *w)
{
	bool flows = run_is_flows(&run->collectives[iteration->first_collective]);

	for (uint32_t i = iteration->first_step; i < iteration->first_step + iteration->nsteps; i++) {
		own->steps[i].critical = flows && run->steps[i].slow;
		own->steps[i].shown = !flows;
	}
	for (uint32_t p = 0; p < w->npath; p++)
		own->steps[w->path[p]].critical = own->steps[w->path[p]].shown = true;
}

static int
build_waiting(struct diagnosing *d, struct err *err)
{
	const struct run *run = d->run;
	struct vedrfolnir *own = d->own;

	own->waiting = run_alloc(run->niterations, sizeof(*own->waiting), err);
	if (own->waiting == NULL)
		return -ENOMEM;
	own->nwaiting = run->niterations;
	for (uint32_t i = 0; i < run->nsteps; i++)
		own->steps[i].graph = RUN_NONE;
	for (uint32_t i = 0; i < run->niterations; i++) {
		const struct run_iteration *iteration = &run->iterations[i];
		struct waiting_graph *w = &own->waiting[i];
		int rc = wgraph_build(run->steps, iteration->first_step, iteration->nsteps, w, err);

		if (rc != 0)
			return rc;
		if (run_is_flows(&run->collectives[iteration->first_collective]))
			slow_flows_list(run->steps, iteration->first_step, iteration->nsteps, w);
		mark(run, own, iteration, w);
	}
	return 0;
}

static int
build_graph(struct diagnosing *d, uint32_t i, enum prov_share share, struct prov_scratch *scratch, struct err *err)
{
	const struct run_step *step = &d->run->steps[i];
	struct vedrfolnir *own = d->own;
	int rc = prov_build(d->ev, scratch, step->flow, step->start_ps, step->end_ps, share, &d->graphs[i], err);

	if (rc != 0 || d->graphs[i]->nports == 0)
		return rc;
	own->steps[i].graph = own->ngraphs++;
	rc = graphs_fill(&own->graphs[own->steps[i].graph], d->run, d->graphs[i], i, err);
	if (rc == 0 && !own->steps[i].shown)
		graphs_empty(&own->graphs[own->steps[i].graph]);
	return rc;
}

static int
build_graphs(struct diagnosing *d, enum prov_share share, struct err *err)
{
	struct vedrfolnir *own = d->own;
	struct prov_scratch scratch;
	uint32_t *order = run_alloc(d->run->nsteps, sizeof(*order), err);
	uint32_t slow = order != NULL ? graphs_order(d->run->steps, own->steps, d->run->nsteps, order) : 0;
	int rc = prov_scratch_init(&scratch, d->ev, err);

	d->section->limit = VEDRFOLNIR_MAX_GRAPHS;
	own->graphs = run_alloc(slow < VEDRFOLNIR_MAX_GRAPHS ? slow : VEDRFOLNIR_MAX_GRAPHS, sizeof(*own->graphs), err);
	if (own->graphs == NULL || order == NULL)
		rc = -ENOMEM;
	for (uint32_t i = 0; rc == 0 && i < slow; i++) {
		if (own->ngraphs == VEDRFOLNIR_MAX_GRAPHS)
			d->section->skipped++;
		else
			rc = build_graph(d, order[i], share, &scratch, err);
	}
	prov_scratch_fini(&scratch);
	free(order);
	return rc;
}

/* What a flow did to the collectives, while that is being summed up. */
struct contributions {
	double *score; /* [nflows] Eq. 3 */
	uint32_t *nshares;
};

static double
excess_sum_ps(const struct run *run, const struct waiting_graph *w)
{
	double sum_ps = 0;

	for (uint32_t i = 0; i < w->npath; i++) {
		const struct run_step *step = &run->steps[w->path[i]];

		if (!run_is_local(step)) /* the equation is about flows */
			sum_ps += rating_excess_ps(step->end_ps - step->start_ps, step->expect_ps);
	}
	return sum_ps;
}

/* Eq. 3 over one critical path. Flows of collectives are not rated: they are what others hurt. */
static void
count_path_share(const struct run *run, const struct vedrfolnir *own, const struct waiting_graph *w,
		 struct contributions *contributions)
{
	double sum_ps = excess_sum_ps(run, w);

	for (uint32_t i = 0; i < w->npath; i++) {
		const struct run_step *step = &run->steps[w->path[i]];
		double weight = rating_step_weight(step->end_ps - step->start_ps, step->expect_ps, sum_ps);
		uint32_t graph = own->steps[w->path[i]].graph;

		for (uint32_t s = 0; graph != RUN_NONE && s < own->graphs[graph].nscores; s++) {
			const struct provenance_score *score = &own->graphs[graph].scores[s];

			if (run->flows[score->flow].collective && !run_is_flows(&run->collectives[step->collective]))
				continue;
			contributions->score[score->flow] += score->score * weight;
			contributions->nshares[score->flow]++;
		}
	}
}

static int
fill_shares(const struct run *run, const struct vedrfolnir *own, struct contributor *contributor, uint32_t count,
	    struct err *err)
{
	contributor->shares = run_alloc(count, sizeof(*contributor->shares), err);
	if (contributor->shares == NULL)
		return -ENOMEM;
	for (uint32_t c = 0; c < own->nwaiting; c++) {
		for (uint32_t i = 0; i < own->waiting[c].npath; i++) {
			uint32_t step = own->waiting[c].path[i];
			uint32_t graph = own->steps[step].graph;

			for (uint32_t s = 0; graph != RUN_NONE && s < own->graphs[graph].nscores; s++) {
				if (own->graphs[graph].scores[s].flow == contributor->flow)
					contributor->shares[contributor->nshares++] =
						(struct contributor_share){ step, own->graphs[graph].scores[s].score };
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
list_contributors(const struct run *run, struct vedrfolnir *own, const struct contributions *contributions, struct err *err)
{
	uint32_t count = 0;

	for (uint32_t f = 0; f < run->nflows; f++)
		count += contributions->score[f] > 0;
	own->contributors = run_alloc(count, sizeof(*own->contributors), err);
	if (own->contributors == NULL)
		return -ENOMEM;
	for (uint32_t f = 0; f < run->nflows; f++) {
		struct contributor *contributor = &own->contributors[own->ncontributors];

		if (contributions->score[f] <= 0)
			continue;
		contributor->flow = f;
		contributor->score = contributions->score[f];
		own->ncontributors++;
		if (fill_shares(run, own, contributor, contributions->nshares[f], err) != 0)
			return -ENOMEM;
	}
	qsort(own->contributors, own->ncontributors, sizeof(*own->contributors), cmp_contributor);
	return 0;
}

static int
rate_collectives(const struct run *run, struct vedrfolnir *own, struct err *err)
{
	struct contributions contributions = {
		.score = run_alloc(run->nflows, sizeof(*contributions.score), err),
		.nshares = run_alloc(run->nflows, sizeof(*contributions.nshares), err),
	};
	int rc = -ENOMEM;

	if (contributions.score != NULL && contributions.nshares != NULL) {
		for (uint32_t c = 0; c < own->nwaiting; c++)
			count_path_share(run, own, &own->waiting[c], &contributions);
		rc = list_contributors(run, own, &contributions, err);
	}
	free(contributions.score);
	free(contributions.nshares);
	return rc;
}

void
vedrfolnir_destroy(void *section_own)
{
	struct vedrfolnir *own = section_own;

	for (uint32_t i = 0; i < own->nwaiting; i++) {
		free(own->waiting[i].vertices);
		free(own->waiting[i].edges);
		free(own->waiting[i].path);
	}
	for (uint32_t i = 0; i < own->ngraphs; i++)
		graphs_empty(&own->graphs[i]);
	for (uint32_t i = 0; i < own->ncontributors; i++)
		free(own->contributors[i].shares);
	free(own->waiting);
	free(own->steps);
	free(own->graphs);
	free(own->contributors);
	free(own->budgets);
	free(own);
}

int
vedrfolnir_port_share(void *options, const char *value, struct err *err)
{
	struct vedrfolnir_options *chosen = options;

	if (strcmp(value, "receivers") != 0 && strcmp(value, "senders") != 0)
		return err_set(err, -EINVAL, "use receivers or senders");
	chosen->share_by_senders = strcmp(value, "senders") == 0;
	return 0;
}
