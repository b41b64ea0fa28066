/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/steps/engine.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "common/units.h"
#include "rxe-hosts/steps/rank.h"

static void completed(void *ctx, const struct wc *wc);
static void rtt(void *ctx, uint32_t flow, uint64_t rtt_ps, uint64_t now_ps);
static void received(void *ctx, const struct datagram *datagram, uint64_t now_ps);
static void departed(void *ctx, const struct datagram *datagram);
static void timer(void *ctx, uint64_t now_ps);
static void tick(void *ctx, uint64_t now_ps);
static void set_timer(struct step_engine *engine);

static void step_engine_settle(struct step_engine *engine, uint64_t now_ps);

/* The agent's slots are those of chains, of connections, and of background flows. */
static void
watch_flows(struct step_engine *engine)
{
	uint32_t slot = engine->nslots + engine->messages.nconnections;

	messages_watch(&engine->messages, &engine->agent, &engine->audit, engine->nslots);
	for (uint32_t i = 0; i < engine->nbackgrounds; i++)
		if (engine->backgrounds[i].plan->step != 0)
			engine->backgrounds[i].judge =
				(struct judge){ engine->plan, &engine->agent, &engine->audit, slot + i };
}

struct step_engine *
step_engine_create(const struct step_engine_config *config, struct err *err)
{
	struct step_engine *engine = calloc(1, sizeof(*engine));

	if (engine == NULL)
		goto fail;
	engine->config = *config;
	engine->plan = config->plan;
	engine->device = config->device;
	engine->timer_ps = TIME_NEVER;
	if (step_engine_place(engine) != 0)
		goto fail;
	engine->ready_cap = engine->nslots + engine->nranks;
	engine->ready = calloc(engine->ready_cap + 1u, sizeof(*engine->ready));
	if (engine->ready == NULL || wakes_init(&engine->wakes, engine->ready_cap) != 0 || turns_init(engine) != 0 ||
	    payload_init(engine) != 0 ||
	    agent_init(&engine->agent, config->device, config->detection, config->node,
		       engine->nslots + engine->messages.nconnections + engine->nbackgrounds) != 0)
		goto fail;
	if (engine->plan->judged)
		watch_flows(engine);
	engine->client = (struct device_client){
		.ctx = engine,
		.completed = completed,
		.accept = engine->plan->real ? payload_accept : NULL,
		.place = payload_place,
		.extent = payload_extent,
		.rtt = agent_listens(&engine->agent) ? rtt : NULL,
		.received = received,
		.departed = config->probes != NULL ? departed : NULL,
		.timer = timer,
		.tick = tick,
	};
	return engine;
fail:
	err_set(err, -ENOMEM, "no memory for the steps of a host");
	step_engine_destroy(engine);
	errno = ENOMEM;
	return NULL;
}

void
step_engine_destroy(struct step_engine *engine)
{
	if (engine == NULL)
		return;
	for (uint32_t i = 0; i < engine->nranks && engine->ranks != NULL; i++)
		step_rank_fini(&engine->ranks[i]);
	free(engine->ranks);
	free(engine->turns);
	free(engine->ready);
	wakes_fini(&engine->wakes);
	free(engine->backgrounds);
	messages_fini(&engine->messages);
	done_log_fini(&engine->done);
	free(engine->region);
	agent_fini(&engine->agent);
	free(engine);
}

void
step_engine_start(struct step_engine *engine)
{
	engine->device->ops->register_region(engine->device, engine->region, engine->region_bytes);
	engine->device->ops->set_client(engine->device, &engine->client);
	set_timer(engine);
}

