/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The step engine on schedules of any shape: several dependencies, peers and channels at once, local steps, iterations,
 * and the end of a run. A message takes 100 us to arrive, its last ACK 4 us more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "common/units.h"
#include "rxe-hosts/steps/engine.h"
#include "tests/unit/rxe-hosts/graph_rig.h"
#include "tests/unit/unit.h"
#include "workload/plan.h"

#define US PS_PER_US

static struct steps_rig rig;
static const struct coll_chunk word = { .count_elems = 1 };

static int
teardown(void **state)
{
	steps_rig_fini(&rig);
	return 0;
}

static void
init(uint32_t ranks, struct graph graph)
{
	graph_rig_init(&rig, ranks, REC_POLICY_OFF, &graph, 1, NULL);
}

static uint64_t
even(uint32_t host, uint32_t flow, uint32_t imm, uint64_t bytes)
{
	return 100 * US;
}

/* @return a host's row of a step */
static struct step_row
row_of(uint32_t host, uint32_t collective, uint32_t iteration, uint32_t step)
{
	for (size_t i = 0; i < step_engine_rows(rig.engine[host]); i++) {
		struct step_row row = step_engine_row(rig.engine[host], i);

		if (row.collective == collective && row.iteration == iteration && row.step == step)
			return row;
	}
	fail_msg("host %u has no step %u of iteration %u", host, step, iteration);
	return (struct step_row){ 0 };
}

static void
waited(struct step_row row, uint32_t collective, uint32_t rank, uint32_t step)
{
	assert_int_equal(row.waited_for.collective, collective);
	assert_int_equal(row.waited_for.rank, rank);
	assert_int_equal(row.waited_for.step, step);
}

/* Everybody sends its element to everybody, at once. @return the builder of a linear AllGather */
static struct coll_builder *
linear(uint32_t ranks)
{
	struct coll_builder *builder = coll_builder_create(ranks);

	for (uint32_t r = 0; r < ranks; r++)
		for (uint32_t d = 1; d < ranks; d++)
			coll_builder_send(builder, r, (r + d) % ranks, 0,
					  &(struct coll_chunk){ .src_elems = r, .dst_elems = r, .count_elems = 1 });
	return builder;
}

static void
all_peers_at_once(void **state)
{
	init(4, (struct graph){ .builder = linear(4), .memory_elems = 4, .verify = true });
	steps_rig_timers(&rig, 0);
	for (uint32_t h = 0; h < 4; h++) {
		assert_int_equal(rig.dev[h].nposts, 3);
		assert_int_equal(step_engine_agent(rig.engine[h])->nslots, 3);
		assert_true(step_engine_sending(rig.engine[h]));
	}
	assert_int_equal(steps_rig_run(&rig, even), 104 * US);
	assert_int_equal(step_engines_result(rig.engine, 4, 0, 0).wrong, 0);
	for (uint32_t h = 0; h < 4; h++) {
		assert_int_equal(step_engine_state(rig.engine[h]), STEP_ENGINE_DONE);
		assert_int_equal(step_engine_unexpected(rig.engine[h]), 0);
		assert_false(step_engine_sending(rig.engine[h]));
		waited(row_of(h, 0, 0, 2), REC_NONE, REC_NONE, 0);
	}
}

