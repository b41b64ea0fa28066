/* SPDX-License-Identifier: BSD-3-Clause */
/* What a report costs on the wire: rows pack without loss, headers count, and one report of a port in a time is kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/report.h"
#include "common/units.h"
#include "dpswitch/telemetry/answer.h"

#define EPOCH_PS PS_PER_MS
#define NOW_PS (7 * EPOCH_PS + 123456789)

/* ---- a reader of the packed form, with no code in common with its writer ---- */

static const uint8_t *at;

static uint64_t
take(void)
{
	uint64_t value = 0;

	for (unsigned shift = 0;; shift += 7) {
		uint8_t byte = *at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
}

static struct rec_tuple
take_tuple(void)
{
	struct rec_tuple tuple = { 0 };

	memcpy(&tuple, at, 12);
	at += 12;
	return tuple;
}

static void
take_now(struct rec_port_row *row, uint8_t flags)
{
	if (!(flags & 8))
		return;
	row->queue_packets = take();
	row->queue_bytes = take();
	row->ingress_bytes = take();
	row->ingress_xoff_bytes = take() - 1;
	row->paused_since_ps = row->paused ? NOW_PS - take() : 0;
	row->pausing_since_ps = row->pausing ? NOW_PS - take() : 0;
}

static struct rec_port_row
take_port(void)
{
	struct rec_port_row row = { .hdr = { .type = REC_PORT_ROW, .size = sizeof(row), .time_ps = NOW_PS } };
	uint8_t flags;

	assert_int_equal(*at++, REC_PORT_ROW);
	flags = *at++;
	row.state_only = flags >> 4 & 1;
	row.host = flags & 1;
	row.paused = flags >> 1 & 1;
	row.pausing = flags >> 2 & 1;
	row.port = (uint16_t)take();
	if (row.state_only) {
		take_now(&row, flags);
		return row;
	}
	row.epoch_first = (uint32_t)take();
	row.epoch_last = row.epoch_first + (uint32_t)take();
	row.depth_max = (uint32_t)take();
	row.packets = take();
	row.bytes = take();
	row.depth_sum = take();
	row.paused_packets = take();
	row.pause_ps = take();
	row.pauses_received = (uint32_t)take();
	row.pauses_sent = (uint32_t)take();
	row.from_ps = row.epoch_first * EPOCH_PS;
	row.to_ps = flags & 8 ? NOW_PS : (row.epoch_last + 1) * EPOCH_PS;
	take_now(&row, flags);
	return row;
}

static void
same_flow(const struct rec_flow_row *row)
{
	struct rec_tuple tuple;

	assert_int_equal(*at++, REC_FLOW_ROW);
	tuple = take_tuple();
	assert_memory_equal(&tuple, &row->flow, sizeof(tuple));
	assert_int_equal(take(), row->in_port);
	assert_int_equal(take(), row->queue_packets);
	assert_int_equal(take(), row->packets);
	assert_int_equal(take(), row->bytes);
	assert_int_equal(take(), row->depth_sum);
	assert_int_equal(take(), row->paused_packets);
}

static void
rows_pack_without_loss(void **state)
{
	const struct rec_tuple tuple = { .src_ip = 0x0a000001, .dst_ip = 0xfffffffe, .sport = 49152, .dport = 4791 };
	struct rec_port_row closed = { .port = 300, .host = 1, .epoch_first = 2, .epoch_last = 6, .from_ps = 2 * EPOCH_PS,
				       .to_ps = 7 * EPOCH_PS, .depth_max = 127, .packets = 128, .bytes = UINT64_MAX,
				       .depth_sum = 1ULL << 40, .paused_packets = 3, .pause_ps = 999999999,
				       .pauses_received = 5, .pauses_sent = 6 };
	struct rec_port_row open = { .port = 300, .paused = 1, .pausing = 1, .epoch_first = 7, .epoch_last = 7,
				     .from_ps = 7 * EPOCH_PS, .to_ps = NOW_PS, .paused_since_ps = NOW_PS - 77,
				     .queue_packets = 9, .queue_bytes = 9954, .ingress_bytes = 20000,
				     .ingress_xoff_bytes = UINT64_MAX, .pausing_since_ps = 1 };
	struct rec_port_row state_only = { .state_only = 1, .port = 300, .pausing = 1, .ingress_xoff_bytes = 90000,
					   .pausing_since_ps = 5 };
	struct rec_flow_row flow = { .flow = tuple, .port = 300, .in_port = 2, .epoch_first = 2, .epoch_last = 6,
				     .queue_packets = 1, .packets = 100, .bytes = 110600, .depth_sum = 12345678,
				     .paused_packets = 2 };
	struct rec_meter_row meter = { .in_port = 2, .port = 300, .epoch_first = 2, .epoch_last = 6, .bytes = 110600,
				       .held_bytes = 1106 };
	struct rec_matrix_row matrix = { .flow = tuple, .other = { .src_ip = 7 }, .port = 300, .ahead = 4242 };
	struct rec_drop_row drops = { .last = tuple, .port = 300, .reason = REC_DROP_TTL, .packets = 3, .bytes = 3318,
				      .first_ps = 5, .last_ps = NOW_PS };
	struct rec_port_row back;
	struct rec_tuple other;
	uint8_t packed[1024];
	struct recbuf buf;
	size_t bytes;

	(void)state;
	recbuf_init(&buf, 0);
	recbuf_put(&buf, &closed, REC_PORT_ROW, sizeof(closed), NOW_PS);
	recbuf_put(&buf, &flow, REC_FLOW_ROW, sizeof(flow), NOW_PS);
	recbuf_put(&buf, &meter, REC_METER_ROW, sizeof(meter), NOW_PS);
	recbuf_put(&buf, &matrix, REC_MATRIX_ROW, sizeof(matrix), NOW_PS);
	recbuf_put(&buf, &open, REC_PORT_ROW, sizeof(open), NOW_PS);
	recbuf_put(&buf, &drops, REC_DROP_ROW, sizeof(drops), NOW_PS);
	recbuf_put(&buf, &state_only, REC_PORT_ROW, sizeof(state_only), NOW_PS);
	bytes = report_pack(buf.data, buf.used_bytes, packed);
	assert_int_equal(bytes, report_pack(buf.data, buf.used_bytes, NULL));
	assert_true(bytes < buf.used_bytes / 2);

	at = packed;
	back = take_port();
	closed.hdr.seq = 0;
	assert_memory_equal(&back, &closed, sizeof(back));
	same_flow(&flow);
	assert_int_equal(*at++, REC_METER_ROW);
	assert_int_equal(take(), meter.in_port);
	assert_int_equal(take(), meter.bytes);
	assert_int_equal(take(), meter.held_bytes);
	assert_int_equal(*at++, REC_MATRIX_ROW);
	other = take_tuple();
	assert_memory_equal(&other, &matrix.flow, sizeof(other));
	other = take_tuple();
	assert_memory_equal(&other, &matrix.other, sizeof(other));
	assert_int_equal(take(), matrix.ahead);
	back = take_port();
	open.hdr.seq = 0;
	assert_memory_equal(&back, &open, sizeof(back));
	assert_int_equal(*at++, REC_DROP_ROW);
	assert_int_equal(take(), drops.port);
	assert_int_equal(take(), drops.reason);
	other = take_tuple();
	assert_memory_equal(&other, &drops.last, sizeof(other));
	assert_int_equal(take(), drops.packets);
	assert_int_equal(take(), drops.bytes);
	assert_int_equal(take(), drops.first_ps);
	assert_int_equal(take(), drops.last_ps);
	back = take_port();
	state_only.hdr.seq = 0;
	assert_memory_equal(&back, &state_only, sizeof(back));
	assert_int_equal(at - packed, bytes);
	recbuf_fini(&buf);
}

/* Ethernet 14, IPv4 20, UDP 8, as often as the payload fills an IP packet of 1500 B; a head of 17 B. */
static void
headers_count(void **state)
{
	(void)state;
	struct report_count count = { 0 };

	assert_int_equal(report_wire_bytes((struct report_sum){ 0, 1 }), 17 + 42);
	assert_int_equal(report_wire_bytes((struct report_sum){ 0, 3 }), 3 * (17 + 42));
	assert_int_equal(report_wire_bytes((struct report_sum){ 1472 - 17, 1 }), 1472 + 42);
	assert_int_equal(report_wire_bytes((struct report_sum){ 1472 - 16, 1 }), 1473 + 84);
	assert_int_equal(report_wire_bytes((struct report_sum){ 2 * (1472 - 17), 2 }), 2 * (1472 + 42));
	assert_int_equal(report_wire_bytes((struct report_sum){ 0, 0 }), 0);
	report_count_add(&count, (struct report_sum){ 300, 3 }, (struct report_sum){ 100, 1 });
	assert_int_equal(count.reports, 3);
	assert_int_equal(count.bytes, 300 + 3 * (17 + 42));
	assert_int_equal(count.kept_reports, 1);
	assert_int_equal(count.kept_bytes, 100 + 17 + 42);
}

/* ---- what is kept of what a port is asked for ---- */

static struct flow flows[1] = { { .src_ip = 1, .dst_ip = 2, .sport = 10, .dport = 20 } };
static const struct flow_table table = { flows, 1, 0 };
static const struct telem_present present = { .ingress_xoff_bytes = 30000 };
static struct recbuf records, spare;
static struct telem_port port;

static bool
ask_for(bool whole, uint64_t now_ps)
{
	struct answer answer = answer_begin(&port, whole, &present, &records, &spare, 1, now_ps);

	assert_true(answer_end(&answer) > 0);
	assert_int_equal(spare.used_bytes, 0);
	return answer.kept;
}

static bool
ask(uint64_t now_ps)
{
	return ask_for(true, now_ps);
}

static void
begin(const struct telem_config *config)
{
	recbuf_init(&records, 1);
	recbuf_init(&spare, 1);
	assert_int_equal(telem_init(&port, config, 0), 0);
	telem_enqueue(&port, telem_slot(&port, 0), 0, 1000, 0, false);
}

static void
end(void)
{
	telem_fini(&port);
	recbuf_fini(&records);
	recbuf_fini(&spare);
}

static void
one_report_in_50_us_is_kept(void **state)
{
	const struct telem_config config = { .flows = &table, .epoch_ps = EPOCH_PS, .kept = 3, .nports = 1,
					     .retain_ps = 50 * PS_PER_US };
	uint64_t digest = 0;
	size_t first_bytes;

	(void)state;
	begin(&config);
	assert_true(ask(10 * PS_PER_US));
	first_bytes = records.used_bytes;
	assert_false(ask(11 * PS_PER_US));
	assert_false(ask(60 * PS_PER_US - 1));
	assert_int_equal(records.used_bytes, first_bytes);
	assert_true(ask(60 * PS_PER_US));
	assert_int_equal(records.used_bytes, 2 * first_bytes);

	/* An epoch closes and its report is not kept: the next one that is tells of it. */
	assert_true(ask(EPOCH_PS - 10 * PS_PER_US));
	assert_true(telem_roll(&port, EPOCH_PS, &digest));
	assert_false(ask(EPOCH_PS + 10 * PS_PER_US));
	records.used_bytes = 0;
	assert_true(ask(EPOCH_PS + 40 * PS_PER_US));
	assert_int_equal(((const struct rec_port_row *)(const void *)records.data)->epoch_first, 0);
	assert_int_equal(((const struct rec_port_row *)(const void *)records.data)->packets, 1);
	end();
}

/* An ingress that is asked tells how it is: no rows, nothing of the epochs; and the rows are told to the next who asks. */
static void
a_state_alone_leaves_the_rows_untold(void **state)
{
	const struct telem_config config = { .flows = &table, .epoch_ps = EPOCH_PS, .kept = 3, .nports = 1,
					     .retain_ps = 50 * PS_PER_US };
	const struct rec_port_row *row;
	uint64_t digest = 0;

	(void)state;
	begin(&config);
	assert_true(telem_roll(&port, EPOCH_PS, &digest));
	assert_true(ask_for(false, EPOCH_PS + 10 * PS_PER_US));
	row = (const void *)records.data;
	assert_int_equal(records.used_bytes, sizeof(*row));
	assert_int_equal(row->state_only, 1);
	assert_int_equal(row->ingress_xoff_bytes, 30000);
	assert_int_equal(row->packets, 0);
	records.used_bytes = 0;
	assert_false(ask_for(false, EPOCH_PS + 20 * PS_PER_US));
	assert_true(ask_for(true, EPOCH_PS + 20 * PS_PER_US));
	row = (const void *)records.data;
	assert_int_equal(row->epoch_first, 0);
	assert_int_equal(row->packets, 1);
	assert_int_equal(row->state_only, 0);
	assert_false(ask_for(false, EPOCH_PS + 60 * PS_PER_US)); /* it was in that report */
	end();
}

static void
without_a_retention_all_are_kept(void **state)
{
	const struct telem_config config = { .flows = &table, .epoch_ps = EPOCH_PS, .kept = 3, .nports = 1 };

	(void)state;
	begin(&config);
	assert_true(ask(10));
	assert_true(ask(11));
	assert_true(ask(11));
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_pack_without_loss),
		cmocka_unit_test(headers_count),
		cmocka_unit_test(one_report_in_50_us_is_kept),
		cmocka_unit_test(a_state_alone_leaves_the_rows_untold),
		cmocka_unit_test(without_a_retention_all_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
