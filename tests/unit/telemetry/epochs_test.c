/* SPDX-License-Identifier: BSD-3-Clause */
/* Epochs, rows, and what a report holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/units.h"
#include "common/wire/record.h"
#include "common/wire/record_rows.h"
#include "telemetry/epochs.h"

static struct flow flows[3] = {
	{ .src_ip = 1, .dst_ip = 2, .sport = 10, .dport = 20 },
	{ .src_ip = 3, .dst_ip = 4, .sport = 30, .dport = 40 },
	{ .src_ip = 5, .dst_ip = 6, .sport = 50, .dport = 60 },
};
static const struct flow_table table = { flows, 3, 0 };
static const struct telem_config config = { .epoch_ps = PS_PER_MS, .kept = 3, .nports = 4 };

static const struct telem_present nothing;
static struct port_flows port_flows;

static void
init(struct epochs *t, const struct telem_config *with, uint16_t port)
{
	assert_int_equal(port_flows_init(&port_flows, &table), 0);
	assert_int_equal(epochs_init(t, with, &port_flows, port), 0);
}

static void
fini(struct epochs *t)
{
	epochs_fini(t);
	port_flows_fini(&port_flows);
}

/* The i-th record of a kind in a buffer, NULL if there are fewer. */
static const void *
nth(const struct recbuf *buf, uint16_t type, int n)
{
	for (size_t at = 0; at < buf->used_bytes;) {
		const struct rec_hdr *hdr = (const void *)(buf->data + at);

		if (hdr->type == type && n-- == 0)
			return hdr;
		at += hdr->size;
	}
	return NULL;
}

static void
enqueue(struct epochs *t, uint32_t flow, uint16_t in, uint32_t bytes, uint32_t depth, bool paused)
{
	epochs_enqueue(t, port_flows_slot(&port_flows, flow), in, bytes, depth, paused);
}

static void
report(struct epochs *t, const struct telem_present *present, struct recbuf *buf, uint32_t event, uint64_t now_ps)
{
	const struct telem_query query = {
		.extent = TELEM_ROWS, .event = event, .now_ps = now_ps, .present = present, .kept = true
	};

	epochs_report(t, &query, buf);
}