int
step_engine_place(struct step_engine *engine)
{
	const struct plan *plan = engine->plan;
	uint32_t node = engine->config.node;
	size_t steps = 0;

	for (uint32_t c = 0; c < plan->ncollectives; c++)
		for (uint32_t r = 0; r < plan->collectives[c].schedule->ranks; r++)
			engine->nranks += plan_takes_part(plan, c, r, node);
	for (uint32_t i = 0; i < plan->nbackgrounds; i++)
		engine->nbackgrounds += plan->flows.flows[plan->backgrounds[i].flow].src_node == node;
	engine->ranks = calloc(engine->nranks + 1u, sizeof(*engine->ranks));
	engine->backgrounds = calloc(engine->nbackgrounds + 1u, sizeof(*engine->backgrounds));
	if (engine->ranks == NULL || engine->backgrounds == NULL)
		return -ENOMEM;
	for (uint32_t c = 0; c < plan->ncollectives; c++)
		for (uint32_t r = 0; r < plan->collectives[c].schedule->ranks; r++) {
			const struct plan_collective *collective = &plan->collectives[c];
			const struct plan_rank *at = &collective->ranks[r];

			if (!plan_takes_part(plan, c, r, node))
				continue;
			if (step_rank_init(&engine->ranks[at->slot], plan, c, r) != 0)
				return -ENOMEM;
			steps += (size_t)collective->iterations * coll_steps(collective->schedule, r);
		}
	for (uint32_t i = 0; i < engine->nranks; i++) {
		engine->ranks[i].first_slot = engine->nslots;
		engine->nslots += rank_chains(&engine->ranks[i]);
	}
	engine->undone = engine->nranks;
	for (uint32_t i = 0; i < plan->nbackgrounds; i++)
		if (plan->flows.flows[plan->backgrounds[i].flow].src_node == node)
			background_init(&engine->backgrounds[plan->backgrounds[i].slot], &plan->backgrounds[i]);
	return done_log_init(&engine->done, steps) != 0 ? -ENOMEM : messages_init(&engine->messages, plan, node);
}

static void
completed(void *ctx, const struct wc *wc)
{
	struct step_engine *engine = ctx;
	const struct plan_flow *of = &engine->plan->of[wc->flow];

	if (of->kind == FLOW_CONTROL)
		return;
	if (wc->opcode == WC_RECEIVED) {
		if (of->kind == FLOW_COLLECTIVE && !step_rank_received(engine, &engine->ranks[of->peer_slot], wc))
			engine->unexpected++;
	} else if (of->kind == FLOW_COLLECTIVE) {
		if (wc->opcode == WC_SENT)
			step_rank_sent(engine, &engine->ranks[of->slot], wc);
		else
			step_rank_failed(engine, &engine->ranks[of->slot], wc);
	} else if (of->kind == FLOW_TRAFFIC) {
		if (wc->opcode == WC_SENT)
			messages_sent(&engine->messages, engine->device, wc);
		else
			messages_failed(&engine->messages, wc);
	} else if (wc->opcode == WC_SENT) {
		background_sent(&engine->backgrounds[of->slot], engine->device, wc);
	} else {
		background_failed(&engine->backgrounds[of->slot], wc);
	}
	step_engine_settle(engine, wc->time_ps);
	set_timer(engine);
}

static void
rtt(void *ctx, uint32_t flow, uint64_t rtt_ps, uint64_t now_ps)
{
	struct step_engine *engine = ctx;
	const struct plan_flow *of = &engine->plan->of[flow];

	if (__builtin_expect(of->kind == FLOW_COLLECTIVE, 1))
		agent_rtt(&engine->agent, engine->ranks[of->slot].flying[of->out], rtt_ps, now_ps);
	else if (of->kind == FLOW_BACKGROUND)
		judged_rtt(&engine->backgrounds[of->slot].judge, rtt_ps, now_ps);
	else if (of->kind == FLOW_TRAFFIC)
		messages_rtt(&engine->messages, flow, rtt_ps, now_ps);
}

/*
 * The packet names the sender's finished step; the agent needs the receiver's steps that wait for it. The first of them
 * gets the detections that are handed over.
 */
static void
notified(struct step_engine *engine, const struct datagram *datagram, uint64_t now_ps)
{
	const struct plan_flow *of = &engine->plan->of[datagram->flow];
	const struct plan_collective *c;
	uint32_t steps, step, detections = datagram->arg;

	if (of->kind != FLOW_CONTROL || datagram->id == 0) {
		engine->unexpected++;
		return;
	}
	c = &engine->plan->collectives[of->owner];
	steps = coll_max_steps(c->schedule);
	step = (datagram->id - 1) % steps + 1;
	if (step > coll_steps(c->schedule, of->rank)) {
		engine->unexpected++;
		return;
	}
	for (uint32_t i = 0; i < chains_waiters(c->chains, of->rank, step); i++) {
		struct coll_dep waiter = chains_waiter(c->chains, of->rank, step, i);
		uint32_t serial = (datagram->id - 1) / steps * steps + waiter.step;

		if (waiter.rank != of->peer)
			continue;
		agent_notified(&engine->agent,
			       engine->ranks[of->peer_slot].first_slot + chains_of(c->chains, waiter.rank, waiter.step),
			       serial, detections, now_ps);
		detections = 0;
	}
}

