/* SPDX-License-Identifier: BSD-3-Clause */
/* From configuration to flows, who waits for whom, and expected times; and what is refused, with its place. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/units.h"
#include "common/wire/collective.h"
#include "tests/unit/rxe-hosts/star.h"
#include "tests/unit/unit.h"
#include "workload/plan.h"
#include "workload/workload.h"

static struct star star;
static const struct plan_options options = { .data_prio = 3, .control_prio = 0, .notify = true };
static struct err err;
static struct cfg *scenario;
static struct workload *workload;

static int
setup(void **state)
{
	star_init(&star, 4);
	err.text[0] = '\0';
	return 0;
}

/* What the latest plan is made of. */
static int
drop(void **state)
{
	workload_destroy(workload);
	cfg_destroy(scenario);
	workload = NULL;
	scenario = NULL;
	return 0;
}

/* Binds a scenario's lists and makes the plan. */
static struct plan *
make(const char *text)
{
	void *flows;
	size_t nflows;
	struct plan *plan;

	drop(NULL);
	scenario = cfg_load_string(text, "s.cfg", &err);
	assert_non_null(scenario);
	assert_int_equal(cfg_bind_list(scenario, &background_table, NULL, &flows, &nflows, &err), 0);
	workload = workload_create(scenario, &star.topo, 1, &err);
	plan = workload != NULL ? plan_create(&star.topo, &options, workload, flows, nflows, &err) : NULL;
	free(flows);
	return plan;
}

static void
refused(const char *text, const char *place, const char *why)
{
	struct plan *plan = make(text);

	if (plan != NULL || strstr(err.text, place) == NULL || strstr(err.text, why) == NULL)
		fail_msg("\"%s\" does not say \"%s\" at \"%s\"", err.text, why, place);
	err.text[0] = '\0';
}

static void
ring_has_a_flow_and_a_notification_flow_a_rank(void **state)
{
	struct plan *plan = make("collectives = ( { step_bytes = 4000; } );");
	const struct plan_collective *c;
	const struct flow *flow;

	assert_non_null(plan);
	c = &plan->collectives[0];
	assert_int_equal(c->schedule->ranks, 4);
	assert_int_equal(coll_max_steps(c->schedule), 3);
	assert_int_equal(c->schedule->count_elems, 4000);
	assert_int_equal(plan_step_bytes(c, 2, 3), 4000);
	assert_int_equal(plan->flows.count, 8);
	assert_int_equal(c->nflows, 4);
	flow = &plan->flows.flows[plan_step_at(c, 3, 1)->flow];
	assert_int_equal(flow->src_node, 3);
	assert_int_equal(flow->dst_node, 0);
	assert_int_equal(flow->sport, 49152);
	assert_int_equal(flow->dport, 4791);
	assert_int_equal(flow->src_ip, topo_nic_ip(3, 0));
	assert_int_equal(flow->prio, 3);
	assert_int_equal(flow->kind, FLOW_COLLECTIVE);
	assert_int_equal(plan_step_at(c, 3, 3)->flow, plan_step_at(c, 3, 1)->flow);

	/* Step 2 of rank 0 waits for step 1 of rank 3, so that one has somebody to notify; the last step has not. */
	assert_int_equal(plan_needed_by(c, 3, 1), 2);
	assert_int_equal(plan_needed_by(c, 3, 2), 3);
	assert_int_equal(plan_needed_by(c, 3, 3), 0);
	assert_int_equal(plan_step_at(c, 3, 3)->notify_flow, PLAN_NONE);
	flow = &plan->flows.flows[plan_step_at(c, 3, 1)->notify_flow];
	assert_int_equal(flow->kind, FLOW_CONTROL);
	assert_int_equal(flow->src_node, 3);
	assert_int_equal(flow->dst_node, 0);
	assert_int_equal(flow->prio, 0);
	assert_int_equal(c->ranks[0].receives, 3);
	plan_destroy(plan);
}

