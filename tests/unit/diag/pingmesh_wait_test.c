/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * R-Pingmesh's analyzer: few lost probes wait for more of their like, and losses by addresses are distinguished from
 * those of links.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/diag/pingmesh_rig.h"
#include "tests/unit/unit.h"

#define S PS_PER_S

/* A link loses everything from a while before the end of a period on. */
static void
begin_at(struct rig *rig, uint64_t start_ps, uint64_t end_ps)
{
	rig_init(rig, end_ps);
	rig_link(rig, 1, RIG_SPINE(1), 1);
	rig->links[0].start_ps = start_ps;
}

/* What was lost until the period's end could have been several links': it is reported with the next period, only there. */
static void
what_begins_before_a_period_ends_is_placed_with_the_next(void **state)
{
	static const uint64_t starts_ps[] = { 36 * S, 39 * S, 37 * S, 38 * S };
	const uint32_t starts = unit_wide(2, sizeof(starts_ps) / sizeof(*starts_ps), "seconds before a period's end");

	(void)state;
	for (size_t i = 0; i < starts; i++) {
		struct verdict *v;
		struct rig rig;

		begin_at(&rig, starts_ps[i], 80 * S);
		v = rig_diagnose(&rig);
		ASSERT_FINDINGS(v, "switch-problem l1:5");
		assert_true(rig_own(v)->problems[0].start_ps >= starts_ps[i] &&
			    rig_own(v)->problems[0].start_ps < starts_ps[i] + 3 * S);
		assert_true(rig_own(v)->problems[0].first_period <= 2);
		assert_int_equal(rig_cause(v, PINGMESH_UNDECIDED), 0);
		verdict_destroy(v);
	}
}

/* With nothing to wait for all places are named that would do, and the right one is among them. */
static void
at_the_streams_end_all_places_are_named(void **state)
{
	struct verdict *v;
	struct rig rig;
	const struct pingmesh_problem *problem;
	bool is_named = false;

	(void)state;
	begin_at(&rig, 95 * S, 100 * S);
	rig.links[0].loss = 0.05;
	v = rig_diagnose(&rig);
	assert_int_equal(v->nfindings, 1);
	problem = &rig_own(v)->problems[0];
	assert_int_equal(problem->kind, PINGMESH_PROBLEM_SWITCH);
	assert_true(problem->alike > 1 && problem->confidence < 1);
	for (uint32_t i = 0; i < problem->nports; i++)
		is_named |= strcmp(v->run.ports[problem->ports[i]].name, "l1:5") == 0;
	assert_true(is_named);
	verdict_destroy(v);
}

/* So little is lost that no period alone has three probes of it: three together have. */
static void
little_that_is_lost_waits_for_three_periods(void **state)
{
	struct verdict *v;
	struct rig rig;

	(void)state;
	rig_init(&rig, 400 * S);
	rig_link(&rig, 1, RIG_SPINE(1), 0.01);
	v = rig_diagnose(&rig);
	assert_true(v->nfindings >= 1);
	for (uint32_t i = 0; i < v->nfindings; i++)
		assert_non_null(strstr(v->findings[i].root, "l1:5"));
	assert_true(rig_cause(v, PINGMESH_SWITCH) > 0 && rig_cause(v, PINGMESH_RNIC) == 0);
	verdict_destroy(v);
}

/*
 * Of the pairs that one spine loses everything, by the other nothing: beside a link of that spine which loses some of
 * all.
 */
static void
addresses_are_distinguished_from_links(void **state)
{
	struct verdict *v;
	struct rig rig;

	(void)state;
	rig_init(&rig, 100 * S);
	rig.holes[0] = (struct rig_hole){ .node = RIG_SPINE(1), .host = 1 };
	rig_link(&rig, 2, RIG_SPINE(0), 0.2);
	v = rig_diagnose(&rig);
	ASSERT_FINDINGS(v, "switch-problem s1", "switch-problem l2:4");
	verdict_destroy(v);
}

