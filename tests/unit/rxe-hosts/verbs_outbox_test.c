/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "common/array.h"
#include "rxe-hosts/device/verbs/outbox.h"
#include "tests/unit/unit.h"

#define MTU 1024u
#define WINDOW 8192u

/* Sends all that may be, and has it acknowledged. @return messages that completed */
static uint32_t
cross(struct verbs_outbox *outbox, uint64_t *contents)
{
	struct verbs_piece piece;
	uint32_t messages = 0;

	for (int rounds = 0; rounds < 100000 && verbs_outbox_open(outbox); rounds++) {
		while (verbs_outbox_next(outbox, &piece))
			assert_true(outbox->in_flight <= outbox->max_pieces);
		struct verbs_acked acked = verbs_outbox_acked(outbox);

		*contents += acked.bytes;
		messages += acked.message;
	}
	assert_int_equal(outbox->in_flight, 0);
	return messages;
}

static void
a_message_is_cut_and_ends_with_its_header(void **state)
{
	struct verbs_outbox outbox;
	struct send_wr wr = { .wr_id = 7, .bytes = 10000, .local_offset = 64, .remote_offset = 128, .imm = 5 };
	struct verbs_piece piece;
	struct verbs_acked acked;
	uint64_t next = 0;

	verbs_outbox_init(&outbox, 8 * 4096, MTU);
	outbox.piece_bytes = 4096;
	outbox.max_pieces = 4;
	assert_false(verbs_outbox_next(&outbox, &piece));
	assert_int_equal(verbs_outbox_post(&outbox, &wr, 99), 0);
	for (int i = 0; i < 3; i++) {
		assert_true(verbs_outbox_next(&outbox, &piece));
		assert_false(piece.header);
		assert_int_equal(piece.offset, next);
		next += piece.bytes;
		assert_int_equal(piece.wr->wr_id, 7);
	}
	assert_int_equal(next, 10000);
	assert_true(verbs_outbox_next(&outbox, &piece));
	assert_true(piece.header);
	assert_int_equal(piece.slot, 0);
	assert_false(verbs_outbox_next(&outbox, &piece));
	for (int i = 0; i < 3; i++) {
		acked = verbs_outbox_acked(&outbox);
		assert_false(acked.message);
	}
	assert_int_equal(outbox.acked_bytes, 10000);
	acked = verbs_outbox_acked(&outbox);
	assert_true(acked.message);
	assert_int_equal(acked.bytes, 0);
	assert_int_equal(acked.wr_id, 7);
	assert_int_equal(acked.message_bytes, 10000);
	assert_int_equal(acked.started_ps, 99);
	assert_false(verbs_outbox_open(&outbox));
}

/* For a receiver that knows no headers. */
static void
whole_messages_carry_their_own_immediate(void **state)
{
	struct verbs_outbox outbox;
	struct verbs_piece piece;
	struct verbs_acked acked;

	verbs_outbox_init_whole(&outbox);
	for (uint64_t i = 0; i < 3; i++) {
		struct send_wr wr = { .wr_id = i, .bytes = (1ull << 31) - i, .imm = (uint32_t)i };

		assert_int_equal(verbs_outbox_post(&outbox, &wr, 0), 0);
	}
	for (uint64_t i = 0; i < 3; i++) {
		assert_true(verbs_outbox_next(&outbox, &piece));
		assert_true(piece.whole && !piece.header);
		assert_int_equal(piece.offset, 0);
		assert_int_equal(piece.bytes, (1ull << 31) - i);
		assert_int_equal(piece.wr->imm, i);
	}
	assert_false(verbs_outbox_next(&outbox, &piece));
	for (uint64_t i = 0; i < 3; i++) {
		acked = verbs_outbox_acked(&outbox);
		assert_true(acked.message);
		assert_int_equal(acked.wr_id, i);
		assert_int_equal(acked.bytes, (1ull << 31) - i);
		assert_int_equal(acked.message_bytes, acked.bytes);
		assert_int_equal(outbox.acked_bytes, 0);
	}
	assert_false(verbs_outbox_open(&outbox));
}

