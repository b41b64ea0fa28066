/* SPDX-License-Identifier: BSD-3-Clause */
/* R-Pingmesh's analyzer: high RTT, what problems mean to services, and that the order of results means nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/diag/pingmesh_rig.h"
#include "tests/unit/unit.h"

#define S PS_PER_S

/* A tuple's persistent delay, and a link that is congested for a while. */
static void
high_rtts_are_placed(void **state)
{
	struct verdict *v;
	struct rig rig;

	(void)state;
	rig_init(&rig, 60 * S);
	rig.links[rig.nlinks++] = (struct rig_link){ .from = 1, .to = RIG_SPINE(1), .delay_ps = 20 * PS_PER_US };
	v = rig_diagnose(&rig);
	ASSERT_FINDINGS(v, "high-rtt l1:5");
	assert_int_equal(rig_own(v)->problems[0].periods, 3);
	assert_true(rig_own(v)->problems[0].base_ps < 20 * PS_PER_US && rig_own(v)->problems[0].high_ps > 35 * PS_PER_US);
	assert_int_equal(rig_cause(v, PINGMESH_ANSWERED), rig_own(v)->networks[PINGMESH_CLUSTER].probes);
	verdict_destroy(v);

	rig_init(&rig, 100 * S);
	rig.links[rig.nlinks++] = (struct rig_link){
		.from = RIG_SPINE(0), .to = 2, .delay_ps = 200 * PS_PER_US, .start_ps = 40 * S, .end_ps = 58 * S
	};
	v = rig_diagnose(&rig);
	ASSERT_FINDINGS(v, "high-rtt s0:3");
	assert_int_equal(rig_own(v)->problems[0].first_period, 2);
	assert_int_equal(rig_own(v)->problems[0].periods, 1);
	verdict_destroy(v);

	rig_init(&rig, 60 * S); /* incast: the ToR's port to a host */
	rig.links[rig.nlinks++] = (struct rig_link){
		.from = 2, .to = RIG_HOST(6), .delay_ps = 100 * PS_PER_US, .start_ps = 20 * S, .end_ps = 40 * S
	};
	v = rig_diagnose(&rig);
	ASSERT_FINDINGS(v, "high-rtt l2:1");
	verdict_destroy(v);
}

/*
 * Two congested links at once: what crosses a switch of the one may have met the other on its way back, and makes no
 * bad switch.
 */
static void
two_congested_links_make_no_slow_switch(void **state)
{
	static const uint32_t seconds[] = { 42, 43, 44, 46 };

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		struct verdict *v;
		struct rig rig;

		rig_init(&rig, 100 * S);
		rig.links[rig.nlinks++] =
			(struct rig_link){ .from = RIG_SPINE(1), .to = 0, .delay_ps = 60 * PS_PER_US, .start_ps = 20 * S };
		rig.links[rig.nlinks++] = (struct rig_link){
			.from = 2, .to = RIG_SPINE(0), .delay_ps = 100 * PS_PER_US, .start_ps = seconds[i] * S
		};
		v = rig_diagnose(&rig);
		ASSERT_FINDINGS(v, "high-rtt s1:1", "high-rtt l2:4");
		verdict_destroy(v);
	}
}

/*
 * Most probes meet a queue, from the first to the last, and some do not: neither the tuple's own median nor its least
 * RTT shows it.
 */
static void
a_queue_that_never_goes_is_high(void **state)
{
	struct rig rig;
	struct verdict *v;

	(void)state;
	rig_init(&rig, 100 * S);
	rig.links[rig.nlinks++] =
		(struct rig_link){ .from = 1, .to = RIG_SPINE(1), .delay_ps = 60 * PS_PER_US, .in_time = 0.4 };
	v = rig_diagnose(&rig);
	ASSERT_FINDINGS(v, "high-rtt l1:5");
	assert_int_equal(rig_own(v)->problems[0].first_period, 0);
	assert_int_equal(rig_own(v)->problems[0].periods, 5);
	assert_false(rig_own(v)->problems[0].both);
	verdict_destroy(v);
}

/* Where kernels take the times, milliseconds are theirs. */
static void
high_rtts_of_kernels_are_not_reported(void **state)
{
	struct verdict *v;
	struct rig rig;

	(void)state;
	rig_init(&rig, 100 * S);
	rig.software_times = true;
	rig.links[rig.nlinks++] = (struct rig_link){
		.from = RIG_SPINE(0), .to = 2, .delay_ps = 5 * PS_PER_MS, .start_ps = 40 * S, .end_ps = 58 * S
	};
	v = rig_diagnose(&rig);
	assert_int_equal(v->nfindings, 0);
	assert_true(rig_own(v)->networks[PINGMESH_CLUSTER].probes > 0);
	verdict_destroy(v);
}

