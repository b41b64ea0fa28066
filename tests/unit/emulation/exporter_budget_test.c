/* SPDX-License-Identifier: BSD-3-Clause */
/* What leaves when the budget is short: the relevant first, what waits within bounds, and what is lost is reported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/record/frame.h"
#include "common/record/kinds.h"
#include "common/units.h"
#include "common/wire/record.h"
#include "emulation/recorder/exporter.h"
#include "tests/unit/emulation/exporter_rig.h"
#include "tests/unit/unit.h"

#define RESERVE_BYTES (REC_REPORT_KINDS * sizeof(struct rec_gap)) /* of the bucket, for what is reported at the end */

/* What the oldest record that node 0 reported last takes in a frame of its own, sent when nobody knows. */
static uint64_t
bytes_alone(const struct rec_hdr *rec)
{
	static struct recframe frame;

	recframe_begin(&frame, RECORD_MAX_PS);
	assert_true(recframe_put(&frame, rec));
	return recframe_end(&frame)->size;
}

static struct exporter_stats
stats_of(const struct bench *b)
{
	struct exporter_stats stats;

	exporter_stats(b->exporter, &stats);
	return stats;
}

/* A row leaves when the bucket has all of its frame, and what it keeps for the end besides. */
static void
budget_defers_to_the_picosecond(void **state)
{
	struct exporter_stats stats;
	uint64_t ready_ps;
	struct bench b;

	(void)state;
	bench_open(&b, MB_A_SECOND, 4608, 4096, -1);
	bench_spend(&b);
	stats = stats_of(&b);
	/* What was collected last lies in the buffer still. */
	ready_ps = (bytes_alone((const void *)b.bufs[0].data) + RESERVE_BYTES + stats.frame_bytes - 4608) * PS_PER_US;
	bench_offer(&b, ready_ps - 1);
	assert_int_equal(stats_of(&b).waiting_records, 1);
	bench_offer(&b, ready_ps);
	assert_int_equal(stats_of(&b).waiting_records, 0);
	assert_int_equal(stats_of(&b).all.sent_records, stats.all.sent_records + 1);
	assert_int_equal(stats_of(&b).all.deferred_records, 1);
	assert_int_equal(stats_of(&b).all.dropped_records, 0);
	assert_int_equal(stats_of(&b).gap_records, 0);
	bench_finish(&b, PS_PER_MS);
	bench_close(&b);
}

static void
relevant_records_leave_first(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b, MB_A_SECOND, 4608, 4096, -1);
	bench_spend(&b); /* a flow row waits */
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
	bench_expect_end(&b, "16@1/11 37@1/10 33@1/10 32@1/10 17@2000/11 34@0/10 34@1/10 35@1/10 36@1/10 18@1/10 "
			     "49@1000000000/-1");
	bench_close(&b);
}

static void
a_small_record_does_not_overtake_a_more_relevant_one(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b, MB_A_SECOND, 4608, 4096, -1);
	bench_spend(&b);
	bench_report(&b, 0, REC_PORT_ROW, 1000);
	bench_report(&b, 0, REC_NOTIFY, 1000);
	bench_offer(&b, PS_PER_MS);
	bench_finish(&b, PS_PER_MS);
	bench_expect_end(&b, "33@1/10 34@0/10 18@1/10 49@1000000/-1");
	bench_close(&b);
}

