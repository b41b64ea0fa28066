/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/hash.h"
#include "common/minmax.h"
#include "common/units.h"
#include "workload/jobs/endpoint.h"
#include "workload/plan_build.h"
#include "workload/traffic/generator.h"
#include "workload/workload.h"

static int add_collective(struct plan_builder *b, uint32_t index);
static int add_background(struct plan_builder *b, const struct background_config *config, uint32_t qp);
static int judge_flows(struct plan_builder *b);

struct plan *
plan_create(const struct topo *topo, const struct plan_options *options, const struct workload *workload,
	    const struct background_config *backgrounds, size_t nbackgrounds, struct err *err)
{
	struct plan_builder b = {
		.topo = topo, .options = options, .workload = workload, .next_sport = PLAN_FIRST_SPORT, .err = err
	};
	size_t nqps = 0;
	int rc = -ENOMEM;

	if (workload->nworks > PLAN_MAX_COLLECTIVES) {
		err_set(err, -EINVAL, "%u collectives; a run has at most %u", workload->nworks, PLAN_MAX_COLLECTIVES);
		errno = EINVAL;
		return NULL;
	}
	b.plan = calloc(1, sizeof(*b.plan));
	b.slots = calloc(topo->nnodes, sizeof(*b.slots));
	b.flow_slots = calloc(topo->nnodes, sizeof(*b.flow_slots));
	b.region_bytes = calloc(topo->nnodes, sizeof(*b.region_bytes));
	if (b.plan == NULL || b.slots == NULL || b.flow_slots == NULL || b.region_bytes == NULL)
		goto out;
	b.plan->workload = workload;
	b.plan->collectives = calloc(workload->nworks + 1u, sizeof(*b.plan->collectives));
	for (size_t i = 0; i < nbackgrounds; i++)
		nqps += (size_t)backgrounds[i].qps;
	b.plan->backgrounds = calloc(nqps + 1, sizeof(*b.plan->backgrounds));
	if (b.plan->collectives == NULL || b.plan->backgrounds == NULL)
		goto out;
	rc = 0;
	for (uint32_t i = 0; i < workload->nworks && rc == 0; i++)
		rc = add_collective(&b, i);
	for (size_t i = 0; i < nbackgrounds; i++)
		for (uint32_t qp = 0; qp < backgrounds[i].qps && rc == 0; qp++)
			rc = add_background(&b, &backgrounds[i], qp);
	if (rc == 0)
		rc = plan_check_measured(&b);
	if (rc == 0)
		rc = judge_flows(&b);
	if (rc == 0 && options->traffic != NULL)
		rc = plan_add_traffic(&b);
	if (rc == 0)
		rc = plan_check_tuples(&b);
	if (rc == 0 && options->nprobes != 0)
		rc = plan_add_probes(&b);
out:
	free(b.slots);
	free(b.flow_slots);
	free(b.region_bytes);
	if (rc != 0) {
		err_set(err, rc, "no memory for the plan of the run");
		plan_destroy(b.plan);
		errno = -rc;
		return NULL;
	}
	return b.plan;
}

/* Without a collective, flows are judged: hosts are ranks, and the messages of a host count from 1. */
static int
judge_flows(struct plan_builder *b)
{
	struct plan *plan = b->plan;
	uint32_t *sent = calloc(b->topo->nnodes + 1u, sizeof(*sent));

	plan->rank_of = calloc(b->topo->nnodes + 1u, sizeof(*plan->rank_of));
	plan->judged = b->options->judge && plan->ncollectives == 0;
	plan->background_id = b->options->traffic != NULL ? b->options->traffic->ngenerators : 0;
	for (uint32_t i = 0; i < b->topo->nhosts && plan->rank_of != NULL; i++)
		plan->rank_of[b->topo->hosts[i]] = i;
	for (uint32_t i = 0; i < plan->nbackgrounds && sent != NULL && plan->judged; i++) {
		struct plan_background *background = &plan->backgrounds[i];

		if (!background->repeat && background->start_ps != TIME_NEVER)
			background->step = ++sent[plan->flows.flows[background->flow].src_node];
	}
	free(sent);
	return sent != NULL && plan->rank_of != NULL ? 0 : -ENOMEM;
}

void
plan_destroy(struct plan *plan)
{
	if (plan == NULL)
		return;
	for (uint32_t i = 0; i < plan->ncollectives; i++) {
		chains_destroy(plan->collectives[i].chains);
		coll_schedule_destroy(plan->collectives[i].schedule);
		free(plan->collectives[i].after);
		free(plan->collectives[i].ranks);
		free(plan->collectives[i].in_flows);
		plan_steps_free(&plan->collectives[i]);
	}
	free(plan->collectives);
	free(plan->backgrounds);
	free(plan->messages);
	free(plan->first_message);
	free(plan->rank_of);
	free(plan->flows.flows);
	free(plan->of);
	free(plan);
}

