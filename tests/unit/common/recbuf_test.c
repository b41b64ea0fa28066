/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/record/buffer.h"
#include "common/wire/record.h"
#include "tests/unit/unit.h"

static struct recbuf buf;

static int
setup(void **state)
{
	recbuf_init(&buf, 3);
	return 0;
}

static int
teardown(void **state)
{
	recbuf_fini(&buf);
	return 0;
}

static void
put(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct rec_step step = { .step = i };
		struct rec_notify notify = { .step = i };

		recbuf_put(&buf, &step, REC_STEP, sizeof(step), 1000 * i);
		recbuf_put(&buf, &notify, REC_NOTIFY, sizeof(notify), 1000 * i);
	}
}

static void
records_are_stamped_in_order(void **state)
{
	const struct rec_hdr *hdr;

	put(2);
	hdr = (const void *)(buf.data + sizeof(struct rec_step));
	assert_int_equal(hdr->type, REC_NOTIFY);
	assert_int_equal(hdr->size, sizeof(struct rec_notify));
	assert_int_equal(hdr->node, 3);
	assert_int_equal(hdr->seq, 1);
}

static void
portions_are_whole_records_in_order(void **state)
{
	uint32_t seq = 0;

	put(100);
	assert_int_equal(recbuf_front(&buf, 0), 0);
	assert_int_equal(recbuf_front(&buf, sizeof(struct rec_step) - 1), 0);
	assert_int_equal(recbuf_front(&buf, sizeof(struct rec_step)), sizeof(struct rec_step));
	assert_int_equal(recbuf_front(&buf, SIZE_MAX), buf.used_bytes);
	for (int portions = 0; buf.used_bytes != 0 && portions < 300; portions++) {
		size_t bytes = recbuf_front(&buf, 500);

		assert_true(bytes > 0 && bytes <= 500);
		for (size_t at = 0; at < bytes;) {
			const struct rec_hdr *hdr = (const void *)(buf.data + at);

			assert_int_equal(hdr->seq, seq++);
			at += hdr->size;
		}
		recbuf_take(&buf, bytes);
	}
	assert_int_equal(seq, 200);
}

static void
the_newest_are_dropped_and_counted(void **state)
{
	size_t pair = sizeof(struct rec_step) + sizeof(struct rec_notify);

	put(10);
	assert_int_equal(recbuf_limit(&buf, 10 * pair), 0);
	assert_int_equal(recbuf_limit(&buf, 4 * pair + 1), 12);
	assert_int_equal(buf.used_bytes, 4 * pair);
	assert_int_equal(((const struct rec_hdr *)(const void *)buf.data)->seq, 0);
	assert_int_equal(recbuf_limit(&buf, 0), 8);
	assert_int_equal(recbuf_limit(&buf, 0), 0);
	/* What comes later shows by its number that some are missing. */
	put(1);
	assert_int_equal(((const struct rec_hdr *)(const void *)buf.data)->seq, 20);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

UNIT_TEST(recbuf)
{
	const struct CMUnitTest tests[] = {
		TEST(records_are_stamped_in_order),
		TEST(portions_are_whole_records_in_order),
		TEST(the_newest_are_dropped_and_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
