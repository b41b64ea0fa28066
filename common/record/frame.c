/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/record/frame.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/leb128.h"
#include "common/record/kinds.h"

#define RECFRAME_HEADED 0x80u   /* in the type: time, sequence and event follow */
#define RECFRAME_ROCE_PORT 4791 /* what nearly every tuple has */

_Static_assert(RECORD_KINDS <= RECFRAME_HEADED, "types leave a bit");
_Static_assert(RECORD_KINDS <= 64, "a bit a kind");
_Static_assert(RECORD_MAX_FIELDS <= 32, "a bit a field");

/* Fields of the header that a row may hold, in order. */
struct recframe_three {
	uint64_t time_ps, seq, event;
};

static inline uint64_t
recframe_value(const void *rec, const struct record_field *field)
{
	const uint8_t *at = (const uint8_t *)rec + field->at;

	switch (field->size) {
	case 1:
		return *at;
	case 2:
		return *(const uint16_t *)(const void *)at;
	case 4:
		return *(const uint32_t *)(const void *)at;
	default:
		assert(field->size == 8);
		return *(const uint64_t *)(const void *)at;
	}
}

static inline bool
recframe_is_tuple(const struct record_field *field)
{
	return field->size == sizeof(struct rec_tuple);
}

/* @param rec  whose fields before this one are known  @param before  the record of its type before, or none */
static inline uint64_t
recframe_expected(const struct record_field *field, const void *rec, const void *before)
{
	switch (field->rule) {
	case RECORD_COUNT:
		return 0;
	case RECORD_UNTIL:
	case RECORD_LAST_EPOCH:
		return recframe_value(rec, field - 1) + recframe_value(before, field) - recframe_value(before, field - 1);
	default:
		return recframe_value(before, field);
	}
}

static inline struct recframe_three
recframe_expected_header(const struct rec_hdr *last)
{
	return (struct recframe_three){ last->time_ps, (uint32_t)(last->seq + 1), last->event };
}

static inline void
recframe_remember(struct recframe_tuples *tuples, const struct rec_tuple *tuple)
{
	tuples->src_ip = tuple->src_ip;
	if (tuples->count < RECFRAME_TUPLES)
		tuples->known[tuples->count++] = *tuple;
}

#define ROW_MAX_BYTES 512u /* more than any takes: tuples, at most two, have five numbers */

_Static_assert(ROW_MAX_BYTES >= 1 + (3 + 1 + RECORD_MAX_FIELDS + 2 * 5) * LEB128_MAX_BYTES, "");

/* The first record of its type is encoded as differences from this. */
static const uint8_t none[RECFRAME_RECORD_BYTES] __attribute__((aligned(8)));

struct row {
	uint8_t bytes[ROW_MAX_BYTES];
	size_t used_bytes;
};

static void
put(struct row *row, uint64_t value)
{
	row->used_bytes = (size_t)(leb128_put(row->bytes + row->used_bytes, value) - row->bytes);
}

