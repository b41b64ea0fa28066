/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One switch between generators. Frames of 1000 B take 80 ns at 100 Gbps and 800 ns at 10 Gbps; cables are 1 us long and
 * receivers take no time. Frame k of a burst from time 0 on is with the switch at (k + 1) x 80 ns + 1 us.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/dpswitch/fabric_rig.h"

#define NS PS_PER_NS
#define FRAME_NS 80
#define SLOW_NS 800
#define DELAY_NS 1000
#define FIRST_NS (FRAME_NS + DELAY_NS) /* the first frame is with the switch */
#define PAUSE_PS 6720                  /* 84 B at 100 Gbps */

#define NETWORK(links)                                                                                                     \
	"topology = { kind = \"explicit\"; rate = \"100Gbps\"; delay = \"1us\"; switches = [ \"S\" ]; "                    \
	"hosts = [ \"a\", \"b\", \"c\" ]; links = (" links "); };"

/* a and c send, b receives through a tenth of their rate. */
static const char narrow[] = NETWORK("\"a S\", \"b S 10Gbps\", \"c S\"");
static const char wide[] = NETWORK("\"a S\", \"b S\", \"c S\"");

enum { PORT_A, PORT_B, PORT_C };

static void
start(struct frig *rig)
{
	if (frig_start(rig) < 0)
		fail_msg("%s", rig->err.text);
}

/* Static thresholds: 2000 B reserved, XOFF 10000 B above, XON 3000 B below that. */
static void
static_pfc(struct frig *rig)
{
	rig->pfc.model = PFC_STATIC;
	rig->pfc.reserve_bytes = 2000;
	rig->pfc.xoff_bytes = 10000;
	rig->pfc.xon_offset_bytes = 3000;
}

/*
 * The first frame leaves at once and one more every 800 ns. Right behind the arrival of frame k, 800 to 1600 ns after
 * the first, k - 1 frames are held (arrivals come before departures): 12000 B = reserve + XOFF with frame 13, at 14 x 80
 * ns + 1 us. The PAUSE takes 6.72 ns on the wire and 1 us of cable; frame 39 has started by then, frame 40 has not.
 * Held bytes fall to 9000 = reserve + XOFF - XON when frame 30 starts to leave (31 of 40 gone).
 */
static void
pause_and_resume_leave_exactly_when_thresholds_say(void **state)
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
	rig.pfc.model = PFC_DYNAMIC;
	rig.pfc.alpha = 0.5;
	rig.pfc.reserve_bytes = 0;
	rig.pfc.headroom_bytes = 30000;
	rig.params.buffer_bytes = 3 * 30000 + 20000;
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

/* @return order in which b received, one letter a frame by its priority digit */
static void
order_of(const struct frig_host *host, char *buf, size_t cap)
{
	size_t n = host->ngot < cap - 1 ? host->ngot : cap - 1;

	for (size_t i = 0; i < n; i++)
		buf[i] = (char)('0' + host->got[i].prio);
	buf[n] = '\0';
}

static void
class_0_overtakes(void **state)
{
	char order[16];
	struct frig rig;

	(void)state;
	frig_init(&rig, narrow);
	uint32_t data = frig_flow(&rig, "a", "b", 3), control = frig_flow(&rig, "c", "b", 0);

	start(&rig);
	frig_send(&rig, data, 0, 1000, 6);
	/* with the switch at 1080 + 820 ns: frame 1 of a is on the wire, 2 to 5 wait */
	frig_send(&rig, control, 820 * NS, 1000, 2);
	frig_run(&rig, 100 * PS_PER_US);
	order_of(frig_host(&rig, "b"), order, sizeof(order));
	assert_string_equal(order, "33003333");
	frig_stop(&rig);
}

static void
data_classes_share_by_weight(void **state)
{
	char order[55]; /* in the first 54 both wait */
	struct frig rig;
	uint32_t twice = 0;

	(void)state;
	frig_init(&rig, "switch = { weights = [ \"3:2\" ]; pfc = { priorities = [ \"3\", \"4\" ]; }; };" NETWORK(
				"\"a S\", \"b S 10Gbps\", \"c S\""));
	uint32_t three = frig_flow(&rig, "a", "b", 3), four = frig_flow(&rig, "c", "b", 4);

	start(&rig);
	frig_send(&rig, three, 0, 1000, 40);
	frig_send(&rig, four, 0, 1000, 40);
	frig_run(&rig, 100 * PS_PER_US);
	assert_int_equal(frig_host(&rig, "b")->ngot, 80);
	order_of(frig_host(&rig, "b"), order, sizeof(order));
	/* while both wait, two of class 3 go for each of class 4 */
	for (uint32_t i = 6; i < 54; i++)
		twice += order[i] == '3';
	assert_int_equal(twice, 48 * 2 / 3);
	assert_null(strstr(order + 6, "333"));
	assert_null(strstr(order + 6, "44"));
	frig_stop(&rig);
}

/*
 * 11 frames; frame j leaves with 10 - j behind it. At a tenth of the reference rate kmin is 4000 B and kmax kmax_bytes / 10.
 * @param from, to  frames marked
 */