static void
probed(struct step_engine *engine, const struct datagram *datagram, uint64_t now_ps)
{
	if (engine->config.probes == NULL) {
		engine->unexpected++;
		return;
	}
	probe_agent_received(engine->config.probes, datagram, now_ps);
	set_timer(engine);
}

static void
departed(void *ctx, const struct datagram *datagram)
{
	struct step_engine *engine = ctx;

	probe_agent_departed(engine->config.probes, datagram);
	set_timer(engine);
}

/* Handlers of datagrams in a host's program, by type. */
static void (*const handlers[PKT_TYPES])(struct step_engine *engine, const struct datagram *datagram, uint64_t now_ps) = {
	[PKT_NOTIFY] = notified,
	[PKT_UD] = probed,
	[PKT_EXPIRED] = probed,
};

static void
received(void *ctx, const struct datagram *datagram, uint64_t now_ps)
{
	struct step_engine *engine = ctx;

	if (handlers[datagram->type] != NULL)
		handlers[datagram->type](engine, datagram, now_ps);
	else
		engine->unexpected++;
}

static void
timer(void *ctx, uint64_t now_ps)
{
	struct step_engine *engine = ctx;

	engine->timer_ps = TIME_NEVER;
	agent_send_asked(&engine->agent);
	while (wakes_next_ps(&engine->wakes) <= now_ps) {
		struct wake wake = wakes_take(&engine->wakes);

		step_rank_wake(engine, &engine->ranks[wake.slot], wake.chain, now_ps);
		step_engine_settle(engine, now_ps);
	}
	for (uint32_t i = 0; i < engine->nbackgrounds; i++)
		if (engine->backgrounds[i].wake_ps <= now_ps)
			background_wake(&engine->backgrounds[i], engine->device, now_ps);
	messages_wake(&engine->messages, engine->device, now_ps);
	if (engine->config.probes != NULL && probe_agent_next_ps(engine->config.probes) <= now_ps)
		probe_agent_wake(engine->config.probes, now_ps);
	set_timer(engine);
}

static void
tick(void *ctx, uint64_t now_ps)
{
	struct step_engine *engine = ctx;

	agent_tick(&engine->agent, now_ps);
}

uint64_t
step_engine_next_ps(const struct step_engine *engine)
{
	uint64_t when_ps = wakes_next_ps(&engine->wakes);
	if (messages_next_ps(&engine->messages) < when_ps)
		when_ps = messages_next_ps(&engine->messages);

	for (uint32_t i = 0; i < engine->nbackgrounds; i++)
		if (engine->backgrounds[i].wake_ps < when_ps)
			when_ps = engine->backgrounds[i].wake_ps;
	return when_ps;
}

bool
step_engine_sending(const struct step_engine *engine)
{
	if (engine->sending != 0)
		return true;
	for (uint32_t i = 0; i < engine->nbackgrounds; i++)
		if (background_sending(&engine->backgrounds[i]))
			return true;
	return engine->messages.sending != 0;
}

void
step_engine_connection(const struct step_engine *engine, const struct step_rank *rank, bool open, uint64_t now_ps)
{
	const struct plan_collective *c = rank_collective(engine, rank);

	for (uint32_t i = 0; engine->config.probes != NULL && !engine->config.traced && i < c->nflows; i++)
		if (engine->plan->of[c->first_flow + i].rank == rank->rank)
			probe_agent_connection(engine->config.probes, c->first_flow + i, rank->collective, open, now_ps);
}

