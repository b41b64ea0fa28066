/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/recorder/gaps.h"

#include <assert.h>

#include "common/record/kinds.h"

#include "common/wire/record.h"

#define SHARE 8
#define ALLOWANCE_BYTES 1024

#define CLASS_KNOWN(number, KIND, kind, class, reporter, title, relevance)                                                 \
	_Static_assert((relevance) < GAPS_CLASSES, #KIND);
REC_KINDS(CLASS_KNOWN)

/* Adds to the losses of a kind. */
static void
add(struct gaps *gaps, uint32_t kind, const struct gap *lost)
{
	struct gap *gap = &gaps->kinds[kind];

	assert(record_is_report(kind));
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

	add(gaps, hdr->type, &lost);
}

void
gaps_note_gap(struct gaps *gaps, const struct rec_gap *lost)
{
	const struct gap gap = { lost->dropped, lost->dropped_bytes, lost->from_ps, lost->to_ps };

	add(gaps, lost->kind, &gap);
}

uint64_t
gaps_toll(const struct gaps *gaps, uint64_t sent_bytes)
{
	uint64_t allowed_bytes = ALLOWANCE_BYTES + sent_bytes / SHARE;

	return gaps->reported_bytes + gaps->due_bytes <= allowed_bytes ? gaps->due_bytes : 0;
}

bool
gaps_take(struct gaps *gaps, struct rec_gap *gap)
{
	uint32_t kind = RECORD_KINDS;
	struct gap *lost;

	if (gaps->due_bytes == 0)
		return false;
	for (uint32_t k = 0; k < RECORD_KINDS; k++)
		if (gaps->kinds[k].records != 0 &&
		    (kind == RECORD_KINDS || record_kinds[k].relevance < record_kinds[kind].relevance))
			kind = k;
	lost = &gaps->kinds[kind];
	*gap = (struct rec_gap){
		.kind = kind,
		.dropped = lost->records,
		.dropped_bytes = lost->bytes,
		.from_ps = lost->from_ps,
		.to_ps = lost->to_ps,
	};
	lost->records = 0;
	gaps->due_bytes -= sizeof(*gap);
	gaps->reported_records++;
	gaps->reported_bytes += sizeof(*gap);
	return true;
}
