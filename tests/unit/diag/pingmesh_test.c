/* SPDX-License-Identifier: BSD-3-Clause */
/* R-Pingmesh's analyzer: what timeouts are put down to, and where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/diag/pingmesh_rig.h"
#include "tests/unit/unit.h"

#define S PS_PER_S
#define MS PS_PER_MS

static void
a_healthy_network_has_no_problem(void **state)
{
	const struct pingmesh *own;
	struct verdict *v;
	struct rig rig;

	(void)state;
	rig_init(&rig, 60 * S);
	v = rig_diagnose(&rig);
	own = rig_own(v);
	assert_int_equal(v->nfindings, 0);
	assert_int_equal(own->nperiods, 3);
	assert_true(own->periods[0].complete && own->periods[1].complete && !own->periods[2].complete);
	assert_int_equal(own->networks[PINGMESH_SERVICE].probes, 0);
	assert_int_equal(own->networks[PINGMESH_CLUSTER].probes, rig_cause(v, PINGMESH_ANSWERED));
	assert_int_equal(own->networks[PINGMESH_CLUSTER].rtt.count, own->networks[PINGMESH_CLUSTER].probes);
	assert_true(own->networks[PINGMESH_CLUSTER].rtt.ps[3] == 8 * 2.3 * PS_PER_US); /* in both directions of four hops */
	assert_true(own->networks[PINGMESH_CLUSTER].responder.ps[0] > 25 * PS_PER_US &&
		    own->networks[PINGMESH_CLUSTER].responder.ps[0] < 35 * PS_PER_US);
	assert_false(own->innocent || own->metric.known);
	verdict_destroy(v);
}

/* Probes between RNICs of one host, each by its own clock: their constant is taken off, and losses count once. */
static void
one_way_probes_need_no_common_clock(void **state)
{
	for (uint32_t lossy = 0; lossy < 2; lossy++) {
		const struct pingmesh_sla *sla;
		struct verdict *v;
		struct rig rig;

		(void)state;
		rig_init(&rig, 60 * S);
		rig.rails = true;
		rig.nic_loss[9] = lossy * 0.3;
		v = rig_diagnose(&rig);
		sla = &rig_own(v)->networks[PINGMESH_CLUSTER];
		assert_true(sla->one_way.count > 20);
		assert_true(sla->one_way.ps[0] == 2 * 2.3 * PS_PER_US); /* two hops, whatever the clocks */
		assert_true(sla->one_way.ps[3] == 2 * 2.3 * PS_PER_US);
		if (lossy)
			ASSERT_FINDINGS(v, "rnic-problem h8:2");
		else
			assert_int_equal(v->nfindings, 0);
		verdict_destroy(v);
	}
}

/* Where three RNICs share a ToR, half of the probes to each are from or to the bad one. */
static void
an_rnic_is_distinguished_from_those_that_probe_it(void **state)
{
	struct verdict *v;
	struct rig rig;

	(void)state;
	rig_init(&rig, 60 * S);
	rig.nic_loss[1] = 0.3;
	v = rig_diagnose(&rig);
	ASSERT_FINDINGS(v, "rnic-problem h1:1");
	assert_int_equal(rig_own(v)->periods[0].plain_rnics, 3); /* the paper's rule alone */
	assert_int_equal(rig_cause(v, PINGMESH_SWITCH), 0);
	assert_true(rig_cause(v, PINGMESH_RNIC) > 100);
	assert_int_equal(rig_own(v)->problems[0].bases, 1u << PINGMESH_BY_MESH);
	assert_int_equal(rig_own(v)->problems[0].priority, 2);
	assert_int_equal(rig_own(v)->problems[0].found_ps, 25500 * MS);
	assert_true(v->findings[0].confidence > 0.99);
	assert_string_equal(v->run.ports[v->findings[0].root_port].name, "h1:1");
	verdict_destroy(v);
}

/* The load is over, but what had queued up is answered too late for some seconds of the next period. */
static void
the_end_of_an_overload_is_no_rnic_problem(void **state)
{
	struct verdict *v;
	struct rig rig;

	(void)state;
	rig_init(&rig, 60 * S);
	rig.hosts[4] = (struct rig_host){ .slow_ps = 21 * S, .fast_ps = 39 * S, .delay_ps = 600 * MS, .mute_ps = 46 * S };
	v = rig_diagnose(&rig);
	ASSERT_FINDINGS(v, "cpu-overload h4");
	assert_int_equal(rig_cause(v, PINGMESH_RNIC) + rig_cause(v, PINGMESH_SWITCH), 0);
	verdict_destroy(v);
}

