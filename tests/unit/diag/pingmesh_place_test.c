/* SPDX-License-Identifier: BSD-3-Clause */
/* R-Pingmesh's analyzer: links and switches, by votes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "tests/unit/diag/pingmesh_rig.h"
#include "tests/unit/unit.h"

#define S PS_PER_S

static void
links_above_tors_are_placed_by_direction(void **state)
{
	static const struct {
		uint32_t from, to;
		const char *finding;
	} cases[] = { { 0, RIG_SPINE(1), "switch-problem l0:5" },
		      { RIG_SPINE(1), 0, "switch-problem s1:1" },
		      { 2, RIG_SPINE(0), "switch-problem l2:4" },
		      { RIG_SPINE(0), 1, "switch-problem s0:2" } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct verdict *v;
		struct rig rig;

		rig_init(&rig, 60 * S);
		rig_link(&rig, cases[i].from, cases[i].to, 0.2);
		v = rig_diagnose(&rig);
		ASSERT_FINDINGS(v, cases[i].finding);
		assert_false(rig_own(v)->problems[0].both);
		assert_int_equal(rig_cause(v, PINGMESH_RNIC), 0);
		assert_int_equal(rig_own(v)->problems[0].periods, 3);
		verdict_destroy(v);
	}
}

static void
a_whole_switch_is_named(void **state)
{
	struct verdict *v;
	struct rig rig;

	(void)state;
	rig_init(&rig, 60 * S);
	for (uint32_t leaf = 0; leaf < RIG_LEAVES; leaf++)
		rig_link(&rig, RIG_SPINE(0), leaf, 0.3);
	v = rig_diagnose(&rig);
	ASSERT_FINDINGS(v, "switch-problem s0");
	assert_int_equal(v->findings[0].root_port, RUN_NONE);
	verdict_destroy(v);
}

/*
 * A ToR that drops everywhere, and a ToR whose RNICs all do, look alike: one cause or three, each as probable as one of
 * seven RNICs elsewhere is bad of which none is, (0 + 1) / (7 + 2).
 */
static void
a_tor_or_all_of_its_rnics_is_named(void **state)
{
	(void)state;
	for (uint32_t rnics = 0; rnics < 3; rnics++) {
		struct verdict *v;
		struct rig rig;

		rig_init(&rig, 60 * S);
		for (uint32_t host = 0; host < 3 && rnics != 1; host++)
			rig_link(&rig, 0, RIG_HOST(host), rnics == 0 ? 0.4 : 1);
		for (uint32_t host = 0; host < 3 && rnics == 1; host++)
			rig.nic_loss[host] = 1;
		v = rig_diagnose(&rig);
		ASSERT_FINDINGS(v, "switch-problem l0 or all of its RNICs");
		assert_int_equal(rig_own(v)->problems[0].or_rnics, 3);
		assert_true(v->findings[0].confidence <= 1 / (1 + 1.0 / 81) + 1e-9);
		assert_true(v->findings[0].confidence > 0.9);
		verdict_destroy(v);
	}
}

/*
 * What an agent had no room for is no loss of the network's, as far as it goes: each that was dropped makes one timeout
 * at most.
 */
static void
what_agents_dropped_is_not_lost(void **state)
{
	(void)state;
	for (uint32_t enough = 0; enough < 2; enough++) {
		struct verdict *v;
		struct rig rig;

		rig_init(&rig, 60 * S);
		rig_link(&rig, 1, RIG_SPINE(1), 0.2);
		for (uint32_t host = 3; host < 6; host++)
			rig.hosts[host] =
				(struct rig_host){ .slow_ps = 1, .fast_ps = 60 * S, .dropped = enough != 0 ? 100000 : 1 };
		v = rig_diagnose(&rig);
		if (enough != 0) {
			assert_int_equal(v->nfindings, 0);
			assert_true(rig_own(v)->limits[PINGMESH_LIMIT_DROPPED] != 0);
		} else {
			ASSERT_FINDINGS(v, "switch-problem l1:5");
		}
		verdict_destroy(v);
	}
}