/* Of two messages and an own step of another chain, the last to come is what the step waited for. */
static void
all_dependencies_are_waited_for(void **state)
{
	struct coll_builder *builder = coll_builder_create(3);
	struct coll_dep from0 = coll_builder_send(builder, 0, 1, 0, &word);
	struct coll_dep from2 = coll_builder_send(builder, 2, 1, 0, &word);
	struct coll_dep own = coll_builder_send(builder, 1, 2, 0, &word);
	struct coll_dep last = coll_builder_send(builder, 1, 0, 0, &word);

	coll_builder_depend(builder, last, from0);
	coll_builder_depend(builder, last, from2);
	coll_builder_depend(builder, last, own);
	init(3, (struct graph){ .builder = builder });
	steps_rig_timers(&rig, 0);
	assert_int_equal(rig.dev[1].nposts, 1);
	steps_rig_deliver(&rig, 0, 100 * US);
	scripted_deliver(&rig.dev[1], 0, &rig.dev[2], 150 * US);
	scripted_ack(&rig.dev[1], 0, 154 * US);
	assert_int_equal(rig.dev[1].nposts, 1);
	steps_rig_deliver(&rig, 2, 300 * US);
	assert_int_equal(rig.dev[1].nposts, 2);
	assert_int_equal(rig.dev[1].posts[1].time_ps, 300 * US);
	steps_rig_ack(&rig, 1, 400 * US);
	waited(row_of(1, 0, 0, 2), 0, 2, 1);
}

/* Steps by one channel follow each other, those by two do not; each channel has a port. */
static void
channels_are_flows(void **state)
{
	struct coll_builder *builder = coll_builder_create(2);
	const struct flow *first, *second;

	for (uint32_t i = 0; i < 4; i++)
		coll_builder_send(builder, 0, 1, i / 2, &word);
	init(2, (struct graph){ .builder = builder });
	steps_rig_timers(&rig, 0);
	assert_int_equal(rig.dev[0].nposts, 2);
	assert_int_equal(rig.dev[0].posts[0].wr.wr_id, 1);
	assert_int_equal(rig.dev[0].posts[1].wr.wr_id, 3);
	first = &rig.plan->flows.flows[rig.dev[0].posts[0].flow];
	second = &rig.plan->flows.flows[rig.dev[0].posts[1].flow];
	assert_int_equal(first->sport, PLAN_FIRST_SPORT);
	assert_int_equal(second->sport, PLAN_FIRST_SPORT + 1);
	assert_int_equal(steps_rig_run(&rig, even), 208 * US);
	waited(row_of(0, 0, 0, 4), 0, 0, 3);
	assert_int_equal(row_of(0, 0, 0, 4).channel, 1);
}

static uint64_t
later(const void *ctx, uint32_t node, uint32_t collective, uint32_t step)
{
	return step == 1 ? 5 * US : 0;
}

/* Copies, adds, computes, and sends what came of it; a fault delays the copy. */
static void
local_steps_work_on_the_memory(void **state)
{
	struct coll_builder *builder = coll_builder_create(2);
	struct coll_dep copy, add, compute, send;
	const struct rec_step *rec;
	struct step_row row;

	copy = coll_builder_local(builder, 0, 0, &(struct coll_chunk){ 0, 2, 2, false }, 0);
	add = coll_builder_local(builder, 0, 1, &(struct coll_chunk){ 1, 2, 1, true }, 7 * US);
	compute = coll_builder_local(builder, 0, 2, &(struct coll_chunk){ 0 }, 30 * US);
	send = coll_builder_send(builder, 0, 1, 0, &(struct coll_chunk){ 2, 4, 2, true });
	coll_builder_depend(builder, add, copy);
	coll_builder_depend(builder, send, add);
	coll_builder_depend(builder, send, compute);
	graph_rig_init(&rig, 2, REC_POLICY_VEDRFOLNIR, &(struct graph){ .builder = builder }, 1, later);
	for (int i = 0; i < 8; i++) {
		graph_rig_memory(&rig, 0, 0, 0)[i] = i + 1;
		graph_rig_memory(&rig, 0, 1, 0)[i] = 100 * (i + 1);
	}
	assert_int_equal(steps_rig_run(&rig, even), (30 + 104) * US);
	/* 1 and 2 are copied, 2 is added to 1, and 3, 2 to rank 1's 500, 600. */
	assert_int_equal(graph_rig_memory(&rig, 0, 0, 0)[2], 3);
	assert_int_equal(graph_rig_memory(&rig, 0, 0, 0)[3], 2);
	assert_int_equal(graph_rig_memory(&rig, 0, 1, 0)[4], 503);
	assert_int_equal(graph_rig_memory(&rig, 0, 1, 0)[5], 602);
	assert_int_equal(graph_rig_memory(&rig, 0, 1, 0)[6], 700);

	row = row_of(0, 0, 0, 2);
	assert_int_equal(row.src, row.dst);
	assert_int_equal(row.flow, PLAN_NONE);
	assert_int_equal(row.start_ps, 5 * US);
	assert_int_equal(row.end_ps, 12 * US);
	waited(row, 0, 0, 1);
	waited(row_of(0, 0, 0, 4), 0, 0, 3);
	rec = scripted_record(&rig.dev[0], REC_STEP, 0);
	assert_int_equal(rec->step, 1);
	assert_int_equal(rec->start_ps, 5 * US);
	assert_int_equal(rec->end_ps, 5 * US);
	assert_int_equal(rec->bytes, 8);
	assert_null(scripted_record(&rig.dev[0], REC_TRIGGER, 0));
}