/* @param at  [schedule->ranks] */
static void
place_ranks(struct plan_builder *b, const struct endpoint *at, struct plan_collective *c)
{
	for (uint32_t r = 0; r < c->schedule->ranks; r++) {
		struct plan_rank *rank = &c->ranks[r];

		rank->node = at[r].node;
		rank->nic = at[r].nic;
		rank->slot = c->enabled ? b->slots[rank->node]++ : PLAN_NONE;
		if (c->real && c->enabled) {
			rank->region_offset = b->region_bytes[rank->node];
			b->region_bytes[rank->node] += c->buffers * c->vector_bytes;
		}
	}
}

static uint64_t
actual_ps(const void *ctx, uint32_t rank, uint32_t iteration, uint64_t planned_ps)
{
	return compute_actual_ps(ctx, rank, iteration, planned_ps);
}

/* The job's parameters of a collective, and its place in the job. */
static int
set_collective(const struct workload *workload, uint32_t index, struct plan_collective *c)
{
	const struct work_item *work = &workload->works[index];
	const struct collective_config *config = &work->config;

	*c = (struct plan_collective){
		.job = work->job,
		.enabled = workload->jobs[work->job].enabled,
		.measured = config->measured || workload->jobs[work->job].measured,
		.compute = workload_compute(workload, index),
		.actual_ps = actual_ps,
		.type = (enum coll_type)config->type,
		.real = config->payload == PAYLOAD_REAL,
		.verify = config->verify && config->payload == PAYLOAD_REAL,
		.qp_per_step = config->qp == QP_PER_STEP,
		.iterations = (uint32_t)config->iterations,
		.buffers = config->iterations > 1 ? 2 : 1,
		.start_ps = config->start_ps,
		.gap_ps = config->gap_ps,
		.where = config->where,
	};
	c->actual_ctx = &c->compute;
	c->after = calloc(work->nafter + 1u, sizeof(*c->after));
	if (c->after == NULL)
		return -ENOMEM;
	for (; c->nafter < work->nafter; c->nafter++)
		c->after[c->nafter] = workload->after[work->first_after + c->nafter];
	return 0;
}

static int
add_collective(struct plan_builder *b, uint32_t index)
{
	const struct work_item *work = &b->workload->works[index];
	struct plan_collective *c = &b->plan->collectives[index];
	int rc = set_collective(b->workload, index, c);

	b->plan->ncollectives++; /* from here on plan_destroy() sees it */
	if (rc == 0)
		rc = collective_config_check(&work->config, b->err);
	if (rc == 0 && index != 0 && c->real != b->plan->real)
		rc = cfg_fail(&work->config.where, "payload", b->err,
			      "differs from the first collective's; a run has one kind");
	b->plan->real = c->real;
	if (rc == 0)
		rc = plan_make_schedule(b, index);
	if (rc != 0)
		return rc;
	c->chains = chains_create(c->schedule);
	c->ranks = calloc(c->schedule->ranks, sizeof(*c->ranks));
	if (c->chains == NULL || c->ranks == NULL || plan_steps_create(c) != 0)
		return -ENOMEM;
	place_ranks(b, b->workload->jobs[work->job].ranks, c);
	return plan_make_flows(b, index, &work->config);
}

static int
add_background(struct plan_builder *b, const struct background_config *config, uint32_t qp)
{
	struct plan_background *bg = &b->plan->backgrounds[b->plan->nbackgrounds];
	struct flow flow = {
		.sport = (uint16_t)(config->sport + qp),
		.dport = (uint16_t)config->dport,
		.kind = FLOW_BACKGROUND,
		.prio = config->prio < 0 ? b->options->data_prio : (uint8_t)config->prio,
	};
	struct endpoint src, dst;
	int rc = background_config_check(config, b->err);

	if (rc == 0)
		rc = endpoint_find(b->topo, config->src, &config->where, "src", &src, b->err);
	if (rc == 0)
		rc = endpoint_find(b->topo, config->dst, &config->where, "dst", &dst, b->err);
	if (rc == 0 && src.node == dst.node && src.nic == dst.nic)
		rc = cfg_fail(&config->where, "dst", b->err, "\"%s\" is the sender of the flow", config->dst);
	if (rc != 0)
		return rc;
	flow.src_node = src.node;
	flow.src_nic = src.nic;
	flow.dst_node = dst.node;
	flow.dst_nic = dst.nic;
	*bg = (struct plan_background){
		.slot = b->flow_slots[flow.src_node]++,
		.bytes = config->bytes,
		.start_ps = config->enabled ? config->start_ps : TIME_NEVER,
		.repeat = config->mode == BACKGROUND_REPEAT,
		.until_ps = config->until_ps,
		.depth = (uint32_t)config->depth,
		.where = config->where,
	};
	bg->flow = plan_add_flow(b, &flow, &(struct plan_flow){ .owner = b->plan->nbackgrounds, .slot = bg->slot });
	b->plan->nbackgrounds++;
	return bg->flow == PLAN_NONE ? -ENOMEM : 0;
}

