/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost of flow paths to jobs: links that flows shared while others of equal cost had room. */
#include "diag/flowtracer/section.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/minmax.h"
#include "diag/diagnoser.h"
#include "diag/run/fill.h"
#include "diag/run/run.h"

/* The time that jobs would save if some steps took less: each iteration is replayed with its dependencies and gaps. */

/* Room for it, made once for all of a run's questions. */
struct regain {
	const struct run *run;
	uint32_t *order;  /* [nsteps] of each iteration in the order of starts */
	double *end_ps;   /* [nsteps] scratch */
	double *saved_ps; /* [nsteps] that a step takes less; the caller's to set, and to zero again */
};

static int
cmp_start(const void *pa, const void *pb, void *of)
{
	const struct run_step *steps = of;
	uint32_t i = *(const uint32_t *)pa, j = *(const uint32_t *)pb;
	const struct run_step *a = &steps[i], *b = &steps[j];

	if (a->start_ps != b->start_ps)
		return a->start_ps < b->start_ps ? -1 : 1;
	if (a->end_ps != b->end_ps)
		return a->end_ps < b->end_ps ? -1 : 1;
	return ORDER(i, j);
}

/* @return 0 or -ENOMEM with err; regain_fini() in both cases */
static int
regain_init(struct regain *regain, const struct run *run, struct err *err)
{
	*regain = (struct regain){ .run = run,
				   .order = run_alloc(run->nsteps, sizeof(*regain->order), err),
				   .end_ps = run_alloc(run->nsteps, sizeof(*regain->end_ps), err),
				   .saved_ps = run_alloc(run->nsteps, sizeof(*regain->saved_ps), err) };
	if (regain->order == NULL || regain->end_ps == NULL || regain->saved_ps == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < run->nsteps; i++)
		regain->order[i] = i;
	for (uint32_t i = 0; i < run->niterations; i++)
		qsort_r(&regain->order[run->iterations[i].first_step], run->iterations[i].nsteps, sizeof(*regain->order),
			cmp_start, run->steps);
	return 0;
}

static void
regain_fini(struct regain *regain)
{
	free(regain->order);
	free(regain->end_ps);
	free(regain->saved_ps);
}

/* A step's new end, when those of all that started before are known. */
static double
end_of(const struct regain *regain, uint32_t index)
{
	const struct run_step *step = &regain->run->steps[index];
	double took_ps = (double)(step->end_ps - step->start_ps) - regain->saved_ps[index];
	double was_ps = -1, is_ps = -1;

	for (uint32_t d = step->first_dep; d < step->first_dep + step->ndeps; d++) {
		uint32_t on = regain->run->depends[d];

		if (!regain->run->steps[on].started || regain->run->steps[on].end_ps > step->start_ps)
			continue;
		was_ps = fmax(was_ps, (double)regain->run->steps[on].end_ps);
		is_ps = fmax(is_ps, regain->end_ps[on]);
	}
	return (was_ps >= 0 ? is_ps + (double)step->start_ps - was_ps : (double)step->start_ps) + took_ps;
}

/* Has a host several NICs? Then expected times have the one that each flow took, which another placement may change. */
static bool
has_rails(const struct run *run)
{
	bool several = false;

	for (uint32_t n = 0; n < run->nnodes; n++)
		several |= run->nodes[n].host && run->nodes[n].nports > 1;
	return several;
}

/* What an iteration took beyond its expected time: no placement makes one of its collectives take less. */
static double
most_regained_ps(const struct run *run, const struct run_iteration *iteration)
{
	uint64_t least_ps = 0, took_ps = iteration->end_ps - iteration->start_ps;

	if (!iteration->complete || has_rails(run))
		return INFINITY;
	for (uint32_t c = iteration->first_collective; c < iteration->first_collective + iteration->ncollectives; c++)
		least_ps = max_u64(least_ps, run->collectives[c].expect_ps);
	return took_ps > least_ps ? (double)(took_ps - least_ps) : 0;
}

