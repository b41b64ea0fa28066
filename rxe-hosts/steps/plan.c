/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/steps/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rxe-hosts/jobs/endpoint.h"
#include "rxe-hosts/steps/imm.h"

#define VECTOR_ALIGN 64ull
#define FIRST_QPN 16u

/* While the plan is being built. */
struct builder {
	struct plan *plan;
	const struct topo *topo;
	const struct plan_options *options;
	uint32_t cap;           /* flows allocated */
	uint32_t *slots;        /* [nnodes] ranks placed on each host */
	uint32_t *flow_slots;   /* [nnodes] background flows placed on each host */
	uint64_t *region_bytes; /* [nnodes] */
	struct err *err;
};

static int add_collective(struct builder *b, const struct collective_config *config);
static int add_background(struct builder *b, const struct background_config *config);
static int check_tuples(const struct builder *b);

struct plan *
plan_create(const struct topo *topo, const struct plan_options *options, const struct collective_config *collectives,
	    size_t ncollectives, const struct background_config *backgrounds, size_t nbackgrounds, struct err *err)
{
	struct builder b = { .topo = topo, .options = options, .err = err };
	int rc = -ENOMEM;

	if (ncollectives > IMM_MAX_COLLECTIVES) {
		err_set(err, -EINVAL, "%zu collectives; %u can be told apart", ncollectives, IMM_MAX_COLLECTIVES);
		errno = EINVAL;
		return NULL;
	}
	b.plan = calloc(1, sizeof(*b.plan));
	b.slots = calloc(topo->nnodes, sizeof(*b.slots));
	b.flow_slots = calloc(topo->nnodes, sizeof(*b.flow_slots));
	b.region_bytes = calloc(topo->nnodes, sizeof(*b.region_bytes));
	if (b.plan == NULL || b.slots == NULL || b.flow_slots == NULL || b.region_bytes == NULL)
		goto out;
	b.plan->collectives = calloc(ncollectives + 1, sizeof(*b.plan->collectives));
	b.plan->backgrounds = calloc(nbackgrounds + 1, sizeof(*b.plan->backgrounds));
	if (b.plan->collectives == NULL || b.plan->backgrounds == NULL)
		goto out;
	rc = 0;
	for (size_t i = 0; i < ncollectives && rc == 0; i++)
		rc = add_collective(&b, &collectives[i]);
	for (size_t i = 0; i < nbackgrounds && rc == 0; i++)
		rc = add_background(&b, &backgrounds[i]);
	if (rc == 0)
		rc = check_tuples(&b);
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

void
plan_destroy(struct plan *plan)
{
	if (plan == NULL)
		return;
	for (uint32_t i = 0; i < plan->ncollectives; i++) {
		coll_schedule_destroy(plan->collectives[i].schedule);
		free(plan->collectives[i].ranks);
		free(plan->collectives[i].steps);
	}
	free(plan->collectives);
	free(plan->backgrounds);
	free(plan->flows.flows);
	free(plan->of);
	free(plan);
}

/* @return the new flow's index, or PLAN_NONE without memory */
static uint32_t
add_flow(struct builder *b, const struct flow *flow, const struct plan_flow *of)
{
	struct plan *plan = b->plan;
	uint32_t index = plan->flows.count;

	if (index == b->cap) {
		uint32_t cap = b->cap != 0 ? 2 * b->cap : 64;
		struct flow *flows = realloc(plan->flows.flows, cap * sizeof(*flows));

		if (flows != NULL)
			plan->flows.flows = flows;
		struct plan_flow *ofs = realloc(plan->of, cap * sizeof(*ofs));
		if (ofs != NULL)
			plan->of = ofs;
		if (flows == NULL || ofs == NULL)
			return PLAN_NONE;
		b->cap = cap;
	}
	plan->flows.flows[index] = *flow;
	plan->flows.flows[index].src_ip = topo_nic_ip(flow->src_node, flow->src_nic);
	plan->flows.flows[index].dst_ip = topo_nic_ip(flow->dst_node, flow->dst_nic);
	plan->flows.flows[index].src_qpn = FIRST_QPN + 2 * index;
	plan->flows.flows[index].dst_qpn = FIRST_QPN + 2 * index + 1;
	plan->of[index] = *of;
	plan->of[index].kind = flow->kind;
	plan->flows.count++;
	return index;
}

/* @param at  [schedule->ranks] */
static void
place_ranks(struct builder *b, const struct endpoint *at, struct plan_collective *c)
{
	for (uint32_t r = 0; r < c->schedule->ranks; r++) {
		struct plan_rank *rank = &c->ranks[r];

		rank->node = at[r].node;
		rank->nic = at[r].nic;
		rank->slot = b->slots[rank->node]++;
		if (c->real) {
			rank->region_offset = b->region_bytes[rank->node];
			b->region_bytes[rank->node] += c->buffers * c->vector_bytes;
		}
	}
}

/* Which step of the receiver waits for each step, and how many messages each rank gets. */
static int
link_steps(struct builder *b, struct plan_collective *c)
{
	const struct coll_schedule *s = c->schedule;

	for (uint32_t r = 0; r < s->ranks; r++)
		for (uint32_t step = 1; step <= coll_steps(s, r); step++) {
			struct coll_dep arrival = coll_step_arrival(s, r, step);
			uint64_t bytes = plan_step_bytes(c, r, step);

			if (bytes == 0 || bytes > PLAN_MAX_MESSAGE_BYTES)
				return cfg_fail(&c->where, NULL, b->err,
						"step %u of rank %u sends %llu B; a message has"
						" 1 B to 2 GiB",
						step, r, (unsigned long long)bytes);
			c->ranks[coll_step_at(s, r, step)->peer].receives++;
			if (arrival.rank == COLL_NONE)
				continue;
			struct plan_step *source = &c->steps[plan_at(c, arrival.rank, arrival.step)];
			if (source->needed_by == 0)
				source->needed_by = step;
		}
	return 0;
}

/* One data flow, and with notifications one control flow, from each rank to each of its peers. */
static int
add_rank_flows(struct builder *b, uint32_t index, const struct collective_config *config, bool control, uint32_t *to_peer)
{
	struct plan_collective *c = &b->plan->collectives[index];
	const struct coll_schedule *s = c->schedule;
	uint16_t sport = (uint16_t)(config->sport != 0 ? config->sport : PLAN_FIRST_SPORT + index);

	for (uint32_t r = 0; r < s->ranks; r++) {
		memset(to_peer, 0xff, s->ranks * sizeof(*to_peer));
		for (uint32_t step = 1; step <= coll_steps(s, r); step++) {
			struct plan_step *known = &c->steps[plan_at(c, r, step)];
			uint32_t peer = coll_step_at(s, r, step)->peer;

			if (control && known->needed_by == 0)
				continue;
			if (to_peer[peer] == PLAN_NONE) {
				struct flow flow = {
					.src_node = c->ranks[r].node,
					.src_nic = c->ranks[r].nic,
					.dst_node = c->ranks[peer].node,
					.dst_nic = c->ranks[peer].nic,
					.sport = sport,
					.dport = (uint16_t)config->dport,
					.prio = b->options->data_prio,
					.kind = FLOW_COLLECTIVE,
				};

				if (control) {
					flow.sport = (uint16_t)(PLAN_FIRST_NOTIFY_SPORT + index);
					flow.dport = ROCEV2_UDP_PORT;
					flow.prio = b->options->control_prio;
					flow.kind = FLOW_CONTROL;
				}
				to_peer[peer] = add_flow(b, &flow,
							 &(struct plan_flow){ .owner = index,
									      .rank = r,
									      .peer = peer,
									      .slot = c->ranks[r].slot,
									      .peer_slot = c->ranks[peer].slot });
				if (to_peer[peer] == PLAN_NONE)
					return -ENOMEM;
			}
			*(control ? &known->notify_flow : &known->flow) = to_peer[peer];
		}
	}
	return 0;
}

static int
create_schedule(struct builder *b, const struct collective_config *config, uint32_t ranks, struct plan_collective *c)
{
	uint32_t elem = coll_elem_bytes(c->type);
	uint64_t elems = config->bytes / elem;
	struct err cause = { .text = "" };
	uint32_t steps;

	if (ranks < 2 || ranks > COLL_MAX_RANKS)
		return cfg_fail(&config->where, "ranks", b->err, "%u ranks; a collective has 2 to %d", ranks,
				COLL_MAX_RANKS);
	if (config->step_bytes != 0)
		elems = config->step_bytes / elem * ranks;
	c->schedule = coll_schedule_create(&(struct coll_params){ .op = (enum coll_op)config->op,
								  .algorithm = (enum coll_algorithm)config->algorithm,
								  .ranks = ranks,
								  .count_elems = elems },
					   &cause);
	if (c->schedule == NULL)
		return cfg_fail(&config->where, NULL, b->err, "%s", cause.text);
	steps = coll_max_steps(c->schedule);
	if (steps > IMM_MAX_STEP)
		return cfg_fail(&config->where, "ranks", b->err, "%u steps a rank; an immediate counts to %u", steps,
				IMM_MAX_STEP);
	if ((uint64_t)steps * (uint64_t)config->iterations > PLAN_MAX_SERIAL)
		return cfg_fail(&config->where, "iterations", b->err,
				"%lld times %u steps; notification packets count to %u", (long long)config->iterations,
				steps, PLAN_MAX_SERIAL);
	c->vector_bytes = (c->schedule->memory_elems * elem + VECTOR_ALIGN - 1) & ~(VECTOR_ALIGN - 1);
	return 0;
}

/* Ranks, steps and flows of a collective whose schedule is made. */
static int
fill_collective(struct builder *b, uint32_t index, const struct collective_config *config, const struct endpoint *ranks)
{
	struct plan *plan = b->plan;
	struct plan_collective *c = &plan->collectives[index];
	int rc = 0;

	plan->real = c->real;

	size_t cells = coll_all_steps(c->schedule);
	uint32_t *to_peer = calloc(c->schedule->ranks, sizeof(*to_peer));
	c->ranks = calloc(c->schedule->ranks, sizeof(*c->ranks));
	c->steps = calloc(cells, sizeof(*c->steps));
	rc = to_peer == NULL || c->ranks == NULL || c->steps == NULL ? -ENOMEM : 0;
	if (rc == 0)
		place_ranks(b, ranks, c);
	for (size_t i = 0; i < cells && rc == 0; i++)
		c->steps[i].notify_flow = PLAN_NONE;
	if (rc == 0)
		rc = link_steps(b, c);
	c->first_flow = plan->flows.count;
	if (rc == 0)
		rc = add_rank_flows(b, index, config, false, to_peer);
	c->nflows = plan->flows.count - c->first_flow;
	if (rc == 0 && b->options->notify)
		rc = add_rank_flows(b, index, config, true, to_peer);
	free(to_peer);
	return rc;
}

static int
add_collective(struct builder *b, const struct collective_config *config)
{
	struct plan *plan = b->plan;
	uint32_t index = plan->ncollectives++; /* from here on plan_destroy() sees it */
	struct plan_collective *c = &plan->collectives[index];
	struct endpoint *ranks = NULL;
	uint32_t nranks;
	int rc = collective_config_check(config, b->err);

	*c = (struct plan_collective){
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
	if (rc == 0 && index != 0 && c->real != plan->real)
		rc = cfg_fail(&config->where, "payload", b->err, "differs from the first collective's; a run has one kind");
	if (rc == 0)
		rc = endpoint_list(b->topo, &config->ranks, &config->where, "ranks", &ranks, &nranks, b->err);
	if (rc == 0)
		rc = create_schedule(b, config, nranks, c);
	if (rc == 0)
		rc = fill_collective(b, index, config, ranks);
	free(ranks);
	return rc;
}

static int
add_background(struct builder *b, const struct background_config *config)
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
		.start_ps = config->start_ps,
		.repeat = config->mode == BACKGROUND_REPEAT,
		.until_ps = config->until_ps,
		.where = config->where,
	};
	bg->flow = add_flow(b, &flow, &(struct plan_flow){ .owner = b->plan->nbackgrounds, .slot = bg->slot });
	b->plan->nbackgrounds++;
	return bg->flow == PLAN_NONE ? -ENOMEM : 0;
}

