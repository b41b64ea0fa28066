/* SPDX-License-Identifier: BSD-3-Clause */
/* The stream that leaves an exporter: merged, unchanged, the same however it is called; and what is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/record/frame.h"
#include "common/units.h"
#include "emulation/recorder/exporter.h"
#include "tests/unit/emulation/exporter_rig.h"
#include "tests/unit/unit.h"

static void
records_merge_by_time_node_sequence(void **state)
{
	struct bench b;

	bench_open(&b, 0, 0, 0, -1);
	bench_report(&b, 1, REC_POLL, 3000);
	bench_report(&b, 1, REC_STEP, 5000);
	bench_report(&b, 1, REC_METER_ROW, 5000);
	bench_report(&b, 1, REC_POLL, 2000); /* out of its node's order */
	bench_report(&b, 0, REC_FLOW_ROW, 5000);
	bench_report(&b, 1, REC_PORT_ROW, 7000);
	bench_offer(&b, 7000);
	/* What is stamped at the end of the window waits: a node with a lower number may still report that time. */
	bench_report(&b, 1, REC_TRIGGER, 7000);
	bench_report(&b, 0, REC_NOTIFY, 7000);
	bench_offer(&b, 8000);
	bench_finish(&b, 9000);
	bench_expect(&b, "32@2/11 32@3/11 34@5/10 16@5/11 35@5/11 18@7/10 33@7/11 17@7/11 49@9/-1");
	bench_close(&b);
}

static void
without_a_budget_everything_passes_unchanged(void **state)
{
	static const uint16_t types[] = { REC_STEP, REC_FLOW_ROW, REC_PORT_ROW, REC_MATRIX_ROW, REC_DROP_ROW };
	struct bench b;
	struct rec_run run = { .hdr.node = REC_NONE, .name = "run" };
	struct exporter_stats stats;
	uint8_t expected[8192];
	size_t used = 0, size_bytes, sent_bytes;
	uint8_t *data;
	struct rec_end end;

	bench_open(&b, 0, 0, 0, -1);
	exporter_header(b.exporter, &run, REC_RUN, sizeof(run));
	for (uint32_t i = 0; i < 50; i++)
		bench_report(&b, 0, types[i % 5], i / 5 * 1000);
	memcpy(expected, b.bufs[0].data, b.bufs[0].used_bytes);
	used = b.bufs[0].used_bytes;
	end = bench_finish(&b, PS_PER_US);
	exporter_stats(b.exporter, &stats);
	data = bench_recording(&b, &sent_bytes);
	assert_int_equal(sent_bytes, 16 + sizeof(run) + stats.frame_bytes + sizeof(end));
	assert_int_equal(sent_bytes, stats.stream_bytes);
	assert_int_equal(stats.frames, 20); /* ten times steps, and rows */
	assert_int_equal(stats.reports, 10);
	free(data);
	data = bench_records(&b, &size_bytes);
	/* 16 + 120 + 10 * (232 + 88 + 160 + 80 + 80) + 160 */
	assert_int_equal(used, 6400);
	assert_int_equal(size_bytes, 6704);
	assert_memory_equal(data + 16, &run, sizeof(run));
	assert_memory_equal(data + 136, expected, used);
	assert_memory_equal(data + 6536, &end, sizeof(end));
	assert_int_equal(end.offered_bytes, stats.frame_bytes);
	assert_int_equal(end.sent_bytes, stats.frame_bytes);
	assert_int_equal(end.kept_bytes, stats.report_bytes);
	assert_int_equal(end.collected_bytes, stats.report_bytes);
	assert_true(stats.report_bytes < stats.frame_bytes);
	assert_int_equal(end.sent_records, 50);
	assert_int_equal(end.deferred_records, 0);
	assert_int_equal(end.dropped_records, 0);
	free(data);
	bench_close(&b);
}

static void
stream_does_not_depend_on_the_grain_of_calls(void **state)
{
	static const uint64_t grains_ps[] = { PS_PER_US, 7 * PS_PER_US, 1000 * PS_PER_MS };
	uint8_t *first = NULL;
	size_t first_bytes = 0;

	for (size_t i = 0; i < 3; i++) {
		struct bench b;
		size_t size_bytes;
		uint8_t *data;

		bench_open(&b, MB_A_SECOND, 5000, 10000, -1);
		bench_overload(&b, 11, grains_ps[i]);
		data = bench_recording(&b, &size_bytes);
		bench_close(&b);
		if (i == 0) {
			first = data;
			first_bytes = size_bytes;
			continue;
		}
		assert_int_equal(size_bytes, first_bytes);
		assert_memory_equal(data, first, first_bytes);
		free(data);
	}
	free(first);
}

static void
peak_is_the_fullest_millisecond(void **state)
{
	uint64_t fullest_bytes;
	struct bench b;

	bench_open(&b, MB_A_SECOND, 4608, 0, -1);
	assert_int_equal(exporter_peak(b.exporter), 0);
	bench_report(&b, 0, REC_POLL, 0);
	bench_report(&b, 0, REC_POLL, PS_PER_MS - 1);
	bench_report(&b, 0, REC_PORT_ROW, PS_PER_MS);
	bench_report(&b, 0, REC_METER_ROW, 2 * PS_PER_MS - 1);
	fullest_bytes = recframe_bytes_of(b.bufs[0].data + 2 * sizeof(struct rec_poll), sizeof(struct rec_port_row)) +
			recframe_bytes_of(b.bufs[0].data + 2 * sizeof(struct rec_poll) + sizeof(struct rec_port_row),
					  sizeof(struct rec_meter_row));
	bench_report(&b, 0, REC_FLOW_ROW, 2 * PS_PER_MS);
	bench_finish(&b, 3 * PS_PER_MS);
	assert_int_equal(exporter_peak(b.exporter), fullest_bytes * 1000);
	bench_close(&b);
}

static void
bad_configuration_is_refused(void **state)
{
	struct exporter_config config = { .where = { .file = "a.cfg", .line = 7 }, .budget = 1000, .burst_bytes = 4095 };
	const struct output_target nowhere = { .ops = &output_recording, .path = "/nonexistent/stream.rec" };
	struct err err = { "" };

	assert_null(exporter_create(&config, NULL, 0, &err));
	assert_int_equal(errno, EINVAL);
	assert_string_equal(err.text, "a.cfg:7: burst: 4095 B hold no frame: "
				      "at least 4608, or 0 for a default");
	config.burst_bytes = 4608;
	err.text[0] = '\0';
	assert_null(exporter_create(&config, &nowhere, 1, &err));
	assert_int_equal(errno, ENOENT);
	assert_string_equal(err.text, "/nonexistent/stream.rec: cannot write the recording: "
				      "No such file or directory");
}

UNIT_TEST(exporter)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_merge_by_time_node_sequence),
		cmocka_unit_test(without_a_budget_everything_passes_unchanged),
		cmocka_unit_test(stream_does_not_depend_on_the_grain_of_calls),
		cmocka_unit_test(peak_is_the_fullest_millisecond),
		cmocka_unit_test(bad_configuration_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