/*
 * Of an iteration: a step starts as long after the last that it depends on as it did, without any when it did. Of flows
 * without a collective, each is for itself: what all of them save.
 * @return by how much it ends earlier, or that sum
 */
static double
regain_iteration_ps(struct regain *regain, const struct run_iteration *iteration)
{
	const struct run *run = regain->run;
	bool flows = run_is_flows(&run->collectives[iteration->first_collective]);
	double was_ps = 0, is_ps = 0, sum_ps = 0;

	for (uint32_t i = iteration->first_step; i < iteration->first_step + iteration->nsteps; i++) {
		uint32_t index = regain->order[i];

		if (!run->steps[index].started)
			continue;
		regain->end_ps[index] = end_of(regain, index);
		was_ps = fmax(was_ps, (double)run->steps[index].end_ps);
		is_ps = fmax(is_ps, regain->end_ps[index]);
		sum_ps += regain->saved_ps[index];
	}
	return flows ? sum_ps : fmax(0, fmin(was_ps - is_ps, most_regained_ps(run, iteration)));
}

/* ---- which steps are judged ---- */

static bool
sends(const struct run_step *step)
{
	return step->started && !run_is_local(step) && step->end_ps > step->start_ps;
}

static uint32_t
count_longer(const struct run *run, uint64_t than_ps)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < run->nsteps; i++)
		count += sends(&run->steps[i]) && run->steps[i].end_ps - run->steps[i].start_ps > than_ps;
	return count;
}

/* Steps that send, the longest if they are too many. @return their number, in the order of steps */
static uint32_t
choose(struct flowtracer *own, const struct run *run, struct flowtracer_judged *judged)
{
	uint32_t all = count_longer(run, 0), count = 0, room;
	uint64_t low_ps = 0, high_ps = run->end_ps;

	/* The least length above which there are no more than that. */
	while (all > FLOWTRACER_MOST_JUDGED && low_ps < high_ps) {
		uint64_t middle_ps = low_ps + (high_ps - low_ps) / 2;

		if (count_longer(run, middle_ps) > FLOWTRACER_MOST_JUDGED)
			low_ps = middle_ps + 1;
		else
			high_ps = middle_ps;
	}
	room = FLOWTRACER_MOST_JUDGED - min_u32(count_longer(run, low_ps), FLOWTRACER_MOST_JUDGED);
	for (uint32_t i = 0; i < run->nsteps; i++) {
		uint64_t took_ps = run->steps[i].end_ps - run->steps[i].start_ps;

		if (!sends(&run->steps[i]) || took_ps < low_ps || (took_ps == low_ps && room == 0))
			continue;
		room -= took_ps == low_ps;
		judged[count++] = (struct flowtracer_judged){ .step = i };
	}
	own->unjudged = all - count;
	return count;
}

/* ---- the links that they share ---- */

static int
cmp_judged(const void *pa, const void *pb)
{
	const struct flowtracer_judged *a = pa, *b = pb;

	if (a->port != b->port)
		return a->port < b->port ? -1 : 1;
	return ORDER(a->step, b->step);
}

static bool
crosses(const struct flowtracer *own, uint32_t flow, uint64_t time_ps, uint32_t port)
{
	const struct flowtracer_path *path = flowtracer_path_of(own, flow, time_ps);

	for (uint32_t h = 0; path != NULL && h < path->nhops; h++)
		if (own->hops[path->first + h].port == port)
			return true;
	return false;
}

/* When a flow was active. */
struct spell {
	uint32_t flow;
	uint64_t start_ps, end_ps;
};

