/* SPDX-License-Identifier: BSD-3-Clause */
/* R-Pingmesh's analyzer: hosts that are starved all at once, so that nobody is left who could witness. */
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

/* Nothing is answered in time for two periods. @param late_us  what agents report of their own timers */
static struct verdict *
starve_all(struct rig *rig, uint32_t hosts, uint32_t late_us)
{
	rig_init(rig, 100 * S);
	for (uint32_t i = 0; i < hosts; i++)
		rig->hosts[i] =
			(struct rig_host){ .slow_ps = 22 * S, .fast_ps = 60 * S, .delay_ps = 1000 * S, .late_us = late_us };
	return rig_diagnose(rig);
}

/*
 * An agent that is in time for its own timers has its processor: what takes long is its RNIC's queue, and no overload.
 * So is one whose wait, long as it is beside the delay, is no longer than what is usual.
 */
static void
an_agent_in_time_is_not_starved(void **state)
{
	static const struct {
		uint32_t late_us;
		uint64_t delay_ps;
		bool in_time, named;
	} cases[] = {
		{ 0, 100 * PS_PER_MS, true, false },     { 5, 100 * PS_PER_MS, false, false },
		{ 90000, 100 * PS_PER_MS, false, true }, { 0, 100 * PS_PER_MS, false, true },
		{ 20, 40 * PS_PER_US, false, false },
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct verdict *v;
		struct rig rig;

		rig_init(&rig, 60 * S);
		rig.hosts[7] = (struct rig_host){ .slow_ps = 20 * S,
						  .fast_ps = 40 * S,
						  .delay_ps = cases[i].delay_ps,
						  .late_us = cases[i].late_us,
						  .in_time = cases[i].in_time };
		v = rig_diagnose(&rig);
		if (cases[i].named)
			ASSERT_FINDINGS(v, "cpu-overload h7");
		else
			assert_int_equal(v->nfindings, 0);
		verdict_destroy(v);
	}
}

/* Hosts that need no time: a probe that waits for a data frame on its RNIC's line waits for no processor. */
static void
a_frame_on_the_line_is_no_overload(void **state)
{
	double frame_ns = 8e9 * (1348 + 142) / (double)RECORDS_RATE_BPS;

	(void)state;
	for (int overloaded = 0; overloaded < 2; overloaded++) {
		struct verdict *v;
		struct rig rig;

		rig_init(&rig, 60 * S);
		rig.instant = true;
		rig.hosts[7] = (struct rig_host){ .slow_ps = 20 * S,
						  .fast_ps = 40 * S,
						  .delay_ps = (uint64_t)(frame_ns * 1000 * (overloaded != 0 ? 4 : 1)),
						  .late_us = 1 };
		v = rig_diagnose(&rig);
		if (overloaded != 0)
			ASSERT_FINDINGS(v, "cpu-overload h7");
		else
			assert_int_equal(v->nfindings, 0);
		verdict_destroy(v);
	}
}

static void
agents_report_that_all_hosts_are_starved(void **state)
{
	struct verdict *v;
	struct rig rig;

	(void)state;
	v = starve_all(&rig, RIG_HOSTS, 2000000);
	assert_int_equal(v->nfindings, RIG_HOSTS);
	for (uint32_t i = 0; i < RIG_HOSTS; i++) {
		const struct pingmesh_problem *problem = &rig_own(v)->problems[i];

		assert_int_equal(problem->kind, PINGMESH_PROBLEM_CPU);
		assert_true((problem->bases & 1u << PINGMESH_BY_AGENT) != 0);
		assert_true(problem->start_ps >= 22 * S && problem->end_ps < 61 * S);
		assert_int_equal(problem->first_period, 1);
	}
	assert_int_equal(rig_cause(v, PINGMESH_RNIC), 0);
	assert_int_equal(rig_cause(v, PINGMESH_SWITCH), 0);
	verdict_destroy(v);
}

