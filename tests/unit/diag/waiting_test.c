/* SPDX-License-Identifier: BSD-3-Clause */
/* The waiting graph, on the paper's worked example (Fig. 4): ring reduce-scatter of 4 nodes, 3 steps a flow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "diag/vedrfolnir/waiting/wgraph.h"
#include "tests/unit/unit.h"

#define RANKS 4
#define STEPS 3
/* Index of FiSj, i and j from 1 as in the paper. */
#define F(i, j) (((i)-1) * STEPS + (j)-1)

/*
 * Times chosen so that FiSj actually waits for (own: Fi, data: Fi-1):
 *   F4S1 takes 16, F2S3 takes 12, all others 10.
 *   F1S2 starts at 16, for F4S1 (its own S1 ended at 10); F4S2 at 16, for its own; F2S2 and F3S2 at 10, for their own.
 *   F2S3 starts at 26, for F1S2 (its own S2 ended at 20); F1S3 at 26, F3S3 at 20, F4S3 at 26, for their own.
 */
static const struct {
	uint64_t start, end;
	uint32_t waited_for;
} times[RANKS * STEPS] = {
	[F(1, 1)] = { 0, 10, RUN_NONE }, [F(1, 2)] = { 16, 26, F(4, 1) }, [F(1, 3)] = { 26, 36, F(1, 2) },
	[F(2, 1)] = { 0, 10, RUN_NONE }, [F(2, 2)] = { 10, 20, F(2, 1) }, [F(2, 3)] = { 26, 38, F(1, 2) },
	[F(3, 1)] = { 0, 10, RUN_NONE }, [F(3, 2)] = { 10, 20, F(3, 1) }, [F(3, 3)] = { 20, 30, F(3, 2) },
	[F(4, 1)] = { 0, 16, RUN_NONE }, [F(4, 2)] = { 16, 26, F(4, 1) }, [F(4, 3)] = { 26, 36, F(4, 2) },
};

static void
ring(struct run_step *steps)
{
	for (uint32_t i = 0; i < RANKS * STEPS; i++)
		steps[i] = (struct run_step){
			.rank = i / STEPS,
			.step = i % STEPS + 1,
			.reported = true,
			.started = true,
			.start_ps = times[i].start,
			.end_ps = times[i].end,
			.waited_for = times[i].waited_for,
		};
}

static void
fini(struct waiting_graph *w)
{
	free(w->vertices);
	free(w->edges);
	free(w->path);
}

/* @return the number of edges from one vertex to another of this kind */
static uint32_t
edges(const struct waiting_graph *w, uint32_t kind, uint32_t from, uint32_t to)
{
	uint32_t count = 0;

	for (uint32_t e = 0; e < w->nedges; e++)
		count += w->edges[e].kind == kind && w->edges[e].from == from && w->edges[e].to == to;
	return count;
}

static void
test_edges(void **state)
{
	struct run_step steps[RANKS * STEPS];
	struct waiting_graph w;
	uint32_t light = 0;

	ring(steps);
	assert_int_equal(wgraph_build(steps, 0, RANKS * STEPS, &w, NULL), 0);
	assert_int_equal(w.nvertices, 2 * 12 + 1);
	/* 12 dark, 8 light (each start but the first four), 4 from the end */
	assert_int_equal(w.nedges, 12 + 8 + 4);
	for (uint32_t e = 0; e < w.nedges; e++) {
		light += w.edges[e].kind != WAITING_EXEC;
		if (w.edges[e].kind != WAITING_EXEC)
			assert_int_equal(w.edges[e].weight_ps, 0);
	}
	assert_int_equal(light, 12);
	/* F1S2 waits for the later of F1S1 and F4S1 only. */
	assert_int_equal(edges(&w, WAITING_DATA, WGRAPH_START(F(1, 2)), WGRAPH_END(F(4, 1))), 1);
	assert_int_equal(edges(&w, WAITING_OWN, WGRAPH_START(F(1, 2)), WGRAPH_END(F(1, 1))), 0);
	assert_int_equal(edges(&w, WAITING_OWN, WGRAPH_START(F(3, 2)), WGRAPH_END(F(3, 1))), 1);
	assert_int_equal(edges(&w, WAITING_EXEC, WGRAPH_END(F(4, 1)), WGRAPH_START(F(4, 1))), 1);
	for (uint32_t i = 1; i <= RANKS; i++)
		assert_int_equal(edges(&w, WAITING_LAST, 24, WGRAPH_END(F(i, 3))), 1);
	assert_int_equal(w.vertices[24].time_ps, 38);
	fini(&w);
}

static void
test_pruning(void **state)
{
	/* Nobody waits for F2S2, so nobody for F2S1; F1S1 is waited for by nobody either. */
	static const uint32_t pruned[] = { F(1, 1), F(2, 1), F(2, 2) };
	struct run_step steps[RANKS * STEPS];
	struct waiting_graph w;
	uint32_t count = 0;

	ring(steps);
	assert_int_equal(wgraph_build(steps, 0, RANKS * STEPS, &w, NULL), 0);
	for (uint32_t v = 0; v < w.nvertices; v++)
		count += w.vertices[v].pruned;
	assert_int_equal(count, 6);
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(w.vertices[WGRAPH_START(pruned[i])].pruned);
		assert_true(w.vertices[WGRAPH_END(pruned[i])].pruned);
	}
	assert_false(w.vertices[24].pruned);
	for (uint32_t e = 0; e < w.nedges; e++)
		assert_int_equal(w.edges[e].pruned, w.vertices[w.edges[e].from].pruned);
	fini(&w);
}

