/* SPDX-License-Identifier: BSD-3-Clause */
/* Values at the limits of records: nothing that is computed from them wraps. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <cmocka.h>

#include "common/wire/drop.h"
#include "common/wire/record.h"
#include "diag/registry.h"
#include "diag/report/fmt.h"
#include "diag/report/jobs.h"
#include "diag/report/json.h"
#include "diag/run/lateness.h"
#include "diag/vedrfolnir/waiting/wgraph.h"
#include "tests/unit/diag/case.h"
#include "tests/unit/unit.h"

#define MANY 16 /* times RECORD_MAX_PS is 2^64 */

static void
put_late(struct records *r, uint32_t from_ps)
{
	struct rec_lateness rec = { .kind = REC_LATENESS_HOST,
				    .lcore = REC_NONE,
				    .measured = 1,
				    .from_ps = from_ps,
				    .to_ps = RECORD_MAX_PS,
				    .late_ps = RECORD_MAX_PS };

	RECORDS_PUT(r, rec, REC_LATENESS, H17, RECORD_MAX_PS);
}

/*
 * A host waited, and a port was paused, for as long as a record can say, sixteen times; a seventeenth wait is unmeasured.
 */
static void
times_add_up(void **state)
{
	struct run_machine waited;
	struct records r;
	struct verdict *v;

	(void)state;
	case_fabric(&r);
	for (uint32_t i = 0; i < MANY; i++) {
		struct rec_port_row row = records_port_row(1, i, i, 1, 0, 0);

		row.pause_ps = RECORD_MAX_PS;
		records_put_port(&r, SW6, row);
		put_late(&r, 0);
	}
	records_end(&r, REC_END_COMPLETE, RECORD_MAX_PS);
	v = case_diagnose(&r);
	assert_int_equal(v->run.nlateness, 1);
	assert_int_equal(v->run.lateness[0].late_ps, UINT64_MAX);
	assert_int_equal(v->run.lateness[0].measured_ps, UINT64_MAX);
	waited = run_waited(&v->run, H17, 0, RECORD_MAX_PS);
	assert_int_equal(waited.most_ps, RECORD_MAX_PS);
	assert_int_equal(waited.unmeasured_ps, 0);
	assert_int_equal(v->run.ports[v->run.nodes[SW6].first_port + 1].pause_ps, UINT64_MAX);
	verdict_destroy(v);
	records_fini(&r);
}

/* Steps on a critical path, each from 0 to the end of time. */
static void
paths_add_up(void **state)
{
	struct run_step steps[MANY];
	struct waiting_graph w;

	(void)state;
	for (uint32_t i = 0; i < MANY; i++)
		steps[i] = (struct run_step){ .step = i + 1,
					      .reported = true,
					      .started = true,
					      .slow = true,
					      .end_ps = RECORD_MAX_PS,
					      .waited_for = i != 0 ? i - 1 : RUN_NONE };
	assert_int_equal(wgraph_build(steps, 0, MANY, &w, NULL), 0);
	assert_int_equal(w.npath, MANY);
	assert_int_equal(w.exec_ps, UINT64_MAX);
	slow_flows_list(steps, 0, MANY, &w);
	assert_int_equal(w.exec_ps, UINT64_MAX);
	free(w.vertices);
	free(w.edges);
	free(w.path);
}

/* A job of sixteen iterations, all of them as long as the run: its critical paths together, and what it lost. */
static void
jobs_add_up(void **state)
{
	struct job_facts facts;
	struct records r;
	struct verdict *v;

	(void)state;
	case_fabric(&r);
	for (uint32_t i = 0; i < MANY; i++) {
		struct rec_collective c = { .id = 5, .job = 1, .iteration = i, .ranks = 2, .steps = 1, .rank_steps = 1 };
		struct rec_schedule s = { .collective = 5,
					  .iteration = i,
					  .step = 1,
					  .flow = F17,
					  .peer = 1,
					  .depends_rank = REC_NONE,
					  .expect_ps = 1 };

		RECORDS_PUT(&r, c, REC_COLLECTIVE, REC_NONE, 0);
		RECORDS_PUT(&r, s, REC_SCHEDULE, H17, 0);
	}
	for (uint32_t i = 0; i < MANY; i++) {
		struct rec_step rec = { .collective = 5, .iteration = i, .step = 1, WAITED_NONE, .end_ps = RECORD_MAX_PS };

		RECORDS_PUT(&r, rec, REC_STEP, H17, RECORD_MAX_PS);
	}
	records_end(&r, REC_END_COMPLETE, RECORD_MAX_PS);
	v = case_diagnose(&r);
	assert_int_equal(v->run.njobs, 2);
	assert_int_equal(job_facts(v, 1, &facts), 0);
	assert_int_equal(facts.path_ps, UINT64_MAX);
	job_facts_fini(&facts);
	verdict_destroy(v);
	records_fini(&r);
}

