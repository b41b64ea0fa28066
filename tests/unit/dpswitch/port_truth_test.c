/* SPDX-License-Identifier: BSD-3-Clause */
/* The flows of a port, and the fabric's own record of who met whom there and whom its peer paused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dpswitch/truth/port_truth.h"
#include "tests/unit/unit.h"

static struct flow flows[3];
static const struct flow_table table = { .flows = flows, .count = 3 };
static struct port_flows port_flows;

static void
begin(struct port_truth *truth, const struct flow_table *of)
{
	port_flows_init(&port_flows, of);
	port_truth_init(truth, &port_flows);
}

static void
end(struct port_truth *truth)
{
	port_truth_fini(truth);
	port_flows_fini(&port_flows);
}

static void
flows_are_numbered_as_they_are_first_seen(void **state)
{
	struct flow many[100] = { { 0 } };
	const struct flow_table all = { .flows = many, .count = 90, .spares = 10 };

	(void)state;
	port_flows_init(&port_flows, &all);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(port_flows_slot(&port_flows, 99 - i), i);
	assert_int_equal(port_flows_slot(&port_flows, 99), 0);
	assert_int_equal(port_flows.count, 100);
	assert_ptr_equal(port_flows_at(&port_flows, 1), &many[98]);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(port_flows.queued[i], 0);
	port_flows_fini(&port_flows);
	assert_null(port_flows.slots.cells);
}

/* A halt that continues counts up to now, one that is reported again begins no other. */
static void
pauses_add_up(void **state)
{
	struct port_truth truth;

	(void)state;
	begin(&truth, &table);
	assert_int_equal(port_truth_paused_ps(&truth, 100), 0);
	port_truth_pause(&truth, true, 100);
	port_truth_pause(&truth, true, 200);
	assert_int_equal(port_truth_paused_ps(&truth, 250), 150);
	port_truth_pause(&truth, false, 300);
	port_truth_pause(&truth, false, 400);
	assert_int_equal(port_truth_paused_ps(&truth, 1000), 200);
	port_truth_pause(&truth, true, 1000);
	assert_int_equal(port_truth_paused_ps(&truth, 1010), 210);
	end(&truth);
}

/* Whether some packet had to wait is asked once a window. */
static void
a_window_is_contended_once(void **state)
{
	struct port_truth truth;

	(void)state;
	begin(&truth, &table);
	port_truth_reserve(&truth, 2);
	port_truth_enqueue(&truth, port_flows_slot(&port_flows, 0), 1, false);
	assert_false(truth.contended);
	port_truth_enqueue(&truth, port_flows_slot(&port_flows, 1), 1, true);
	port_truth_enqueue(&truth, port_flows_slot(&port_flows, 0), 1, false);
	assert_true(truth.contended);
	port_truth_count(&truth, &(struct truth_window){ 1, 1000, 1000, 1 });
	assert_false(truth.contended);
	assert_int_equal(port_truth_contention(&truth, 0, 1).together_ps, 1000);
	end(&truth);
}

static void
flows_contend_while_both_are_present(void **state)
{
	struct port_truth truth;
	struct flow_contention pair;

	(void)state;
	begin(&truth, &table);
	for (uint32_t flow = 0; flow < 3; flow++)
		assert_int_equal(port_flows_slot(&port_flows, flow), flow);
	port_flows.queued[1] = 2;
	port_truth_reserve(&truth, 1);
	port_truth_enqueue(&truth, 0, 7, false);
	port_truth_count(&truth,
			 &(struct truth_window){ 7, 70000, 2000, 3 }); /* 0 enqueued in window 7, 1 queued, 2 absent */
	assert_int_equal(port_truth_contention(&truth, 0, 1).together_ps, 2000);
	assert_int_equal(port_truth_contention(&truth, 1, 0).together_ps, 2000);
	assert_int_equal(port_truth_contention(&truth, 0, 2).together_ps, 0);
	port_truth_count(&truth, &(struct truth_window){ 8, 80000, 2000, 9 }); /* 0 was enqueued a window ago */
	assert_int_equal(port_truth_contention(&truth, 0, 1).together_ps, 2000);
	port_flows.queued[2] = 1;
	port_truth_count(&truth, &(struct truth_window){ 9, 90000, 500, 0 }); /* a shorter window */
	pair = port_truth_contention(&truth, 0, 1);
	assert_int_equal(pair.first_ps, 70000);
	assert_int_equal(pair.last_ps, 72000);
	assert_int_equal(pair.depth_max, 9); /* of the two windows counted together */
	assert_int_equal(pair.depth_time, 2000 * (3 + 9) / 2);
	for (uint32_t window = 10; window < 210; window++)
		port_truth_count(&truth, &(struct truth_window){ window, window * 10000, 1000, 5 });
	assert_int_equal(port_truth_contention(&truth, 0, 1).together_ps, 2000);
	assert_int_equal(port_truth_contention(&truth, 1, 2).together_ps, 500 + 200 * 1000);
	pair = port_truth_contention(&truth, 2, 1);
	assert_int_equal(pair.first_ps, 90000);
	assert_int_equal(pair.last_ps, 209 * 10000 + 1000);
	assert_int_equal(pair.depth_max, 5);
	assert_int_equal(pair.depth_time, 200 * 1000 * 5);
	port_truth_reserve(&truth, 100);
	assert_int_equal(port_truth_contention(&truth, 0, 1).together_ps, 2000);
	assert_int_equal(port_truth_contention(&truth, 2, 1).together_ps, 500 + 200 * 1000);
	assert_int_equal(port_truth_left_out(&truth), 0);
	end(&truth);
}

