/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Expected times of plans of any shape, by hand, on a star of 100 Gbps and 2 us: a frame of 1348 B takes 107 ns, an ACK 4,
 * both in whole nanoseconds, and a base RTT 8.222 us.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "common/units.h"
#include "tests/unit/rxe-hosts/graph_rig.h"
#include "tests/unit/unit.h"

#define NS PS_PER_NS
#define FRAMES 30
#define BLOCK (FRAMES * 1300 / 4) /* elements of so many full frames */
#define RTT_NS 8222

static struct star star;
static struct plan *plan;
static struct route_table *table;

static int
setup(void **state)
{
	star_init(&star, 4);
	table = route_table_create(&star.topo, ROUTE_SHORTEST);
	return table == NULL;
}

static int
teardown(void **state)
{
	plan_destroy(plan);
	route_table_destroy(table);
	return 0;
}

static void
estimate(struct coll_builder *builder)
{
	struct routing routing = { .topo = &star.topo, .table = table, .seed = 1 };
	struct plan_network network = {
		.routing = &routing,
		.frames = { .payload_bytes = 1300,
			    .frame_bytes = 1348,
			    .ack_bytes = 60,
			    .frames_per_ack = 1,
			    .quantum_ps = NS },
	};
	struct graph graph = { .builder = builder, .memory_elems = 4 * BLOCK };
	struct err err = { .text = "" };

	plan = graph_rig_plan(&star.topo, 4, false, &graph, 1);
	if (plan_estimate(plan, &network, &err) != 0)
		fail_msg("%s", err.text);
}

static const struct plan_step *
step_of(uint32_t rank, uint32_t step)
{
	return &plan->collectives[0].steps[plan_at(&plan->collectives[0], rank, step)];
}

/* Three messages leave and three come: each has a third of both NICs, with the ACKs of three. */
static void
alltoall_shares_nics_and_acks(void **state)
{
	struct coll_builder *builder = coll_builder_create(4);
	uint64_t expect_ps = (3 * (FRAMES * 107 + FRAMES * 4) + RTT_NS) * NS;
	uint64_t ideal_ps = 3ull * FRAMES * 107840 + RTT_NS * NS;

	for (uint32_t r = 0; r < 4; r++)
		for (uint32_t d = 1; d < 4; d++)
			coll_builder_send(builder, r, (r + d) % 4, 0,
					  &(struct coll_chunk){ r * BLOCK, r * BLOCK, BLOCK, false });
	estimate(builder);
	for (uint32_t r = 0; r < 4; r++)
		for (uint32_t s = 1; s <= 3; s++) {
			assert_int_equal(step_of(r, s)->expect_ps, expect_ps);
			assert_int_equal(step_of(r, s)->ideal_ps, ideal_ps);
		}
	assert_int_equal(plan->collectives[0].expect_ps, expect_ps);
	assert_int_equal(plan->collectives[0].ideal_ps, ideal_ps);
}

/*
 * Rank 1 computes when rank 0's message is there, then sends: the message arrives one way (2 x 2 us + 2 x 107 ns) behind
 * its last bit. Nobody sends against it, so no ACK costs anything.
 */
static void
the_critical_path_goes_through_computation(void **state)
{
	struct coll_builder *builder = coll_builder_create(4);
	struct coll_dep first, compute, second;
	struct rec_schedule rec;
	static const struct rec_tuple no_flow;

	first = coll_builder_send(builder, 0, 1, 0, &(struct coll_chunk){ .count_elems = BLOCK });
	compute = coll_builder_local(builder, 1, 0, &(struct coll_chunk){ 0 }, 50 * PS_PER_US);
	second = coll_builder_send(builder, 1, 2, 0, &(struct coll_chunk){ .count_elems = BLOCK });
	coll_builder_depend(builder, compute, first);
	coll_builder_depend(builder, second, compute);
	estimate(builder);
	assert_int_equal(step_of(0, 1)->expect_ps, (FRAMES * 107 + RTT_NS) * NS);
	assert_int_equal(step_of(1, 1)->expect_ps, 50 * PS_PER_US);
	assert_int_equal(step_of(1, 1)->ideal_ps, 50 * PS_PER_US);
	assert_int_equal(plan->collectives[0].expect_ps,
			 (FRAMES * 107 + 4000 + 2 * 107) * NS + 50 * PS_PER_US + (FRAMES * 107 + RTT_NS) * NS);

	plan_schedule_record(plan, 0, 0, 1, 1, &rec);
	assert_int_equal(rec.peer, 1);
	assert_memory_equal(&rec.flow, &no_flow, sizeof(no_flow));
	assert_int_equal(rec.base_rtt_ps, 0);
	assert_int_equal(rec.expect_ps, 50 * PS_PER_US);
	assert_int_equal(rec.depends_rank, 0);
}

/* Channels are flows with ports of their own; the collective behind them begins where they end. */
static void
channels_have_ports_in_a_row(void **state)
{
	struct graph graphs[2] = { { .builder = coll_builder_create(4) }, { .builder = coll_builder_create(4) } };
	const struct coll_chunk word = { .count_elems = 1 };

	for (uint32_t channel = 0; channel < 3; channel++)
		coll_builder_send(graphs[0].builder, 0, 1, channel, &word);
	coll_builder_local(graphs[0].builder, 0, 9, &(struct coll_chunk){ 0, 1, 1, false }, 0); /* needs no port */
	coll_builder_send(graphs[1].builder, 0, 1, 0, &word);
	plan = graph_rig_plan(&star.topo, 4, false, graphs, 2);
	assert_int_equal(plan->flows.count, 4);
	for (uint32_t f = 0; f < 4; f++)
		assert_int_equal(plan->flows.flows[f].sport, PLAN_FIRST_SPORT + f);
	assert_int_equal(plan->collectives[0].ranks[0].nout, 3);
	assert_int_equal(plan->collectives[0].ranks[1].nin, 3);
	assert_int_equal(plan->of[2].in, 2);
	assert_int_equal(plan->of[2].first_step, 3);
	assert_int_equal(step_of(0, 4)->flow, PLAN_NONE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

UNIT_TEST(plan_times)
{
	const struct CMUnitTest tests[] = {
		TEST(alltoall_shares_nics_and_acks),
		TEST(the_critical_path_goes_through_computation),
		TEST(channels_have_ports_in_a_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