/* The device has one timer: the earliest of all wake-ups. A host has few ranks and flows. */
static void
set_timer(struct step_engine *engine)
{
	uint64_t when_ps = step_engine_next_ps(engine), probe_ps = TIME_NEVER;

	if (engine->config.probes != NULL)
		probe_ps = probe_agent_next_ps(engine->config.probes);
	when_ps = engine->agent.nasked != 0 ? 0 : probe_ps < when_ps ? probe_ps : when_ps;
	if (when_ps != engine->timer_ps) {
		engine->timer_ps = when_ps;
		engine->device->ops->set_timer(engine->device, when_ps);
	}
}

int
step_engine_poll(struct step_engine *engine, uint32_t flow)
{
	int ret = agent_ask(&engine->agent, flow);

	set_timer(engine);
	return ret;
}

void
step_engine_rearm(struct step_engine *engine)
{
	set_timer(engine);
}

void
step_engine_ready(struct step_engine *engine, struct step_rank *rank, uint32_t chain)
{
	bool *queued = chain == RANK_BEGINS ? &rank->queued : &rank->chains[chain].queued;

	if (*queued)
		return;
	*queued = true;
	assert(engine->ready_len < engine->ready_cap);
	engine->ready[(engine->ready_head + engine->ready_len++) % engine->ready_cap] =
		(struct step_ready){ rank->slot, chain };
}

/* Does all that can be done now: until nothing is ready. Every event ends with it. */
static void
step_engine_settle(struct step_engine *engine, uint64_t now_ps)
{
	while (engine->ready_len != 0) {
		struct step_ready ready = engine->ready[engine->ready_head];
		struct step_rank *rank = &engine->ranks[ready.slot];

		engine->ready_head = (engine->ready_head + 1) % engine->ready_cap;
		engine->ready_len--;
		if (ready.chain == RANK_BEGINS) {
			rank->queued = false;
			step_rank_begin(engine, rank, now_ps);
		} else {
			rank->chains[ready.chain].queued = false;
			step_rank_try(engine, rank, ready.chain, now_ps);
		}
	}
}

/* Output of the step engine during and after a run. */

enum step_engine_state
step_engine_state(const struct step_engine *engine)
{
	if (engine->failed != 0)
		return STEP_ENGINE_FAILED;
	return engine->undone != 0 ? STEP_ENGINE_WORKING : STEP_ENGINE_DONE;
}

bool
step_engine_background_open(const struct step_engine *engine)
{
	for (uint32_t i = 0; i < engine->nbackgrounds; i++)
		if (background_open(&engine->backgrounds[i]))
			return true;
	return engine->messages.left != 0;
}

uint64_t
step_engine_unexpected(const struct step_engine *engine)
{
	return engine->unexpected;
}

const struct ledger_audit *
step_engine_audit(const struct step_engine *engine)
{
	return &engine->audit;
}

const struct agent *
step_engine_agent(const struct step_engine *engine)
{
	return &engine->agent;
}

const struct monitor *
step_engine_monitor(const struct step_engine *engine, uint32_t collective, uint32_t rank)
{
	for (uint32_t i = 0; i < engine->nranks; i++)
		if (engine->ranks[i].collective == collective && engine->ranks[i].rank == rank)
			return &engine->ranks[i].monitor;
	return NULL;
}

void
step_engine_close(struct step_engine *engine, uint64_t now_ps)
{
	assert(!engine->closed);
	for (uint32_t i = 0; i < engine->nranks; i++)
		step_rank_close(engine, &engine->ranks[i], now_ps);
	for (uint32_t i = 0; i < engine->nbackgrounds; i++)
		background_close(&engine->backgrounds[i], engine->device, now_ps);
	messages_close(&engine->messages, engine->device, now_ps);
	engine->closed = true;
}

size_t
step_engine_rows(const struct step_engine *engine)
{
	return engine->done.count + (engine->closed ? engine->nbackgrounds : 0);
}