/* Of ten windows three end with the port paused; flow 0 is there in all of them, flow 1 from the last paused one on. */
static void
flows_are_held_at_a_paused_port(void **state)
{
	struct port_truth truth;

	(void)state;
	begin(&truth, &table);
	for (uint32_t flow = 0; flow < 2; flow++)
		assert_int_equal(port_flows_slot(&port_flows, flow), flow);
	port_flows.queued[0] = 1;
	for (uint32_t window = 0; window < 200; window++) {
		port_truth_pause(&truth, window % 10 < 3, window * 1000);
		port_flows.queued[1] = window % 10 >= 2;
		port_truth_count(&truth, &(struct truth_window){ window, window * 1000, 1000, 1 });
	}
	assert_int_equal(port_truth_held(&truth, 0).together_ps, 20 * 3 * 1000);
	assert_int_equal(port_truth_held(&truth, 0).first_ps, 0);
	assert_int_equal(port_truth_held(&truth, 1).together_ps, 20 * 1 * 1000);
	assert_int_equal(port_truth_held(&truth, 1).first_ps, 2 * 1000);
	assert_int_equal(port_truth_held(&truth, 1).last_ps, 193 * 1000);
	assert_int_equal(port_truth_held(&truth, 900).together_ps, 0);
	assert_int_equal(port_truth_paused_ps(&truth, 200 * 1000), 20 * 3 * 1000);
	port_truth_hold(&truth, 900, 5000, 300000); /* as NICs say it */
	port_truth_hold(&truth, 900, 700, 400000);
	assert_int_equal(port_truth_held(&truth, 900).together_ps, 5700);
	assert_int_equal(port_truth_held(&truth, 900).first_ps, 295000);
	assert_int_equal(port_truth_held(&truth, 900).last_ps, 400000);
	assert_int_equal(port_truth_held(&truth, 0).together_ps, 20 * 3 * 1000);
	end(&truth);
}

/* 100 flows in one queue: the collective's one, seen last, meets them all; of the others the first 32 do. */
static void
contentions_of_collective_flows_are_always_kept(void **state)
{
	struct flow many[100] = { { 0 } };
	const struct flow_table all = { .flows = many, .count = 100 };
	struct port_truth truth;

	(void)state;
	for (uint32_t flow = 0; flow < 100; flow++)
		many[flow].kind = flow == 99 ? FLOW_COLLECTIVE : FLOW_BACKGROUND;
	begin(&truth, &all);
	for (uint32_t flow = 0; flow < 100; flow++) {
		uint32_t slot = port_flows_slot(&port_flows, flow);

		port_flows.queued[slot] = 1;
		port_truth_count(&truth, &(struct truth_window){ flow, flow * 10, 10, flow });
	}
	assert_int_equal(port_truth_contention(&truth, 98, 99).together_ps, 10);
	assert_int_equal(port_truth_contention(&truth, 99, 40).together_ps, 10);
	assert_int_equal(port_truth_contention(&truth, 0, 40).together_ps, 600);
	assert_int_equal(port_truth_contention(&truth, 40, 31).together_ps, 600);
	assert_int_equal(port_truth_contention(&truth, 40, 32).together_ps, 0);
	assert_int_equal(port_truth_left_out(&truth), 100 - 32 - 1);
	end(&truth);
}

UNIT_TEST(port_truth)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flows_are_numbered_as_they_are_first_seen),
		cmocka_unit_test(pauses_add_up),
		cmocka_unit_test(a_window_is_contended_once),
		cmocka_unit_test(flows_contend_while_both_are_present),
		cmocka_unit_test(flows_are_held_at_a_paused_port),
		cmocka_unit_test(contentions_of_collective_flows_are_always_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