/* Less than 10 %: no ToR-mesh says so, but all that is lost goes over its link (footnote 4). */
static void
a_slight_rnic_problem_is_voted_on(void **state)
{
	struct verdict *v;
	struct rig rig;

	(void)state;
	rig_init(&rig, 60 * S);
	rig.nic_loss[7] = 0.02;
	v = rig_diagnose(&rig);
	ASSERT_FINDINGS(v, "rnic-problem h7:1");
	assert_int_equal(rig_own(v)->problems[0].bases, 1u << PINGMESH_BY_VOTES);
	verdict_destroy(v);
}

static void
two_problems_at_once_are_two(void **state)
{
	struct verdict *v;
	struct rig rig;

	(void)state;
	rig_init(&rig, 60 * S);
	rig.nic_loss[4] = 0.5;
	rig_link(&rig, 1, RIG_SPINE(0), 0.25); /* of the same leaf */
	v = rig_diagnose(&rig);
	ASSERT_FINDINGS(v, "rnic-problem h4:1", "switch-problem l1:4");
	verdict_destroy(v);

	rig_init(&rig, 60 * S);
	rig_link(&rig, RIG_SPINE(0), 1, 0.4);
	rig_link(&rig, RIG_SPINE(1), 2, 0.4);
	v = rig_diagnose(&rig);
	ASSERT_FINDINGS(v, "switch-problem s0:2", "switch-problem s1:3");
	verdict_destroy(v);

	rig_init(&rig, 60 * S); /* two RNICs of one ToR: the third is well */
	rig.nic_loss[6] = 0.9;
	rig.nic_loss[7] = 0.4;
	v = rig_diagnose(&rig);
	ASSERT_FINDINGS(v, "rnic-problem h6:1", "rnic-problem h7:1");
	verdict_destroy(v);
}

/* In its period, and for the next minute: then timeouts are anybody's again. */
static void
an_anomalous_rnic_is_suspected_for_another_minute(void **state)
{
	const struct pingmesh *own;
	struct verdict *v;
	struct rig rig;

	(void)state;
	rig_init(&rig, 120 * S);
	rig.links[0] = (struct rig_link){ .from = 0, .to = RIG_HOST(2), .loss = 1, .start_ps = 1, .end_ps = 10 * S };
	rig.links[1] = (struct rig_link){ .from = 0, .to = RIG_HOST(2), .loss = 0.03, .start_ps = 10 * S };
	rig.nlinks = 2;
	v = rig_diagnose(&rig);
	own = rig_own(v);
	ASSERT_FINDINGS(v, "rnic-problem h2:1", "rnic-problem h2:1");
	assert_int_equal(own->problems[0].periods, 1);
	assert_true(own->problems[1].first_period >= 4); /* until then they were the first one's */
	verdict_destroy(v);
}

static void
two_rnics_of_a_tor_need_others_to_decide(void **state)
{
	struct verdict *v;
	struct rig rig;

	(void)state;
	rig_init(&rig, 60 * S);
	rig.hosts[5].absent = true; /* h3 and h4 alone */
	rig.nic_loss[3] = 0.5;
	v = rig_diagnose(&rig);
	ASSERT_FINDINGS(v, "rnic-problem h3:1"); /* by its other probes */
	verdict_destroy(v);

	rig_init(&rig, 60 * S);
	rig.hosts[5].absent = true;
	rig.nic_loss[3] = 0.5;
	rig.mesh_only = true;
	v = rig_diagnose(&rig);
	ASSERT_FINDINGS(v, "rnic-problem h3:1 or h4:1");
	assert_true(v->findings[0].confidence <= 0.5);
	verdict_destroy(v);
}

static void
a_host_that_is_down_is_no_rnic_problem(void **state)
{
	struct verdict *v;
	struct rig rig;

	(void)state;
	rig_init(&rig, 100 * S);
	rig.hosts[4].down_ps = 33 * S; /* in the middle of a period */
	rig.hosts[4].up_ps = 72 * S;
	v = rig_diagnose(&rig);
	ASSERT_FINDINGS(v, "host-down h4");
	assert_int_equal(v->findings[0].start_ps, 30 * S);
	assert_int_equal(v->findings[0].end_ps, 75 * S);
	/* silent since 30 s: at 45.5 s, with all of that period, it was not yet so for as long as makes it down */
	assert_int_equal(rig_own(v)->problems[0].found_ps, 65500 * MS);
	assert_true(rig_cause(v, PINGMESH_HOST_DOWN) > 300);
	assert_int_equal(rig_cause(v, PINGMESH_RNIC) + rig_cause(v, PINGMESH_SWITCH), 0);
	verdict_destroy(v);
}