/* Those of flows on a link. @return their number */
static uint32_t
list_spells(const struct flowtracer *own, const struct run *run, uint32_t port, bool *stepped, struct spell *spells)
{
	uint32_t count = 0;

	memset(stepped, 0, run->nflows * sizeof(*stepped));
	for (uint32_t i = 0; i < run->nsteps; i++) {
		const struct run_step *step = &run->steps[i];

		if (run_is_local(step) || !step->started)
			continue;
		stepped[step->flow] = true;
		if (crosses(own, step->flow, step->start_ps, port))
			spells[count++] = (struct spell){ step->flow, step->start_ps, step->end_ps };
	}
	for (uint32_t i = 0; i < own->npaths; i++) {
		uint32_t flow = own->paths[i].flow;

		if (stepped[flow] || own->paths[i].messages == 0 || !crosses(own, flow, UINT64_MAX, port))
			continue;
		stepped[flow] = true;
		spells[count++] = (struct spell){ flow, 0, run->end_ps };
	}
	return count;
}

struct contender {
	uint32_t flow;
	double ps;
};

static int
cmp_contender(const void *pa, const void *pb)
{
	const struct contender *a = pa, *b = pb;

	if (a->ps != b->ps)
		return a->ps > b->ps ? -1 : 1;
	return ORDER(a->flow, b->flow);
}

/* Room that collisions share. */
struct scratch {
	bool *stepped;                /* [nflows] */
	struct spell *spells;         /* [nsteps + npaths] */
	struct contender *contenders; /* [nflows] */
};

/* Which flows shared the link with steps that lost there, themselves included. */
static int
name_flows(const struct flowtracer *own, const struct run *run, struct flowtracer_collision *c, struct scratch *scratch,
	   struct err *err)
{
	uint32_t nspells = list_spells(own, run, c->port, scratch->stepped, scratch->spells), count = 0;

	for (uint32_t f = 0; f < run->nflows; f++)
		scratch->contenders[f] = (struct contender){ .flow = f };
	for (uint32_t i = 0; i < nspells; i++) {
		const struct spell *spell = &scratch->spells[i];

		for (uint32_t s = 0; s < c->nsteps; s++) {
			const struct run_step *step = &run->steps[c->steps[s]];
			uint64_t from_ps = max_u64(spell->start_ps, step->start_ps);
			uint64_t to_ps = min_u64(spell->end_ps, step->end_ps);

			scratch->contenders[spell->flow].ps += to_ps > from_ps ? (double)(to_ps - from_ps) : 0;
		}
	}
	qsort(scratch->contenders, run->nflows, sizeof(*scratch->contenders), cmp_contender);
	while (count < run->nflows && scratch->contenders[count].ps > 0)
		count++;
	c->flows = run_alloc(count, sizeof(*c->flows), err);
	for (uint32_t i = 0; c->flows != NULL && i < count; i++)
		c->flows[c->nflows++] = scratch->contenders[i].flow;
	return c->flows != NULL ? 0 : -ENOMEM;
}

/* Of judged steps that lost most on one link. */
static int
sum_up(const struct run *run, const struct flowtracer_judged *judged, uint32_t count, struct flowtracer_collision *c,
       struct err *err)
{
	double most_ps = -1;

	*c = (struct flowtracer_collision){ .port = judged[0].port, .start_ps = UINT64_MAX };
	c->steps = run_alloc(count, sizeof(*c->steps), err);
	c->lost_ps = run_alloc(count, sizeof(*c->lost_ps), err);
	c->all_ps = run_alloc(count, sizeof(*c->all_ps), err);
	if (c->steps == NULL || c->lost_ps == NULL || c->all_ps == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const struct run_step *step = &run->steps[judged[i].step];

		c->lost_ps[c->nsteps] = judged[i].cost_ps;
		c->all_ps[c->nsteps] = judged[i].all_ps;
		c->steps[c->nsteps++] = judged[i].step;
		c->steps_ps += judged[i].cost_ps;
		c->start_ps = min_u64(c->start_ps, step->start_ps);
		c->end_ps = max_u64(c->end_ps, step->end_ps);
		if (judged[i].cost_ps <= most_ps)
			continue;
		most_ps = judged[i].cost_ps;
		c->step = judged[i].step;
		c->other = judged[i].other;
		c->most = judged[i].most;
		c->least = judged[i].least;
	}
	return 0;
}