static int
compare_tuples(const void *a, const void *b, void *flows_arg)
{
	const struct flow *flows = flows_arg;
	const struct flow *x = &flows[*(const uint32_t *)a], *y = &flows[*(const uint32_t *)b];

	if (x->src_ip != y->src_ip)
		return x->src_ip < y->src_ip ? -1 : 1;
	if (x->dst_ip != y->dst_ip)
		return x->dst_ip < y->dst_ip ? -1 : 1;
	if (x->sport != y->sport)
		return x->sport < y->sport ? -1 : 1;
	return x->dport < y->dport ? -1 : x->dport > y->dport;
}

/* Records and switches know flows by their 5-tuples only. */
static int
check_tuples(const struct builder *b)
{
	const struct plan *plan = b->plan;
	uint32_t *order = malloc((plan->flows.count + 1) * sizeof(*order));
	int rc = 0;

	if (order == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < plan->flows.count; i++)
		order[i] = i;
	qsort_r(order, plan->flows.count, sizeof(*order), compare_tuples, plan->flows.flows);
	for (uint32_t i = 1; i < plan->flows.count && rc == 0; i++) {
		uint32_t last = order[i] > order[i - 1] ? order[i] : order[i - 1];
		const struct flow *f = &plan->flows.flows[last];
		struct cfg_where where = f->kind == FLOW_BACKGROUND ? plan->backgrounds[plan->of[last].owner].where
								    : plan->collectives[plan->of[last].owner].where;

		if (compare_tuples(&order[i], &order[i - 1], plan->flows.flows) == 0)
			rc = cfg_fail(&where, "sport", b->err, "flow %s->%s/%u>%u exists already; give it another port",
				      b->topo->nodes[f->src_node].name, b->topo->nodes[f->dst_node].name, f->sport,
				      f->dport);
	}
	free(order);
	return rc;
}
