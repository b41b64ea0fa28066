/* SPDX-License-Identifier: BSD-3-Clause */
/* Time to detection: by what crossed the socket, when it crossed, and in a bounded number of looks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/record/frame.h"
#include "common/wire/ending.h"
#include "diag/detection.h"
#include "tests/unit/diag/collect_rig.h"
#include "tests/unit/unit.h"

#define MS PS_PER_MS

/* ---- a diagnoser that goes by how many steps were reported to it ---- */

static const struct finding_type counted = { .key = "counted", .title = "counted", .traits = FINDING_UNTIMED };

static void
report(struct section *section, const char *root)
{
	struct finding *finding = &section->findings[section->nfindings++];

	*finding = (struct finding){ .type = &counted, .root_port = RUN_NONE, .origin_port = RUN_NONE };
	strcpy(finding->root, root);
}

static bool reported_at_once; /* it says when it says it */

static int
count(const struct evidence *ev, const struct run *run, const void *options, struct section *section, struct err *err)
{
	uint64_t steps = ev->kinds[REC_STEP];

	(void)run;
	(void)options;
	(void)err;
	section->findings = calloc(4, sizeof(*section->findings));
	assert_non_null(section->findings);
	section->claim = (struct claim){ .kind = CLAIM_UNTIMED };
	if (steps == 1 || steps >= 3)
		report(section, "comes and goes");
	if (steps >= 2)
		report(section, "two");
	if (steps >= 4)
		report(section, "four");
	if (ev->ended)
		report(section, "over");
	for (uint32_t i = 0; reported_at_once && i < section->nfindings; i++)
		section->findings[i].detected_ps = section->findings[i].undetected_ps = 7 * MS;
	return 0;
}

static const struct diagnoser counter = { .name = "counter",
					  .reads = DIAGNOSER_READS(REC_STEP) | DIAGNOSER_READS(REC_RUN),
					  .diagnose = count };
static const struct diagnosis asked = { .by = &counter };

/* ---- streams ---- */

/* What was reported at one time crosses the socket at a later one. */
static void
cross(struct records *r, uint32_t step, uint32_t src, uint64_t end_ps, uint64_t sent_ps)
{
	static struct recframe frame;
	struct records one;

	records_init(&one);
	memcpy(one.rank_of, r->rank_of, sizeof(one.rank_of));
	one.seq = r->seq;
	records_step(&one, step, src, REC_NONE, 0, end_ps);
	r->seq = one.seq;
	r->reports += one.reports;
	r->report_bytes += one.report_bytes;
	recframe_begin(&frame, sent_ps);
	assert_true(recframe_put(&frame, (const void *)(one.data + sizeof(struct rec_stream))));
	records_append(r, recframe_end(&frame), frame.used_bytes);
	records_fini(&one);
}

static void
four_steps(struct records *r)
{
	two_hosts(r);
	cross(r, 1, 1, 10 * MS, 21 * MS);
	cross(r, 1, 2, 10 * MS, 22 * MS);
	cross(r, 2, 1, 20 * MS, 23 * MS);
	cross(r, 2, 2, 20 * MS, 24 * MS);
}

