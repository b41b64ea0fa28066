/* SPDX-License-Identifier: BSD-3-Clause */
/* R-Pingmesh's analyzer: high RTT, what problems mean to services, and that the order of results means nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/diag/pingmesh_rig.h"

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

/* Two congested links at once: what crosses a switch of the one may have met the other on its way back, and makes no bad switch. */
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

/* Most probes meet a queue, from the first to the last, and some do not: neither the tuple's own median nor its least RTT tells. */
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
high_rtts_of_kernels_are_not_told(void **state)
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_congested_links_make_no_slow_switch),
		cmocka_unit_test(a_queue_that_never_goes_is_high),
		cmocka_unit_test(high_rtts_are_placed),
		cmocka_unit_test(high_rtts_of_kernels_are_not_told),
		cmocka_unit_test(the_order_of_results_is_nothing),
		cmocka_unit_test(problems_matter_as_services_suffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
