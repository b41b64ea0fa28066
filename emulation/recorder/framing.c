/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/recorder/framing.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/grow.h"
#include "common/record/kinds.h"

static size_t
aligned(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}

static void
close_frame(struct framing *framing)
{
	const struct rec_hdr *frame = recframe_end(&framing->open);
	bool telemetry = record_is(framing->open.last.type, REC_TELEMETRY);

	framing->data = grow(framing->data, &framing->cap_bytes, framing->end_bytes + aligned(frame->size), 1, "frames");
	memcpy(framing->data + framing->end_bytes, frame, frame->size);
	framing->end_bytes += aligned(frame->size);
	framing->frames++;
	framing->bytes += frame->size;
	framing->telemetry_frames += telemetry;
	framing->telemetry_bytes += telemetry ? frame->size : 0;
}

void
framing_fini(struct framing *framing)
{
	free(framing->data);
	framing->data = NULL;
}

void
framing_begin(struct framing *framing, uint64_t sent_ps)
{
	framing->end_bytes = 0;
	framing->frames = framing->bytes = framing->telemetry_frames = framing->telemetry_bytes = 0;
	framing->sent_ps = sent_ps;
	recframe_begin(&framing->open, sent_ps);
}

void
framing_add(struct framing *framing, const struct rec_hdr *rec)
{
	if (recframe_put(&framing->open, rec))
		return;
	close_frame(framing);
	recframe_begin(&framing->open, framing->sent_ps);
	if (!recframe_put(&framing->open, rec))
		assert(!"a record that no frame holds");
}

void
framing_end(struct framing *framing)
{
	if (framing->open.records != 0)
		close_frame(framing);
	recframe_begin(&framing->open, framing->sent_ps);
}

const struct rec_hdr *
framing_next(const struct framing *framing, size_t *at)
{
	const struct rec_hdr *frame = (const void *)(framing->data + *at);

	if (*at == framing->end_bytes)
		return NULL;
	*at += aligned(frame->size);
	return frame;
}