/* AllReduce of 4 by halving-doubling: peers at distance 2, 1, 1, 2; two flows a rank. */
static void
halving_doubling_changes_peers(void **state)
{
	struct plan *plan = make("collectives = ( { op = \"allreduce\"; algorithm = \"halving-doubling\";"
				 " bytes = 1600; } );");
	const struct plan_collective *c;

	assert_non_null(plan);
	c = &plan->collectives[0];
	assert_int_equal(coll_max_steps(c->schedule), 4);
	assert_int_equal(c->nflows, 8);
	assert_int_not_equal(plan_step_at(c, 0, 1)->flow, plan_step_at(c, 0, 2)->flow);
	assert_int_equal(plan_step_at(c, 0, 1)->flow, plan_step_at(c, 0, 4)->flow);
	assert_int_equal(plan_step_bytes(c, 0, 1), 800);
	assert_int_equal(plan_step_bytes(c, 0, 2), 400);
	plan_destroy(plan);
}

static void
ranks_and_background_flows_by_name(void **state)
{
	struct plan *plan = make("collectives = ( { ranks = [ \"2\", \"0:1\" ]; bytes = 800; sport = 10000; dport = 10000;"
				 " start = \"2ms\"; gap = \"1us\"; iterations = 3; qp = \"per-step\"; } );"
				 "flows = ( { src = \"1\"; dst = \"3\"; sport = 7; bytes = \"90MB\"; start = \"5us\"; },"
				 " { src = \"1\"; dst = \"3\"; sport = 8; bytes = 10; prio = 4; mode = \"repeat\";"
				 " until = \"9us\"; } );");
	const struct plan_collective *c;

	assert_non_null(plan);
	c = &plan->collectives[0];
	assert_int_equal(c->ranks[0].node, 2);
	assert_int_equal(c->ranks[1].node, 0);
	assert_int_equal(c->start_ps, 2 * PS_PER_MS);
	assert_int_equal(c->gap_ps, PS_PER_US);
	assert_int_equal(c->iterations, 3);
	assert_int_equal(c->buffers, 2);
	assert_true(c->qp_per_step);
	assert_int_equal(plan->nbackgrounds, 2);
	assert_int_equal(plan->backgrounds[0].bytes, 90000000);
	assert_int_equal(plan->backgrounds[0].start_ps, 5 * PS_PER_US);
	assert_false(plan->backgrounds[0].repeat);
	assert_int_equal(plan->flows.flows[plan->backgrounds[0].flow].prio, 3);
	assert_int_equal(plan->flows.flows[plan->backgrounds[1].flow].prio, 4);
	assert_true(plan->backgrounds[1].repeat);
	assert_int_equal(plan->backgrounds[1].slot, 1);
	plan_destroy(plan);
}

/* Two vectors a rank, 64 B apart at least, behind each other in a host's region. */
static void
regions_hold_all_vectors(void **state)
{
	struct plan *plan = make("collectives = ( { bytes = 400; payload = \"real\"; iterations = 2; },"
				 " { bytes = 400; payload = \"real\"; } );");

	assert_non_null(plan);
	assert_int_equal(plan->collectives[0].vector_bytes, 448);
	assert_int_equal(plan->collectives[0].ranks[1].region_offset, 0);
	assert_int_equal(plan->collectives[1].ranks[1].region_offset, 896);
	assert_int_equal(plan->collectives[1].ranks[1].slot, 1);
	plan_destroy(plan);
}

