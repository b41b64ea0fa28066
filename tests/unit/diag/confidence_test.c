/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far findings and the word on the network are to be trusted: by what was measured, what arrived, who else claims
 * it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/wire/record.h"
#include "diag/report/facts.h"
#include "diag/vedrfolnir/cause/cause.h"
#include "tests/unit/diag/case.h"
#include "tests/unit/unit.h"

#define CLOSE 1e-9

static void
test_rules(void **state)
{
	(void)state;
	/* nothing but inferred: as likely as not; half measured: half of the rest */
	assert_float_equal(confidence_inferred(0, 0), 0.5, CLOSE);
	assert_float_equal(confidence_inferred(0.5, 0), 0.25, CLOSE);
	assert_float_equal(confidence_inferred(0.5, 1), 1.0 / 3, CLOSE);
	assert_float_equal(confidence_inferred(1, 1), 0, CLOSE);
	assert_float_equal(confidence_seen(0), 0.5, CLOSE);
	assert_float_equal(confidence_seen(1), 2.0 / 3, CLOSE);
	assert_float_equal(confidence_seen(98), 0.99, CLOSE);
	/* room for both; both want all of it; one wants all and the other a half: of that half it has two thirds */
	assert_float_equal(confidence_undisputed(40, 60, 100), 1, CLOSE);
	assert_float_equal(confidence_undisputed(100, 100, 100), 0.5, CLOSE);
	assert_float_equal(confidence_undisputed(100, 50, 100), (50 + 50 * 2.0 / 3) / 100, CLOSE);
	assert_float_equal(confidence_undisputed(50, 100, 100), 1.0 / 3, CLOSE);
	assert_float_equal(confidence_undisputed(0, 100, 100), 1, CLOSE);
}

/*
 * 17->18 takes 80 ms in its first step, behind 13->19 for so many packets; the others take what is expected.
 * @param next  as many of 15->18's are ahead at the next switch
 */
static void
contend(struct records *r, uint64_t packets, uint32_t reported, uint32_t resent, uint64_t next)
{
	struct rec_step slow = { .step = 1,
				 WAITED_NONE,
				 .retransmits = resent,
				 .bytes = 360000000,
				 .acked_bytes = 360000000,
				 .end_ps = 80 * MS };

	case_fabric(r);
	RECORDS_PUT(r, slow, REC_STEP, H17, 80 * MS);
	if (reported > 1)
		records_step(r, 1, H15, REC_NONE, 0, EXPECT);
	if (reported > 2)
		records_step(r, 2, H15, H17, 80 * MS, 80 * MS + EXPECT);
	if (reported > 3)
		records_step(r, 2, H17, REC_NONE, 80 * MS, 80 * MS + EXPECT);
	case_contention(r, SW6, 1, 0, 79, 60, F17, packets, BF2, packets);
	if (next != 0)
		case_contention(r, SW3, 1, 0, 79, 60, F17, next, BF1, next);
}

static struct verdict *
contended_by(uint64_t packets, uint32_t reported, uint32_t resent, uint64_t next)
{
	struct records r;

	contend(&r, packets, reported, resent, next);
	return case_conclude(&r, REC_END_COMPLETE);
}

static struct verdict *
contended(uint64_t packets, uint32_t reported, uint32_t resent)
{
	return contended_by(packets, reported, resent, 0);
}

#define PACKETS 276924 /* of 360 MB */

static double
confidence_of(struct verdict *v, double *all, const char *word)
{
	const struct finding *finding = case_find(v, FINDING_FLOW_CONTENTION, "6:2", "13->19/78>78");
	double confidence;

	assert_non_null(finding);
	assert_string_equal(facts_word(v), word);
	confidence = finding->confidence;
	*all = verdict_claim(v)->confidence;
	verdict_destroy(v);
	return confidence;
}

static void
test_measured(void **state)
{
	double all;

	(void)state;
	/* every packet was reported at the port where it waited */
	assert_float_equal(confidence_of(contended(PACKETS, 4, 0), &all, "guilty"), 1, 0.001);
	assert_true(all > 0.5 && all <= 1);
	/* half of them, in 80 epochs: the others are inferred */
	assert_float_equal(confidence_of(contended(PACKETS / 2, 4, 0), &all, "guilty"), 0.5 + 0.5 * 81 / 82, 0.001);
}