/* Queues of RNICs, which agents in time for their timers distinguish from CPUs, make answers as late as timeouts. */
static void
what_queues_of_rnics_delay_is_not_lost(void **state)
{
	struct verdict *v;
	struct rig rig;

	(void)state;
	rig_init(&rig, 60 * S);
	rig.hosts[4] = (struct rig_host){ .slow_ps = 1, .fast_ps = 60 * S, .delay_ps = 400 * PS_PER_MS, .in_time = true };
	v = rig_diagnose(&rig);
	assert_int_equal(v->nfindings, 0);
	assert_true(rig_own(v)->limits[PINGMESH_LIMIT_LATE] != 0);
	verdict_destroy(v);
}

/* All is lost that goes to a host by one spine: its link is well by the other, and the spine's links are for all others. */
static void
a_switch_that_loses_by_addresses_is_named(void **state)
{
	struct verdict *v;
	struct rig rig;

	(void)state;
	rig_init(&rig, 60 * S);
	rig.holes[0] = (struct rig_hole){ .node = RIG_SPINE(1), .host = 4 };
	v = rig_diagnose(&rig);
	ASSERT_FINDINGS(v, "switch-problem s1");
	assert_int_equal(rig_cause(v, PINGMESH_RNIC), 0);
	verdict_destroy(v);
}

/* By the other spine all is well; and of the leaves, that share the lost probes with it, it is none. */
static void
a_switch_that_loses_for_hosts_of_two_leaves_is_named_alone(void **state)
{
	struct verdict *v;
	struct rig rig;

	(void)state;
	rig_init(&rig, 60 * S);
	rig.holes[0] = (struct rig_hole){ .node = RIG_SPINE(0), .host = 1 };
	rig.holes[1] = (struct rig_hole){ .node = RIG_SPINE(0), .host = 5 };
	v = rig_diagnose(&rig);
	ASSERT_FINDINGS(v, "switch-problem s0");
	verdict_destroy(v);
}

/* With one host at a ToR the same probes cross its RNIC and the ToR: it is one of them, and that is said once. */
static void
a_lonely_rnic_and_its_tor_are_one_place(void **state)
{
	static const uint32_t lonely = 6;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		const struct pingmesh *own;
		struct verdict *v;
		struct rig rig;

		rig_init(&rig, 60 * S);
		for (uint32_t host = lonely + 1; host < RIG_HOSTS; host++)
			rig.hosts[host].absent = true;
		rig.nic_loss[lonely] = i == 0 ? 1 : i == 1 ? 0.05 : 0;
		if (i == 2) /* all of its ToR's links to spines: the ToR */
			for (uint32_t k = 0; k < RIG_SPINES; k++)
				rig_link(&rig, 2, RIG_SPINE(k), 0.5);
		v = rig_diagnose(&rig);
		own = rig_own(v);
		ASSERT_FINDINGS(v, "rnic-problem h6:1 or l2");
		assert_true(own->problems[0].confidence <= 0.5);
		assert_int_equal(own->limits[PINGMESH_LIMIT_WITNESS], 1);
		verdict_destroy(v);
	}
	for (uint32_t i = 0; i < 2; i++) { /* an uplink of it is not, nor is an RNIC with others beside it */
		struct verdict *v;
		struct rig rig;

		rig_init(&rig, 60 * S);
		for (uint32_t host = lonely + 1; host < RIG_HOSTS; host++)
			rig.hosts[host].absent = true;
		if (i == 0)
			rig_link(&rig, 2, RIG_SPINE(0), 0.5);
		else
			rig.nic_loss[1] = 0.5;
		v = rig_diagnose(&rig);
		ASSERT_FINDINGS(v, i == 0 ? "switch-problem l2:4" : "rnic-problem h1:1");
		verdict_destroy(v);
	}
}