static void
mistakes_are_named_with_their_place(void **state)
{
	refused("collectives = ( { } );", "s.cfg:1", "exactly one of bytes and step_bytes");
	refused("collectives = (\n { bytes = 400; step_bytes = 100; } );", "s.cfg:2", "exactly one");
	refused("collectives = (\n { bytes = 402; } );", "s.cfg:2", "404 B would be");
	refused("collectives = ( { algorithm = \"halving-doubling\"; step_bytes = 4; } );", "s.cfg:1", "give bytes");
	refused("collectives = ( { bytes = 400; ranks = [ \"0\" ]; } );", "s.cfg:1", "1 ranks");
	refused("collectives = ( { bytes = 400;\n ranks = [ \"0\", \"9\" ]; } );", "s.cfg:", "\"9\" is neither");
	refused("collectives = ( { bytes = 400; ranks = [ \"0\", \"4\" ]; } );", "s.cfg:1", "\"4\" is a switch");
	refused("collectives = ( { bytes = 400; ranks = [ \"0\", \"1\", \"0:1\" ]; } );", "s.cfg:1",
		"ranks 0 and 2 are both at 0 NIC 1");
	refused("collectives = ( { bytes = 400; algorithm = \"halving-doubling\"; ranks = [ \"0\", \"1\", \"2\" ]; } );",
		"s.cfg:1", "power of");
	refused("collectives = ( { bytes = 8; } );", "s.cfg:1", "2 elements");
	refused("collectives = ( { bytes = 400; channels = 2; all_nics = true; } );", "s.cfg:1", "hosts with several NICs");
	refused("collectives = ( { step_bytes = \"3GB\"; } );", "s.cfg:1", "2 GiB");
	refused("collectives = ( { bytes = 400; },\n { bytes = 400; payload = \"real\"; } );", "s.cfg:2", "one kind");
	refused("collectives = ( { bytes = 400; },\n { bytes = 400; sport = 49152; } );", "s.cfg:2",
		"0->1/49152>4791 exists already");
	refused("flows = ( { src = \"1\"; dst = \"2\"; sport = 5; bytes = 1; },\n"
		" { src = \"1\"; dst = \"2\"; sport = 5; bytes = 1; } );",
		"s.cfg:2", "another port");
	refused("flows = ( { src = \"1\"; dst = \"1:1\"; sport = 5; bytes = 1; } );", "s.cfg:1", "the sender of the flow");
	refused("flows = ( { src = \"1\"; dst = \"2\"; sport = 5; bytes = 1; mode = \"repeat\"; } );", "s.cfg:1",
		"not after its start");
	refused("flows = ( { src = \"1\"; dst = \"2\"; sport = 5; bytes = 1; until = \"1us\"; } );", "s.cfg:1", "repeat");
	refused("flows = ( { src = \"1\"; dst = \"2\"; sport = 5; bytes = 1; depth = 2; } );", "s.cfg:1", "repeat");
	refused("flows = ( { src = \"1\"; dst = \"2\"; sport = 65530; bytes = 1; qps = 7; } );", "s.cfg:1",
		"7 queue pairs from source port 65530 on pass port 65535; sport = 65529");
	refused("flows = ( { src = \"1\"; dst = \"2\"; sport = 5; bytes = 1; qps = 3; },\n"
		"{ src = \"1\"; dst = \"2\"; sport = 7; bytes = 1; } );",
		"s.cfg:2", "7");
}

/*
 * Star of 100 Gbps and 2 us, frames of 1348 B and ACKs of 60 B, whole nanoseconds: base RTT 2 x (2 us + 107 ns) + 2 x
 * (2 us + 4 ns) = 8.222 us.
 */
