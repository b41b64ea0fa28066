/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/report/report.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/minmax.h"
#include "common/units.h"
#include "common/wire/detection.h"
#include "diag/report/facts.h"
#include "diag/report/flows.h"
#include "diag/report/json.h"
#include "diag/report/ledger.h"
#include "diag/vedrfolnir/section.h"
#include "diag/verdict.h"

/* The page's events, as columns: detections of hosts and their notifications, and polls of switches. */

/* A named list of numbers, one of each row. */
struct page_column {
	const char *key;
	json_int_t (*of)(const struct verdict *v, uint32_t row);
	bool rising; /* written as differences to the row before: shorter */
};

/* An index of the verdict as a number, RUN_NONE as -1. */
static inline json_int_t
page_index(uint32_t index)
{
	return index == RUN_NONE ? -1 : (json_int_t)index;
}

#define SHORTEST_RUN 3

static json_t *
page_indices(const uint32_t *indices, uint32_t count)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < count; i++)
		array = value_add(array, json_integer(page_index(indices[i])));
	return array;
}

/* A column's numbers so far, without the equal ones at their end. */
struct numbers {
	struct value_list list;
	json_int_t before; /* of the row before, in a rising column */
	json_int_t number; /* the last, */
	uint32_t times;    /* and how many of the last ones are equal to it */
};

/* A run of equal numbers is one pair [number, count]. */
static void
end_run(struct numbers *numbers)
{
	if (numbers->times >= SHORTEST_RUN) {
		value_list_pair(&numbers->list, numbers->number, numbers->times);
		numbers->times = 0;
	}
	for (; numbers->times != 0; numbers->times--)
		value_list_number(&numbers->list, numbers->number);
}

static void
add_rows(const struct verdict *v, const struct page_column *column, uint32_t first, uint32_t end, struct numbers *numbers)
{
	for (uint32_t i = first; i < end; i++) {
		json_int_t value = column->of(v, i), number = value - numbers->before;

		numbers->before = column->rising ? value : 0;
		if (numbers->times != 0 && number != numbers->number)
			end_run(numbers);
		numbers->number = number;
		numbers->times++;
	}
}

#define PAGE_MAX_COLUMNS 8
#define ROWS_AT_ONCE 1024 /* of all columns, while they are in a cache */

/*
 * {"count": rows, key: numbers, ...}; numbers: [n, ...], [n, times] for several equal ones, {"steps": numbers} if
 * rising.
 */
static json_t *
page_columns(const struct verdict *v, const struct page_column *columns, size_t ncolumns, uint32_t first, uint32_t count)
{
	json_t *object = json_pack("{s:I}", "count", (json_int_t)count);
	struct numbers numbers[PAGE_MAX_COLUMNS] = { 0 };
	bool all = true;

	assert(ncolumns <= PAGE_MAX_COLUMNS);
	for (uint32_t row = 0, end; row < count; row = end) {
		end = row + min_u32(ROWS_AT_ONCE, count - row);
		for (size_t k = 0; k < ncolumns; k++)
			add_rows(v, &columns[k], first + row, first + end, &numbers[k]);
	}
	for (size_t k = 0; k < ncolumns; k++) {
		json_t *array;

		end_run(&numbers[k]);
		array = value_list_end(&numbers[k].list);
		array = columns[k].rising ? json_pack("{s:o}", "steps", array) : array;
		all &= json_object_set_new(object, columns[k].key, array) == 0;
	}
	if (all)
		return object;
	json_decref(object);
	return NULL;
}

static json_int_t
detection_time(const struct verdict *v, uint32_t i)
{
	return (json_int_t)(v->run.detections[i].time_ps / PS_PER_NS);
}

static json_int_t
detection_step(const struct verdict *v, uint32_t i)
{
	return page_index(v->run.detections[i].step);
}

static json_int_t
detection_rtt(const struct verdict *v, uint32_t i)
{
	return (json_int_t)(v->run.detections[i].rtt_ps / PS_PER_NS);
}

