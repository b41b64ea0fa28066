/* SPDX-License-Identifier: BSD-3-Clause */
/* From records to a verdict: the case study, a clean run, and evidence that is not whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/wire/record.h"
#include "diag/collect/stream.h"
#include "tests/unit/diag/case.h"
#include "tests/unit/unit.h"

/* Eq. 2 and 3 of the case study. */
static void
expect_contributors(const struct verdict *v)
{
	const struct contributor *contributors = vedrfolnir_of(v)->contributors;

	assert_int_equal(vedrfolnir_of(v)->ncontributors, 2);
	assert_string_equal(v->run.flows[contributors[0].flow].name, "13->19/78>78");
	assert_string_equal(v->run.flows[contributors[1].flow].name, "15->18/77>77");
	assert_true(contributors[0].score > 10 * contributors[1].score);
	assert_int_equal(contributors[0].nshares, 2);
	assert_int_equal(contributors[1].nshares, 1);
	assert_int_equal(contributors[1].shares[0].step, 0);
	/*
	 * Eq. 2 for 15->18 in step 1: at 6:2 what 17->18 waited for, 2084892.1; at 2:3, wholly fed to 6:2, what 6:2
	 * owes to it: 69000/139000 * 139000 * 60 = 4140000. Eq. 3: of the excess 16.25 and 39.25 ms are in step 1, 2.
	 */
	assert_float_equal((float)contributors[1].shares[0].score, 6224892.1f, 1.0f);
	assert_float_equal((float)contributors[1].score, 6224892.1f * 16.25f / 55.5f, 10.0f);
}

/*
 * Lost are 16.25 and 39.25 ms. Step 1: 15->18 passed 69000 packets and 13->19 so many that both took more than that.
 */
static void
expect_budget(const struct verdict *v, const struct finding *bf1, const struct finding *bf2, const struct finding *pfc)
{
	const struct time_budget *budget = &vedrfolnir_of(v)->budgets[0];
	double sum_ps = 0;

	assert_float_equal((float)(budget->lost_ps / 1e9), 16.25f + 39.25f, 1e-3f);
	for (uint32_t i = 0; i < v->nfindings; i++)
		sum_ps += v->findings[i].critical_ps;
	assert_float_equal((float)(budget->explained_ps / 1e9), (float)(sum_ps / 1e9), 1e-3f);
	assert_true(sum_ps <= budget->lost_ps);
	assert_true(pfc->critical_ps > bf2->critical_ps && bf2->critical_ps > bf1->critical_ps);
	assert_true(pfc->critical_ps < pfc->explained_ps && bf1->critical_ps <= 69000 * 1348 * 8e1 * 10);
	assert_string_equal(v->findings[0].root, "6:2");
	assert_true(v->findings[0].critical_ps >= v->findings[1].critical_ps);
}

static void
test_case_study(void **state)
{
	const struct finding *bf1, *bf2, *nic, *pfc;
	struct records r;
	struct verdict *v;

	case_study(&r);
	records_end(&r, REC_END_COMPLETE, 117 * MS);
	v = case_diagnose(&r);
	assert_false(verdict_claim(v)->innocent);
	assert_true(v->run.collectives[0].complete);
	assert_int_equal(v->run.collectives[0].end_ps, 117 * MS);

	/* rank 0 is 17: its steps are 0 and 1 */
	assert_int_equal(vedrfolnir_of(v)->waiting[0].npath, 2);
	assert_int_equal(vedrfolnir_of(v)->waiting[0].path[0], 0);
	assert_int_equal(vedrfolnir_of(v)->waiting[0].path[1], 1);
	assert_true(vedrfolnir_of(v)->steps[0].critical && vedrfolnir_of(v)->steps[1].critical && v->run.steps[0].slow &&
		    v->run.steps[1].slow);
	assert_true(v->run.steps[2].slow && !vedrfolnir_of(v)->steps[2].critical);
	assert_false(v->run.steps[3].slow);

	bf2 = case_find(v, FINDING_FLOW_CONTENTION, "6:2", "13->19/78>78");
	bf1 = case_find(v, FINDING_FLOW_CONTENTION, "6:2", "15->18/77>77");
	nic = case_find(v, FINDING_FLOW_CONTENTION, "15:1", "15->18/77>77");
	pfc = case_find(v, FINDING_PFC_BACKPRESSURE, "6:2", NULL);
	assert_true(bf1 != NULL && bf2 != NULL && nic != NULL && pfc != NULL);
	assert_int_equal(v->nfindings, 4);
	/* w(17->18, 15->18) = 70000 * 60 * 69000 / 139000 */
	assert_float_equal((float)bf1->score, 2084892.1f, 1.0f);
	/* w(17->18, 13->19) = 79000 * 150 / 2 + 277000 * 150 * 331000 / 608000 */
	assert_float_equal((float)bf2->score, 28545148.0f, 4.0f);
	assert_float_equal((float)nic->score, 69000.0f, 0.1f);
	assert_int_equal(bf1->nsteps, 1);
	assert_int_equal(bf2->nsteps, 2);
	assert_int_equal(bf1->start_ps, 5 * MS);
	assert_int_equal(bf1->end_ps, 20 * MS);
	assert_true(case_has_port(v, pfc, "2:3"));
	assert_true(case_has_port(v, pfc, "6:2"));
	assert_string_equal(v->run.flows[pfc->victims[0]].name, "17->18/10000>10000");
	assert_string_equal(v->run.flows[pfc->flows[0]].name, "13->19/78>78");
	expect_budget(v, bf1, bf2, pfc);
	assert_true(nic->regained_ps == 0);
	assert_true(nic->critical_ps < bf2->critical_ps); /* beside the critical path: what it costs without the others */
	expect_contributors(v);
	assert_string_equal(case_incomplete(v), "");
	assert_false(v->run.truncated);
	verdict_destroy(v);
	records_fini(&r);
}