/* Timeouts beside probes that return as late as that may be late, too; where none is late, they are losses. */
static void
what_may_be_late_is_not_lost(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		const struct pingmesh *own;
		struct verdict *v;
		struct rig rig;

		rig_init(&rig, 60 * S);
		rig.links[rig.nlinks++] = (struct rig_link){ .from = 0, .to = RIG_SPINE(0), .loss = 0.5 };
		if (i == 1) /* what is not lost there takes long */
			rig.links[0].delay_ps = 300 * PS_PER_MS;
		if (i == 2) /* every probe does */
			rig.far_ps = 70 * PS_PER_MS;
		v = rig_diagnose(&rig);
		own = rig_own(v);
		if (i == 0)
			ASSERT_FINDINGS(v, "switch-problem l0:4");
		for (uint32_t p = 0; i != 0 && p < own->nproblems; p++)
			assert_int_equal(own->problems[p].kind, PINGMESH_PROBLEM_RTT);
		assert_int_equal(own->limits[PINGMESH_LIMIT_LATE] > 20, i == 1);
		assert_int_equal(own->limits[PINGMESH_LIMIT_SLOW] > 20, i == 2);
		assert_int_equal(own->networks[PINGMESH_CLUSTER].causes[PINGMESH_UNDECIDED] > 20, i != 0);
		verdict_destroy(v);
	}
}

/*
 * Probes between ToRs take more than a quarter of the timeout at best, those within a ToR do not: only of the former
 * late and lost look alike.
 */
static void
kinds_of_probes_are_slow_apart(void **state)
{
	const struct pingmesh *own;
	struct verdict *v;
	struct rig rig;

	(void)state;
	rig_init(&rig, 60 * S);
	for (uint32_t leaf = 0; leaf < RIG_LEAVES; leaf++)
		for (uint32_t k = 0; k < RIG_SPINES; k++)
			rig.links[rig.nlinks++] = (struct rig_link){
				.from = leaf, .to = RIG_SPINE(k), .loss = leaf == 0 ? 0.5 : 0, .delay_ps = 130 * PS_PER_MS
			};
	rig.nic_loss[4] = 0.2;
	rig.service[1] = 8; /* as slow: nothing of it is answered */
	rig.holes[0] = (struct rig_hole){ .node = RIG_SPINE(1), .host = 8 };
	v = rig_diagnose(&rig);
	own = rig_own(v);
	ASSERT_FINDINGS(v, "rnic-problem h4:1");
	assert_true(own->limits[PINGMESH_LIMIT_SLOW] > 20);
	assert_int_equal(own->networks[PINGMESH_SERVICE].causes[PINGMESH_ANSWERED], 0);
	verdict_destroy(v);
}

/*
 * ACKs after the timeout show that a queue held the probes; also those after them, until answers come again, or three
 * periods are over.
 */
static void
what_is_answered_late_is_not_lost(void **state)
{
	static const uint64_t answered_s[] = { 0, 60, 30, 30 }, flushed_s[] = { 55, 55, 55, 160 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(answered_s); i++) {
		struct verdict *v;
		struct rig rig;

		rig_init(&rig, 180 * S);
		rig.hosts[4].queue_ps = 21 * S;
		rig.hosts[4].sends_ps = answered_s[i] * S;
		rig.hosts[4].flushed_ps = flushed_s[i] * S;
		v = rig_diagnose(&rig);
		if (i % 3 == 0)
			ASSERT_FINDINGS(v, "rnic-problem h4:1");
		else
			assert_int_equal(v->nfindings, 0);
		assert_int_equal(rig_own(v)->limits[PINGMESH_LIMIT_ANSWERED] != 0, i != 0);
		assert_int_equal(rig_own(v)->limits[PINGMESH_LIMIT_LATE] != 0, i > 1);
		verdict_destroy(v);
	}
}

/* A queue that grows by five seconds a second, from 21 to 70 s: before a host, or between switches. */
static void
fill_queue(struct rig *rig, const char *buffer, uint32_t from, uint32_t to)
{
	rig_init(rig, 120 * S);
	rig->buffer = buffer;
	rig->links[rig->nlinks++] =
		(struct rig_link){ .from = from, .to = to, .grows = 5, .start_ps = 21 * S, .end_ps = 70 * S };
}

/*
 * A queue holds probes for longer than agents remember them. What is lost elsewhere, or there after it has drained, is a
 * problem all the same; so is all of it where no buffer holds anything for that long.
 */
