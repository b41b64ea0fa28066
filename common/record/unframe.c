/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames of other programs: read with care. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "common/record/frame_row.h"

/* What a record is compared with that is the first of its type. */
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
	reader->seen = 0;
	reader->tuples.count = reader->tuples.src_ip = 0;
}

/* @return false: no number ends within the frame, or it takes more than 64 bits */
static bool
get(struct recframe_reader *reader, uint64_t *value)
{
	*value = 0;
	for (uint32_t i = 0; i < RECFRAME_LEB128_BYTES && reader->at < reader->end; i++) {
		uint8_t byte = *reader->at++;

		if (i == RECFRAME_LEB128_BYTES - 1 && byte > 1)
			return false;
		*value |= (uint64_t)(byte & 0x7f) << 7 * i;
		if (byte < 0x80)
			return true;
	}
	return false;
}

/* @param value  what is recframe_expected; changed to what is told */
static bool
get_change(struct recframe_reader *reader, uint64_t *value, uint64_t most)
{
	uint64_t coded;

	if (!get(reader, &coded))
		return false;
	*value += coded >> 1 ^ (coded & 1 ? UINT64_MAX : 0);
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
		memcpy(rec + field->at, before + field->at, field->size);
		return !coded || get_tuple(reader, (struct rec_tuple *)(void *)(rec + field->at));
	}
	value = recframe_expected(field, rec, before);
	if (coded && !(field->rule == RECORD_COUNT ? get(reader, &value) : get_change(reader, &value, most)))
		return false;
	if (value > most)
		return false;
	memcpy(rec + field->at, &value, field->size); /* both are little-endian */
	return true;
}

static int
get_fields(struct recframe_reader *reader, uint8_t *rec, const uint8_t *before, struct err *err)
{
	const struct record_kind *kind = &record_kinds[((const struct rec_hdr *)(const void *)rec)->type];
	uint64_t map;

	if (!get(reader, &map) || map >> kind->nfields != 0)
		return err_set(err, -EPROTO, "a frame's %s names fields that there are not", kind->name);
	for (uint32_t i = 0; i < kind->nfields; i++)
		if (!get_field(reader, &kind->fields[i], map >> i & 1, rec, before))
			return err_set(err, -EPROTO, "a frame's %s holds no %s that fits", kind->name,
				       kind->fields[i].name);
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
	uint8_t row[RECFRAME_RECORD_BYTES] __attribute__((aligned(8))) = { 0 };
	struct rec_hdr *hdr = (void *)row;
	const void *before = none;
	int rc;

	if (reader->at == reader->end)
		return 0;
	rc = get_header(reader, hdr, err);
	if (rc != 0)
		return rc;
	if (reader->seen >> hdr->type & 1)
		before = reader->latest[hdr->type];
	rc = get_fields(reader, row, before, err);
	if (rc != 0)
		return rc;
	reader->seen |= 1ULL << hdr->type;
	reader->last = *hdr;
	*rec = memcpy(reader->latest[hdr->type], row, hdr->size);
	return 1;
}
