/* SPDX-License-Identifier: BSD-3-Clause */
/* What leaves when the budget is short: the relevant first, what waits within bounds, and what is lost is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/record/kinds.h"
#include "common/units.h"
#include "common/wire/record.h"
#include "emulation/recorder/exporter.h"
#include "tests/unit/emulation/exporter_rig.h"

static void
budget_defers_to_the_picosecond(void **state)
{
	struct exporter_stats stats;
	struct bench b;

	/* 20 polls of 56 B against 1024 B: 18 leave at once, 16 B stay; the others are 40 B and 56 B short. */
	bench_open(&b, MB_A_SECOND, 1024, 4096, -1);
	for (int i = 0; i < 20; i++)
		bench_report(&b, 0, REC_POLL, 0);
	bench_offer(&b, 40 * PS_PER_US - 1);
	exporter_stats(b.exporter, &stats);
	assert_int_equal(stats.all.sent_records, 18);
	assert_int_equal(stats.waiting_records, 2);
	assert_int_equal(stats.waiting_bytes, 112);
	bench_offer(&b, 40 * PS_PER_US);
	exporter_stats(b.exporter, &stats);
	assert_int_equal(stats.all.sent_records, 19);
	bench_offer(&b, 96 * PS_PER_US - 1);
	exporter_stats(b.exporter, &stats);
	assert_int_equal(stats.all.sent_records, 19);
	bench_offer(&b, 96 * PS_PER_US);
	exporter_stats(b.exporter, &stats);
	assert_int_equal(stats.all.sent_records, 20);
	assert_int_equal(stats.all.sent_bytes, 1120);
	assert_int_equal(stats.all.deferred_records, 2);
	assert_int_equal(stats.all.dropped_records, 0);
	assert_int_equal(stats.gap_records, 0);
	bench_finish(&b, PS_PER_MS);
	bench_close(&b);
}

static void
relevant_records_leave_first(void **state)
{
	struct bench b;

	bench_open(&b, MB_A_SECOND, 1024, 4096, -1);
	for (int i = 0; i < 11; i++)
		bench_report(&b, 0, REC_FLOW_ROW, 0); /* 968 of 1024 B, within the budget */
	bench_offer(&b, 1);
	bench_report(&b, 0, REC_MATRIX_ROW, 1000);
	bench_report(&b, 0, REC_NOTIFY, 1000);
	bench_report(&b, 0, REC_METER_ROW, 1000);
	bench_report(&b, 0, REC_FLOW_ROW, 1000);
	bench_report(&b, 0, REC_DROP_ROW, 1000);
	bench_report(&b, 0, REC_PORT_ROW, 1000);
	bench_report(&b, 0, REC_POLL, 1000);
	bench_report(&b, 1, REC_STEP, 1000);
	bench_offer(&b, PS_PER_US);
	bench_report(&b, 1, REC_TRIGGER, 2 * PS_PER_US);
	bench_offer(&b, PS_PER_S);
	bench_finish(&b, PS_PER_S);
	/* Steps first; then triggers, polls and ports in order of arrival; then the rest. */
	bench_expect(&b, "34@0/10 34@0/10 34@0/10 34@0/10 34@0/10 34@0/10 34@0/10 34@0/10 34@0/10 34@0/10 34@0/10 "
			 "16@1/11 37@1/10 33@1/10 32@1/10 17@2000/11 34@1/10 35@1/10 36@1/10 18@1/10 "
			 "49@1000000000/-1");
	bench_close(&b);
}

static void
a_small_record_does_not_overtake_a_more_relevant_one(void **state)
{
	struct exporter_stats stats;
	struct bench b;

	/* Six port rows of 160 B leave, 64 B stay: too few for the seventh, enough for the 48 B of the other. */
	bench_open(&b, MB_A_SECOND, 1024, 4096, -1);
	for (int i = 0; i < 7; i++)
		bench_report(&b, 0, REC_PORT_ROW, 0);
	bench_report(&b, 0, REC_NOTIFY, 1000);
	bench_offer(&b, PS_PER_US);
	exporter_stats(b.exporter, &stats);
	assert_int_equal(stats.all.sent_records, 6);
	bench_finish(&b, PS_PER_MS);
	bench_expect(&b, "33@0/10 33@0/10 33@0/10 33@0/10 33@0/10 33@0/10 33@0/10 18@1/10 49@1000000/-1");
	bench_close(&b);
}