static void
what_a_queue_may_hold_is_not_lost(void **state)
{
	const uint32_t hops[][2] = { { 1, RIG_HOST(4) }, { 0, RIG_SPINE(0) }, { RIG_SPINE(1), 2 } };
	const uint32_t count = unit_wide(2, ARRAY_LEN(hops), "links whose queue may hold probes");

	(void)state;
	for (size_t i = 0; i < count; i++) {
		struct verdict *v;
		struct rig rig;

		fill_queue(&rig, "40000000000", hops[i][0], hops[i][1]);
		v = rig_diagnose(&rig);
		rig_assert_no_fault(v);
		assert_true(rig_own(v)->limits[PINGMESH_LIMIT_HELD] > 20);
		verdict_destroy(v);

		fill_queue(&rig, "\"40GB\"", hops[i][0], hops[i][1]);
		rig.nic_loss[7] = 0.3;
		v = rig_diagnose(&rig);
		rig_assert_fault(v, "rnic-problem h7:1");
		verdict_destroy(v);

		fill_queue(&rig, "40000000000", hops[i][0], hops[i][1]);
		rig_link(&rig, hops[i][0], hops[i][1], 0.3);
		rig.links[1].start_ps = 85 * S;
		v = rig_diagnose(&rig);
		rig_assert_fault(v, i == 0 ? "rnic-problem h4:1" : i == 1 ? "switch-problem l0:4" : "switch-problem s1:3");
		verdict_destroy(v);

		fill_queue(&rig, "1MB", hops[i][0], hops[i][1]);
		v = rig_diagnose(&rig);
		assert_int_equal(rig_own(v)->limits[PINGMESH_LIMIT_HELD], 0);
		rig_assert_fault(v, i == 0 ? "rnic-problem h4:1" : i == 1 ? "switch-problem l0:4" : "switch-problem s1:3");
		verdict_destroy(v);
	}
}

/*
 * A queue was there before the first probe, and no answer is late by so little that its agent still knows the probe. The
 * job's data would take 3.2 s over the link, or next to nothing. PFC makes packets wait for that link before the ports
 * that lead there: those of spine 1.
 */
