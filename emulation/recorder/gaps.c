/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/recorder/gaps.h"

#include <assert.h>

#include "common/wire/record.h"

#define SHARE 8
#define ALLOWANCE_BYTES 1024

static const struct {
	uint16_t type;
	uint16_t class;
} kinds[GAPS_KINDS] = {
	{ REC_STEP, 0 },     { REC_TRIGGER, 1 },   { REC_POLL, 1 },   { REC_PORT_ROW, 1 },   { REC_DROP_ROW, 1 },
	{ REC_FLOW_ROW, 2 }, { REC_METER_ROW, 3 }, { REC_NOTIFY, 4 }, { REC_MATRIX_ROW, 4 },
};

uint32_t
gaps_kind(uint16_t type)
{
	uint32_t kind = 0;

	while (kind < GAPS_KINDS && kinds[kind].type != type)
		kind++;
	return kind;
}

uint16_t
gaps_type(uint32_t kind)
{
	return kinds[kind].type;
}

uint32_t
gaps_class(uint32_t kind)
{
	return kinds[kind].class;
}

/* Adds to what is lost of a kind. */
static void
add(struct gaps *gaps, uint32_t kind, const struct gap *lost)
{
	struct gap *gap = &gaps->kinds[kind];

	assert(kind < GAPS_KINDS);
	if (gap->records == 0) {
		*gap = *lost;
		gaps->due_bytes += sizeof(struct rec_gap);
		return;
	}
	gap->records += lost->records;
	gap->bytes += lost->bytes;
	if (lost->from_ps < gap->from_ps)
		gap->from_ps = lost->from_ps;
	if (lost->to_ps > gap->to_ps)
		gap->to_ps = lost->to_ps;
}

void
gaps_note(struct gaps *gaps, const struct rec_hdr *hdr)
{
	const struct gap lost = { .records = 1, .bytes = hdr->size, .from_ps = hdr->time_ps, .to_ps = hdr->time_ps };

	add(gaps, gaps_kind(hdr->type), &lost);
}

void
gaps_note_gap(struct gaps *gaps, const struct rec_gap *lost)
{
	const struct gap gap = { lost->dropped, lost->dropped_bytes, lost->from_ps, lost->to_ps };

	add(gaps, gaps_kind((uint16_t)lost->kind), &gap);
}

uint64_t
gaps_toll(const struct gaps *gaps, uint64_t sent_bytes)
{
	uint64_t allowed_bytes = ALLOWANCE_BYTES + sent_bytes / SHARE;

	return gaps->told_bytes + gaps->due_bytes <= allowed_bytes ? gaps->due_bytes : 0;
}

bool
gaps_take(struct gaps *gaps, uint32_t kind, struct rec_gap *gap)
{
	struct gap *lost = &gaps->kinds[kind];

	if (lost->records == 0)
		return false;
	*gap = (struct rec_gap){
		.kind = kinds[kind].type,
		.dropped = lost->records,
		.dropped_bytes = lost->bytes,
		.from_ps = lost->from_ps,
		.to_ps = lost->to_ps,
	};
	lost->records = 0;
	gaps->due_bytes -= sizeof(*gap);
	gaps->told_records++;
	gaps->told_bytes += sizeof(*gap);
	return true;
}
