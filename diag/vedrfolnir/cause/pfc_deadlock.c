/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PFC deadlock: paused ports wait for each other in a circle, and the slow step's flow waits for that circle, in it or
 * behind it. Hawkeye's distinction applies: it began in the loop, by the queues of the circle itself, or out of the
 * loop, where the pause of a storm or of a queue beyond the circle, which still stands, reached the circle.
 */
#include "common/array.h"
#include "diag/vedrfolnir/cause/cause.h"
#include "diag/vedrfolnir/cause/pfc_root.h"

struct circle {
	const struct prov_graph *graph;
	uint32_t component, size;
	uint32_t lowest; /* index of its lowest port, which names the circle */
	bool has_victim; /* its ports hold packets of the step's flow */
	uint32_t origin; /* global port id: root of the pauses beyond it, EV_NONE: none */
	bool is_storm;
	double weight; /* of that root */
};

static uint32_t
component_size(const struct prov_graph *graph, uint32_t component)
{
	uint32_t size = 0;

	for (uint32_t p = 0; p < graph->nports; p++)
		size += graph->ports[p].component == component;
	return size;
}

/* The victim waits for all of the graph. */
static struct circle
find_circle(const struct prov_graph *graph)
{
	struct circle circle = { .graph = graph, .lowest = EV_NONE, .origin = EV_NONE };

	for (uint32_t p = 0; p < graph->nports; p++) {
		uint32_t size = component_size(graph, graph->ports[p].component);

		if (size > 1 && (circle.lowest == EV_NONE || graph->ports[p].port < graph->ports[circle.lowest].port)) {
			circle.lowest = p;
			circle.component = graph->ports[p].component;
			circle.size = size;
		}
	}
	for (uint32_t p = 0; p < graph->nreached; p++)
		circle.has_victim |= graph->ports[p].component == circle.component;
	return circle;
}

static void
take_origin(const struct pfc_root *root, void *ctx)
{
	struct circle *circle = ctx;

	/* The index of a storm is that of the port that it pauses. */
	if (root->kind == PFC_ROOT_CONGESTED && circle->graph->ports[root->index].component == circle->component)
		return;
	if (root->weight <= circle->weight)
		return;
	circle->origin = root->port;
	circle->is_storm = root->kind != PFC_ROOT_CONGESTED;
	circle->weight = root->weight;
}

enum { CLAUSE_INSIDE, CLAUSE_BEHIND, CLAUSE_BY_LOOP, CLAUSE_BY_STORM, CLAUSE_BY_QUEUE };
#define CLAUSE_CIRCLE "{step}: {count} halted ports wait for each other in a circle, {port} among them; the flow "
static const char *const clauses[] = {
	[CLAUSE_INSIDE] = CLAUSE_CIRCLE "is part of it; ",
	[CLAUSE_BEHIND] = CLAUSE_CIRCLE "waits behind it; ",
	[CLAUSE_BY_LOOP] = "it began in the loop",
	[CLAUSE_BY_STORM] = "it began out of the loop, by pauses without a cause from {other}",
	[CLAUSE_BY_QUEUE] = "it began out of the loop, by the queue of {other}",
};

static struct finding_evidence
describe(const struct circle *circle, uint32_t step, uint32_t root)
{
	return (struct finding_evidence){
		.clauses = { circle->has_victim ? CLAUSE_INSIDE : CLAUSE_BEHIND, circle->origin == EV_NONE ? CLAUSE_BY_LOOP
										 : circle->is_storm        ? CLAUSE_BY_STORM
												    : CLAUSE_BY_QUEUE },
		.nclauses = 2,
		.step = step,
		.port = root,
		.other_port = circle->origin,
		.count = circle->size,
	};
}

static void
look(struct cause_set *set, uint32_t step)
{
	const struct cause_input *in = set->in;
	const struct prov_graph *graph = in->graphs[step];
	const struct run_step *s = &in->steps[step];
	struct cause_finding *finding;
	struct circle circle;
	uint32_t root;

	if (graph == NULL || !graph->cyclic || !s->slow)
		return;
	circle = find_circle(graph);
	root = graph->ports[circle.lowest].port;
	finding = cause_add(set, root, NULL, 0, step);
	if (finding == NULL)
		return;
	pfc_root_each(set, step, circle.lowest, take_origin, &circle);
	finding->out.origin_port = circle.origin;
	for (uint32_t p = 0; p < graph->nports; p++) {
		if (graph->ports[p].component != circle.component)
			continue;
		cause_port(set, finding, graph->ports[p].port);
		cause_time(finding, graph->ports[p].paused_from_ps, graph->ports[p].paused_to_ps);
	}
	cause_explains(finding, root, cause_excess_ps(in, step));
	if (cause_score(finding, cause_lost_frames(in, step, (double)(s->end_ps - s->start_ps))))
		finding->out.evidence = describe(&circle, step, root);
}

const struct cause cause_pfc_deadlock = {
	.type = { .key = "pfc-deadlock",
		  .title = "PFC deadlock",
		  .preposition = "at ",
		  .badge = "pfc",
		  .traits = FINDING_OF_PAUSES | FINDING_OF_CIRCLE | FINDING_OF_FAULT,
		  .clauses = clauses,
		  .nclauses = ARRAY_LEN(clauses) },
	.look = look,
};
