/* SPDX-License-Identifier: BSD-3-Clause */
/* Polling packets that follow pauses: to their root, past a dead end, round a deadlock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "common/wire/record.h"
#include "tests/unit/dpswitch/fabric_rig.h"
#include "tests/unit/dpswitch/poll_rig.h"
#include "tests/unit/unit.h"

/*
 * d pauses S2:2. c's flow to d fills S2, S2 pauses S1:1, and a's flow to b stands behind it: the poll of a's flow follows
 * the pause from S1:1 to S2 and finds that what came in there goes to S2:2, which is paused, and so to d.
 */
static void
a_pause_is_followed_to_its_root(void **state)
{
	const struct rec_port_row *row;
	struct sw *s1, *s2;
	struct frig rig;

	(void)state;
	frig_init(&rig, chain);
	rig.setup.all.pfc.model = PFC_STATIC;
	rig.setup.all.pfc.xoff_bytes = 20000;
	uint32_t victim = frig_flow(&rig, "a", "b", 3), culprit = frig_flow(&rig, "c", "d", 3);
	start(&rig);
	frig_pause(&rig, "d", 0, CLASS_3, true);
	frig_send(&rig, culprit, 2 * US, 1000, 1000);
	frig_send(&rig, victim, 30 * US, 1000, 10);
	send_poll(&rig, victim, 50 * US, 5, POLL_VICTIM);
	frig_run(&rig, 100 * US);
	s1 = frig_switch(&rig, "S1");
	s2 = frig_switch(&rig, "S2");
	expect_poll(s1, 0, S1_A, S1_S2, POLL_VICTIM, true, false);
	expect_poll(s2, 0, S2_S1, S2_B, POLL_BOTH, false, false);
	expect_poll(s2, 1, S2_S1, S2_D, POLL_BOTH, true, false);
	/* present state: paused since when, by whom, with how much behind it */
	row = row_of(s1, 5, S1_S2);
	assert_true(row->paused);
	assert_in_range(row->paused_since_ps, 2 * US, 20 * US);
	assert_true(row->queue_packets >= 10);
	row = row_of(s2, 5, S2_S1);
	assert_non_null(row);
	assert_true(row->pausing);
	assert_true(row->ingress_bytes > row->ingress_xoff_bytes);
	row = row_of(s2, 5, S2_D);
	assert_true(row->paused);
	assert_int_equal(row->paused_since_ps, 1006720);
	assert_int_equal(row->pauses_received, 1);
	assert_true(row->queue_packets >= 20);
	/* b got the victim's poll, d the one that followed the pause */
	assert_int_equal(polls_at(frig_host(&rig, "b")), 1);
	assert_int_equal(polls_at(frig_host(&rig, "d")), 1);
	assert_true(frig_conserves(&rig));
	frig_stop(&rig);
}

/* The same with b's cable cut: the victim's way ends at S2, the pause is followed all the same. */
static void
a_pause_is_followed_past_a_dead_end(void **state)
{
	static const char cut[] = "faults = ( { kind = \"link-down\"; port = \"S2:2\"; start = \"40us\"; } );";
	char text[sizeof(chain) + sizeof(cut)];
	struct frig rig;
	struct sw *s2;

	(void)state;
	snprintf(text, sizeof(text), "%s%s", chain, cut);
	frig_init(&rig, text);
	rig.setup.all.pfc.model = PFC_STATIC;
	rig.setup.all.pfc.xoff_bytes = 20000;
	uint32_t victim = frig_flow(&rig, "a", "b", 3), culprit = frig_flow(&rig, "c", "d", 3);
	start(&rig);
	frig_pause(&rig, "d", 0, CLASS_3, true);
	frig_send(&rig, culprit, 2 * US, 1000, 1000);
	send_poll(&rig, victim, 50 * US, 5, POLL_VICTIM);
	frig_run(&rig, 100 * US);
	s2 = frig_switch(&rig, "S2");
	expect_poll(s2, 0, S2_S1, S2_B, POLL_BOTH, false, false);
	expect_poll(s2, 1, S2_S1, S2_D, POLL_BOTH, true, false);
	assert_non_null(row_of(s2, 5, S2_B)); /* the dead end reports itself */
	assert_int_equal(polls_at(frig_host(&rig, "d")), 1);
	assert_true(frig_conserves(&rig));
	frig_stop(&rig);
}