static struct step_row
background_row(const struct step_engine *engine, const struct background *background)
{
	const struct plan_background *plan = background->plan;
	const struct flow *flow = &engine->plan->flows.flows[plan->flow];
	bool open = background_sending(background) || background->failed || background->messages == 0;
	uint64_t messages = background->posted != 0 ? background->posted : 1;

	return (struct step_row){
		.src = flow->src_node,
		.dst = flow->dst_node,
		.collective = REC_NONE,
		.flow = plan->flow,
		.bytes = messages * plan->bytes,
		.acked_bytes = background->messages * plan->bytes + background->acked_bytes,
		.start_ps = background->start_ps,
		.end_ps = open ? 0 : background->end_ps,
		.ideal_ps = messages * plan->ideal_ps,
		.expect_ps = messages * plan->ideal_ps,
		.waited_for = { REC_NONE, REC_NONE, 0 },
		.retransmits = (uint32_t)background->retransmits,
		.state = !background->started ? REC_STEP_WAITS
			 : open               ? REC_STEP_OPEN
					      : REC_STEP_OVER,
	};
}

struct step_row
step_engine_row(const struct step_engine *engine, size_t index)
{
	assert(index < step_engine_rows(engine));
	if (index >= engine->done.count)
		return background_row(engine, &engine->backgrounds[index - engine->done.count]);

	const struct step_done done = done_log_at(&engine->done, index);
	const struct step_rank *rank = &engine->ranks[done.slot];
	const struct plan_collective *c = rank_collective(engine, rank);
	const struct coll_step at = coll_step_get(c->schedule, rank->rank, done.step);
	const struct plan_step *known = plan_step_at(c, rank->rank, done.step);
	uint64_t bytes = plan_step_bytes(c, rank->rank, done.step);

	return (struct step_row){
		.src = c->ranks[rank->rank].node,
		.dst = c->ranks[at.peer].node,
		.job = c->job,
		.collective = rank->collective,
		.iteration = done.iteration,
		.rank = rank->rank,
		.step = done.step,
		.channel = at.channel,
		.flow = known->flow,
		.bytes = bytes,
		.acked_bytes = bytes - done.unacked_bytes,
		.start_ps = done.start_ps,
		.end_ps = done.end_ps,
		.ideal_ps = known->ideal_ps,
		.expect_ps = known->expect_ps,
		.waited_for = done.waited_for,
		.retransmits = done.retransmits,
		.state = done.state,
	};
}

size_t
step_engine_flows(const struct step_engine *engine)
{
	return engine->nbackgrounds + engine->messages.count;
}

struct flow_row
step_engine_flow(const struct step_engine *engine, size_t index)
{
	assert(index < step_engine_flows(engine));
	if (index < engine->nbackgrounds) {
		const struct background *background = &engine->backgrounds[index];
		struct step_row row = background_row(engine, background);

		return (struct flow_row){
			.flow = row.flow,
			.generator = REC_NONE,
			.bytes = row.bytes,
			.acked_bytes = row.acked_bytes,
			.start_ps = background->plan->start_ps,
			.begin_ps = row.start_ps,
			.end_ps = row.end_ps,
			.ideal_ps = row.ideal_ps,
			.retransmits = row.retransmits,
			.begun = background->started,
		};
	}
	index -= engine->nbackgrounds;

	const struct plan_message *plan = &engine->plan->messages[engine->messages.first + index];
	const struct message *message = &engine->messages.states[index];
	const struct connection *connection = &engine->messages.connections[engine->plan->of[plan->flow].slot];

	return (struct flow_row){
		.flow = plan->flow,
		.generator = plan->generator,
		.bytes = plan->bytes,
		.acked_bytes = message->end_ps != 0                               ? plan->bytes
			       : connection->at == engine->messages.first + index ? connection->acked_bytes
										  : 0,
		.start_ps = plan->start_ps,
		.begin_ps = message->begin_ps,
		.end_ps = message->end_ps,
		.ideal_ps = plan->ideal_ps,
		.retransmits = message->retransmits,
		.begun = message->begun,
	};
}

/* Ranks without a share in the collective begin and end by command. */
static bool
has_part(const struct step_engine *engine, const struct step_rank *rank)
{
	const struct plan_collective *c = rank_collective(engine, rank);

	return coll_steps(c->schedule, rank->rank) != 0 || c->ranks[rank->rank].receives != 0;
}