/* Of pairs that spine 1 loses everything from a time on: by addresses of hosts from first, or of those behind them. */
static void
lose_pairs(struct rig *rig, uint64_t start_ps, uint64_t end_ps)
{
	rig_init(rig, end_ps);
	rig->gap_ps = S / 5;
	rig->all_received = true;
	for (uint32_t i = 0; i < RIG_HOLES / 2; i++) {
		rig->holes[2 * i] = (struct rig_hole){ RIG_SPINE(1), i, 5 + i, start_ps };
		rig->holes[2 * i + 1] = (struct rig_hole){ RIG_SPINE(1), 4 + i, 1 + i, start_ps };
	}
}

/*
 * Losses by addresses begin just before a period ends, or the recording ends within a period: too few probes of a tuple
 * to know them by themselves, and no link that loses of some tuples everything and of others nothing is named in their
 * place.
 */
static void
few_losses_by_addresses_blame_no_link(void **state)
{
	static const uint64_t times_s[][2] = { { 22, 45 }, { 27, 51 }, { 39, 60 }, { 35, 80 }, { 32, 67 }, { 25, 87 } };

	const uint32_t times = unit_wide(2, sizeof(times_s) / sizeof(*times_s), "times at which losses by addresses begin");

	(void)state;
	for (size_t i = 0; i < times; i++) {
		struct verdict *v;
		struct rig rig;

		lose_pairs(&rig, times_s[i][0] * S, times_s[i][1] * S);
		v = rig_diagnose(&rig);
		ASSERT_FINDINGS(v, "switch-problem s1");
		verdict_destroy(v);
	}
}

/* A link that loses some, or everything from time to time, is named in the period in which that begins. */
static void
losses_of_a_link_do_not_wait(void **state)
{
	static const struct {
		double loss;
		uint64_t start_ps, on_ps, off_ps; /* off_ps 0: it lasts */
	} cases[] = {
		{ 0.04, 20 * S, 0, 0 }, { 0.3, 30 * S, 0, 0 }, { 1, 22 * S, S, 3 * S }, { 1, 21 * S, 2 * S, 60 * S }
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct verdict *v;
		struct rig rig;

		rig_init(&rig, 60 * S);
		rig.gap_ps = S / 5;
		for (uint32_t k = 0; k < (cases[i].off_ps != 0 ? 4 : 1); k++) {
			rig_link(&rig, 1, RIG_SPINE(1), cases[i].loss);
			rig.links[k].start_ps = cases[i].start_ps + k * (cases[i].on_ps + cases[i].off_ps);
			rig.links[k].end_ps = cases[i].on_ps != 0 ? rig.links[k].start_ps + cases[i].on_ps : 0;
		}
		v = rig_diagnose(&rig);
		ASSERT_FINDINGS(v, "switch-problem l1:5");
		assert_int_equal(rig_own(v)->problems[0].first_period, 1);
		assert_true(v->findings[0].confidence > 0.9);
		verdict_destroy(v);
	}
}

/* With nothing to wait for the switch is named beside its links that would do as well, each once, and none for sure. */
static void
at_the_streams_end_the_switch_is_among_them(void **state)
{
	static const uint64_t times_s[][2] = { { 22, 30 }, { 27, 36 }, { 32, 42 } };

	(void)state;
	for (size_t i = 0; i < sizeof(times_s) / sizeof(*times_s); i++) {
		const struct pingmesh_problem *problem;
		struct verdict *v;
		struct rig rig;

		lose_pairs(&rig, times_s[i][0] * S, times_s[i][1] * S);
		v = rig_diagnose(&rig);
		assert_int_equal(v->nfindings, 1);
		problem = &rig_own(v)->problems[0];
		assert_int_equal(problem->or_node, RIG_SPINE(1));
		assert_int_equal(problem->nports, 2);
		assert_int_equal(problem->alike, 3);
		assert_true(problem->confidence < 0.34);
		assert_non_null(strstr(v->findings[0].root, " or s1"));
		verdict_destroy(v);
	}
}

/*
 * Of pairs that one spine loses from the middle of a period on. By some ways none is lost, and none comes any more:
 * their probes are lost on the way there, so that no ACK returns by that spine. What they showed before says nothing
 * for it.
 */
