/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The provenance graph's weights, from records.
 *   a(2) -- s1:1   s1:3 -- s2:1   s2:2 -- c(4)
 *   b(3) -- s1:2                  s2:3 -- d(5)
 *                                 s2:4 -- e(6)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/wire/record.h"
#include "diag/vedrfolnir/provenance/provenance.h"
#include "tests/unit/diag/records.h"
#include "tests/unit/unit.h"

#define S1 0
#define S2 1

static void
fabric(struct records *r)
{
	records_init(r);
	records_run(r);
	records_node(r, S1, "s1", false, 3);
	records_node(r, S2, "s2", false, 4);
	for (uint32_t h = 2; h <= 6; h++)
		records_node(r, h, (const char[]){ (char)('a' + h - 2), '\0' }, true, 1);
	records_link(r, S1, 0, false, 2, 0, true);
	records_link(r, S1, 1, false, 3, 0, true);
	records_link(r, S1, 2, false, S2, 0, false);
	records_link(r, S2, 1, false, 4, 0, true);
	records_link(r, S2, 2, false, 5, 0, true);
	records_link(r, S2, 3, false, 6, 0, true);
	records_collective(r, 1, 1);
	records_schedule(r, 0, 1, 2, 4, REC_NONE, PS_PER_MS);
}

static void
assert_near(double value, double want)
{
	assert_float_equal((float)value, (float)want, 1e-2f);
}

static struct prov_graph *
build(const struct records *r, struct evidence *ev, uint64_t from_ps, uint64_t to_ps, enum prov_share share)
{
	struct rec_tuple cf = records_tuple(2, 4, 10000);
	struct prov_graph *graph = NULL;
	struct prov_scratch scratch;

	records_evidence(r, ev);
	assert_int_equal(prov_scratch_init(&scratch, ev, NULL), 0);
	assert_int_equal(prov_build(ev, &scratch, evidence_flow(ev, &cf), from_ps, to_ps, share, &graph, NULL), 0);
	for (uint32_t p = 0; p < ev->nports; p++)
		assert_int_equal(scratch.port_slot[p], 0);
	for (uint32_t f = 0; f < ev->nflows; f++)
		assert_int_equal(scratch.flow_slot[f], 0);
	prov_scratch_fini(&scratch);
	return graph;
}

static const struct prov_at *
at(const struct evidence *ev, const struct prov_graph *graph, uint32_t port, uint32_t src, uint32_t dst, uint16_t sport)
{
	struct rec_tuple tuple = records_tuple(src, dst, sport);
	uint32_t flow = evidence_flow(ev, &tuple);

	for (uint32_t f = 0; f < graph->nflows; f++) {
		if (graph->flows[f] == flow)
			return prov_at_find(graph, &graph->ports[port], f);
	}
	return NULL;
}

/* Two epochs, of the second half lies in the step. */
static void
test_flow_weights(void **state)
{
	struct prov_graph *graph;
	struct evidence ev;
	struct records r;

	fabric(&r);
	for (uint32_t epoch = 0; epoch < 2; epoch++) {
		records_put_port(&r, S2, records_port_row(1, epoch, epoch, 300, 6000, 40));
		records_put_flow(&r, S2, records_flow_row(1, records_tuple(2, 4, 10000), epoch, epoch, 100, 3000));
		records_put_flow(&r, S2, records_flow_row(1, records_tuple(6, 4, 77), epoch, epoch, 200, 3000));
	}
	records_put_port(&r, S2, records_port_row(1, 2, 2, 300, 6000, 40)); /* after the step */
	graph = build(&r, &ev, 0, PS_PER_MS + PS_PER_MS / 2, PROV_SHARE_RECEIVERS);
	assert_int_equal(graph->nports, 1);
	assert_int_equal(graph->nreached, 1);
	assert_int_equal(graph->nflows, 2);
	assert_false(graph->ports[0].paused);
	assert_near(graph->ports[0].packets, 450);
	/* w(cf,f) = 3000 * 200/300, w(f,cf) = 3000 * 100/300, w(p,cf) = 100/300 * 6000, each one and a half times */
	assert_near(at(&ev, graph, 0, 6, 4, 77)->cf_wait, 1.5 * 2000);
	assert_near(at(&ev, graph, 0, 2, 4, 10000)->wait, 1.5 * 2000);
	assert_near(at(&ev, graph, 0, 6, 4, 77)->wait, 1.5 * 1000);
	assert_near(at(&ev, graph, 0, 2, 4, 10000)->contrib, 1.5 * 2000);
	assert_near(at(&ev, graph, 0, 6, 4, 77)->contrib, 1.5 * 4000);
	assert_near(at(&ev, graph, 0, 2, 4, 10000)->cf_wait, 0);
	prov_destroy(graph);
	evidence_fini(&ev);
	records_fini(&r);
}