static void
test_critical_path(void **state)
{
	struct run_step steps[RANKS * STEPS + 1];
	struct waiting_graph w;
	uint32_t critical = 0;

	/* Behind another collective's step: indices are the verdict's. */
	ring(steps + 1);
	steps[0] = (struct run_step){ .reported = true, .started = true, .end_ps = 1000 };
	for (uint32_t i = 1; i <= RANKS * STEPS; i++) {
		steps[i].waited_for += steps[i].waited_for != RUN_NONE;
	}
	assert_int_equal(wgraph_build(steps, 1, RANKS * STEPS, &w, NULL), 0);
	assert_int_equal(w.npath, 3);
	assert_int_equal(w.path[0], F(4, 1) + 1);
	assert_int_equal(w.path[1], F(1, 2) + 1);
	assert_int_equal(w.path[2], F(2, 3) + 1);
	assert_int_equal(w.exec_ps, 16 + 10 + 12);
	for (uint32_t e = 0; e < w.nedges; e++)
		critical += w.edges[e].critical;
	assert_int_equal(critical, 3 + 2 + 1);
	fini(&w);
}

/* F3S1 hangs: F4S2 never starts for want of it, nor does F3S2, and with them all later ones. The run ends at 100. */
static void
test_open_steps(void **state)
{
	struct run_step steps[RANKS * STEPS];
	struct waiting_graph w;

	ring(steps);
	steps[F(3, 1)].open = true;
	steps[F(3, 1)].end_ps = 100;
	for (uint32_t i = 1; i <= RANKS; i++) {
		for (uint32_t j = 2; j <= STEPS; j++) {
			struct run_step *step = &steps[F(i, j)];

			if (j == 2 && i < 3)
				continue;
			if (i == 2 && j == 3) /* waits for F1S2, which did end */
				continue;
			if (i == 1 && j == 3) { /* started, open, but later than F3S1 */
				step->open = true;
				step->end_ps = 100;
				continue;
			}
			step->open = true;
			step->started = false;
			step->start_ps = step->end_ps = 0;
			step->waited_for = j == 2 && i == 4 ? F(3, 1) : F(i, j - 1);
		}
	}
	assert_int_equal(wgraph_build(steps, 0, RANKS * STEPS, &w, NULL), 0);
	assert_int_equal(w.npath, 1);
	assert_int_equal(w.path[0], F(3, 1));
	assert_int_equal(w.exec_ps, 100);
	fini(&w);
}

static void
test_unreported(void **state)
{
	struct run_step steps[RANKS * STEPS];
	struct waiting_graph w;

	ring(steps);
	for (uint32_t i = 0; i < RANKS * STEPS; i++)
		steps[i].reported = steps[i].started = false;
	steps[F(2, 1)].reported = steps[F(2, 1)].started = true;
	assert_int_equal(wgraph_build(steps, 0, RANKS * STEPS, &w, NULL), 0);
	assert_int_equal(w.npath, 1);
	assert_int_equal(w.path[0], F(2, 1));
	fini(&w);
	assert_int_equal(wgraph_build(steps, 0, 0, &w, NULL), 0);
	assert_int_equal(w.npath, 0);
	assert_int_equal(w.nvertices, 1);
	fini(&w);
}

/* Records that contradict each other must not hang the walk. */
static void
test_circle(void **state)
{
	struct run_step steps[RANKS * STEPS];
	struct waiting_graph w;

	ring(steps);
	steps[F(4, 1)].waited_for = F(2, 3);
	assert_int_equal(wgraph_build(steps, 0, RANKS * STEPS, &w, NULL), 0);
	assert_int_equal(w.npath, 3);
	fini(&w);
}

/* Two ranks that wait for themselves alone, more than are drawn: edges of the later one's path are there, and no others. */
static void
test_many_steps(void **state)
{
	enum { EACH = WAITING_DRAWN_STEPS / 2 + 1 };
	struct run_step *steps = calloc(2 * EACH, sizeof(*steps));
	struct waiting_graph w;

	assert_non_null(steps);
	for (uint32_t i = 0; i < 2 * EACH; i++)
		steps[i] = (struct run_step){
			.rank = i / EACH,
			.step = i % EACH + 1,
			.reported = true,
			.started = true,
			.start_ps = (10 + i / EACH) * (i % EACH),
			.end_ps = (10 + i / EACH) * (i % EACH + 1),
			.waited_for = i % EACH != 0 ? i - 1 : RUN_NONE,
		};
	assert_int_equal(wgraph_build(steps, 0, 2 * EACH, &w, NULL), 0);
	assert_int_equal(w.npath, EACH);
	assert_int_equal(w.path[0], EACH);
	assert_int_equal(w.nedges, EACH + (EACH - 1) + 1);
	for (uint32_t e = 0; e < w.nedges; e++)
		assert_true(w.edges[e].critical);
	assert_int_equal(edges(&w, WAITING_LAST, 4 * EACH, WGRAPH_END(2 * EACH - 1)), 1);
	fini(&w);
	free(steps);
}

UNIT_TEST(waiting)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edges),      cmocka_unit_test(test_pruning),    cmocka_unit_test(test_critical_path),
		cmocka_unit_test(test_open_steps), cmocka_unit_test(test_unreported), cmocka_unit_test(test_circle),
		cmocka_unit_test(test_many_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