static void
expect_marks(uint64_t kmax_bytes, uint32_t from, uint32_t to)
{
	struct frig_host *b;
	struct frig rig;

	frig_init(&rig, narrow);
	rig.ecn.kmin_bytes = 40000;
	rig.ecn.kmax_bytes = kmax_bytes;
	uint32_t flow = frig_flow(&rig, "a", "b", 3);
	start(&rig);
	frig_send(&rig, flow, 0, 1000, 11);
	frig_run(&rig, 100 * PS_PER_US);
	b = frig_host(&rig, "b");
	assert_int_equal(b->ngot, 11);
	for (uint32_t j = 0; j < 11; j++)
		assert_int_equal((b->got[j].flags & PKT_CE) != 0, j >= from && j <= to);
	frig_stop(&rig);
}

/* Above 4001 B: those with at least 5 behind them, but frame 0, which met an empty queue. */
static void
ecn_marks_by_what_is_left_behind(void **state)
{
	(void)state;
	expect_marks(40010, 1, 5);
}

/* kmin = kmax: above 4000 B. The frame with 4 behind it leaves exactly that, and is not marked. */
static void
ecn_marks_a_step_where_thresholds_are_equal(void **state)
{
	(void)state;
	expect_marks(40000, 1, 5);
}

static void
thresholds_of_ecn_in_the_wrong_order_are_an_error(void **state)
{
	struct frig rig;

	(void)state;
	frig_init(&rig, narrow);
	rig.ecn.kmin_bytes = 40001;
	rig.ecn.kmax_bytes = 40000;
	frig_flow(&rig, "a", "b", 3);
	assert_true(frig_start(&rig) < 0);
	assert_non_null(strstr(rig.err.text, "kmin 40001 B lies above kmax 40000 B"));
	frig_stop(&rig);
}

static void
ecn_off_marks_nothing(void **state)
{
	struct frig_host *b;
	struct frig rig;

	(void)state;
	frig_init(&rig, narrow);
	rig.ecn.enabled = false;
	rig.ecn.kmin_bytes = 0;
	rig.ecn.kmax_bytes = 10;
	uint32_t flow = frig_flow(&rig, "a", "b", 3);
	start(&rig);
	frig_send(&rig, flow, 0, 1000, 11);
	frig_run(&rig, 100 * PS_PER_US);
	b = frig_host(&rig, "b");
	for (uint32_t j = 0; j < b->ngot; j++)
		assert_int_equal(b->got[j].flags & PKT_CE, 0);
	frig_stop(&rig);
}

static void
every_hop_takes_from_ttl(void **state)
{
	struct pkt p = { .wire_bytes = 500, .type = PKT_DATA, .prio = 3 };
	const struct drop_count *drops;
	struct frig rig;

	(void)state;
	frig_init(&rig, wide);
	p.flow = frig_flow(&rig, "a", "b", 3);
	start(&rig);
	for (p.ttl = 1; p.ttl <= 3; p.ttl++)
		frig_send_pkt(&rig, 0, &p);
	frig_run(&rig, 10 * PS_PER_US);
	assert_int_equal(frig_host(&rig, "b")->ngot, 2);
	assert_int_equal(frig_host(&rig, "b")->got[0].ttl, 1);
	assert_int_equal(frig_host(&rig, "b")->got[1].ttl, 2);
	drops = &frig_switch(&rig, "S")->ports[PORT_A].telem.drops->of[REC_DROP_TTL];
	assert_int_equal(drops->packets, 1);
	assert_int_equal(drops->bytes, 500);
	assert_int_equal(drops->first_ps, (40 + DELAY_NS) * NS);
	assert_true(frig_conserves(&rig));
	frig_stop(&rig);
}

