/* SPDX-License-Identifier: BSD-3-Clause */
/* The step engine: when steps start, what they waited for, iterations, data, faults, errors and the end of a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/units.h"
#include "rxe-hosts/faults/host_faults.h"
#include "tests/unit/rxe-hosts/engine_rig.h"
#include "tests/unit/rxe-hosts/steps_rig.h"
#include "tests/unit/unit.h"
#include "workload/plan.h"

static void
starts_at_its_time(void **state)
{
	const struct send_wr *wr;

	init(4, RING4);
	assert_int_equal(rig.dev[0].timer_ps, 2 * MS);
	steps_rig_timers(&rig, 2 * MS);
	assert_int_equal(rig.dev[0].nposts, 1);
	wr = &rig.dev[0].posts[0].wr;
	assert_int_equal(wr->bytes, 1000);
	assert_int_equal(wr->imm, imm_encode(0, 1));
	assert_false(wr->send);
	assert_int_equal(rig.dev[0].timer_ps, TIME_NEVER);
	assert_int_equal(rig.dev[0].nresets, 0);
	assert_int_equal(step_engine_state(rig.engine[0]), STEP_ENGINE_WORKING);
}

/* Both orders, and both at once (paper III-C1). */
static void
waits_for_the_later_of_two(void **state)
{
	init(4, RING4);
	steps_rig_timers(&rig, 2 * MS);

	/* Host 1: its own step 1 ends at 5 ms, host 0's data comes at 7 ms. */
	steps_rig_deliver(&rig, 1, 5 * MS);
	steps_rig_ack(&rig, 1, 5 * MS);
	assert_int_equal(rig.dev[1].nposts, 1);
	steps_rig_deliver(&rig, 0, 7 * MS);
	assert_int_equal(rig.dev[1].nposts, 2);
	assert_int_equal(rig.dev[1].posts[1].time_ps, 7 * MS);
	assert_int_equal(rig.dev[1].posts[1].wr.imm, imm_encode(0, 2));

	/* Host 2: host 1's data came at 5 ms, its own step ends at 8 ms. */
	assert_int_equal(rig.dev[2].nposts, 1);
	steps_rig_deliver(&rig, 2, 8 * MS);
	steps_rig_ack(&rig, 2, 8 * MS);
	assert_int_equal(rig.dev[2].nposts, 2);

	/* Host 3: host 2's data came at 8 ms, and so does its own last ACK. */
	steps_rig_deliver(&rig, 3, 8 * MS);
	steps_rig_ack(&rig, 3, 8 * MS);
	assert_int_equal(rig.dev[3].nposts, 2);

	for (uint32_t h = 1; h < 4; h++)
		scripted_ack(&rig.dev[h], 1, 9 * MS);
	assert_int_equal(step_record(1, 0)->waited_step, 0);
	assert_int_equal(step_record(1, 0)->start_ps, 2 * MS);
	assert_int_equal(step_record(1, 1)->waited_rank, 0);
	assert_int_equal(step_record(1, 1)->start_ps, 7 * MS);
	assert_int_equal(step_record(1, 1)->end_ps, 9 * MS);
	assert_int_equal(step_record(2, 1)->waited_rank, 2);
	assert_int_equal(step_record(2, 1)->start_ps, 8 * MS);
	assert_int_equal(step_record(3, 1)->waited_rank, 3);
	assert_int_equal(step_record(3, 1)->bytes, 1000);
	assert_int_equal(step_record(3, 1)->open, 0);
}