static void
estimates_follow_the_paths(void **state)
{
	struct plan *plan = make("collectives = ( { step_bytes = \"360MB\"; } );"
				 "flows = ( { src = \"1\"; dst = \"3\"; sport = 7; bytes = 1300; } );");
	struct route_table *table = route_table_create(&star.topo, ROUTE_SHORTEST);
	struct routing routing = { .topo = &star.topo, .table = table, .seed = 1 };
	struct plan_network network = {
		.routing = &routing,
		.frames = { .payload_bytes = 1300,
			    .frame_bytes = 1348,
			    .ack_bytes = 60,
			    .frames_per_ack = 1,
			    .quantum_ps = PS_PER_NS },
	};
	const struct plan_step *step;
	struct rec_schedule schedule;
	struct rec_collective collective;
	uint64_t expect_ps = (276923ull * 107 + 11 + 276924ull * 4 + 8222) * PS_PER_NS;
	uint64_t ideal_ps = 29863388160ull + 8222000;

	assert_non_null(plan);
	assert_non_null(table);
	assert_int_equal(plan_estimate(plan, &network, &err), 0);
	step = &plan->collectives[0].steps[plan_at(&plan->collectives[0], 1, 2)];
	assert_int_equal(plan->of[step->flow].base_rtt_ps, 8222 * PS_PER_NS);
	assert_int_equal(step->ideal_ps, ideal_ps);
	assert_int_equal(step->expect_ps, expect_ps);
	assert_int_equal(plan->collectives[0].ideal_ps, 3 * ideal_ps);
	assert_int_equal(plan->collectives[0].expect_ps, 3 * expect_ps);
	assert_int_equal(plan->backgrounds[0].ideal_ps, 107840 + 8222000);

	plan_schedule_record(plan, 0, 5, 1, 2, &schedule);
	assert_int_equal(schedule.hdr.node, 1);
	assert_int_equal(schedule.iteration, 5);
	assert_int_equal(schedule.step, 2);
	assert_int_equal(schedule.rank, 1);
	assert_int_equal(schedule.bytes, 360000000);
	assert_int_equal(schedule.peer, 2);
	assert_int_equal(schedule.own_step, 1);
	assert_int_equal(schedule.depends_rank, 0);
	assert_int_equal(schedule.depends_step, 1);
	assert_int_equal(schedule.expect_ps, expect_ps);
	assert_int_equal(schedule.base_rtt_ps, 8222 * PS_PER_NS);
	plan_schedule_record(plan, 0, 0, 1, 1, &schedule);
	assert_int_equal(schedule.own_step, 0);
	assert_int_equal(schedule.depends_rank, REC_NONE);
	plan_collective_record(plan, 0, 5, &collective);
	assert_int_equal(collective.iteration, 5);
	assert_int_equal(collective.ranks, 4);
	assert_int_equal(collective.rank_steps, 3);
	assert_int_equal(collective.steps, 4 * 3);
	assert_string_equal(collective.name, "allgather-0");
	assert_int_equal(collective.bytes, 4ull * 360000000);
	assert_int_equal(collective.algorithm, COLL_RING);
	assert_int_equal(collective.op, COLL_ALLGATHER);
	route_table_destroy(table);
	plan_destroy(plan);
}

/* Step 3 of rank 1 is made to wait for what step 2 waits for, too. */
static void
further_dependencies_have_records(void **state)
{
	struct plan *plan = make("collectives = ( { step_bytes = \"360MB\"; } );");
	struct coll_step *at = coll_step_at(plan->collectives[0].schedule, 1, 3);
	struct rec_schedule schedule;
	struct rec_depend depend;

	assert_int_equal(at->ndeps, 2);
	at->first_dep -= 2;
	at->ndeps = 4;
	plan_schedule_record(plan, 0, 1, 1, 3, &schedule);
	assert_int_equal(schedule.own_step, 1);
	assert_int_equal(schedule.depends_rank, 0);
	assert_int_equal(schedule.depends_step, 1);
	assert_int_equal(schedule.depends, 2);
	for (uint32_t i = 0; i < 2; i++) {
		plan_depend_record(plan, &schedule, i, &depend);
		assert_int_equal(depend.iteration, 1);
		assert_int_equal(depend.rank, 1);
		assert_int_equal(depend.step, 3);
		assert_int_equal(depend.on_rank, i == 0);
		assert_int_equal(depend.on_step, 2);
	}
	plan_destroy(plan);
}

static void
immediates_keep_their_parts(void **state)
{
	struct imm imm = imm_decode(imm_encode(1023, IMM_MAX_STEP));

	assert_int_equal(imm.iteration, 1023);
	assert_int_equal(imm.step, 4194303);
	assert_int_equal(imm_encode(1024 + 2, 3), 2u << 22 | 3u);
}

