/* SPDX-License-Identifier: BSD-3-Clause */
/* Eq. 1 to 3 on graphs small enough for paper. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "diag/vedrfolnir/rating/rating.h"
#include "tests/unit/unit.h"

#define CF 0
#define FLOW 1
#define NFLOWS 2

static uint32_t flow_ids[NFLOWS] = { 10, 20 };

/* Finds components and applies Eq. 1 and 2. */
static void
rate(struct prov_graph *graph, double *r, double *scores)
{
	graph->flows = flow_ids;
	graph->nflows = NFLOWS;
	graph->victim = CF;
	assert_int_equal(prov_components(graph), 0);
	rating_ports(graph, r);
	rating_flows(graph, r, scores);
	free(graph->order);
	graph->order = NULL;
}

static void
assert_near(double value, double want)
{
	assert_float_equal((float)value, (float)want, 1e-4f);
}

/* p0, met by cf, is paused by p1 (half of its traffic), and p1 by p2 (four fifths). */
static void
test_chain(void **state)
{
	struct prov_at ats[] = {
		{ .flow = CF, .edge = true },
		{ .flow = FLOW, .edge = true, .contrib = 10 },
		{ .flow = FLOW, .edge = true, .contrib = 100 },
	};
	struct prov_link links[] = { { 1, 0.5 }, { 2, 0.8 } };
	struct prov_port ports[] = {
		{ .first_at = 0, .nats = 1, .first_link = 0, .nlinks = 1 },
		{ .first_at = 1, .nats = 1, .first_link = 1, .nlinks = 1 },
		{ .first_at = 2, .nats = 1, .first_link = 2 },
	};
	struct prov_graph graph = { .ports = ports, .nports = 3, .ats = ats, .nats = 3, .links = links, .nlinks = 2 };
	double r[3 * NFLOWS], scores[NFLOWS];

	rate(&graph, r, scores);
	assert_false(graph.cyclic);
	assert_near(r[2 * NFLOWS + FLOW], 100);
	assert_near(r[1 * NFLOWS + FLOW], 10 + 0.8 * 100);
	assert_near(r[0 * NFLOWS + FLOW], 0.5 * 90);
	assert_near(scores[FLOW], 45);
	assert_near(scores[CF], 0);
}

/* As above, and the flow contends with cf at p0 itself: (7 - 4) + (4 + 45). */
static void
test_contention_at_reached_port(void **state)
{
	struct prov_at ats[] = {
		{ .flow = CF, .edge = true, .contrib = 6 },
		{ .flow = FLOW, .edge = true, .contrib = 4, .cf_wait = 7 },
		{ .flow = FLOW, .edge = true, .contrib = 90 },
	};
	struct prov_link links[] = { { 1, 0.5 } };
	struct prov_port ports[] = {
		{ .first_at = 0, .nats = 2, .first_link = 0, .nlinks = 1 },
		{ .first_at = 2, .nats = 1, .first_link = 1 },
	};
	struct prov_graph graph = { .ports = ports, .nports = 2, .ats = ats, .nats = 3, .links = links, .nlinks = 1 };
	double r[2 * NFLOWS], scores[NFLOWS];

	rate(&graph, r, scores);
	assert_near(r[FLOW], 49);
	assert_near(scores[FLOW], 52);
	/* Where cf does not wait, nothing counts. */
	ats[CF].edge = false;
	rate(&graph, r, scores);
	assert_near(scores[FLOW], 0);
}

/* p0 -> p1 (0.6) -> p3 (1), p0 -> p2 (0.4) -> p3 (0.5). */
static void
test_diamond(void **state)
{
	struct prov_at ats[] = {
		{ .flow = CF, .edge = true },
		{ .flow = FLOW, .contrib = 1 },
		{ .flow = FLOW, .contrib = 2 },
		{ .flow = FLOW, .contrib = 10 },
	};
	struct prov_link links[] = { { 1, 0.6 }, { 2, 0.4 }, { 3, 1.0 }, { 3, 0.5 } };
	struct prov_port ports[] = {
		{ .first_at = 0, .nats = 1, .first_link = 0, .nlinks = 2 },
		{ .first_at = 1, .nats = 1, .first_link = 2, .nlinks = 1 },
		{ .first_at = 2, .nats = 1, .first_link = 3, .nlinks = 1 },
		{ .first_at = 3, .nats = 1, .first_link = 4 },
	};
	struct prov_graph graph = { .ports = ports, .nports = 4, .ats = ats, .nats = 4, .links = links, .nlinks = 4 };
	double r[4 * NFLOWS], scores[NFLOWS];

	rate(&graph, r, scores);
	assert_false(graph.cyclic);
	assert_int_equal(graph.ncomponents, 4);
	assert_near(r[1 * NFLOWS + FLOW], 11);
	assert_near(r[2 * NFLOWS + FLOW], 7);
	assert_near(r[0 * NFLOWS + FLOW], 0.6 * 11 + 0.4 * 7);
	assert_near(scores[FLOW], 9.4);
}

/* p1 and p2 wait for each other: rated as one, 4 + 6 + a quarter of p3's 8. */
static void
test_cycle(void **state)
{
	struct prov_at ats[] = {
		{ .flow = CF, .edge = true },
		{ .flow = FLOW, .contrib = 4 },
		{ .flow = FLOW, .contrib = 6 },
		{ .flow = FLOW, .contrib = 8 },
	};
	struct prov_link links[] = { { 1, 0.5 }, { 2, 1.0 }, { 1, 0.5 }, { 3, 0.25 } };
	struct prov_port ports[] = {
		{ .first_at = 0, .nats = 1, .first_link = 0, .nlinks = 1 },
		{ .first_at = 1, .nats = 1, .first_link = 1, .nlinks = 1 },
		{ .first_at = 2, .nats = 1, .first_link = 2, .nlinks = 2 },
		{ .first_at = 3, .nats = 1, .first_link = 4 },
	};
	struct prov_graph graph = { .ports = ports, .nports = 4, .ats = ats, .nats = 4, .links = links, .nlinks = 4 };
	double r[4 * NFLOWS], scores[NFLOWS];

	rate(&graph, r, scores);
	assert_true(graph.cyclic);
	assert_int_equal(graph.ncomponents, 3);
	assert_int_equal(ports[1].component, ports[2].component);
	assert_near(r[1 * NFLOWS + FLOW], 12);
	assert_near(r[2 * NFLOWS + FLOW], 12);
	assert_near(scores[FLOW], 6);
}

static void
test_collective(void **state)
{
	double sum = rating_excess_ps(20, 10) + rating_excess_ps(45, 15) + rating_excess_ps(5, 10);

	assert_near(sum, 40); /* a step faster than expected takes nothing away */
	assert_near(rating_step_weight(20, 10, sum), 0.25);
	assert_near(rating_step_weight(45, 15, sum), 0.75);
	assert_near(rating_step_weight(5, 10, sum), 0);
	assert_near(rating_step_weight(10, 10, 0), 0); /* nothing was slow */
}

UNIT_TEST(rating)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chain),      cmocka_unit_test(test_contention_at_reached_port),
		cmocka_unit_test(test_diamond),    cmocka_unit_test(test_cycle),
		cmocka_unit_test(test_collective),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