/* An end that says less than the records before it: of a time that is over, of bytes that were dropped. */
static void
test_end_that_reports_less(void **state)
{
	struct rec_end end = { .reason = REC_END_COMPLETE,
			       .at_node = REC_NONE,
			       .end_ps = 60 * MS,
			       .offered_records = 1,
			       .dropped_records = 1 };
	struct rec_gap gap = { .kind = REC_STEP, .dropped = 1, .dropped_bytes = sizeof(struct rec_step), .to_ps = MS };
	struct records r;
	struct verdict *v;

	(void)state;
	case_study(&r);
	RECORDS_PUT(&r, gap, REC_GAP, REC_NONE, 117 * MS);
	RECORDS_PUT(&r, end, REC_END, REC_NONE, 117 * MS);
	v = case_diagnose(&r);
	assert_int_equal(v->run.end_ps, 117 * MS);
	for (uint32_t i = 0; i < v->nfindings; i++)
		assert_true(v->findings[i].end_ps <= v->run.end_ps);
	assert_int_equal(v->run.overhead.dropped, 1);
	assert_true(v->run.overhead.completeness < 1);
	verdict_destroy(v);
	records_fini(&r);
}

static void
test_clean(void **state)
{
	struct records r;
	struct verdict *v;

	case_fabric(&r);
	records_step(&r, 1, H15, REC_NONE, 0, EXPECT);
	records_step(&r, 1, H17, REC_NONE, 0, EXPECT + EXPECT / 200); /* half a percent is nothing */
	records_step(&r, 2, H15, H17, EXPECT + EXPECT / 200, 2 * EXPECT + EXPECT / 200);
	records_step(&r, 2, H17, REC_NONE, EXPECT + EXPECT / 200, 2 * EXPECT);
	/* A shared queue by itself is no finding: nobody was slow. */
	case_contention(&r, SW6, 1, 5, 19, 60, F17, 70000, BF1, 69000);
	records_end(&r, REC_END_COMPLETE, 2 * EXPECT + EXPECT / 200);
	v = case_diagnose(&r);
	assert_int_equal(v->nfindings, 0);
	assert_int_equal(vedrfolnir_of(v)->ncontributors, 0);
	assert_true(verdict_claim(v)->innocent);
	assert_non_null(strstr(case_reason(v), "Every step"));
	verdict_destroy(v);
	records_fini(&r);
}

/* Silence means nothing where telemetry was lost. */
static void
storm_unknown(struct rec_gap *gaps, uint32_t count)
{
	struct records r;
	struct verdict *v;

	case_stormy(&r);
	for (uint32_t i = 0; i < count; i++)
		RECORDS_PUT(&r, gaps[i], REC_GAP, REC_NONE, gaps[i].to_ps);
	records_end(&r, REC_END_STALL, 80 * MS);
	((struct rec_end *)(r.data + r.used_bytes - sizeof(struct rec_end)))->dropped_records = 5;
	((struct rec_end *)(r.data + r.used_bytes - sizeof(struct rec_end)))->offered_records += 5;
	((struct rec_end *)(r.data + r.used_bytes - sizeof(struct rec_end)))->offered_bytes += 800;
	v = case_diagnose(&r);
	assert_int_equal(v->nfindings, 0);
	assert_false(verdict_claim(v)->innocent);
	assert_non_null(strstr(case_reason(v), "incomplete"));
	assert_non_null(strstr(case_incomplete(v), "5 records"));
	assert_true(v->run.overhead.completeness < 1 && v->run.overhead.completeness > 0);
	/* sent in step 1: a port row, a flow row and a poll; lost: 800 B */
	assert_float_equal((float)v->run.steps[0].completeness, 304.0f / 1104, 1e-5f);
	assert_float_equal((float)v->run.steps[3].completeness, 1.0f, 1e-6f);
	verdict_destroy(v);
	records_fini(&r);
}

