/* SPDX-License-Identifier: BSD-3-Clause */
/* What a report costs on the wire: rows pack without loss, headers count, and one report of a port in a time is kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/units.h"
#include "common/wire/record.h"
#include "common/wire/record_rows.h"
#include "telemetry/port.h"

#define EPOCH_PS PS_PER_MS
#define NOW_PS (7 * EPOCH_PS + 123456789)

/* ---- a reader of the packed form, with no code in common with its writer ---- */

static const uint8_t *at;
static struct rec_tuple named[64];
static uint32_t nnamed, src_ip, next_epoch;
static uint64_t frame_bytes;

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

static uint64_t
take_if(unsigned wanted)
{
	return wanted ? take() : 0;
}

static uint64_t
take_change(uint64_t before)
{
	uint64_t change = take();

	return change & 1 ? before - (change >> 1) - 1 : before + (change >> 1);
}

static uint16_t
take_u16(void)
{
	at += 2;
	return (uint16_t)(at[-2] | at[-1] << 8);
}

static struct rec_tuple
take_tuple(void)
{
	struct rec_tuple tuple = { .dport = 4791 };
	uint64_t code = take();

	if (code >= 2) {
		assert_true(code - 2 < nnamed);
		return named[code - 2];
	}
	tuple.src_ip = src_ip ^= (uint32_t)take();
	tuple.dst_ip = (uint32_t)take() ^ src_ip;
	tuple.sport = take_u16();
	if (code == 1)
		tuple.dport = take_u16();
	if (nnamed < 64)
		named[nnamed++] = tuple;
	return tuple;
}

static void
take_now(struct rec_port_row *row, unsigned fields)
{
	row->queue_packets = take_if(fields & 32);
	row->queue_bytes = take_if(fields & 32);
	row->ingress_bytes = take_if(fields & 64);
	row->ingress_xoff_bytes = fields & 128 ? take() : REC_NO_XOFF;
	row->paused_since_ps = row->paused ? NOW_PS - take() : 0;
	row->pausing_since_ps = row->pausing ? NOW_PS - take() : 0;
}

/* @return whether the flow rows behind it stand for its sums. @param metered  set to whether they do for its meters */
static bool
take_port(struct rec_port_row *row, bool *metered)
{
	uint8_t tag = *at++, fields;

	*row = (struct rec_port_row){
		.state_only = tag & 1, .host = tag >> 3 & 1, .paused = tag >> 4 & 1, .pausing = tag >> 5 & 1
	};
	*metered = tag >> 7;
	row->port = (uint16_t)take();
	fields = *at++;
	if (!row->state_only) {
		row->epoch_first = (uint32_t)take_change(next_epoch);
		row->epoch_last = row->epoch_first + (uint32_t)take();
		next_epoch = row->epoch_last + 1;
		row->depth_max = (uint32_t)take_if(fields & 1);
		row->packets = take_if(fields & 2);
		row->bytes = take_if(fields & 2);
		row->depth_sum = take_if(fields & 2);
		row->paused_packets = take_if(fields & 2);
		row->pause_ps = take_if(fields & 4);
		row->pauses_received = (uint32_t)take_if(fields & 8);
		row->pauses_sent = (uint32_t)take_if(fields & 16);
		row->from_ps = row->epoch_first * EPOCH_PS;
		row->to_ps = tag & 64 ? NOW_PS : (row->epoch_last + 1) * EPOCH_PS;
	}
	if (tag & 64)
		take_now(row, fields);
	return (fields & 2) == 0 && !row->state_only;
}

static struct rec_flow_row
take_flow(const struct rec_port_row *port)
{
	struct rec_flow_row row = { .port = port->port, .epoch_first = port->epoch_first, .epoch_last = port->epoch_last };
	uint8_t tag = *at++;

	row.flow = take_tuple();
	row.in_port = tag & 8 ? (uint16_t)take() : REC_NO_PORT;
	row.queue_packets = (uint32_t)take_if(tag & 16);
	row.packets = take_if(tag & 32);
	if (tag & 32) {
		frame_bytes = take_change(frame_bytes);
		row.bytes = row.packets * frame_bytes;
		row.bytes -= take();
	}
	row.depth_sum = take_if(tag & 64);
	row.paused_packets = take_if(tag & 128);
	return row;
}