static json_int_t
detection_threshold(const struct verdict *v, uint32_t i)
{
	return (json_int_t)(v->run.detections[i].threshold_ps / PS_PER_NS);
}

static json_int_t
detection_stall(const struct verdict *v, uint32_t i)
{
	return v->run.detections[i].cause == REC_TRIGGER_STALL;
}

static json_int_t
detection_left(const struct verdict *v, uint32_t i)
{
	return v->run.detections[i].remaining;
}

static json_t *
page_detections(const struct verdict *v)
{
	static const struct page_column columns[] = {
		{ .key = "time", .of = detection_time, .rising = true },
		{ .key = "step", .of = detection_step },
		{ .key = "rtt", .of = detection_rtt },
		{ .key = "threshold", .of = detection_threshold },
		{ .key = "stall", .of = detection_stall },
		{ .key = "left", .of = detection_left },
	};

	return page_columns(v, columns, ARRAY_LEN(columns), 0, v->run.ndetections);
}

static json_int_t
notification_time(const struct verdict *v, uint32_t i)
{
	return (json_int_t)(v->run.notifications[i].time_ps / PS_PER_NS);
}

static json_int_t
notification_from(const struct verdict *v, uint32_t i)
{
	return page_index(v->run.notifications[i].node);
}

static json_int_t
notification_detections(const struct verdict *v, uint32_t i)
{
	return v->run.notifications[i].detections;
}

static json_t *
page_notifications(const struct verdict *v)
{
	static const struct page_column columns[] = {
		{ .key = "time", .of = notification_time, .rising = true },
		{ .key = "from", .of = notification_from },
		{ .key = "detections", .of = notification_detections },
	};

	return page_columns(v, columns, ARRAY_LEN(columns), 0, v->run.nnotifications);
}

static json_int_t
poll_time(const struct verdict *v, uint32_t i)
{
	return (json_int_t)(v->run.polls[i].time_ps / PS_PER_NS);
}

static json_int_t
poll_flow(const struct verdict *v, uint32_t i)
{
	return page_index(v->run.polls[i].flow);
}

static json_int_t
poll_port(const struct verdict *v, uint32_t i)
{
	return page_index(v->run.polls[i].out_port);
}

static json_int_t
poll_paused(const struct verdict *v, uint32_t i)
{
	return v->run.polls[i].out_paused;
}

static json_t *
page_polls(const struct verdict *v)
{
	static const struct page_column columns[] = {
		{ .key = "time", .of = poll_time, .rising = true },
		{ .key = "flow", .of = poll_flow },
		{ .key = "port", .of = poll_port },
		{ .key = "paused", .of = poll_paused },
	};

	return page_columns(v, columns, ARRAY_LEN(columns), 0, v->run.npolls);
}

/* The page's view of flows without a collective: their times by size, the slowest, and the flows ahead of them. */

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
	return ORDER(a, b);
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

/* Flows without a collective; null: there is one. */
static json_t *
page_generated(const struct verdict *v)
{
	if (!flows_alone(v))
		return json_null();
	return json_pack("{s:o, s:o, s:o}", "all", flows_all_json(v), "generators", flows_json(v), "slowest", slowest(v));
}

/* The provenance graphs of the page, the most significant first. */

/* A graph, by the weight of its step. */
struct worth {
	uint32_t graph;
	bool critical;
	double excess;
};

static int
cmp_worth(const void *pa, const void *pb)
{
	const struct worth *a = pa, *b = pb;

	if (a->critical != b->critical)
		return a->critical ? -1 : 1;
	if (a->excess != b->excess)
		return a->excess > b->excess ? -1 : 1;
	return ORDER(a->graph, b->graph);
}