static void
open_epoch_is_reported_with_present_state(void **state)
{
	struct epochs t;
	struct recbuf buf;
	const struct rec_port_row *port;
	const struct rec_flow_row *flow;
	const struct rec_meter_row *meter;
	uint64_t held[4] = { [2] = 777 };
	struct telem_present present = { .queue_packets = 5, .queue_bytes = 6740, .held_bytes = held };

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
	assert_int_equal(port->packets, 3);
	assert_int_equal(port->bytes, 2500);
	assert_int_equal(port->depth_sum, 3);
	assert_int_equal(port->depth_max, 2);
	assert_int_equal(port->paused_packets, 1);
	assert_int_equal(port->queue_packets, 5);
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

#define MANY 8 /* epochs, beside which the open one is little */

/* A port of which nothing is told but by what closes, unless it is worth notice. */
static void
setup_quiet(struct epochs *t, struct recbuf *buf, bool host)
{
	static struct telem_config quiet;

	quiet = config;
	quiet.quiet_depth = 8;
	quiet.kept = MANY + 2;
	quiet.host = host;
	init(t, &quiet, 0);
	recbuf_init(buf, 0);
}

/*
 * Epochs of one packet of flow 0 close after a report; then comes one of open_flow, and another report.
 * @return whether the open epoch was told, beside the closed ones
 */
static bool
is_open_told(struct epochs *t, struct recbuf *buf, uint32_t epochs, uint32_t depth, uint32_t open_flow, uint32_t open_depth)
{
	const struct rec_port_row *closed, *open;
	uint64_t digest = 1, index = t->open->index + 1;

	assert_true(epochs_roll(t, index * PS_PER_MS, &digest));
	report(t, &nothing, buf, 1, index * PS_PER_MS + 5);
	for (uint32_t i = 0; i < epochs; i++) {
		enqueue(t, 0, 0, 100, depth, false);
		assert_true(epochs_roll(t, (index + i + 1) * PS_PER_MS, &digest));
	}
	enqueue(t, open_flow, 0, 200, open_depth, false);
	buf->used_bytes = 0;
	report(t, &nothing, buf, 2, (index + epochs) * PS_PER_MS + 5);
	closed = nth(buf, REC_PORT_ROW, 0);
	open = nth(buf, REC_PORT_ROW, 1);
	assert_int_equal(closed->packets, epochs);
	assert_int_equal(open->state_only ? 0 : 1, open->packets);
	assert_int_equal(nth(buf, REC_FLOW_ROW, 1) != NULL, !open->state_only);
	return !open->state_only;
}

/* What closed epochs tell of is told of the open one once it is closed; a first queue is now, and of many a new flow. */
static void
the_open_epoch_is_told_for_news(void **state)
{
	struct epochs t;
	struct recbuf buf;

	(void)state;
	setup_quiet(&t, &buf, false);
	enqueue(&t, 0, 0, 100, 7, false);
	report(&t, &nothing, &buf, 1, 5); /* no epoch is closed: the open one is all that there is */
	assert_int_equal(((const struct rec_port_row *)nth(&buf, REC_PORT_ROW, 0))->packets, 1);
	assert_false(is_open_told(&t, &buf, 1, 7, 0, 7));
	assert_false(is_open_told(&t, &buf, 1, 7, 1, 7)); /* nobody waits for it */
	assert_true(is_open_told(&t, &buf, 1, 7, 0, 8));
	assert_true(is_open_told(&t, &buf, MANY, 7, 0, 8));
	assert_true(is_open_told(&t, &buf, MANY - 1, 8, 0, 8)); /* when is what counts */
	assert_false(is_open_told(&t, &buf, MANY, 8, 0, 8));
	assert_true(is_open_told(&t, &buf, MANY, 8, 1, 8));
	recbuf_fini(&buf);
	fini(&t);
	setup_quiet(&t, &buf, true); /* of a NIC no queue is too small */
	assert_true(is_open_told(&t, &buf, MANY - 1, 0, 0, 0));
	assert_false(is_open_told(&t, &buf, MANY, 0, 0, 0));
	recbuf_fini(&buf);
	fini(&t);
}

/* As of queues, so of pauses that come in, and that go out; those that last are told of up to the moment. */
static void
the_open_epoch_is_told_for_pauses(void **state)
{
	enum { NONE, BEFORE, LASTS, COMES };
	static const struct {
		int closed, now; /* a pause in the last closed epoch that ends there or lasts, and one in the open epoch */
		bool told;
	} cases[] = {
		{ NONE, NONE, false },    { BEFORE, NONE, false }, { NONE, COMES, true },
		{ BEFORE, COMES, false }, { LASTS, LASTS, true },
	};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(cases); i++) {
		int closed = cases[i / 2].closed, now = cases[i / 2].now;
		uint64_t before_ps = MANY * PS_PER_MS - 9, open_ps = MANY * PS_PER_MS + 1, digest = 1;
		bool sent = i % 2;
		struct telem_present present = { .pausing = sent && now != NONE,
						 .pausing_since_ps = now == LASTS ? before_ps : open_ps };
		struct epochs t;
		struct recbuf buf;

		setup_quiet(&t, &buf, false);
		for (uint32_t epoch = 1; epoch <= MANY; epoch++) {
			enqueue(&t, 0, 0, 100, 0, false);
			if (epoch == MANY && closed != NONE && sent)
				epochs_pause(&t, TELEM_XOFF_SENT, 0);
			if (epoch == MANY && closed != NONE && !sent)
				epochs_pause(&t, TELEM_HALTED, before_ps);
			if (epoch == MANY && closed == BEFORE && !sent)
				epochs_pause(&t, TELEM_RESUMED, before_ps + 2);
			assert_true(epochs_roll(&t, epoch * PS_PER_MS, &digest));
		}
		if (now == COMES && !sent)
			epochs_pause(&t, TELEM_HALTED, open_ps);
		report(&t, &present, &buf, 1, MANY * PS_PER_MS + 5);
		assert_int_equal(((const struct rec_port_row *)nth(&buf, REC_PORT_ROW, 1))->state_only, !cases[i / 2].told);
		recbuf_fini(&buf);
		fini(&t);
	}
}

