/* SPDX-License-Identifier: BSD-3-Clause */
/* Verdicts made by hand against truths made by hand: what each is worth, and which cases are wrong by construction. */
#include "tests/unit/eval/score_rig.h"
#include "tests/unit/unit.h"

static bool
is_right(const char *meaning, const char *fabric)
{
	struct err why = { 0 };
	struct truth truth;
	bool right;

	load(&truth, meaning, fabric);
	right = judge_is_right(&truth, &why);
	truth_fini(&truth);
	return right;
}

/* A base RTT of 20 us, so that 20 us are in earnest. */
#define FAR                                                                                                                \
	"{ 'step_ns': 1000000, 'base_rtt_ns': 20000, 'collective_flows': ['a->b'],"                                        \
	" 'anomalies': [{ 'kind': 'contention', 'flows': ['x->b'] }] }"
#define CONTENTION MEANING("{ 'kind': 'contention', 'flows': ['x->b', 'y->b'] }")
#define BOTH_CONTEND FABRIC(CONTEND("s:1", "a->b", "x->b", 50000, 20) "," CONTEND("s:1", "y->b", "a->b", 50000, 20), "")
#define ONE_CONTENDS FABRIC(CONTEND("s:1", "a->b", "x->b", 50000, 20) "," CONTEND("s:1", "y->b", "a->b", 4000, 20), "")

static void
contention_is_found_whole(void **state)
{
	(void)state;
	assert_int_equal(outcome(CONTENTION, BOTH_CONTEND, QUEUE("flow-contention", "s:1", "'x->b', 'y->b'"), "false"),
			 OUTCOME_TP);
	assert_int_equal(outcome(CONTENTION, BOTH_CONTEND,
				 QUEUE("flow-contention", "s:1", "'x->b'") "," QUEUE("incast", "s:1", "'y->b'"), "false"),
			 OUTCOME_TP);
	assert_int_equal(outcome(CONTENTION, BOTH_CONTEND, QUEUE("flow-contention", "s:1", "'x->b'"), "false"), OUTCOME_FP);
	assert_int_equal(outcome(CONTENTION, BOTH_CONTEND, "", "true"), OUTCOME_FN);
}

static void
only_what_really_collided_is_asked_for(void **state)
{
	(void)state;
	assert_int_equal(outcome(CONTENTION, ONE_CONTENDS, QUEUE("flow-contention", "s:1", "'x->b'"), "false"), OUTCOME_TP);
	/* what met for less may be named, too */
	assert_int_equal(outcome(CONTENTION, ONE_CONTENDS, QUEUE("flow-contention", "s:1", "'x->b', 'y->b'"), "false"),
			 OUTCOME_TP);
}

static void
what_the_truth_does_not_bear_out_is_false(void **state)
{
	(void)state;
	/* another port, another flow, another victim */
	assert_int_equal(outcome(CONTENTION, ONE_CONTENDS, QUEUE("flow-contention", "s:2", "'x->b'"), "false"), OUTCOME_FP);
	assert_int_equal(outcome(CONTENTION, ONE_CONTENDS,
				 QUEUE("flow-contention", "s:1", "'x->b'") "," QUEUE("flow-contention", "s:1", "'b->c'"),
				 "false"),
			 OUTCOME_FP);
	assert_int_equal(outcome(CONTENTION, ONE_CONTENDS,
				 FINDING("flow-contention", "s:1", "'s:1'", "'x->b'", "'b->c'", STEP("1")), "false"),
			 OUTCOME_FP);
	/* nobody at all */
	assert_int_equal(outcome(CONTENTION, ONE_CONTENDS,
				 QUEUE("flow-contention", "s:1", "'x->b'") "," PLAIN("flow-contention", "s:9"), "false"),
			 OUTCOME_FP);
	/* right, and something more that never was */
	assert_int_equal(outcome(CONTENTION, ONE_CONTENDS,
				 QUEUE("flow-contention", "s:1", "'x->b'") "," PLAIN("pfc-storm", "s:1"), "false"),
			 OUTCOME_FP);
	assert_int_equal(outcome(CONTENTION, ONE_CONTENDS,
				 QUEUE("flow-contention", "s:1", "'x->b'") "," PLAIN("packet-loss", "s:1"), "false"),
			 OUTCOME_FP);
	/* pauses: culprits that met in the root's queue, and a port that was paused */
	assert_int_equal(outcome(CONTENTION, ONE_CONTENDS,
				 QUEUE("flow-contention", "s:1", "'x->b'") "," QUEUE("pfc-backpressure", "s:1", "'x->b'"),
				 "false"),
			 OUTCOME_FP);
}

