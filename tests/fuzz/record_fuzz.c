/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libFuzzer target: whatever a record stream holds, it is refused, or gives a verdict and every report of it.
 * Input that starts like the stream's magic is taken as it is. Any other is, behind its first byte, cut into
 * well-framed records, so that the fuzzer spends its time behind the framing. Streams are changed record by record and
 * field by field, by the same table that they are checked against.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/prng.h"
#include "common/record/kinds.h"
#include "common/wire/record.h"
#include "diag/collect/stream.h"
#include "diag/registry.h"
#include "diag/report/json.h"
#include "diag/report/report.h"
#include "diag/report/text.h"

#define FUZZ_IDS 16 /* nodes; small, so that records meet */
#define MAX_RECORDS 4096
#define MAX_CHANGES 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

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
		uint16_t type = data[at] % RECORD_KINDS;
		uint32_t node = data[at + 1] % FUZZ_IDS;
		size_t body = record_size(type), left = size - at - 2;

		at += 2;
		if (body == 0)
			continue;
		body -= sizeof(*hdr);
		memcpy(hdr + 1, data + at, body < left ? body : left);
		at += body < left ? body : left;
		hdr->type = type;
		hdr->size = (uint16_t)(body + sizeof(*hdr));
		hdr->node = record_kinds[type].reporter == RECORD_OF_NONE ? REC_NONE : node;
		hdr->time_ps = rec[3] % 1000000007; /* of the body: any, but repeatable */
		hdr->seq = seq++;
		rc = stream_feed(stream, rec, hdr->size, err);
	}
	return rc;
}

static void
write_reports(const struct verdict *verdict)
{
	FILE *to = fopen("/dev/null", "w");

	if (to == NULL || text_write(verdict, "out", to) != 0 || json_write(verdict, to) != 0 ||
	    page_write(verdict, PAGE_DATA_MARK, to) != 0 || dot_write_waiting(verdict, to) != 0 ||
	    dot_write_provenance(verdict, to) != 0)
		abort(); /* there is room, and memory */
	fclose(to);
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
		rc = stream_finish(&stream, &err);
	stream_fini(&stream);
	if (rc == 0)
		rc = registry_diagnose(&ev, &verdict, &err);
	if (rc == 0)
		write_reports(verdict);
	else if (err.text[0] == '\0')
		abort(); /* every refusal has a reason */
	verdict_destroy(verdict);
	evidence_fini(&ev);
	return 0;
}

/* ---- changing a stream ---- */

/* @return how many whole records there are; at[i]: where they begin, at[count]: where the last ends */
static uint32_t
find_records(const uint8_t *data, size_t size, size_t at[MAX_RECORDS + 1])
{
	uint32_t count = 0;

	at[0] = sizeof(struct rec_stream);
	while (count < MAX_RECORDS && at[count] + sizeof(struct rec_hdr) <= size) {
		struct rec_hdr hdr;

		memcpy(&hdr, data + at[count], sizeof(hdr));
		if (hdr.type == REC_FRAME ? hdr.size <= sizeof(hdr) || hdr.size > REC_FRAME_MAX_BYTES
					  : record_size(hdr.type) == 0 || hdr.size != record_size(hdr.type))
			break;
		if (at[count] + hdr.size > size)
			break;
		at[count + 1] = at[count] + hdr.size;
		count++;
	}
	return count;
}

/* What fields trip over: small numbers, edges, and what the field held but a little. */
static uint64_t
odd_value(struct prng *prng, uint64_t value)
{
	switch (prng_below(prng, 5)) {
	case 0:
		return prng_below(prng, 4);
	case 1:
		return value + 1 - 2 * prng_below(prng, 2);
	case 2:
		return (1ULL << prng_below(prng, 64)) - prng_below(prng, 2);
	case 3:
		return UINT64_MAX;
	default:
		return prng_below(prng, value != 0 ? 2 * value : 100);
	}
}