/* A fast sender's data of steps 1 and 2 is here before the receiver's own first step has ended. */
static void
early_arrivals_are_remembered(void **state)
{
	init(4, RING4);
	steps_rig_timers(&rig, 2 * MS);
	steps_rig_deliver(&rig, 3, 3 * MS); /* host 0 may continue ... */
	steps_rig_deliver(&rig, 0, 4 * MS);
	steps_rig_ack(&rig, 0, 4 * MS);
	steps_rig_deliver(&rig, 0, 5 * MS); /* ... and delivers step 2 too */
	assert_int_equal(rig.dev[1].nposts, 1);
	scripted_deliver(&rig.dev[1], 0, &rig.dev[2], 9 * MS);
	scripted_ack(&rig.dev[1], 0, 9 * MS);
	assert_int_equal(rig.dev[1].nposts, 2);
	scripted_ack(&rig.dev[1], 1, 10 * MS);
	assert_int_equal(rig.dev[1].nposts, 3); /* step 3 has its data too */
	assert_int_equal(step_record(1, 1)->waited_rank, 1);
}

static uint64_t
uneven(uint32_t host, uint32_t flow, uint32_t imm, uint64_t bytes)
{
	return (100 + (host * 7 + imm_decode(imm).step * 3 + imm_decode(imm).iteration * 5) % 11 * 10) * US;
}

/* The paper's Fig. 4 with real data: every element of every rank's block of the sum. */
static void
reduce_scatter_of_four_is_right(void **state)
{
	struct collective_result result;

	init(4, "collectives = ( { op = \"reducescatter\"; bytes = 4004; payload = \"real\"; } );");
	assert_int_equal(steps_rig_run(&rig, even), 3 * 104 * US);
	result = step_engines_result(rig.engine, 4, 0, 0);
	assert_true(result.complete);
	assert_int_equal(result.wrong, 0);
	assert_int_equal(result.start_ps, 0);
	assert_int_equal(result.end_ps, 312 * US);
	for (uint32_t h = 0; h < 4; h++) {
		assert_int_equal(step_engine_state(rig.engine[h]), STEP_ENGINE_DONE);
		assert_int_equal(step_engine_unexpected(rig.engine[h]), 0);
		assert_int_equal(step_engine_rows(rig.engine[h]), 3);
	}
	/* F2S2 waits for F1S1 by its schedule; with even times the own last ACK is the later. */
	assert_int_equal(step_engine_row(rig.engine[2], 1).waited_for.rank, 2);
	assert_int_equal(step_engine_row(rig.engine[2], 1).src, 2);
	assert_int_equal(step_engine_row(rig.engine[2], 1).dst, 3);
	assert_int_equal(step_engine_row(rig.engine[2], 1).start_ps, 104 * US);
	assert_int_equal(step_engine_row(rig.engine[2], 1).expect_ps, 30 * MS);
}

/* A single wrong byte on the way is counted. */
static void
wrong_data_is_counted(void **state)
{
	init(4, "collectives = ( { bytes = 400; payload = \"real\"; } );");
	steps_rig_timers(&rig, 0);
	rig.dev[0].region[rig.dev[0].posts[0].wr.local_offset] ^= 1;
	steps_rig_run(&rig, even);
	/* Block 0 of an AllGather, wrong at its owner and at the three who got it. */
	assert_int_equal(step_engines_result(rig.engine, 4, 0, 0).wrong, 4);
}

static const char *const verified[] = {
	"collectives = ( { op = \"allgather\"; bytes = 4444; payload = \"real\"; iterations = 5; } );",
	"collectives = ( { op = \"allreduce\"; bytes = 4444; type = \"float32\"; payload = \"real\"; iterations = 5; } );",
	"collectives = ( { op = \"allreduce\"; algorithm = \"halving-doubling\"; bytes = 4096; payload = \"real\";"
	" iterations = 5; } );",
	"collectives = ( { op = \"reducescatter\"; algorithm = \"halving-doubling\"; bytes = 4096; payload = \"real\";"
	" iterations = 4; gap = \"3us\"; } );",
};