static void
no_more_waits_than_the_queue_holds(void **state)
{
	struct exporter_stats stats;
	struct bench b;

	(void)state;
	bench_open(&b, MB_A_SECOND, 4608, 159, -1);
	bench_spend(&b); /* 88 B wait */
	bench_report(&b, 0, REC_PORT_ROW, 1000);
	bench_offer(&b, 1001);
	stats = stats_of(&b);
	assert_int_equal(stats.waiting_records, 0); /* neither the less relevant one nor 160 B have room */
	assert_int_equal(stats.all.dropped_records, 2);
	bench_report(&b, 0, REC_NOTIFY, 2000);
	bench_offer(&b, 2001);
	assert_int_equal(stats_of(&b).waiting_records, 1);
	bench_offer(&b, PS_PER_MS);
	bench_finish(&b, PS_PER_MS);
	stats = stats_of(&b);
	assert_int_equal(stats.gap_records, 2);
	assert_int_equal(stats.all.dropped_records, 2);
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
what_the_queue_cannot_hold_is_reported(void **state)
{
	const struct rec_gap *gap;
	const struct rec_hdr *hdr;
	struct bench b;
	size_t size_bytes, offset = sizeof(struct rec_stream);
	uint64_t before, notifications = 0;
	uint8_t *data;

	(void)state;
	bench_open(&b, MB_A_SECOND, 4608, 176, -1); /* two flow rows */
	bench_spend(&b);
	before = stats_of(&b).all.sent_records;
	bench_report(&b, 0, REC_FLOW_ROW, 1000);
	bench_report(&b, 0, REC_FLOW_ROW, 2000);  /* pushes the row that waited out */
	bench_report(&b, 0, REC_POLL, 4000);      /* 56 B push the row of 1000 ps out */
	bench_report(&b, 0, REC_METER_ROW, 5000); /* less relevant than what waits: lost itself */
	bench_offer(&b, 6000);
	assert_int_equal(stats_of(&b).waiting_records, 2);
	assert_int_equal(stats_of(&b).waiting_bytes, 88 + 56);
	assert_int_equal(stats_of(&b).all.dropped_records, 3);
	assert_int_equal(stats_of(&b).gap_records, 0);
	bench_offer(&b, 900 * PS_PER_US);
	assert_int_equal(stats_of(&b).all.sent_records, before + 2);
	assert_int_equal(stats_of(&b).gap_records, 2);
	for (int i = 0; i < 60; i++)
		bench_report(&b, 0, REC_NOTIFY, 900 * PS_PER_US);
	bench_finish(&b, 901 * PS_PER_US);

	data = bench_records(&b, &size_bytes);
	for (uint64_t i = 0; i < before; i++)
		bench_next(data, size_bytes, &offset);
	gap = expect_gap(data, size_bytes, &offset, REC_FLOW_ROW, 2);
	assert_int_equal(gap->dropped_bytes, 176);
	assert_int_equal(gap->to_ps, 1000);
	gap = expect_gap(data, size_bytes, &offset, REC_METER_ROW, 1);
	assert_int_equal(gap->dropped_bytes, 56);
	assert_int_equal(gap->from_ps, 5000);
	assert_int_equal(gap->to_ps, 5000);
	hdr = bench_next(data, size_bytes, &offset);
	assert_int_equal(hdr->type, REC_POLL);
	hdr = bench_next(data, size_bytes, &offset);
	assert_int_equal(hdr->type, REC_FLOW_ROW);
	assert_int_equal(hdr->time_ps, 2000);
	while ((hdr = bench_next(data, size_bytes, &offset))->type != REC_END) {
		gap = (const struct rec_gap *)(const void *)hdr;
		assert_int_equal(hdr->type == REC_GAP ? gap->kind : hdr->type, REC_NOTIFY);
		notifications += hdr->type == REC_GAP ? gap->dropped : 1;
	}
	assert_int_equal(notifications, 60);
	assert_null(bench_next(data, size_bytes, &offset));
	free(data);
	bench_close(&b);
}

/* What was sent when: frames and gaps, by their own times. */
struct sent {
	uint64_t time_ps, bytes;
};

/* @return how many */
static uint32_t
list_sent(const struct bench *b, struct sent **list)
{
	size_t size_bytes;
	uint8_t *data = bench_recording(b, &size_bytes);
	uint32_t count = 0;

	*list = malloc((size_bytes / sizeof(struct rec_hdr) + 1) * sizeof(**list));
	assert_non_null(*list);
	for (size_t at = sizeof(struct rec_stream); at < size_bytes;) {
		struct rec_hdr hdr;

		memcpy(&hdr, data + at, sizeof(hdr));
		if (hdr.type == REC_FRAME || hdr.type == REC_GAP)
			(*list)[count++] = (struct sent){ hdr.time_ps, hdr.size };
		at += hdr.size;
	}
	free(data);
	return count;
}

/* In no span of time more than the burst and what the budget gives in it: all that an analyzer gets during the run. */
static void
expect_within(const struct bench *b, uint64_t budget, uint64_t burst_bytes)
{
	struct sent *list;
	uint32_t count = list_sent(b, &list);

	assert_true(count > 0);
	for (uint32_t i = 0; i < count; i++) {
		unsigned __int128 allowed = (unsigned __int128)burst_bytes * PS_PER_S;
		uint64_t bytes = 0;

		for (uint32_t j = i; j < count; j++) {
			assert_true(j == 0 || list[j].time_ps >= list[j - 1].time_ps);
			bytes += list[j].bytes;
			assert_true((unsigned __int128)bytes * PS_PER_S <=
				    allowed + (unsigned __int128)budget * (list[j].time_ps - list[i].time_ps));
		}
	}
	free(list);
}

static void
no_span_of_time_has_more_than_the_budget(void **state)
{
	static const uint64_t budgets[] = { 1000, MB_A_SECOND / 10, MB_A_SECOND, 10 * MB_A_SECOND, 1000 * MB_A_SECOND };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(budgets); i++)
		for (uint64_t seed = 1; seed <= 3; seed++) {
			struct bench b;

			bench_open(&b, budgets[i], 4608 * seed, 10000, -1);
			bench_overload(&b, seed, 3 * PS_PER_US);
			expect_within(&b, budgets[i], 4608 * seed);
			bench_close(&b);
		}
}

