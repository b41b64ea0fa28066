/* SPDX-License-Identifier: BSD-3-Clause */
/* The page's view of flows without a collective: how long they took by size, the slowest, and who was ahead of them. */
#include <stdlib.h>

#include "diag/report/facts.h"
#include "diag/report/flows.h"
#include "diag/report/page_data.h"
#include "diag/vedrfolnir/section.h"

#define SLOWEST_SHOWN 20
#define AHEAD_SHOWN 4

static double
slowdown(const struct run_step *step)
{
	return step->ideal_ps != 0 ? (double)facts_exec_ps(step) / (double)step->ideal_ps : 0;
}

static int
by_slowdown(const void *pa, const void *pb, void *arg)
{
	const struct run_step *steps = arg;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	double x = slowdown(&steps[a]), y = slowdown(&steps[b]);

	if (x != y)
		return x > y ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* By the provenance graph of the flow (Eq. 2): packet-waits behind each other flow, most first. */
static json_t *
ahead(const struct verdict *v, uint32_t step)
{
	const struct vedrfolnir *own = vedrfolnir_of(v);
	uint32_t graph = own != NULL ? own->steps[step].graph : RUN_NONE;
	json_t *array = json_array();

	for (uint32_t i = 0; graph != RUN_NONE && i < own->graphs[graph].nscores && i < AHEAD_SHOWN; i++) {
		const struct provenance_score *score = &own->graphs[graph].scores[i];

		if (score->score > 0)
			array = value_add(array, json_pack("{s:I, s:o}", "flow_at", page_index(score->flow), "waits",
							   value_real(score->score)));
	}
	return array;
}

static json_t *
flow(const struct verdict *v, uint32_t i)
{
	const struct run_step *step = &v->run.steps[i];
	char causes[FACTS_TEXT];

	return json_pack("{s:I, s:I, s:o, s:I, s:o, s:o, s:o, s:o, s:b, s:o, s:o}", "step_at", page_index(i), "flow_at",
			 page_index(step->flow), "generator", value_text(v->run.collectives[step->collective].name),
			 "bytes", (json_int_t)step->bytes, "start_ns", value_ns(step->start_ps), "fct_ns",
			 value_ns(facts_exec_ps(step)), "ideal_ns", value_ns(step->ideal_ps), "slowdown",
			 value_real(slowdown(step)), "open", step->open, "causes",
			 value_text(facts_step_causes(v, i, causes, sizeof(causes))), "ahead", ahead(v, i));
}

static json_t *
slowest(const struct verdict *v)
{
	uint32_t *order = calloc((size_t)v->run.nsteps + 1, sizeof(*order)), count = 0;
	json_t *array = order != NULL ? json_array() : NULL;

	for (uint32_t i = 0; i < v->run.nsteps && order != NULL; i++)
		if (v->run.steps[i].started && v->run.steps[i].slow)
			order[count++] = i;
	if (count > 1)
		qsort_r(order, count, sizeof(*order), by_slowdown, v->run.steps);
	for (uint32_t i = 0; i < count && i < SLOWEST_SHOWN; i++)
		array = value_add(array, flow(v, order[i]));
	free(order);
	return array;
}

json_t *
page_generated(const struct verdict *v)
{
	if (!flows_alone(v))
		return json_null();
	return json_pack("{s:o, s:o, s:o}", "all", flows_all_json(v), "generators", flows_json(v), "slowest", slowest(v));
}