/* As many agents as make 2^64 traceroutes in the time of a row: they are more than its packets. */
static void
traceroutes_are_many(void **state)
{
	struct rec_pingmesh agents = {
		.time_factor_ppm = 1000, .timeout_ps = MS, .upload_ps = 1, .period_ps = 20 * MS, .pinglist_ps = MS
	};
	struct rec_drop_row drop = { .last = records_tuple(H19, H18, 91),
				     .port = 1,
				     .reason = REC_DROP_TTL,
				     .packets = 41,
				     .last_ps = RECORD_MAX_PS - 1 };
	struct records r;
	struct verdict *v;

	(void)state;
	case_fabric(&r);
	records_step(&r, 1, H17, REC_NONE, 0, 80 * MS);
	RECORDS_PUT(&r, agents, REC_PINGMESH, REC_NONE, 0);
	for (uint32_t i = 0; i < MANY; i++) {
		struct rec_rnic rnic = { .ip = F17.src_ip, .tor = SW6 };

		RECORDS_PUT(&r, rnic, REC_RNIC, H17, 1);
	}
	RECORDS_PUT(&r, drop, REC_DROP_ROW, SW6, RECORD_MAX_PS);
	records_end(&r, REC_END_COMPLETE, RECORD_MAX_PS);
	v = case_diagnose(&r);
	assert_null(case_find(v, FINDING_FORWARDING_LOOP, "6:2", NULL));
	assert_int_equal(vedrfolnir_of(v)->unjudged.traces, 1);
	verdict_destroy(v);
	records_fini(&r);
}

#define ORDERS 8193 /* squared, more than RUN_MAX_AFTER */

/* Orders of collectives hold in every iteration: few records, and many orders. */
static void
orders_are_bounded(void **state)
{
	struct verdict *v = NULL;
	struct err err = { 0 };
	struct evidence ev;
	struct records r;

	(void)state;
	case_fabric(&r);
	for (uint32_t i = 0; i < ORDERS; i++) {
		struct rec_collective c = { .id = 5, .job = 1, .iteration = i, .ranks = 1, .steps = 1, .rank_steps = 1 };

		RECORDS_PUT(&r, c, REC_COLLECTIVE, REC_NONE, 0);
		c.id = 6 + i;
		c.iteration = 0;
		RECORDS_PUT(&r, c, REC_COLLECTIVE, REC_NONE, 0);
	}
	for (uint32_t i = 0; i < ORDERS; i++) {
		struct rec_follow follow = { .collective = 5, .after = 6 + i };

		RECORDS_PUT(&r, follow, REC_FOLLOW, REC_NONE, 0);
	}
	records_evidence(&r, &ev);
	assert_int_equal(registry_diagnose(&ev, &v, &err), -E2BIG);
	assert_non_null(strstr(err.text, "FOLLOW: more than 67108864"));
	evidence_fini(&ev);
	records_fini(&r);
}

static void
sums_are_written(void **state)
{
	json_t *most = value_cost(1e300), *least = value_cost(-1e300);

	(void)state;
	assert_int_equal(fmt_ps(1e300), 1ULL << 63);
	assert_int_equal(fmt_ps(-1), 0);
	assert_int_equal(fmt_ps(7.9), 7);
	assert_true(json_integer_value(most) == 1LL << 62);
	assert_true(json_integer_value(least) == -(1LL << 62));
	json_decref(most);
	json_decref(least);
}

UNIT_TEST(extremes)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_add_up),         cmocka_unit_test(paths_add_up),
		cmocka_unit_test(jobs_add_up),          cmocka_unit_test(orders_are_bounded),
		cmocka_unit_test(traceroutes_are_many), cmocka_unit_test(sums_are_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
