/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "emulation/partition/rendezvous.h"
#include "tests/unit/unit.h"

struct pair {
	struct channel ours;
	int theirs;
};

static struct pair
open_pair(void)
{
	struct pair pair;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(channel_init(&pair.ours, fds[0]), 0);
	pair.theirs = fds[1];
	return pair;
}

static void
close_pair(struct pair *pair)
{
	channel_fini(&pair->ours);
	close(pair->theirs);
}

/* A message comes out as it went in, however it is cut on its way. */
static void
test_pieces(void **state)
{
	const struct partition_pause pause = { .time_ps = 123456789, .port = 7, .prio_mask = 8, .xoff = 1 };
	const struct partition_hdr hdr = { .magic = PARTITION_MAGIC, .type = PARTITION_PAUSE, .size = sizeof(pause) };
	struct pair pair = open_pair();
	struct channel_message message;
	struct err err = { 0 };
	uint8_t bytes[sizeof(hdr) + sizeof(pause)];

	(void)state;
	memcpy(bytes, &hdr, sizeof(hdr));
	memcpy(bytes + sizeof(hdr), &pause, sizeof(pause));
	for (size_t i = 0; i < sizeof(bytes); i++) {
		assert_false(channel_read(&pair.ours));
		assert_int_equal(channel_take(&pair.ours, &message, &err), 0);
		assert_int_equal(write(pair.theirs, bytes + i, 1), 1);
		assert_true(channel_read(&pair.ours));
	}
	assert_int_equal(channel_take(&pair.ours, &message, &err), 1);
	assert_int_equal(message.type, PARTITION_PAUSE);
	assert_memory_equal(message.body, &pause, sizeof(pause));
	assert_int_equal(channel_take(&pair.ours, &message, &err), 0);
	close_pair(&pair);
}

static void
refused(uint32_t magic, uint16_t type, uint32_t size, const char *why)
{
	const struct partition_hdr hdr = { .magic = magic, .type = type, .size = size };
	struct pair pair = open_pair();
	struct channel_message message;
	struct err err = { 0 };

	assert_int_equal(write(pair.theirs, &hdr, sizeof(hdr)), sizeof(hdr));
	channel_read(&pair.ours);
	assert_int_equal(channel_take(&pair.ours, &message, &err), -EPROTO);
	assert_non_null(strstr(err.text, why));
	close_pair(&pair);
}

/* What cannot be a message is refused by its header, before anything of its body is waited for. */
static void
test_refused(void **state)
{
	(void)state;
	refused(0x12345678, PARTITION_PAUSE, sizeof(struct partition_pause), "magic");
	refused(PARTITION_MAGIC, PARTITION_NONE, 0, "type = 0");
	refused(PARTITION_MAGIC, PARTITION_TYPES, 0, "type = ");
	refused(PARTITION_MAGIC, PARTITION_PAUSE, sizeof(struct partition_pause) - 1,
		"PAUSE of 15 B; right would be 16 to 16");
	refused(PARTITION_MAGIC, PARTITION_FRAME, PARTITION_MAX_BODY + 1, "FRAME of ");
}

/* One that reads nothing is given up when it has left too much, and never waited for. */
static void
test_unread(void **state)
{
	static uint8_t body[PARTITION_MAX_BODY];
	struct pair pair = open_pair();

	(void)state;
	for (size_t sent = 0; sent < CHANNEL_OUT_BYTES + 8 * sizeof(body) && pair.ours.error == 0; sent += sizeof(body)) {
		channel_put(&pair.ours, PARTITION_RECORDS, body, sizeof(body), NULL, 0);
		channel_flush(&pair.ours);
	}
	assert_int_equal(pair.ours.error, ENOBUFS);
	close_pair(&pair);
}

/* What was sent before the end can still be taken. */
static void
test_end(void **state)
{
	struct pair pair = open_pair();
	struct channel_message message;
	struct channel theirs;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(channel_init(&theirs, pair.theirs), 0);
	channel_put(&theirs, PARTITION_DONE, NULL, 0, NULL, 0);
	channel_flush(&theirs);
	assert_false(channel_waits(&theirs));
	channel_fini(&theirs);
	assert_true(channel_read(&pair.ours));
	channel_read(&pair.ours);
	assert_true(pair.ours.ended);
	assert_int_equal(channel_take(&pair.ours, &message, &err), 1);
	assert_int_equal(message.type, PARTITION_DONE);
	channel_fini(&pair.ours);
}

UNIT_TEST(partition_channel)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_unread),
		cmocka_unit_test(test_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