/* Results in any order give the same. */
static void
the_order_of_results_is_nothing(void **state)
{
	const struct pingmesh *own[2];
	struct verdict *v[2];
	struct rig rig;

	(void)state;
	for (int i = 0; i < 2; i++) {
		rig_init(&rig, 60 * S);
		rig.links[rig.nlinks++] = (struct rig_link){ .from = 0, .to = RIG_SPINE(0), .loss = 1, .start_ps = 21 * S };
		rig.hosts[8] = (struct rig_host){ .slow_ps = 20 * S, .fast_ps = 40 * S, .deaf_first = true };
		rig.backwards = i == 1;
		v[i] = rig_diagnose(&rig);
		own[i] = rig_own(v[i]);
		ASSERT_FINDINGS(v[i], "switch-problem l0:4", "rnic-problem h8:1");
	}
	for (uint32_t i = 0; i < own[0]->nproblems; i++) {
		assert_int_equal(own[0]->problems[i].bad, own[1]->problems[i].bad);
		assert_int_equal(own[0]->problems[i].start_ps, own[1]->problems[i].start_ps);
		assert_true(own[0]->problems[i].confidence == own[1]->problems[i].confidence);
	}
	assert_memory_equal(own[0]->networks[0].causes, own[1]->networks[0].causes, sizeof(own[0]->networks[0].causes));
	verdict_destroy(v[0]);
	verdict_destroy(v[1]);
}

