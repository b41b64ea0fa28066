/* SPDX-License-Identifier: BSD-3-Clause */
/* Verdicts made by hand, and times regained: what each is worth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "eval/odd/odd.h"
#include "tests/unit/unit.h"

#define MS 1e6
#define NONE "'network': { 'innocent': false, 'word': 'unknown' }, 'findings': []"
#define INNOCENT "'network': { 'innocent': true, 'word': 'innocent' }, 'findings': []"
#define FINDINGS(list) "'network': { 'innocent': false }, 'findings': [" list "]"
#define COSTS(job, ns) "'iterations': [{ 'job': " job ", 'explained_ns': " ns " }]"
#define QUEUE(flow) "{ 'type': 'flow-contention', 'root': 's:1', 'flows': ['" flow "'], " COSTS("0", "2000000") " }"
#define AT(type, root) "{ 'type': '" type "', 'root': '" root "', 'flows': [], " COSTS("0", "2000000") " }"

static struct suspect at[] = {
	{ .kind = "flow", .name = "x->y/1>4791" },   { .kind = "fault", .name = "loss@l0:5" },
	{ .kind = "fault", .name = "blackhole@s1" }, { .kind = "fault", .name = "slow-host@h4" },
	{ .kind = "fault", .name = "delay@l1:2" },   { .kind = "remedy", .name = "host.timeout=67ms" },
};
static struct suspects suspects = { .at = at, .count = 6 };
static struct rerun_truth truth;

static int
make(void **state)
{
	(void)state;
	for (size_t i = 0; i < suspects.count; i++) {
		at[i].flows = json_array();
		at[i].ports = json_array();
		at[i].nodes = json_array();
	}
	json_array_append_new(at[0].flows, json_string("x->y/1>4791"));
	json_array_append_new(at[1].ports, json_string("l0:5"));
	json_array_append_new(at[1].ports, json_string("s0:1"));
	json_array_append_new(at[2].nodes, json_string("s1"));
	json_array_append_new(at[3].nodes, json_string("h4"));
	json_array_append_new(at[4].ports, json_string("l1:2"));
	at[4].late = json_pack("[s]", "a->b/9>4791");
	return 0;
}

static int
forget(void **state)
{
	(void)state;
	for (size_t i = 0; i < suspects.count; i++) {
		json_decref(at[i].flows);
		json_decref(at[i].ports);
		json_decref(at[i].nodes);
		json_decref(at[i].late);
	}
	return 0;
}

/* 20 ms; a part of 0.5 % is 100 us, and the base RTT 20 us. @param regained_ms  by each */
static void
regain(const double regained_ms[4], double all_ms)
{
	truth = (struct rerun_truth){ .base_ns = 20 * MS, .all_ns = 20 * MS - all_ms * MS };
	for (size_t i = 0; i < 4; i++)
		truth.costs[i].regained_ns = regained_ms[i] * MS;
}

static struct odd_marks
marks(const char *text)
{
	const struct odd_facts facts = {
		.suspects = &suspects, .truth = &truth, .rtt_ns = 20000, .expected_ns = truth.all_ns
	};
	char quoted[2048];
	struct odd_marks marks;
	json_t *verdict;
	size_t n = 0;

	quoted[n++] = '{';
	for (const char *p = text; *p != '\0'; p++) {
		assert_true(n + 3 < sizeof(quoted));
		quoted[n++] = *p == '\'' ? '"' : *p;
	}
	quoted[n++] = '}';
	quoted[n] = '\0';
	verdict = json_loads(quoted, 0, NULL);
	assert_non_null(verdict);
	odd_grade(verdict, &facts, &marks);
	json_decref(verdict);
	assert_int_equal(marks.why[0] == '\0',
			 marks.grade == ODD_RIGHT || (marks.grade == ODD_UNKNOWN && marks.confidence >= 0));
	return marks;
}

#define assert_grade(text, expected) assert_int_equal(marks(text).grade, expected)

static void
what_cost_time_is_named(void **state)
{
	(void)state;
	regain((const double[]){ 5, 0, 0, 0 }, 5);
	assert_grade(FINDINGS(QUEUE("x->y/1>4791")), ODD_RIGHT);
	assert_grade(FINDINGS(QUEUE("a->b/9>4791")), ODD_WRONG); /* the job's own, which does not lose a thing */
	assert_grade(FINDINGS(QUEUE("x->y/1>4791") "," QUEUE("a->b/9>4791")), ODD_RIGHT); /* put out of step */
	assert_grade(INNOCENT, ODD_WRONG);
	assert_grade(NONE, ODD_UNKNOWN);
	assert_string_equal(marks(INNOCENT).why, "not named: x->y/1>4791");
}