/* A pause that is over still counts as long as its epoch is kept (2 of 1 ms here). */
static void
a_pause_of_the_kept_epochs_is_followed_and_then_forgotten(void **state)
{
	struct sw *s1;
	struct frig rig;

	(void)state;
	frig_init(&rig, chain);
	uint32_t victim = frig_flow(&rig, "a", "b", 3);
	start(&rig);
	frig_pause(&rig, "b", 10 * US, CLASS_3, true);
	frig_pause(&rig, "b", 20 * US, CLASS_3, false);
	send_poll(&rig, victim, 500 * US, 1, POLL_VICTIM);
	send_poll(&rig, victim, 1500 * US, 2, POLL_VICTIM);
	send_poll(&rig, victim, 2500 * US, 3, POLL_VICTIM);
	frig_run(&rig, 3 * PS_PER_MS);
	s1 = frig_switch(&rig, "S2");
	expect_poll(s1, 0, S2_S1, S2_B, POLL_VICTIM, true, false);
	expect_poll(s1, 1, S2_S1, S2_B, POLL_VICTIM, true, false);
	expect_poll(s1, 2, S2_S1, S2_B, POLL_VICTIM, false, false);
	/* what continues to b says so */
	assert_int_equal(frig_host(&rig, "b")->got[0].arg, POLL_BOTH);
	assert_int_equal(frig_host(&rig, "b")->got[2].arg, POLL_VICTIM);
	frig_stop(&rig);
}

/* Three switches in a ring whose ports towards the next all stand still, each because the next one's does. */
static const char triangle[] =
	"topology = { kind = \"explicit\"; rate = \"100Gbps\"; delay = \"1us\"; switches = [ \"X\", \"Y\", \"Z\" ]; "
	"hosts = [ \"x\", \"y\", \"z\" ]; "
	"links = ( \"X Y\", \"Y Z\", \"Z X\", \"x X\", \"y Y\", \"z Z\" ); };"
	/* clockwise: X:1 leads to Y, Y:2 to Z, Z:2 to X */
	"faults = ( { kind = \"misroute\"; dst = \"z\"; port = \"X:1\"; }, { kind = \"misroute\"; dst = \"x\"; port = "
	"\"Y:2\"; },"
	"{ kind = \"misroute\"; dst = \"y\"; port = \"Z:2\"; } );";

/* A deadlock from about 0.1 ms on. @return a flow that stands in it */
static uint32_t
start_deadlock(struct frig *rig)
{
	uint32_t flows[3];

	frig_init(rig, triangle);
	rig->setup.all.pfc.model = PFC_STATIC;
	rig->setup.all.pfc.xoff_bytes = 20000;
	flows[0] = frig_flow(rig, "x", "z", 3);
	flows[1] = frig_flow(rig, "y", "x", 3);
	flows[2] = frig_flow(rig, "z", "y", 3);
	start(rig);
	for (uint32_t i = 0; i < 3; i++)
		frig_send(rig, flows[i], 0, 1000, 5000);
	return flows[0];
}

static void
a_cycle_of_pauses_ends_the_poll(void **state)
{
	static const char *const names[] = { "X", "Y", "Z" };
	uint32_t victim, answers = 0, repeated = 0;
	struct frig rig;

	(void)state;
	victim = start_deadlock(&rig);
	send_poll(&rig, victim, PS_PER_MS, 3, POLL_VICTIM);
	frig_run(&rig, 2 * PS_PER_MS);
	/* 5000 frames take 0.8 ms at half the rate: it is a deadlock that the poll meets at 1 ms */
	for (uint32_t i = 0; i < 3; i++)
		assert_true(frig_switch(&rig, names[i])->ports[i == 0 ? 0 : 1].egress.paused);
	for (uint32_t i = 0; i < 3; i++) {
		const struct sw *sw = frig_switch(&rig, names[i]);
		const struct rec_port_row *row = row_of(sw, 3, i == 0 ? 0 : 1);

		assert_non_null(row);
		assert_true(row->paused);
		for (uint32_t n = 0; poll_of(sw, n) != NULL; n++, answers++)
			repeated += poll_of(sw, n)->repeated;
	}
	/* round once, and the port that had answered ends it */
	assert_true(repeated >= 1);
	assert_in_range(answers, 4, 16);
	assert_true(frig_conserves(&rig));
	frig_stop(&rig);
}