static uint64_t
longer(const void *ctx, uint32_t rank, uint32_t iteration, uint64_t planned_ps)
{
	return planned_ps + iteration * 10 * US;
}

/* A thousand steps that take no time are done at once, without a call within a call; what takes time takes its own. */
static void
computation_takes_what_it_really_takes(void **state)
{
	struct coll_builder *builder = coll_builder_create(2);
	struct coll_dep before = coll_builder_local(builder, 1, 0, &(struct coll_chunk){ 0 }, 20 * US);

	for (uint32_t i = 0; i < 100; i++)
		coll_builder_send(builder, i % 2, 1 - i % 2, 7, &word);
	coll_builder_depend(builder, (struct coll_dep){ 1, 2 }, before);
	init(2, (struct graph){ .builder = builder, .iterations = 2, .actual_ps = longer });
	steps_rig_run(&rig, even);
	assert_int_equal(row_of(1, 0, 0, 1).end_ps - row_of(1, 0, 0, 1).start_ps, 20 * US);
	assert_int_equal(row_of(1, 0, 1, 1).end_ps - row_of(1, 0, 1, 1).start_ps, 30 * US);
	assert_int_equal(step_engine_state(rig.engine[1]), STEP_ENGINE_DONE);
}

/* Rank 0 is slow to send: the others' messages of the next iteration are there before it has begun it, not more. */
static uint64_t
slow_zero(uint32_t host, uint32_t flow, uint32_t imm, uint64_t bytes)
{
	return host == 0 ? 900 * US : (100 + 10 * host) * US;
}

static void
iterations_are_one_early_at_most(void **state)
{
	init(4, (struct graph){ .builder = linear(4), .memory_elems = 4, .verify = true, .iterations = 5 });
	steps_rig_run(&rig, slow_zero);
	for (uint32_t it = 0; it < 5; it++) {
		struct collective_result result = step_engines_result(rig.engine, 4, 0, it);

		assert_true(result.complete);
		assert_int_equal(result.wrong, 0);
	}
	for (uint32_t h = 0; h < 4; h++)
		assert_int_equal(step_engine_unexpected(rig.engine[h]), 0);
	assert_int_equal(row_of(1, 0, 4, 3).start_ps, row_of(0, 0, 3, 1).start_ps + 900 * US);
}