static void
what_cost_nothing_is_not(void **state)
{
	(void)state;
	regain((const double[]){ 5, 0.01, 0, 0 }, 5);
	assert_grade(FINDINGS(QUEUE("x->y/1>4791") "," AT("packet-loss", "l0:5")), ODD_PARTLY);
	assert_grade(FINDINGS(AT("packet-loss", "l0:5")), ODD_WRONG);
	/* between both limits it may be named, and need not be */
	regain((const double[]){ 5, 0.05, 0, 0 }, 5);
	assert_grade(FINDINGS(QUEUE("x->y/1>4791") "," AT("packet-loss", "l0:5")), ODD_RIGHT);
	assert_grade(FINDINGS(QUEUE("x->y/1>4791")), ODD_RIGHT);
	/* one alone regains some; the others hide behind it, and all together regain much more */
	regain((const double[]){ 0, 0, 0, 1 }, 5);
	assert_grade(FINDINGS(AT("slow-host", "h4") "," AT("packet-loss", "l0:5")), ODD_RIGHT);
	assert_grade(FINDINGS(AT("packet-loss", "l0:5")), ODD_WRONG);
	regain((const double[]){ 0, 0, 0, 5 }, 5);
	assert_grade(FINDINGS(AT("slow-host", "h4") "," AT("packet-loss", "l0:5")), ODD_PARTLY);
	/* nothing at all */
	regain((const double[]){ 0, 0, 0, 0 }, 0);
	assert_grade(INNOCENT, ODD_RIGHT);
	assert_grade(FINDINGS(QUEUE("x->y/1>4791")), ODD_WRONG);
	/* a finding that says it explains nothing is no root cause */
	assert_grade(
		FINDINGS("{ 'type': 'flow-contention', 'root': 's:1', 'flows': ['x->y/1>4791'], " COSTS("0", "9") " }"),
		ODD_RIGHT);
	assert_grade(FINDINGS("{ 'type': 'flow-contention', 'root': 's:1', 'flows': ['x->y/1>4791'], 'without_effect': "
			      "true, " COSTS("0", "2000000") " }"),
		     ODD_RIGHT);
	/* nor is one of another job */
	assert_grade(FINDINGS("{ 'type': 'packet-loss', 'root': 'l0:5', 'flows': [], " COSTS("1", "2000000") " }"),
		     ODD_RIGHT);
	/* little in each iteration, and enough in all */
	assert_grade(FINDINGS("{ 'type': 'packet-loss', 'root': 'l0:5', 'flows': [], 'iterations': ["
			      "{ 'job': 0, 'explained_ns': 60000 }, { 'job': 0, 'explained_ns': 60000 }] }"),
		     ODD_WRONG);
}

static void
place_and_kind_count(void **state)
{
	(void)state;
	regain((const double[]){ 0, 5, 0, 0 }, 5);
	assert_grade(FINDINGS(AT("packet-loss", "l0:5")), ODD_RIGHT);
	assert_grade(FINDINGS(AT("packet-loss", "s0:1")), ODD_RIGHT); /* the other end of the link */
	assert_grade(FINDINGS(AT("packet-loss", "l0:6")), ODD_WRONG);
	assert_grade(FINDINGS(AT("packet-loss", "a->b/9>4791")), ODD_PARTLY); /* nowhere */
	assert_grade(FINDINGS(AT("blackhole", "l0:5")), ODD_PARTLY);
	assert_grade(FINDINGS(AT("pfc-storm", "l0:5")), ODD_WRONG);
	regain((const double[]){ 0, 0, 5, 5 }, 10);
	assert_grade(FINDINGS(AT("blackhole", "s1:3") "," AT("slow-host", "h4")), ODD_RIGHT);
	assert_grade(FINDINGS(AT("blackhole", "s1")), ODD_PARTLY);
	assert_grade(FINDINGS(AT("blackhole", "s12:3") "," AT("slow-host", "h4")), ODD_PARTLY); /* s12 is not s1 */
	assert_grade(FINDINGS(AT("nonsense", "s1:3")), ODD_WRONG);
	/* delay is that of a link, or of a path over it */
	regain((const double[]){ 0, 0, 0, 0 }, 5);
	truth.costs[4].regained_ns = 5 * MS;
	assert_grade(FINDINGS(AT("path-delay", "l1:2")), ODD_RIGHT);
	assert_grade(FINDINGS(AT("path-delay", "a->b/9>4791")), ODD_RIGHT);
	assert_grade(FINDINGS(AT("path-delay", "c->d/9>4791")), ODD_WRONG);
}