static void
put_change(struct row *row, uint64_t value, uint64_t before)
{
	put(row, leb128_change(value, before));
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

/* The first record gives the frame the values that are the same for all, or recframe_expected. */
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

/* Reading. */

/* The first record of its type was encoded as differences from this. */
static const uint8_t none[RECFRAME_RECORD_BYTES] __attribute__((aligned(8)));

void
recframe_open(struct recframe_reader *reader, const struct rec_hdr *frame)
{
	assert(frame->type == REC_FRAME && frame->size >= sizeof(*frame));
	reader->at = (const uint8_t *)(frame + 1);
	reader->end = (const uint8_t *)frame + frame->size;
	reader->sent_ps = frame->time_ps;
	reader->last = *frame;
	reader->last.seq--;
	reader->seen = reader->second = 0;
	reader->tuples.count = reader->tuples.src_ip = 0;
}

/* get() for numbers of more than one byte. @return false: the frame ends within it, or it exceeds 64 bits */
static bool
get_long(struct recframe_reader *reader, uint64_t *value)
{
	*value = 0;
	for (uint32_t i = 0; reader->at < reader->end; i++) { /* the last byte that 64 bits take ends it */
		uint8_t byte = *reader->at++;

		if (i == LEB128_MAX_BYTES - 1 && byte > 1)
			return false;
		*value |= (uint64_t)(byte & 0x7f) << 7 * i;
		if (byte < 0x80)
			return true;
	}
	return false;
}

/* @return false: no number ends within the frame, or it takes more than 64 bits */
static inline bool
get(struct recframe_reader *reader, uint64_t *value)
{
	if (__builtin_expect(reader->at == reader->end || *reader->at >= 0x80, 0))
		return get_long(reader, value);
	*value = *reader->at++;
	return true;
}

/* @param value  the recframe_expected one; changed to the decoded one */
static bool
get_change(struct recframe_reader *reader, uint64_t *value, uint64_t most)
{
	uint64_t coded;

	if (!get(reader, &coded))
		return false;
	*value = leb128_changed(*value, coded);
	return *value <= most;
}

static bool
get_tuple(struct recframe_reader *reader, struct rec_tuple *tuple)
{
	struct recframe_tuples *tuples = &reader->tuples;
	uint64_t index, src, dst, sport, dport, reserved;

	if (!get(reader, &index) || index > tuples->count)
		return false;
	if (index != 0) {
		*tuple = tuples->known[index - 1];
		return true;
	}
	if (!get(reader, &src) || !get(reader, &dst) || !get(reader, &sport) || !get(reader, &dport) ||
	    !get(reader, &reserved) || src > UINT32_MAX || dst > UINT32_MAX || sport > UINT16_MAX || dport > UINT16_MAX ||
	    reserved > UINT32_MAX)
		return false;
	tuple->src_ip = (uint32_t)src ^ tuples->src_ip;
	tuple->dst_ip = (uint32_t)dst ^ tuple->src_ip;
	tuple->sport = (uint16_t)sport;
	tuple->dport = (uint16_t)(dport ^ RECFRAME_ROCE_PORT);
	tuple->reserved = (uint32_t)reserved;
	recframe_remember(tuples, tuple);
	return true;
}

static bool
get_field(struct recframe_reader *reader, const struct record_field *field, bool coded, uint8_t *rec, const uint8_t *before)
{
	uint64_t value, most = field->size >= 8 ? UINT64_MAX : (1ULL << 8 * field->size) - 1;

	if (recframe_is_tuple(field)) {
		assert(coded); /* as a moving one is not */
		return get_tuple(reader, (struct rec_tuple *)(void *)(rec + field->at));
	}
	value = recframe_expected(field, rec, before);
	if (coded && !(field->rule == RECORD_COUNT ? get(reader, &value) : get_change(reader, &value, most)))
		return false;
	if (value > most)
		return false;
	memcpy(rec + field->at, &value, field->size); /* both are little-endian */
	return true;
}

/* @return bit i: what is expected of field i is not what the record before has there */
static uint64_t
find_moving(const struct record_kind *kind)
{
	uint64_t moving = 0;

	for (uint32_t i = 0; i < kind->nfields; i++) {
		enum record_rule rule = (enum record_rule)kind->fields[i].rule;

		moving |= (uint64_t)(rule == RECORD_COUNT || rule == RECORD_UNTIL || rule == RECORD_LAST_EPOCH) << i;
	}
	return moving;
}

/* Most fields of most records are as the record before has them: that is copied, and the others are changed. */
static int
get_fields(struct recframe_reader *reader, uint8_t *rec, const uint8_t *before, struct err *err)
{
	const struct rec_hdr *hdr = (const void *)rec;
	const struct record_kind *kind = &record_kinds[hdr->type];
	uint64_t map;

	if (!get(reader, &map) || map >> kind->nfields != 0)
		return err_set(err, -EPROTO, "a frame's %s names fields that there are not", kind->name);
	if ((reader->seen >> hdr->type & 1) == 0)
		reader->moving[hdr->type] = find_moving(kind);
	memcpy(rec + sizeof(*hdr), before + sizeof(*hdr), kind->size - sizeof(*hdr));
	for (uint64_t left = map | reader->moving[hdr->type]; left != 0; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(left);

		if (!get_field(reader, &kind->fields[i], map >> i & 1, rec, before))
			return err_set(err, -EPROTO, "a frame's %s holds no %s that fits", kind->name,
				       kind->fields[i].name);
	}
	return 0;
}

static int
get_header(struct recframe_reader *reader, struct rec_hdr *hdr, struct err *err)
{
	struct recframe_three three = recframe_expected_header(&reader->last);
	uint8_t type = *reader->at++;

	if (!record_is_report(type & ~RECFRAME_HEADED))
		return err_set(err, -EPROTO, "a frame holds a record of type %u, which is no report",
			       type & ~RECFRAME_HEADED);
	if (type & RECFRAME_HEADED &&
	    !(get_change(reader, &three.time_ps, reader->sent_ps) && get_change(reader, &three.seq, UINT32_MAX) &&
	      get_change(reader, &three.event, UINT32_MAX)))
		return err_set(err, -EPROTO, "a frame's %s has no header: a time, up to the frame's, a number, an event",
			       record_kinds[type & ~RECFRAME_HEADED].name);
	*hdr = (struct rec_hdr){
		.type = type & ~RECFRAME_HEADED,
		.size = (uint16_t)record_kinds[type & ~RECFRAME_HEADED].size,
		.node = reader->last.node,
		.time_ps = three.time_ps,
		.seq = (uint32_t)three.seq,
		.event = (uint32_t)three.event,
	};
	return 0;
}

int
recframe_next(struct recframe_reader *reader, const struct rec_hdr **rec, struct err *err)
{
	const void *before = none;
	struct rec_hdr hdr, *row;
	int rc;

	if (reader->at == reader->end)
		return 0;
	rc = get_header(reader, &hdr, err);
	if (rc != 0)
		return rc;
	if (reader->seen >> hdr.type & 1)
		before = reader->rows[hdr.type][reader->second >> hdr.type & 1];
	reader->second ^= 1ULL << hdr.type;
	row = (void *)reader->rows[hdr.type][reader->second >> hdr.type & 1];
	*row = hdr;
	rc = get_fields(reader, (uint8_t *)row, before, err);
	if (rc != 0)
		return rc;
	reader->seen |= 1ULL << hdr.type;
	reader->last = hdr;
	*rec = row;
	return 1;
}