/* A message that is two iterations early, or not the next of its flow, is nobody's. */
static void
messages_arrive_in_order(void **state)
{
	struct wc wc = { .time_ps = 3 * US, .opcode = WC_RECEIVED, .bytes = 4 };
	const struct device_client *client;

	init(2, (struct graph){ .builder = linear(2), .memory_elems = 2, .iterations = 3 });
	steps_rig_timers(&rig, 0);
	client = rig.dev[1].client;
	wc.flow = rig.dev[0].posts[0].flow;
	wc.imm = imm_encode(1, 1);
	client->completed(client->ctx, &wc); /* iteration 0 is not here */
	assert_int_equal(step_engine_unexpected(rig.engine[1]), 1);
	wc.imm = imm_encode(0, 1);
	client->completed(client->ctx, &wc);
	wc.imm = imm_encode(1, 1);
	client->completed(client->ctx, &wc); /* one early */
	assert_int_equal(step_engine_unexpected(rig.engine[1]), 1);
	wc.imm = imm_encode(2, 1);
	client->completed(client->ctx, &wc); /* two */
	assert_int_equal(step_engine_unexpected(rig.engine[1]), 2);
}

/* In flight, computing, waiting for a message, and waiting for its turn on the flow: all are reported. */
static void
all_open_steps_are_reported(void **state)
{
	struct coll_builder *builder = coll_builder_create(3);
	struct coll_dep never = coll_builder_send(builder, 2, 0, 0, &word);

	coll_builder_send(builder, 0, 1, 0, &word);
	coll_builder_local(builder, 0, 0, &(struct coll_chunk){ 0 }, 999 * US);
	coll_builder_depend(builder, coll_builder_send(builder, 0, 2, 0, &word), never);
	init(3, (struct graph){ .builder = builder });
	steps_rig_timers(&rig, 0);
	rig.dev[0].qp[rig.dev[0].posts[0].flow].acked_bytes = 3;
	step_engine_close(rig.engine[0], 50 * US);
	assert_int_equal(step_engine_rows(rig.engine[0]), 3);
	for (uint32_t s = 1; s <= 3; s++)
		assert_int_equal(row_of(0, 0, 0, s).state, s < 3 ? REC_STEP_OPEN : REC_STEP_WAITS);
	assert_int_equal(row_of(0, 0, 0, 1).acked_bytes, 3);
	waited(row_of(0, 0, 0, 2), REC_NONE, REC_NONE, 0);
	waited(row_of(0, 0, 0, 3), 0, 2, 1);
}

/* What another program reported of local steps and of steps that waited for two reads the same here. */
static void
remote_rows_read_the_same(void **state)
{
	struct coll_builder *builder = coll_builder_create(2);
	struct coll_dep compute = coll_builder_local(builder, 0, 0, &(struct coll_chunk){ 0 }, 20 * US);
	struct step_engine *remote;
	struct manage_step wrong;
	struct err err = { .text = "" };

	coll_builder_depend(builder, coll_builder_send(builder, 0, 1, 3, &word), compute);
	init(2, (struct graph){ .builder = builder });
	steps_rig_run(&rig, even);
	step_engine_close(rig.engine[0], 500 * US);
	remote = step_engine_create_remote(rig.plan, 0, &err);
	wrong = step_engine_get_step(rig.engine[0], 0);
	wrong.flow = 0; /* a local step has none */
	assert_false(step_engine_put_step(remote, &wrong));
	for (size_t i = 0; i < step_engine_rows(rig.engine[0]); i++) {
		struct manage_step step = step_engine_get_step(rig.engine[0], i);
		struct step_row a, b;

		assert_true(step_engine_put_step(remote, &step));
		a = step_engine_row(rig.engine[0], i);
		b = step_engine_row(remote, i);
		assert_memory_equal(&a, &b, offsetof(struct step_row, state));
		assert_int_equal(a.state, b.state);
	}
	step_engine_destroy(remote);
}