static void
of_causes_that_hide_each_other_one_is_named(void **state)
{
	(void)state;
	regain((const double[]){ 0, 0, 0, 0 }, 5);
	assert_grade(FINDINGS(AT("slow-host", "h4")), ODD_RIGHT);
	assert_grade(INNOCENT, ODD_WRONG);
	assert_grade(FINDINGS(AT("slow-host", "h5")), ODD_WRONG);
}

static void
half_sure_is_not_sure(void **state)
{
	struct odd_marks stated;

	(void)state;
	regain((const double[]){ 5, 0, 0, 0 }, 5);
	stated = marks("'network': { 'innocent': false, 'confidence': 0.4 }, 'findings': [" QUEUE("x->y/1>4791") "]");
	assert_int_equal(stated.grade, ODD_UNKNOWN);
	assert_true(stated.confidence == 0.4);
	stated = marks("'network': { 'innocent': false, 'confidence': 0.6 }, 'findings': [" QUEUE("x->y/1>4791") "]");
	assert_int_equal(stated.grade, ODD_RIGHT);
	assert_true(marks(INNOCENT).confidence == -1);
}

/* A mean over draws is known within an interval: what that leaves open may be named, and need not be. */
static void
chance_leaves_some_open(void **state)
{
	const struct odd_facts facts = { .suspects = &suspects, .truth = &truth, .rtt_ns = 20000 };

	(void)state;
	regain((const double[]){ 5, 0, 0, 0 }, 5);
	assert_true(odd_is_settled(&facts));
	truth.limit = 2;
	truth.costs[0].regained_error_ns = truth.all_error_ns = 2.4 * MS; /* 0.2 ms at least */
	assert_grade(FINDINGS(QUEUE("x->y/1>4791")), ODD_RIGHT);
	assert_grade(NONE, ODD_UNKNOWN);
	assert_true(odd_is_settled(&facts));
	truth.costs[0].regained_error_ns = truth.all_error_ns = 2.6 * MS; /* perhaps nothing */
	assert_grade(FINDINGS(QUEUE("x->y/1>4791")), ODD_RIGHT);
	assert_grade(INNOCENT, ODD_RIGHT);
	assert_false(odd_is_settled(&facts));
	assert_false(marks(INNOCENT).open); /* of the others it is known that they regain nothing */
	for (size_t i = 0; i < suspects.count; i++)
		truth.costs[i].regained_error_ns = 2.6 * MS;
	assert_true(marks(INNOCENT).open);
	for (size_t i = 1; i < suspects.count; i++)
		truth.costs[i].regained_error_ns = 0;
	assert_grade(FINDINGS(AT("packet-loss", "l0:5")), ODD_WRONG); /* that one regains nothing */
	truth.all_error_ns = 0;                                       /* each may be without effect, and all are not */
	assert_grade(INNOCENT, ODD_WRONG);
	/* one that costs nothing on average, and surely no more than that */
	regain((const double[]){ 0, -0.1, 0, 0 }, 0);
	truth.limit = 2;
	truth.costs[1].regained_error_ns = 0.055 * MS; /* at most 10 us: less than a base RTT */
	assert_grade(FINDINGS(AT("packet-loss", "l0:5")), ODD_WRONG);
	assert_true(odd_is_settled(&facts));
	truth.costs[1].regained_error_ns = 0.1 * MS;
	assert_grade(FINDINGS(AT("packet-loss", "l0:5")), ODD_RIGHT);
	assert_grade(INNOCENT, ODD_RIGHT);
}

/* Two suspects of a kind at one port: a finding cannot tell them apart, and one that costs something is enough. */
static void
of_two_at_one_place_the_right_one_is_named(void **state)
{
	(void)state;
	snprintf(at[2].name, sizeof(at[2].name), "loss@l0:5#2");
	json_array_append_new(at[2].ports, json_string("l0:5"));
	regain((const double[]){ 0, 0, 5, 0 }, 5);
	assert_grade(FINDINGS(AT("packet-loss", "l0:5")), ODD_RIGHT);
	assert_true(marks(FINDINGS(AT("packet-loss", "l0:5"))).findings[0].right);
	regain((const double[]){ 5, 0, 0, 0 }, 5);
	assert_grade(FINDINGS(QUEUE("x->y/1>4791") "," AT("packet-loss", "l0:5")), ODD_PARTLY);
	snprintf(at[2].name, sizeof(at[2].name), "blackhole@s1");
	json_array_clear(at[2].ports);
}

