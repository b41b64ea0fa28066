/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How unused detections travel (paper III-C2, Fig. 7), event by event, with the step engines of four hosts. The ring
 * runs 0 -> 3 -> 2 -> 1 -> 0, so that host 3 waits for F0, host 2 for F3, host 1 for F2 and host 0 for F1.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "common/units.h"
#include "tests/unit/rxe-hosts/steps_rig.h"
#include "tests/unit/unit.h"

#define US PS_PER_US
#define MS PS_PER_MS

static struct steps_rig rig;

static int
setup(enum rec_policy policy)
{
	steps_rig_init(&rig, 4, policy, "collectives = ( { ranks = [ \"0\", \"3\", \"2\", \"1\" ]; step_bytes = 1000; } );",
		       NULL, NULL);
	steps_rig_timers(&rig, 0);
	return 0;
}

static int
setup_vedrfolnir(void **state)
{
	return setup(REC_POLICY_VEDRFOLNIR);
}
static int
setup_poster(void **state)
{
	return setup(REC_POLICY_POSTER);
}

static int
teardown(void **state)
{
	steps_rig_fini(&rig);
	return 0;
}

static const struct agent_slot *
slot(uint32_t host)
{
	return &step_engine_agent(rig.engine[host])->slots[0];
}

/* A host's step ends: its data has arrived, its last ACK comes 4 us later, its notification packet 2 us after that. */
static void
finish(uint32_t host, uint64_t now_ps)
{
	uint32_t before = rig.dev[host].nnotices;

	steps_rig_deliver(&rig, host, now_ps);
	steps_rig_ack(&rig, host, now_ps + 4 * US);
	assert_int_equal(rig.dev[host].nnotices, before + 1);
}

static void
slow(uint32_t host, uint64_t now_ps)
{
	scripted_rtt(&rig.dev[host], rig.dev[host].posts[rig.dev[host].nposts - 1].flow, 50 * US, now_ps);
}

static void
fig7(void **state)
{
	const struct rec_notify *notify;
	const struct rec_step *step;

	for (uint32_t h = 0; h < 4; h++) {
		assert_int_equal(rig.dev[h].nposts, 1);
		assert_int_equal(slot(h)->remaining, 3);
	}

	/* 1: F0 completes first; host 3, which waits for it, gets its three. */
	finish(0, 20 * MS);
	assert_int_equal(rig.dev[0].notices[0].detections, 3);
	steps_rig_notify(&rig, 0, 20 * MS + 6 * US);
	assert_int_equal(slot(3)->remaining, 6);
	assert_int_equal(slot(3)->step.step, 1);
	assert_int_equal(slot(0)->remaining, 0);

	/* 2: F3 completes; all six continue to host 2. */
	finish(3, 25 * MS);
	assert_int_equal(rig.dev[3].notices[0].detections, 6);
	steps_rig_notify(&rig, 3, 25 * MS + 6 * US);
	assert_int_equal(slot(2)->remaining, 9);

	/* 3: F1 finishes earlier than F2; its three go to host 0, which starts step 2 with its own three. */
	finish(1, 28 * MS);
	steps_rig_notify(&rig, 1, 28 * MS + 6 * US);
	assert_int_equal(slot(0)->step.step, 2);
	assert_int_equal(slot(0)->remaining, 6);

	/* The slowest host has the most. Host 3 is in step 2 with its own; host 1 waits for F2. */
	assert_int_equal(slot(2)->remaining, 9);
	assert_int_equal(slot(2)->step.step, 1);
	assert_int_equal(slot(3)->remaining, 3);
	assert_int_equal(slot(3)->step.step, 2);
	assert_int_equal(slot(1)->remaining, 0);
	assert_false(slot(1)->running);
	assert_int_equal(step_engine_monitor(rig.engine[1], 0, 3)->queues[0].ssq, 1);
	assert_int_equal(monitor_state(step_engine_monitor(rig.engine[1], 0, 3), 0), MONITOR_WAITING);
	assert_int_equal(monitor_waits_for(step_engine_monitor(rig.engine[1], 0, 3), 0).rank, 2); /* rank 2 is host 2 */

	/* Host 2 can use all nine, 10 ms apart: more than the three of one step. */
	for (uint64_t t = 30; t <= 200; t += 5)
		slow(2, t * MS);
	assert_int_equal(rig.dev[2].npolls, 9);
	assert_int_equal(rig.dev[2].polls[8].time_ps, 110 * MS);
	assert_int_equal(slot(2)->remaining, 0);

	notify = scripted_record(&rig.dev[3], REC_NOTIFY, 0);
	assert_int_equal(notify->to, 2);
	assert_int_equal(notify->step, 1);
	assert_int_equal(notify->detections, 6);
	step = scripted_record(&rig.dev[3], REC_STEP, 0);
	assert_int_equal(step->end_ps, 25 * MS + 4 * US);
	assert_true(step->hdr.seq < notify->hdr.seq);
}

/* What is handed over is never more than what all steps had. */
static void
detections_are_conserved(void **state)
{
	uint32_t total = 0;

	finish(0, 20 * MS);
	steps_rig_notify(&rig, 0, 20 * MS + 6 * US);
	slow(3, 21 * MS);
	finish(3, 25 * MS);
	assert_int_equal(rig.dev[3].notices[0].detections, 5);
	steps_rig_notify(&rig, 3, 25 * MS + 6 * US);
	for (uint32_t h = 0; h < 4; h++)
		total += slot(h)->remaining + rig.dev[h].npolls;
	/* step 1 of four hosts, step 2 of host 3 (F0 has arrived there) */
	assert_int_equal(total, 5 * 3);
}

/* The same story with the poster's policy: markings instead of detections. */
static void
fig7_poster(void **state)
{
	slow(2, 10 * MS);
	slow(3, 10 * MS);
	assert_int_equal(rig.dev[2].npolls + rig.dev[3].npolls, 0);

	finish(0, 20 * MS); /* host 3 is waited for */
	steps_rig_notify(&rig, 0, 20 * MS + 6 * US);
	slow(3, 21 * MS);
	assert_int_equal(rig.dev[3].npolls, 1);
	slow(2, 22 * MS);
	assert_int_equal(rig.dev[2].npolls, 0);

	finish(3, 25 * MS); /* delivers the marking on: host 2 is waited for */
	steps_rig_notify(&rig, 3, 25 * MS + 6 * US);
	slow(3, 26 * MS); /* in step 2 now, and nobody has finished that */
	assert_int_equal(rig.dev[3].npolls, 1);
	slow(2, 26 * MS);
	slow(2, 90 * MS);
	assert_int_equal(rig.dev[2].npolls, 1);

	/* Host 2 ends; host 1 had ended before: it only waited, and its step 2 is not behind. */
	finish(1, 95 * MS);
	finish(2, 96 * MS);
	steps_rig_notify(&rig, 2, 96 * MS + 6 * US);
	assert_int_equal(slot(1)->step.step, 2);
	slow(1, 97 * MS);
	assert_int_equal(rig.dev[1].npolls, 0);
}

UNIT_TEST(transfer)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(fig7, setup_vedrfolnir, teardown),
		cmocka_unit_test_setup_teardown(detections_are_conserved, setup_vedrfolnir, teardown),
		cmocka_unit_test_setup_teardown(fig7_poster, setup_poster, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
