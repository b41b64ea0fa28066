/* SPDX-License-Identifier: BSD-3-Clause */
/* The packed rows of a port's part of a report, as telemetry/report.h describes them. */
#include <assert.h>
#include <stdbool.h>

#include "common/flow.h"
#include "common/wire/record.h"
#include "telemetry/report.h"

#define NAMED 64 /* tuples of a part that can be named again */

enum row_type { ROW_PORT, ROW_STATE, ROW_FLOW, ROW_METER, ROW_MATRIX, ROW_DROPS };
enum port_flag { PORT_HOST = 1, PORT_PAUSED = 2, PORT_PAUSING = 4, PORT_NOW = 8, PORT_METERED = 16 };
enum port_field {
	FIELD_DEPTH_MAX = 1,
	FIELD_SUMS = 2,
	FIELD_PAUSE = 4,
	FIELD_RECEIVED = 8,
	FIELD_SENT = 16,
	FIELD_QUEUE = 32,
	FIELD_INGRESS = 64,
	FIELD_XOFF = 128,
};
enum flow_flag { FLOW_IN_PORT = 1, FLOW_QUEUED = 2, FLOW_COUNTED = 4, FLOW_DEPTH = 8, FLOW_PAUSED = 16 };
enum meter_flag { METER_BYTES = 1, METER_HELD = 2 };

struct packer {
	uint8_t *out; /* NULL: only counts */
	size_t bytes;
	uint32_t nnamed;
	uint32_t src_ip;         /* of the latest tuple given in full */
	uint32_t next_epoch;     /* after those of the port row before */
	uint64_t frame_bytes;    /* of the flow row before, on average and rounded up */
	struct rec_tuple *named; /* [NAMED] */
};

/* The rows that share a port row's span: flows, meters and matrix entries behind it. */
struct span {
	const uint8_t *from, *to;
};

/* What flow rows sum to. */
struct sums {
	uint64_t packets, bytes, depth_sum, paused_packets;
};

static void
put_byte(struct packer *p, uint8_t byte)
{
	if (p->out != NULL)
		p->out[p->bytes] = byte;
	p->bytes++;
}

static void
put(struct packer *p, uint64_t value)
{
	if (p->out == NULL) { /* a byte for each 7 bits: 9/64 is 1/7 closely enough, up to 64 */
		p->bytes += ((63U ^ (uint32_t)__builtin_clzll(value | 1)) * 9 + 73) / 64;
		return;
	}
	for (; value >= 0x80; value >>= 7)
		put_byte(p, (uint8_t)(value | 0x80));
	put_byte(p, (uint8_t)value);
}

/* @param value  more than before, or less: small either way */
static void
put_change(struct packer *p, uint64_t value, uint64_t before)
{
	uint64_t change = value - before;

	put(p, change << 1 ^ (change >> 63 != 0 ? UINT64_MAX : 0));
}

static void
put_if(struct packer *p, bool wanted, uint64_t value)
{
	if (wanted)
		put(p, value);
}

static void
put_tag(struct packer *p, enum row_type type, unsigned flags)
{
	put_byte(p, (uint8_t)(type | flags << 3));
}

static void
put_tuple(struct packer *p, const struct rec_tuple *tuple)
{
	bool roce = tuple->dport == ROCEV2_UDP_PORT;

	for (uint32_t i = 0; i < p->nnamed; i++) {
		const struct rec_tuple *named = &p->named[i];

		if (named->src_ip == tuple->src_ip && named->dst_ip == tuple->dst_ip && named->sport == tuple->sport &&
		    named->dport == tuple->dport) {
			put(p, 2 + i);
			return;
		}
	}
	put(p, !roce);
	put(p, tuple->src_ip ^ p->src_ip);
	put(p, tuple->dst_ip ^ tuple->src_ip);
	put_byte(p, (uint8_t)tuple->sport);
	put_byte(p, (uint8_t)(tuple->sport >> 8));
	if (!roce) {
		put_byte(p, (uint8_t)tuple->dport);
		put_byte(p, (uint8_t)(tuple->dport >> 8));
	}
	p->src_ip = tuple->src_ip;
	if (p->nnamed < NAMED)
		p->named[p->nnamed++] = *tuple;
}

static const struct rec_hdr *
row_at(const uint8_t *at)
{
	return (const void *)at;
}

