/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows beside the collectives: once, again and again, among real data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/rxe-hosts/engine_rig.h"
#include "tests/unit/rxe-hosts/steps_rig.h"
#include "tests/unit/unit.h"

static void
background_flow_runs_once(void **state)
{
	struct step_row row;

	init(4, "flows = ( { src = \"2\"; dst = \"0\"; sport = 9; bytes = 5000; start = \"7us\"; } );");
	assert_int_equal(rig.dev[2].timer_ps, 7 * US);
	assert_true(step_engine_background_open(rig.engine[2]));
	assert_false(step_engine_background_open(rig.engine[0]));
	assert_int_equal(step_engine_state(rig.engine[2]), STEP_ENGINE_DONE);
	steps_rig_run(&rig, even);
	assert_false(step_engine_background_open(rig.engine[2]));
	assert_int_equal(step_engine_rows(rig.engine[2]), 0);
	step_engine_close(rig.engine[2], 1 * MS);
	assert_int_equal(step_engine_rows(rig.engine[2]), 1);
	row = step_engine_row(rig.engine[2], 0);
	assert_int_equal(row.step, 0);
	assert_int_equal(row.src, 2);
	assert_int_equal(row.dst, 0);
	assert_int_equal(row.bytes, 5000);
	assert_int_equal(row.start_ps, 7 * US);
	assert_int_equal(row.end_ps, 111 * US);
	assert_int_equal(row.state, REC_STEP_OVER);
	assert_null(step_record(2, 0)); /* the analyzer knows nothing of it */
}

static void
background_flow_repeats_until(void **state)
{
	struct step_row row;

	init(2,
	     "flows = ( { src = \"1\"; dst = \"0\"; sport = 9; bytes = 5000; mode = \"repeat\"; until = \"300us\"; } );");
	assert_int_equal(steps_rig_run(&rig, even), 3 * 104 * US); /* starts at 0, 104 and 208, not at 312 */
	step_engine_close(rig.engine[1], 1 * MS);
	row = step_engine_row(rig.engine[1], 0);
	assert_int_equal(row.bytes, 15000);
	assert_int_equal(row.start_ps, 0);
	assert_int_equal(row.end_ps, 312 * US);
}

/* Two messages outstanding: the next is posted when one is complete, and none from "until" on. */
static void
background_flow_keeps_its_depth(void **state)
{
	struct step_row row;

	init(2, "flows = ( { src = \"1\"; dst = \"0\"; sport = 9; bytes = 5000; mode = \"repeat\"; until = \"300us\"; "
		"depth = 2; } );");
	steps_rig_timers(&rig, 0);
	assert_true(step_engine_sending(rig.engine[1]));
	steps_rig_run(&rig, even);
	assert_false(step_engine_sending(rig.engine[1]));
	step_engine_close(rig.engine[1], 1 * MS);
	row = step_engine_row(rig.engine[1], 0);
	assert_int_equal(row.bytes % 5000, 0);
	assert_int_equal(row.acked_bytes, row.bytes);
	assert_int_equal(row.bytes, 30000); /* two at 0, 104 and 208 us each */
	assert_int_equal(row.state, REC_STEP_OVER);
}

/* Three queue pairs are three flows from neighbouring source ports. */
static void
background_flow_of_three_queue_pairs(void **state)
{
	init(2, "flows = ( { src = \"1\"; dst = \"0\"; sport = 9; bytes = 5000; qps = 3; } );");
	steps_rig_run(&rig, even);
	step_engine_close(rig.engine[1], 1 * MS);
	assert_int_equal(step_engine_rows(rig.engine[1]), 3);
	for (uint32_t i = 0; i < 3; i++) {
		struct step_row row = step_engine_row(rig.engine[1], i);

		assert_int_equal(rig.plan->flows.flows[row.flow].sport, 9 + i);
		assert_int_equal(row.bytes, 5000);
		assert_int_equal(row.state, REC_STEP_OVER);
	}
}

static void
background_flow_open_at_the_end(void **state)
{
	struct step_row row;

	init(2, "flows = ( { src = \"1\"; dst = \"0\"; sport = 9; bytes = 5000; } );");
	steps_rig_timers(&rig, 0);
	rig.dev[1].qp[rig.dev[1].posts[0].flow].acked_bytes = 4000;
	step_engine_close(rig.engine[1], 1 * MS);
	row = step_engine_row(rig.engine[1], 0);
	assert_int_equal(row.state, REC_STEP_OPEN);
	assert_int_equal(row.end_ps, 0);
	assert_int_equal(row.bytes, 5000);
	assert_int_equal(row.acked_bytes, 4000);
}

/* Real payload: a background message larger than all vectors has bytes to read and disturbs none. */
static void
background_flow_among_real_data(void **state)
{
	init(2, "collectives = ( { bytes = 400; payload = \"real\"; op = \"allreduce\"; } );"
		"flows = ( { src = \"1\"; dst = \"0\"; sport = 9; bytes = 5000; } );");
	steps_rig_run(&rig, even);
	assert_int_equal(step_engines_result(rig.engine, 2, 0, 0).wrong, 0);
	assert_true(step_engines_result(rig.engine, 2, 0, 0).complete);
	assert_int_equal(rig.dev[1].region_bytes, 5000);
}

/* A device that sends them from memory of its own needs no room for them. */
static void
background_flow_of_a_device_with_memory(void **state)
{
	init(2, "collectives = ( { bytes = 400; payload = \"real\"; op = \"allreduce\"; } );"
		"flows = ( { src = \"1\"; dst = \"0\"; sport = 9; bytes = 5000; } );");
	rig.dev[1].device.own_background = true;
	step_engine_destroy(rig.engine[1]);
	rig.engine[1] = step_engine_create(
		&(struct step_engine_config){
			.plan = rig.plan, .node = 1, .device = &rig.dev[1].device, .detection = &rig.detection },
		NULL);
	step_engine_start(rig.engine[1]);
	assert_true(rig.dev[1].region_bytes < 5000);
}

UNIT_TEST(background)
{
	const struct CMUnitTest tests[] = {
		TEST(background_flow_runs_once),
		TEST(background_flow_repeats_until),
		TEST(background_flow_keeps_its_depth),
		TEST(background_flow_of_three_queue_pairs),
		TEST(background_flow_open_at_the_end),
		TEST(background_flow_among_real_data),
		TEST(background_flow_of_a_device_with_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