/* One field, the node or the time of a record; from another of its kind, or odd. Behind a frame nothing is aligned. */
static void
change_field(uint16_t type, uint8_t *rec, const uint8_t *other, struct prng *prng)
{
	const struct record_kind *kind = &record_kinds[type];
	uint32_t which = (uint32_t)prng_below(prng, kind->nfields + 2ULL);
	struct record_field field = { .at = offsetof(struct rec_hdr, node), .size = sizeof(uint32_t) };
	uint64_t value = 0;

	if (which == kind->nfields)
		field = (struct record_field){ .at = offsetof(struct rec_hdr, time_ps), .size = sizeof(uint64_t) };
	else if (which < kind->nfields)
		field = kind->fields[which];
	if (prng_below(prng, 3) == 0) {
		memcpy(rec + field.at, other + field.at, field.size);
		return;
	}
	if (field.size > sizeof(value)) { /* a tuple or a name: a word of it */
		field.at += (uint16_t)(4 * prng_below(prng, field.size / 4));
		field.size = 4;
	}
	memcpy(&value, rec + field.at, field.size);
	value = odd_value(prng, value);
	memcpy(rec + field.at, &value, field.size);
}

/* A byte of a frame. */
static void
change_frame(uint8_t *frame, size_t bytes, struct prng *prng)
{
	uint8_t *byte = &frame[sizeof(uint32_t) + prng_below(prng, bytes - sizeof(uint32_t))]; /* its type and size stay */

	*byte = (uint8_t)(prng_below(prng, 2) == 0 ? *byte ^ 1u << prng_below(prng, 8) : odd_value(prng, *byte));
}

/* Twice, gone, or elsewhere. @return the new size */
static size_t
move_record(uint8_t *data, size_t size, size_t max_size, const size_t *at, uint32_t count, struct prng *prng)
{
	uint32_t from = (uint32_t)prng_below(prng, count), to = (uint32_t)prng_below(prng, count + 1ULL);
	size_t bytes = at[from + 1] - at[from];
	uint8_t rec[REC_FRAME_MAX_BYTES];

	memcpy(rec, data + at[from], bytes);
	if (prng_below(prng, 3) == 0) {
		memmove(data + at[from], data + at[from + 1], size - at[from + 1]);
		return size - bytes;
	}
	if (size + bytes > max_size)
		return size;
	memmove(data + at[to] + bytes, data + at[to], size - at[to]);
	memcpy(data + at[to], rec, bytes);
	return size + bytes;
}

/* Another record of the same kind, itself if there is none. */
static uint32_t
another(const uint8_t *data, const size_t *at, uint32_t count, uint32_t of, struct prng *prng)
{
	uint32_t start = (uint32_t)prng_below(prng, count);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t n = (start + i) % count;

		if (n != of && memcmp(data + at[n], data + at[of], sizeof(uint16_t)) == 0)
			return n;
	}
	return of;
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	static size_t at[MAX_RECORDS + 1];
	struct prng prng;
	uint32_t count = 0;

	prng_init(&prng, seed, 0);
	if (size > sizeof(struct rec_stream) && data[0] == (uint8_t)REC_MAGIC)
		count = find_records(data, size, at);
	if (count == 0 || prng_below(&prng, 16) == 0)
		return LLVMFuzzerMutate(data, size, max_size);
	for (uint64_t change = prng_below(&prng, MAX_CHANGES) + 1; change > 0 && count > 0; change--) {
		uint32_t n = (uint32_t)prng_below(&prng, count);
		uint16_t type;

		memcpy(&type, data + at[n], sizeof(type));
		if (prng_below(&prng, 4) == 0)
			size = move_record(data, size, max_size, at, count, &prng);
		else if (type == REC_FRAME)
			change_frame(data + at[n], at[n + 1] - at[n], &prng);
		else
			change_field(type, data + at[n], data + at[another(data, at, count, n, &prng)], &prng);
		count = find_records(data, size, at);
	}
	return prng_below(&prng, 64) == 0 ? prng_below(&prng, size) + 1 : size;
}