/* How many packets pass where. */

/* Data packets of each flow. @param data  [plan->flows.count] zeros */
static void
count_data(const struct plan *plan, const struct expect_frames *frames, uint64_t *data)
{
	uint64_t end_ps = 0;

	for (uint32_t i = 0; i < plan->ncollectives; i++) {
		const struct plan_collective *c = &plan->collectives[i];

		if (!c->enabled)
			continue;
		end_ps = max_u64(end_ps, c->start_ps + c->iterations * (c->expect_ps + c->gap_ps));
		for (uint32_t r = 0; r < c->schedule->ranks; r++)
			for (uint32_t step = 1; step <= coll_steps(c->schedule, r); step++)
				if (plan_step_at(c, r, step)->flow != PLAN_NONE)
					data[plan_step_at(c, r, step)->flow] +=
						c->iterations * expect_data_frames(frames, plan_step_bytes(c, r, step));
	}
	for (uint32_t i = 0; i < plan->nmessages; i++)
		data[plan->messages[i].flow] += expect_data_frames(frames, plan->messages[i].bytes);
	for (uint32_t i = 0; i < plan->nbackgrounds; i++) {
		const struct plan_background *bg = &plan->backgrounds[i];
		uint64_t until_ps = min_u64(bg->until_ps, end_ps), messages = 1;

		if (bg->start_ps == TIME_NEVER)
			continue;
		if (bg->repeat && bg->ideal_ps != 0 && until_ps > bg->start_ps)
			messages += (until_ps - bg->start_ps) / bg->ideal_ps;
		data[bg->flow] += messages * expect_data_frames(frames, bg->bytes);
	}
}

static void
add_path(const struct routing *routing, const struct flow *flow, bool reverse, uint64_t count, uint64_t *packets)
{
	struct route_path path;

	if (count == 0 || route_flow_path(routing, flow, reverse, &path) != 0)
		return;
	for (uint32_t i = 0; i < path.hops; i++)
		packets[path.ports[i]] += count;
}

int
plan_predict_packets(const struct plan *plan, const struct routing *routing, const struct expect_frames *frames,
		     uint64_t *packets)
{
	uint64_t *data = calloc(plan->flows.count + 1u, sizeof(*data));

	memset(packets, 0, routing->topo->nports * sizeof(*packets));
	if (data == NULL)
		return -ENOMEM;
	count_data(plan, frames, data);
	for (uint32_t i = 0; i < plan->flows.count; i++) {
		add_path(routing, &plan->flows.flows[i], false, data[i], packets);
		add_path(routing, &plan->flows.flows[i], true,
			 (data[i] + frames->frames_per_ack - 1) / frames->frames_per_ack, packets);
	}
	free(data);
	return 0;
}

/* Removal of the steps that concern only remote hosts. */

static bool
concerns_us(const struct plan_collective *c, uint32_t rank, const bool *remote)
{
	if (!remote[c->ranks[rank].node])
		return true;
	for (uint32_t step = 1; step <= coll_steps(c->schedule, rank); step++)
		if (!remote[c->ranks[coll_step_get(c->schedule, rank, step).peer].node])
			return true;
	return false;
}

/* The steps of ranks that follow each other. @param from, to  steps, by their index */
static void
forget_waits(struct plan_collective *c, uint32_t from, uint32_t to)
{
	struct chains *chains = c->chains;

	array_forget(chains->awaits_of, from, to, sizeof(*chains->awaits_of));
	array_forget(chains->waiters_of, from, to, sizeof(*chains->waiters_of));
}