static void
no_more_than_a_window_is_in_flight(void **state)
{
	const uint64_t windows[] = { 0, 1, 500, 1024, 3000, 4096, 65536, 1 << 20, 1ull << 40 };

	for (size_t i = 0; i < ARRAY_LEN(windows); i++) {
		struct verbs_outbox outbox;

		verbs_outbox_init(&outbox, windows[i], MTU);
		assert_true(outbox.max_pieces >= 1 && outbox.max_pieces <= VERBS_MAX_PIECES);
		assert_true(outbox.piece_bytes >= MTU && outbox.piece_bytes <= VERBS_MAX_PIECE_BYTES);
		assert_int_equal(outbox.piece_bytes % MTU, 0);
		if (windows[i] >= MTU)
			assert_true(verbs_outbox_window(&outbox) <= windows[i]);
	}
}

static void
many_messages_cross_in_order(void **state)
{
	struct verbs_outbox outbox;
	uint64_t contents = 0, expected = 0;
	uint32_t messages = 0;

	verbs_outbox_init(&outbox, WINDOW, MTU);
	for (uint32_t round = 0; round < 10; round++) {
		struct send_wr wr = { .bytes = 1 };

		for (uint32_t i = 0; i < DEVICE_MAX_POSTED; i++) {
			wr.bytes = 1 + (i * 977 + round * 131) % 20000;
			wr.wr_id = i;
			expected += wr.bytes;
			assert_int_equal(verbs_outbox_post(&outbox, &wr, 0), 0);
		}
		assert_int_equal(verbs_outbox_post(&outbox, &wr, 0), -ENOSPC);
		messages += cross(&outbox, &contents);
	}
	assert_int_equal(messages, 10 * DEVICE_MAX_POSTED);
	assert_int_equal(contents, expected);
}

/*
 * The receiver of outbox.h against the sender: a header may be written only while a receive is posted, and a
 * receive is posted again only when its slot has been read. No slot is ever written before it is read, in order.
 */
static void
slots_are_read_before_they_are_written_again(void **state)
{
	struct verbs_outbox outbox;
	uint64_t slots[DEVICE_MAX_POSTED];
	bool full[DEVICE_MAX_POSTED] = { false };
	uint32_t posted_receives = DEVICE_MAX_POSTED, arrived = 0, read = 0, sent = 0, held = 0;
	struct verbs_piece piece = { 0 };
	bool waiting = false;

	verbs_outbox_init(&outbox, WINDOW, MTU);
	for (uint32_t round = 0; round < 20000 && read < 1000; round++) {
		struct send_wr wr = { .wr_id = sent, .bytes = 1 + sent % 3000 };

		if (sent < 1000 && verbs_outbox_post(&outbox, &wr, 0) == 0)
			sent++;
		while (waiting || verbs_outbox_next(&outbox, &piece)) {
			waiting = piece.header && posted_receives == 0; /* receiver not ready: the connection waits */
			held += waiting;
			if (waiting)
				break;
			if (piece.header) {
				assert_false(full[piece.slot]);
				assert_int_equal(piece.slot, arrived % DEVICE_MAX_POSTED);
				full[piece.slot] = true;
				slots[piece.slot] = piece.wr->wr_id;
				arrived++;
				posted_receives--;
			}
			verbs_outbox_acked(&outbox);
		}
		/* A receiver that sleeps until more than its receives were sent. */
		if (round % (2 * DEVICE_MAX_POSTED) < 2 * DEVICE_MAX_POSTED - 10 || read == arrived)
			continue;
		for (uint32_t i = 0; i < 50 && read < arrived; i++, read++) {
			assert_true(full[read % DEVICE_MAX_POSTED]);
			assert_int_equal(slots[read % DEVICE_MAX_POSTED], read);
			full[read % DEVICE_MAX_POSTED] = false;
			posted_receives++;
		}
	}
	assert_int_equal(read, 1000);
	assert_true(held != 0); /* the case that matters happened */
}

UNIT_TEST(verbs_outbox)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_is_cut_and_ends_with_its_header),
		cmocka_unit_test(whole_messages_carry_their_own_immediate),
		cmocka_unit_test(no_more_than_a_window_is_in_flight),
		cmocka_unit_test(many_messages_cross_in_order),
		cmocka_unit_test(slots_are_read_before_they_are_written_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