static void
no_more_waits_than_the_queue_holds(void **state)
{
	struct exporter_stats stats;
	struct bench b;

	bench_open(&b, MB_A_SECOND, 1024, 159, -1);
	for (int i = 0; i < 7; i++)
		bench_report(&b, 0, REC_PORT_ROW, 0);
	bench_offer(&b, 1);
	exporter_stats(b.exporter, &stats);
	assert_int_equal(stats.all.sent_records, 6);
	assert_int_equal(stats.waiting_records, 0);
	assert_int_equal(stats.all.dropped_records, 1);
	/* 64 B are left: enough for 48 B, but not with the 56 B that tell of the loss. */
	bench_report(&b, 0, REC_NOTIFY, 1000);
	bench_offer(&b, 1001);
	exporter_stats(b.exporter, &stats);
	assert_int_equal(stats.all.sent_records, 6);
	assert_int_equal(stats.waiting_records, 1);
	bench_finish(&b, 40 * PS_PER_US); /* 104 - 64 B more */
	bench_expect(&b, "33@0/10 33@0/10 33@0/10 33@0/10 33@0/10 33@0/10 48@40000/-1 18@1/10 49@40000/-1");
	bench_close(&b);
}

/* The next record is a gap. @return it */
static const struct rec_gap *
expect_gap(const uint8_t *data, size_t size_bytes, size_t *offset, uint16_t kind, uint32_t dropped)
{
	const struct rec_gap *gap = (const struct rec_gap *)(const void *)bench_next(data, size_bytes, offset);

	assert_non_null(gap);
	assert_int_equal(gap->hdr.type, REC_GAP);
	assert_int_equal(gap->kind, kind);
	assert_int_equal(gap->dropped, dropped);
	return gap;
}

static void
what_the_queue_cannot_hold_is_told(void **state)
{
	struct exporter_stats stats;
	const struct rec_gap *gap;
	const struct rec_hdr *hdr;
	struct bench b;
	size_t size_bytes, offset = sizeof(struct rec_stream);
	uint8_t *data;

	/* 12 * 80 + 56 = 1016 of 1024 B leave, then 8 B and a queue of 176 B: two flow rows. */
	bench_open(&b, MB_A_SECOND, 1024, 176, -1);
	for (int i = 0; i < 12; i++)
		bench_report(&b, 0, REC_TRIGGER, 0);
	bench_report(&b, 0, REC_POLL, 0);
	bench_report(&b, 0, REC_FLOW_ROW, 1000);
	bench_report(&b, 0, REC_FLOW_ROW, 2000);
	bench_report(&b, 0, REC_FLOW_ROW, 3000);  /* pushes the row of 1000 ps out */
	bench_report(&b, 0, REC_POLL, 4000);      /* 56 B push the row of 2000 ps out */
	bench_report(&b, 0, REC_METER_ROW, 5000); /* less relevant than what waits: lost itself */
	bench_offer(&b, 6000);
	exporter_stats(b.exporter, &stats);
	assert_int_equal(stats.all.sent_records, 13);
	assert_int_equal(stats.waiting_records, 2);
	assert_int_equal(stats.waiting_bytes, 88 + 56);
	assert_int_equal(stats.all.dropped_records, 3);
	assert_int_equal(stats.all.dropped_bytes, 88 + 56 + 88);
	/* The next to leave is the poll, with two gaps: 168 B, of which 8 B are there. */
	bench_offer(&b, 160 * PS_PER_US - 1);
	exporter_stats(b.exporter, &stats);
	assert_int_equal(stats.all.sent_records, 13);
	assert_int_equal(stats.gap_records, 0);
	bench_offer(&b, 160 * PS_PER_US);
	exporter_stats(b.exporter, &stats);
	assert_int_equal(stats.all.sent_records, 14);
	assert_int_equal(stats.gap_records, 2);
	bench_finish(&b, 200 * PS_PER_US); /* the row of 3000 ps still waits: lost at the end */

	data = bench_recording(&b, &size_bytes);
	for (int i = 0; i < 13; i++)
		bench_next(data, size_bytes, &offset);
	gap = expect_gap(data, size_bytes, &offset, REC_FLOW_ROW, 2);
	assert_int_equal(gap->hdr.time_ps, 160 * PS_PER_US);
	assert_int_equal(gap->dropped_bytes, 176);
	assert_int_equal(gap->from_ps, 1000);
	assert_int_equal(gap->to_ps, 2000);
	gap = expect_gap(data, size_bytes, &offset, REC_METER_ROW, 1);
	assert_int_equal(gap->dropped_bytes, 56);
	assert_int_equal(gap->from_ps, 5000);
	assert_int_equal(gap->to_ps, 5000);
	hdr = bench_next(data, size_bytes, &offset);
	assert_int_equal(hdr->type, REC_POLL);
	gap = expect_gap(data, size_bytes, &offset, REC_FLOW_ROW, 1);
	assert_int_equal(gap->from_ps, 3000);
	hdr = bench_next(data, size_bytes, &offset);
	assert_int_equal(hdr->type, REC_END);
	assert_null(bench_next(data, size_bytes, &offset));
	free(data);
	bench_close(&b);
}