/* Silent for 45 s: two uploads that the exporter dropped meanwhile leave no silence of more than 20 s, one does. */
static void
dropped_uploads_are_no_silence(void **state)
{
	(void)state;
	for (uint32_t dropped = 1; dropped <= 2; dropped++) {
		struct verdict *v;
		struct rig rig;

		rig_init(&rig, 100 * S);
		rig.hosts[4].down_ps = 33 * S;
		rig.hosts[4].up_ps = 74 * S;
		rig.gap = (struct rec_gap){ .kind = REC_UPLOAD,
					    .dropped = dropped,
					    .dropped_bytes = dropped * sizeof(struct rec_upload),
					    .from_ps = 40 * S,
					    .to_ps = 60 * S };
		v = rig_diagnose(&rig);
		assert_int_equal(v->nfindings, dropped == 1);
		assert_int_equal(rig_own(v)->limits[PINGMESH_LIMIT_UPLOADS] != 0, dropped == 2);
		verdict_destroy(v);
	}
}

/* The stream ends when the host has been silent for 15 s: too early to say. */
static void
the_last_period_does_not_guess(void **state)
{
	struct verdict *v;
	struct rig rig;

	(void)state;
	rig_init(&rig, 55 * S);
	rig.hosts[4].down_ps = 41 * S;
	v = rig_diagnose(&rig);
	assert_int_equal(v->nfindings, 0);
	assert_true(rig_cause(v, PINGMESH_UNDECIDED) > 50);
	verdict_destroy(v);
}

static void
an_agent_that_restarts_is_noise(void **state)
{
	struct verdict *v;
	struct rig rig;

	(void)state;
	rig_init(&rig, 80 * S);
	rig.hosts[0].restart_ps = 27 * S; /* others learn of its new QPN half a minute later */
	v = rig_diagnose(&rig);
	assert_int_equal(v->nfindings, 0);
	assert_true(rig_cause(v, PINGMESH_QPN_RESET) > 200);
	assert_int_equal(rig_cause(v, PINGMESH_RNIC) + rig_cause(v, PINGMESH_SWITCH), 0);
	verdict_destroy(v);
}

/* Its uploads are apart by more than a period, but it registers before that is over: it is no host that is down. */
static void
a_registration_is_a_sign_of_life(void **state)
{
	struct verdict *v;
	struct rig rig;

	(void)state;
	rig_init(&rig, 100 * S);
	rig.hosts[0].down_ps = 26 * S;
	rig.hosts[0].up_ps = 46500 * MS;
	rig.hosts[0].restart_ps = 44 * S;
	v = rig_diagnose(&rig);
	assert_int_equal(v->nfindings, 0);
	assert_true(rig_cause(v, PINGMESH_QPN_RESET) > 200);
	assert_int_equal(rig_cause(v, PINGMESH_HOST_DOWN), 0);
	verdict_destroy(v);
}

/* Traceroutes of an agent's two lives have the same numbers: the later ones are where probes go now. */
static void
traceroutes_of_a_restarted_agent_are_its_own(void **state)
{
	struct verdict *v;
	struct rig rig;

	(void)state;
	rig_init(&rig, 60 * S);
	rig.retraced = true;
	rig_link(&rig, 0, RIG_SPINE(1), 0.2);
	rig.links[0].start_ps = 20 * S;
	v = rig_diagnose(&rig);
	ASSERT_FINDINGS(v, "switch-problem l0:5");
	verdict_destroy(v);
}

static void
an_overloaded_cpu_is_distinguished_from_drops(void **state)
{
	static const struct {
		uint32_t host;
		uint32_t several, delay, both;
	} cases[] = { { 2, 0, 1, 0 }, { 8, 1, 1, 1 } }; /* the latter has two NICs */

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct verdict *v;
		struct rig rig;

		rig_init(&rig, 60 * S);
		rig.hosts[cases[i].host].slow_ps = 20 * S;
		rig.hosts[cases[i].host].fast_ps = 40 * S;
		rig.hosts[cases[i].host].delay_ps = 400 * MS;
		v = rig_diagnose(&rig);
		ASSERT_FINDINGS(v, i == 0 ? "cpu-overload h2" : "cpu-overload h8");
		assert_int_equal(rig_own(v)->cpu.several, cases[i].several);
		assert_int_equal(rig_own(v)->cpu.delay, cases[i].delay);
		assert_int_equal(rig_own(v)->cpu.both, cases[i].both);
		assert_true(rig_cause(v, PINGMESH_CPU) > 20);
		assert_int_equal(rig_cause(v, PINGMESH_RNIC) + rig_cause(v, PINGMESH_SWITCH), 0);
		verdict_destroy(v);
	}
}

