/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the schedule of all ranks of a job from its parameters of a collective. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/builder.h"
#include "collectives/schedule.h"
#include "common/hash.h"
#include "common/units.h"
#include "workload/config.h"
#include "workload/fluid.h"
#include "workload/jobs/compute.h"
#include "workload/plan.h"
#include "workload/plan_build.h"
#include "workload/workload.h"

#define VECTOR_ALIGN 64ull

/* The parameters of one group's schedule. Arrays are the caller's to free. */
struct group_params {
	struct coll_params params;
	uint64_t *counts;
	struct coll_pair *pairs;
};

static int
set_counts(const struct plan_builder *b, const struct work_item *work, struct group_params *of)
{
	struct skew skew = {
		.ranks = of->params.ranks,
		.elems = of->params.count_elems,
		.factor = work->config.skew,
		.back = work->config.back,
		.seed = b->workload->seed,
		.job = b->workload->jobs[work->job].name,
	};

	of->counts = calloc((size_t)skew.ranks * skew.ranks, sizeof(*of->counts));
	of->params.counts = of->counts;
	of->params.count_elems = of->counts != NULL ? skew_counts(&skew, of->counts) : 0;
	return of->params.count_elems != 0 ? 0 : err_set(b->err, -ENOMEM, "no memory for %u ranks", skew.ranks);
}

/* Reads "0 1". @return whether it is two numbers */
static bool
plan_parse_pair(const char *text, struct coll_pair *pair)
{
	uint64_t from, to;
	const char *rest = number_scan(text, &from);

	if (rest == NULL || *rest != ' ' || !number_parse(rest + strspn(rest, " "), 0, UINT32_MAX - 1, &to) ||
	    from >= UINT32_MAX)
		return false;
	*pair = (struct coll_pair){ (uint32_t)from, (uint32_t)to };
	return true;
}

static int
set_pairs(const struct plan_builder *b, const struct work_item *work, struct group_params *of)
{
	const struct collective_config *config = &work->config;
	bool transfers = work->to_stage != WORK_NO_STAGE;
	size_t count = transfers ? 1 : config->pairs.count;

	of->pairs = calloc(count + 1, sizeof(*of->pairs));
	if (of->pairs == NULL)
		return err_set(b->err, -ENOMEM, "no memory for %zu pairs", count);
	of->pairs[0].to = 1;
	for (size_t i = 0; i < count && !transfers; i++)
		if (!plan_parse_pair(config->pairs.items[i], &of->pairs[i]))
			return cfg_fail(&config->where, "pairs", b->err,
					"\"%s\": two ranks of the group, as \"0 1\", would be right",
					config->pairs.items[i]);
	of->params.pairs = of->pairs;
	of->params.npairs = (uint32_t)count;
	return 0;
}

/* @param of  its arrays are to be freed in any case. @return 0 or negative errno with b->err set */
static int
set_params(const struct plan_builder *b, const struct work_item *work, uint32_t ranks, uint32_t elem_bytes,
	   struct group_params *of)
{
	const struct collective_config *config = &work->config;
	uint64_t elems = config->step_bytes != 0 ? config->step_bytes / elem_bytes * ranks : config->bytes / elem_bytes;
	int rc = 0;

	*of = (struct group_params){ .params = {
					     .op = (enum coll_op)config->op,
					     .algorithm = (enum coll_algorithm)config->algorithm,
					     .ranks = ranks,
					     .count_elems = elems,
					     .root = (uint32_t)config->root,
					     .chunks = (uint32_t)config->chunks,
					     .channels = (uint32_t)config->channels,
				     } };

	if (config->op == COLL_ALLTOALLV)
		rc = set_counts(b, work, of);
	if (config->pairs.count != 0 || work->to_stage != WORK_NO_STAGE)
		rc = set_pairs(b, work, of);
	return rc;
}

/* The schedule of one group. */
static struct coll_schedule *
create_one(const struct plan_builder *b, const struct work_item *work, uint32_t ranks, uint32_t elem_bytes, struct err *err)
{
	struct coll_schedule *one = NULL;
	struct group_params of;

	if (set_params(b, work, ranks, elem_bytes, &of) == 0)
		one = coll_schedule_create(&of.params, err);
	free(of.counts);
	free(of.pairs);
	return one;
}