static void
incast_is_flows_that_contended(void **state)
{
	const char *fabric =
		FABRIC(CONTEND("s:1", "a->b", "x->b", 50000, 20) "," CONTEND("s:1", "y->b", "x->b", 50000, 20), "");

	(void)state;
	assert_int_equal(outcome(CONTENTION, fabric, QUEUE("incast", "s:1", "'x->b', 'y->b'"), "false"), OUTCOME_TP);
	assert_int_equal(outcome(CONTENTION, fabric, QUEUE("flow-contention", "s:1", "'x->b', 'y->b'"), "false"),
			 OUTCOME_FP);
	assert_int_equal(outcome(CONTENTION, fabric, QUEUE("incast", "s:1", "'x->b', 'z->b'"), "false"), OUTCOME_FP);
}

#define STORM MEANING("{ 'kind': 'pfc-storm', 'root': 's:1', 'pauses': 'r:2' }")
#define STORM_FABRIC FABRIC("", HOLDING("r:2", "a->b", 50000))

static void
storm_is_traced_to_its_port(void **state)
{
	(void)state;
	assert_int_equal(outcome(STORM, STORM_FABRIC, PLAIN("pfc-storm", "s:1"), "false"), OUTCOME_TP);
	assert_int_equal(outcome(STORM, STORM_FABRIC, PLAIN("pfc-storm", "t:1"), "false"), OUTCOME_FP);
	assert_int_equal(
		outcome(STORM, STORM_FABRIC, FINDING("pfc-backpressure", "t:1", "'r:2'", "", "'a->b'", STEP("1")), "false"),
		OUTCOME_FP);
	assert_int_equal(outcome(STORM, STORM_FABRIC, "", "false"), OUTCOME_FN);
}

#define BACKPRESSURE MEANING("{ 'kind': 'backpressure', 'roots': ['s:1'], 'pauses': ['r:2', 'r:3'] }")
#define CONTEND_AT_ROOT CONTEND("s:1", "x->b", "y->b", 50000, 20)
#define BACKPRESSURE_FABRIC FABRIC(CONTEND_AT_ROOT, HOLDING("r:3", "a->b", 50000))

static void
backpressure_is_traced_to_its_root(void **state)
{
	const char *right = FINDING("pfc-backpressure", "s:1", "'r:3', 's:1'", "'x->b', 'y->b'", "'a->b'", STEP("1"));
	const char *wrong = FINDING("pfc-backpressure", "s:2", "'r:3', 's:2'", "", "'a->b'", STEP("1"));

	(void)state;
	assert_int_equal(outcome(BACKPRESSURE, BACKPRESSURE_FABRIC, right, "false"), OUTCOME_TP);
	assert_int_equal(outcome(BACKPRESSURE, BACKPRESSURE_FABRIC, wrong, "false"), OUTCOME_FP);
	assert_int_equal(outcome(BACKPRESSURE, BACKPRESSURE_FABRIC, "", "true"), OUTCOME_FN);
}

#define IN_LOOP MEANING("{ 'kind': 'deadlock', 'ports': ['p:1', 'q:1'] }")
#define OUT_OF_LOOP MEANING("{ 'kind': 'deadlock', 'ports': ['p:1', 'q:1'], 'root': 'h:1' }")
#define STUCK FABRIC("", PAUSED("p:1", 50000, "true") "," PAUSED("q:1", 50000, "true"))