/* @return the most bytes of any millisecond, from a frame or gap on */
static uint64_t
fullest_millisecond(const struct bench *b)
{
	struct sent *list;
	uint32_t count = list_sent(b, &list);
	uint64_t most_bytes = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t bytes = 0;

		for (uint32_t j = i; j < count && list[j].time_ps < list[i].time_ps + PS_PER_MS; j++)
			bytes += list[j].bytes;
		most_bytes = bytes > most_bytes ? bytes : most_bytes;
	}
	free(list);
	return most_bytes;
}

/*
 * By default the bucket holds the budget of a millisecond, and what it is refilled with leaves in the same millisecond: it
 * is the budget once all the same, with a frame and the gaps around it.
 */
static void
no_millisecond_has_more_than_the_budget_and_a_frame(void **state)
{
	static const uint64_t budgets[] = { 1000, MB_A_SECOND, 10 * MB_A_SECOND, 20 * MB_A_SECOND, 30 * MB_A_SECOND };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(budgets); i++)
		for (uint64_t seed = 1; seed <= 3; seed++) {
			const struct exporter_config config = { .budget = budgets[i] };
			uint64_t budget_bytes = budgets[i] / 1000;
			struct bench b;

			assert_int_equal(exporter_window_bytes(&config), budget_bytes + EXPORTER_BURST_MIN);
			bench_open(&b, budgets[i], 0, 100000, -1);
			bench_overload(&b, seed, 3 * PS_PER_US);
			assert_in_range(fullest_millisecond(&b), budget_bytes * 9 / 10, budget_bytes + EXPORTER_BURST_MIN);
			bench_close(&b);
		}
}

#define FIRST_NODE 10 /* of the rig: its node 0 */

/* Nodes 0 and 1 are switches of a pod. @return records that left, by node */
static void
run_policed(uint64_t switch_budget, uint64_t pod_budget, uint64_t *sent, uint64_t *dropped)
{
	static const bool is_switch[12] = { [FIRST_NODE] = true, [FIRST_NODE + 1] = true };
	static const uint32_t pods[12] = { 0 };
	const struct exporter_config config = { .switch_budget = switch_budget, .pod_budget = pod_budget };
	size_t size_bytes, offset = sizeof(struct rec_stream);
	const struct rec_hdr *hdr;
	struct err err = { "" };
	struct rec_end end;
	struct bench b;
	uint8_t *data;

	bench_open_config(&b, &config, -1);
	assert_int_equal(exporter_police(b.exporter, is_switch, pods, 12, &err), 0);
	for (uint32_t i = 0; i < 200; i++) { /* node 0 reports four times what node 1 does */
		bench_report(&b, i % 5 == 0, i % 7 == 0 ? REC_PORT_ROW : REC_DROP_ROW, i / 20 * 20 * PS_PER_NS);
		if (i % 20 == 19)
			bench_offer(&b, (i + 1) * PS_PER_NS);
	}
	end = bench_finish(&b, PS_PER_MS);
	sent[0] = sent[1] = 0;
	data = bench_records(&b, &size_bytes);
	while ((hdr = bench_next(data, size_bytes, &offset)) != NULL)
		if (hdr->node == FIRST_NODE || hdr->node == FIRST_NODE + 1)
			sent[hdr->node - FIRST_NODE]++;
	*dropped = end.dropped_records;
	assert_int_equal(end.offered_records, 200);
	assert_int_equal(end.sent_records + end.dropped_records, 200);
	free(data);
	bench_close(&b);
}

static void
switches_and_pods_keep_to_their_own_budgets(void **state)
{
	uint64_t all[2], by_switch[2], by_pod[2], dropped;

	(void)state;
	run_policed(0, 0, all, &dropped);
	assert_true(all[0] == 160 && all[1] == 40 && dropped == 0);
	/* What node 0 alone has too much of. */
	run_policed(1000, 0, by_switch, &dropped);
	assert_true(by_switch[0] < all[0] && by_switch[1] == all[1]);
	assert_int_equal(dropped, all[0] - by_switch[0]);
	/* Of a pod both have to do with. */
	run_policed(0, 1000, by_pod, &dropped);
	assert_true(by_pod[0] != 0);
	assert_true(by_pod[0] + by_pod[1] < by_switch[0] + by_switch[1]);
	assert_int_equal(dropped, 200 - by_pod[0] - by_pod[1]);
	run_policed(1000 * MB_A_SECOND, 1000 * MB_A_SECOND, by_pod, &dropped);
	assert_true(dropped == 0);
}

