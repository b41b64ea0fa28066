/* SPDX-License-Identifier: BSD-3-Clause */
/* Times of frames are found again by what a completion reports of its datagram. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/wire/eth.h"
#include "common/wire/roce.h"
#include "rxe-hosts/device/verbs/stamps.h"
#include "tests/unit/unit.h"

/*
 * A probe as Linux 6.1 sent it: to 10.0.0.2, from port 0xc1e2 of 10.0.0.1, flow 7; the first 4 of 50 bytes of contents
 * and their pad.
 */
static const uint8_t captured[] = {
	0x02, 0x00, 0x0a, 0x00, 0x00, 0x02, 0x02, 0x00, 0x0a, 0x00, 0x00, 0x01, 0x08, 0x00, /* Ethernet */
	0x45, 0x62, 0x00, 0x6c, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0x00, 0x00,             /* IPv4, 108 B */
	0x0a, 0x00, 0x00, 0x01, 0x0a, 0x00, 0x00, 0x02,                                     /* addresses */
	0xc1, 0xe2, 0x12, 0xb7, 0x00, 0x58, 0x00, 0x00,                                     /* UDP */
	0x65, 0x60, 0xff, 0xff, 0x00, 0x00, 0x01, 0x42, 0x00, 0x00, 0x00, 0x05,             /* BTH: pad 2 */
	0x11, 0x11, 0x11, 0x11, 0x00, 0x00, 0x00, 0x57,                                     /* DETH */
	0x00, 0x00, 0x00, 0x07,                                                             /* ImmDt */
	0x52, 0x4d, 0x47, 0x50,
};

#define CONTENTS_AT (sizeof(captured) - 4)
#define CONTENTS_BYTES 50

static uint8_t frame[STAMPS_FRAME_BYTES];
static struct stamps stamps;

static int
setup(void **state)
{
	(void)state;
	memset(frame, 0, sizeof(frame));
	memcpy(frame, captured, sizeof(captured));
	stamps = (struct stamps){ 0 };
	return 0;
}

static void
a_frame_and_its_completion_have_the_same_key(void **state)
{
	struct stamp_key key, other;

	(void)state;
	assert_true(stamp_key_of_frame(&key, frame, sizeof(frame), true));
	assert_int_equal(key.imm, 7);
	assert_int_equal(key.bytes, CONTENTS_BYTES);
	stamps_put(&stamps, &key, 1000);
	other = stamp_key_of(7, frame + CONTENTS_AT, CONTENTS_BYTES, false);
	assert_int_equal(stamps_take(&stamps, &other), 0); /* the other direction */
	other = stamp_key_of(8, frame + CONTENTS_AT, CONTENTS_BYTES, true);
	assert_int_equal(stamps_take(&stamps, &other), 0); /* another flow */
	other = stamp_key_of(7, frame + CONTENTS_AT, CONTENTS_BYTES, true);
	assert_int_equal(stamps_take(&stamps, &other), 1000);
	assert_int_equal(stamps_take(&stamps, &other), 0); /* once */
}

/* What is no datagram with contents, or not whole, is none; nothing is read behind its end. */
static void
other_frames_have_none(void **state)
{
	static const struct {
		size_t at;
		uint8_t is;
	} changes[] = {
		{ 12, 0x86 }, /* not IPv4 */
		{ 14, 0x46 }, /* IPv4 with options */
		{ 23, 6 },    /* TCP */
		{ 37, 0xb8 }, /* another port */
		{ 42, 0x64 }, /* without an immediate */
		{ 17, 0x20 }, /* shorter than its headers */
		{ 17, 0xff }, /* longer than contents are */
	};
	struct stamp_key key;

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		setup(state);
		frame[changes[i].at] = changes[i].is;
		assert_false(stamp_key_of_frame(&key, frame, sizeof(frame), true));
	}
	setup(state);
	for (size_t bytes = 0; bytes < CONTENTS_AT + CONTENTS_BYTES; bytes++) {
		uint8_t *cut = malloc(bytes + 1);

		assert_non_null(cut);
		memcpy(cut, frame, bytes);
		assert_false(stamp_key_of_frame(&key, cut, bytes, true));
		free(cut);
	}
}

static struct stamp_key
numbered(uint32_t n)
{
	return stamp_key_of(1, &n, sizeof(n), true);
}

static void
equal_datagrams_are_reported_in_order(void **state)
{
	const struct stamp_key key = numbered(1), other = numbered(2);

	(void)state;
	stamps_put(&stamps, &key, 10);
	stamps_put(&stamps, &other, 15);
	stamps_put(&stamps, &key, 20);
	assert_int_equal(stamps_take(&stamps, &key), 10);
	assert_int_equal(stamps_take(&stamps, &key), 20);
	assert_int_equal(stamps_take(&stamps, &other), 15);
	assert_int_equal(stamps.head, stamps.tail);
}

/* Frames that were dropped have no completion: the newest are kept. */
static void
what_is_not_asked_for_goes(void **state)
{
	struct stamp_key key;

	(void)state;
	for (uint32_t i = 0; i < STAMPS_KEPT + 10; i++) {
		key = numbered(i);
		stamps_put(&stamps, &key, 1 + i);
	}
	assert_int_equal(stamps.unused, 10);
	key = numbered(9);
	assert_int_equal(stamps_take(&stamps, &key), 0);
	key = numbered(STAMPS_KEPT + 9);
	assert_int_equal(stamps_take(&stamps, &key), STAMPS_KEPT + 10);
	key = numbered(10);
	assert_int_equal(stamps_take(&stamps, &key), 11);
}

UNIT_TEST(verbs_stamps)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_frame_and_its_completion_have_the_same_key, setup),
		cmocka_unit_test_setup(other_frames_have_none, setup),
		cmocka_unit_test_setup(equal_datagrams_are_reported_in_order, setup),
		cmocka_unit_test_setup(what_is_not_asked_for_goes, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