static struct rec_drop_row
take_drops(void)
{
	struct rec_drop_row row = { 0 };

	at++;
	row.port = (uint16_t)take();
	row.reason = (uint16_t)take();
	row.last = take_tuple();
	row.packets = take();
	row.bytes = take();
	row.last_ps = NOW_PS - take();
	row.first_ps = row.last_ps - take();
	return row;
}

/* A port row with its flow and meter rows, unpacked: what it leaves out comes from its flows. */
static void
unpack_span(struct recbuf *out, const uint8_t *end)
{
	struct rec_port_row row;
	struct rec_flow_row flow_rows[8];
	uint64_t by_ingress[8] = { 0 };
	uint32_t count = 0;
	bool metered, summed = take_port(&row, &metered);

	while (at < end && (*at & 7) == 2) {
		const struct rec_flow_row *flow = &flow_rows[count];

		flow_rows[count++] = take_flow(&row);
		row.packets += summed ? flow->packets : 0;
		row.bytes += summed ? flow->bytes : 0;
		row.depth_sum += summed ? flow->depth_sum : 0;
		row.paused_packets += summed ? flow->paused_packets : 0;
		if (flow->in_port != REC_NO_PORT)
			by_ingress[flow->in_port] += flow->bytes;
	}
	recbuf_put(out, &row, REC_PORT_ROW, sizeof(row), NOW_PS);
	for (uint32_t i = 0; i < count; i++)
		recbuf_put(out, &flow_rows[i], REC_FLOW_ROW, sizeof(flow_rows[i]), NOW_PS);
	for (uint16_t in = 0; in < 8; in++) {
		struct rec_meter_row meter = { .in_port = in,
					       .port = row.port,
					       .epoch_first = row.epoch_first,
					       .epoch_last = row.epoch_last,
					       .bytes = by_ingress[in] };

		if (metered && meter.bytes != 0)
			recbuf_put(out, &meter, REC_METER_ROW, sizeof(meter), NOW_PS);
	}
	while (at < end && (*at & 7) == 3) {
		struct rec_meter_row meter = { .port = row.port,
					       .epoch_first = row.epoch_first,
					       .epoch_last = row.epoch_last };
		uint8_t tag = *at++;

		meter.in_port = (uint16_t)take();
		meter.bytes = tag & 8 ? take() : by_ingress[meter.in_port];
		meter.held_bytes = take_if(tag & 16);
		recbuf_put(out, &meter, REC_METER_ROW, sizeof(meter), NOW_PS);
	}
	while (at < end && (*at & 7) == 4) {
		struct rec_matrix_row matrix = { .port = row.port,
						 .epoch_first = row.epoch_first,
						 .epoch_last = row.epoch_last };

		at++;
		matrix.flow = take_tuple();
		matrix.other = take_tuple();
		matrix.ahead = take();
		recbuf_put(out, &matrix, REC_MATRIX_ROW, sizeof(matrix), NOW_PS);
	}
}

static void
unpack(struct recbuf *out, const uint8_t *packed, size_t bytes)
{
	at = packed;
	nnamed = src_ip = next_epoch = 0;
	frame_bytes = 0;
	while (at < packed + bytes) {
		if ((*at & 7) == 5) {
			struct rec_drop_row drops = take_drops();

			recbuf_put(out, &drops, REC_DROP_ROW, sizeof(drops), NOW_PS);
		} else {
			assert_true((*at & 7) < 2);
			unpack_span(out, packed + bytes);
		}
	}
	assert_int_equal(at - packed, bytes);
}

/* Packs what is in the buffer, reads it back and compares. @return bytes packed */
static size_t
same_again(struct recbuf *buf)
{
	uint8_t packed[1024];
	size_t bytes = report_pack(buf->data, buf->used_bytes, packed);
	struct recbuf back;

	assert_int_equal(bytes, report_pack(buf->data, buf->used_bytes, NULL));
	recbuf_init(&back, 0);
	unpack(&back, packed, bytes);
	assert_int_equal(back.used_bytes, buf->used_bytes);
	assert_memory_equal(back.data, buf->data, buf->used_bytes);
	recbuf_fini(&back);
	return bytes;
}