/* @param in_port  NULL: of all. @return sums over the span's flow rows */
static struct sums
sum_flows(struct span span, const uint16_t *in_port)
{
	struct sums sums = { 0 };

	for (const uint8_t *at = span.from; at < span.to; at += row_at(at)->size) {
		const struct rec_flow_row *row = (const void *)at;

		if (row->hdr.type != REC_FLOW_ROW || (in_port != NULL && row->in_port != *in_port))
			continue;
		sums.packets += row->packets;
		sums.bytes += row->bytes;
		sums.depth_sum += row->depth_sum;
		sums.paused_packets += row->paused_packets;
	}
	return sums;
}

/* Does the flow rows' traffic by ingress say all that the meter rows do, in the order of ingresses? */
static bool
is_metered_by_flows(struct span span)
{
	uint64_t metered = 0, summed = 0;
	uint32_t next = 0;

	for (const uint8_t *at = span.from; at < span.to; at += row_at(at)->size) {
		const struct rec_meter_row *row = (const void *)at;

		if (row->hdr.type == REC_FLOW_ROW &&
		    ((const struct rec_flow_row *)(const void *)at)->in_port != REC_NO_PORT)
			summed += ((const struct rec_flow_row *)(const void *)at)->bytes;
		if (row->hdr.type != REC_METER_ROW)
			continue;
		if (row->in_port < next || row->bytes == 0 || row->held_bytes != 0 ||
		    row->bytes != sum_flows(span, &row->in_port).bytes)
			return false;
		next = row->in_port + 1U;
		metered += row->bytes;
	}
	return metered == summed; /* no ingress is left out */
}

static unsigned
port_flags(const struct rec_port_row *row)
{
	/* A closed epoch tells of no threshold, nor else of now. */
	return (row->host ? PORT_HOST : 0) | (row->paused ? PORT_PAUSED : 0) | (row->pausing ? PORT_PAUSING : 0) |
	       (row->ingress_xoff_bytes != 0 ? PORT_NOW : 0);
}

static unsigned
state_fields(const struct rec_port_row *row)
{
	return (row->queue_packets | row->queue_bytes ? FIELD_QUEUE : 0) | (row->ingress_bytes != 0 ? FIELD_INGRESS : 0) |
	       (row->ingress_xoff_bytes + 1 > 1 ? FIELD_XOFF : 0);
}

static void
pack_state(struct packer *p, const struct rec_port_row *row, unsigned fields)
{
	put_if(p, fields & FIELD_QUEUE, row->queue_packets);
	put_if(p, fields & FIELD_QUEUE, row->queue_bytes);
	put_if(p, fields & FIELD_INGRESS, row->ingress_bytes);
	put_if(p, fields & FIELD_XOFF, row->ingress_xoff_bytes);
	put_if(p, row->paused, row->hdr.time_ps - row->paused_since_ps);
	put_if(p, row->pausing, row->hdr.time_ps - row->pausing_since_ps);
}

static void
pack_port(struct packer *p, const struct rec_port_row *row, struct span span, bool metered)
{
	struct sums sums = sum_flows(span, NULL);
	bool summed = sums.packets == row->packets && sums.bytes == row->bytes && sums.depth_sum == row->depth_sum &&
		      sums.paused_packets == row->paused_packets;
	unsigned flags = port_flags(row);
	unsigned fields = (row->depth_max != 0 ? FIELD_DEPTH_MAX : 0) | (summed ? 0 : FIELD_SUMS) |
			  (row->pause_ps != 0 ? FIELD_PAUSE : 0) | (row->pauses_received != 0 ? FIELD_RECEIVED : 0) |
			  (row->pauses_sent != 0 ? FIELD_SENT : 0);

	fields |= flags & PORT_NOW ? state_fields(row) : 0;
	put_tag(p, ROW_PORT, flags | (metered ? PORT_METERED : 0));
	put(p, row->port);
	put_byte(p, (uint8_t)fields);
	put_change(p, row->epoch_first, p->next_epoch);
	put(p, row->epoch_last - row->epoch_first);
	p->next_epoch = row->epoch_last + 1;
	put_if(p, fields & FIELD_DEPTH_MAX, row->depth_max);
	put_if(p, fields & FIELD_SUMS, row->packets);
	put_if(p, fields & FIELD_SUMS, row->bytes);
	put_if(p, fields & FIELD_SUMS, row->depth_sum);
	put_if(p, fields & FIELD_SUMS, row->paused_packets);
	put_if(p, fields & FIELD_PAUSE, row->pause_ps);
	put_if(p, fields & FIELD_RECEIVED, row->pauses_received);
	put_if(p, fields & FIELD_SENT, row->pauses_sent);
	if (flags & PORT_NOW)
		pack_state(p, row, fields);
}

