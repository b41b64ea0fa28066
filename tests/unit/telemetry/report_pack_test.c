/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of a report pack without loss, and what follows from others is left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/wire/drop.h"
#include "common/wire/record.h"
#include "common/wire/record_rows.h"
#include "telemetry/report.h"
#include "tests/unit/telemetry/unpack_rig.h"

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

static void
put_closed(struct recbuf *buf)
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
	struct rec_flow_row flow = { .flow = tuple,
				     .in_port = 2,
				     .queue_packets = 1,
				     .packets = 100,
				     .bytes = 110599,
				     .depth_sum = 12345678,
				     .paused_packets = 2 };
	struct rec_meter_row meter = { .in_port = 2, .bytes = 110599, .held_bytes = 1106 };

	recbuf_put(buf, &closed, REC_PORT_ROW, sizeof(closed), NOW_PS);
	put_flow(buf, &closed, flow);
	put_meter(buf, &closed, meter);
	put_meter(buf, &closed, (struct rec_meter_row){ .in_port = 3, .bytes = 5 });
}

static void
put_open(struct recbuf *buf)
{
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
	struct rec_flow_row waiting = { .flow = odd, .in_port = REC_NO_PORT, .queue_packets = 1 };
	struct rec_matrix_row matrix = {
		.flow = tuple, .other = odd, .port = 300, .epoch_first = 7, .epoch_last = 7, .ahead = 4242
	};

	recbuf_put(buf, &open, REC_PORT_ROW, sizeof(open), NOW_PS);
	put_flow(buf, &open, waiting);
	recbuf_put(buf, &matrix, REC_MATRIX_ROW, sizeof(matrix), NOW_PS);
}

/* Rows that have nothing to do with each other: nothing can be left out. */
static void
rows_pack_without_loss(void **state)
{
	struct rec_port_row state_only = {
		.state_only = 1, .port = 300, .pausing = 1, .ingress_xoff_bytes = 90000, .pausing_since_ps = 5
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
	put_closed(&buf);
	put_open(&buf);
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
				       .depth_sum = 1000,
				       .paused_packets = 7 };
	struct rec_port_row open = { .port = 3,
				     .epoch_first = 204,
				     .epoch_last = 204,
				     .from_ps = 204 * EPOCH_PS,
				     .to_ps = NOW_PS,
				     .packets = 10,
				     .bytes = 10 * 1106 - 1000,
				     .ingress_xoff_bytes = UINT64_MAX };
	struct rec_flow_row one = {
		.flow = tuple, .in_port = 2, .packets = 100, .bytes = 100 * 1106, .depth_sum = 900, .paused_packets = 3
	};
	struct rec_flow_row other = {
		.flow = odd, .in_port = 0, .packets = 200, .bytes = 200 * 1106, .depth_sum = 100, .paused_packets = 4
	};
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
	assert_int_equal(both, 7 + (1 + 12 + 1 + 1 + 3 + 2 + 1) + (1 + 15 + 1 + 2 + 2 + 1 + 1) + 5 + 7);

	/* One meter row more, or less, than the flows make: all are told. */
	put_meter(&buf, &open, (struct rec_meter_row){ .in_port = 5, .bytes = 9 });
	assert_int_equal(same_again(&buf), both + 2 + 3);
	buf.used_bytes -= 2 * sizeof(struct rec_meter_row);
	assert_int_equal(same_again(&buf), both);
	recbuf_fini(&buf);
}

/* Tuples that differ from another in one thing alone. */
static void
tuples_alike_are_told_apart(void **state)
{
	struct rec_port_row port = {
		.port = 1, .epoch_first = 1, .epoch_last = 1, .from_ps = EPOCH_PS, .to_ps = 2 * EPOCH_PS
	};
	struct recbuf buf;

	(void)state;
	recbuf_init(&buf, 0);
	recbuf_put(&buf, &port, REC_PORT_ROW, sizeof(port), NOW_PS);
	for (uint32_t i = 0; i < 5; i++) {
		struct rec_flow_row row = { .flow = tuple, .in_port = REC_NO_PORT, .queue_packets = 1 + i };

		row.flow.src_ip += i == 1;
		row.flow.dst_ip -= i == 2;
		row.flow.sport += i == 3;
		row.flow.dport += i == 4;
		put_flow(&buf, &port, row);
	}
	same_again(&buf);
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_pack_without_loss),
		cmocka_unit_test(what_flows_tell_is_told_once),
		cmocka_unit_test(tuples_alike_are_told_apart),
		cmocka_unit_test(a_state_is_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
