/* SPDX-License-Identifier: BSD-3-Clause */
/* When a switch sends PAUSE and RESUME, what they cost, and what they stop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/dpswitch/fabric_rig.h"
#include "tests/unit/dpswitch/switch_rig.h"
#include "tests/unit/unit.h"

/*
 * The first frame leaves at once and one more every 800 ns. Right behind the arrival of frame k, 800 to 1600 ns after
 * the first, k - 1 frames are held (arrivals come before departures): 12000 B = reserve + XOFF with frame 13, at 14 x 80
 * ns + 1 us. The PAUSE takes 6.72 ns on the wire and 1 us of cable; frame 39 has started by then, frame 40 has not.
 * Held bytes fall to 9000 = reserve + XOFF - XON when frame 30 starts to leave (31 of 40 gone).
 */
static void
pause_and_resume_leave_exactly_at_thresholds(void **state)
{
	const uint64_t xoff_ps = (14 * FRAME_NS + DELAY_NS) * NS + PAUSE_PS + DELAY_NS * NS;
	const uint64_t xon_ps = (FIRST_NS + 30 * SLOW_NS) * NS + PAUSE_PS + DELAY_NS * NS;
	struct frig_host *a;
	struct frig rig;

	(void)state;
	frig_init(&rig, narrow);
	static_pfc(&rig);
	uint32_t flow = frig_flow(&rig, "a", "b", 3);
	start(&rig);
	frig_send(&rig, flow, 0, 1000, 60);
	frig_run(&rig, 200 * PS_PER_US);
	a = frig_host(&rig, "a");
	assert_true(a->npauses >= 2);
	assert_true(a->pauses[0].xoff);
	assert_int_equal(a->pauses[0].prio_mask, 1 << 3);
	assert_int_equal(a->pauses[0].time_ps, xoff_ps);
	assert_false(a->pauses[1].xoff);
	assert_int_equal(a->pauses[1].time_ps, xon_ps);
	/* frame 40 goes the moment it may */
	assert_int_equal(a->sent[39].time_ps, (40 * FRAME_NS + DELAY_NS) * NS);
	assert_int_equal(a->sent[40].time_ps, xon_ps + (FRAME_NS + DELAY_NS) * NS);
	assert_int_equal(frig_host(&rig, "b")->ngot, 60);
	assert_int_equal(frig_switch(&rig, "S")->account.ingress[PORT_A].bytes, 0);
	assert_int_equal(frig_switch(&rig, "S")->account.ingress[PORT_A].headroom_bytes, 0);
	assert_int_equal(frig_switch(&rig, "S")->account.pool.shared_bytes, 0);
	assert_int_equal(frig_switch(&rig, "S")->node.count.pause_errors, 0);
	assert_true(frig_conserves(&rig));
	frig_stop(&rig);
}

static void
one_byte_below_the_threshold_sends_no_pause(void **state)
{
	struct frig rig;

	(void)state;
	frig_init(&rig, narrow);
	static_pfc(&rig);
	uint32_t flow = frig_flow(&rig, "a", "b", 3);
	start(&rig);
	/* 13 frames wait at most: the last arrival, at 1120 ns behind the first, finds 12 others and makes 12 with it */
	frig_send(&rig, flow, 0, 1000, 13);
	frig_run(&rig, 100 * PS_PER_US);
	assert_int_equal(frig_host(&rig, "a")->npauses, 0);
	assert_int_equal(frig_host(&rig, "b")->ngot, 13);
	frig_stop(&rig);
}

/* A dynamic threshold is alpha x free pool: the pool's other user brings it down. */
static void
dynamic_threshold_shrinks_with_the_pool(void **state)
{
	struct frig rig;

	(void)state;
	frig_init(&rig, narrow);
	rig.setup.all.pfc.model = PFC_DYNAMIC;
	rig.setup.all.pfc.alpha = 0.5;
	rig.setup.all.pfc.reserve_bytes = 0;
	rig.setup.all.pfc.headroom_bytes = 30000;
	rig.setup.all.params.buffer_bytes = 3 * 30000 + 20000;
	uint32_t flow = frig_flow(&rig, "a", "b", 3);
	start(&rig);
	frig_send(&rig, flow, 0, 1000, 30);
	frig_run(&rig, 100 * PS_PER_US);
	/*
	 * used >= (20000 - used) / 2 first holds with used = 7000 B, behind frame 7 (frame 0 is gone): a frame is charged
	 * against the threshold before it, 7000 <= (20000 - 6000) / 2.
	 */
	assert_int_equal(frig_host(&rig, "a")->pauses[0].time_ps,
			 (8 * FRAME_NS + DELAY_NS) * NS + PAUSE_PS + DELAY_NS * NS);
	frig_stop(&rig);
}

