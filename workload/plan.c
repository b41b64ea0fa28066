/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "common/units.h"
#include "workload/jobs/endpoint.h"
#include "workload/plan_build.h"

static int add_collective(struct plan_builder *b, uint32_t index);
static int add_background(struct plan_builder *b, const struct background_config *config);
static int judge_flows(struct plan_builder *b);

struct plan *
plan_create(const struct topo *topo, const struct plan_options *options, const struct workload *workload,
	    const struct background_config *backgrounds, size_t nbackgrounds, struct err *err)
{
	struct plan_builder b = {
		.topo = topo, .options = options, .workload = workload, .next_sport = PLAN_FIRST_SPORT, .err = err
	};
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
	b.plan->backgrounds = calloc(nbackgrounds + 1, sizeof(*b.plan->backgrounds));
	if (b.plan->collectives == NULL || b.plan->backgrounds == NULL)
		goto out;
	rc = 0;
	for (uint32_t i = 0; i < workload->nworks && rc == 0; i++)
		rc = add_collective(&b, i);
	for (size_t i = 0; i < nbackgrounds && rc == 0; i++)
		rc = add_background(&b, &backgrounds[i]);
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

/* Where no collective is, flows are judged: hosts are ranks, and those that one host sends count from 1. */
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
		free(plan->collectives[i].steps);
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

/* What its job says of a collective, and where it stands in it. */
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
	c->steps = calloc(coll_all_steps(c->schedule) + 1u, sizeof(*c->steps));
	if (c->chains == NULL || c->ranks == NULL || c->steps == NULL)
		return -ENOMEM;
	place_ranks(b, b->workload->jobs[work->job].ranks, c);
	return plan_make_flows(b, index, &work->config);
}

static int
add_background(struct plan_builder *b, const struct background_config *config)
{
	struct plan_background *bg = &b->plan->backgrounds[b->plan->nbackgrounds];
	struct flow flow = {
		.sport = (uint16_t)config->sport,
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
		rc = cfg_fail(&config->where, "dst", b->err, "\"%s\" is where the flow comes from", config->dst);
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
		.where = config->where,
	};
	bg->flow = plan_add_flow(b, &flow, &(struct plan_flow){ .owner = b->plan->nbackgrounds, .slot = bg->slot });
	b->plan->nbackgrounds++;
	return bg->flow == PLAN_NONE ? -ENOMEM : 0;
}
