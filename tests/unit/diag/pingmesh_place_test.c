/* SPDX-License-Identifier: BSD-3-Clause */
/* R-Pingmesh's analyzer: links and switches, by votes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/diag/pingmesh_rig.h"

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

	rig_init(&rig, 60 * S); /* a ToR that drops everywhere: none of its RNICs is to blame */
	for (uint32_t host = 0; host < 3; host++)
		rig_link(&rig, 0, RIG_HOST(host), 0.4);
	v = rig_diagnose(&rig);
	ASSERT_FINDINGS(v, "switch-problem l0");
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

/* Algorithm 1 has the link that most lost probes cross: of one fault that one, of two at once no more than one a period, in no direction. */
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

/* Between two leaves alone a spine's links are crossed by the same probes: both are named, each by the port that sends the bad way. */
static void
links_in_series_are_named_by_the_same_direction(void **state)
{
	struct verdict *v;
	struct rig rig;

	(void)state;
	rig_init(&rig, 60 * S);
	for (uint32_t host = 6; host < RIG_HOSTS; host++)
		rig.hosts[host].absent = true;
	rig.all_heard = true;
	rig_link(&rig, RIG_SPINE(1), 1, 0.3);
	rig_link(&rig, 1, RIG_SPINE(1), 0.02);
	v = rig_diagnose(&rig);
	ASSERT_FINDINGS(v, "switch-problem l0:5 or s1:2");
	verdict_destroy(v);
}

/* @return how many links are as likely; forth: what is lost was, else its ACKs */
static uint32_t
links_of_one_tuple(bool forth, bool heard, bool restarted)
{
	struct verdict *v;
	struct rig rig;
	uint32_t alike, other = (uint32_t)RIG_SPINE(forth ? 0 : 1);

	rig_init(&rig, 60 * S);
	rig.mesh_only = true; /* but for the service's one tuple: by spine 1, and back by spine 0 */
	rig.service[1] = 8;
	rig.heard = heard;
	rig.hosts[0].restart_ps = restarted ? 25 * S : 0; /* the prober's */
	if (forth)
		rig_link(&rig, RIG_SPINE(1), 2, 0.3);
	else
		rig_link(&rig, 2, RIG_SPINE(0), 0.3);
	v = rig_diagnose(&rig);
	assert_int_equal(v->nfindings, 1);
	assert_int_equal(rig_own(v)->problems[0].kind, PINGMESH_PROBLEM_SWITCH);
	for (uint32_t i = 0; heard && i < rig_own(v)->problems[0].nports; i++) {
		const struct run_port *port = &v->run.ports[rig_own(v)->problems[0].ports[i]];

		assert_true(port->node != other && port->peer_node != other);
	}
	alike = rig_own(v)->problems[0].alike;
	verdict_destroy(v);
	return alike;
}

static void
responders_tell_which_way_lost_it(void **state)
{
	(void)state;
	for (uint32_t forth = 0; forth < 2; forth++)
		for (uint32_t restarted = 0; restarted < 2; restarted++)
			assert_true(links_of_one_tuple(forth, true, restarted) <
				    links_of_one_tuple(forth, false, restarted));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_above_tors_are_placed_by_direction),
		cmocka_unit_test(a_whole_switch_is_named),
		cmocka_unit_test(a_switch_that_loses_by_addresses_is_named),
		cmocka_unit_test(a_switch_that_loses_for_hosts_of_two_leaves_is_named_alone),
		cmocka_unit_test(two_bad_links_make_no_bad_switch),
		cmocka_unit_test(the_papers_algorithm_finds_one_place_a_period),
		cmocka_unit_test(links_in_series_are_named_by_the_same_direction),
		cmocka_unit_test(responders_tell_which_way_lost_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