/* Iterations overlap where hosts differ in speed, without a barrier, and stay right. */
static void
iterations_overlap_and_stay_right(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(verified); i++) {
		uint32_t iterations, overlaps = 0;

		init(8, verified[i]);
		steps_rig_run(&rig, uneven);
		iterations = rig.plan->collectives[0].iterations;
		for (uint32_t n = 0; n < iterations; n++) {
			struct collective_result result = step_engines_result(rig.engine, 8, 0, n);

			assert_true(result.complete);
			assert_int_equal(result.wrong, 0);
			if (n > 0 && result.start_ps < step_engines_result(rig.engine, 8, 0, n - 1).end_ps)
				overlaps++;
		}
		assert_true(overlaps > 0);
		for (uint32_t h = 0; h < 8; h++) {
			assert_int_equal(step_engine_unexpected(rig.engine[h]), 0);
			assert_int_equal(step_engine_rows(rig.engine[h]),
					 iterations * coll_max_steps(rig.plan->collectives[0].schedule));
		}
		if (i + 1 < ARRAY_LEN(verified))
			steps_rig_fini(&rig);
	}
}

static void
gap_separates_iterations(void **state)
{
	init(2, "collectives = ( { step_bytes = 1000; iterations = 3; gap = \"1ms\"; } );");
	assert_int_equal(steps_rig_run(&rig, even), 3 * 104 * US + 2 * MS);
	assert_int_equal(step_engines_result(rig.engine, 2, 0, 1).start_ps, 104 * US + 1 * MS);
	assert_int_equal(step_engines_result(rig.engine, 2, 0, 1).end_ps, 208 * US + 1 * MS);
	assert_int_equal(step_record(0, 2)->iteration, 2);
	assert_int_equal(step_record(0, 2)->waited_step, 0);
}

static void
two_collectives_side_by_side(void **state)
{
	init(4, "collectives = ( { bytes = 4000; payload = \"real\"; },"
		" { op = \"allreduce\"; bytes = 800; payload = \"real\"; ranks = [ \"3\", \"1\" ]; start = \"50us\"; } );");
	steps_rig_run(&rig, uneven);
	assert_true(step_engines_result(rig.engine, 4, 0, 0).complete);
	assert_true(step_engines_result(rig.engine, 4, 1, 0).complete);
	assert_int_equal(step_engines_result(rig.engine, 4, 0, 0).wrong, 0);
	assert_int_equal(step_engines_result(rig.engine, 4, 1, 0).wrong, 0);
	assert_int_equal(step_engines_result(rig.engine, 4, 1, 0).start_ps, 50 * US);
	assert_false(step_engines_result(rig.engine, 4, 2, 0).complete); /* there is none */
}

static void
slow_host_starts_late(void **state)
{
	struct star star;
	struct fault_list list = { 0 };
	struct err err = { 0 };
	struct cfg *cfg = cfg_load_string(
		"faults = ( { kind = \"slow-host\"; host = \"1\"; step = 2; delay = \"300us\"; } );", "s.cfg", &err);

	star_init(&star, 4);
	assert_int_equal(faults_load(&list, host_faults, cfg, &star.topo, &err), 0);
	steps_rig_init(&rig, 4, REC_POLICY_OFF, "collectives = ( { step_bytes = 1000; } );", faults_start_delay_ps, &list);
	steps_rig_run(&rig, even);
	assert_int_equal(step_engine_row(rig.engine[1], 0).start_ps, 0);
	assert_int_equal(step_engine_row(rig.engine[1], 1).start_ps, 404 * US); /* not at 104 */
	assert_int_equal(step_engine_row(rig.engine[1], 1).waited_for.rank, 1);
	/* Host 2's step 3 waits for it. */
	assert_int_equal(step_engine_row(rig.engine[2], 2).start_ps, 504 * US);
	assert_int_equal(step_engine_row(rig.engine[2], 2).waited_for.rank, 1);
	assert_int_equal(step_engine_row(rig.engine[0], 2).start_ps, 208 * US);
	faults_fini(&list);
	cfg_destroy(cfg);
}