/* Lost over a time, in one moment, or in several. */
static void
test_storm_unknown(void **state)
{
	struct rec_gap long_one = {
		.kind = REC_PORT_ROW, .dropped = 5, .dropped_bytes = 800, .from_ps = 10 * MS, .to_ps = 30 * MS
	};
	struct rec_gap moment = long_one, several[3];

	(void)state;
	storm_unknown(&long_one, 1);
	moment.from_ps = moment.to_ps;
	storm_unknown(&moment, 1);
	for (uint32_t i = 0; i < 3; i++)
		several[i] = (struct rec_gap){ .kind = REC_PORT_ROW,
					       .dropped = i == 0 ? 3 : 1,
					       .dropped_bytes = i == 0 ? 480 : 160,
					       .from_ps = (30 + 10 * i) * MS,
					       .to_ps = (30 + 10 * i) * MS };
	storm_unknown(several, 3);
}

static void
test_truncated(void **state)
{
	struct records r;
	struct verdict *v;

	case_fabric(&r);
	records_step(&r, 1, H15, REC_NONE, 0, EXPECT);
	v = case_diagnose(&r);
	assert_true(v->run.truncated);
	assert_false(v->run.collectives[0].complete);
	assert_non_null(strstr(case_incomplete(v), "without its end record"));
	assert_non_null(strstr(case_incomplete(v), "3 of 4 steps"));
	assert_false(verdict_claim(v)->innocent);
	assert_float_equal((float)v->run.overhead.completeness, 0.0f, 1e-6f);
	verdict_destroy(v);
	records_fini(&r);
}

/* Stuck for good: open steps, and the path ends in the one that started. */
static void
test_open(void **state)
{
	struct rec_step open = { .step = 1, WAITED_NONE, .open = 1, .bytes = 360000000 };
	struct rec_step next = { .rank = 1, .step = 2, .waited_step = 1, .open = REC_STEP_WAITS };
	struct rec_port_row answer = records_port_row(0, 19, 19, 0, 0, 0);
	struct records r;
	struct verdict *v;

	case_stormy(&r);
	answer.ingress_xoff_bytes = 90000;
	answer.hdr.event = STORMY_EVENT;
	records_put_port(&r, SW6, answer);
	records_step(&r, 1, H15, REC_NONE, 0, EXPECT);
	/* The later report of the step replaces the one of case_stormy(). */
	RECORDS_PUT(&r, open, REC_STEP, H17, 90 * MS);
	RECORDS_PUT(&r, next, REC_STEP, H15, 90 * MS);
	records_end(&r, REC_END_STALL, 90 * MS);
	v = case_diagnose(&r);
	assert_int_equal(vedrfolnir_of(v)->waiting[0].npath, 1);
	assert_int_equal(vedrfolnir_of(v)->waiting[0].path[0], 0);
	assert_true(v->run.steps[0].open && v->run.steps[0].started);
	assert_int_equal(v->run.steps[0].end_ps, 90 * MS);
	assert_true(v->run.steps[3].open && !v->run.steps[3].started);
	assert_false(v->run.collectives[0].complete);
	assert_non_null(case_find(v, FINDING_PFC_STORM, "6:1", NULL));
	verdict_destroy(v);
	records_fini(&r);
}

/* Rows may come in any order and more than once: the verdict is the same to the bit. */
static void
test_order(void **state)
{
	struct records r, shuffled;
	struct verdict *v, *w;
	size_t at, headers;

	case_study(&r);
	case_fabric(&shuffled);
	headers = shuffled.used_bytes;
	for (int pass = 0; pass < 2; pass++) {
		for (at = headers; at < r.used_bytes; at += ((struct rec_hdr *)(r.data + at))->size) {
			struct rec_hdr *hdr = (struct rec_hdr *)(r.data + at);
			uint64_t copy[STREAM_MAX_RECORD / 8];

			if ((pass == 0) != (hdr->seq % 2 == 1))
				continue;
			memcpy(copy, hdr, hdr->size);
			records_put(&shuffled, copy, hdr->type, hdr->size, hdr->node, hdr->time_ps);
			records_put(&shuffled, copy, hdr->type, hdr->size, hdr->node, hdr->time_ps);
		}
	}
	records_end(&r, REC_END_COMPLETE, 117 * MS);
	records_end(&shuffled, REC_END_COMPLETE, 117 * MS);
	v = case_diagnose(&r);
	w = case_diagnose(&shuffled);
	assert_int_equal(v->nfindings, w->nfindings);
	for (uint32_t i = 0; i < v->nfindings; i++) {
		assert_memory_equal(&v->findings[i].score, &w->findings[i].score, sizeof(double));
		assert_string_equal(case_evidence(v, &v->findings[i]), case_evidence(w, &w->findings[i]));
	}
	for (uint32_t i = 0; i < vedrfolnir_of(v)->ncontributors; i++)
		assert_memory_equal(&vedrfolnir_of(v)->contributors[i].score, &vedrfolnir_of(w)->contributors[i].score,
				    sizeof(double));
	verdict_destroy(v);
	verdict_destroy(w);
	records_fini(&r);
	records_fini(&shuffled);
}

UNIT_TEST(verdict)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_case_study), cmocka_unit_test(test_end_that_reports_less),
		cmocka_unit_test(test_clean),      cmocka_unit_test(test_storm_unknown),
		cmocka_unit_test(test_truncated),  cmocka_unit_test(test_open),
		cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