static void
nothing_is_lost_uncounted(void **state)
{
	static const uint64_t budgets[] = { 0, MB_A_SECOND / 10, MB_A_SECOND, 10 * MB_A_SECOND, 1000 * MB_A_SECOND };

	for (size_t i = 0; i < ARRAY_LEN(budgets); i++) {
		struct exporter_stats stats;
		struct bench b;
		uint64_t sent[64] = { 0 }, lost[64] = { 0 }, lost_bytes[64] = { 0 }, gap_bytes = 0, run_bytes = 0;
		size_t size_bytes, offset = sizeof(struct rec_stream);
		const struct rec_hdr *hdr;
		uint8_t *data;

		bench_open(&b, budgets[i], 2048, 10000, -1);
		bench_overload(&b, 7, 3 * PS_PER_US);
		exporter_stats(b.exporter, &stats);
		data = bench_recording(&b, &size_bytes);
		while ((hdr = bench_next(data, size_bytes, &offset)) != NULL) {
			const struct rec_gap *gap = (const struct rec_gap *)(const void *)hdr;

			assert_true(hdr->type < 64);
			sent[hdr->type]++;
			if (hdr->type == REC_GAP) {
				lost[gap->kind] += gap->dropped;
				lost_bytes[gap->kind] += gap->dropped_bytes;
				gap_bytes += hdr->size;
				assert_true(gap->from_ps <= gap->to_ps && gap->to_ps <= hdr->time_ps);
			}
			run_bytes = hdr->type == REC_END ? hdr->time_ps / PS_PER_US : 0;
		}
		assert_int_equal(sent[REC_END], 1);
		assert_int_equal(stats.stream_bytes, size_bytes);
		assert_int_equal(stats.waiting_records, 0);
		assert_int_equal(stats.all.offered_records, 3000);
		assert_int_equal(stats.gap_bytes, gap_bytes);
		for (uint32_t kind = 0; kind < RECORD_KINDS; kind++) {
			const struct exporter_count *count = &stats.kinds[kind];

			if (!record_is_report(kind))
				continue;
			assert_int_equal(sent[kind], count->sent_records);
			assert_int_equal(lost[kind], count->dropped_records);
			assert_int_equal(lost_bytes[kind], count->dropped_bytes);
			assert_int_equal(count->offered_records, count->sent_records + count->dropped_records);
			assert_int_equal(count->offered_bytes, count->sent_bytes + count->dropped_bytes);
		}
		assert_true(gap_bytes <= 1024 + stats.all.sent_bytes / 8 + REC_REPORT_KINDS * sizeof(struct rec_gap));
		if (budgets[i] == MB_A_SECOND) {
			assert_true(stats.all.dropped_records > 0 && stats.all.deferred_records > 0);
			/* Never more than burst + rate * time; what is told at the end is not paid for. */
			assert_true(stats.all.sent_bytes + gap_bytes <= 2048 + run_bytes + REC_REPORT_KINDS * 56);
			assert_true(stats.all.sent_bytes + gap_bytes >= run_bytes * 9 / 10);
		}
		if (budgets[i] == 0 || budgets[i] == 1000 * MB_A_SECOND)
			assert_int_equal(stats.all.dropped_records, 0);
		free(data);
		bench_close(&b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(budget_defers_to_the_picosecond),
		cmocka_unit_test(relevant_records_leave_first),
		cmocka_unit_test(a_small_record_does_not_overtake_a_more_relevant_one),
		cmocka_unit_test(no_more_waits_than_the_queue_holds),
		cmocka_unit_test(what_the_queue_cannot_hold_is_told),
		cmocka_unit_test(nothing_is_lost_uncounted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