static json_t *
vertices(const struct provenance *g)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < g->nvertices; i++) {
		const struct provenance_vertex *p = &g->vertices[i];

		if (p->kind == PROVENANCE_PORT)
			array = value_add(array, json_pack("{s:I, s:b, s:b, s:o, s:o, s:o}", "port", (json_int_t)p->ref,
							   "paused", p->paused, "pausing", p->pausing, "packets",
							   value_real(p->packets), "depth_sum", value_real(p->depth_sum),
							   "pause_ns", value_real(p->pause_ps / PS_PER_NS)));
		else
			array = value_add(array, json_pack("{s:I, s:b, s:b}", "flow", (json_int_t)p->ref, "collective",
							   p->collective, "victim", p->victim));
	}
	return array;
}

/* [kind, from, to, weight] */
static json_t *
edges(const struct provenance *g)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < g->nedges; i++) {
		const struct provenance_edge *e = &g->edges[i];

		array = value_add(array, json_pack("[I, I, I, o]", (json_int_t)e->kind, (json_int_t)e->from,
						   (json_int_t)e->to, value_real(e->weight)));
	}
	return array;
}

/* [flow, score], largest first */
static json_t *
scores(const struct provenance *g)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < g->nscores; i++)
		array = value_add(array,
				  json_pack("[I, o]", (json_int_t)g->scores[i].flow, value_real(g->scores[i].score)));
	return array;
}

static json_t *
graph(const struct provenance *g)
{
	return json_pack("{s:I, s:o, s:o, s:b, s:b, s:o, s:o, s:o, s:o}", "step", (json_int_t)g->step, "from_ns",
			 value_ns(g->from_ps), "to_ns", value_ns(g->to_ps), "present", g->present, "cyclic", g->cyclic,
			 "covered_ns", value_real(g->covered_ps / PS_PER_NS), "vertices", vertices(g), "edges", edges(g),
			 "scores", scores(g));
}

/* @return all graphs, the most significant first; NULL: no memory */
static struct worth *
ordered(const struct verdict *v, const struct vedrfolnir *own)
{
	struct worth *order = calloc((size_t)own->ngraphs + 1, sizeof(*order));

	for (uint32_t i = 0; order != NULL && i < own->ngraphs; i++) {
		const struct run_step *step = &v->run.steps[own->graphs[i].step];

		order[i] = (struct worth){ i, vedrfolnir_step(v, step)->critical,
					   facts_excess(facts_exec_ps(step), step->expect_ps) };
	}
	if (order != NULL)
		qsort(order, own->ngraphs, sizeof(*order), cmp_worth);
	return order;
}

static json_t *
page_graphs(const struct verdict *v)
{
	static const struct vedrfolnir none;
	const struct vedrfolnir *own = vedrfolnir_of(v) != NULL ? vedrfolnir_of(v) : &none;
	struct worth *order = ordered(v, own);
	json_t *list = order != NULL ? json_array() : NULL;
	uint64_t used = 0;

	for (uint32_t i = 0; order != NULL && i < own->ngraphs; i++) {
		const struct provenance *g = &own->graphs[order[i].graph];

		if (g->nvertices == 0)
			continue;
		used += g->nedges;
		if (used > PAGE_MAX_GRAPH_EDGES && i > 0)
			break;
		list = value_add(list, graph(g));
	}
	free(order);
	return json_pack("{s:o, s:I}", "list", list, "all", (json_int_t)own->ngraphs);
}

/*
 * The page's steps and events, as columns. The common part of a collective's iterations is its schedule, written once.
 */

#define SCHEDULES_COMPARED 16 /* schedules that a collective's is compared with; like none of them: written again */

/* Bits of a step's state; model.js names them too. */
enum step_state {
	STEP_REPORTED = 1,
	STEP_STARTED = 2,
	STEP_OPEN = 4,
	STEP_CRITICAL = 8,
	STEP_SLOW = 16,
	STEP_PRUNED = 32,       /* no step waited for it */
	STEP_WAITED_OWN = 64,   /* for the first of its own that it depends on, */
	STEP_WAITED_DATA = 128, /* for the first of another rank; its other waits are in "rare" */
};

static const struct run_collective *
collective_of(const struct verdict *v, uint32_t step)
{
	return &v->run.collectives[v->run.steps[step].collective];
}