static void
what_data_may_hold_is_not_lost(void **state)
{
	static const uint64_t bytes[] = { 40000000000, 40000 };
	const uint32_t hops[][2] = { { 1, RIG_HOST(4) }, { RIG_SPINE(1), 1 }, { RIG_SPINE(0), 1 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(hops) * ARRAY_LEN(bytes); i++) {
		bool is_held = i / 2 < 2 && i % 2 == 0;
		struct verdict *v;
		struct rig rig;

		rig_init(&rig, 60 * S);
		rig.buffer = "40GB";
		rig.service[1] = 4;
		rig.iterations = 1;
		rig.iteration_ps[0] = 58 * S;
		rig.step_bytes = bytes[i % 2];
		rig.links[rig.nlinks++] = (struct rig_link){
			.from = hops[i / 2][0], .to = hops[i / 2][1], .grows = 1, .start_ps = 2 * S, .end_ps = 58 * S
		};
		rig.links[0].loss = 1;
		v = rig_diagnose(&rig);
		if (is_held) {
			rig_assert_no_fault(v);
			assert_true(rig_own(v)->limits[PINGMESH_LIMIT_HELD] > 20);
		} else {
			rig_assert_fault(v, i / 2 == 0   ? "rnic-problem h4:1"
					    : i / 2 == 1 ? "switch-problem " /* the few tuples of the job fit more places */
							 : "switch-problem s0:2");
		}
		verdict_destroy(v);
	}
}

/* Of a window's data no queue lasts for the timeout, unless switches serve their class first: then all is ahead. */
static void
what_a_strict_class_may_hold_is_not_lost(void **state)
{
	(void)state;
	for (uint32_t strict = 0; strict < 2; strict++) {
		struct verdict *v;
		struct rig rig;

		rig_init(&rig, 60 * S);
		rig.buffer = "40GB";
		rig.service[1] = 4;
		rig.iterations = 1;
		rig.iteration_ps[0] = 58 * S;
		rig.step_bytes = 40000000000;
		rig.window_bytes = 100000;
		rig.strict_prio = strict * 5;
		rig_link(&rig, 1, RIG_HOST(4), 1);
		rig.links[0].start_ps = 2 * S;
		rig.links[0].end_ps = 58 * S;
		v = rig_diagnose(&rig);
		if (strict)
			rig_assert_no_fault(v);
		else
			rig_assert_fault(v, "rnic-problem h4:1");
		verdict_destroy(v);
	}
}

/*
 * No probe by a port ever returns, nor do answers by it, and nobody announces data that wait there: a buffer may hold all
 * of it, before a host or between switches. Not so if the link carries no probes in the other direction either, if no
 * buffer holds anything for that long, or after one answer in time.
 */
static void
what_never_returned_may_be_held(void **state)
{
	enum { HELD, DEAF_AND_DUMB, SMALL_BUFFER, ONCE_ANSWERED, NCASES };
	const struct {
		uint32_t from, to;
		const char *fault;
	} hops[] = { { 1, RIG_HOST(4), "rnic-problem h4:1" },
		     { 0, RIG_SPINE(0), "switch-problem l0:4" },
		     { RIG_SPINE(1), 2, "switch-problem s1:3" } };
	const uint32_t count = unit_wide(2, ARRAY_LEN(hops), "links by which no probe returns");

	(void)state;
	for (uint32_t k = 0; k < count * NCASES; k++) {
		uint32_t i = k % NCASES, from = hops[k / NCASES].from, to = hops[k / NCASES].to;
		struct verdict *v;
		struct rig rig;

		rig_init(&rig, 60 * S);
		rig.buffer = i == SMALL_BUFFER ? "1MB" : "40GB";
		rig.all_received = true;
		rig_link(&rig, from, to, 1);
		rig.links[0].start_ps = i == ONCE_ANSWERED ? 3 * S : 0;
		if (i == DEAF_AND_DUMB)
			rig_link(&rig, to, from, 1);
		v = rig_diagnose(&rig);
		assert_int_equal(rig_own(v)->limits[PINGMESH_LIMIT_HELD] > 20, i == HELD);
		if (i == HELD)
			rig_assert_no_fault(v);
		else
			rig_assert_fault(v, i != DEAF_AND_DUMB || k < NCASES ? hops[k / NCASES].fault : "switch-problem ");
		verdict_destroy(v);
	}
}

/*
 * Algorithm 1 has the link that most lost probes cross: of one fault that one, of two at once no more than one a
 * period, in no direction.
 */
static void
the_papers_algorithm_finds_one_place_a_period(void **state)
{
	(void)state;
	for (uint32_t links = 1; links <= 2; links++) {
		struct verdict *v;
		struct rig rig;

		rig_init(&rig, 20 * S);
		rig.algorithm = REC_PINGMESH_PAPER;
		rig_link(&rig, 0, RIG_SPINE(0), 0.5);
		if (links == 2)
			rig_link(&rig, 2, RIG_SPINE(1), 0.1);
		v = rig_diagnose(&rig);
		ASSERT_FINDINGS(v, "switch-problem l0:4");
		assert_true(rig_own(v)->problems[0].both);
		assert_int_equal(rig_own(v)->votes, 1);
		verdict_destroy(v);
	}
}

/*
 * Each packet takes a spine by chance, and received ones report their paths. A link that loses much is named by itself;
 * of one that loses little it is the switch that its probes share.
 */
static void
sprayed_probes_place_a_link_by_their_paths(void **state)
{
	static const double loss[] = { 0, 0.03, 0.4 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(loss); i++) {
		struct verdict *v;
		struct rig rig;

		rig_init(&rig, 40 * S);
		rig.gap_ps = S / 5;
		rig.sprayed = rig.all_received = true;
		if (i != 0)
			rig_link(&rig, 1, RIG_SPINE(1), loss[i]);
		v = rig_diagnose(&rig);
		assert_true(rig_own(v)->inband && rig_own(v)->sprayed);
		if (i == 0)
			assert_int_equal(v->nfindings, 0);
		else
			rig_assert_fault(v, i == 1 ? "switch-problem " : "switch-problem l1:5");
		verdict_destroy(v);
	}
}

/* Two links of a leaf are bad, the rest of it is not. */
static void
two_bad_links_make_no_bad_switch(void **state)
{
	struct verdict *v;
	struct rig rig;

	(void)state;
	rig_init(&rig, 60 * S);
	rig_link(&rig, 0, RIG_SPINE(0), 0.3);
	rig_link(&rig, RIG_SPINE(1), 0, 0.25);
	v = rig_diagnose(&rig);
	ASSERT_FINDINGS(v, "switch-problem l0:4", "switch-problem s1:1");
	verdict_destroy(v);
}

/*
 * Between two leaves alone a spine's links are crossed by the same probes: both are named, each by the port that sends
 * the bad way.
 */
static void
links_in_series_are_named_by_the_same_direction(void **state)
{
	struct verdict *v;
	struct rig rig;

	(void)state;
	rig_init(&rig, 60 * S);
	for (uint32_t host = 6; host < RIG_HOSTS; host++)
		rig.hosts[host].absent = true;
	rig.all_received = true;
	rig_link(&rig, RIG_SPINE(1), 1, 0.3);
	rig_link(&rig, 1, RIG_SPINE(1), 0.02);
	v = rig_diagnose(&rig);
	ASSERT_FINDINGS(v, "switch-problem l0:5 or s1:2");
	verdict_destroy(v);
}

/* @return how many links are as likely; forth: what is lost was, else its ACKs */
static uint32_t
links_of_one_tuple(bool forth, bool received, bool restarted)
{
	struct verdict *v;
	struct rig rig;
	uint32_t alike, other = (uint32_t)RIG_SPINE(forth ? 0 : 1);

	rig_init(&rig, 60 * S);
	rig.mesh_only = true; /* but for the service's one tuple: by spine 1, and back by spine 0 */
	rig.service[1] = 8;
	rig.received = received;
	rig.hosts[0].restart_ps = restarted ? 25 * S : 0; /* the prober's */
	if (forth)
		rig_link(&rig, RIG_SPINE(1), 2, 0.3);
	else
		rig_link(&rig, 2, RIG_SPINE(0), 0.3);
	v = rig_diagnose(&rig);
	assert_int_equal(v->nfindings, 1);
	assert_int_equal(rig_own(v)->problems[0].kind, PINGMESH_PROBLEM_SWITCH);
	for (uint32_t i = 0; received && i < rig_own(v)->problems[0].nports; i++) {
		const struct run_port *port = &v->run.ports[rig_own(v)->problems[0].ports[i]];

		assert_true(port->node != other && port->peer_node != other);
	}
	alike = rig_own(v)->problems[0].alike;
	verdict_destroy(v);
	return alike;
}

static void
responders_report_which_direction_lost_it(void **state)
{
	(void)state;
	for (uint32_t forth = 0; forth < 2; forth++)
		for (uint32_t restarted = 0; restarted < 2; restarted++)
			assert_true(links_of_one_tuple(forth, true, restarted) <
				    links_of_one_tuple(forth, false, restarted));
}

UNIT_TEST(pingmesh_place)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_above_tors_are_placed_by_direction),
		cmocka_unit_test(a_whole_switch_is_named),
		cmocka_unit_test(a_tor_or_all_of_its_rnics_is_named),
		cmocka_unit_test(what_agents_dropped_is_not_lost),
		cmocka_unit_test(what_queues_of_rnics_delay_is_not_lost),
		cmocka_unit_test(a_switch_that_loses_by_addresses_is_named),
		cmocka_unit_test(a_switch_that_loses_for_hosts_of_two_leaves_is_named_alone),
		cmocka_unit_test(sprayed_probes_place_a_link_by_their_paths),
		cmocka_unit_test(two_bad_links_make_no_bad_switch),
		cmocka_unit_test(a_lonely_rnic_and_its_tor_are_one_place),
		cmocka_unit_test(what_may_be_late_is_not_lost),
		cmocka_unit_test(kinds_of_probes_are_slow_apart),
		cmocka_unit_test(what_is_answered_late_is_not_lost),
		cmocka_unit_test(what_a_queue_may_hold_is_not_lost),
		cmocka_unit_test(what_data_may_hold_is_not_lost),
		cmocka_unit_test(what_a_strict_class_may_hold_is_not_lost),
		cmocka_unit_test(what_never_returned_may_be_held),
		cmocka_unit_test(the_papers_algorithm_finds_one_place_a_period),
		cmocka_unit_test(links_in_series_are_named_by_the_same_direction),
		cmocka_unit_test(responders_report_which_direction_lost_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