static void
deadlock_is_found_with_what_began_it(void **state)
{
	(void)state;
	assert_int_equal(outcome(IN_LOOP, STUCK, PLAIN("pfc-deadlock", "p:1"), "false"), OUTCOME_TP);
	assert_int_equal(outcome(IN_LOOP, STUCK, PLAIN("pfc-deadlock", "z:1"), "false"), OUTCOME_FP);
	assert_int_equal(outcome(IN_LOOP, STUCK, "", "false"), OUTCOME_FN);
	assert_int_equal(outcome(OUT_OF_LOOP, STUCK, PLAIN("pfc-deadlock", "p:1"), "false"), OUTCOME_FP);
	assert_int_equal(outcome(OUT_OF_LOOP, STUCK, PLAIN("pfc-storm", "h:1"), "false"), OUTCOME_FP);
	assert_int_equal(outcome(OUT_OF_LOOP, STUCK, PLAIN("pfc-storm", "h:1") "," PLAIN("pfc-deadlock", "q:1"), "false"),
			 OUTCOME_TP);
}

#define LOOP MEANING("{ 'kind': 'loop', 'ports': ['p:1', 'q:1'] }")

static void
loop_is_found_at_its_ports(void **state)
{
	(void)state;
	assert_int_equal(outcome(LOOP, STUCK, PLAIN("forwarding-loop", "q:1"), "false"), OUTCOME_TP);
	assert_int_equal(outcome(LOOP, STUCK, PLAIN("forwarding-loop", "q:1") "," PLAIN("pfc-deadlock", "p:1"), "false"),
			 OUTCOME_TP);
	assert_int_equal(outcome(LOOP, STUCK, PLAIN("forwarding-loop", "r:1"), "false"), OUTCOME_FP);
	assert_int_equal(outcome(LOOP, STUCK, PLAIN("pfc-deadlock", "p:1"), "false"), OUTCOME_FP);
	assert_int_equal(outcome(LOOP, STUCK, "", "false"), OUTCOME_FN);
}

#define IMBALANCE MEANING("{ 'kind': 'imbalance', 'ports': ['s:3'] }")
#define OWN_CONTENDS FABRIC(CONTEND("s:3", "a->b", "b->c", 50000, 20), "")

static void
imbalance_is_found_by_its_name(void **state)
{
	(void)state;
	assert_int_equal(outcome(IMBALANCE, OWN_CONTENDS, PLAIN("load-imbalance", "s:3"), "false"), OUTCOME_TP);
	assert_int_equal(outcome(IMBALANCE, OWN_CONTENDS, PLAIN("load-imbalance", "s:4"), "false"), OUTCOME_FP);
	assert_int_equal(outcome(IMBALANCE, OWN_CONTENDS, QUEUE("flow-contention", "s:3", "'b->c'"), "false"), OUTCOME_FP);
	assert_int_equal(outcome(IMBALANCE, OWN_CONTENDS, "", "false"), OUTCOME_FN);
}

static void
mixed_needs_both(void **state)
{
	const char *meaning = MEANING("{ 'kind': 'pfc-storm', 'root': 's:1', 'pauses': 'r:2' },"
				      "{ 'kind': 'slow-host', 'host': 'b', 'step': 2 }");
	const char *late = FINDING("slow-host", "b", "", "", "'b->c'", STEP("1") ", " STEP("2"));

	(void)state;
	assert_int_equal(outcome(meaning, STORM_FABRIC, PLAIN("pfc-storm", "s:1"), "false"), OUTCOME_FP);
	assert_int_equal(outcome(meaning, STORM_FABRIC, late, "true"), OUTCOME_FP);
	assert_int_equal(
		outcome(meaning, STORM_FABRIC,
			PLAIN("pfc-storm", "s:1") "," FINDING("slow-host", "b", "", "", "'b->c'", STEP("1") ", " STEP("2")),
			"false"),
		OUTCOME_TP);
}

#define SLOW MEANING("{ 'kind': 'slow-host', 'host': 'b', 'step': 2 }")
#define NOTHING FABRIC("", "")