static void
forget_steps(struct plan_collective *c, uint32_t from, uint32_t to)
{
	if (c->schedule->steps == NULL) {
		array_forget(c->schedule->kind_of, from, to, sizeof(*c->schedule->kind_of));
		array_forget(c->schedule->src_elems, from, to, sizeof(*c->schedule->src_elems));
	}
	if (c->step_of != NULL)
		array_forget(c->step_of, from, to, sizeof(*c->step_of));
	else
		array_forget(c->steps, from, to, sizeof(*c->steps));
}

static uint32_t
count_here(const struct plan_collective *c, const bool *remote)
{
	uint32_t steps = 0;

	for (uint32_t rank = 0; rank < c->schedule->ranks; rank++)
		if (!remote[c->ranks[rank].node])
			steps += coll_steps(c->schedule, rank);
	return steps;
}

uint32_t
plan_own_steps(const struct plan_collective *c, const bool *remote)
{
	uint32_t here = remote != NULL ? count_here(c, remote) : 0;

	return here != 0 ? here : coll_all_steps(c->schedule);
}

/* Ranks that follow each other go together: pages are given back whole. @return steps that stay */
static uint64_t
keep_share_of(struct plan_collective *c, const bool *remote, bool reports)
{
	const struct coll_schedule *schedule = c->schedule;
	uint64_t kept = 0;

	for (uint32_t rank = 0, end; rank < schedule->ranks; rank = end + 1) {
		uint32_t from = schedule->first_step[rank], to;

		for (end = rank; end < schedule->ranks && !concerns_us(c, end, remote);)
			end++;
		to = schedule->first_step[end];
		forget_waits(c, from, to);
		if (end < schedule->ranks)
			kept += coll_steps(schedule, end);
		if (!reports)
			forget_steps(c, from, to);
	}
	return reports ? coll_all_steps(schedule) : kept;
}

void
plan_keep_share(struct plan *plan, const bool *remote, bool reports)
{
	plan->share_steps = 0;
	for (uint32_t i = 0; i < plan->ncollectives; i++)
		plan->share_steps += keep_share_of(&plan->collectives[i], remote,
						   reports || count_here(&plan->collectives[i], remote) == 0);
}

/* The plan as header records: the analyzer learns the configuration from them. */

bool
plan_flow_sends(const struct plan *plan, uint32_t flow)
{
	uint32_t owner = plan->of[flow].owner;

	switch (plan->flows.flows[flow].kind) {
	case FLOW_COLLECTIVE:
		return plan->collectives[owner].enabled;
	case FLOW_BACKGROUND:
		return plan->backgrounds[owner].start_ps != TIME_NEVER;
	case FLOW_TRAFFIC:
		return true;
	default:
		return false;
	}
}

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

/*
 * The dependencies that a SCHEDULE record itself has: the first own step and the first arrival; COLL_NONE: there is
 * none.
 */
struct first_deps {
	uint32_t own, arrival; /* among the step's */
};