struct collective_result
step_engines_result(struct step_engine *const *engines, size_t count, uint32_t collective, uint32_t iteration)
{
	struct collective_result total = { .start_ps = UINT64_MAX, .complete = true };
	uint32_t ranks = 0;

	for (size_t e = 0; e < count; e++)
		for (uint32_t i = 0; engines[e] != NULL && i < engines[e]->nranks; i++) {
			const struct step_rank *rank = &engines[e]->ranks[i];
			const struct iteration_result *result;

			if (rank->collective != collective || !has_part(engines[e], rank))
				continue;
			result = &rank->iterations[iteration];
			ranks++;
			total.wrong += result->wrong;
			total.complete = total.complete && result->complete;
			if (result->started && result->start_ps < total.start_ps)
				total.start_ps = result->start_ps;
			if (result->end_ps > total.end_ps)
				total.end_ps = result->end_ps;
		}
	if (total.start_ps == UINT64_MAX)
		total.start_ps = 0;
	if (ranks == 0 || !total.complete) {
		total.complete = false;
		total.end_ps = 0;
	}
	return total;
}

/* The step engine of a host that runs elsewhere, and what is sent of one. */

struct step_engine *
step_engine_create_remote(const struct plan *plan, uint32_t node, struct err *err)
{
	struct step_engine *engine = calloc(1, sizeof(*engine));

	if (engine != NULL) {
		engine->plan = plan;
		engine->config.node = node;
		engine->closed = true;
	}
	if (engine != NULL && step_engine_place(engine) == 0)
		return engine;
	err_set(err, -ENOMEM, "no memory for the steps of a host");
	step_engine_destroy(engine);
	errno = ENOMEM;
	return NULL;
}

static bool
put_background(struct step_engine *engine, const struct manage_step *step)
{
	for (uint32_t i = 0; i < engine->nbackgrounds; i++) {
		struct background *background = &engine->backgrounds[i];
		const struct plan_background *plan = background->plan;
		uint64_t posted, acked;

		if (plan->flow != step->flow)
			continue;
		if (step->bytes % plan->bytes != 0 || step->bytes == 0 || step->acked_bytes > step->bytes)
			return false;
		posted = step->bytes / plan->bytes;
		acked = step->acked_bytes / plan->bytes;
		if (step->open != REC_STEP_OVER ? posted - acked > plan->depth : acked != posted)
			return false;
		background->posted = posted;
		background->messages = step->open != REC_STEP_OVER && acked == posted ? posted - 1 : acked;
		background->acked_bytes = step->acked_bytes - background->messages * plan->bytes;
		background->retransmits = step->retransmits;
		background->start_ps = step->start_ps;
		background->end_ps = step->end_ps;
		background->started = step->open != REC_STEP_WAITS;
		return true;
	}
	return false;
}

static struct step_rank *
rank_of(const struct step_engine *engine, uint32_t collective, uint32_t rank)
{
	for (uint32_t i = 0; i < engine->nranks; i++)
		if (engine->ranks[i].collective == collective && engine->ranks[i].rank == rank)
			return &engine->ranks[i];
	return NULL;
}

/* A step of the plan, or none. */
static bool
is_step(const struct plan *plan, uint32_t collective, uint32_t rank, uint32_t step)
{
	if (step == 0)
		return collective == REC_NONE && rank == REC_NONE;
	return collective < plan->ncollectives && rank < plan->collectives[collective].schedule->ranks &&
	       step <= coll_steps(plan->collectives[collective].schedule, rank);
}

bool
step_engine_put_step(struct step_engine *engine, const struct manage_step *step)
{
	const struct plan_collective *collective;
	const struct step_rank *rank;

	if (step->open > REC_STEP_WAITS)
		return false;
	if (step->collective == REC_NONE)
		return put_background(engine, step);
	rank = rank_of(engine, step->collective, step->rank);
	if (rank == NULL || done_log_full(&engine->done))
		return false;
	collective = &engine->plan->collectives[step->collective];
	if (step->iteration >= collective->iterations || step->step < 1 ||
	    step->step > coll_steps(collective->schedule, step->rank) ||
	    step->flow != plan_step_at(collective, step->rank, step->step)->flow ||
	    !is_step(engine->plan, step->waited_collective, step->waited_rank, step->waited_step) ||
	    step->bytes != plan_step_bytes(collective, step->rank, step->step) || step->acked_bytes > step->bytes)
		return false;
	done_log_add(&engine->done, &(struct step_done){
					    .slot = rank->slot,
					    .iteration = step->iteration,
					    .step = step->step,
					    .waited_for = { step->waited_collective, step->waited_rank, step->waited_step },
					    .unacked_bytes = (uint32_t)(step->bytes - step->acked_bytes),
					    .start_ps = step->start_ps,
					    .end_ps = step->end_ps,
					    .retransmits = step->retransmits,
					    .state = (enum rec_step_state)step->open,
				    });
	return true;
}