static json_int_t
rank_of(const struct verdict *v, uint32_t i)
{
	return v->run.steps[i].rank;
}

static json_int_t
number_of(const struct verdict *v, uint32_t i)
{
	return v->run.steps[i].step;
}

static json_int_t
flow_of(const struct verdict *v, uint32_t i)
{
	return page_index(v->run.steps[i].flow);
}

static json_int_t
host_of(const struct verdict *v, uint32_t i)
{
	return page_index(v->run.steps[i].host);
}

/* The first dependency on a step of the collective, of its own rank or of another one; RUN_NONE: there is none. */
static uint32_t
first_dep(const struct verdict *v, uint32_t i, bool own)
{
	const struct run_step *step = &v->run.steps[i];

	for (uint32_t d = step->first_dep; d < step->first_dep + step->ndeps; d++) {
		const struct run_step *on = &v->run.steps[v->run.depends[d]];

		if (on->collective == step->collective && (on->rank == step->rank) == own)
			return v->run.depends[d];
	}
	return RUN_NONE;
}

/* The distance to its first dependency of its own rank, in steps; 0: there is none. */
static json_int_t
own_of(const struct verdict *v, uint32_t i)
{
	uint32_t on = first_dep(v, i, true);

	return on == RUN_NONE ? 0 : (json_int_t)i - on;
}

/* Within the collective. */
static json_int_t
depends_of(const struct verdict *v, uint32_t i)
{
	uint32_t on = first_dep(v, i, false);

	return on == RUN_NONE ? -1 : (json_int_t)on - collective_of(v, i)->first_step;
}

static json_int_t
expect_of(const struct verdict *v, uint32_t i)
{
	return (json_int_t)(v->run.steps[i].expect_ps / PS_PER_NS);
}

static const struct page_column schedule_columns[] = {
	{ .key = "rank", .of = rank_of, .rising = true },
	{ .key = "step", .of = number_of, .rising = true },
	{ .key = "flow", .of = flow_of },
	{ .key = "host", .of = host_of },
	{ .key = "own", .of = own_of },
	{ .key = "depends", .of = depends_of, .rising = true },
	{ .key = "expect_ns", .of = expect_of },
};

/* From the collective's own start: fewer digits. */
static json_int_t
start_of(const struct verdict *v, uint32_t i)
{
	return (json_int_t)(v->run.steps[i].start_ps / PS_PER_NS) - (json_int_t)(collective_of(v, i)->start_ps / PS_PER_NS);
}

static json_int_t
took_of(const struct verdict *v, uint32_t i)
{
	return (json_int_t)(facts_exec_ps(&v->run.steps[i]) / PS_PER_NS);
}

static json_int_t
state_of(const struct verdict *v, uint32_t i)
{
	const struct run_step *s = &v->run.steps[i];
	const struct vedrfolnir *own = vedrfolnir_of(v);
	uint32_t in = collective_of(v, i)->in, end = WGRAPH_END(i - v->run.iterations[in].first_step);
	json_int_t state = 0;

	state |= s->reported ? STEP_REPORTED : 0;
	state |= s->started ? STEP_STARTED : 0;
	state |= s->open ? STEP_OPEN : 0;
	state |= s->slow ? STEP_SLOW : 0;
	if (own != NULL) {
		state |= own->steps[i].critical ? STEP_CRITICAL : 0;
		state |= own->waiting[in].vertices[end].pruned ? STEP_PRUNED : 0;
	}
	if (s->waited_for != RUN_NONE) {
		state |= s->waited_for == first_dep(v, i, true) ? STEP_WAITED_OWN : 0;
		state |= s->waited_for == first_dep(v, i, false) ? STEP_WAITED_DATA : 0;
	}
	return state;
}

static const struct page_column time_columns[] = {
	{ .key = "start", .of = start_of, .rising = true },
	{ .key = "took", .of = took_of },
	{ .key = "state", .of = state_of },
};