/* @return whether some rank computes first; computes: [ranks of the job] */
static bool
find_computing(const struct plan_builder *b, uint32_t index, const struct work_groups *groups, bool *computes)
{
	struct compute compute = workload_compute(b->workload, index);
	bool any = false;

	/* A transfer ends a turn; the computation of its ranks precedes the collectives of that turn. */
	for (uint32_t i = 0; b->workload->works[index].to_stage == WORK_NO_STAGE && i < groups->groups * groups->ranks;
	     i++) {
		uint32_t rank = groups->rank_of[i];

		computes[rank] = compute_any(&compute, rank, b->workload->works[index].compute_ps);
		any |= computes[rank];
	}
	return any;
}

/* Groups of one rank have nothing to send: their ranks compute. */
static struct coll_schedule *
compute_alone(const struct plan_builder *b, uint32_t index, const struct work_groups *groups, uint32_t elem_bytes,
	      struct err *err)
{
	const struct work_item *work = &b->workload->works[index];
	struct coll_params params = {
		.op = (enum coll_op)work->config.op,
		.algorithm = (enum coll_algorithm)work->config.algorithm,
		.ranks = b->workload->jobs[work->job].grid.ranks,
		.count_elems = work->config.bytes / elem_bytes,
	};
	bool *computes = calloc(params.ranks + 1u, sizeof(*computes));
	struct coll_schedule *all = NULL;

	if (computes == NULL)
		err_set(err, -ENOMEM, "no memory for %u ranks", params.ranks);
	else if (!find_computing(b, index, groups, computes))
		err_set(err, -EINVAL, "groups of one rank, which send nothing, and no compute: there is nothing to do");
	else
		all = coll_schedule_compute(&params, computes, work->compute_ps, err);
	free(computes);
	return all;
}

/* @param one  the group's; destroyed, or returned */
static struct coll_schedule *
spread(const struct plan_builder *b, uint32_t index, const struct work_groups *groups, struct coll_schedule *one,
       struct err *err)
{
	const struct work_item *work = &b->workload->works[index];
	uint32_t ranks = b->workload->jobs[work->job].grid.ranks;
	bool *computes = calloc(ranks + 1u, sizeof(*computes));
	bool transfers = work->to_stage != WORK_NO_STAGE;
	struct coll_schedule *all = NULL;

	if (computes == NULL) {
		err_set(err, -ENOMEM, "no memory for %u ranks", ranks);
	} else if (!find_computing(b, index, groups, computes) && groups->ranks == ranks && !transfers &&
		   work->config.stride == 1) {
		free(computes);
		return one;
	} else {
		struct coll_spread over = { ranks, groups->groups, groups->rank_of, computes, work->compute_ps };

		all = coll_schedule_spread(one, &over, err);
	}
	free(computes);
	coll_schedule_destroy(one);
	return all;
}

static struct coll_schedule *
make_groups(const struct plan_builder *b, uint32_t index, const struct work_groups *groups, struct err *cause)
{
	struct plan_collective *c = &b->plan->collectives[index];
	const struct work_item *work = &b->workload->works[index];
	struct coll_schedule *one;

	if (plan_has_file(&work->config))
		one = plan_file_read(b->options->cfg, &work->config, groups->ranks, &c->type, b->err);
	else
		one = create_one(b, work, groups->ranks, coll_elem_bytes(c->type), cause);
	/* Stages synchronize each other: every forward transfer has a backward one. */
	if (one != NULL && c->iterations > 1 && work->to_stage == WORK_NO_STAGE)
		one = coll_schedule_close(one, cause);
	return one != NULL ? spread(b, index, groups, one, cause) : NULL;
}

static int
check_counts(const struct plan_builder *b, const struct collective_config *config, const struct coll_schedule *schedule)
{
	uint32_t steps = coll_max_steps(schedule);

	if (steps > IMM_MAX_STEP)
		return cfg_fail(&config->where, "ranks", b->err, "%u steps a rank; an immediate counts to %u", steps,
				IMM_MAX_STEP);
	if ((uint64_t)steps * (uint64_t)config->iterations > PLAN_MAX_SERIAL)
		return cfg_fail(&config->where, "iterations", b->err,
				"%lld times %u steps; notification packets count to %u", (long long)config->iterations,
				steps, PLAN_MAX_SERIAL);
	return 0;
}

