/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/telemetry/unpack_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/wire/record.h"
#include "common/wire/record_rows.h"

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

void
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