/* P0: of the service's network, and it suffers; P1: it does not; P2: elsewhere. And the paper's "innocent". */
static void
problems_matter_as_services_suffer(void **state)
{
	static const struct {
		uint32_t from, to; /* what loses packets; both 0: nothing does */
		uint64_t longer_ps;
		uint32_t priority;
		bool innocent;
	} cases[] = {
		{ 0, RIG_SPINE(1), 3 * S, 0, false }, { 0, RIG_SPINE(1), 0, 1, false }, { 1, RIG_SPINE(0), 0, 2, false },
		{ 1, RIG_SPINE(0), 3 * S, 2, true },  { 0, 0, 3 * S, 9, true },         { 0, 0, 0, 9, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct pingmesh *own;
		struct verdict *v;
		struct rig rig;

		rig_init(&rig, 60 * S);
		rig.service[0] = 0;
		rig.service[1] = 8; /* by spine 1, and back by spine 0 */
		rig.iterations = 5;
		for (uint32_t k = 0; k < rig.iterations; k++)
			rig.iteration_ps[k] = 10 * S + (k == 3 ? cases[i].longer_ps : 0);
		if (cases[i].to != 0)
			rig.links[rig.nlinks++] = (struct rig_link){
				.from = cases[i].from, .to = cases[i].to, .loss = 0.5, .start_ps = 32 * S, .end_ps = 40 * S
			};
		v = rig_diagnose(&rig);
		own = rig_own(v);
		assert_int_equal(own->nproblems, cases[i].to != 0);
		if (own->nproblems != 0)
			assert_int_equal(own->problems[0].priority, cases[i].priority);
		assert_int_equal(own->innocent, cases[i].innocent);
		assert_true(own->metric.known);
		assert_int_equal(own->metric.iterations, 5);
		assert_int_equal(own->metric.degraded, cases[i].longer_ps != 0);
		assert_int_equal(own->networks[PINGMESH_SERVICE].causes[PINGMESH_SWITCH] != 0,
				 cases[i].from == 0 && cases[i].to != 0);
		assert_int_equal(own->nservers, 2);
		assert_int_equal(own->servers[0].sla.probes, own->networks[PINGMESH_SERVICE].probes);
		if (i < 2)
			assert_int_equal(own->problems[0].networks, 3); /* both see it, each by itself */
		verdict_destroy(v);
	}
}

/* @return what a problem is to a service, NULL: nothing */
static const struct pingmesh_impact *
impact_of(const struct pingmesh *own, const struct pingmesh_problem *problem, uint32_t service)
{
	for (uint32_t i = problem->first_impact; i < problem->first_impact + problem->nimpacts; i++)
		if (own->impacts[i].service == service)
			return &own->impacts[i];
	return NULL;
}

/*
 * The job crosses l0 to s1, which loses, and hardly feels it; the tenant, elsewhere, has a starved CPU. Each has its
 * own problem.
 */
static void
problems_are_of_the_services_that_cross_them(void **state)
{
	const struct pingmesh_problem *cpu, *link;
	const struct pingmesh_impact *impact;
	const struct pingmesh *own;
	struct verdict *v;
	struct rig rig;

	(void)state;
	rig_init(&rig, 60 * S);
	rig.service[0] = 0;
	rig.service[1] = 3; /* by spine 1, and back by spine 0 */
	rig.tenant[0] = 4;
	rig.tenant[1] = 7;
	rig.iterations = 5;
	for (uint32_t k = 0; k < rig.iterations; k++) {
		rig.iteration_ps[k] = 10 * S;
		rig.tenant_ps[k] = k >= 2 ? 15 * S : 6 * S;
	}
	rig.links[rig.nlinks++] =
		(struct rig_link){ .from = 0, .to = RIG_SPINE(1), .loss = 0.5, .start_ps = 21 * S, .end_ps = 38 * S };
	rig.hosts[7] = (struct rig_host){ .slow_ps = 20 * S, .fast_ps = 40 * S, .delay_ps = 400 * PS_PER_MS };
	v = rig_diagnose(&rig);
	own = rig_own(v);
	ASSERT_FINDINGS(v, "cpu-overload h7", "switch-problem l0:5");
	cpu = &own->problems[0];
	link = &own->problems[1];
	assert_int_equal(cpu->kind, PINGMESH_PROBLEM_CPU);
	assert_int_equal(cpu->priority, 0);
	assert_null(impact_of(own, cpu, 0));
	impact = impact_of(own, cpu, 1);
	assert_non_null(impact);
	assert_true(impact->priority == 0 && impact->degradation > 1.4);
	assert_int_equal(link->priority, 1);
	assert_null(impact_of(own, link, 1));
	impact = impact_of(own, link, 0);
	assert_non_null(impact);
	assert_true(impact->degradation == 0);
	assert_int_equal(impact->nflows, 1);
	assert_string_equal(v->run.flows[impact->flows[0]].name, "h0->h3/49153>4791");
	assert_int_equal(own->nservices, 2);
	assert_true(own->services[0].metric.degraded == 0 && !own->services[0].innocent);
	assert_true(own->services[1].metric.degraded == 3 &&
		    own->services[1].innocent); /* its host is at fault, not its network */
	assert_true(own->innocent);
	assert_true(own->services[0].sla.causes[PINGMESH_SWITCH] > 0);
	assert_int_equal(own->services[1].sla.causes[PINGMESH_SWITCH], 0);
	assert_int_equal(own->services[0].sla.probes + own->services[1].sla.probes, own->networks[PINGMESH_SERVICE].probes);
	verdict_destroy(v);
}

/* Two jobs by one link with a queue (Table 2, #11): it is both of theirs. By another one's link it is not. */
static void
services_that_share_a_queue_are_named(void **state)
{
	(void)state;
	for (uint32_t peer = 6; peer >= 3; peer -= 3) {
		const struct pingmesh *own;
		struct verdict *v;
		struct rig rig;

		rig_init(&rig, 100 * S);
		rig.service[0] = 0;
		rig.service[1] = 3;
		rig.tenant[0] = peer == 6 ? 1 : 4; /* of the same leaf, or of another */
		rig.tenant[1] = peer == 6 ? 6 : 7;
		rig.iterations = 5;
		for (uint32_t k = 0; k < rig.iterations; k++) {
			rig.iteration_ps[k] = k == 3 ? 25 * S : 15 * S;
			rig.tenant_ps[k] = 18 * S;
		}
		rig.links[rig.nlinks++] = (struct rig_link){
			.from = 0, .to = RIG_SPINE(1), .delay_ps = 200 * PS_PER_US, .start_ps = 46 * S, .end_ps = 58 * S
		};
		v = rig_diagnose(&rig);
		own = rig_own(v);
		ASSERT_FINDINGS(v, "high-rtt l0:5");
		assert_int_equal(own->problems[0].priority, 0);
		assert_int_equal(impact_of(own, &own->problems[0], 0)->priority, 0);
		assert_int_equal(own->problems[0].nimpacts, peer == 6 ? 2 : 1);
		if (peer == 6)
			assert_int_equal(impact_of(own, &own->problems[0], 1)->priority, 1);
		assert_true(own->services[0].decided && !own->services[0].innocent);
		verdict_destroy(v);
	}
}

/* Of a service whose connections nobody saw, or traced, no network is called innocent. */
static void
unknown_paths_are_not_innocent(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		const struct pingmesh *own;
		struct verdict *v;
		struct rig rig;

		rig_init(&rig, 60 * S);
		rig.service[0] = 0;
		rig.service[1] = 8;
		rig.iterations = 5;
		rig.unseen = i == 1;
		rig.untraced = i == 2;
		for (uint32_t k = 0; k < rig.iterations; k++)
			rig.iteration_ps[k] = k == 3 ? 13 * S : 10 * S;
		v = rig_diagnose(&rig);
		own = rig_own(v);
		assert_int_equal(own->nproblems, 0);
		assert_int_equal(own->services[0].metric.degraded, 1);
		assert_int_equal(own->services[0].decided, i == 0);
		assert_int_equal(own->services[0].innocent, i == 0);
		assert_int_equal(own->innocent, i == 0);
		verdict_destroy(v);
	}
}

UNIT_TEST(pingmesh_impact)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_congested_links_make_no_slow_switch),
		cmocka_unit_test(a_queue_that_never_goes_is_high),
		cmocka_unit_test(high_rtts_are_placed),
		cmocka_unit_test(high_rtts_of_kernels_are_not_reported),
		cmocka_unit_test(the_order_of_results_is_nothing),
		cmocka_unit_test(problems_matter_as_services_suffer),
		cmocka_unit_test(problems_are_of_the_services_that_cross_them),
		cmocka_unit_test(services_that_share_a_queue_are_named),
		cmocka_unit_test(unknown_paths_are_not_innocent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