/* The step that it waited for, where its state does not show it: index into run.steps, -1. */
static json_int_t
waited_of(const struct verdict *v, uint32_t i)
{
	uint32_t on = v->run.steps[i].waited_for;

	return on == RUN_NONE || on == first_dep(v, i, true) || on == first_dep(v, i, false) ? -1 : page_index(on);
}

/*
 * The properties of few steps: host's delays, retransmissions, telemetry that did not arrive, another wait than most.
 */
static json_t *
rare(const struct verdict *v, const struct run_collective *c)
{
	json_t *array = json_array();

	for (uint32_t i = c->first_step; i < c->first_step + c->nsteps; i++) {
		const struct run_step *s = &v->run.steps[i];
		json_int_t waited = waited_of(v, i);

		if (s->late_ps != 0 || s->long_ps != 0 || s->retransmits != 0 || s->completeness < 1 || waited >= 0)
			array = value_add(array, json_pack("{s:I, s:o, s:o, s:I, s:o, s:I}", "step",
							   (json_int_t)(i - c->first_step), "late_ns", value_ns(s->late_ps),
							   "long_ns", value_ns(s->long_ps), "retransmits",
							   (json_int_t)s->retransmits, "completeness",
							   value_real(s->completeness), "waited", waited));
	}
	return array;
}

/* Dependencies that the columns do not show: [step, its dependency], within the collective. */
static json_t *
further_deps(const struct verdict *v, const struct run_collective *c)
{
	json_t *array = json_array();

	for (uint32_t i = c->first_step; i < c->first_step + c->nsteps; i++) {
		const struct run_step *step = &v->run.steps[i];
		uint32_t own = first_dep(v, i, true), data = first_dep(v, i, false);

		for (uint32_t d = step->first_dep; d < step->first_dep + step->ndeps; d++) {
			uint32_t on = v->run.depends[d];

			if (on != own && on != data)
				array = value_add(array, json_pack("[I, I]", (json_int_t)(i - c->first_step),
								   (json_int_t)on - c->first_step));
		}
	}
	return array;
}

static bool
same_deps(const struct verdict *v, const struct run_collective *a, const struct run_collective *b, uint32_t i)
{
	const struct run_step *x = &v->run.steps[a->first_step + i], *y = &v->run.steps[b->first_step + i];

	for (uint32_t d = 0; x->ndeps == y->ndeps && d < x->ndeps; d++) {
		if (v->run.depends[x->first_dep + d] - a->first_step != v->run.depends[y->first_dep + d] - b->first_step)
			return false;
	}
	return x->ndeps == y->ndeps;
}

static bool
same_schedule(const struct verdict *v, const struct run_collective *a, const struct run_collective *b)
{
	if (a->nsteps != b->nsteps)
		return false;
	for (uint32_t i = 0; i < a->nsteps; i++) {
		if (!same_deps(v, a, b, i))
			return false;
		for (size_t k = 0; k < ARRAY_LEN(schedule_columns); k++) {
			if (schedule_columns[k].of(v, a->first_step + i) != schedule_columns[k].of(v, b->first_step + i))
				return false;
		}
	}
	return true;
}

/* The collectives whose schedules are written: the first of each kind. */
struct schedules {
	uint32_t of[SCHEDULES_COMPARED]; /* collectives */
	uint32_t count;                  /* all; the last SCHEDULES_COMPARED of them are known */
};

/* @return the number of the schedule of a collective; a new one is remembered */
static uint32_t
schedule_number(struct schedules *s, const struct verdict *v, uint32_t collective, bool *new)
{
	for (uint32_t n = s->count; n > 0 && s->count - n < SCHEDULES_COMPARED; n--) {
		*new = false;
		if (same_schedule(v, &v->run.collectives[s->of[(n - 1) % SCHEDULES_COMPARED]],
				  &v->run.collectives[collective]))
			return n - 1;
	}
	*new = true;
	s->of[s->count % SCHEDULES_COMPARED] = collective;
	return s->count++;
}