/* A port that nothing left by: its queue, as it stands, is all that there is. */
static void
a_queue_that_stands_is_told(void **state)
{
	const struct telem_present present = { .queue_packets = 9 };
	const struct rec_port_row *row;
	struct epochs t;
	struct recbuf buf;
	uint64_t digest = 1;

	(void)state;
	setup_quiet(&t, &buf, false);
	epochs_pause(&t, TELEM_HALTED, 100);
	epochs_pause(&t, TELEM_RESUMED, MANY * PS_PER_MS - 5);
	assert_true(epochs_roll(&t, MANY * PS_PER_MS, &digest));
	report(&t, &present, &buf, 1, MANY * PS_PER_MS + 5);
	row = nth(&buf, REC_PORT_ROW, 1);
	assert_int_equal(row->state_only, 0);
	assert_int_equal(row->queue_packets, 9);
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
	assert_true(epochs_was_fed(&t, 1));
	assert_false(epochs_was_fed(&t, 2));
	report(&t, &nothing, &buf, 1, 5 * PS_PER_MS + 1);
	row = nth(&buf, REC_PORT_ROW, 0);
	assert_int_equal(row->epoch_first, 3);
	assert_int_equal(row->epoch_last, 4);
	assert_int_equal(row->bytes, (1 << 4) + (1 << 5));
	for (uint64_t e = 6; e <= 8; e++)
		assert_true(epochs_roll(&t, e * PS_PER_MS, &digest));
	assert_false(epochs_was_fed(&t, 1));
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
	epochs_pause(&t, TELEM_XOFF_RECEIVED, 0);
	epochs_pause(&t, TELEM_HALTED, PS_PER_MS - 300);
	assert_true(epochs_roll(&t, PS_PER_MS, &digest));
	report(&t, &nothing, &buf, 1, PS_PER_MS + 200);
	row = nth(&buf, REC_PORT_ROW, 0);
	assert_int_equal(row->pause_ps, 300);
	assert_int_equal(row->pauses_received, 1);
	row = nth(&buf, REC_PORT_ROW, 1);
	assert_int_equal(row->pause_ps, 200);
	assert_int_equal(row->paused, 1);
	assert_int_equal(row->paused_since_ps, PS_PER_MS - 300);
	epochs_pause(&t, TELEM_RESUMED, PS_PER_MS + 500);
	assert_int_equal(t.open->pause_ps, 500);
	assert_true(epochs_was_paused(&t));
	for (uint64_t e = 2; e <= 4; e++)
		assert_true(epochs_roll(&t, e * PS_PER_MS, &digest));
	assert_false(epochs_was_paused(&t));
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
	t.open->rows[0].depth_sum--;
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
	epochs_enqueue(&t, b, 0, 100, 3, false);
	port_flows.queued[b] = 1;
	epochs_enqueue(&t, b, 0, 100, 4, false);
	epochs_enqueue(&t, a, 0, 100, 4, false);
	assert_int_equal(t.open->matrix[b][a], 6);
	assert_int_equal(t.open->matrix[b][b], 1);
	assert_int_equal(t.open->matrix[a][b], 1);
	assert_int_equal(t.open->matrix[a][a], 3);
	fini(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open_epoch_is_reported_with_present_state),
		cmocka_unit_test(closed_epochs_are_summed_and_reported_once),
		cmocka_unit_test(the_open_epoch_is_told_for_news),
		cmocka_unit_test(the_open_epoch_is_told_for_pauses),
		cmocka_unit_test(a_queue_that_stands_is_told),
		cmocka_unit_test(only_kept_epochs_are_remembered),
		cmocka_unit_test(pause_time_is_split_between_epochs),
		cmocka_unit_test(rows_that_do_not_sum_up_are_noticed),
		cmocka_unit_test(exact_matrix_counts_packets_ahead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