/* Another queue claims the same time: of packets that were counted in this one that explains none, of the others some. */
static void
test_disputed(void **state)
{
	double all, half;

	(void)state;
	assert_float_equal(confidence_of(contended_by(PACKETS, 4, 0, PACKETS), &all, "guilty"), 1, 0.001);
	half = confidence_of(contended_by(PACKETS / 2, 4, 0, PACKETS), &all, "guilty");
	assert_true(half > 0.5 && half < 0.95);
}

/* Of four steps one was reported: as likely as not the others hide its effect. */
static void
test_reported(void **state)
{
	double all;

	(void)state;
	assert_float_equal(confidence_of(contended(PACKETS, 1, 0), &all, "guilty"), 0.625, 0.001);
	assert_true(all <= 0.625);
	assert_float_equal(confidence_of(contended(PACKETS, 3, 0), &all, "guilty"), 0.875, 0.001);
}

/*
 * 17->18's first step is open when the run ends, and so both second steps wait: their reports are not missing. Of a stream
 * without an end they may be.
 */
static struct verdict *
open_at_end(bool ended, enum rec_end_reason reason)
{
	struct rec_step open = { .step = 1, WAITED_NONE, .bytes = 360000000, .acked_bytes = 100000000, .open = 1 };
	struct records r;
	struct verdict *v;

	case_fabric(&r);
	RECORDS_PUT(&r, open, REC_STEP, H17, 80 * MS);
	records_step(&r, 1, H15, REC_NONE, 0, EXPECT);
	case_contention(&r, SW6, 1, 0, 79, 60, F17, PACKETS, BF2, PACKETS);
	if (ended)
		return case_conclude(&r, reason);
	v = case_diagnose(&r);
	records_fini(&r);
	return v;
}

static void
test_waiting_is_not_missing(void **state)
{
	static const enum rec_end_reason reasons[] = { REC_END_STALL, REC_END_QP_ERROR, REC_END_VIRTUAL_TIME };
	struct verdict *v;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
		v = open_at_end(true, reasons[i]);
		assert_int_equal(v->run.missing.steps, 0);
		assert_int_equal(v->run.missing.waiting, 2);
		assert_float_equal(v->run.overhead.completeness, 1, CLOSE);
		assert_null(strstr(case_incomplete(v), "never reported"));
		assert_float_equal(v->findings[0].confidence, 1, 0.001);
		assert_false(verdict_claim(v)->innocent);
		verdict_destroy(v);
	}
	v = open_at_end(false, REC_END_STALL);
	assert_int_equal(v->run.missing.steps, 2);
	assert_float_equal(v->findings[0].confidence, 0.75, 0.001);
	verdict_destroy(v);
}

static void
test_uncertainty_is_printed(void **state)
{
	struct rec_gap gap = { .kind = REC_FLOW_ROW, .dropped = 9000, .dropped_bytes = 9000 * 88, .to_ps = 80 * MS };
	struct records r;
	struct verdict *v;

	(void)state;
	contend(&r, PACKETS, 1, 0, 0);
	RECORDS_PUT(&r, gap, REC_GAP, REC_NONE, 80 * MS);
	v = case_conclude(&r, REC_END_COMPLETE);
	assert_int_equal(verdict_claim(v)->kind, CLAIM_UNCERTAIN);
	assert_non_null(strstr(case_reason(v), "points to flow-contention at 6:2, but is insufficient (confidence 0.0"));
	assert_non_null(strstr(case_incomplete(v), "3 of 4 steps were never reported"));
	verdict_destroy(v);
}

/*
 * Sent again, and the loss found: the queue's claim and the loss's are beside each other. Innocence is known or not
 * said.
 */
static void
test_innocent(void **state)
{
	struct records r;
	struct verdict *v;

	(void)state;
	case_fabric(&r);
	records_step(&r, 1, H15, REC_NONE, 0, EXPECT);
	records_step(&r, 1, H17, REC_NONE, 0, EXPECT);
	records_step(&r, 2, H15, H17, EXPECT, 2 * EXPECT);
	records_step(&r, 2, H17, REC_NONE, EXPECT, 2 * EXPECT);
	v = case_conclude(&r, REC_END_COMPLETE);
	assert_string_equal(facts_word(v), "innocent");
	assert_float_equal(verdict_claim(v)->confidence, 1, CLOSE);
	verdict_destroy(v);
}

UNIT_TEST(confidence)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_measured),
		cmocka_unit_test(test_reported),
		cmocka_unit_test(test_uncertainty_is_printed),
		cmocka_unit_test(test_innocent),
		cmocka_unit_test(test_disputed),
		cmocka_unit_test(test_waiting_is_not_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
