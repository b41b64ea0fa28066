/* SPDX-License-Identifier: BSD-3-Clause */
/* Who took a port's link from data that waited. */
#include "common/wire/record.h"
#include "common/wire/record_rows.h"
#include "telemetry/epochs.h"
#include "tests/unit/telemetry/epochs_rig.h"
#include "tests/unit/unit.h"

static void
a_table_has_so_many_places(void **state)
{
	struct overtakes o = { .any = false }, sum = { .any = false };
	uint32_t reported = 0;

	(void)state;
	for (uint32_t flow = 0; flow < 2 * OVERTAKES_SLOTS; flow++) {
		overtakes_add(&o, overtakes_key(flow, flow % 2), 1, 84);
		overtakes_add(&o, overtakes_key(flow, flow % 2), 1, 84);
	}
	overtakes_sum(&sum, &o);
	overtakes_sum(&sum, &o);
	for (uint32_t i = 0; i < OVERTAKES_SLOTS; i++) {
		const struct overtaker *by = &sum.by[i];

		if (by->key == 0)
			continue;
		reported++;
		assert_int_equal(by->packets, 4);
		assert_int_equal(by->bytes, 4 * 84);
		assert_int_equal(overtakes_acks(by->key), overtakes_flow(by->key) % 2);
	}
	assert_int_equal(reported, OVERTAKES_SLOTS);
	assert_int_equal(sum.others.packets, 4 * OVERTAKES_SLOTS); /* those without a place are counted as well */
	assert_int_equal(sum.others.bytes, 4 * 84 * OVERTAKES_SLOTS);
}

static void
small_parts_join_the_others(void **state)
{
	struct overtakes o = { .any = false };

	(void)state;
	overtakes_add(&o, overtakes_key(0, false), 16, 1600);
	overtakes_add(&o, overtakes_key(7, true), 1, 99);
	assert_int_equal(overtakes_fold(&o, 16), 1699);
	assert_int_equal(o.by[overtakes_key(0, false)].bytes, 1600);
	assert_int_equal(o.others.bytes, 99);
	assert_int_equal(o.others.packets, 1);
}

static void
rows_name_flows_and_their_acks(void **state)
{
	struct epochs t;
	struct recbuf buf;
	uint64_t digest = 1;
	const struct rec_overtake_row *row;

	(void)state;
	init(&t, &config, 1);
	recbuf_init(&buf, 9);
	enqueue(&t, 0, 2, 1000, 0, false);
	epochs_overtake(&t, 1, false, 300, 1);
	epochs_overtake(&t, 1, false, 300, 1);
	epochs_overtake(&t, 2, true, 84, 1);
	report(&t, &nothing, &buf, 42, PS_PER_MS / 2);
	row = nth(&buf, REC_OVERTAKE_ROW, 0);
	assert_non_null(row);
	assert_int_equal(row->hdr.event, 42);
	assert_int_equal(row->port, 1);
	assert_int_equal(row->flow.src_ip, 3);
	assert_int_equal(row->acks, 0);
	assert_int_equal(row->packets, 2);
	assert_int_equal(row->bytes, 600);
	row = nth(&buf, REC_OVERTAKE_ROW, 1);
	assert_int_equal(row->flow.dport, 60);
	assert_int_equal(row->acks, 1);
	assert_int_equal(row->packets, 1);
	/* The epoch closed, and the next one: one sum, reported once. */
	assert_true(epochs_roll(&t, PS_PER_MS, &digest));
	epochs_overtake(&t, 1, false, 300, 1);
	assert_true(epochs_roll(&t, 2 * PS_PER_MS, &digest));
	buf.used_bytes = 0;
	report(&t, &nothing, &buf, 43, 2 * PS_PER_MS + 5);
	row = nth(&buf, REC_OVERTAKE_ROW, 0);
	assert_int_equal(row->epoch_first, 0);
	assert_int_equal(row->epoch_last, 1);
	assert_int_equal(row->packets, 3);
	assert_null(nth(&buf, REC_OVERTAKE_ROW, 2));
	/* Epochs come round: what an old one counted is gone. */
	assert_true(epochs_roll(&t, 3 * PS_PER_MS, &digest));
	buf.used_bytes = 0;
	report(&t, &nothing, &buf, 44, 3 * PS_PER_MS + 5);
	assert_null(nth(&buf, REC_OVERTAKE_ROW, 0));
	recbuf_fini(&buf);
	fini(&t);
}

/* Nothing is reported of a port without a queue worth notice, nor of next to nothing. */
static void
what_does_not_count_is_not_reported(void **state)
{
	const struct telem_config with = { .epoch_ps = PS_PER_MS, .kept = 3, .nports = 4, .quiet_depth = 8 };
	static const struct {
		uint32_t depth;
		uint64_t data_bytes;
		bool reported;
	} cases[] = { { 7, 1000, false }, { 8, 1000, true }, { 8, 300 * 128, true }, { 8, 300 * 128 + 1, false } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct epochs t;
		struct recbuf buf;

		init(&t, &with, 1);
		recbuf_init(&buf, 9);
		enqueue(&t, 0, 2, (uint32_t)cases[i].data_bytes, 0, false);
		epochs_overtake(&t, 1, false, 300, cases[i].depth);
		report(&t, &nothing, &buf, 42, PS_PER_MS / 2);
		assert_int_equal(nth(&buf, REC_OVERTAKE_ROW, 0) != NULL, cases[i].reported);
		recbuf_fini(&buf);
		fini(&t);
	}
}

/* Where class 0 has the whole link no data moves: the epoch is reported with what stood there. */
static void
an_epoch_without_data_is_reported(void **state)
{
	const struct rec_port_row *row;
	struct epochs t;
	struct recbuf buf;
	uint64_t digest = 1;

	(void)state;
	init(&t, &config, 1);
	recbuf_init(&buf, 9);
	epochs_overtake(&t, 1, false, 300, 9);
	assert_true(epochs_roll(&t, PS_PER_MS, &digest));
	report(&t, &nothing, &buf, 42, PS_PER_MS + 5);
	row = nth(&buf, REC_PORT_ROW, 0);
	assert_int_equal(row->epoch_last, 0);
	assert_int_equal(row->to_ps, PS_PER_MS);
	assert_non_null(nth(&buf, REC_OVERTAKE_ROW, 0));
	recbuf_fini(&buf);
	fini(&t);
}

UNIT_TEST(overtakes)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_has_so_many_places),        cmocka_unit_test(small_parts_join_the_others),
		cmocka_unit_test(rows_name_flows_and_their_acks),    cmocka_unit_test(what_does_not_count_is_not_reported),
		cmocka_unit_test(an_epoch_without_data_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
