/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames of packed reports: nothing is lost in them, what is not one is refused, and each stands alone. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/prng.h"
#include "common/record/buffer.h"
#include "common/record/frame.h"
#include "common/record/kinds.h"
#include "tests/unit/unit.h"

#define RECORDS 400
#define SENT_PS (1ULL << 50)

static struct recframe frame;
static struct recframe_reader reader;

/* Small, the same again, or anything. */
static uint64_t
some_value(struct prng *prng)
{
	switch (prng_below(prng, 4)) {
	case 0:
		return 0;
	case 1:
		return prng_below(prng, 3);
	case 2:
		return prng_below(prng, 100000);
	default:
		return prng_next(prng) >> prng_below(prng, 64);
	}
}

static void
put_any(struct recbuf *buf, struct prng *prng, uint16_t type)
{
	uint64_t rec[RECFRAME_RECORD_BYTES / 8] = { 0 };
	const struct record_kind *kind = &record_kinds[type];

	for (uint32_t i = 0; i < kind->nfields; i++)
		for (uint32_t at = 0; at < kind->fields[i].size; at += 8) {
			uint64_t value = some_value(prng);
			uint32_t left = kind->fields[i].size - at;

			memcpy((uint8_t *)rec + kind->fields[i].at + at, &value, left < 8 ? left : 8);
		}
	((struct rec_hdr *)rec)->event = prng_below(prng, 3) == 0 ? (uint32_t)prng_next(prng) : 7;
	if (prng_below(prng, 20) == 0)
		buf->seq += (uint32_t)prng_below(prng, 1000);
	recbuf_put(buf, rec, type, kind->size, prng_below(prng, 4) == 0 ? prng_below(prng, SENT_PS) : 1000);
}

static void
expect(const uint8_t *data, size_t from, size_t to)
{
	const struct rec_hdr *rec;
	struct err err = { "" };

	recframe_open(&reader, recframe_end(&frame));
	while (recframe_next(&reader, &rec, &err) > 0) {
		assert_true(from < to);
		assert_memory_equal(rec, data + from, rec->size);
		from += rec->size;
	}
	assert_string_equal(err.text, "");
	assert_int_equal(from, to);
}

static void
all_that_is_packed_is_unpacked(void **state)
{
	(void)state;
	for (uint16_t type = 0; type < RECORD_KINDS; type++) {
		struct prng prng;
		struct recbuf buf;
		size_t begun = 0;
		uint64_t bytes = 0;

		if (!record_is_report(type))
			continue;
		prng_init(&prng, type, 1);
		recbuf_init(&buf, 3);
		for (uint32_t i = 0; i < RECORDS; i++)
			put_any(&buf, &prng, type);
		recframe_begin(&frame, SENT_PS);
		for (size_t at = 0; at < buf.used_bytes;) {
			const struct rec_hdr *rec = (const void *)(buf.data + at);

			if (recframe_put(&frame, rec)) {
				at += rec->size;
				continue;
			}
			assert_true(frame.records > 1);
			assert_true(frame.used_bytes > REC_FRAME_MAX_BYTES - 400); /* it was full */
			expect(buf.data, begun, at);
			bytes += frame.used_bytes;
			begun = at;
			recframe_begin(&frame, SENT_PS);
		}
		expect(buf.data, begun, buf.used_bytes);
		assert_true(bytes + frame.used_bytes < buf.used_bytes);
		recbuf_fini(&buf);
	}
}

/* Byte for byte, as the header says. */
static const uint8_t by_hand[] = {
	/* header: type, size, node, time, sequence, event */
	64, 0, 46, 0, 5, 0, 0, 0, 0xd0, 7, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 4, 0, 0, 0,
	/* a flow row that is 1000 ps older than the frame; its number and event are as expected */
	34 | 128, 0xcf, 0x0f, 0, 0,
	/* fields 0 flow, 1 port, 3 epoch_first, 6 packets, 7 bytes; epoch_last is epoch_first, as expected */
	0xcb, 1,
	/* 10.0.0.1:300 > 10.0.0.2:4791 */
	0, 0x81, 0x80, 0x80, 0x50, 3, 0xac, 2, 0, 0,
	/* port 2, epoch 8, 3 packets, 200 bytes */
	4, 16, 3, 0xc8, 1
};