/* @param judged  sorted by port; those without one are last */
static int
join(struct flowtracer *own, const struct run *run, const struct flowtracer_judged *judged, uint32_t count, struct err *err)
{
	struct scratch scratch = { .stepped = run_alloc(run->nflows, sizeof(*scratch.stepped), err),
				   .spells = run_alloc((size_t)run->nsteps + own->npaths, sizeof(*scratch.spells), err),
				   .contenders = run_alloc(run->nflows, sizeof(*scratch.contenders), err) };
	int rc = scratch.stepped != NULL && scratch.spells != NULL && scratch.contenders != NULL ? 0 : -ENOMEM;
	uint32_t links = 0;

	for (uint32_t i = 0; i < count; i++)
		links += judged[i].port != RUN_NONE && (i == 0 || judged[i].port != judged[i - 1].port);
	own->collisions = run_alloc(links, sizeof(*own->collisions), err);
	if (own->collisions == NULL)
		rc = -ENOMEM;
	for (uint32_t first = 0, end; rc == 0 && first < count && judged[first].port != RUN_NONE; first = end) {
		struct flowtracer_collision *c = &own->collisions[own->ncollisions];

		for (end = first; end < count && judged[end].port == judged[first].port;)
			end++;
		rc = sum_up(run, &judged[first], end - first, c, err);
		own->ncollisions++;
		if (rc == 0)
			rc = name_flows(own, run, c, &scratch, err);
	}
	free(scratch.stepped);
	free(scratch.spells);
	free(scratch.contenders);
	return rc;
}

/* ---- their cost to jobs ---- */

/* @param each_ps  [c->nsteps] that its steps take less */
static void
save(struct regain *regain, const struct flowtracer_collision *c, const double *each_ps, double sign)
{
	for (uint32_t i = 0; i < c->nsteps; i++)
		regain->saved_ps[c->steps[i]] += sign * each_ps[i];
}

/* Of iterations that a collision touches; its steps are in order. */
static double
regained_ps(struct regain *regain, const struct flowtracer_collision *c)
{
	const struct run *run = regain->run;
	double sum_ps = 0;
	uint32_t before = RUN_NONE;

	save(regain, c, c->lost_ps, 1);
	for (uint32_t i = 0; i < c->nsteps; i++) {
		uint32_t in = run->collectives[run->steps[c->steps[i]].collective].in;

		if (in != before)
			sum_ps += regain_iteration_ps(regain, &run->iterations[in]);
		before = in;
	}
	save(regain, c, c->lost_ps, -1);
	return sum_ps;
}

static int
cost_jobs(struct flowtracer *own, const struct run *run, struct err *err)
{
	struct regain regain;
	int rc = regain_init(&regain, run, err);

	for (uint32_t i = 0; rc == 0 && i < own->ncollisions; i++)
		own->collisions[i].cost_ps = regained_ps(&regain, &own->collisions[i]);
	for (uint32_t i = 0; rc == 0 && i < own->ncollisions; i++)
		save(&regain, &own->collisions[i], own->collisions[i].all_ps, 1);
	for (uint32_t i = 0; rc == 0 && i < run->niterations; i++)
		own->cost_ps += regain_iteration_ps(&regain, &run->iterations[i]);
	regain_fini(&regain);
	return rc;
}

int
flowtracer_collisions(struct flowtracer *own, const struct run *run, struct err *err)
{
	struct flowtracer_judged *judged = run_alloc(FLOWTRACER_MOST_JUDGED, sizeof(*judged), err);
	uint32_t count;
	int rc;

	if (judged == NULL)
		return -ENOMEM;
	count = choose(own, run, judged);
	rc = flowtracer_load(own, run, judged, count, err);
	qsort(judged, count, sizeof(*judged), cmp_judged);
	if (rc == 0)
		rc = join(own, run, judged, count, err);
	if (rc == 0)
		rc = cost_jobs(own, run, err);
	free(judged);
	return rc;
}