static struct first_deps
first_deps_of(const struct coll_schedule *schedule, uint32_t rank, uint32_t step, const struct coll_step *at)
{
	struct first_deps first = { COLL_NONE, COLL_NONE };

	for (uint32_t i = 0; i < at->ndeps; i++) {
		uint32_t *of = coll_step_dep(schedule, rank, step, at, i).rank == rank ? &first.own : &first.arrival;

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
	const struct coll_step at = coll_step_get(c->schedule, rank, step);
	const struct plan_step *known = plan_step_at(c, rank, step);
	struct first_deps first = first_deps_of(c->schedule, rank, step, &at);

	*rec = (struct rec_schedule){
		.hdr.node = c->ranks[rank].node,
		.collective = collective,
		.iteration = iteration,
		.step = step,
		.rank = rank,
		.bytes = plan_step_bytes(c, rank, step),
		.peer = at.peer,
		.channel = at.channel,
		.depends_rank = REC_NONE,
		.depends = at.ndeps - (first.own != COLL_NONE) - (first.arrival != COLL_NONE),
		.ideal_ps = known->ideal_ps,
		.expect_ps = known->expect_ps,
	};
	if (known->flow != PLAN_NONE) {
		rec->flow = plan_tuple(plan, known->flow);
		rec->base_rtt_ps = plan->of[known->flow].base_rtt_ps;
		rec->prio = plan->flows.flows[known->flow].prio;
	} else if (at.compute_ps != 0) {
		rec->spread_ns = (uint32_t)min_u64(compute_spread_ps(&c->compute) / PS_PER_NS, UINT32_MAX);
	}
	if (first.own != COLL_NONE)
		rec->own_step = coll_step_dep(c->schedule, rank, step, &at, first.own).step;
	if (first.arrival != COLL_NONE) {
		struct coll_dep arrival = coll_step_dep(c->schedule, rank, step, &at, first.arrival);

		rec->depends_rank = arrival.rank;
		rec->depends_step = arrival.step;
	}
}

void
plan_depend_record(const struct plan *plan, const struct rec_schedule *of, uint32_t index, struct rec_depend *rec)
{
	const struct coll_schedule *schedule = plan->collectives[of->collective].schedule;
	const struct coll_step at = coll_step_get(schedule, of->rank, of->step);
	struct first_deps first = first_deps_of(schedule, of->rank, of->step, &at);
	struct coll_dep on;
	uint32_t dep = 0;

	for (uint32_t skipped = 0;; dep++) {
		if (dep == first.own || dep == first.arrival)
			continue;
		if (skipped++ == index)
			break;
	}
	on = coll_step_dep(schedule, of->rank, of->step, &at, dep);
	*rec = (struct rec_depend){
		.hdr.node = of->hdr.node,
		.collective = of->collective,
		.iteration = of->iteration,
		.step = of->step,
		.rank = of->rank,
		.on_collective = of->collective,
		.on_rank = on.rank,
		.on_step = on.step,
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

/* The digest of a plan. */

static uint64_t
digest_flows(uint64_t digest, const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->flows.count; i++) {
		const struct flow *flow = &plan->flows.flows[i];

		digest = digest_u64(digest, (uint64_t)flow->src_ip << 32 | flow->dst_ip);
		digest = digest_u64(digest, (uint64_t)flow->sport << 32 | (uint64_t)flow->dport << 16 |
						    (uint64_t)flow->prio << 8 | flow->kind);
		digest = digest_u64(digest, plan->of[i].base_rtt_ps << 1 | plan->of[i].measured);
	}
	return digest;
}

static uint64_t
digest_collective(uint64_t digest, const struct plan_collective *c)
{
	const struct coll_schedule *s = c->schedule;

	digest = digest_u64(digest,
			    (uint64_t)c->type << 32 | (uint64_t)c->real << 2 | (uint64_t)c->verify << 1 | c->qp_per_step);
	digest = digest_u64(digest, (uint64_t)c->iterations << 32 | c->buffers);
	digest = digest_u64(digest, c->vector_bytes);
	digest = digest_u64(digest, c->start_ps);
	digest = digest_u64(digest, c->gap_ps);
	digest = digest_u64(digest, c->job);
	for (uint32_t i = 0; i < c->nafter; i++)
		digest = digest_u64(digest, c->after[i]);
	for (uint32_t r = 0; r < s->ranks; r++) {
		digest = digest_u64(digest, c->ranks[r].region_offset);
		for (uint32_t step = 1; step <= coll_steps(s, r); step++) {
			const struct coll_step at = coll_step_get(s, r, step);
			const struct plan_step *known = plan_step_at(c, r, step);

			digest = digest_u64(digest, (uint64_t)known->flow << 32 | known->notify_flow);
			digest = digest_u64(digest, (uint64_t)at.peer << 32 | (uint64_t)at.ndeps << 1 | at.reduce);
			digest = digest_u64(digest, at.src_elems);
			digest = digest_u64(digest, at.dst_elems);
			digest = digest_u64(digest, at.count_elems);
			digest = digest_u64(digest, at.compute_ps);
			digest = digest_u64(digest, known->expect_ps);
			for (uint32_t i = 0; i < at.ndeps; i++) {
				struct coll_dep dep = coll_step_dep(s, r, step, &at, i);

				digest = digest_u64(digest, (uint64_t)dep.rank << 32 | dep.step);
			}
		}
	}
	return digest;
}

uint64_t
plan_digest(const struct plan *plan)
{
	uint64_t digest = digest_flows(DIGEST_INIT, plan);

	for (uint32_t i = 0; i < plan->ncollectives; i++)
		digest = digest_collective(digest, &plan->collectives[i]);
	for (uint32_t i = 0; i < plan->nbackgrounds; i++) {
		const struct plan_background *background = &plan->backgrounds[i];

		digest = digest_u64(digest, (uint64_t)background->flow << 1 | background->repeat);
		digest = digest_u64(digest, background->bytes);
		digest = digest_u64(digest, background->start_ps);
		digest = digest_u64(digest, background->until_ps);
		digest = digest_u64(digest, background->depth);
	}
	for (uint32_t i = 0; i < plan->nmessages; i++) {
		digest = digest_u64(digest, plan->messages[i].flow);
		digest = digest_u64(digest, plan->messages[i].bytes);
		digest = digest_u64(digest, plan->messages[i].start_ps);
	}
	return digest;
}