/* A class without PFC: frame 0 leaves at once, 3 fit the queue, the others of ten are lost by name. */
static void
lossy_classes_drop_at_the_tail(void **state)
{
	const struct drop_count *drops;
	struct frig_host *b;
	struct frig rig;

	(void)state;
	frig_init(&rig, narrow);
	rig.params.lossy_queue_bytes = 3999;
	uint32_t flow = frig_flow(&rig, "a", "b", 1);
	start(&rig);
	frig_send(&rig, flow, 0, 1000, 10);
	frig_run(&rig, 100 * PS_PER_US);
	b = frig_host(&rig, "b");
	assert_int_equal(b->ngot, 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(b->got[i].psn, i);
	drops = &frig_switch(&rig, "S")->ports[PORT_B].telem.drops->of[REC_DROP_QUEUE_FULL];
	assert_int_equal(drops->packets, 6);
	assert_int_equal(frig_host(&rig, "a")->npauses, 0);
	assert_true(frig_conserves(&rig));
	frig_stop(&rig);
}

/* A lossless class that overruns its headroom ends the run with the port and the size needed. */
static void
overrun_headroom_names_what_was_needed(void **state)
{
	const struct node *node;
	struct frig rig;

	(void)state;
	frig_init(&rig, narrow);
	static_pfc(&rig);
	uint32_t flow = frig_flow(&rig, "a", "b", 3);
	start(&rig);
	/* the sender is deaf: half of the needed headroom remains, as if the cable were longer than was said */
	frig_switch(&rig, "S")->account.ingress[PORT_A].headroom_limit_bytes = 5000;
	frig_send(&rig, flow, 0, 1000, 60);
	frig_run(&rig, 200 * PS_PER_US);
	node = &frig_switch(&rig, "S")->node;
	assert_int_equal(node->status, NODE_NO_BUFFER);
	assert_int_equal(rig.fabric->end_reason, REC_END_INVARIANT);
	assert_non_null(strstr(node->error, "S:1"));
	assert_non_null(strstr(node->error, "5000 B by 1000 B: it needs at least 6000 B"));
	frig_stop(&rig);
}

static void
thresholds_that_cannot_work_are_refused(void **state)
{
	struct frig rig;

	(void)state;
	frig_init(&rig, narrow);
	rig.pfc.model = PFC_STATIC;
	rig.pfc.xoff_bytes = 1000;
	frig_flow(&rig, "a", "b", 3);
	assert_int_equal(frig_start(&rig), -1);
	assert_non_null(strstr(rig.err.text, "does not exceed one frame of 1000 B"));
	frig_stop(&rig);

	frig_init(&rig, narrow);
	/* 100 Gbps x 2 us + 3 x 1000 + 84 */
	rig.pfc.headroom_bytes = 28083;
	frig_flow(&rig, "a", "b", 3);
	assert_int_equal(frig_start(&rig), -1);
	assert_non_null(strstr(rig.err.text, "needs at least 28084"));
	frig_stop(&rig);

	frig_init(&rig, narrow);
	rig.pfc.headroom_bytes = 28084;
	frig_flow(&rig, "a", "b", 3);
	assert_int_equal(frig_start(&rig), 0);
	frig_stop(&rig);
}

/* The most headroom that a burst into a static threshold takes while the way back is full of frames. */
static uint64_t
most_headroom(uint64_t xoff_bytes, uint64_t phase_ps)
{
	uint64_t most = 0;
	struct frig rig;

	frig_init(&rig, narrow);
	static_pfc(&rig);
	rig.pfc.xoff_bytes = xoff_bytes;
	uint32_t forward = frig_flow(&rig, "a", "b", 3), back = frig_flow(&rig, "c", "a", 3);

	start(&rig);
	/* an overrun is what is being measured */
	frig_switch(&rig, "S")->account.ingress[PORT_A].headroom_limit_bytes = UINT64_MAX;
	frig_send(&rig, forward, 0, 1000, 60);
	frig_send(&rig, back, phase_ps, 1000, 60);
	/* b holds everything back, so that what went into the headroom stays there */
	frig_pause(&rig, "b", 0, 1 << 3, true);
	frig_run(&rig, 50 * PS_PER_US);
	most = frig_switch(&rig, "S")->account.ingress[PORT_A].headroom_bytes;
	assert_int_equal(frig_host(&rig, "a")->npauses, 1);
	frig_stop(&rig);
	return most;
}

/*
 * Over thresholds in every position within a frame and a way back in every phase: what topo_headroom_bytes() says is
 * enough, and no frame too much. 100 Gbps x 2 us + 3 x 1000 + 84 = 28084.
 */
static void
sized_headroom_holds_the_worst_case(void **state)
{
	uint64_t most = 0;

	(void)state;
	for (uint64_t xoff_bytes = 10000; xoff_bytes < 11000; xoff_bytes += 90) {
		for (uint64_t phase_ps = 0; phase_ps < 80000; phase_ps += 7000) {
			uint64_t bytes = most_headroom(xoff_bytes, phase_ps);

			most = bytes > most ? bytes : most;
		}
	}
	assert_in_range(most, 28084 - 1000 + 1, 28084);
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
a_pause_waits_for_the_frame_under_way(void **state)
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
	/* b halts class 3 before anything comes */
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pause_and_resume_leave_exactly_when_thresholds_say),
		cmocka_unit_test(one_byte_below_the_threshold_sends_no_pause),
		cmocka_unit_test(dynamic_threshold_shrinks_with_the_pool),
		cmocka_unit_test(class_0_overtakes),
		cmocka_unit_test(data_classes_share_by_weight),
		cmocka_unit_test(ecn_marks_by_what_is_left_behind),
		cmocka_unit_test(ecn_marks_a_step_where_thresholds_are_equal),
		cmocka_unit_test(thresholds_of_ecn_in_the_wrong_order_are_an_error),
		cmocka_unit_test(ecn_off_marks_nothing),
		cmocka_unit_test(every_hop_takes_from_ttl),
		cmocka_unit_test(lossy_classes_drop_at_the_tail),
		cmocka_unit_test(overrun_headroom_names_what_was_needed),
		cmocka_unit_test(thresholds_that_cannot_work_are_refused),
		cmocka_unit_test(sized_headroom_holds_the_worst_case),
		cmocka_unit_test(pause_frames_take_their_wire_time),
		cmocka_unit_test(a_pause_waits_for_the_frame_under_way),
		cmocka_unit_test(paused_class_stands_while_others_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