static void
a_frame_by_hand(void **state)
{
	struct rec_flow_row row = {
		.hdr = { .type = REC_FLOW_ROW, .size = sizeof(row), .node = 5, .time_ps = 1000, .seq = 9, .event = 4 },
		.flow = { .src_ip = 0x0a000001, .dst_ip = 0x0a000002, .sport = 300, .dport = 4791 },
		.port = 2,
		.epoch_first = 8,
		.epoch_last = 8,
		.packets = 3,
		.bytes = 200,
	};

	(void)state;
	recframe_begin(&frame, 2000);
	assert_true(recframe_put(&frame, &row.hdr));
	assert_int_equal(recframe_end(&frame)->size, sizeof(by_hand));
	assert_memory_equal(frame.bytes, by_hand, sizeof(by_hand));
	expect((const uint8_t *)&row, 0, sizeof(row));
	/* The same of the next epoch: type, a map of one field, that it is one more. */
	row.hdr.seq++;
	row.epoch_first++;
	row.epoch_last++;
	row.hdr.time_ps = 1000;
	recframe_begin(&frame, 2000);
	struct rec_flow_row first = row;
	first.hdr.seq--;
	first.epoch_first--;
	first.epoch_last--;
	first.packets = first.bytes = row.packets = row.bytes = 0;
	assert_true(recframe_put(&frame, &first.hdr));
	size_t used = frame.used_bytes;
	assert_true(recframe_put(&frame, &row.hdr));
	assert_int_equal(frame.used_bytes, used + 3);
	assert_memory_equal(frame.bytes + used, ((uint8_t[]){ 34, 8, 2 }), 3);
}

/* Of another node or class: not in this frame, which is none the worse. */
static void
a_frame_is_of_one_node_and_class(void **state)
{
	struct rec_poll poll = { .hdr = { .type = REC_POLL, .size = sizeof(poll), .node = 5 } };
	struct rec_poll other = { .hdr = { .type = REC_POLL, .size = sizeof(other), .node = 6, .seq = 1 } };
	struct rec_step step = { .hdr = { .type = REC_STEP, .size = sizeof(step), .node = 5, .seq = 1 } };

	(void)state;
	recframe_begin(&frame, 0);
	assert_true(recframe_put(&frame, &poll.hdr));
	assert_false(recframe_put(&frame, &other.hdr));
	assert_false(recframe_put(&frame, &step.hdr));
	expect((const uint8_t *)&poll, 0, sizeof(poll));
}

/* What so many bytes of records take: as many frames as they need. */
static void
bytes_of_records_are_those_of_their_frames(void **state)
{
	struct rec_poll polls[2] = { { .hdr = { .type = REC_POLL, .size = sizeof(polls[0]), .node = 5 } },
				     { .hdr = { .type = REC_POLL, .size = sizeof(polls[0]), .node = 6 } } };

	(void)state;
	assert_int_equal(recframe_bytes_of(NULL, 0), 0);
	assert_int_equal(recframe_bytes_of((const uint8_t *)polls, sizeof(polls[0])), 24 + 2);
	assert_int_equal(recframe_bytes_of((const uint8_t *)polls, sizeof(polls)), 2 * (24 + 2));
}

/* Reads by_hand with some bytes changed. @return how many records it has, or what refuses it */
static int
read_changed(size_t size, size_t at, uint8_t to, struct err *err)
{
	uint8_t bytes[64] __attribute__((aligned(8)));
	struct rec_hdr *hdr = (void *)bytes;
	const struct rec_hdr *rec;
	int count = 0, rc;

	memcpy(bytes, by_hand, sizeof(by_hand));
	bytes[at] = to;
	hdr->size = (uint16_t)size;
	err->text[0] = '\0';
	recframe_open(&reader, hdr);
	while ((rc = recframe_next(&reader, &rec, err)) > 0)
		count++;
	return rc < 0 ? rc : count;
}

static void
what_is_no_row_is_refused(void **state)
{
	struct err err = { "" };
	const struct {
		size_t at;
		uint8_t to;
		const char *why;
	} bad[] = {
		{ 24, 1, "a frame holds a record of type 1, which is no report" },
		{ 24, 48 | 128, "a frame holds a record of type 48, which is no report" },
		{ 25, 0xce, "a frame's FLOW_ROW has no header: a time, up to the frame's, a number, an event" },
		{ 30, 0x11, "a frame's FLOW_ROW names fields that there are not" },
		{ 31, 2, "a frame's FLOW_ROW holds no flow that fits" },
		{ 41, 3, "a frame's FLOW_ROW holds no port that fits" },
	};

	(void)state;
	assert_int_equal(read_changed(sizeof(by_hand), 0, 64, &err), 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(read_changed(sizeof(by_hand), bad[i].at, bad[i].to, &err), -EPROTO);
		assert_string_equal(err.text, bad[i].why);
	}
	for (size_t size = sizeof(struct rec_hdr) + 1; size < sizeof(by_hand); size++) { /* cut anywhere */
		assert_int_equal(read_changed(size, 0, 64, &err), -EPROTO);
		assert_string_not_equal(err.text, "");
	}
}