static void
test_exact_matrix(void **state)
{
	struct rec_matrix_row ahead = {
		.flow = records_tuple(2, 4, 10000), .other = records_tuple(6, 4, 77), .port = 1, .ahead = 1234
	};
	struct rec_matrix_row own = ahead;
	struct prov_graph *graph;
	struct evidence ev;
	struct records r;

	own.other = own.flow;
	fabric(&r);
	records_put_port(&r, S2, records_port_row(1, 0, 0, 300, 6000, 40));
	records_put_flow(&r, S2, records_flow_row(1, records_tuple(2, 4, 10000), 0, 0, 100, 3000));
	records_put_flow(&r, S2, records_flow_row(1, records_tuple(6, 4, 77), 0, 0, 200, 3000));
	RECORDS_PUT(&r, ahead, REC_MATRIX_ROW, S2, PS_PER_MS);
	RECORDS_PUT(&r, own, REC_MATRIX_ROW, S2, PS_PER_MS);
	graph = build(&r, &ev, 0, PS_PER_MS, PROV_SHARE_RECEIVERS);
	assert_near(at(&ev, graph, 0, 6, 4, 77)->cf_wait, 1234);
	assert_near(at(&ev, graph, 0, 2, 4, 10000)->wait, 1234);
	assert_near(at(&ev, graph, 0, 6, 4, 77)->wait, 0);
	assert_near(at(&ev, graph, 0, 6, 4, 77)->contrib, 4000);
	prov_destroy(graph);
	evidence_fini(&ev);
	records_fini(&r);
}

/* cf stands alone at s1:3, paused for half of the epoch by s2, which sends three quarters on to c. */
static void
paused(struct records *r)
{
	struct rec_port_row row = records_port_row(2, 0, 0, 100, 500, 9);

	row.pause_ps = PS_PER_MS / 2;
	row.pauses_received = 3;
	fabric(r);
	records_put_port(r, S1, row);
	records_put_flow(r, S1, records_flow_row(2, records_tuple(2, 4, 10000), 0, 0, 100, 500));
	records_put_port(r, S2, records_port_row(1, 0, 0, 300, 6000, 40));
	records_put_flow(r, S2, records_flow_row(1, records_tuple(6, 4, 77), 0, 0, 200, 3000));
	records_put_port(r, S2, records_port_row(2, 0, 0, 10, 0, 1));
	records_put_meter(r, S2, records_meter_row(0, 1, 0, 0, 300));
	records_put_meter(r, S2, records_meter_row(0, 2, 0, 0, 100));
	records_put_meter(r, S2, records_meter_row(3, 1, 0, 0, 600));
}

static void
test_port_weights(void **state)
{
	struct prov_graph *graph;
	struct evidence ev;
	struct records r;

	paused(&r);
	graph = build(&r, &ev, 0, PS_PER_MS, PROV_SHARE_RECEIVERS);
	assert_int_equal(graph->nreached, 1);
	assert_int_equal(graph->nports, 3);
	assert_true(graph->ports[0].paused);
	assert_near(at(&ev, graph, 0, 2, 4, 10000)->wait, 0);
	assert_true(at(&ev, graph, 0, 2, 4, 10000)->edge); /* alone and paused */
	assert_int_equal(graph->ports[0].nlinks, 2);
	assert_int_equal(graph->ports[graph->links[0].to].port, evidence_port(&ev, S2, 1));
	assert_near(graph->links[0].weight, 0.75);
	assert_near(graph->links[1].weight, 0.25);
	assert_false(graph->ports[1].paused);
	assert_int_equal(graph->ports[1].nlinks, 0);
	assert_null(at(&ev, graph, 1, 2, 4, 10000));
	assert_near(at(&ev, graph, 1, 6, 4, 77)->contrib, 4000);
	prov_destroy(graph);
	evidence_fini(&ev);

	graph = build(&r, &ev, 0, PS_PER_MS, PROV_SHARE_SENDERS);
	assert_near(graph->links[0].weight, 300.0 / 900);
	assert_near(graph->links[1].weight, 1);
	prov_destroy(graph);
	evidence_fini(&ev);
	records_fini(&r);
}

