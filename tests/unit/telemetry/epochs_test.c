/* SPDX-License-Identifier: BSD-3-Clause */
/* Epochs, rows, and what a report holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/units.h"
#include "common/wire/record.h"
#include "common/wire/record_rows.h"
#include "telemetry/epochs.h"
#include "tests/unit/telemetry/epochs_rig.h"
#include "tests/unit/unit.h"

static void
open_epoch_is_reported_with_present_state(void **state)
{
	struct epochs t;
	struct recbuf buf;
	const struct rec_port_row *port;
	const struct rec_flow_row *flow;
	const struct rec_meter_row *meter;
	uint64_t held[4] = { [2] = 777 };
	struct telem_present present = {
		.queue_packets = 5, .queue_bytes = 6740, .held_bytes = held, .pausing = true, .pausing_since_ps = 88
	};

	(void)state;
	init(&t, &config, 1);
	recbuf_init(&buf, 9);
	enqueue(&t, 0, 2, 1000, 0, false);
	enqueue(&t, 1, 3, 500, 1, false);
	enqueue(&t, 0, 2, 1000, 2, true);
	report(&t, &present, &buf, 42, PS_PER_MS / 2);
	port = nth(&buf, REC_PORT_ROW, 0);
	assert_non_null(port);
	assert_int_equal(port->hdr.node, 9);
	assert_int_equal(port->hdr.event, 42);
	assert_int_equal(port->port, 1);
	assert_int_equal(port->packets, 3);
	assert_int_equal(port->bytes, 2500);
	assert_int_equal(port->depth_sum, 3);
	assert_int_equal(port->depth_max, 2);
	assert_int_equal(port->paused_packets, 1);
	assert_int_equal(port->queue_packets, 5);
	assert_int_equal(port->queue_bytes, 6740);
	assert_int_equal(port->pausing, 1);
	assert_int_equal(port->pausing_since_ps, 88);
	assert_int_equal(port->to_ps, PS_PER_MS / 2);
	assert_null(nth(&buf, REC_PORT_ROW, 1));
	flow = nth(&buf, REC_FLOW_ROW, 0);
	assert_int_equal(flow->flow.src_ip, 1);
	assert_int_equal(flow->packets, 2);
	assert_int_equal(flow->depth_sum, 2);
	assert_int_equal(flow->in_port, 2);
	flow = nth(&buf, REC_FLOW_ROW, 1);
	assert_int_equal(flow->flow.dport, 40);
	assert_int_equal(flow->depth_sum, 1);
	meter = nth(&buf, REC_METER_ROW, 0);
	assert_int_equal(meter->in_port, 2);
	assert_int_equal(meter->bytes, 2000);
	assert_int_equal(meter->held_bytes, 777);
	recbuf_fini(&buf);
	fini(&t);
}

static void
closed_epochs_are_summed_and_reported_once(void **state)
{
	struct epochs t;
	struct recbuf buf;
	uint64_t digest = 1;
	const struct rec_port_row *row;

	(void)state;
	init(&t, &config, 0);
	recbuf_init(&buf, 0);
	enqueue(&t, 0, 0, 100, 0, false);
	assert_true(epochs_roll(&t, PS_PER_MS, &digest));
	assert_int_not_equal(digest, 1);
	enqueue(&t, 0, 0, 200, 0, false);
	assert_true(epochs_roll(&t, 2 * PS_PER_MS, &digest));
	enqueue(&t, 0, 0, 400, 0, false);
	report(&t, &nothing, &buf, 1, 2 * PS_PER_MS + 5);
	row = nth(&buf, REC_PORT_ROW, 0);
	assert_int_equal(row->epoch_first, 0);
	assert_int_equal(row->epoch_last, 1);
	assert_int_equal(row->bytes, 300);
	assert_int_equal(row->to_ps, 2 * PS_PER_MS);
	row = nth(&buf, REC_PORT_ROW, 1);
	assert_int_equal(row->epoch_first, 2);
	assert_int_equal(row->bytes, 400);
	/* the next report starts with the epoch that was open, whole now */
	buf.used_bytes = 0;
	enqueue(&t, 0, 0, 800, 0, false);
	assert_true(epochs_roll(&t, 3 * PS_PER_MS, &digest));
	report(&t, &nothing, &buf, 2, 3 * PS_PER_MS + 5);
	row = nth(&buf, REC_PORT_ROW, 0);
	assert_int_equal(row->epoch_first, 2);
	assert_int_equal(row->epoch_last, 2);
	assert_int_equal(row->bytes, 1200);
	row = nth(&buf, REC_PORT_ROW, 1);
	assert_int_equal(row->epoch_first, 3);
	assert_int_equal(row->bytes, 0);
	assert_null(nth(&buf, REC_PORT_ROW, 2));
	recbuf_fini(&buf);
	fini(&t);
}