/* The worst collective always, others from the first on while there is room. */
static bool
has_room(const struct verdict *v, uint32_t collective, uint32_t worst, uint64_t *used)
{
	if (collective == worst)
		return true;
	*used += v->run.collectives[collective].nsteps;
	return *used <= PAGE_MAX_STEPS;
}

/* The part of the critical path that is in the collective. */
static json_t *
path(const struct verdict *v, const struct run_collective *c)
{
	const struct vedrfolnir *own = vedrfolnir_of(v);
	json_t *array = json_array();

	for (uint32_t i = 0; own != NULL && i < own->waiting[c->in].npath; i++) {
		uint32_t step = own->waiting[c->in].path[i];

		if (step >= c->first_step && step < c->first_step + c->nsteps)
			array = value_add(array, json_integer(page_index(step)));
	}
	return array;
}

static int
add_steps(const struct verdict *v, uint32_t collective, uint32_t schedule, json_t *item)
{
	const struct run_collective *c = &v->run.collectives[collective];
	json_t *steps = page_columns(v, time_columns, ARRAY_LEN(time_columns), c->first_step, c->nsteps);

	if (json_object_set_new(steps, "schedule", json_integer(schedule)) != 0 ||
	    json_object_set_new(steps, "rare", rare(v, c)) != 0 || json_object_set_new(steps, "path", path(v, c)) != 0) {
		json_decref(steps);
		return -1;
	}
	return json_object_set_new(item, "steps", steps);
}

/* A collective's schedule, to which iterations alike refer. */
static json_t *
schedule(const struct verdict *v, const struct run_collective *c)
{
	json_t *columns = page_columns(v, schedule_columns, ARRAY_LEN(schedule_columns), c->first_step, c->nsteps);

	if (columns != NULL && json_object_set_new(columns, "further", further_deps(v, c)) != 0) {
		json_decref(columns);
		return NULL;
	}
	return columns;
}

static int
add_summary(const struct verdict *v, const struct run_collective *c, json_t *item)
{
	json_t *more = json_pack("{s:o, s:I, s:I, s:I, s:s, s:s}", "took_ns", value_ns(facts_took_ps(v, c)), "done",
				 (json_int_t)facts_done(v, c), "first_step", (json_int_t)c->first_step, "nsteps",
				 (json_int_t)c->nsteps, "algorithm_title", facts_algorithm_name(c->algorithm), "op_title",
				 facts_op_name(c->op));
	int rc = json_object_update(item, more);

	json_decref(more);
	return rc;
}

/* @param[in,out] root  verdict.json: its collectives get their steps, and it the schedules  @return 0 or -1 */
static int
page_add_steps(const struct verdict *v, json_t *root)
{
	json_t *collectives = json_object_get(root, "collectives"), *written = json_array(), *item;
	struct schedules schedules = { 0 };
	uint32_t worst = facts_of(v).worst;
	uint64_t used = 0;
	size_t i;

	json_array_foreach(collectives, i, item) {
		const struct run_collective *c = &v->run.collectives[i];
		bool new = false;
		int rc = add_summary(v, c, item);

		if (rc == 0 && has_room(v, (uint32_t)i, worst, &used))
			rc = add_steps(v, (uint32_t)i, schedule_number(&schedules, v, (uint32_t)i, &new), item);
		if (new)
			written = value_add(written, schedule(v, c));
		if (rc != 0) {
			json_decref(written);
			return -1;
		}
	}
	return json_object_set_new(root, "schedules", written);
}

#define REAL_DIGITS 7

static json_t *document(const struct verdict *v);

int
page_write(const struct verdict *v, const char *page, FILE *to)
{
	const char *mark = strstr(page, PAGE_DATA_MARK);
	json_t *data = document(v);
	int rc;

	if (data == NULL)
		return -ENOMEM;
	fwrite(page, 1, (size_t)(mark - page), to);
	rc = json_write_page(data, REAL_DIGITS, to);
	json_decref(data);
	fputs(mark + strlen(PAGE_DATA_MARK), to);
	return rc == 0 && !ferror(to) ? 0 : -EIO;
}