/* Reads a frame of these rows. @return how many records it has, or what refuses it */
static int
read_rows(const uint8_t *rows, size_t size, struct err *err)
{
	uint8_t bytes[128] __attribute__((aligned(8))) = { 0 };
	struct rec_hdr *hdr = (void *)bytes;
	const struct rec_hdr *rec;
	int count = 0, rc;

	*hdr = (struct rec_hdr){ .type = REC_FRAME, .size = (uint16_t)(sizeof(*hdr) + size), .time_ps = SENT_PS };
	memcpy(hdr + 1, rows, size);
	err->text[0] = '\0';
	recframe_open(&reader, hdr);
	while ((rc = recframe_next(&reader, &rec, err)) > 0)
		count++;
	return rc < 0 ? rc : count;
}

#define TOO_LARGE_32 0x80, 0x80, 0x80, 0x80, 0x10
#define TOO_LARGE_16 0x80, 0x80, 0x04
#define MOST_32 0xfe, 0xff, 0xff, 0xff, 0x1f /* 2^32 - 1, as a change */

/* Numbers that do not fit their fields: of 65 bits, of a tuple's parts, and where the row before leads to. */
static void
what_does_not_fit_is_refused(void **state)
{
	static const struct {
		uint8_t rows[40];
		size_t size;
		const char *why;
	} bad[] = {
		{ { 34, 1, 0, TOO_LARGE_32, 0, 0, 0, 0 }, 12, "flow" },
		{ { 34, 1, 0, 0, TOO_LARGE_32, 0, 0, 0 }, 12, "flow" },
		{ { 34, 1, 0, 0, 0, TOO_LARGE_16, 0, 0 }, 10, "flow" },
		{ { 34, 1, 0, 0, 0, 0, TOO_LARGE_16, 0 }, 10, "flow" },
		{ { 34, 1, 0, 0, 0, 0, 0, TOO_LARGE_32 }, 12, "flow" },
		{ { 34, 1, 0 }, 3, "flow" },
		{ { 34, 1, 0, 0 }, 4, "flow" },
		{ { 34, 1, 0, 0, 0 }, 5, "flow" },
		{ { 34, 1, 0, 0, 0, 0 }, 6, "flow" },
		{ { 34, 1, 0, 0, 0, 0, 0 }, 7, "flow" },
		{ { 34, 1 << 6, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2 }, 12, "packets" },
		{ { 34, 1 << 6, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x81, 0 }, 13, "packets" },
		/* The last epoch is as far from the first as before. */
		{ { 34, 1 << 4, MOST_32, 34, 1 << 3, 2 }, 10, "epoch_last" },
	};
	static const uint8_t good[] = { 34, 1, 0, 1, 2, 3, 4, 0, 34, 1 << 4, MOST_32 };
	struct err err;

	(void)state;
	assert_int_equal(read_rows(good, sizeof(good), &err), 2);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char why[64];

		snprintf(why, sizeof(why), "a frame's FLOW_ROW holds no %s that fits", bad[i].why);
		assert_int_equal(read_rows(bad[i].rows, bad[i].size, &err), -EPROTO);
		assert_string_equal(err.text, why);
	}
}

/* More tuples than a frame remembers: the others are written in full each time. */
static void
tuples_are_many(void **state)
{
	enum { MANY = RECFRAME_TUPLES + 8 };
	static struct rec_drop_row rows[2 * MANY];
	uint32_t count = 0;

	(void)state;
	recframe_begin(&frame, SENT_PS);
	for (uint32_t i = 0; i < 2 * MANY; i++) {
		rows[i] = (struct rec_drop_row){
			.hdr = { .type = REC_DROP_ROW, .size = sizeof(rows[i]), .node = 5, .seq = i },
			.last = { 10, 11, (uint16_t)(i % MANY), 4791, 0 },
		};
		count += recframe_put(&frame, &rows[i].hdr) ? 1 : 0;
	}
	assert_true(count > RECFRAME_TUPLES + 1);
	expect((const uint8_t *)rows, 0, count * sizeof(rows[0]));
}

UNIT_TEST(recframe)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_is_packed_is_unpacked),
		cmocka_unit_test(a_frame_by_hand),
		cmocka_unit_test(a_frame_is_of_one_node_and_class),
		cmocka_unit_test(bytes_of_records_are_those_of_their_frames),
		cmocka_unit_test(what_is_no_row_is_refused),
		cmocka_unit_test(what_does_not_fit_is_refused),
		cmocka_unit_test(tuples_are_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