bool
step_engine_put_iteration(struct step_engine *engine, const struct manage_iteration *iteration)
{
	struct step_rank *rank = rank_of(engine, iteration->collective, iteration->rank);

	if (rank == NULL || iteration->iteration >= engine->plan->collectives[iteration->collective].iterations)
		return false;
	rank->iterations[iteration->iteration] = (struct iteration_result){
		.start_ps = iteration->start_ps,
		.end_ps = iteration->end_ps,
		.wrong = iteration->wrong,
		.started = iteration->started != 0,
		.complete = iteration->end_ps != 0,
	};
	return true;
}

void
step_engine_put_unexpected(struct step_engine *engine, uint64_t messages)
{
	engine->unexpected = messages;
}

/* A message of which some bytes are acknowledged and others are not is the one at which its connection stands. */
static bool
put_message(struct messages *messages, size_t index, const struct flow_row *row)
{
	const struct plan_message *plan = &messages->plan->messages[messages->first + index];
	struct connection *connection = &messages->connections[messages->plan->of[plan->flow].slot];

	if (row->acked_bytes > plan->bytes)
		return false;
	messages->states[index] = (struct message){
		.begin_ps = row->begin_ps,
		.end_ps = row->end_ps,
		.retransmits = row->retransmits,
		.begun = row->begun,
	};
	if (row->end_ps == 0 && row->acked_bytes != 0) {
		connection->at = (uint32_t)(messages->first + index);
		connection->acked_bytes = row->acked_bytes;
	}
	return true;
}

bool
step_engine_put_flow(struct step_engine *engine, size_t index, const struct flow_row *row)
{
	if (index >= step_engine_flows(engine))
		return false;
	if (index >= engine->nbackgrounds)
		return put_message(&engine->messages, index - engine->nbackgrounds, row);
	engine->backgrounds[index].started = row->begun;
	engine->backgrounds[index].start_ps = row->begin_ps;
	return true;
}

struct manage_step
step_engine_get_step(const struct step_engine *engine, size_t index)
{
	struct step_row row = step_engine_row(engine, index);

	return (struct manage_step){
		.collective = row.collective,
		.iteration = row.iteration,
		.rank = row.rank,
		.step = row.step,
		.flow = row.flow,
		.waited_collective = row.waited_for.collective,
		.waited_rank = row.waited_for.rank,
		.waited_step = row.waited_for.step,
		.retransmits = row.retransmits,
		.open = row.state,
		.bytes = row.bytes,
		.acked_bytes = row.acked_bytes,
		.start_ps = row.start_ps,
		.end_ps = row.end_ps,
	};
}

size_t
step_engine_iterations(const struct step_engine *engine)
{
	size_t count = 0;

	for (uint32_t i = 0; i < engine->nranks; i++)
		count += engine->plan->collectives[engine->ranks[i].collective].iterations;
	return count;
}

struct manage_iteration
step_engine_get_iteration(const struct step_engine *engine, size_t index)
{
	const struct step_rank *rank = engine->ranks;
	const struct iteration_result *result;

	assert(index < step_engine_iterations(engine));
	for (; index >= engine->plan->collectives[rank->collective].iterations; rank++)
		index -= engine->plan->collectives[rank->collective].iterations;
	result = &rank->iterations[index];
	return (struct manage_iteration){
		.collective = rank->collective,
		.rank = rank->rank,
		.iteration = (uint32_t)index,
		.started = result->started,
		.start_ps = result->start_ps,
		.end_ps = result->end_ps,
		.wrong = result->wrong,
	};
}
