/* SPDX-License-Identifier: BSD-3-Clause */
/* The page's steps and events, as columns. What iterations of a collective have in common is its schedule, written once. */
#include "common/array.h"
#include "common/units.h"
#include "diag/report/facts.h"
#include "diag/report/page.h"
#include "diag/report/page_data.h"
#include "diag/vedrfolnir/section.h"

#define SCHEDULES_COMPARED 16 /* how many a collective's schedule is compared with; like none of them: written again */

/* Bits of a step's state; model.js names them too. */
enum step_state {
	STEP_REPORTED = 1,
	STEP_STARTED = 2,
	STEP_OPEN = 4,
	STEP_CRITICAL = 8,
	STEP_SLOW = 16,
	STEP_PRUNED = 32,       /* nobody waited for it */
	STEP_WAITED_OWN = 64,   /* for the first of its own that it depends on, */
	STEP_WAITED_DATA = 128, /* for the first of another rank; what else it waited for is in "rare" */
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

/* So many steps before; 0: there is none. */
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

/* What it waited for, where its state does not say so: index into run.steps, -1. */
static json_int_t
waited_of(const struct verdict *v, uint32_t i)
{
	uint32_t on = v->run.steps[i].waited_for;

	return on == first_dep(v, i, true) || on == first_dep(v, i, false) ? -1 : page_index(on);
}

/* What few steps have: host's delays, sent again, telemetry that did not arrive, another wait than most. */
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

/* Dependencies that the columns do not say: [step, what it depends on], within the collective. */
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

int
page_add_steps(const struct verdict *v, json_t *root)
{
	json_t *collectives = json_object_get(root, "collectives"), *written = json_array(), *item;
	struct schedules schedules = { 0 };
	uint32_t worst = facts_of(v).worst;
	uint64_t used = 0;
	size_t i;

	json_array_foreach(collectives, i, item)
	{
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
