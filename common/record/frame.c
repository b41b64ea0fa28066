/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/record/frame.h"

#include <assert.h>
#include <string.h>

#include "common/record/frame_row.h"

#define ROW_MAX_BYTES 512u /* more than any takes: tuples, at most two, have five numbers */

_Static_assert(ROW_MAX_BYTES >= 1 + (3 + 1 + RECORD_MAX_FIELDS + 2 * 5) * RECFRAME_LEB128_BYTES, "");

/* What a record is compared with that is the first of its type. */
static const uint8_t none[RECFRAME_RECORD_BYTES] __attribute__((aligned(8)));

struct row {
	uint8_t bytes[ROW_MAX_BYTES];
	size_t used_bytes;
};

static void
put(struct row *row, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		row->bytes[row->used_bytes++] = (uint8_t)(value | 0x80);
	row->bytes[row->used_bytes++] = (uint8_t)value;
}

static void
put_change(struct row *row, uint64_t value, uint64_t before)
{
	uint64_t change = value - before;

	put(row, change << 1 ^ (change >> 63 != 0 ? UINT64_MAX : 0));
}

static bool
same_tuple(const struct rec_tuple *a, const struct rec_tuple *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static void
put_tuple(struct row *row, struct recframe_tuples *tuples, const struct rec_tuple *tuple)
{
	for (uint32_t i = 0; i < tuples->count; i++)
		if (same_tuple(&tuples->known[i], tuple)) {
			put(row, 1 + i);
			return;
		}
	put(row, 0);
	put(row, tuple->src_ip ^ tuples->src_ip);
	put(row, tuple->dst_ip ^ tuple->src_ip);
	put(row, tuple->sport);
	put(row, tuple->dport ^ (uint64_t)RECFRAME_ROCE_PORT);
	put(row, tuple->reserved);
	recframe_remember(tuples, tuple);
}

static void
put_fields(struct row *row, struct recframe_tuples *tuples, const struct rec_hdr *rec, const void *before)
{
	const struct record_kind *kind = &record_kinds[rec->type];
	uint64_t changes[RECORD_MAX_FIELDS];
	uint32_t map = 0;

	for (uint32_t i = 0; i < kind->nfields; i++) {
		const struct record_field *field = &kind->fields[i];

		if (recframe_is_tuple(field)) {
			map |= (uint32_t)(memcmp((const uint8_t *)rec + field->at, (const uint8_t *)before + field->at,
						 field->size) != 0)
			       << i;
			continue;
		}
		changes[i] = recframe_value(rec, field) - recframe_expected(field, rec, before);
		map |= (uint32_t)(changes[i] != 0) << i;
	}
	put(row, map);
	for (uint32_t i = 0; i < kind->nfields; i++) {
		const struct record_field *field = &kind->fields[i];

		if ((map >> i & 1) == 0)
			continue;
		if (recframe_is_tuple(field))
			put_tuple(row, tuples, (const void *)((const uint8_t *)rec + field->at));
		else if (field->rule == RECORD_COUNT)
			put(row, changes[i]);
		else
			put_change(row, changes[i], 0);
	}
}

void
recframe_begin(struct recframe *frame, uint64_t sent_ps)
{
	struct rec_hdr *hdr = (void *)frame->bytes;

	*hdr = (struct rec_hdr){ .type = REC_FRAME, .time_ps = sent_ps };
	frame->used_bytes = sizeof(*hdr);
	frame->records = 0;
	frame->seen = 0;
	frame->tuples.count = frame->tuples.src_ip = 0;
}

/* The first record gives the frame what is the same for all, or recframe_expected. */
static void
begin_with(struct recframe *frame, const struct rec_hdr *rec)
{
	struct rec_hdr *hdr = (void *)frame->bytes;

	hdr->node = rec->node;
	hdr->seq = rec->seq;
	hdr->event = rec->event;
	frame->last = *hdr;
	frame->last.type = rec->type;
	frame->last.seq--;
}

bool
recframe_put(struct recframe *frame, const struct rec_hdr *rec)
{
	struct row row = { .used_bytes = 0 };
	uint32_t known = frame->tuples.count, src_ip = frame->tuples.src_ip;
	struct recframe_three three;
	bool headed;

	assert(record_is_report(rec->type) && rec->size == record_kinds[rec->type].size);
	if (frame->records == 0)
		begin_with(frame, rec);
	else if (rec->node != frame->last.node || record_kinds[rec->type].class != record_kinds[frame->last.type].class)
		return false;
	three = recframe_expected_header(&frame->last);
	headed = rec->time_ps != three.time_ps || rec->seq != three.seq || rec->event != three.event;
	row.bytes[row.used_bytes++] = (uint8_t)(rec->type | (headed ? RECFRAME_HEADED : 0));
	if (headed) {
		put_change(&row, rec->time_ps, three.time_ps);
		put_change(&row, rec->seq, three.seq);
		put_change(&row, rec->event, three.event);
	}
	put_fields(&row, &frame->tuples, rec, frame->seen >> rec->type & 1 ? (const void *)frame->latest[rec->type] : none);
	if (frame->used_bytes + row.used_bytes > sizeof(frame->bytes)) {
		frame->tuples.count = known;
		frame->tuples.src_ip = src_ip;
		return false;
	}
	memcpy(frame->bytes + frame->used_bytes, row.bytes, row.used_bytes);
	frame->used_bytes += row.used_bytes;
	frame->records++;
	frame->last = *rec;
	frame->latest[rec->type] = rec;
	frame->seen |= 1ULL << rec->type;
	return true;
}

const struct rec_hdr *
recframe_end(struct recframe *frame)
{
	struct rec_hdr *hdr = (void *)frame->bytes;

	assert(frame->records > 0);
	hdr->size = (uint16_t)frame->used_bytes;
	return hdr;
}

uint64_t
recframe_bytes_of(const uint8_t *records, size_t size_bytes)
{
	struct recframe frame;
	uint64_t bytes = 0;

	recframe_begin(&frame, 0);
	for (size_t at = 0; at < size_bytes;) {
		const struct rec_hdr *rec = (const void *)(records + at);

		if (frame.records == 0)
			recframe_begin(&frame, rec->time_ps);
		if (recframe_put(&frame, rec)) {
			at += rec->size;
			continue;
		}
		bytes += frame.used_bytes;
		recframe_begin(&frame, rec->time_ps);
	}
	return bytes + (frame.records != 0 ? frame.used_bytes : 0);
}