static void
what_was_well_before_clears_no_host(void **state)
{
	struct verdict *v;
	struct rig rig;

	const uint32_t times = unit_wide(2, 6, "times from which on pairs are lost");

	(void)state;
	for (uint64_t start_ps = 22 * S, i = 0; i < times; start_ps += 10 * S / (times - 1), i++) {
		lose_pairs(&rig, start_ps, 80 * S);
		v = rig_diagnose(&rig);
		ASSERT_FINDINGS(v, "switch-problem s1");
		verdict_destroy(v);
	}
}

/*
 * An agent starts again, of whose pairs a spine loses one: its responder has never heard the new one, whichever of
 * three hosts it is.
 */
static void
assert_spine_is_reported(uint32_t hosts, uint64_t loss_ps, uint64_t restart_ps, uint64_t end_ps)
{
	struct verdict *v;
	struct rig rig;

	for (uint32_t host = 0; host < hosts; host++) {
		rig_init(&rig, end_ps);
		rig.gap_ps = S / 5;
		rig.all_received = true;
		for (uint32_t i = 0; i < RIG_HOLES / 2; i++) {
			rig.holes[2 * i] = (struct rig_hole){ RIG_SPINE(1), 3 + i, 1 + i, loss_ps };
			rig.holes[2 * i + 1] = (struct rig_hole){ RIG_SPINE(1), i, 5 + i, loss_ps };
		}
		rig.hosts[host].restart_ps = restart_ps;
		v = rig_diagnose(&rig);
		ASSERT_FINDINGS(v, "switch-problem s1");
		verdict_destroy(v);
	}
}

/*
 * Nobody knows which way loses the new agent's probes. They are lost by the spine that loses pairs, and not by the
 * other one, where their ACKs would return.
 */
static void
what_no_host_received_is_lost_where_is_known(void **state)
{
	(void)state;
	assert_spine_is_reported(unit_wide(1, 3, "hosts whose agent starts again after the loss"), 22 * S, 45 * S, 120 * S);
}

/*
 * The same where the loss began in the restart's own period: that all was well before it does not speak for these
 * tuples.
 */
static void
what_was_well_before_the_restart_is_silent_too(void **state)
{
	const uint32_t hosts = unit_wide(1, 3, "hosts whose agent starts again in the loss's period");

	(void)state;
	assert_spine_is_reported(hosts, 25 * S, 26 * S, 100 * S);
	assert_spine_is_reported(hosts, 25 * S, 26 * S, 72 * S);
}

/* An RNIC's link that was named, and lost little since: whatever else could have lost that, it is that one again. */
static void
a_known_place_is_no_other(void **state)
{
	struct verdict *v;
	struct rig rig;

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		rig_init(&rig, 100 * S);
		rig_link(&rig, RIG_HOST(7), 2, 0.06);
		rig.links[0].end_ps = 60 * S;
		rig_link(&rig, RIG_HOST(7), 2, 1); /* of a second its probes to two leaves, which go by the same spine */
		rig.links[1].start_ps = (90 + i) * S + 70 * PS_PER_MS;
		rig.links[1].end_ps = rig.links[1].start_ps + 6 * PS_PER_MS;
		v = rig_diagnose(&rig);
		ASSERT_FINDINGS(v, "rnic-problem h7:1");
		verdict_destroy(v);
	}
}

UNIT_TEST(pingmesh_wait)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_begins_before_a_period_ends_is_placed_with_the_next),
		cmocka_unit_test(at_the_streams_end_all_places_are_named),
		cmocka_unit_test(little_that_is_lost_waits_for_three_periods),
		cmocka_unit_test(addresses_are_distinguished_from_links),
		cmocka_unit_test(few_losses_by_addresses_blame_no_link),
		cmocka_unit_test(losses_of_a_link_do_not_wait),
		cmocka_unit_test(at_the_streams_end_the_switch_is_among_them),
		cmocka_unit_test(what_was_well_before_clears_no_host),
		cmocka_unit_test(what_no_host_received_is_lost_where_is_known),
		cmocka_unit_test(what_was_well_before_the_restart_is_silent_too),
		cmocka_unit_test(a_known_place_is_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
