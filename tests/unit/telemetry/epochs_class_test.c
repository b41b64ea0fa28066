/* SPDX-License-Identifier: BSD-3-Clause */
/* Lossless classes have rows of their own: PFC pauses one and not the other (IEEE 802.1Qbb). */
#include "common/wire/record.h"
#include "common/wire/record_rows.h"
#include "tests/unit/telemetry/epochs_rig.h"
#include "tests/unit/unit.h"

static const struct telem_config two = { .epoch_ps = PS_PER_MS, .kept = 3, .nports = 4, .lossless = 1 << 3 | 1 << 4 };

static void
others_share_a_place(void **state)
{
	const struct telem_config none = { .lossless = 0 };

	(void)state;
	assert_int_equal(telem_classes(&two), 3);
	assert_int_equal(telem_class(&two, 3), 0);
	assert_int_equal(telem_class(&two, 4), 1);
	for (uint8_t prio = 0; prio < 8; prio++) {
		if (prio != 3 && prio != 4)
			assert_int_equal(telem_class(&two, prio), 2);
		assert_int_equal(telem_class(&none, prio), 0);
	}
	assert_int_equal(telem_classes(&none), 1);
}

/* The port row of a class, of the report's open epoch. */
static const struct rec_port_row *
port_row(const struct recbuf *buf, uint16_t prio)
{
	const struct rec_port_row *row;

	for (int i = 0; (row = nth(buf, REC_PORT_ROW, i)) != NULL; i++)
		if (row->prio == prio)
			return row;
	return NULL;
}

static void
pauses_and_meters_are_those_of_a_class(void **state)
{
	struct telem_present present[3] = { { .queue_packets = 2 }, { .pausing = true, .pausing_since_ps = 50 } };
	const uint8_t prios[] = { 3, 4, 1 };
	const struct rec_meter_row *meter;
	struct epochs t;
	struct recbuf buf;

	(void)state;
	init(&t, &two, 1);
	recbuf_init(&buf, 9);
	for (uint32_t i = 0; i < 3; i++) {
		flows[i].prio = prios[i];
		enqueue(&t, i, 2, 100 * (i + 1), i, false);
	}
	epochs_pause(&t, 1 << 4, TELEM_XOFF_RECEIVED, 100);
	epochs_pause(&t, 1 << 4, TELEM_PAUSED, 100);
	epochs_pause(&t, 1 << 3 | 1 << 4, TELEM_XOFF_SENT, 100);
	report(&t, present, &buf, 42, 400);
	assert_int_equal(port_row(&buf, 3)->bytes, 100);
	assert_int_equal(port_row(&buf, 3)->queue_packets, 2);
	assert_int_equal(port_row(&buf, 3)->pause_ps, 0);
	assert_int_equal(port_row(&buf, 3)->pauses_sent, 1);
	assert_false(port_row(&buf, 3)->paused || port_row(&buf, 3)->pausing);
	assert_int_equal(port_row(&buf, 4)->bytes, 200);
	assert_int_equal(port_row(&buf, 4)->depth_max, 1);
	assert_int_equal(port_row(&buf, 4)->pause_ps, 300);
	assert_int_equal(port_row(&buf, 4)->paused_since_ps, 100);
	assert_int_equal(port_row(&buf, 4)->pauses_received, 1);
	assert_int_equal(port_row(&buf, 4)->pausing_since_ps, 50);
	assert_int_equal(port_row(&buf, 0)->bytes, 300);
	for (int i = 0; i < 3; i++) {
		meter = nth(&buf, REC_METER_ROW, i);
		assert_int_equal(meter->prio, i < 2 ? prios[i] : 0);
		assert_int_equal(meter->bytes, 100 * (i + 1));
	}
	assert_true(epochs_was_paused(&t, 4) && !epochs_was_paused(&t, 3));
	assert_true(epochs_was_fed(&t, 4, 2) && !epochs_was_fed(&t, 4, 1));
	recbuf_fini(&buf);
	fini(&t);
}

