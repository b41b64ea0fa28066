/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/prng.h"
#include "rxe-hosts/guest/frame.h"
#include "tests/unit/alloc.h"
#include "tests/unit/refused_call.h"
#include "tests/unit/unit.h"

#define FRAMES 400

static struct frame_in in;

static int
setup(void **state)
{
	memset(&in, 0, sizeof(in));
	return 0;
}

static void
open_pair(int ends[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
}

static uint8_t
byte_of(int frame, size_t i)
{
	return (uint8_t)((size_t)frame * 31 + i);
}

static size_t
size_of(int frame)
{
	return frame % 7 == 0 ? 0 : (size_t)(frame * 977) % (GUEST_MAX_PAYLOAD + 1);
}

static void
check_frame(const struct guest_frame *frame, const uint8_t *payload, int number)
{
	assert_int_equal(frame->type, GUEST_STDOUT);
	assert_int_equal(frame->session, number % GUEST_MAX_SESSIONS);
	assert_int_equal(frame->size, size_of(number));
	for (size_t i = 0; i < frame->size; i++)
		assert_int_equal(payload[i], byte_of(number, i));
}

/* A socket takes and gives what it likes: frames come out as they went in. */
static void
frames_survive_a_stream(void **state)
{
	uint8_t bytes[GUEST_MAX_PAYLOAD];
	struct frame_out out = { 0 };
	struct guest_frame frame;
	const uint8_t *payload;
	int ends[2], put = 0, got = 0, more;

	open_pair(ends);
	while (got < FRAMES) {
		while (put < FRAMES && frame_pending(&out) < 100000) {
			for (size_t i = 0; i < size_of(put); i++)
				bytes[i] = byte_of(put, i);
			assert_int_equal(
				frame_put(&out, GUEST_STDOUT, (uint8_t)(put % GUEST_MAX_SESSIONS), bytes, size_of(put)), 0);
			put++;
		}
		assert_int_equal(frame_flush(&out, ends[0]), 0);
		assert_int_equal(frame_fill(&in, ends[1]), 1);
		while ((more = frame_next(&in, &frame, &payload)) > 0)
			check_frame(&frame, payload, got++);
		assert_int_equal(more, 0);
	}
	close(ends[0]);
	assert_int_equal(frame_fill(&in, ends[1]), 0);
	close(ends[1]);
	frame_out_fini(&out);
}

static void
byte_by_byte(void **state)
{
	struct frame_out out = { 0 };
	struct guest_frame frame;
	const uint8_t *payload;
	int ends[2];

	open_pair(ends);
	assert_int_equal(frame_put(&out, GUEST_EXIT, 3, "abcd", 4), 0);
	for (size_t i = 0; i < frame_pending(&out); i++) {
		assert_int_equal(frame_next(&in, &frame, &payload), 0);
		assert_int_equal(write(ends[0], out.bytes + i, 1), 1);
		assert_int_equal(frame_fill(&in, ends[1]), 1);
	}
	assert_int_equal(frame_next(&in, &frame, &payload), 1);
	assert_memory_equal(payload, "abcd", 4);
	close(ends[0]);
	close(ends[1]);
	frame_out_fini(&out);
}

static void
too_much_is_refused(void **state)
{
	static const uint8_t payload[GUEST_MAX_PAYLOAD + 1];
	struct frame_out out = { 0 };
	int count = 0, rc;

	assert_int_equal(frame_put(&out, GUEST_STDOUT, 1, payload, sizeof(payload)), -ENOBUFS);
	while ((rc = frame_put(&out, GUEST_STDOUT, 1, payload, GUEST_MAX_PAYLOAD)) == 0)
		count++;
	assert_int_equal(rc, -ENOBUFS);
	assert_int_equal(count, FRAME_OUT_MAX / (GUEST_MAX_PAYLOAD + (int)sizeof(struct guest_frame)));
	frame_out_fini(&out);
}

static void
a_frame_too_large_is_noticed(void **state)
{
	struct guest_frame frame = { .type = GUEST_STDOUT, .session = 1, .size = GUEST_MAX_PAYLOAD + 1 };
	const uint8_t *payload;
	int ends[2];

	open_pair(ends);
	assert_int_equal(write(ends[0], &frame, sizeof(frame)), sizeof(frame));
	assert_int_equal(frame_fill(&in, ends[1]), 1);
	assert_int_equal(frame_next(&in, &frame, &payload), -EPROTO);
	close(ends[0]);
	close(ends[1]);
}

/* Whatever comes, what is taken lies inside what was read. */
static void
noise_stays_inside(void **state)
{
	struct prng prng;
	struct guest_frame frame;
	const uint8_t *payload;
	uint8_t noise[3000];
	int ends[2], more;

	prng_init(&prng, 7, 0);
	open_pair(ends);
	for (int round = 0; round < 2000; round++) {
		size_t size = prng_next(&prng) % sizeof(noise) + 1;

		for (size_t i = 0; i < size; i++)
			noise[i] = (uint8_t)(prng_next(&prng) & (i % 4 == 3 ? 0x3f : 0xff));
		assert_int_equal(write(ends[0], noise, size), (ssize_t)size);
		assert_int_equal(frame_fill(&in, ends[1]), 1);
		while ((more = frame_next(&in, &frame, &payload)) > 0) {
			assert_true(payload >= in.bytes && payload + frame.size <= in.bytes + in.end);
			assert_true(frame.size <= GUEST_MAX_PAYLOAD);
		}
		if (more < 0)
			memset(&in, 0, sizeof(in));
	}
	close(ends[0]);
	close(ends[1]);
}

/* Errors of a descriptor are errors, but that it has nothing now; a full buffer is not read into. */
static void
errors_are_reported(void **state)
{
	static const uint8_t payload[GUEST_MAX_PAYLOAD];
	struct frame_out out = { 0 };
	int ends[2];

	(void)state;
	open_pair(ends);
	assert_int_equal(frame_fill(&in, ends[1]), 1); /* nothing has arrived */
	assert_int_equal(frame_flush(&out, ends[0]), 0);
	assert_int_equal(frame_fill(&in, -1), -EBADF);
	alloc_refuse(1);
	assert_int_equal(frame_put(&out, GUEST_STDOUT, 1, payload, 100), -ENOMEM);
	assert_true(alloc_was_refused());
	assert_int_equal(frame_pending(&out), 0);
	while (frame_pending(&out) < 500000)
		assert_int_equal(frame_put(&out, GUEST_STDOUT, 1, payload, sizeof(payload)), 0);
	assert_int_equal(frame_flush(&out, -1), -EBADF);
	for (int i = 0; i < 100; i++)
		assert_int_equal(frame_flush(&out, ends[0]), 0); /* what has no room waits */
	assert_true(frame_pending(&out) > 0);
	while (in.end < sizeof(in.bytes)) {
		assert_int_equal(frame_fill(&in, ends[1]), 1);
		assert_int_equal(frame_flush(&out, ends[0]), 0);
	}
	assert_int_equal(frame_fill(&in, ends[1]), 1);
	close(ends[0]);
	close(ends[1]);
	frame_out_fini(&out);
}

static int filled, flushed;

static void
fill_once(void *arg)
{
	filled = frame_fill(&in, *(const int *)arg);
}

static struct frame_out queued;

static void
flush_once(void *arg)
{
	flushed = frame_flush(&queued, *(const int *)arg);
}

/* A signal ends no stream: what waits goes later. */
static void
interruptions_are_no_ends(void **state)
{
	struct guest_frame frame;
	const uint8_t *payload;
	int ends[2];

	(void)state;
	open_pair(ends);
	assert_int_equal(frame_put(&queued, GUEST_STDOUT, 1, "abc", 3), 0);
	WITHOUT_CALL(SYS_write, EINTR, flush_once, &ends[0]);
	assert_int_equal(flushed, 0);
	assert_int_equal(frame_pending(&queued), sizeof(frame) + 3);
	assert_int_equal(frame_flush(&queued, ends[0]), 0);
	WITHOUT_CALL(SYS_read, EINTR, fill_once, &ends[1]);
	assert_int_equal(filled, 1);
	assert_int_equal(frame_next(&in, &frame, &payload), 0);
	assert_int_equal(frame_fill(&in, ends[1]), 1);
	assert_int_equal(frame_next(&in, &frame, &payload), 1);
	assert_memory_equal(payload, "abc", 3);
	frame_out_fini(&queued);
	close(ends[0]);
	close(ends[1]);
}

UNIT_TEST(guest_frame)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(frames_survive_a_stream, setup),
		cmocka_unit_test_setup(byte_by_byte, setup),
		cmocka_unit_test_setup(too_much_is_refused, setup),
		cmocka_unit_test_setup(a_frame_too_large_is_noticed, setup),
		cmocka_unit_test_setup(noise_stays_inside, setup),
		cmocka_unit_test_setup(errors_are_reported, setup),
		cmocka_unit_test_setup(interruptions_are_no_ends, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