static void
put_flow(struct recbuf *buf, const struct rec_port_row *port, struct rec_flow_row row)
{
	row.port = port->port;
	row.epoch_first = port->epoch_first;
	row.epoch_last = port->epoch_last;
	recbuf_put(buf, &row, REC_FLOW_ROW, sizeof(row), NOW_PS);
}

static void
put_meter(struct recbuf *buf, const struct rec_port_row *port, struct rec_meter_row row)
{
	row.port = port->port;
	row.epoch_first = port->epoch_first;
	row.epoch_last = port->epoch_last;
	recbuf_put(buf, &row, REC_METER_ROW, sizeof(row), NOW_PS);
}

static const struct rec_tuple tuple = { .src_ip = 0x0a000001, .dst_ip = 0xfffffffe, .sport = 49152, .dport = 4791 };
static const struct rec_tuple odd = { .src_ip = 0xc0a80001, .dst_ip = 7, .sport = 1, .dport = 65535 };

/* Rows that have nothing to do with each other: nothing can be left out. */
static void
rows_pack_without_loss(void **state)
{
	struct rec_port_row closed = { .port = 300,
				       .host = 1,
				       .epoch_first = 2,
				       .epoch_last = 6,
				       .from_ps = 2 * EPOCH_PS,
				       .to_ps = 7 * EPOCH_PS,
				       .depth_max = 127,
				       .packets = 128,
				       .bytes = UINT64_MAX,
				       .depth_sum = 1ULL << 40,
				       .paused_packets = 3,
				       .pause_ps = 999999999,
				       .pauses_received = 5,
				       .pauses_sent = 6 };
	struct rec_port_row open = { .port = 300,
				     .paused = 1,
				     .pausing = 1,
				     .epoch_first = 7,
				     .epoch_last = 7,
				     .from_ps = 7 * EPOCH_PS,
				     .to_ps = NOW_PS,
				     .paused_since_ps = NOW_PS - 77,
				     .queue_packets = 9,
				     .queue_bytes = 9954,
				     .ingress_bytes = 20000,
				     .ingress_xoff_bytes = UINT64_MAX,
				     .pausing_since_ps = 1 };
	struct rec_port_row state_only = {
		.state_only = 1, .port = 300, .pausing = 1, .ingress_xoff_bytes = 90000, .pausing_since_ps = 5
	};
	struct rec_flow_row flow = { .flow = tuple,
				     .in_port = 2,
				     .queue_packets = 1,
				     .packets = 100,
				     .bytes = 110599,
				     .depth_sum = 12345678,
				     .paused_packets = 2 };
	struct rec_flow_row waiting = { .flow = odd, .in_port = REC_NO_PORT, .queue_packets = 1 };
	struct rec_meter_row meter = { .in_port = 2, .bytes = 110599, .held_bytes = 1106 };
	struct rec_matrix_row matrix = {
		.flow = tuple, .other = odd, .port = 300, .epoch_first = 7, .epoch_last = 7, .ahead = 4242
	};
	struct rec_drop_row drops = { .last = odd,
				      .port = 300,
				      .reason = REC_DROP_TTL,
				      .packets = 3,
				      .bytes = 3318,
				      .first_ps = 5,
				      .last_ps = NOW_PS };
	struct recbuf buf;

	(void)state;
	recbuf_init(&buf, 0);
	recbuf_put(&buf, &closed, REC_PORT_ROW, sizeof(closed), NOW_PS);
	put_flow(&buf, &closed, flow);
	put_meter(&buf, &closed, meter);
	put_meter(&buf, &closed, (struct rec_meter_row){ .in_port = 3, .bytes = 5 });
	recbuf_put(&buf, &open, REC_PORT_ROW, sizeof(open), NOW_PS);
	put_flow(&buf, &open, waiting);
	recbuf_put(&buf, &matrix, REC_MATRIX_ROW, sizeof(matrix), NOW_PS);
	recbuf_put(&buf, &drops, REC_DROP_ROW, sizeof(drops), NOW_PS);
	recbuf_put(&buf, &state_only, REC_PORT_ROW, sizeof(state_only), NOW_PS);
	same_again(&buf);
	recbuf_fini(&buf);
}