static void
pack_state_only(struct packer *p, const struct rec_port_row *row)
{
	unsigned fields = state_fields(row);

	put_tag(p, ROW_STATE, port_flags(row));
	put(p, row->port);
	put_byte(p, (uint8_t)fields);
	pack_state(p, row, fields);
}

static void
pack_flow(struct packer *p, const struct rec_flow_row *row)
{
	uint64_t frame_bytes = row->packets != 0 ? row->bytes / row->packets + (row->bytes % row->packets != 0) : 0;

	put_tag(p, ROW_FLOW,
		(row->in_port != REC_NO_PORT ? FLOW_IN_PORT : 0) | (row->queue_packets != 0 ? FLOW_QUEUED : 0) |
			(row->packets != 0 ? FLOW_COUNTED : 0) | (row->depth_sum != 0 ? FLOW_DEPTH : 0) |
			(row->paused_packets != 0 ? FLOW_PAUSED : 0));
	put_tuple(p, &row->flow);
	put_if(p, row->in_port != REC_NO_PORT, row->in_port);
	put_if(p, row->queue_packets != 0, row->queue_packets);
	if (row->packets != 0) {
		put(p, row->packets);
		put_change(p, frame_bytes, p->frame_bytes);
		put(p, row->packets * frame_bytes - row->bytes);
		p->frame_bytes = frame_bytes;
	}
	put_if(p, row->depth_sum != 0, row->depth_sum);
	put_if(p, row->paused_packets != 0, row->paused_packets);
}

static void
pack_meter(struct packer *p, const struct rec_meter_row *row, struct span span)
{
	bool own = row->bytes != sum_flows(span, &row->in_port).bytes;

	put_tag(p, ROW_METER, (own ? METER_BYTES : 0) | (row->held_bytes != 0 ? METER_HELD : 0));
	put(p, row->in_port);
	put_if(p, own, row->bytes);
	put_if(p, row->held_bytes != 0, row->held_bytes);
}

static void
pack_matrix(struct packer *p, const struct rec_matrix_row *row)
{
	put_tag(p, ROW_MATRIX, 0);
	put_tuple(p, &row->flow);
	put_tuple(p, &row->other);
	put(p, row->ahead);
}

static void
pack_drops(struct packer *p, const struct rec_drop_row *row)
{
	put_tag(p, ROW_DROPS, 0);
	put(p, row->port);
	put(p, row->reason);
	put_tuple(p, &row->last);
	put(p, row->packets);
	put(p, row->bytes);
	put(p, row->hdr.time_ps - row->last_ps);
	put(p, row->last_ps - row->first_ps);
}

/* @return the rows from here up to the next port row */
static struct span
span_from(const uint8_t *from, const uint8_t *end)
{
	const uint8_t *to = from;

	while (to < end && row_at(to)->type != REC_PORT_ROW)
		to += row_at(to)->size;
	return (struct span){ from, to };
}

size_t
report_pack(const uint8_t *rows, size_t rows_bytes, uint8_t *out)
{
	struct rec_tuple named[NAMED];
	struct packer p = { .out = out, .named = named };
	const uint8_t *end = rows + rows_bytes;
	struct span span = { rows, rows };
	bool metered = false;

	for (const uint8_t *at = rows; at < end; at += row_at(at)->size) {
		const void *row = at;

		switch (row_at(at)->type) {
		case REC_PORT_ROW:
			span = span_from(at + row_at(at)->size, end);
			metered = is_metered_by_flows(span);
			if (((const struct rec_port_row *)row)->state_only)
				pack_state_only(&p, row);
			else
				pack_port(&p, row, span, metered);
			break;
		case REC_FLOW_ROW:
			pack_flow(&p, row);
			break;
		case REC_METER_ROW:
			if (!metered)
				pack_meter(&p, row, span);
			break;
		case REC_MATRIX_ROW:
			pack_matrix(&p, row);
			break;
		case REC_DROP_ROW:
			pack_drops(&p, row);
			break;
		default:
			assert(!"a record that no report has");
		}
	}
	return p.bytes;
}

size_t
report_head_bytes(uint32_t node, uint32_t event, uint64_t time_ps)
{
	struct packer p = { 0 };

	put_byte(&p, 1);
	put(&p, node);
	put(&p, time_ps);
	put(&p, event >> 16);
	put(&p, event & 0xffff);
	return p.bytes;
}
