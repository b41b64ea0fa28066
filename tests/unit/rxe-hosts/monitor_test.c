/* SPDX-License-Identifier: BSD-3-Clause */
/* SSQ, RSQ and Table I on rank 1 of a ring reduce-scatter of 4 nodes (Fig. 4): it sends to 2, receives from 0. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "common/units.h"
#include "common/wire/record.h"
#include "rxe-hosts/monitor/monitor.h"

static struct monitor monitor;
static struct coll_schedule *schedule;

static int
setup(void **state)
{
	struct err err = { .text = "" };

	schedule = coll_schedule_create(
		&(struct coll_params){ .op = COLL_REDUCESCATTER, .algorithm = COLL_RING, .ranks = 4, .count_elems = 16 },
		&err);
	assert_non_null(schedule);
	assert_int_equal(coll_max_steps(schedule), 3);
	return monitor_init(&monitor, schedule, 1);
}

static int
teardown(void **state)
{
	monitor_fini(&monitor);
	coll_schedule_destroy(schedule);
	return 0;
}

static void
queues_name_targets_and_sources(void **state)
{
	for (uint32_t entry = 1; entry <= 3; entry++)
		assert_int_equal(monitor_ssq_target(&monitor, entry), 2);
	assert_int_equal(monitor_rsq_source(&monitor, 0), MONITOR_NONE); /* step 1 waits for nobody */
	assert_int_equal(monitor_rsq_source(&monitor, 1), 0);
	assert_int_equal(monitor_rsq_source(&monitor, 2), 0);
	assert_int_equal(monitor_rsq_source(&monitor, 3), MONITOR_NONE); /* no step 4 */
}

/* Table I: equal indices wait, a larger receive index does not. */
static void
send_first_waits(void **state)
{
	assert_int_equal(monitor_state(&monitor), MONITOR_NON_WAITING);
	assert_int_equal(monitor_next_step(&monitor), 1);
	monitor_started(&monitor);
	assert_int_equal(monitor.ssq, 1);
	assert_int_equal(monitor.rsq, 1);
	assert_int_equal(monitor_state(&monitor), MONITOR_WAITING);
	assert_int_equal(monitor_waits_for(&monitor), 0);
	assert_false(monitor_next_ready(&monitor));

	assert_true(monitor_arrived(&monitor, 2, false, 500));
	assert_int_equal(monitor.rsq, 2);
	assert_int_equal(monitor_state(&monitor), MONITOR_NON_WAITING);
	assert_int_equal(monitor_waits_for(&monitor), MONITOR_NONE);
	assert_true(monitor_next_ready(&monitor));
}

static void
waited_for_is_the_later(void **state)
{
	monitor_started(&monitor);
	monitor_arrived(&monitor, 2, false, 500);
	assert_int_equal(monitor_waited_for(&monitor, 499), 0);
	assert_int_equal(monitor_waited_for(&monitor, 500), MONITOR_NONE);
	assert_int_equal(monitor_waited_for(&monitor, 501), MONITOR_NONE);
}

static void
last_step_does_not_wait(void **state)
{
	monitor_started(&monitor);
	monitor_arrived(&monitor, 2, false, 1);
	monitor_started(&monitor);
	assert_int_equal(monitor_state(&monitor), MONITOR_WAITING);
	monitor_arrived(&monitor, 3, false, 2);
	assert_int_equal(monitor_state(&monitor), MONITOR_NON_WAITING);
	monitor_started(&monitor);
	assert_int_equal(monitor.ssq, 3);
	assert_int_equal(monitor.rsq, 4);
	assert_int_equal(monitor_state(&monitor), MONITOR_NON_WAITING);
	assert_int_equal(monitor_next_step(&monitor), 0);
	assert_false(monitor_next_ready(&monitor));
}

static void
early_data_is_remembered(void **state)
{
	/* Step 3's data overtakes step 2's: the receive index stays at the gap. */
	assert_true(monitor_arrived(&monitor, 3, false, 10));
	assert_int_equal(monitor.rsq, 1);
	assert_true(monitor_arrived(&monitor, 2, false, 20));
	assert_int_equal(monitor.rsq, 4);
	assert_false(monitor_arrived(&monitor, 2, false, 21)); /* twice */
	assert_false(monitor_arrived(&monitor, 1, false, 22)); /* step 1 waits for nobody */
}

static void
next_iteration_takes_what_came_early(void **state)
{
	monitor_arrived(&monitor, 2, false, 10);
	monitor_arrived(&monitor, 3, false, 11);
	for (int i = 0; i < 3; i++)
		monitor_started(&monitor);
	assert_true(monitor_arrived(&monitor, 2, true, 12));
	assert_int_equal(monitor.ssq, 3);
	monitor_next_iteration(&monitor);
	assert_int_equal(monitor.ssq, 0);
	assert_int_equal(monitor.rsq, 2);
	monitor_started(&monitor);
	assert_true(monitor_next_ready(&monitor));
	assert_int_equal(monitor_waited_for(&monitor, 11), 0);
	monitor_started(&monitor);
	assert_false(monitor_next_ready(&monitor)); /* step 3's data of the first iteration is forgotten */
	assert_true(monitor_arrived(&monitor, 3, false, 13));
	assert_true(monitor_next_ready(&monitor));
}

static void
exempt_step_does_not_wait(void **state)
{
	monitor_exempt(&monitor, 2);
	assert_int_equal(monitor.rsq, 2);
	monitor_started(&monitor);
	assert_int_equal(monitor_rsq_source(&monitor, 1), MONITOR_NONE);
	assert_int_equal(monitor_waited_for(&monitor, 0), MONITOR_NONE);
}

static void
report_is_the_record(void **state)
{
	struct recbuf records;
	struct step_result result = {
		.collective = 5,
		.iteration = 6,
		.rank = 1,
		.step = 7,
		.waited_for = { 5, 8, 6 },
		.bytes = 900,
		.acked_bytes = 900,
		.start_ps = 1000,
		.end_ps = 3000,
		.retransmits = 2,
	};
	const struct rec_step *rec;

	recbuf_init(&records, 17);
	monitor_report(&records, &result, 3000);
	rec = (const void *)records.data;
	assert_int_equal(records.used_bytes, 96);
	assert_int_equal(rec->hdr.type, REC_STEP);
	assert_int_equal(rec->hdr.node, 17);
	assert_int_equal(rec->hdr.time_ps, 3000);
	assert_int_equal(rec->rank, 1);
	assert_int_equal(rec->collective, 5);
	assert_int_equal(rec->iteration, 6);
	assert_int_equal(rec->step, 7);
	assert_int_equal(rec->waited_collective, 5);
	assert_int_equal(rec->waited_rank, 8);
	assert_int_equal(rec->waited_step, 6);
	assert_int_equal(rec->start_ps, 1000);
	assert_int_equal(rec->end_ps, 3000);
	assert_int_equal(rec->retransmits, 2);
	assert_int_equal(rec->open, 0);
	recbuf_fini(&records);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(queues_name_targets_and_sources), TEST(send_first_waits),
		TEST(waited_for_is_the_later),         TEST(last_step_does_not_wait),
		TEST(early_data_is_remembered),        TEST(next_iteration_takes_what_came_early),
		TEST(exempt_step_does_not_wait),       TEST(report_is_the_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
