/* SPDX-License-Identifier: BSD-3-Clause */
/* FlowPulse in three tiers: what edges and aggregations miss, together, to links. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/wire/ending.h"
#include "common/wire/record.h"
#include "diag/flowpulse/section.h"
#include "diag/registry.h"
#include "tests/unit/diag/records.h"
#include "tests/unit/unit.h"

/*
 * Two pods of two edges and two aggregations each. An edge has its host at port 0 and its pod's aggregations at 1 and 2; an
 * aggregation its edges at 0 and 1 and its cores at 2 and 3; a core the pods at 0 and 1.
 */
#define PODS 2
#define HALF 2
#define EDGE(pod, i) (HALF * (pod) + (i))
#define AGGREGATION(pod, i) (4 + HALF * (pod) + (i))
#define CORE(i) (8 + (i))
#define HOST(i) (12 + (i))
#define NODES 16

static void
put_network(struct records *r)
{
	static const char *const names[NODES] = { "e0", "e1", "e2", "e3", "a0", "a1", "a2", "a3",
						  "c0", "c1", "c2", "c3", "h0", "h1", "h2", "h3" };
	const struct rec_monitor monitor = { .threshold_ppm = 10000, .tolerance_ppm = 10000, .learn = 1 };
	struct rec_monitor put = monitor;

	records_init(r);
	records_run(r);
	for (uint32_t i = 0; i < NODES; i++)
		records_node(r, i, names[i], i >= HOST(0),
			     i >= HOST(0)             ? 1
			     : i >= CORE(0)           ? 2
			     : i >= AGGREGATION(0, 0) ? 4
						      : 3);
	for (uint32_t pod = 0; pod < PODS; pod++)
		for (uint16_t i = 0; i < HALF; i++) {
			records_link(r, EDGE(pod, i), 0, false, HOST(EDGE(pod, i)), 0, true);
			for (uint16_t k = 0; k < HALF; k++) {
				records_link(r, EDGE(pod, i), 1 + k, false, AGGREGATION(pod, k), i, false);
				records_link(r, AGGREGATION(pod, i), 2 + k, false, CORE(HALF * i + k), (uint16_t)pod,
					     false);
			}
		}
	RECORDS_PUT(r, put, REC_MONITOR, REC_NONE, 0);
}

static void
put_alarm(struct records *r, uint32_t node, uint16_t port, uint32_t place, uint32_t sender, uint32_t drop_ppm,
	  uint32_t iteration)
{
	uint64_t expected = 10000000, got = expected - expected * drop_ppm / REC_PPM;
	struct rec_volume_alarm alarm = { .port = port,
					  .place = (uint16_t)place,
					  .sender = sender,
					  .iteration = iteration,
					  .pooled = 1,
					  .predicted = expected,
					  .seen = got,
					  .expected = expected,
					  .got = got,
					  .packets = got / 1000,
					  .drop_ppm = drop_ppm,
					  .low_ppm = drop_ppm * 9 / 10,
					  .high_ppm = drop_ppm * 11 / 10,
					  .dispersion_ppm = 10000,
					  .noise = REC_NOISE_LEARNED };

	RECORDS_PUT(r, alarm, REC_VOLUME_ALARM, node, (iteration + 1) * PS_PER_MS);
}

/* @param alarming  switches that had an alarm in so many iterations, a bit each; silent: that say nothing at all */
static struct verdict *
diagnose(struct records *r, uint32_t alarming, uint32_t iterations, uint32_t silent)
{
	struct verdict *v = NULL;
	struct err err = { 0 };
	struct evidence ev;

	for (uint32_t i = 0; i < CORE(0); i++) {
		struct rec_monitored sum = {
			.ports = 2, .senders = 2, .compared = 2, .alarms = (alarming >> i & 1) * iterations
		};

		if ((silent >> i & 1) == 0)
			RECORDS_PUT(r, sum, REC_MONITORED, i, 9 * PS_PER_MS);
	}
	records_end(r, REC_END_COMPLETE, 10 * PS_PER_MS);
	records_evidence(r, &ev);
	if (registry_diagnose(&ev, &v, &err) != 0)
		fail_msg("%s", err.text);
	evidence_fini(&ev);
	records_report(v);
	records_shake(r);
	records_fini(r);
	return v;
}

static const struct flowpulse *
own_of(const struct verdict *v)
{
	assert_non_null(verdict_section(v, FLOWPULSE_NAME));
	return verdict_section(v, FLOWPULSE_NAME)->own;
}