static void
fresh_qp_each_step(void **state)
{
	init(4, "collectives = ( { step_bytes = 1000; qp = \"per-step\"; } );");
	steps_rig_run(&rig, even);
	assert_int_equal(rig.dev[0].nresets, 3);
}

static void
open_steps_are_reported(void **state)
{
	const struct rec_step *rec;

	init(4, RING4);
	steps_rig_timers(&rig, 2 * MS);
	steps_rig_deliver(&rig, 1, 5 * MS);
	steps_rig_ack(&rig, 1, 5 * MS);
	rig.dev[0].qp[rig.dev[0].posts[0].flow].acked_bytes = 640;
	rig.dev[0].qp[rig.dev[0].posts[0].flow].retransmits = 7;
	rig.dev[0].times[rig.dev[0].posts[0].flow].rtt = (struct rtt_sum){ .min_ps = 9, .sum_ps = 30, .count = 2 };
	rig.dev[0].times[rig.dev[0].posts[0].flow].ledger_ps[LEDGER_PACED] = 3;
	for (uint32_t h = 0; h < 4; h++)
		step_engine_close(rig.engine[h], 20 * MS);

	rec = step_record(0, 0); /* in flight */
	assert_int_equal(rec->open, 1);
	assert_int_equal(rec->step, 1);
	assert_int_equal(rec->start_ps, 2 * MS);
	assert_int_equal(rec->end_ps, 0);
	assert_int_equal(rec->acked_bytes, 640);
	assert_int_equal(rec->retransmits, 7);
	assert_int_equal(rec->rtt_min_ps, 9);
	assert_int_equal(rec->rtt_mean_ps, 15);
	assert_int_equal(rec->paced_ps, 3);
	assert_int_equal(rec->waited_step, 0);
	assert_int_equal(rec->hdr.time_ps, 20 * MS);
	assert_int_equal(step_record(1, 0)->open, 0);
	rec = step_record(1, 1); /* not started: waits for host 0 */
	assert_int_equal(rec->open, REC_STEP_WAITS);
	assert_int_equal(rec->step, 2);
	assert_int_equal(rec->start_ps, 0);
	assert_int_equal(rec->end_ps, 0);
	assert_int_equal(rec->waited_rank, 0);
	assert_null(step_record(1, 2));
	assert_int_equal(step_engine_rows(rig.engine[1]), 2);
	assert_int_equal(step_engine_row(rig.engine[1], 1).state, REC_STEP_WAITS);
	assert_int_equal(step_engine_row(rig.engine[0], 0).state, REC_STEP_OPEN);
	assert_false(step_engines_result(rig.engine, 4, 0, 0).complete);
}

/* The run ends before the collective's start, or when the first steps began at 0 and nothing was acknowledged. */
static void
steps_that_wait_for_a_start_have_not_begun(void **state)
{
	static const char *const starts[] = { "start = \"30ms\";", "" };

	for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
		char text[128];

		snprintf(text, sizeof(text), "collectives = ( { step_bytes = 1000; %s } );", starts[i]);
		init(4, text);
		steps_rig_timers(&rig, 0);
		step_engine_close(rig.engine[0], 20 * MS);
		assert_int_equal(step_record(0, 0)->open, i == 0 ? REC_STEP_WAITS : REC_STEP_OPEN);
		assert_int_equal(step_record(0, 0)->start_ps, 0);
		assert_int_equal(step_engine_row(rig.engine[0], 0).state, i == 0 ? REC_STEP_WAITS : REC_STEP_OPEN);
		if (i == 0)
			teardown(state);
	}
}

static void
a_failed_qp_leaves_its_step_open(void **state)
{
	init(4, RING4);
	steps_rig_timers(&rig, 2 * MS);
	scripted_fail(&rig.dev[2], 0, 300, 9 * MS);
	assert_int_equal(step_engine_state(rig.engine[2]), STEP_ENGINE_FAILED);
	assert_int_equal(step_engine_state(rig.engine[1]), STEP_ENGINE_WORKING);
	step_engine_close(rig.engine[2], 10 * MS);
	assert_int_equal(step_record(2, 0)->open, 1);
	assert_int_equal(step_record(2, 0)->acked_bytes, 300);
	assert_int_equal(step_record(2, 0)->start_ps, 2 * MS);
}

