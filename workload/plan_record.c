/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan as header records: the analyzer learns from them what was configured. */
#include "workload/plan.h"

#include <string.h>

#include "workload/traffic/generator.h"

struct rec_tuple
plan_tuple(const struct plan *plan, uint32_t flow)
{
	return flow_tuple(&plan->flows.flows[flow]);
}

void
plan_collective_record(const struct plan *plan, uint32_t collective, uint32_t iteration, struct rec_collective *rec)
{
	const struct plan_collective *c = &plan->collectives[collective];
	const struct coll_size size = coll_size_of(c->schedule, coll_elem_bytes(c->type));

	*rec = (struct rec_collective){
		.hdr.node = REC_NONE,
		.id = collective,
		.iteration = iteration,
		.algorithm = c->schedule->algorithm,
		.op = size.op,
		.ranks = c->schedule->ranks,
		.steps = coll_all_steps(c->schedule),
		.rank_steps = coll_max_steps(c->schedule),
		.job = c->job,
		.group_ranks = size.ranks != c->schedule->ranks ? size.ranks : 0,
		.bytes = size.bytes,
		.ideal_ps = c->ideal_ps,
		.expect_ps = c->expect_ps,
	};
	memcpy(rec->name, plan->workload->works[collective].name, sizeof(rec->name));
	memcpy(rec->job_name, plan->workload->jobs[c->job].name, sizeof(rec->job_name));
}

/* The dependencies that a SCHEDULE record itself has: the first own step and the first arrival; COLL_NONE: there is none. */
struct first_deps {
	uint32_t own, arrival; /* in schedule->deps */
};

static struct first_deps
first_deps_of(const struct coll_schedule *schedule, uint32_t rank, const struct coll_step *at)
{
	struct first_deps first = { COLL_NONE, COLL_NONE };

	for (uint32_t i = at->first_dep; i < at->first_dep + at->ndeps; i++) {
		uint32_t *of = schedule->deps[i].rank == rank ? &first.own : &first.arrival;

		if (*of == COLL_NONE)
			*of = i;
	}
	return first;
}

void
plan_schedule_record(const struct plan *plan, uint32_t collective, uint32_t iteration, uint32_t rank, uint32_t step,
		     struct rec_schedule *rec)
{
	const struct plan_collective *c = &plan->collectives[collective];
	const struct coll_step *at = coll_step_at(c->schedule, rank, step);
	const struct plan_step *known = &c->steps[plan_at(c, rank, step)];
	struct first_deps first = first_deps_of(c->schedule, rank, at);

	*rec = (struct rec_schedule){
		.hdr.node = c->ranks[rank].node,
		.collective = collective,
		.iteration = iteration,
		.step = step,
		.rank = rank,
		.bytes = plan_step_bytes(c, rank, step),
		.peer = at->peer,
		.channel = at->channel,
		.depends_rank = REC_NONE,
		.depends = at->ndeps - (first.own != COLL_NONE) - (first.arrival != COLL_NONE),
		.ideal_ps = known->ideal_ps,
		.expect_ps = known->expect_ps,
	};
	if (known->flow != PLAN_NONE) {
		rec->flow = plan_tuple(plan, known->flow);
		rec->base_rtt_ps = plan->of[known->flow].base_rtt_ps;
		rec->prio = plan->flows.flows[known->flow].prio;
	}
	if (first.own != COLL_NONE)
		rec->own_step = c->schedule->deps[first.own].step;
	if (first.arrival != COLL_NONE) {
		rec->depends_rank = c->schedule->deps[first.arrival].rank;
		rec->depends_step = c->schedule->deps[first.arrival].step;
	}
}

void
plan_depend_record(const struct plan *plan, const struct rec_schedule *of, uint32_t index, struct rec_depend *rec)
{
	const struct coll_schedule *schedule = plan->collectives[of->collective].schedule;
	const struct coll_step *at = coll_step_at(schedule, of->rank, of->step);
	struct first_deps first = first_deps_of(schedule, of->rank, at);
	uint32_t dep = at->first_dep;

	for (uint32_t skipped = 0;; dep++) {
		if (dep == first.own || dep == first.arrival)
			continue;
		if (skipped++ == index)
			break;
	}
	*rec = (struct rec_depend){
		.hdr.node = of->hdr.node,
		.collective = of->collective,
		.iteration = of->iteration,
		.step = of->step,
		.rank = of->rank,
		.on_collective = of->collective,
		.on_rank = schedule->deps[dep].rank,
		.on_step = schedule->deps[dep].step,
	};
}

void
plan_generator_record(const struct plan *plan, const struct traffic *traffic, uint32_t generator,
		      struct rec_collective *rec)
{
	*rec = (struct rec_collective){
		.hdr.node = REC_NONE,
		.id = generator,
		.algorithm = COLL_FILE,
		.op = COLL_FLOWS,
		.ranks = traffic->topo->nhosts,
		.job_name = "flows",
	};
	for (uint32_t i = 0; i < plan->nmessages; i++) {
		const struct plan_message *message = &plan->messages[i];

		if (message->generator != generator)
			continue;
		rec->steps++;
		rec->bytes += message->bytes;
		rec->rank_steps = message->step > rec->rank_steps ? message->step : rec->rank_steps;
	}
	snprintf(rec->name, sizeof(rec->name), "%s", traffic->generators[generator]->name);
}

bool
plan_backgrounds_record(const struct plan *plan, const struct topo *topo, struct rec_collective *rec)
{
	*rec = (struct rec_collective){
		.hdr.node = REC_NONE,
		.id = plan->background_id,
		.algorithm = COLL_FILE,
		.op = COLL_FLOWS,
		.ranks = topo->nhosts,
		.name = "flows",
		.job_name = "flows",
	};
	for (uint32_t i = 0; i < plan->nbackgrounds; i++) {
		const struct plan_background *background = &plan->backgrounds[i];

		if (background->step == 0)
			continue;
		rec->steps++;
		rec->bytes += background->bytes;
		rec->rank_steps = background->step > rec->rank_steps ? background->step : rec->rank_steps;
	}
	return rec->steps != 0;
}

struct plan_judged
plan_judged_message(const struct plan *plan, uint32_t index)
{
	const struct plan_message *message = &plan->messages[index];

	return (struct plan_judged){ message->generator, message->step, message->flow, message->bytes, message->ideal_ps };
}

struct plan_judged
plan_judged_background(const struct plan *plan, const struct plan_background *background)
{
	return (struct plan_judged){ plan->background_id, background->step, background->flow, background->bytes,
				     background->ideal_ps };
}

void
plan_judged_record(const struct plan *plan, const struct plan_judged *judged, struct rec_schedule *rec)
{
	const struct flow *flow = &plan->flows.flows[judged->flow];

	*rec = (struct rec_schedule){
		.hdr.node = flow->src_node,
		.collective = judged->collective,
		.step = judged->step,
		.rank = plan->rank_of[flow->src_node],
		.flow = plan_tuple(plan, judged->flow),
		.bytes = judged->bytes,
		.peer = plan->rank_of[flow->dst_node],
		.channel = plan->of[judged->flow].slot,
		.depends_rank = REC_NONE,
		.ideal_ps = judged->ideal_ps,
		.expect_ps = judged->ideal_ps,
		.base_rtt_ps = plan->of[judged->flow].base_rtt_ps,
		.prio = flow->prio,
	};
}