static struct verdict *
diagnose(const struct records *r)
{
	struct verdict *verdict = NULL;
	struct evidence ev;
	struct err err;

	if (decode(r, r->used_bytes, &ev, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(verdict_build(&ev, &asked, 1, &verdict, &err), 0);
	assert_int_equal(detection_times(r->data, r->used_bytes, &asked, 1, verdict, &err), 0);
	evidence_fini(&ev);
	return verdict;
}

static void
detected(const struct verdict *verdict, const char *root, uint64_t undetected_ps, uint64_t detected_ps)
{
	for (uint32_t i = 0; i < verdict->nfindings; i++) {
		if (strcmp(verdict->findings[i].root, root) != 0)
			continue;
		assert_int_equal(verdict->findings[i].undetected_ps, undetected_ps);
		assert_int_equal(verdict->findings[i].detected_ps, detected_ps);
		return;
	}
	fail_msg("no finding \"%s\"", root);
}

/* What is known lies around the moment, and is no wider than a part of the time until it. */
static void
detected_around(const struct verdict *verdict, const char *root, uint64_t moment_ps, double most)
{
	for (uint32_t i = 0; i < verdict->nfindings; i++) {
		const struct finding *finding = &verdict->findings[i];

		if (strcmp(finding->root, root) != 0)
			continue;
		assert_true(finding->undetected_ps < moment_ps && moment_ps <= finding->detected_ps);
		assert_true((double)(finding->detected_ps - finding->undetected_ps) <= most * (double)finding->detected_ps);
		return;
	}
	fail_msg("no finding \"%s\"", root);
}

static void
it_is_when_it_crossed(void **state)
{
	struct verdict *verdict;
	struct records r;

	(void)state;
	four_steps(&r);
	records_end(&r, REC_END_COMPLETE, 30 * MS);
	verdict = diagnose(&r);
	assert_int_equal(verdict->nfindings, 4);
	detected(verdict, "two", 21 * MS, 22 * MS);
	detected(verdict, "four", 23 * MS, 24 * MS);
	detected(verdict, "comes and goes", 0, 21 * MS);
	detected(verdict, "over", 24 * MS, 30 * MS);
	verdict_destroy(verdict);
	records_fini(&r);
}

/* The last that crossed brought it, where the stream broke off. */
static void
it_needs_no_end(void **state)
{
	struct verdict *verdict;
	struct records r;

	(void)state;
	four_steps(&r);
	verdict = diagnose(&r);
	assert_int_equal(verdict->nfindings, 3);
	detected(verdict, "four", 23 * MS, 24 * MS);
	verdict_destroy(verdict);
	records_fini(&r);
}

static void
what_crossed_at_once_is_one_moment(void **state)
{
	struct verdict *verdict;
	struct records r;

	(void)state;
	two_hosts(&r);
	cross(&r, 1, 1, 10 * MS, 21 * MS);
	cross(&r, 1, 2, 10 * MS, 21 * MS);
	cross(&r, 2, 1, 20 * MS, 25 * MS);
	cross(&r, 2, 2, 20 * MS, 25 * MS);
	verdict = diagnose(&r);
	detected(verdict, "two", 0, 21 * MS);
	detected(verdict, "four", 21 * MS, 25 * MS);
	assert_true(verdict->prefixes <= 3);
	verdict_destroy(verdict);
	records_fini(&r);
}

/* Findings at many places in a long stream: what is known of each lies around the moment, however few looks there are. */
static void
looks_are_bounded(void **state)
{
	struct verdict *verdict;
	struct records r;

	(void)state;
	two_hosts(&r);
	cross(&r, 1, 1, 10 * MS, 21 * MS);
	for (uint32_t i = 0; i < 3000; i++) {
		struct rec_port_row row = records_port_row(0, i, i, 1, 1, 1);

		if (i == 1234)
			cross(&r, 1, 2, 10 * MS, 1500 * MS);
		row.hdr.time_ps = 0;
		RECORDS_PUT(&r, row, REC_PORT_ROW, 0, (i + 100) * MS + (i > 1234 ? 1000 * MS : 0));
	}
	cross(&r, 2, 1, 20 * MS, 5000 * MS);
	cross(&r, 2, 2, 20 * MS, 5001 * MS);
	records_end(&r, REC_END_COMPLETE, 5002 * MS);
	verdict = diagnose(&r);
	assert_in_range(verdict->prefixes, 2, DETECTION_PREFIXES + 1);
	detected_around(verdict, "two", 1500 * MS, 0.2); /* a ninth of it passes with nothing in between */
	detected_around(verdict, "four", 5001 * MS, 0.5);
	detected_around(verdict, "over", 5002 * MS, 0.5);
	verdict_destroy(verdict);
	records_fini(&r);
}

/* Nothing is diagnosed again of what says when it was said. */
static void
who_reports_a_time_is_believed(void **state)
{
	struct verdict *verdict;
	struct records r;

	(void)state;
	four_steps(&r);
	reported_at_once = true;
	verdict = diagnose(&r);
	reported_at_once = false;
	assert_int_equal(verdict->prefixes, 1);
	detected(verdict, "four", 7 * MS, 7 * MS);
	verdict_destroy(verdict);
	records_fini(&r);
}

UNIT_TEST(detection)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_when_it_crossed),
		cmocka_unit_test(it_needs_no_end),
		cmocka_unit_test(what_crossed_at_once_is_one_moment),
		cmocka_unit_test(looks_are_bounded),
		cmocka_unit_test(who_reports_a_time_is_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