static void
a_setting_is_named_wherever_it_is(void **state)
{
	(void)state;
	regain((const double[]){ 0, 0, 0, 0 }, 5);
	truth.costs[5].regained_ns = 5 * MS;
	assert_grade(FINDINGS(AT("timer-too-short", "h7")), ODD_RIGHT);
	assert_grade(FINDINGS(AT("packet-loss", "h7")), ODD_WRONG);
}

static void
the_cause_of_a_consequence_is_named(void **state)
{
	(void)state;
	regain((const double[]){ 0, 5, 0, 0 }, 5);
	assert_grade(FINDINGS("{ 'type': 'packet-loss', 'root': 'l0:5', 'flows': [], 'without_effect': true, " COSTS(
			     "0", "0") " }," QUEUE("a->b/9>4791")),
		     ODD_WRONG);
	assert_grade(FINDINGS("{ 'type': 'packet-loss', 'root': 'l0:5', 'flows': [], 'without_effect': true, " COSTS(
			     "0", "0") " }, { 'type': 'flow-contention', 'root': 's:1', 'flows': ['a->b/9>4791'], "
				       "'consequence_of': 0, " COSTS("0", "2000000") " }"),
		     ODD_RIGHT);
}

#define FAULT(type, root)                                                                                                  \
	"{ 'type': '" type "', 'root': '" root "', 'flows': [], 'fault': true, " COSTS("0", "2000000") " }"

static void
the_gravest_errors_are_marked(void **state)
{
	(void)state;
	regain((const double[]){ 5, 0, 0, 0 }, 5);
	assert_true(marks(INNOCENT).acquitted);
	regain((const double[]){ 5, 0, 0, 5 }, 10); /* the network is innocent of a host that is late */
	assert_false(marks("'network': { 'innocent': true }, 'findings': [" AT("slow-host", "h4") "]").acquitted);
	regain((const double[]){ 5, 0, 0, 0 }, 5);
	assert_false(marks(NONE).acquitted);
	assert_false(marks(FINDINGS(QUEUE("x->y/1>4791"))).false_fault);
	assert_true(marks(FINDINGS(QUEUE("x->y/1>4791") "," FAULT("path-delay", "l5:1"))).false_fault);
	regain((const double[]){ 0, 0, 0, 0 }, 0);
	assert_false(marks(INNOCENT).acquitted);
	assert_true(marks(FINDINGS(FAULT("path-delay", "l5:1"))).false_fault);
	regain((const double[]){ 0, 5, 0, 0 }, 5);
	assert_false(marks(FINDINGS(FAULT("packet-loss", "l0:5"))).false_fault);
}

/* Of two root causes one is right; what explains nothing is none. */
static void
root_causes_are_marked_with_their_confidence(void **state)
{
	struct odd_marks marked;

	(void)state;
	regain((const double[]){ 5, 0.01, 0, 0 }, 5);
	marked = marks(
		FINDINGS("{ 'type': 'flow-contention', 'root': 's:1', 'flows': ['x->y/1>4791'], 'confidence': 0.9, " COSTS(
			"0", "2000000") " }, { 'type': 'packet-loss', 'root': 'l0:5', 'flows': [], 'confidence': "
					"0.3, " COSTS("0", "2000000") " }, { 'type': 'slow-host', 'root': 'h4', 'flows': "
								      "[], 'confidence': 0.8, " COSTS("0", "9") " }"));
	assert_int_equal(marked.nfindings, 2);
	assert_true(marked.findings[0].right && marked.findings[0].confidence == 0.9);
	assert_true(!marked.findings[1].right && marked.findings[1].confidence == 0.3);
	/* the job's own contention is right beside a cause that had to be named */
	assert_true(marks(FINDINGS(QUEUE("x->y/1>4791") "," QUEUE("a->b/9>4791"))).findings[1].right);
	assert_false(marks(FINDINGS(QUEUE("a->b/9>4791"))).findings[0].right);
}

UNIT_TEST(odd_grade)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cost_time_is_named),
		cmocka_unit_test(what_cost_nothing_is_not),
		cmocka_unit_test(place_and_kind_count),
		cmocka_unit_test(of_causes_that_hide_each_other_one_is_named),
		cmocka_unit_test(half_sure_is_not_sure),
		cmocka_unit_test(chance_leaves_some_open),
		cmocka_unit_test(of_two_at_one_place_the_right_one_is_named),
		cmocka_unit_test(a_setting_is_named_wherever_it_is),
		cmocka_unit_test(the_gravest_errors_are_marked),
		cmocka_unit_test(the_cause_of_a_consequence_is_named),
		cmocka_unit_test(root_causes_are_marked_with_their_confidence),
	};

	return cmocka_run_group_tests(tests, make, forget);
}
