/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/report.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "common/wire/record.h"

#define PAYLOAD_BYTES (REPORT_MTU - sizeof(struct wire_ipv4) - sizeof(struct wire_udp))
#define TUPLE_BYTES 12

enum port_flag { PORT_HOST = 1, PORT_PAUSED = 2, PORT_PAUSING = 4, PORT_NOW = 8, PORT_STATE_ONLY = 16 };

struct packer {
	uint8_t *out; /* NULL: only counts */
	size_t bytes;
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
	for (; value >= 0x80; value >>= 7)
		put_byte(p, (uint8_t)(value | 0x80));
	put_byte(p, (uint8_t)value);
}

static void
put_tuple(struct packer *p, const struct rec_tuple *tuple)
{
	if (p->out != NULL)
		memcpy(p->out + p->bytes, tuple, TUPLE_BYTES);
	p->bytes += TUPLE_BYTES;
}

static void
pack_counters(struct packer *p, const struct rec_port_row *row)
{
	put(p, row->epoch_first);
	put(p, row->epoch_last - row->epoch_first);
	put(p, row->depth_max);
	put(p, row->packets);
	put(p, row->bytes);
	put(p, row->depth_sum);
	put(p, row->paused_packets);
	put(p, row->pause_ps);
	put(p, row->pauses_received);
	put(p, row->pauses_sent);
}

static void
pack_port(struct packer *p, const struct rec_port_row *row)
{
	bool now = row->ingress_xoff_bytes != 0; /* a closed epoch tells of no threshold, nor else of now */

	put_byte(p, (uint8_t)((row->host ? PORT_HOST : 0) | (row->paused ? PORT_PAUSED : 0) |
			      (row->pausing ? PORT_PAUSING : 0) | (now ? PORT_NOW : 0) |
			      (row->state_only ? PORT_STATE_ONLY : 0)));
	put(p, row->port);
	if (!row->state_only)
		pack_counters(p, row);
	if (!now)
		return;
	put(p, row->queue_packets);
	put(p, row->queue_bytes);
	put(p, row->ingress_bytes);
	put(p, row->ingress_xoff_bytes + 1); /* none: UINT64_MAX */
	if (row->paused)
		put(p, row->hdr.time_ps - row->paused_since_ps);
	if (row->pausing)
		put(p, row->hdr.time_ps - row->pausing_since_ps);
}

static void
pack_flow(struct packer *p, const struct rec_flow_row *row)
{
	put_tuple(p, &row->flow);
	put(p, row->in_port);
	put(p, row->queue_packets);
	put(p, row->packets);
	put(p, row->bytes);
	put(p, row->depth_sum);
	put(p, row->paused_packets);
}

static void
pack_drops(struct packer *p, const struct rec_drop_row *row)
{
	put(p, row->port);
	put(p, row->reason);
	put_tuple(p, &row->last);
	put(p, row->packets);
	put(p, row->bytes);
	put(p, row->first_ps);
	put(p, row->last_ps);
}

static void
pack_row(struct packer *p, const struct rec_hdr *hdr)
{
	const void *row = hdr;

	put_byte(p, (uint8_t)hdr->type);
	switch (hdr->type) {
	case REC_PORT_ROW:
		pack_port(p, row);
		break;
	case REC_FLOW_ROW:
		pack_flow(p, row);
		break;
	case REC_METER_ROW:
		put(p, ((const struct rec_meter_row *)row)->in_port);
		put(p, ((const struct rec_meter_row *)row)->bytes);
		put(p, ((const struct rec_meter_row *)row)->held_bytes);
		break;
	case REC_MATRIX_ROW:
		put_tuple(p, &((const struct rec_matrix_row *)row)->flow);
		put_tuple(p, &((const struct rec_matrix_row *)row)->other);
		put(p, ((const struct rec_matrix_row *)row)->ahead);
		break;
	case REC_DROP_ROW:
		pack_drops(p, row);
		break;
	default:
		assert(!"a record that no report has");
	}
}

size_t
report_pack(const uint8_t *rows, size_t rows_bytes, uint8_t *out)
{
	struct packer p = { .out = out };

	for (size_t at = 0; at < rows_bytes;) {
		const struct rec_hdr *hdr = (const void *)(rows + at);

		pack_row(&p, hdr);
		at += hdr->size;
	}
	return p.bytes;
}

uint64_t
report_wire_bytes(struct report_sum sum)
{
	uint64_t each_bytes = REPORT_HEAD_BYTES + (sum.reports != 0 ? sum.packed_bytes / sum.reports : 0);
	uint64_t datagrams = (each_bytes + PAYLOAD_BYTES - 1) / PAYLOAD_BYTES;

	return sum.packed_bytes + sum.reports * (REPORT_HEAD_BYTES + datagrams * REPORT_HEADERS_BYTES);
}

void
report_count_add(struct report_count *count, struct report_sum made, struct report_sum kept)
{
	count->reports += made.reports;
	count->bytes += report_wire_bytes(made);
	count->kept_reports += kept.reports;
	count->kept_bytes += report_wire_bytes(kept);
}