/* Equal for equal scenarios, another for every change that hosts must agree on. */
static void
digest_distinguishes_plans(void **state)
{
	const char *texts[] = {
		"collectives = ( { op = \"allreduce\"; bytes = \"64KB\"; } );",
		"collectives = ( { op = \"allgather\"; bytes = \"64KB\"; } );",
		"collectives = ( { op = \"allreduce\"; bytes = \"128KB\"; } );",
		"collectives = ( { op = \"allreduce\"; bytes = \"64KB\"; iterations = 2; } );",
		"collectives = ( { op = \"allreduce\"; bytes = \"64KB\"; sport = 50000; } );",
		"collectives = ( { op = \"allreduce\"; bytes = \"64KB\"; } ); "
		"flows = ( { src = \"0\"; dst = \"1\"; sport = 50000; bytes = \"1MB\"; } );",
		"collectives = ( { op = \"allreduce\"; bytes = \"64KB\"; } ); "
		"flows = ( { src = \"0\"; dst = \"1\"; sport = 50000; bytes = \"2MB\"; } );",
	};
	uint64_t digests[ARRAY_LEN(texts)];

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct plan *plan = make(texts[i]), *again = make(texts[i]);

		digests[i] = plan_digest(plan);
		assert_true(digests[i] == plan_digest(again));
		for (size_t j = 0; j < i; j++)
			assert_true(digests[i] != digests[j]);
		plan_destroy(plan);
		plan_destroy(again);
	}
}

/* A dimension of size 1: nothing is sent, and every rank computes. */
static void
groups_of_one_rank_compute(void **state)
{
	struct plan *plan = make("jobs = ( { name = \"j\"; dims = ( \"tensor 1\", \"data 4\" );"
				 " collectives = ( { bytes = 400; group = \"tensor\"; compute = \"5us\"; } ); } );");
	const struct plan_collective *c;

	assert_non_null(plan);
	c = &plan->collectives[0];
	assert_int_equal(plan->flows.count, 0);
	assert_int_equal(coll_all_steps(c->schedule), 4);
	for (uint32_t rank = 0; rank < 4; rank++)
		assert_int_equal(coll_step_at(c->schedule, rank, 1)->compute_ps, 5 * PS_PER_US);
	assert_int_equal(c->schedule->group_ranks, 1);
	plan_destroy(plan);
	refused("jobs = ( { name = \"j\"; dims = ( \"tensor 1\", \"data 4\" );"
		" collectives = (\n { bytes = 400; group = \"tensor\"; } ); } );",
		"s.cfg:2", "nothing to do");
}

/* A pipeline's transfers go their way; gradients go back. */
static void
transfers_go_from_stage_to_stage(void **state)
{
	struct plan *plan =
		make("jobs = ( { name = \"j\"; ranks = [ \"0\", \"1\" ]; dims = ( \"pipeline 2\", \"tensor 1\" );"
		     " pipeline = { micro_batches = 1; bytes = 4000; }; collectives = ("
		     " { name = \"f\"; phase = \"forward\"; group = \"tensor\"; bytes = 4; compute = \"5us\"; },"
		     " { name = \"b\"; phase = \"backward\"; group = \"tensor\"; bytes = 4; compute = \"5us\"; } ); } );");
	const struct flow *flow;

	assert_non_null(plan);
	assert_int_equal(plan->ncollectives, 6); /* f, activations, f, b, gradients, b */
	flow = &plan->flows.flows[plan->collectives[1].first_flow];
	assert_int_equal(plan->collectives[1].nflows, 1);
	assert_int_equal(flow->src_node, 0);
	assert_int_equal(flow->dst_node, 1);
	flow = &plan->flows.flows[plan->collectives[4].first_flow];
	assert_int_equal(plan->collectives[4].nflows, 1);
	assert_int_equal(flow->src_node, 1);
	assert_int_equal(flow->dst_node, 0);
	plan_destroy(plan);
}