static void
slow_host_leaves_the_network_innocent(void **state)
{
	const char *late = FINDING("slow-host", "b", "", "", "'b->c'", STEP("2")),
		   *other = FINDING("slow-host", "a", "", "", "", STEP("2"));
	const char *step = FINDING("slow-host", "b", "", "", "'b->c'", STEP("3"));

	(void)state;
	assert_int_equal(outcome(SLOW, NOTHING, late, "true"), OUTCOME_TP);
	assert_int_equal(outcome(SLOW, NOTHING, late, "false"), OUTCOME_FP);
	assert_int_equal(outcome(SLOW, NOTHING, other, "true"), OUTCOME_FP);
	assert_int_equal(outcome(SLOW, NOTHING, step, "true"), OUTCOME_FP);
	assert_int_equal(outcome(SLOW, NOTHING, "", "true"), OUTCOME_FN);
}

static void
clean_has_no_finding(void **state)
{
	(void)state;
	assert_int_equal(outcome(MEANING(""), NOTHING, "", "true"), OUTCOME_TP);
	assert_int_equal(outcome(MEANING(""), BOTH_CONTEND, QUEUE("flow-contention", "s:1", "'x->b'"), "false"),
			 OUTCOME_FP);
}

static void
cases_that_hold_nothing_are_wrong(void **state)
{
	(void)state;
	assert_true(is_right(CONTENTION, ONE_CONTENDS));
	assert_false(is_right(CONTENTION, FABRIC(CONTEND("s:1", "a->b", "x->b", 4000, 20), "")));
	assert_false(is_right(CONTENTION, FABRIC(CONTEND("s:1", "a->b", "x->b", 50000, 2), ""))); /* no queue to speak of */
	assert_false(
		is_right(CONTENTION, FABRIC(CONTEND("s:1", "y->b", "x->b", 50000, 20), ""))); /* not with the collective */
	assert_true(is_right(STORM, STORM_FABRIC));
	assert_false(is_right(STORM, FABRIC("", HOLDING("r:2", "a->b", 4000))));
	assert_false(is_right(STORM, FABRIC("", HOLDING("r:2", "x->b", 50000))));
	assert_false(is_right(STORM, FABRIC("", PAUSED("r:2", 50000, "false"))));
	assert_true(is_right(BACKPRESSURE, BACKPRESSURE_FABRIC));
	assert_false(is_right(BACKPRESSURE, FABRIC(CONTEND_AT_ROOT, HOLDING("r:4", "a->b", 50000))));
	assert_false(
		is_right(BACKPRESSURE, FABRIC(CONTEND_AT_ROOT, HOLDING("r:3", "x->b", 50000)))); /* not the collective */
	assert_false(
		is_right(BACKPRESSURE, FABRIC(CONTEND_AT_ROOT, HOLDING_BY("r:3", "s", "a->b", 50000, 70000)))); /* later */
	/* by another switch, then by way of one that the root's pauses */
	assert_false(is_right(BACKPRESSURE, FABRIC(CONTEND_AT_ROOT, HOLDING_BY("r:3", "t", "a->b", 50000, 0))));
	assert_true(is_right(BACKPRESSURE, FABRIC(CONTEND_AT_ROOT,
						  HOLDING_BY("r:3", "t", "a->b", 50000, 0) "," PAUSED("t:9", 5, "false"))));
	assert_false(is_right(BACKPRESSURE, FABRIC(CONTEND_AT_ROOT,
						   HOLDING_BY("r:3", "t", "a->b", 4000, 0) "," PAUSED("t:9", 5, "false"))));
	assert_true(is_right(IN_LOOP, STUCK));
	assert_false(is_right(IN_LOOP, FABRIC("", PAUSED("p:1", 50000, "true") "," PAUSED("q:1", 50000, "false"))));
	assert_true(is_right(IMBALANCE, OWN_CONTENDS));
	assert_false(is_right(IMBALANCE, NOTHING));
	assert_true(is_right(SLOW, NOTHING));
	assert_false(is_right(SLOW, "{ 'contentions': [], 'contentions_left_out': 1, 'pauses': [], 'overtakings': [] }"));
	assert_false(is_right(SLOW, BOTH_CONTEND));
	assert_true(is_right(MEANING(""), FABRIC(CONTEND("s:1", "a->b", "x->b", 5000, 20), "")));
	assert_false(is_right(MEANING(""), FABRIC(CONTEND("s:1", "y->b", "x->b", 5001, 1), "")));
	assert_false(is_right(FAR, FABRIC(CONTEND("s:1", "a->b", "x->b", 19999, 20), "")));
}