/* A port's counters and meters that its flow rows sum to are not told again, nor is a flow named twice in full. */
static void
what_flows_tell_is_told_once(void **state)
{
	struct rec_port_row closed = { .port = 3,
				       .epoch_first = 200,
				       .epoch_last = 203,
				       .from_ps = 200 * EPOCH_PS,
				       .to_ps = 204 * EPOCH_PS,
				       .depth_max = 12,
				       .packets = 300,
				       .bytes = 300 * 1106,
				       .depth_sum = 1000 };
	struct rec_port_row open = { .port = 3,
				     .epoch_first = 204,
				     .epoch_last = 204,
				     .from_ps = 204 * EPOCH_PS,
				     .to_ps = NOW_PS,
				     .packets = 10,
				     .bytes = 10 * 1106 - 1000,
				     .ingress_xoff_bytes = UINT64_MAX };
	struct rec_flow_row one = { .flow = tuple, .in_port = 2, .packets = 100, .bytes = 100 * 1106, .depth_sum = 900 };
	struct rec_flow_row other = { .flow = odd, .in_port = 0, .packets = 200, .bytes = 200 * 1106, .depth_sum = 100 };
	struct rec_flow_row last = { .flow = odd, .in_port = 0, .packets = 10, .bytes = 10 * 1106 - 1000 };
	struct recbuf buf;
	size_t both;

	(void)state;
	recbuf_init(&buf, 0);
	recbuf_put(&buf, &closed, REC_PORT_ROW, sizeof(closed), NOW_PS);
	put_flow(&buf, &closed, one);
	put_flow(&buf, &closed, other);
	put_meter(&buf, &closed, (struct rec_meter_row){ .in_port = 0, .bytes = 200 * 1106 });
	put_meter(&buf, &closed, (struct rec_meter_row){ .in_port = 2, .bytes = 100 * 1106 });
	recbuf_put(&buf, &open, REC_PORT_ROW, sizeof(open), NOW_PS);
	put_flow(&buf, &open, last);
	put_meter(&buf, &open, (struct rec_meter_row){ .in_port = 0, .bytes = 10 * 1106 - 1000 });
	/* port rows of 7 and 5 bytes; a flow row of a known tuple takes 7 */
	both = same_again(&buf);
	assert_int_equal(both, 7 + (1 + 12 + 1 + 1 + 3 + 2) + (1 + 15 + 1 + 2 + 2 + 1) + 5 + 7);

	/* One meter row more, or less, than the flows make: all are told. */
	put_meter(&buf, &open, (struct rec_meter_row){ .in_port = 5, .bytes = 9 });
	assert_int_equal(same_again(&buf), both + 2 + 3);
	buf.used_bytes -= 2 * sizeof(struct rec_meter_row);
	assert_int_equal(same_again(&buf), both);
	recbuf_fini(&buf);
}

/* An ingress that has nothing to tell but that it does not pause: tag, port, and that nothing follows. */
static void
a_state_is_short(void **state)
{
	struct rec_port_row row = { .state_only = 1, .port = 7, .ingress_xoff_bytes = REC_NO_XOFF };
	struct recbuf buf;

	(void)state;
	recbuf_init(&buf, 0);
	recbuf_put(&buf, &row, REC_PORT_ROW, sizeof(row), NOW_PS);
	assert_int_equal(same_again(&buf), 3);
	recbuf_fini(&buf);
}

static void
heads_are_as_long_as_they_must(void **state)
{
	(void)state;
	assert_int_equal(report_head_bytes(5, 0, 127), 1 + 1 + 1 + 1 + 1);
	assert_int_equal(report_head_bytes(300, 7u << 16 | 300, 1ULL << 35), 1 + 2 + 6 + 1 + 2);
	assert_int_equal(report_head_bytes(UINT32_MAX, UINT32_MAX, UINT64_MAX), 1 + 5 + 10 + 3 + 3);
}

/* Ethernet 14, IPv4 20, UDP 8, as often as the payload fills an IP packet of 1500 B; no frame is below 60 B. */
static void
headers_count(void **state)
{
	(void)state;
	struct report_count count = { 0 };

	assert_int_equal(report_wire_bytes((struct report_sum){ 11, 1 }), 60);
	assert_int_equal(report_wire_bytes((struct report_sum){ 19, 1 }), 61);
	assert_int_equal(report_wire_bytes((struct report_sum){ 33, 3 }), 3 * 60);
	assert_int_equal(report_wire_bytes((struct report_sum){ 1472, 1 }), 1472 + 42);
	assert_int_equal(report_wire_bytes((struct report_sum){ 1473, 1 }), 1473 + 84);
	assert_int_equal(report_wire_bytes((struct report_sum){ 2 * 1472, 2 }), 2 * (1472 + 42));
	assert_int_equal(report_wire_bytes((struct report_sum){ 0, 0 }), 0);
	report_count_add(&count, (struct report_sum){ 300, 3 }, (struct report_sum){ 100, 1 });
	assert_int_equal(count.reports, 3);
	assert_int_equal(count.bytes, 300 + 3 * 42);
	assert_int_equal(count.kept_reports, 1);
	assert_int_equal(count.kept_bytes, 100 + 42);
}