/* Two steps of rank 1 wait for one message: the first gets what rank 0's step has not used, the other is marked too. */
static void
a_notification_is_for_all_that_wait(void **state)
{
	struct coll_builder *builder = coll_builder_create(3);
	struct coll_dep first, second, arrival;
	const struct agent_slot *slots;

	coll_builder_send(builder, 1, 0, 0, &word);
	coll_builder_send(builder, 1, 2, 0, &word);
	first = coll_builder_send(builder, 1, 0, 0, &word);
	second = coll_builder_send(builder, 1, 2, 0, &word);
	arrival = coll_builder_send(builder, 0, 1, 0, &word);
	coll_builder_depend(builder, first, arrival);
	coll_builder_depend(builder, second, arrival);
	graph_rig_init(&rig, 3, REC_POLICY_VEDRFOLNIR, &(struct graph){ .builder = builder }, 1, NULL);
	steps_rig_timers(&rig, 0);
	slots = step_engine_agent(rig.engine[1])->slots;
	steps_rig_deliver(&rig, 0, 100 * US);
	steps_rig_ack(&rig, 0, 104 * US);
	assert_int_equal(rig.dev[0].nnotices, 1);
	assert_int_equal(rig.dev[0].notices[0].detections, 3);
	steps_rig_notify(&rig, 0, 110 * US);
	assert_int_equal(slots[0].remaining, 6);
	assert_int_equal(slots[1].remaining, 3);
	/* A step that there is not. */
	scripted_notify(&rig.dev[1], rig.dev[0].notices[0].flow, 3, 1, 111 * US);
	assert_int_equal(step_engine_unexpected(rig.engine[1]), 1);
}

/* A device has room for what a flow sends, not for all of its host's memory. */
static void
a_flow_has_its_part_of_the_region(void **state)
{
	struct coll_builder *chain = coll_builder_create(3);
	const struct coll_chunk chunks[] = { { 2, 5, 1, false }, { 0, 3, 2, false } };
	struct graph graphs[] = { { .builder = linear(3), .memory_elems = 3 },
				  { .builder = chain, .memory_elems = 20, .iterations = 2 } };
	uint64_t from, end;
	uint32_t flow;

	coll_builder_send(chain, 0, 1, 0, &chunks[0]);
	coll_builder_send(chain, 0, 1, 0, &chunks[1]);
	coll_builder_send(chain, 0, 2, 0, &chunks[0]);
	graph_rig_init(&rig, 3, REC_POLICY_OFF, graphs, 2, NULL);
	flow = plan_step_at(&rig.plan->collectives[1], 0, 1)->flow;
	rig.engine[1]->client.extent(rig.engine[1], flow, &from, &end);
	/* Elements 3 to 5 of either memory, behind that of the other collective. */
	assert_int_equal(from, payload_offset(&rig.plan->collectives[1], 1, 0, 3));
	assert_int_equal(end, payload_offset(&rig.plan->collectives[1], 1, 1, 6));
	assert_true(from >= payload_offset(&rig.plan->collectives[0], 1, 0, 3));
	for (uint32_t iteration = 0; iteration < 2; iteration++)
		for (uint32_t step = 1; step <= 2; step++) {
			uint64_t at = payload_place(rig.engine[1], flow, imm_encode(iteration, step));

			assert_true(at >= from && at + 4 * chunks[step - 1].count_elems <= end);
		}
	flow = plan_step_at(&rig.plan->collectives[0], 2, 2)->flow;
	rig.engine[1]->client.extent(rig.engine[1], flow, &from, &end);
	assert_int_equal(from, payload_offset(&rig.plan->collectives[0], 1, 0, 2));
	assert_int_equal(end - from, 4);
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

UNIT_TEST(graph)
{
	const struct CMUnitTest tests[] = {
		TEST(all_peers_at_once),
		TEST(all_dependencies_are_waited_for),
		TEST(channels_are_flows),
		TEST(local_steps_work_on_the_memory),
		TEST(computation_takes_what_it_really_takes),
		TEST(iterations_are_one_early_at_most),
		TEST(messages_arrive_in_order),
		TEST(all_open_steps_are_reported),
		TEST(remote_rows_read_the_same),
		TEST(a_notification_is_for_all_that_wait),
		TEST(a_flow_has_its_part_of_the_region),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