/* 20 ms into a storm: the epochs are empty, the queues are not. */
static void
test_present_state(void **state)
{
	struct rec_flow_row cf, other;
	struct rec_meter_row held = records_meter_row(0, 1, 19, 19, 0);
	struct rec_port_row row = records_port_row(2, 19, 19, 0, 0, 0);
	struct prov_graph *graph;
	struct evidence ev;
	struct records r;

	fabric(&r);
	row.paused = 1;
	row.paused_since_ps = PS_PER_MS;
	row.queue_packets = 11;
	cf = records_flow_row(2, records_tuple(2, 4, 10000), 19, 19, 0, 0);
	other = records_flow_row(2, records_tuple(3, 5, 77), 19, 19, 0, 0);
	cf.queue_packets = 4;
	other.queue_packets = 7;
	held.held_bytes = 5000;
	records_put_port(&r, S1, row);
	records_put_flow(&r, S1, cf);
	records_put_flow(&r, S1, other);
	records_put_meter(&r, S2, held);
	graph = build(&r, &ev, 0, 25 * PS_PER_MS, PROV_SHARE_RECEIVERS);
	assert_int_equal(graph->nreached, 1);
	assert_true(graph->ports[0].present);
	assert_true(graph->ports[0].paused);
	assert_near(graph->ports[0].pause_ps, 19e9);
	/* 11 packets have 11 * 10 / 2 ahead of them; cf's 4 have 20, of which 7/11 are the other's */
	assert_near(graph->ports[0].depth_sum, 55);
	assert_near(at(&ev, graph, 0, 3, 5, 77)->cf_wait, 20.0 * 7 / 11);
	assert_near(at(&ev, graph, 0, 3, 5, 77)->contrib, 35);
	assert_near(at(&ev, graph, 0, 3, 5, 77)->wait, 35.0 * 4 / 11);
	assert_int_equal(graph->ports[0].nlinks, 1);
	assert_near(graph->links[0].weight, 1);
	prov_destroy(graph);
	evidence_fini(&ev);
	records_fini(&r);
}

/* What moved before everything stood still says little: s1:3 waits for what it holds there, all of it bound for d. */
static void
test_standing(void **state)
{
	for (int standing = 0; standing < 2; standing++) {
		struct rec_port_row row = records_port_row(2, 0, 9, 100, 500, 9);
		struct rec_meter_row held = records_meter_row(0, 2, 9, 9, 0);
		struct prov_graph *graph;
		struct evidence ev;
		struct records r;

		fabric(&r);
		row.pause_ps = 9 * PS_PER_MS;
		records_put_port(&r, S1, row);
		row = records_port_row(2, 10, 10, 0, 0, 0);
		row.paused = 1;
		row.paused_since_ps = standing ? PS_PER_MS : 10 * PS_PER_MS;
		records_put_port(&r, S1, row);
		records_put_flow(&r, S1, records_flow_row(2, records_tuple(2, 4, 10000), 0, 9, 100, 500));
		held.held_bytes = 5000;
		records_put_meter(&r, S2, held);
		records_put_meter(&r, S2, records_meter_row(0, 1, 0, 0, 300));
		graph = build(&r, &ev, 0, 25 * PS_PER_MS, PROV_SHARE_RECEIVERS);
		assert_int_equal(graph->ports[0].standing, standing);
		assert_int_equal(graph->ports[0].nlinks, 1);
		assert_int_equal(graph->ports[graph->links[0].to].port, evidence_port(&ev, S2, standing ? 2 : 1));
		prov_destroy(graph);
		evidence_fini(&ev);
		records_fini(&r);
	}
}

/* Two switches halt each other: the graph closes a circle and ends. */
static void
test_circle(void **state)
{
	struct rec_port_row forth = records_port_row(2, 0, 0, 100, 500, 9), back = records_port_row(0, 0, 0, 50, 0, 2);
	struct prov_graph *graph;
	struct evidence ev;
	struct records r;

	forth.pause_ps = back.pause_ps = PS_PER_MS / 2;
	fabric(&r);
	records_put_port(&r, S1, forth);
	records_put_flow(&r, S1, records_flow_row(2, records_tuple(2, 4, 10000), 0, 0, 100, 500));
	records_put_port(&r, S2, back);
	records_put_meter(&r, S2, records_meter_row(0, 0, 0, 0, 100));
	records_put_meter(&r, S1, records_meter_row(2, 2, 0, 0, 100));
	graph = build(&r, &ev, 0, PS_PER_MS, PROV_SHARE_RECEIVERS);
	assert_int_equal(graph->nports, 2);
	assert_true(graph->cyclic);
	assert_int_equal(graph->ports[0].component, graph->ports[1].component);
	prov_destroy(graph);
	evidence_fini(&ev);
	records_fini(&r);
}

static void
test_nothing_reported(void **state)
{
	struct prov_graph *graph;
	struct evidence ev;
	struct records r;

	fabric(&r);
	graph = build(&r, &ev, 0, PS_PER_MS, PROV_SHARE_RECEIVERS);
	assert_int_equal(graph->nports, 0);
	assert_int_equal(graph->victim, EV_NONE);
	prov_destroy(graph);
	evidence_fini(&ev);
	records_fini(&r);
}

UNIT_TEST(provenance)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flow_weights),     cmocka_unit_test(test_exact_matrix),
		cmocka_unit_test(test_port_weights),     cmocka_unit_test(test_present_state),
		cmocka_unit_test(test_standing),         cmocka_unit_test(test_circle),
		cmocka_unit_test(test_nothing_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