/* An agent that is late by less than a timeout has not made any. */
static void
an_agent_that_is_a_little_late_is_not_blamed(void **state)
{
	struct verdict *v;
	struct rig rig;

	(void)state;
	rig_init(&rig, 100 * S);
	rig_link(&rig, 1, RIG_SPINE(1), 0.2);
	rig.hosts[4] = (struct rig_host){ .slow_ps = 1, .fast_ps = 100 * S, .late_us = 499999 };
	v = rig_diagnose(&rig);
	ASSERT_FINDINGS(v, "switch-problem l1:5");
	verdict_destroy(v);

	rig_init(&rig, 100 * S);
	rig_link(&rig, 1, RIG_SPINE(1), 0.2);
	rig.hosts[4] = (struct rig_host){ .slow_ps = 1, .fast_ps = 100 * S, .late_us = 500000 };
	v = rig_diagnose(&rig);
	ASSERT_FINDINGS(v, "switch-problem l1:5", "cpu-overload h4");
	verdict_destroy(v);
}

/*
 * Where timeouts are scaled down to what processors take, all agents wait for their processors as long as a timeout at
 * times: one that waits for twice that is no exception, one that waits for four times that is. Agents that all wait for a
 * timeout as long as real ones are all overloaded.
 */
static void
usual_waits_of_agents_are_no_overload(void **state)
{
	static const struct {
		uint64_t timeout_ps;
		uint32_t usual_us, late_us;
		bool one, all;
	} cases[] = {
		{ 500 * PS_PER_US, 600, 1200, false, false },
		{ 500 * PS_PER_US, 300, 1200, true, false },
		{ 500 * PS_PER_MS, 600000, 1200000, true, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct verdict *v;
		struct rig rig;

		rig_init(&rig, 100 * S);
		rig.timeout_ps = cases[i].timeout_ps;
		for (uint32_t h = 0; h < RIG_HOSTS; h++)
			rig.hosts[h] = (struct rig_host){ .slow_ps = 1,
							  .fast_ps = 100 * S,
							  .late_us = h == 4 ? cases[i].late_us : cases[i].usual_us };
		v = rig_diagnose(&rig);
		if (!cases[i].all && cases[i].one)
			ASSERT_FINDINGS(v, "cpu-overload h4");
		else
			assert_int_equal(v->nfindings, cases[i].all ? RIG_HOSTS : 0);
		verdict_destroy(v);
	}
}

/* An agent that was late once, when everybody answered: the time is when it said so. */
static void
what_no_probe_dates_its_agent_does(void **state)
{
	struct verdict *v;
	struct rig rig;

	(void)state;
	rig_init(&rig, 100 * S);
	rig.hosts[4] = (struct rig_host){ .slow_ps = 44 * S, .fast_ps = 46 * S, .late_us = 600000 };
	v = rig_diagnose(&rig);
	ASSERT_FINDINGS(v, "cpu-overload h4");
	assert_int_equal(v->findings[0].start_ps, 45 * S - 600 * PS_PER_MS);
	assert_int_equal(v->findings[0].end_ps, 45 * S);
	verdict_destroy(v);
}

/*
 * Two RNICs alone at their ToR, whose only witnesses they are: what a starved one of them made time out is no problem
 * of the other.
 */
static void
who_probes_a_starved_host_is_not_blamed(void **state)
{
	struct verdict *v;
	struct rig rig;

	(void)state;
	for (uint64_t fast_ps = 24 * S; fast_ps <= 36 * S; fast_ps += 3 * S) {
		rig_init(&rig, 60 * S);
		rig.hosts[5].absent = true;
		rig.hosts[3] = (struct rig_host){ .slow_ps = 21 * S, .fast_ps = fast_ps, .delay_ps = 2 * S };
		v = rig_diagnose(&rig);
		ASSERT_FINDINGS(v, "cpu-overload h3");
		verdict_destroy(v);
	}
}

/* An RNIC that loses is reported beside a starved host that probes it, by what the third one of their ToR says. */
static void
a_bad_rnic_beside_a_starved_host_is_reported(void **state)
{
	struct verdict *v;
	struct rig rig;

	(void)state;
	for (uint32_t bad = 3; bad <= 4; bad++) {
		rig_init(&rig, 60 * S);
		rig.nic_loss[bad] = 0.2;
		rig.hosts[5] = (struct rig_host){ .slow_ps = 20 * S, .fast_ps = 59 * S, .delay_ps = 600 * PS_PER_MS };
		v = rig_diagnose(&rig);
		ASSERT_FINDINGS(v, "cpu-overload h5", bad == 3 ? "rnic-problem h3:1" : "rnic-problem h4:1");
		verdict_destroy(v);
	}
}

/* On shared CPUs answers are late by a part of the timeout: that makes no third of the probes time out. */
static void
kernels_that_are_a_little_late_hide_no_rnic(void **state)
{
	struct verdict *v;
	struct rig rig;

	(void)state;
	rig_init(&rig, 60 * S);
	rig.software_times = true;
	rig.nic_loss[4] = 0.2;
	rig.hosts[4] = (struct rig_host){ .slow_ps = 1, .fast_ps = 60 * S, .delay_ps = 40 * PS_PER_MS };
	v = rig_diagnose(&rig);
	ASSERT_FINDINGS(v, "cpu-overload h4", "rnic-problem h4:1");
	assert_int_equal(rig_cause(v, PINGMESH_CPU), 0);
	verdict_destroy(v);
}

/* A CPU that seems overloaded while the machine lets its host's processes wait: as sure as that leaves it. */
static void
a_host_that_waits_for_the_machine_is_less_sure(void **state)
{
	static const struct {
		uint64_t from_ps, to_ps, late_ps; /* that its processes waited, as reported; to_ps 0: nothing is */
		bool measured;
		double least, most; /* confidence */
	} cases[] = {
		{ 0, 0, 0, false, 0.9, 1 },
		{ 20 * S, 45 * S, 0, true, 0.9, 1 },        /* it had processors */
		{ 20 * S, 45 * S, 25 * S, true, 0, 0.1 },   /* it had none */
		{ 20 * S, 45 * S, 0, false, 0.4, 0.6 },     /* nobody knows */
		{ 50 * S, 60 * S, 10 * S, true, 0.4, 0.6 }, /* of another time */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct verdict *v;
		struct rig rig;

		rig_init(&rig, 60 * S);
		rig.software_times = true;
		rig.hosts[4] = (struct rig_host){ .slow_ps = 20 * S, .fast_ps = 40 * S, .delay_ps = 600 * PS_PER_MS };
		rig.lateness = (struct rec_lateness){ .kind = REC_LATENESS_HOST,
						      .lcore = REC_NONE,
						      .measured = cases[i].measured,
						      .from_ps = cases[i].from_ps,
						      .to_ps = cases[i].to_ps,
						      .late_ps = cases[i].late_ps };
		v = rig_diagnose(&rig);
		ASSERT_FINDINGS(v, "cpu-overload h4");
		if (v->findings[0].confidence < cases[i].least || v->findings[0].confidence > cases[i].most)
			fail_msg("case %zu: %.3f", i, v->findings[0].confidence);
		verdict_destroy(v);
	}
}

UNIT_TEST(pingmesh_cpu)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_agent_in_time_is_not_starved),
		cmocka_unit_test(a_frame_on_the_line_is_no_overload),
		cmocka_unit_test(agents_report_that_all_hosts_are_starved),
		cmocka_unit_test(an_agent_that_is_a_little_late_is_not_blamed),
		cmocka_unit_test(usual_waits_of_agents_are_no_overload),
		cmocka_unit_test(what_no_probe_dates_its_agent_does),
		cmocka_unit_test(who_probes_a_starved_host_is_not_blamed),
		cmocka_unit_test(a_bad_rnic_beside_a_starved_host_is_reported),
		cmocka_unit_test(kernels_that_are_a_little_late_hide_no_rnic),
		cmocka_unit_test(a_host_that_waits_for_the_machine_is_less_sure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