/* A chain from rank 2 over 7 to 1: a partition with ranks 0 to 3 keeps what they and rank 7 send, and who waits for it. */
static void
a_partition_forgets_others(void **state)
{
	const bool remote[] = { false, false, false, false, true, true, true, true, true };
	struct plan *plan, *whole;
	const struct plan_collective *c, *all;
	struct coll_step is, was;
	size_t gone = 0;

	star_init(&star, 8);
	plan = make(
		"collectives = ( { op = \"broadcast\"; algorithm = \"ring\"; chunks = 4096; root = 2; bytes = 65536; } );");
	assert_non_null(plan);
	whole = plan_create(&star.topo, &options, workload, NULL, 0, &err);
	assert_non_null(whole);
	plan_keep_share(plan, remote, true);
	assert_int_equal(plan->share_steps, 7 * 4096);
	c = &plan->collectives[0];
	all = &whole->collectives[0];
	for (uint32_t rank = 0; rank < 8; rank++)
		for (uint32_t step = 1; step <= coll_steps(all->schedule, rank); step++)
			assert_int_equal(plan_step_bytes(c, rank, step), plan_step_bytes(all, rank, step));
	plan_keep_share(plan, remote, false);
	assert_int_equal(plan->share_steps, 4 * 4096); /* ranks 0 to 3 and 7; the last of the chain, 1, sends nothing */
	for (uint32_t rank = 0; rank < 8; rank++)
		for (uint32_t step = 1; step <= coll_steps(all->schedule, rank); step++) {
			if (rank >= 4 && rank < 7) {
				gone += c->schedule->src_elems[plan_at(c, rank, step)] == 0;
				continue;
			}
			assert_int_equal(plan_step_bytes(c, rank, step), plan_step_bytes(all, rank, step));
			assert_int_equal(plan_step_at(c, rank, step)->flow, plan_step_at(all, rank, step)->flow);
			is = coll_step_get(c->schedule, rank, step);
			was = coll_step_get(all->schedule, rank, step);
			assert_memory_equal(&is, &was, sizeof(is));
			assert_int_equal(plan_needed_by(c, rank, step), plan_needed_by(all, rank, step));
			assert_int_equal(chains_awaits(c->chains, rank, step), chains_awaits(all->chains, rank, step));
		}
	/* Those of three ranks, but for parts of pages at both ends. */
	assert_in_range(gone, 3 * 4096 - 2 * 4096 / sizeof(uint64_t), 3 * 4096);
	plan_destroy(whole);
	plan_destroy(plan);
}

/* A ring of 4 with a flow of 3 frames beside it: data there, ACKs back, each over its host's port and the switch's. */
static void
packets_are_predicted(void **state)
{
	const struct expect_frames frames = { .payload_bytes = 1000, .frames_per_ack = 2 };
	struct plan *plan =
		make("collectives = ( { step_bytes = 4000; iterations = 2; } );\n"
		     "flows = ( { src = \"0\"; dst = \"2\"; sport = 20000; bytes = 2001; mode = \"once\"; } );");
	uint64_t packets[2 * STAR_MAX_HOSTS];
	struct route_table *table;
	struct routing routing;

	assert_non_null(plan);
	table = route_table_create(&star.topo, ROUTE_SHORTEST);
	assert_non_null(table);
	routing = (struct routing){ .topo = &star.topo, .table = table };
	assert_int_equal(plan_predict_packets(plan, &routing, &frames, packets), 0);
	/* 3 steps of 4 frames, twice, and half as many ACKs. */
	assert_int_equal(packets[1], 24 + 12);
	assert_int_equal(packets[4 + 1], 24 + 12);
	assert_int_equal(packets[0], 24 + 12 + 3);
	assert_int_equal(packets[4 + 2], 24 + 12 + 3);
	assert_int_equal(packets[2], 24 + 12 + 2);
	assert_int_equal(packets[4 + 0], 24 + 12 + 2);
	route_table_destroy(table);
	plan_destroy(plan);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, drop)

UNIT_TEST(plan)
{
	const struct CMUnitTest tests[] = {
		TEST(groups_of_one_rank_compute),
		TEST(transfers_go_from_stage_to_stage),
		TEST(ring_has_a_flow_and_a_notification_flow_a_rank),
		TEST(halving_doubling_changes_peers),
		TEST(ranks_and_background_flows_by_name),
		TEST(regions_hold_all_vectors),
		TEST(mistakes_are_named_with_their_place),
		TEST(estimates_follow_the_paths),
		TEST(immediates_keep_their_parts),
		TEST(further_dependencies_have_records),
		TEST(digest_distinguishes_plans),
		TEST(a_partition_forgets_others),
		TEST(packets_are_predicted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