static void
where_chance_makes_roots_one_that_leads_is_named(void **state)
{
	const char *meaning = MEANING("{ 'kind': 'backpressure', 'roots': ['s:1', 'u:2'], 'pauses': ['r:3'] }");
	const char *at = FINDING("pfc-backpressure", "s:1", "'r:3'", "'x->b'", "'a->b'", STEP("1"));
	const char *other = FINDING("pfc-backpressure", "u:2", "'r:3'", "", "'a->b'", STEP("1"));

	(void)state;
	assert_true(is_right(meaning, BACKPRESSURE_FABRIC));
	assert_int_equal(outcome(meaning, BACKPRESSURE_FABRIC, at, "false"), OUTCOME_TP);
	assert_int_equal(outcome(meaning, BACKPRESSURE_FABRIC, other, "false"), OUTCOME_FP); /* no pause came from there */
}

#define RING MEANING("{ 'kind': 'ring' }")

static void
a_ring_that_collides_is_named(void **state)
{
	const char *contended = FABRIC(CONTEND("s:3", "a->b", "b->c", 50000, 20), "");

	(void)state;
	assert_true(is_right(RING, contended));
	assert_int_equal(outcome(RING, contended, QUEUE("flow-contention", "s:3", "'b->c'"), "false"), OUTCOME_TP);
	assert_int_equal(
		outcome(RING, contended, FINDING("flow-contention", "s:3", "", "'a->b'", "'a->b'", STEP("1")), "false"),
		OUTCOME_FP);
	assert_int_equal(outcome(RING, contended, "", "true"), OUTCOME_FN);
	assert_int_equal(outcome(RING, FABRIC("", ""), "", "true"), OUTCOME_TP);
}

static void
precision_and_recall(void **state)
{
	const struct score score = { .count = { [OUTCOME_TP] = 6, [OUTCOME_FP] = 2, [OUTCOME_FN] = 4 } };
	const struct score none = { { 0 } };

	(void)state;
	assert_true(score_precision(&score) == 0.75);
	assert_true(score_recall(&score) == 0.6);
	assert_true(score_precision(&none) == 0 && score_recall(&none) == 0);
}

static void
missing_truth_is_refused(void **state)
{
	json_t *meaning = parse(MEANING("")), *fabric = parse("{ 'contentions': [] }");
	struct err err = { 0 };
	struct truth truth;

	(void)state;
	assert_true(truth_init(&truth, meaning, fabric, &err) < 0);
	assert_non_null(strstr(err.text, "truth.json"));
	json_decref(meaning);
	json_decref(fabric);
}

UNIT_TEST(eval_score)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contention_is_found_whole),
		cmocka_unit_test(only_what_really_collided_is_asked_for),
		cmocka_unit_test(what_the_truth_does_not_bear_out_is_false),
		cmocka_unit_test(incast_is_flows_that_contended),
		cmocka_unit_test(storm_is_traced_to_its_port),
		cmocka_unit_test(backpressure_is_traced_to_its_root),
		cmocka_unit_test(deadlock_is_found_with_what_began_it),
		cmocka_unit_test(loop_is_found_at_its_ports),
		cmocka_unit_test(imbalance_is_found_by_its_name),
		cmocka_unit_test(mixed_needs_both),
		cmocka_unit_test(slow_host_leaves_the_network_innocent),
		cmocka_unit_test(clean_has_no_finding),
		cmocka_unit_test(cases_that_hold_nothing_are_wrong),
		cmocka_unit_test(where_chance_makes_roots_one_that_leads_is_named),
		cmocka_unit_test(a_ring_that_collides_is_named),
		cmocka_unit_test(precision_and_recall),
		cmocka_unit_test(missing_truth_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