/* What no correct sender does is counted and otherwise ignored. */
static void
strange_messages_are_counted(void **state)
{
	struct wc wc = { .time_ps = 3 * MS, .opcode = WC_RECEIVED, .bytes = 1000 };
	const struct device_client *client;

	init(4, RING4);
	steps_rig_timers(&rig, 2 * MS);
	client = rig.dev[1].client;
	wc.flow = rig.dev[0].posts[0].flow;
	wc.imm = imm_encode(0, 4); /* no such step */
	client->completed(client->ctx, &wc);
	wc.imm = imm_encode(1, 1); /* no next iteration */
	client->completed(client->ctx, &wc);
	wc.imm = imm_encode(0, 1);
	wc.bytes = 999;
	client->completed(client->ctx, &wc);
	assert_int_equal(step_engine_unexpected(rig.engine[1]), 3);
	wc.bytes = 1000;
	client->completed(client->ctx, &wc);
	assert_int_equal(step_engine_unexpected(rig.engine[1]), 3);
	client->completed(client->ctx, &wc); /* twice */
	assert_int_equal(step_engine_unexpected(rig.engine[1]), 4);
}

/* What a device has measured of a path goes before what is configured. */
static void
measured_paths_make_thresholds(void **state)
{
	steps_rig_init(&rig, 4, REC_POLICY_VEDRFOLNIR, RING4, NULL, NULL);
	rig.dev[1].measured = (struct path_rtt){ .base_ps = 400 * US, .noise_ps = 300 * US };
	steps_rig_timers(&rig, 2 * MS);
	assert_int_equal(step_engine_agent(rig.engine[0])->slots[0].threshold_ps, 12 * US);
	assert_int_equal(step_engine_agent(rig.engine[1])->slots[0].threshold_ps, 700 * US);
	assert_int_equal(step_engine_agent(rig.engine[1])->slots[0].step.most_rtt_ps -
				 step_engine_agent(rig.engine[0])->slots[0].step.most_rtt_ps,
			 390 * US);
}

/* Nothing returns for the first step: its age is seen at the end of a window. */
static void
window_ends_reach_the_agent(void **state)
{
	steps_rig_init(&rig, 4, REC_POLICY_VEDRFOLNIR, RING4, NULL, NULL);
	steps_rig_timers(&rig, 2 * MS);
	scripted_tick(&rig.dev[0], 2 * MS + 12 * US); /* the threshold */
	assert_int_equal(rig.dev[0].npolls, 0);
	scripted_tick(&rig.dev[0], 3 * MS);
	assert_int_equal(rig.dev[0].npolls, 1);
	assert_int_equal(rig.dev[0].polls[0].flow, rig.dev[0].posts[0].flow);
	assert_int_equal(rig.dev[1].npolls, 0);
}

UNIT_TEST(steps)
{
	const struct CMUnitTest tests[] = {
		TEST(starts_at_its_time),
		TEST(waits_for_the_later_of_two),
		TEST(early_arrivals_are_remembered),
		TEST(reduce_scatter_of_four_is_right),
		TEST(wrong_data_is_counted),
		TEST(iterations_overlap_and_stay_right),
		TEST(gap_separates_iterations),
		TEST(two_collectives_side_by_side),
		TEST(slow_host_starts_late),
		TEST(fresh_qp_each_step),
		TEST(open_steps_are_reported),
		TEST(steps_that_wait_for_a_start_have_not_begun),
		TEST(a_failed_qp_leaves_its_step_open),
		TEST(strange_messages_are_counted),
		TEST(measured_paths_make_thresholds),
		TEST(window_ends_reach_the_agent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