/* An edge misses a sender of another pod. Its aggregation misses nothing: it is the sender's own link. */
static void
aggregations_without_alarm_clear_the_core(void **state)
{
	static const struct {
		uint32_t alarming, silent;
		bool flawed;
		const char *root;
	} cases[] = {
		{ 1 << EDGE(1, 0), 0, false, "e0:3" },
		{ 1 << EDGE(1, 0), 1 << AGGREGATION(1, 1), false, "e0 to a3" },     /* its monitor says nothing */
		{ 1 << EDGE(1, 0) | 1 << AGGREGATION(1, 1), 0, false, "e0 to a3" }, /* its alarm was lost */
		{ 1 << EDGE(1, 0), 0, true, "e0 to a3" }, /* it did not compare the sender's pod */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rec_volume_flaw flaw = { .sender = AGGREGATION(0, 0), .flaw = REC_FLAW_UNEVEN };
		struct records r;
		struct verdict *v;

		put_network(&r);
		put_alarm(&r, EDGE(1, 0), 2, REC_LOSS_REMOTE, EDGE(0, 0), 20000, 0);
		put_alarm(&r, EDGE(1, 1), 2, REC_LOSS_REMOTE, EDGE(0, 0), 20000, 0); /* another says so: no fleeting one */
		if (cases[i].flawed)
			RECORDS_PUT(&r, flaw, REC_VOLUME_FLAW, AGGREGATION(1, 1), PS_PER_MS);
		v = diagnose(&r, cases[i].alarming | 1 << EDGE(1, 1), 1, cases[i].silent);
		assert_int_equal(v->nfindings, 1);
		assert_string_equal(v->findings[0].root, cases[i].root);
		assert_int_equal(own_of(v)->faults[0].links[0].is_path, i != 0);
		assert_int_equal(own_of(v)->faults[0].links[0].port == RUN_NONE, i != 0);
		assert_int_equal(own_of(v)->faults[0].alarms, 2);
		verdict_destroy(v);
	}
}

/* What an aggregation misses its edges miss, too, in part: one fault, and its rate is what the aggregation saw. */
static void
an_aggregations_alarm_accounts_for_its_edges(void **state)
{
	static const struct {
		uint32_t place, sender; /* of the aggregation's alarm */
		const char *root;
	} cases[] = {
		{ REC_LOSS_LOCAL, REC_NONE, "c2:2" },
		{ REC_LOSS_REMOTE, AGGREGATION(0, 0), "a1:3" }, /* that stands for its pod; a1 is the one at c2 */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct records r;
		struct verdict *v;
		const struct flowpulse_fault *fault;

		put_network(&r);
		for (uint32_t iteration = 0; iteration < 2; iteration++) {
			put_alarm(&r, EDGE(1, 0), 2, REC_LOSS_PAIR, EDGE(0, 0), 20000, iteration);
			put_alarm(&r, AGGREGATION(1, 1), 2, cases[i].place, cases[i].sender, 40000, iteration);
			put_alarm(&r, EDGE(1, 1), 2, REC_LOSS_REMOTE, EDGE(0, 1), 20000, iteration);
		}
		v = diagnose(&r, 1 << EDGE(1, 0) | 1 << EDGE(1, 1) | 1 << AGGREGATION(1, 1), 2, 0);
		assert_int_equal(v->nfindings, 1);
		assert_string_equal(v->findings[0].root, cases[i].root);
		fault = &own_of(v)->faults[0];
		assert_int_equal(fault->nlinks, 1);
		assert_int_equal(fault->alarms, 6);
		assert_int_equal(fault->switches, 3);
		assert_true(fault->drop > 0.0399 && fault->drop < 0.0401);
		verdict_destroy(v);
	}
}

/*
 * Two faults at a time: what comes from the edge's own pod passes no core, and no link makes an edge lack more than it
 * does.
 */
static void
what_an_aggregation_cannot_have_caused_is_another_fault(void **state)
{
	struct records r;
	struct verdict *v;

	(void)state;
	put_network(&r);
	put_alarm(&r, AGGREGATION(1, 1), 2, REC_LOSS_LOCAL, REC_NONE, 20000, 0);
	put_alarm(&r, EDGE(1, 0), 2, REC_LOSS_LOCAL, REC_NONE, 50000, 0);
	for (uint32_t iteration = 0; iteration < 2; iteration++)
		put_alarm(&r, EDGE(1, 1), 2, REC_LOSS_REMOTE, EDGE(1, 0), 10000, iteration);
	v = diagnose(&r, 1 << EDGE(1, 0) | 1 << EDGE(1, 1) | 1 << AGGREGATION(1, 1), 1, 0);
	assert_int_equal(v->nfindings, 3);
	/* In order of their first alarms: of time, then node. */
	assert_int_equal(own_of(v)->faults[0].links[0].from, AGGREGATION(1, 1));
	assert_int_equal(own_of(v)->faults[0].links[0].to, EDGE(1, 0));
	assert_int_equal(own_of(v)->faults[1].links[0].from, EDGE(1, 0));
	assert_int_equal(own_of(v)->faults[1].links[0].to, AGGREGATION(1, 1));
	assert_int_equal(own_of(v)->faults[2].links[0].from, CORE(2));
	verdict_destroy(v);
}

/* A monitor with little to compare names two links each time; the one that stays the same when senders change is meant. */
static void
what_senders_have_in_common_is_the_edges_own_link(void **state)
{
	struct records r;
	struct verdict *v;

	(void)state;
	put_network(&r);
	put_alarm(&r, EDGE(1, 0), 2, REC_LOSS_PAIR, EDGE(0, 0), 20000, 0);
	put_alarm(&r, EDGE(1, 0), 2, REC_LOSS_PAIR, EDGE(1, 1), 20000, 1);
	v = diagnose(&r, 1 << EDGE(1, 0), 2, 0);
	assert_int_equal(v->nfindings, 1);
	assert_string_equal(v->findings[0].root, "a3:1");
	verdict_destroy(v);
}

UNIT_TEST(flowpulse_paths)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(aggregations_without_alarm_clear_the_core),
		cmocka_unit_test(an_aggregations_alarm_accounts_for_its_edges),
		cmocka_unit_test(what_an_aggregation_cannot_have_caused_is_another_fault),
		cmocka_unit_test(what_senders_have_in_common_is_the_edges_own_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