/* A page has one unit, and that is ms from the first one on: its time axis is read by people. */
static struct facts
facts_of_page(const struct verdict *v)
{
	struct facts facts = facts_of(v);

	if (facts.longest_ps >= PS_PER_MS && facts.unit.ps < PS_PER_MS)
		facts.unit = (struct fmt_unit){ "ms", PS_PER_MS };
	return facts;
}

static json_t *
run(const struct verdict *v)
{
	struct facts facts = facts_of_page(v);
	json_int_t root = facts_root(v) != NULL ? facts_root(v) - v->findings : -1;
	json_int_t first = facts_first(v) != NULL ? facts_first(v) - v->findings : -1;
	char headline[FACTS_TEXT], conclusion[FACTS_TEXT], lost[FACTS_TEXT], late[FACTS_TEXT], twins[FACTS_REASON];

	return json_pack("{s:o, s:s, s:I, s:I, s:s, s:f, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "name",
			 value_text(v->run.name), "policy", facts_policy_name(v->run.config.policy), "detections",
			 (json_int_t)v->run.config.detections, "rtt_percent", (json_int_t)v->run.config.rtt_percent, "unit",
			 facts.unit.name, "unit_ns", (double)facts.unit.ps / (double)PS_PER_NS, "worst",
			 page_index(facts.worst), "root", root, "first", first, "headline",
			 value_text(facts_headline(&facts, headline, sizeof(headline))), "conclusion",
			 value_text(facts_conclusion(&facts, conclusion, sizeof(conclusion))), "recording_lost",
			 value_text(facts_recording_lost(&facts, lost, sizeof(lost)) != NULL ? lost : ""), "lateness",
			 value_text(facts_lateness(&facts, late, sizeof(late)) != NULL ? late : ""), "twins",
			 value_text(facts_twins(&facts, twins) != NULL ? twins : ""));
}

static json_t *
nodes(const struct verdict *v)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < v->run.nnodes; i++)
		array = value_add(array, json_pack("{s:o, s:b}", "name", value_text(v->run.nodes[i].name), "host",
						   v->run.nodes[i].host));
	return array;
}

/* The telemetry of a port; nothing of a port without telemetry. */
static int
add_activity(json_t *to, const struct run_port *port)
{
	json_t *activity = json_pack("{s:I, s:I, s:I, s:o, s:I, s:I, s:I}", "bytes", (json_int_t)port->bytes, "packets",
				     (json_int_t)port->packets, "depth_max", (json_int_t)port->depth_max, "pause_ns",
				     value_ns(port->pause_ps), "pauses_received", (json_int_t)port->pauses_received,
				     "pauses_sent", (json_int_t)port->pauses_sent, "drops", (json_int_t)port->drops);

	return json_object_set_new(to, "reported", activity);
}

static json_t *
ports(const struct verdict *v)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < v->run.nports; i++) {
		const struct run_port *port = &v->run.ports[i];
		json_t *item = json_pack("{s:o, s:I, s:I, s:I, s:I}", "name", value_text(port->name), "node",
					 page_index(port->node), "peer_node", page_index(port->peer_node), "peer_port",
					 page_index(port->peer_port), "rate_bps", (json_int_t)port->rate_bps);

		if (port->reported && add_activity(item, port) != 0) {
			json_decref(array);
			array = NULL;
		}
		array = value_add(array, item);
	}
	return array;
}

/* @param[in,out] hop  the first hop of the flow or a later flow; moved behind the flow's own */
static json_t *
flow_path(const struct verdict *v, uint32_t flow, uint32_t *hop)
{
	json_t *array = json_array();

	for (; *hop < v->run.nhops && v->run.hops[*hop].flow <= flow; (*hop)++) {
		if (v->run.hops[*hop].flow == flow && !v->run.hops[*hop].reverse)
			array = value_add(array, json_integer(page_index(v->run.hops[*hop].port)));
	}
	return array;
}