/* ---- what is kept of what a port is asked for ---- */

static struct flow flows[1] = { { .src_ip = 1, .dst_ip = 2, .sport = 10, .dport = 20 } };
static const struct flow_table table = { flows, 1, 0 };
static struct telem_present present = { .ingress_bytes = 5000, .ingress_xoff_bytes = 30000 };
static struct recbuf records;
static struct report_count count;
static struct telem_reporter reporter;
static struct port_flows port_flows;
static struct telem_port port;

static bool
ask_for(bool whole, uint64_t now_ps)
{
	uint64_t packed_bytes;
	bool kept = telem_reply(&port, &reporter, whole ? TELEM_ROWS : TELEM_STATE, &present, 1, now_ps, &packed_bytes);

	assert_true(packed_bytes > 0);
	assert_int_equal(reporter.spare.used_bytes, 0);
	return kept;
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
	telem_reporter_init(&reporter, 1, &table, &records, &count);
	assert_int_equal(port_flows_init(&port_flows, &table), 0);
	assert_int_equal(telem_init(&port, config, &port_flows, 0), 0);
	telem_enqueue(&port, port_flows_slot(&port_flows, 0), 0, 1000, 0, false);
}

static void
end(void)
{
	telem_fini(&port);
	port_flows_fini(&port_flows);
	recbuf_fini(&records);
	telem_reporter_fini(&reporter);
}

static void
one_report_in_50_us_is_kept(void **state)
{
	const struct telem_config config = { .epoch_ps = EPOCH_PS, .kept = 3, .nports = 1, .retain_ps = 50 * PS_PER_US };
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
	const struct telem_config config = { .epoch_ps = EPOCH_PS, .kept = 3, .nports = 1, .retain_ps = 50 * PS_PER_US };
	const struct rec_port_row *row;
	uint64_t digest = 0;

	(void)state;
	begin(&config);
	assert_true(telem_roll(&port, EPOCH_PS, &digest));
	assert_true(ask_for(false, EPOCH_PS + 10 * PS_PER_US));
	row = (const void *)records.data;
	assert_int_equal(records.used_bytes, sizeof(*row));
	assert_int_equal(row->state_only, 1);
	assert_int_equal(row->ingress_bytes, 0);
	assert_int_equal(row->ingress_xoff_bytes, REC_NO_XOFF);
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

/* Its buffer tells whether an ingress that pauses has reason to; of one that does not, nobody asks. */
static void
an_ingress_that_pauses_tells_of_its_buffer(void **state)
{
	const struct telem_config config = { .epoch_ps = EPOCH_PS, .kept = 3, .nports = 1 };
	const struct rec_port_row *row;

	(void)state;
	begin(&config);
	present.pausing = true;
	assert_true(ask_for(false, 10));
	row = (const void *)records.data;
	assert_int_equal(row->ingress_bytes, 5000);
	assert_int_equal(row->ingress_xoff_bytes, 30000);
	present.pausing = false;
	end();
}

static void
without_a_retention_all_are_kept(void **state)
{
	const struct telem_config config = { .epoch_ps = EPOCH_PS, .kept = 3, .nports = 1 };

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
		cmocka_unit_test(what_flows_tell_is_told_once),
		cmocka_unit_test(a_state_is_short),
		cmocka_unit_test(heads_are_as_long_as_they_must),
		cmocka_unit_test(headers_count),
		cmocka_unit_test(one_report_in_50_us_is_kept),
		cmocka_unit_test(a_state_alone_leaves_the_rows_untold),
		cmocka_unit_test(an_ingress_that_pauses_tells_of_its_buffer),
		cmocka_unit_test(without_a_retention_all_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