static void
only_kept_epochs_are_remembered(void **state)
{
	struct epochs t;
	struct recbuf buf;
	uint64_t digest = 1;
	const struct rec_port_row *row;

	(void)state;
	init(&t, &config, 0);
	recbuf_init(&buf, 0);
	for (uint64_t e = 1; e <= 5; e++) {
		enqueue(&t, 0, 1, 1u << e, 0, false);
		assert_true(epochs_roll(&t, e * PS_PER_MS, &digest));
	}
	assert_true(epochs_was_fed(&t, 3, 1));
	assert_false(epochs_was_fed(&t, 3, 2));
	report(&t, &nothing, &buf, 1, 5 * PS_PER_MS + 1);
	row = nth(&buf, REC_PORT_ROW, 0);
	assert_int_equal(row->epoch_first, 3);
	assert_int_equal(row->epoch_last, 4);
	assert_int_equal(row->bytes, (1 << 4) + (1 << 5));
	enqueue(&t, 0, 1, 1, 0, false);
	assert_int_equal(epochs_packets_of(&t, 0), 6); /* how many there were is not forgotten, but when */
	assert_int_equal(epochs_packets_of(&t, 1), 0);
	for (uint64_t e = 6; e <= 8; e++)
		assert_true(epochs_roll(&t, e * PS_PER_MS, &digest));
	assert_false(epochs_was_fed(&t, 3, 1));
	recbuf_fini(&buf);
	fini(&t);
}

static void
pause_time_is_split_between_epochs(void **state)
{
	struct epochs t;
	struct recbuf buf;
	uint64_t digest = 1;
	const struct rec_port_row *row;

	(void)state;
	init(&t, &config, 0);
	recbuf_init(&buf, 0);
	epochs_pause(&t, 1 << 3, TELEM_XOFF_RECEIVED, 0);
	epochs_pause(&t, 1 << 3, TELEM_PAUSED, PS_PER_MS - 300);
	assert_true(epochs_roll(&t, PS_PER_MS, &digest));
	report(&t, &nothing, &buf, 1, PS_PER_MS + 200);
	row = nth(&buf, REC_PORT_ROW, 0);
	assert_int_equal(row->pause_ps, 300);
	assert_int_equal(row->pauses_received, 1);
	row = nth(&buf, REC_PORT_ROW, 1);
	assert_int_equal(row->pause_ps, 200);
	assert_int_equal(row->paused, 1);
	assert_int_equal(row->paused_since_ps, PS_PER_MS - 300);
	epochs_pause(&t, 1 << 3, TELEM_RESUMED, PS_PER_MS + 500);
	assert_int_equal(t.open->classes[0].pause_ps, 500);
	assert_true(epochs_was_paused(&t, 3));
	for (uint64_t e = 2; e <= 4; e++) {
		assert_true(epochs_was_paused(&t, 3)); /* epoch 1 is one of the last three */
		assert_true(epochs_roll(&t, e * PS_PER_MS, &digest));
	}
	assert_false(epochs_was_paused(&t, 3));
	recbuf_fini(&buf);
	fini(&t);
}

static void
rows_that_do_not_sum_up_are_noticed(void **state)
{
	struct epochs t;
	uint64_t digest = 1;

	(void)state;
	init(&t, &config, 0);
	enqueue(&t, 0, 0, 100, 3, false);
	t.open->rows[0].bytes--;
	assert_false(epochs_roll(&t, PS_PER_MS, &digest));
	fini(&t);
}

static void
exact_matrix_counts_packets_ahead(void **state)
{
	struct telem_config exact = config;
	struct epochs t;
	uint32_t a, b;

	(void)state;
	exact.exact = true;
	init(&t, &exact, 0);
	a = port_flows_slot(&port_flows, 0);
	b = port_flows_slot(&port_flows, 1);
	port_flows.queued[a] = 3;
	epochs_count_matrix(&t, b);
	port_flows.queued[b] = 1;
	epochs_count_matrix(&t, b);
	epochs_count_matrix(&t, a);
	assert_int_equal(t.open->matrix[b][a], 6);
	assert_int_equal(t.open->matrix[b][b], 1);
	assert_int_equal(t.open->matrix[a][b], 1);
	assert_int_equal(t.open->matrix[a][a], 3);
	fini(&t);
}

UNIT_TEST(epochs)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open_epoch_is_reported_with_present_state),
		cmocka_unit_test(closed_epochs_are_summed_and_reported_once),
		cmocka_unit_test(only_kept_epochs_are_remembered),
		cmocka_unit_test(pause_time_is_split_between_epochs),
		cmocka_unit_test(rows_that_do_not_sum_up_are_noticed),
		cmocka_unit_test(exact_matrix_counts_packets_ahead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