static json_t *
flows(const struct verdict *v)
{
	json_t *array = json_array();
	uint32_t hop = 0;
	char name[96];

	for (uint32_t i = 0; i < v->run.nflows; i++)
		array = value_add(array, json_pack("{s:o, s:o, s:b, s:o}", "name", value_text(v->run.flows[i].name),
						   "short", value_text(facts_flow(v, i, name, sizeof(name))), "collective",
						   v->run.flows[i].collective, "path", flow_path(v, i, &hop)));
	return array;
}

static json_t *
collectives_at(const struct finding *finding)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < finding->nparts; i++)
		array = value_add(array, json_integer(page_index(finding->parts[i].collective)));
	return array;
}

/* verdict.json names flows, ports and steps; drawings want them by index. @return 0 or -1 */
static int
add_references(const struct verdict *v, json_t *findings)
{
	struct facts facts = facts_of_page(v);
	struct facts_shown shown;
	json_t *item;
	size_t i;
	int rc = facts_shown_init(&shown, &facts);

	if (rc != 0)
		return -1;
	json_array_foreach(findings, i, item) {
		const struct finding *f = &v->findings[i];
		char sentence[FACTS_TEXT], cost[96], parts[FACTS_TEXT];
		json_t *more = json_pack(
			"{s:s, s:s, s:b, s:o, s:I, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "title", f->type->title,
			"family", f->type->badge, "untimed", (f->type->traits & FINDING_UNTIMED) != 0, "sentence",
			value_text(facts_finding(v, f, sentence, sizeof(sentence))), "collective_at",
			page_index(f->collective), "collectives_at", collectives_at(f), "root_at", page_index(f->root_port),
			"ports_at", page_indices(f->ports, f->nports), "flows_at", page_indices(f->flows, f->nflows),
			"victims_at", page_indices(f->victims, f->nvictims), "steps_at", page_indices(f->steps, f->nsteps),
			"everywhere_ns", value_real(f->explained_ps / PS_PER_NS), "cost",
			value_text(facts_cost(&facts, &shown, f, cost, sizeof(cost))), "parts",
			value_text(facts_parts(&facts, f, parts, sizeof(parts))));

		rc = json_object_update(item, more);
		json_decref(more);
		if (rc != 0)
			break;
	}
	facts_shown_fini(&shown);
	return rc != 0 ? -1 : 0;
}

static int
add_contributor_references(const struct verdict *v, json_t *contributors)
{
	json_t *item;
	size_t i;

	json_array_foreach(contributors, i, item) {
		const struct contributor *c = &vedrfolnir_of(v)->contributors[i];
		json_t *steps = json_array();

		for (uint32_t s = 0; s < c->nshares; s++)
			steps = value_add(steps, json_integer(page_index(c->shares[s].step)));
		if (json_object_set_new(item, "flow_at", json_integer(page_index(c->flow))) != 0 ||
		    json_object_set_new(item, "steps_at", steps) != 0)
			return -1;
	}
	return 0;
}

/* verdict.json, without the critical path, which the steps show, and the additional data of drawings. */
static json_t *
document(const struct verdict *v)
{
	json_t *root = json_document(v);
	json_t *more = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "run", run(v), "generated",
				 page_generated(v), "nodes", nodes(v), "ports", ports(v), "flows", flows(v), "graphs",
				 page_graphs(v), "ledger", page_ledger(v), "detections", page_detections(v),
				 "notifications", page_notifications(v), "polls", page_polls(v));

	if (root == NULL || json_object_update(root, more) != 0 ||
	    add_references(v, json_object_get(root, "findings")) != 0 ||
	    add_contributor_references(v, json_object_get(root, "contributors")) != 0 || page_add_steps(v, root) != 0) {
		json_decref(root);
		root = NULL;
	} else {
		json_object_del(root, "critical_path");
	}
	json_decref(more);
	return root;
}