/* The least relevant of a report goes first. */
static void
a_policed_report_keeps_what_is_relevant(void **state)
{
	static const bool is_switch[12] = { [FIRST_NODE] = true };
	static const uint32_t pods[12] = { [FIRST_NODE] = BUDGET_NO_POD };
	const struct exporter_config config = { .switch_budget = 1 };
	size_t size_bytes, offset = sizeof(struct rec_stream);
	uint64_t ports = 0, cells = 0;
	const struct rec_hdr *hdr;
	struct err err = { "" };
	struct bench b;
	uint8_t *data;

	(void)state;
	bench_open_config(&b, &config, -1);
	assert_int_equal(exporter_police(b.exporter, is_switch, pods, 12, &err), 0);
	for (uint32_t i = 0; i < 100; i++) {
		bench_report(&b, 0, REC_MATRIX_ROW, 0);
		if (i % 10 == 0)
			bench_report(&b, 0, REC_PORT_ROW, 0);
	}
	bench_offer(&b, PS_PER_US);
	bench_finish(&b, PS_PER_MS);
	data = bench_records(&b, &size_bytes);
	while ((hdr = bench_next(data, size_bytes, &offset)) != NULL) {
		ports += hdr->type == REC_PORT_ROW;
		cells += hdr->type == REC_MATRIX_ROW;
	}
	assert_int_equal(ports, 10);
	assert_in_range(cells, 1, 99);
	free(data);
	bench_close(&b);
}

static void
nothing_is_lost_uncounted(void **state)
{
	static const uint64_t budgets[] = { 0, MB_A_SECOND / 10, MB_A_SECOND, 10 * MB_A_SECOND, 1000 * MB_A_SECOND };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(budgets); i++) {
		struct exporter_stats stats;
		struct bench b;
		uint64_t sent[64] = { 0 }, lost[64] = { 0 }, gap_bytes = 0, run_bytes = 0;
		size_t size_bytes, stream_bytes, offset = sizeof(struct rec_stream);
		const struct rec_hdr *hdr;
		uint8_t *data;

		bench_open(&b, budgets[i], 4608, 10000, -1);
		bench_overload(&b, 7, 3 * PS_PER_US);
		stats = stats_of(&b);
		free(bench_recording(&b, &stream_bytes));
		data = bench_records(&b, &size_bytes);
		while ((hdr = bench_next(data, size_bytes, &offset)) != NULL) {
			const struct rec_gap *gap = (const struct rec_gap *)(const void *)hdr;

			assert_true(hdr->type < 64);
			sent[hdr->type]++;
			if (hdr->type == REC_GAP) {
				lost[gap->kind] += gap->dropped;
				gap_bytes += hdr->size;
				assert_int_equal(gap->dropped_bytes, gap->dropped * record_size((uint16_t)gap->kind));
				assert_true(gap->from_ps <= gap->to_ps && gap->to_ps <= hdr->time_ps);
			}
			run_bytes = hdr->type == REC_END ? hdr->time_ps / PS_PER_US : 0;
		}
		assert_int_equal(sent[REC_END], 1);
		assert_int_equal(stats.stream_bytes, stream_bytes);
		assert_int_equal(stats.waiting_records, 0);
		assert_int_equal(stats.all.offered_records, 3000);
		assert_int_equal(stats.gap_bytes, gap_bytes);
		for (uint32_t kind = 0; kind < RECORD_KINDS; kind++) {
			const struct exporter_count *count = &stats.kinds[kind];

			if (!record_is_report(kind))
				continue;
			assert_int_equal(sent[kind], count->sent_records);
			assert_int_equal(lost[kind], count->dropped_records);
			assert_int_equal(count->offered_records, count->sent_records + count->dropped_records);
		}
		assert_true(gap_bytes <= 1024 + stats.frame_bytes / 8 + RESERVE_BYTES);
		if (budgets[i] == MB_A_SECOND) {
			assert_true(stats.all.dropped_records > 0 && stats.all.deferred_records > 0);
			assert_true(stats.frame_bytes + gap_bytes >= run_bytes * 9 / 10); /* it is made use of */
		}
		if (budgets[i] == 0 || budgets[i] == 1000 * MB_A_SECOND)
			assert_int_equal(stats.all.dropped_records, 0);
		free(data);
		bench_close(&b);
	}
}

UNIT_TEST(exporter_budget)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(budget_defers_to_the_picosecond),
		cmocka_unit_test(relevant_records_leave_first),
		cmocka_unit_test(a_small_record_does_not_overtake_a_more_relevant_one),
		cmocka_unit_test(no_more_waits_than_the_queue_holds),
		cmocka_unit_test(what_the_queue_cannot_hold_is_reported),
		cmocka_unit_test(no_span_of_time_has_more_than_the_budget),
		cmocka_unit_test(no_millisecond_has_more_than_the_budget_and_a_frame),
		cmocka_unit_test(switches_and_pods_keep_to_their_own_budgets),
		cmocka_unit_test(a_policed_report_keeps_what_is_relevant),
		cmocka_unit_test(nothing_is_lost_uncounted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
