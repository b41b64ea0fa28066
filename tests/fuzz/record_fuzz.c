/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libFuzzer target: whatever a record stream holds, it is refused or gives a verdict.
 * Input that starts like the stream's magic is taken as it is. Any other is, behind its first byte, cut into
 * well-framed records, so that the fuzzer spends its time behind the framing.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "diag/collect/stream.h"
#include "diag/verdict.h"

#define FUZZ_IDS 16 /* nodes; small, so that records meet */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
feed_header(struct stream *stream, struct err *err)
{
	const struct rec_stream hdr = { REC_MAGIC, REC_VERSION, sizeof(hdr) };

	return stream_feed(stream, &hdr, sizeof(hdr), err);
}

/* Each record: a byte for its type, a byte for its node, then its body, zero-padded at the end of the data. */
static int
feed_framed(struct stream *stream, const uint8_t *data, size_t size, struct err *err)
{
	uint32_t seq = 0;
	int rc = feed_header(stream, err);

	for (size_t at = 0; rc == 0 && at + 2 < size;) {
		uint64_t rec[STREAM_MAX_RECORD / 8] = { 0 };
		struct rec_hdr *hdr = (struct rec_hdr *)rec;
		uint16_t type = data[at] % EV_KINDS;
		uint32_t node = data[at + 1] % FUZZ_IDS;
		size_t body = evidence_record_size(type), left = size - at - 2;

		at += 2;
		if (body == 0)
			continue;
		body -= sizeof(*hdr);
		memcpy(hdr + 1, data + at, body < left ? body : left);
		at += body < left ? body : left;
		hdr->type = type;
		hdr->size = (uint16_t)(body + sizeof(*hdr));
		hdr->node = node;
		hdr->time_ps = rec[3] % 1000000007; /* of the body: any, but repeatable */
		hdr->seq = seq++;
		rc = stream_feed(stream, rec, hdr->size, err);
	}
	return rc;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct verdict *verdict = NULL;
	struct err err = { 0 };
	struct evidence ev;
	struct stream stream;
	int rc;

	if (size == 0)
		return 0;
	evidence_init(&ev);
	stream_init(&stream, &ev);
	if (data[0] == (uint8_t)REC_MAGIC)
		rc = stream_feed(&stream, data, size, &err);
	else
		rc = feed_framed(&stream, data + 1, size - 1, &err);
	if (rc == 0)
		rc = evidence_finish(&ev, &err);
	if (rc == 0)
		rc = verdict_build(&ev, NULL, &verdict, &err);
	if (rc == 0)
		verdict_destroy(verdict);
	else if (err.text[0] == '\0')
		abort(); /* every refusal has a reason */
	evidence_fini(&ev);
	return 0;
}