/* The last of 2000 frames from c to a, with or without a burst from a that makes the switch pause a. */
static uint64_t
last_arrival(bool burst, size_t *pauses)
{
	struct frig_host *a;
	uint64_t last_ps;
	struct frig rig;

	frig_init(&rig, narrow);
	static_pfc(&rig);
	uint32_t forward = frig_flow(&rig, "a", "b", 3), back = frig_flow(&rig, "c", "a", 3);

	start(&rig);
	if (burst)
		frig_send(&rig, forward, 0, 1000, 100);
	frig_send(&rig, back, 0, 1000, 2000);
	frig_run(&rig, PS_PER_MS);
	a = frig_host(&rig, "a");
	assert_int_equal(a->ngot, 2000);
	last_ps = a->got[1999].time_ps;
	*pauses = 0;
	for (size_t i = 0; i < a->npauses; i++)
		*pauses += a->pauses[i].time_ps < last_ps;
	frig_stop(&rig);
	return last_ps;
}

/* A saturated port loses exactly the wire time of the PAUSE and RESUME frames that it sends between its data. */
static void
pause_frames_take_their_wire_time(void **state)
{
	size_t none, some;
	uint64_t without_ps = last_arrival(false, &none), with_ps = last_arrival(true, &some);

	(void)state;
	assert_int_equal(without_ps, (2001 * FRAME_NS + 2 * DELAY_NS) * NS);
	assert_int_equal(none, 0);
	assert_true(some >= 4);
	assert_int_equal(with_ps - without_ps, some * PAUSE_PS);
}

/* No frame on a link overlaps another, and a PAUSE does not cut into the frame under way. */
static void
a_pause_waits_for_the_frame_in_flight(void **state)
{
	const uint64_t wanted_ps = (14 * FRAME_NS + DELAY_NS) * NS;
	struct frig_host *a;
	struct frig rig;

	(void)state;
	frig_init(&rig, narrow);
	static_pfc(&rig);
	uint32_t forward = frig_flow(&rig, "a", "b", 3), back = frig_flow(&rig, "c", "a", 3);

	start(&rig);
	frig_send(&rig, forward, 0, 1000, 60);
	/* its frames start from S to a 30 ns before and 50 ns after multiples of 80 ns + 1 us */
	frig_send(&rig, back, 50 * NS, 1000, 60);
	frig_run(&rig, 200 * PS_PER_US);
	a = frig_host(&rig, "a");
	assert_true(a->pauses[0].xoff);
	assert_int_equal(a->pauses[0].time_ps, wanted_ps + 50 * NS + PAUSE_PS + DELAY_NS * NS);
	frig_stop(&rig);
}

static void
paused_class_stands_while_others_go(void **state)
{
	char order[16];
	struct frig rig;

	(void)state;
	frig_init(&rig, "switch = { pfc = { priorities = [ \"3\", \"4\" ]; }; };" NETWORK("\"a S\", \"b S\", \"c S\""));
	uint32_t three = frig_flow(&rig, "a", "b", 3), four = frig_flow(&rig, "c", "b", 4);

	start(&rig);
	/* b pauses class 3 before anything comes */
	frig_pause(&rig, "b", 0, 1 << 3, true);
	frig_pause(&rig, "b", 20 * PS_PER_US, 1 << 3, false);
	frig_send(&rig, three, PS_PER_US, 1000, 3);
	frig_send(&rig, four, 2 * PS_PER_US, 1000, 3);
	frig_run(&rig, 100 * PS_PER_US);
	order_of(frig_host(&rig, "b"), order, sizeof(order));
	assert_string_equal(order, "444333");
	/* 20 us + 6.72 ns + 1 us of cable, then a frame and the cable back */
	assert_int_equal(frig_host(&rig, "b")->got[3].time_ps, 20 * PS_PER_US + PAUSE_PS + (2 * DELAY_NS + FRAME_NS) * NS);
	frig_stop(&rig);
}

UNIT_TEST(switch_pause)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pause_and_resume_leave_exactly_at_thresholds),
		cmocka_unit_test(one_byte_below_the_threshold_sends_no_pause),
		cmocka_unit_test(dynamic_threshold_shrinks_with_the_pool),
		cmocka_unit_test(pause_frames_take_their_wire_time),
		cmocka_unit_test(a_pause_waits_for_the_frame_in_flight),
		cmocka_unit_test(paused_class_stands_while_others_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