/* What is left of it a period later is its own, too: not enough to be slow by itself, and no RNIC's. */
static void
the_end_of_an_overload_is_part_of_it(void **state)
{
	struct verdict *v;
	struct rig rig;

	(void)state;
	rig_init(&rig, 80 * S);
	rig.hosts[2].slow_ps = 20 * S;
	rig.hosts[2].fast_ps = 42 * S;
	rig.hosts[2].delay_ps = 400 * MS;
	v = rig_diagnose(&rig);
	ASSERT_FINDINGS(v, "cpu-overload h2");
	assert_int_equal(rig_own(v)->problems[0].periods, 2);
	verdict_destroy(v);
}

/* Two NICs that drop while processing is as fast as ever are two RNIC problems, whatever is improbable. */
static void
several_rnics_are_no_cpu_that_is_known_to_be_well(void **state)
{
	struct verdict *v;
	struct rig rig;

	(void)state;
	rig_init(&rig, 60 * S);
	rig.nic_loss[8] = rig.nic_loss[9] = 0.5;
	v = rig_diagnose(&rig);
	ASSERT_FINDINGS(v, "rnic-problem h8:1", "rnic-problem h8:2");
	assert_true(rig_own(v)->cpu.several_refuted != 0);
	verdict_destroy(v);

	rig_init(&rig, 60 * S); /* nothing at all returns: nobody knows how fast it was */
	rig.hosts[8] = (struct rig_host){ .slow_ps = 20 * S, .fast_ps = 40 * S, .deaf_first = true, .deaf_second = true };
	v = rig_diagnose(&rig);
	ASSERT_FINDINGS(v, "cpu-overload h8");
	assert_true(v->findings[0].confidence <= 0.5);
	verdict_destroy(v);
}

static void
untraced_paths_are_no_place(void **state)
{
	struct verdict *v;
	struct rig rig;

	(void)state;
	rig_init(&rig, 60 * S);
	rig.untraced = true;
	rig_link(&rig, 0, RIG_SPINE(1), 0.2);
	v = rig_diagnose(&rig);
	ASSERT_FINDINGS(v, "switch-problem an unknown place");
	assert_int_equal(v->findings[0].nports, 0);
	assert_true(v->findings[0].confidence == 0);
	assert_int_equal(rig_own(v)->untraced, rig_cause(v, PINGMESH_SWITCH));
	verdict_destroy(v);

	rig_init(&rig, 60 * S); /* within a ToR there is nothing to trace, and every way begins and ends at an RNIC */
	rig.untraced = true;
	rig.nic_loss[7] = 0.04;
	v = rig_diagnose(&rig);
	ASSERT_FINDINGS(v, "rnic-problem h7:1");
	assert_int_equal(rig_own(v)->untraced, 0);
	verdict_destroy(v);
}

UNIT_TEST(pingmesh)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_healthy_network_has_no_problem),
		cmocka_unit_test(one_way_probes_need_no_common_clock),
		cmocka_unit_test(an_rnic_is_distinguished_from_those_that_probe_it),
		cmocka_unit_test(the_end_of_an_overload_is_no_rnic_problem),
		cmocka_unit_test(a_slight_rnic_problem_is_voted_on),
		cmocka_unit_test(two_problems_at_once_are_two),
		cmocka_unit_test(an_anomalous_rnic_is_suspected_for_another_minute),
		cmocka_unit_test(two_rnics_of_a_tor_need_others_to_decide),
		cmocka_unit_test(a_host_that_is_down_is_no_rnic_problem),
		cmocka_unit_test(dropped_uploads_are_no_silence),
		cmocka_unit_test(the_last_period_does_not_guess),
		cmocka_unit_test(an_agent_that_restarts_is_noise),
		cmocka_unit_test(a_registration_is_a_sign_of_life),
		cmocka_unit_test(traceroutes_of_a_restarted_agent_are_its_own),
		cmocka_unit_test(an_overloaded_cpu_is_distinguished_from_drops),
		cmocka_unit_test(the_end_of_an_overload_is_part_of_it),
		cmocka_unit_test(several_rnics_are_no_cpu_that_is_known_to_be_well),
		cmocka_unit_test(untraced_paths_are_no_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