static uint32_t
gcd(uint32_t a, uint32_t b)
{
	while (b != 0) {
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

int
plan_make_schedule(struct plan_builder *b, uint32_t index)
{
	struct plan_collective *c = &b->plan->collectives[index];
	const struct work_item *work = &b->workload->works[index];
	const struct collective_config *config = &work->config;
	uint32_t ranks = b->workload->jobs[work->job].grid.ranks;
	struct err cause = { .text = "" };
	struct work_groups groups;

	if (ranks > COLL_MAX_RANKS || (ranks < 2 && config->group == NULL))
		return cfg_fail(&b->workload->jobs[work->job].where, "ranks", b->err, "%u ranks; a collective has 2 to %d",
				ranks, COLL_MAX_RANKS);
	if (workload_groups(b->workload, index, &groups) != 0)
		return -ENOMEM;
	if (gcd(groups.ranks, (uint32_t)config->stride) != 1) {
		free(groups.rank_of);
		return cfg_fail(&config->where, "stride", b->err,
				"%lld and %u ranks of a group have a divisor in common, so that it would not reach all; 1 "
				"would be right",
				(long long)config->stride, groups.ranks);
	}
	if (groups.ranks == 1)
		c->schedule = compute_alone(b, index, &groups, coll_elem_bytes(c->type), &cause);
	else
		c->schedule = make_groups(b, index, &groups, &cause);
	free(groups.rank_of);
	if (c->schedule == NULL)
		return cfg_fail(&config->where, NULL, b->err, "%s", cause.text);
	c->vector_bytes = (c->schedule->memory_elems * coll_elem_bytes(c->type) + VECTOR_ALIGN - 1) & ~(VECTOR_ALIGN - 1);
	return check_counts(b, config, c->schedule);
}

struct coll_step_count
plan_least_steps(const struct workload *workload, uint32_t index)
{
	const struct work_item *work = &workload->works[index];
	uint32_t ranks = workload->jobs[work->job].grid.ranks,
		 elem_bytes = coll_elem_bytes((enum coll_type)work->config.type);
	struct coll_step_count count = { 0 };
	struct err err = { 0 };
	const struct plan_builder b = { .workload = workload, .err = &err };
	struct work_groups groups;
	struct group_params of;
	int rc;

	if (ranks > COLL_MAX_RANKS || plan_has_file(&work->config) || workload_groups(workload, index, &groups) != 0)
		return count;
	rc = set_params(&b, work, groups.ranks, elem_bytes, &of);
	if (rc == 0)
		rc = coll_schedule_count(&of.params, &count);
	count.all *= groups.groups;
	if (rc != 0 && rc != -E2BIG) /* too many steps are at least those counted */
		count = (struct coll_step_count){ 0 };
	free(of.counts);
	free(of.pairs);
	free(groups.rank_of);
	return count;
}

/* Marks the measured data flows of a collective: they get tags, and the measured class (FlowPulse, 5.1). */

static void
mark(struct plan_builder *b, uint32_t flow)
{
	b->plan->of[flow].measured = true;
	b->plan->flows.flows[flow].prio = b->options->measured_prio;
}

/* All channels of a pair. @return 0 or -EINVAL with err set */
static int
mark_pair(struct plan_builder *b, const struct plan_collective *c, const char *text)
{
	struct coll_pair pair;
	bool found = false;

	if (!plan_parse_pair(text, &pair) || pair.from >= c->schedule->ranks || pair.to >= c->schedule->ranks)
		return cfg_fail(&c->where, "measured_pairs", b->err,
				"\"%s\": two of the job's ranks, 0 to %u, as \"0 1\", would be right", text,
				c->schedule->ranks - 1);
	for (uint32_t i = c->first_flow; i < b->plan->flows.count; i++) {
		const struct plan_flow *of = &b->plan->of[i];

		if (of->rank != pair.from || of->peer != pair.to)
			continue;
		mark(b, i);
		found = true;
	}
	if (!found)
		return cfg_fail(&c->where, "measured_pairs", b->err, "\"%s\": rank %u sends nothing to rank %u", text,
				pair.from, pair.to);
	return 0;
}

int
plan_measure(struct plan_builder *b, uint32_t index, const struct collective_config *config)
{
	struct plan_collective *c = &b->plan->collectives[index];
	int rc = 0;

	if (!c->measured && config->measured_pairs.count != 0)
		return cfg_fail(&c->where, "measured_pairs", b->err, "needs measured = true");
	for (size_t i = 0; i < config->measured_pairs.count && rc == 0; i++)
		rc = mark_pair(b, c, config->measured_pairs.items[i]);
	for (uint32_t i = c->first_flow; c->measured && config->measured_pairs.count == 0 && i < b->plan->flows.count; i++)
		mark(b, i);
	return rc;
}

/* The switch at a flow's end. */
static uint32_t
leaf_of(const struct topo *topo, uint32_t node, uint16_t nic)
{
	return topo_port_of(topo, node, nic)->peer;
}

int
plan_check_measured(const struct plan_builder *b)
{
	const struct plan *plan = b->plan;
	uint32_t *first = malloc((b->topo->nnodes + 1u) * sizeof(*first)); /* measured collective at each leaf */
	int rc = 0;

	if (first == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->topo->nnodes; i++)
		first[i] = PLAN_NONE;
	for (uint32_t i = 0; i < plan->flows.count && rc == 0; i++) {
		const struct flow *flow = &plan->flows.flows[i];
		uint32_t leaf, owner = plan->of[i].owner;

		if (!plan->of[i].measured || !plan->collectives[owner].enabled)
			continue;
		leaf = leaf_of(b->topo, flow->dst_node, flow->dst_nic);
		if (leaf == leaf_of(b->topo, flow->src_node, flow->src_nic))
			continue;
		if (first[leaf] == PLAN_NONE)
			first[leaf] = owner;
		if (plan->collectives[first[leaf]].job != plan->collectives[owner].job)
			rc = cfg_fail(&plan->collectives[owner].where, "measured", b->err,
				      "switch %s receives measured data of the jobs \"%s\" and \"%s\", whose iterations it "
				      "cannot distinguish: measure one of them, or make them one job",
				      b->topo->nodes[leaf].name, b->workload->jobs[plan->collectives[first[leaf]].job].name,
				      b->workload->jobs[plan->collectives[owner].job].name);
	}
	free(first);
	return rc;
}

/* Kinds, and what is known of steps. */

#define SHARED_PART 4   /* what is known of steps is shared where kinds are at most this part of them */
#define MANY_STEPS 4096 /* of fewer each has its own until all is known */

int
plan_steps_create(struct plan_collective *c)
{
	size_t all = coll_all_steps(c->schedule);

	if (all < MANY_STEPS) {
		c->steps = calloc(all + 1, sizeof(*c->steps));
		return c->steps != NULL ? 0 : -ENOMEM;
	}
	c->step_of = calloc(all, sizeof(*c->step_of));
	c->kinds = calloc(1, sizeof(*c->kinds));
	if (c->step_of == NULL || c->kinds == NULL)
		return -ENOMEM;
	c->kinds->bytes = sizeof(*c->steps);
	return 0;
}

void
plan_steps_free(struct plan_collective *c)
{
	if (c->kinds != NULL)
		free(c->kinds->slots); /* its items are c->steps */
	free(c->kinds);
	free(c->steps);
	free(c->step_of);
	c->kinds = NULL;
	c->steps = NULL;
	c->step_of = NULL;
}

/* Gives each step its own: too many differ. @return 0 or -ENOMEM */
static int
unshare_steps(struct plan_collective *c)
{
	size_t all = coll_all_steps(c->schedule);
	struct plan_step *steps = malloc(all * sizeof(*steps));

	if (steps == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < all; i++)
		steps[i] = *plan_known(c, i);
	plan_steps_free(c);
	c->steps = steps;
	return 0;
}

int
plan_know(struct plan_collective *c, size_t index, const struct plan_step *known)
{
	uint32_t kind;

	if (c->kinds == NULL) {
		c->steps[index] = *known;
		return 0;
	}
	/* It is mostly like the step before it. */
	if (index != 0 && kinds_is(c->kinds, c->step_of[index - 1], known))
		kind = c->step_of[index - 1];
	else
		kind = kinds_of(c->kinds, known);
	c->steps = c->kinds->items;
	if (kind == PLAN_NONE)
		return -ENOMEM;
	c->step_of[index] = kind;
	return c->kinds->count <= coll_all_steps(c->schedule) / SHARED_PART ? 0 : unshare_steps(c);
}

/* Keeps what is known of steps once where most are alike, and no kind that none is of; without memory all stays. */
static void
share_steps(struct plan_collective *c)
{
	uint32_t all = coll_all_steps(c->schedule), *step_of = malloc((all + 1u) * sizeof(*step_of));
	struct kinds kinds = { .bytes = sizeof(*c->steps) };
	bool alike = step_of != NULL;

	for (uint32_t i = 0; i < all && alike; i++) {
		step_of[i] = kinds_of(&kinds, plan_known(c, i));
		alike = step_of[i] != PLAN_NONE && kinds.count <= all / SHARED_PART;
	}
	if (alike && all != 0) {
		plan_steps_free(c);
		c->steps = kinds.items;
		c->step_of = step_of;
		kinds.items = NULL;
		step_of = NULL;
	}
	free(step_of);
	kinds_free(&kinds);
}

/* Base RTTs, ideal and expected times of everything in the plan, from the configured paths. */

struct paths {
	struct route_path forward, reverse;
	uint64_t one_way_ps;
};

/* While a collective's times are found. */
struct estimate {
	struct plan *plan;
	const struct plan_network *network;
	struct plan_collective *collective;
	struct expect_port *ports; /* [of the topology] scratch, zero */
	struct paths *paths;       /* [nflows] */
	struct expect_flow *flows; /* [steps] of those that run together */
	uint32_t *order;           /* [steps] by depth, in their order: which ones run together */
	uint32_t *first;           /* [depths + 2] in order of each depth, from 1 */
	uint32_t *kind_of;         /* [steps] in kinds */
	struct kinds kinds;        /* of struct fluid_step */
	uint32_t depths;
	bool acks;
	int rc; /* -ENOMEM: a kind had no room */
};

static int find_paths(struct plan *plan, const struct plan_network *network, uint32_t flow, const struct cfg_where *where,
		      struct paths *paths, struct err *err);
static void judge_rtt(struct plan *plan, uint64_t rtt_ps);
static int estimate_connection(struct plan *plan, const struct plan_network *network, uint32_t flow, struct err *err);
static int estimate_collective(struct plan *plan, const struct plan_network *network, struct plan_collective *c,
			       struct expect_port *ports, struct err *err);

int
plan_estimate(struct plan *plan, const struct plan_network *network, struct err *err)
{
	const struct topo *topo = network->routing->topo;
	struct expect_port *ports = calloc(topo->nports, sizeof(*ports));
	int rc = ports == NULL ? err_set(err, -ENOMEM, "no memory for expected times") : 0;

	for (uint32_t i = 0; i < plan->ncollectives && rc == 0; i++)
		rc = estimate_collective(plan, network, &plan->collectives[i], ports, err);
	for (uint32_t i = 0; i < plan->nbackgrounds && rc == 0; i++) {
		struct plan_background *bg = &plan->backgrounds[i];
		struct paths paths;

		rc = find_paths(plan, network, bg->flow, &bg->where, &paths, err);
		if (rc == 0)
			bg->ideal_ps = expect_ideal_ps(topo, &network->frames, &paths.forward, bg->bytes,
						       plan->of[bg->flow].base_rtt_ps);
		if (rc == 0)
			judge_rtt(plan, plan->of[bg->flow].base_rtt_ps);
	}
	for (uint32_t flow = 0; flow < plan->flows.count && rc == 0; flow++)
		if (plan->of[flow].kind == FLOW_TRAFFIC)
			rc = estimate_connection(plan, network, flow, err);
	free(ports);
	return rc;
}

static void
judge_rtt(struct plan *plan, uint64_t rtt_ps)
{
	if (plan->least_rtt_ps == 0 || rtt_ps < plan->least_rtt_ps)
		plan->least_rtt_ps = rtt_ps;
	if (rtt_ps > plan->most_rtt_ps)
		plan->most_rtt_ps = rtt_ps;
}

static int
estimate_connection(struct plan *plan, const struct plan_network *network, uint32_t flow, struct err *err)
{
	static const struct cfg_where nowhere; /* a generator's */
	struct paths paths;
	int rc = find_paths(plan, network, flow, &nowhere, &paths, err);

	if (rc == 0)
		judge_rtt(plan, plan->of[flow].base_rtt_ps);
	for (uint32_t i = plan->of[flow].owner; i != PLAN_NONE && rc == 0; i = plan->messages[i].next)
		plan->messages[i].ideal_ps = expect_fct_ps(network->routing->topo, &network->frames, &paths.forward,
							   &paths.reverse, plan->messages[i].bytes, network->pipeline_ps);
	return rc;
}

static int
find_paths(struct plan *plan, const struct plan_network *network, uint32_t flow, const struct cfg_where *where,
	   struct paths *paths, struct err *err)
{
	const struct topo *topo = network->routing->topo;
	const struct flow *f = &plan->flows.flows[flow];
	int rc = route_flow_path(network->routing, f, false, &paths->forward);

	if (rc == 0)
		rc = route_flow_path(network->routing, f, true, &paths->reverse);
	if (rc != 0)
		return cfg_fail(where, NULL, err, "flow %s:%u->%s:%u/%u>%u has no path: %s", topo->nodes[f->src_node].name,
				f->src_nic + 1u, topo->nodes[f->dst_node].name, f->dst_nic + 1u, f->sport, f->dport,
				rc == -ELOOP ? "it loops"
					     : "the hosts' ports are not connected; ports of one network would be right");
	plan->of[flow].base_rtt_ps =
		route_rtt_ps(topo, &paths->forward, &paths->reverse, network->frames.frame_bytes, network->frames.ack_bytes,
			     network->pipeline_ps, network->frames.quantum_ps);
	plan->of[flow].ack_wait_ps = expect_ack_wait_ps(topo, &network->frames, &paths->forward);
	plan->of[flow].there_ps = paths->one_way_ps = route_one_way_ps(topo, &paths->forward, network->frames.frame_bytes,
								       network->pipeline_ps, network->frames.quantum_ps);
	return 0;
}

static int
find_all_paths(struct estimate *e, struct err *err)
{
	struct plan_collective *c = e->collective;

	c->least_rtt_ps = c->nflows != 0 ? UINT64_MAX : 0;
	c->most_rtt_ps = 0;
	for (uint32_t i = 0; i < c->nflows; i++) {
		int rc = find_paths(e->plan, e->network, c->first_flow + i, &c->where, &e->paths[i], err);
		uint64_t rtt_ps = e->plan->of[c->first_flow + i].base_rtt_ps;

		if (rc != 0)
			return rc;
		c->least_rtt_ps = rtt_ps < c->least_rtt_ps ? rtt_ps : c->least_rtt_ps;
		c->most_rtt_ps = rtt_ps > c->most_rtt_ps ? rtt_ps : c->most_rtt_ps;
	}
	return 0;
}

/* @param depths  [steps]. @return 0 or -ENOMEM */
static int
order_steps(struct estimate *e, const uint32_t *depths)
{
	uint32_t all = coll_all_steps(e->collective->schedule);

	for (uint32_t i = 0; i < all; i++)
		e->depths = depths[i] > e->depths ? depths[i] : e->depths;
	e->order = malloc((all + 1u) * sizeof(*e->order));
	e->first = calloc(e->depths + 2u, sizeof(*e->first));
	if (e->order == NULL || e->first == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < all; i++)
		e->first[depths[i] + 1]++;
	for (uint32_t d = 1; d <= e->depths + 1; d++)
		e->first[d] += e->first[d - 1];
	for (uint32_t i = 0; i < all; i++)
		e->order[e->first[depths[i]]++] = i;
	for (uint32_t d = e->depths + 1; d > 0; d--)
		e->first[d] = e->first[d - 1];
	return 0;
}

static void
set_kind(struct estimate *e, uint32_t index, const struct fluid_step *step)
{
	e->kind_of[index] = kinds_of(&e->kinds, step);
	if (e->kind_of[index] == PLAN_NONE)
		e->rc = -ENOMEM;
}

static struct expect_flow
flow_of(const struct estimate *e, uint32_t index)
{
	const struct plan_collective *c = e->collective;
	uint32_t flow = plan_known(c, index)->flow;
	const struct paths *paths = &e->paths[flow - c->first_flow];

	return (struct expect_flow){
		.bytes = coll_step_of(c->schedule, e->plan->of[flow].rank, index).count_elems * coll_elem_bytes(c->type),
		.forward = &paths->forward,
		.reverse = &paths->reverse,
		.base_rtt_ps = e->plan->of[flow].base_rtt_ps,
	};
}

static void
set_fluid(struct estimate *e, uint32_t index, const struct expect_flow *flow)
{
	uint32_t of = plan_known(e->collective, index)->flow;

	set_kind(e, index,
		 &(struct fluid_step){
			 .bytes = flow->bytes,
			 .wire_ps = flow->wire_ps,
			 .tx_ps = flow->tx_ps,
			 .rx_ps = flow->rx_ps,
			 .arrive_ps = e->paths[of - e->collective->first_flow].one_way_ps,
			 .ack_ps = e->plan->of[of].base_rtt_ps,
			 .tx = flow->forward->ports[0],
			 .rx = flow->forward->ports[flow->forward->hops - 1],
		 });
}

/* Estimates the time of each step of one depth with NICs to itself. */
static void
estimate_together(struct estimate *e, uint32_t depth)
{
	const struct topo *topo = e->network->routing->topo;
	uint32_t count = 0, from = e->first[depth], end = e->first[depth + 1];

	for (uint32_t i = from; i < end; i++)
		if (plan_known(e->collective, e->order[i])->flow != PLAN_NONE)
			e->flows[count++] = flow_of(e, e->order[i]);
	if (e->acks)
		expect_steps(topo, &e->network->frames, e->flows, count, e->ports);
	else
		for (uint32_t i = 0; i < count; i++)
			expect_ideal_step(topo, &e->network->frames, &e->flows[i]);
	count = 0;
	for (uint32_t i = from; i < end; i++) {
		uint32_t index = e->order[i];

		if (plan_known(e->collective, index)->flow != PLAN_NONE)
			set_fluid(e, index, &e->flows[count++]);
		else /* its time is the same, whichever rank's it is */
			set_kind(
				e, index,
				&(struct fluid_step){ .wire_ps = coll_step_of(e->collective->schedule, 0, index).compute_ps,
						      .tx = FLUID_LOCAL,
						      .rx = FLUID_LOCAL });
	}
}

static void
set_time(void *arg, uint32_t step, uint64_t takes_ps)
{
	struct estimate *e = arg;
	struct plan_step known = *plan_known(e->collective, step);

	*(e->acks ? &known.expect_ps : &known.ideal_ps) = takes_ps;
	if (plan_know(e->collective, step, &known) != 0)
		e->rc = -ENOMEM;
}

/* The undisturbed run, with ACKs (expected times) or without (ideal times). @return 0 or -ENOMEM */
static int
run_collective(struct estimate *e, bool acks)
{
	struct plan_collective *c = e->collective;
	int rc;

	e->acks = acks;
	kinds_clear(&e->kinds);
	for (uint32_t depth = 1; depth <= e->depths; depth++)
		estimate_together(e, depth);
	if (e->rc != 0)
		return e->rc;
	rc = fluid_run(
		c->chains,
		&(struct fluid_steps){ .kinds = e->kinds.items, .kind_of = e->kind_of, .complete = set_time, .arg = e },
		e->network->routing->topo->nports, acks ? &c->expect_ps : &c->ideal_ps);
	return rc == 0 ? e->rc : rc;
}

static int
estimate_collective(struct plan *plan, const struct plan_network *network, struct plan_collective *c,
		    struct expect_port *ports, struct err *err)
{
	size_t all = coll_all_steps(c->schedule);
	struct estimate e = {
		.plan = plan,
		.network = network,
		.collective = c,
		.ports = ports,
		.paths = calloc(c->nflows + 1u, sizeof(*e.paths)),
		.flows = calloc(all + 1, sizeof(*e.flows)), /* pages are touched up to the most of one depth */
		.kind_of = malloc((all + 1) * sizeof(*e.kind_of)),
		.kinds.bytes = sizeof(struct fluid_step),
	};
	uint32_t *depths = chains_depths(c->chains);
	int rc = 0;

	if (depths == NULL && errno != ENOMEM)
		rc = cfg_fail(&c->where, NULL, err, "some of its steps wait for each other: none of them can ever start");
	else if (depths == NULL || e.paths == NULL || e.flows == NULL || e.kind_of == NULL)
		rc = -ENOMEM;
	if (rc == 0)
		rc = find_all_paths(&e, err);
	if (rc == 0)
		rc = order_steps(&e, depths);
	free(depths);
	if (rc == 0)
		rc = run_collective(&e, false);
	if (rc == 0)
		rc = run_collective(&e, true);
	if (rc == -ENOMEM)
		err_set(err, rc, "no memory for the expected times of %zu steps", all);
	free(e.paths);
	free(e.flows);
	free(e.order);
	free(e.first);
	free(e.kind_of);
	kinds_free(&e.kinds);
	if (rc == 0)
		share_steps(c);
	if (all >= MANY_STEPS)
		malloc_trim(0); /* the arrays of steps may lie in the heap: what comes next is not of their size */
	return rc;
}