/* Each class for itself, also those without PFC; over more epochs than are kept. */
static void
totals_go_beyond_the_kept_epochs(void **state)
{
	const uint8_t prios[] = { 3, 1, 2 };
	struct epochs_total totals[8];
	uint64_t digest = 0;
	struct epochs t;

	(void)state;
	init(&t, &two, 1);
	for (uint32_t epoch = 0; epoch < 10; epoch++) {
		epochs_roll(&t, epoch * two.epoch_ps, &digest);
		for (uint32_t i = 0; i < 3; i++) {
			flows[i].prio = prios[i];
			enqueue(&t, i, 2, 100 * (i + 1), 0, false);
		}
	}
	epochs_totals(&t, totals);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(totals[prios[i]].packets, 10);
		assert_int_equal(totals[prios[i]].bytes, 1000 * (i + 1));
	}
	assert_int_equal(totals[0].packets + totals[4].packets + totals[7].bytes, 0);
	fini(&t);
}

/* Where a switch queues data in another class, that queue counts it, whatever its flow's class is. */
static void
queues_count_what_is_led_into_them(void **state)
{
	static const uint8_t class_of[4][8] = { { 0, 1, 2, 3 }, { 0, 1, 2, 4 }, { 0, 1, 2, 1 }, { 0, 1, 2, 3 } };
	const struct telem_config mapped = {
		.epoch_ps = two.epoch_ps, .kept = 3, .nports = 4, .lossless = two.lossless, .class_of = class_of
	};
	const uint8_t queues[] = { 3, 4, 1 };
	struct epochs_total totals[8];
	uint64_t digest = 0;
	struct epochs t;
	uint32_t slot;

	(void)state;
	flows[0].prio = 3;
	init(&t, &mapped, 1);
	slot = port_flows_slot(&port_flows, 0);
	epochs_reserve(&t, slot + 1);
	for (uint32_t epoch = 0; epoch < 10; epoch++) {
		epochs_roll(&t, epoch * two.epoch_ps, &digest);
		for (uint16_t in = 0; in < 3; in++) {
			epochs_enqueue(&t, slot, queues[in], in, 100, 7, false);
			epochs_observe(&t, &(struct telem_batch){ slot, in, 1, 0, 7, 100, 7 });
		}
	}
	epochs_totals(&t, totals);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(totals[queues[i]].packets, 10);
		assert_int_equal(totals[queues[i]].bytes, 1000);
	}
	fini(&t);
}

/* Of classes that have nothing to report there is no row, but for one of an open epoch: the port is alive. */
static void
quiet_classes_report_nothing(void **state)
{
	static const struct telem_present quiet[3];
	struct epochs t;
	struct recbuf buf;
	uint64_t digest = 1;

	(void)state;
	init(&t, &two, 1);
	recbuf_init(&buf, 9);
	report(&t, quiet, &buf, 42, 400);
	assert_non_null(port_row(&buf, 3));
	assert_null(nth(&buf, REC_PORT_ROW, 1));
	buf.used_bytes = 0;
	flows[0].prio = 4;
	enqueue(&t, 0, 2, 100, 0, false);
	assert_true(epochs_roll(&t, PS_PER_MS, &digest));
	report(&t, quiet, &buf, 43, PS_PER_MS + 1);
	assert_int_equal(port_row(&buf, 4)->epoch_last, 0);
	assert_int_equal(port_row(&buf, 3)->epoch_first, 1);
	assert_null(nth(&buf, REC_PORT_ROW, 2));
	recbuf_fini(&buf);
	fini(&t);
}

UNIT_TEST(epochs_class)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_share_a_place),
		cmocka_unit_test(pauses_and_meters_are_those_of_a_class),
		cmocka_unit_test(totals_go_beyond_the_kept_epochs),
		cmocka_unit_test(queues_count_what_is_led_into_them),
		cmocka_unit_test(quiet_classes_report_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