/* As many at once as a large job's hosts send: none is forgotten while it is under way. */
static void
many_events_end_on_a_cycle_of_pauses(void **state)
{
	static const char *const names[] = { "X", "Y", "Z" };
	struct frig rig;

	(void)state;
	uint32_t victim = start_deadlock(&rig);
	for (uint32_t event = 1; event <= 200; event++)
		send_poll(&rig, victim, PS_PER_MS, 7 << 16 | event, POLL_VICTIM);
	frig_run(&rig, 2 * PS_PER_MS);
	assert_non_null(poll_of(frig_switch(&rig, "X"), 199)); /* every one came */
	for (uint32_t i = 0; i < 3; i++) {
		const struct sw *sw = frig_switch(&rig, names[i]);

		for (uint16_t port = 0; port < 3; port++)
			assert_int_equal(sw->ports[port].telem.drops->of[REC_DROP_TTL].packets, 0);
	}
	assert_true(frig_conserves(&rig));
	frig_stop(&rig);
}

/* The same pauses in class 4, whose flow shares the ports with the victim of class 3: nobody follows them. */
static void
pauses_of_another_class_are_not_followed(void **state)
{
	char text[sizeof(chain) + 64];
	struct sw *s1, *s2;
	struct frig rig;

	(void)state;
	snprintf(text, sizeof(text), "%sswitch = { pfc = { priorities = [ \"3\", \"4\" ]; }; };", chain);
	frig_init(&rig, text);
	rig.setup.all.pfc.model = PFC_STATIC;
	rig.setup.all.pfc.xoff_bytes = 20000;
	uint32_t victim = frig_flow(&rig, "a", "b", 3), other = frig_flow(&rig, "c", "d", 4);
	start(&rig);
	frig_pause(&rig, "d", 0, 1 << 4, true);
	frig_send(&rig, other, 2 * US, 1000, 1000);
	frig_send(&rig, victim, 30 * US, 1000, 10);
	send_poll(&rig, victim, 50 * US, 5, POLL_VICTIM);
	send_poll(&rig, other, 60 * US, 6, POLL_VICTIM);
	frig_run(&rig, 100 * US);
	s1 = frig_switch(&rig, "S1");
	s2 = frig_switch(&rig, "S2");
	expect_poll(s1, 0, S1_A, S1_S2, POLL_VICTIM, false, false);
	expect_poll(s2, 0, S2_S1, S2_B, POLL_VICTIM, false, false);
	assert_null(row_of(s2, 5, S2_D));
	/* Both classes report themselves at the port that they share. */
	assert_int_equal(row_of(s1, 5, S1_S2)->prio, 4);
	assert_true(row_of(s1, 5, S1_S2)->paused);
	/* Who asks for the paused flow is led to d. */
	assert_non_null(row_of(s2, 6, S2_D));
	assert_int_equal(row_of(s2, 6, S2_S1)->prio, 4);
	assert_true(row_of(s2, 6, S2_S1)->pausing);
	frig_stop(&rig);
}

UNIT_TEST(poll_pause)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pause_is_followed_to_its_root),
		cmocka_unit_test(a_pause_is_followed_past_a_dead_end),
		cmocka_unit_test(a_pause_of_the_kept_epochs_is_followed_and_then_forgotten),
		cmocka_unit_test(pauses_of_another_class_are_not_followed),
		cmocka_unit_test(a_cycle_of_pauses_ends_the_poll),
		cmocka_unit_test(many_events_end_on_a_cycle_of_pauses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
