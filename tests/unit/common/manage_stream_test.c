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
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/array.h"
#include "common/manage_stream.h"
#include "common/wire/record.h"
#include "common/wire/record_hdr.h"
#include "tests/unit/alloc.h"
#include "tests/unit/refused_call.h"
#include "tests/unit/unit.h"

#define QUEUE_BYTES (2 * (sizeof(struct manage_hdr) + MANAGE_MAX_BODY))

struct ends {
	int fd[2];
	struct manage_stream a, b;
};

static int
setup(void **state)
{
	struct ends *ends = calloc(1, sizeof(*ends));

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends->fd), 0);
	assert_int_equal(manage_stream_init(&ends->a, ends->fd[0], QUEUE_BYTES), 0);
	assert_int_equal(manage_stream_init(&ends->b, ends->fd[1], QUEUE_BYTES), 0);
	*state = ends;
	return 0;
}

static int
teardown(void **state)
{
	struct ends *ends = *state;

	manage_stream_fini(&ends->a);
	manage_stream_fini(&ends->b);
	for (int i = 0; i < 2; i++)
		if (ends->fd[i] >= 0)
			close(ends->fd[i]);
	free(ends);
	return 0;
}

static void
messages_cross_in_order(void **state)
{
	struct ends *ends = *state;
	struct manage_hello hello = { .version = MANAGE_VERSION, .node = 3, .digest = 77, .device = "rxe0" }, seen;
	struct manage_message message;
	struct err err = { 0 };

	assert_int_equal(manage_stream_send(&ends->a, MANAGE_HELLO, &hello, sizeof(hello)), 0);
	assert_int_equal(manage_stream_send(&ends->a, MANAGE_CONNECT, NULL, 0), 0);
	assert_false(manage_stream_pending(&ends->a));
	assert_int_equal(manage_stream_take(&ends->b, &message, &err), 0);
	assert_int_equal(manage_stream_receive(&ends->b), 12 + sizeof(hello) + 12);
	assert_int_equal(manage_stream_take(&ends->b, &message, &err), 1);
	assert_int_equal(message.type, MANAGE_HELLO);
	memcpy(&seen, message.body, sizeof(seen));
	assert_memory_equal(&seen, &hello, sizeof(hello));
	assert_int_equal(manage_stream_take(&ends->b, &message, &err), 1);
	assert_int_equal(message.type, MANAGE_CONNECT);
	assert_int_equal(message.size, 0);
	assert_int_equal(manage_stream_take(&ends->b, &message, &err), 0);
	assert_int_equal(ends->a.sent_bytes, ends->b.received_bytes);
}

static void
any_portions_will_do(void **state)
{
	struct ends *ends = *state;
	struct manage_hdr hdr = { .magic = MANAGE_MAGIC, .type = MANAGE_STOP, .size = sizeof(struct manage_stop) };
	struct manage_stop stop = { .end_ps = 0x1122334455667788 };
	uint8_t bytes[sizeof(hdr) + sizeof(stop)];
	struct manage_message message;
	struct err err = { 0 };

	memcpy(bytes, &hdr, sizeof(hdr));
	memcpy(bytes + sizeof(hdr), &stop, sizeof(stop));
	for (size_t i = 0; i < sizeof(bytes); i++) {
		assert_int_equal(manage_stream_take(&ends->b, &message, &err), 0);
		assert_int_equal(write(ends->fd[0], &bytes[i], 1), 1);
		assert_int_equal(manage_stream_receive(&ends->b), 1);
	}
	assert_int_equal(manage_stream_take(&ends->b, &message, &err), 1);
	assert_memory_equal(message.body, &stop, sizeof(stop));
}

/* Without a reader the writer receives an error and is never held up; what was queued arrives whole once there is one. */
static void
a_full_queue_refuses_whole_messages(void **state)
{
	struct ends *ends = *state;
	struct rec_hdr record = { .type = REC_STEP, .size = sizeof(record) };
	uint8_t body[2400];
	struct manage_message message;
	struct err err = { 0 };
	uint32_t queued = 0, taken = 0;
	int rc = 0;

	for (size_t at = 0; at < sizeof(body); at += sizeof(record), record.seq++)
		memcpy(body + at, &record, sizeof(record));
	for (int i = 0; i < 100000 && rc == 0; i++) {
		rc = manage_stream_send(&ends->a, MANAGE_RECORDS, body, sizeof(body));
		queued += rc == 0;
	}
	assert_int_equal(rc, -ENOSPC);
	assert_int_equal(ends->a.refused, 1);
	assert_true(manage_stream_pending(&ends->a));
	while (taken < queued) {
		assert_true(manage_stream_receive(&ends->b) > 0);
		assert_true(manage_stream_flush(&ends->a) >= 0);
		while (manage_stream_take(&ends->b, &message, &err) == 1) {
			assert_int_equal(message.size, sizeof(body));
			assert_memory_equal(message.body, body, sizeof(body));
			taken++;
		}
	}
	assert_false(manage_stream_pending(&ends->a));
	assert_int_equal(manage_stream_receive(&ends->b), 0);
	assert_false(ends->b.closed);
}

/* The queue's free part is behind what is queued and before it: messages still go in as long as both have room. */
static void
a_queue_moves_up(void **state)
{
	struct ends *ends = *state;
	struct rec_hdr record = { .type = REC_STEP, .size = sizeof(record) };
	uint8_t *body = calloc(1, MANAGE_MAX_BODY / 2);
	struct manage_message message;
	struct err err = { 0 };
	uint32_t queued = 0, taken = 0;

	record.size = MANAGE_MAX_BODY / 2;
	memcpy(body, &record, sizeof(record));
	for (int round = 0; round < 50; round++) {
		while (manage_stream_send(&ends->a, MANAGE_RECORDS, body, MANAGE_MAX_BODY / 2) == 0)
			queued++;
		assert_true(manage_stream_receive(&ends->b) >= 0);
		while (manage_stream_take(&ends->b, &message, &err) == 1)
			taken++;
		assert_true(manage_stream_flush(&ends->a) >= 0);
	}
	while (taken < queued) {
		assert_true(manage_stream_flush(&ends->a) >= 0);
		assert_true(manage_stream_receive(&ends->b) > 0);
		while (manage_stream_take(&ends->b, &message, &err) == 1) {
			assert_memory_equal(message.body, body, MANAGE_MAX_BODY / 2);
			taken++;
		}
	}
	free(body);
}

/* A serial line takes every byte as it is. */
static void
a_terminal_is_raw(void **state)
{
	const struct manage_stop stop = { .end_ps = 0x03040a0d11131a1c };
	struct manage_message message;
	struct manage_stream line;
	struct err err = { 0 };
	struct manage_hdr hdr = { .magic = MANAGE_MAGIC, .type = MANAGE_STOP, .size = sizeof(stop) };
	int master = posix_openpt(O_RDWR | O_NOCTTY), end;

	(void)state;
	assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
	end = open(ptsname(master), O_RDWR | O_NOCTTY);
	assert_true(end >= 0);
	assert_int_equal(manage_stream_init(&line, end, QUEUE_BYTES), 0);
	assert_int_equal(write(master, &hdr, sizeof(hdr)), sizeof(hdr));
	assert_int_equal(write(master, &stop, sizeof(stop)), sizeof(stop));
	while (manage_stream_take(&line, &message, &err) == 0)
		assert_true(manage_stream_receive(&line) >= 0);
	assert_memory_equal(message.body, &stop, sizeof(stop));
	assert_int_equal(manage_stream_send(&line, MANAGE_STOP, &stop, sizeof(stop)), 0);
	manage_stream_fini(&line);
	close(end);
	close(master);
	assert_int_equal(manage_stream_init(&line, -1, QUEUE_BYTES), -EBADF);
}

static void
a_closed_file_is_an_error(void **state)
{
	struct ends *ends = *state;

	ends->a.fd = -1;
	assert_int_equal(manage_stream_receive(&ends->a), -EBADF);
	assert_int_equal(manage_stream_send(&ends->a, MANAGE_CONNECT, NULL, 0), -EBADF);
	assert_false(ends->a.closed);
}

struct attempt {
	struct manage_stream *stream;
	int fd, rc;
};

static void
begin_stream(void *arg)
{
	struct attempt *attempt = arg;

	attempt->rc = manage_stream_init(attempt->stream, attempt->fd, QUEUE_BYTES);
}

static void
receive_once(void *arg)
{
	((struct attempt *)arg)->rc = manage_stream_receive(((struct attempt *)arg)->stream);
}

static void
send_once(void *arg)
{
	((struct attempt *)arg)->rc = manage_stream_send(((struct attempt *)arg)->stream, MANAGE_CONNECT, NULL, 0);
}

/* Without a line that can be set up there is no stream, and nothing of it to free. */
static void
what_cannot_be_set_up_is_an_error(void **state)
{
	struct ends *ends = *state;
	struct manage_stream stream = { 0 };
	struct attempt attempt = { .stream = &stream, .fd = ends->fd[0] };
	int master = posix_openpt(O_RDWR | O_NOCTTY);

	WITHOUT_CALL_OF(SYS_fcntl, F_SETFL, EPERM, begin_stream, &attempt);
	assert_int_equal(attempt.rc, -EPERM);
	assert_null(stream.in);
	attempt.fd = master;
	assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
	WITHOUT_CALL_OF(SYS_ioctl, TCSETS, EIO, begin_stream, &attempt);
	assert_int_equal(attempt.rc, -EIO);
	assert_null(stream.in);
	close(master);
}

/* A signal interrupts neither: nothing is lost, and nothing is at an end; a line that hangs up is one. */
static void
interruptions_are_no_ends(void **state)
{
	struct ends *ends = *state;
	struct attempt a = { .stream = &ends->a }, b = { .stream = &ends->b };
	struct manage_message message;
	struct err err = { 0 };

	WITHOUT_CALL(SYS_sendto, EINTR, send_once, &a);
	assert_int_equal(a.rc, 0);
	assert_true(manage_stream_pending(&ends->a));
	assert_int_equal(manage_stream_flush(&ends->a), 0);
	WITHOUT_CALL(SYS_read, EINTR, receive_once, &b);
	assert_int_equal(b.rc, 0);
	assert_false(ends->b.closed);
	assert_true(manage_stream_receive(&ends->b) > 0);
	assert_int_equal(manage_stream_take(&ends->b, &message, &err), 1);
	WITHOUT_CALL(SYS_sendto, ENOBUFS, send_once, &a);
	assert_int_equal(a.rc, -ENOBUFS);
	assert_false(ends->a.closed);
	WITHOUT_CALL(SYS_sendto, EIO, send_once, &a);
	assert_int_equal(a.rc, -EPIPE);
	assert_true(ends->a.closed);
	WITHOUT_CALL(SYS_sendto, ECONNRESET, send_once, &a);
	assert_int_equal(a.rc, -EPIPE);
	WITHOUT_CALL(SYS_read, EIO, receive_once, &b);
	assert_int_equal(b.rc, 0);
	assert_true(ends->b.closed);
}

static void
the_largest_message_fits(void **state)
{
	struct ends *ends = *state;
	uint8_t *body = calloc(1, MANAGE_MAX_BODY);
	struct rec_hdr record = { .type = REC_STEP, .size = 32768 };
	struct manage_message message = { 0 };
	struct err err = { 0 };

	memcpy(body, &record, sizeof(record));
	memcpy(body + 32768, &record, sizeof(record));
	for (int i = 0; i < 3; i++) {
		assert_int_equal(manage_stream_send(&ends->a, MANAGE_RECORDS, body, MANAGE_MAX_BODY), 0);
		while (manage_stream_take(&ends->b, &message, &err) == 0) {
			assert_true(manage_stream_flush(&ends->a) >= 0);
			assert_true(manage_stream_receive(&ends->b) > 0);
		}
		assert_int_equal(message.size, MANAGE_MAX_BODY);
	}
	free(body);
}

/* Without memory a stream is not begun, and nothing of it is left. */
static void
memory_is_needed(void **state)
{
	struct ends *ends = *state;
	struct manage_stream stream;

	FOR_EACH_REFUSED(nth)
	{
		int rc = manage_stream_init(&stream, ends->fd[0], QUEUE_BYTES);
		bool was = alloc_was_refused();

		assert_int_equal(rc, was ? -ENOMEM : 0);
		assert_true(!was || (stream.in == NULL && stream.out == NULL));
		if (!was)
			break;
	}
	manage_stream_fini(&stream);
}

/* A reset that loses what was sent is an end, as a close is; a descriptor that cannot be read at all is an error. */
static void
a_reset_is_an_end(void **state)
{
	struct ends *ends = *state;

	assert_int_equal(manage_stream_send(&ends->a, MANAGE_CONNECT, NULL, 0), 0);
	assert_int_equal(manage_stream_send(&ends->b, MANAGE_CONNECT, NULL, 0), 0);
	close(ends->fd[0]); /* with an unread message: the other end reads ECONNRESET */
	ends->fd[0] = -1;
	assert_int_equal(manage_stream_receive(&ends->b), 12);
	assert_int_equal(manage_stream_receive(&ends->b), 0);
	assert_true(ends->b.closed);
	assert_int_equal(manage_stream_receive(&ends->b), 0); /* and stays one */
}

/* A message that is larger than what has room waits in the buffer until it is taken. */
static void
a_full_buffer_reads_no_more(void **state)
{
	struct ends *ends = *state;
	uint8_t *body = calloc(1, MANAGE_MAX_BODY);
	struct manage_hdr hdr = { .magic = MANAGE_MAGIC, .type = MANAGE_PINGMESH, .size = MANAGE_MAX_BODY };
	struct manage_message message;
	struct err err = { 0 };

	assert_int_equal(write(ends->fd[0], &hdr, sizeof(hdr)), sizeof(hdr));
	for (size_t put = 0; put < MANAGE_MAX_BODY + 100;) {
		ssize_t wrote = send(ends->fd[0], body, put < MANAGE_MAX_BODY ? MANAGE_MAX_BODY - put : 100, MSG_DONTWAIT);

		put += wrote > 0 ? (size_t)wrote : 0;
		assert_true(manage_stream_receive(&ends->b) >= 0);
	}
	while (manage_stream_receive(&ends->b) > 0)
		;
	assert_int_equal(ends->b.in_used, sizeof(hdr) + MANAGE_MAX_BODY);
	assert_int_equal(manage_stream_take(&ends->b, &message, &err), 1);
	assert_int_equal(message.size, MANAGE_MAX_BODY);
	assert_int_equal(manage_stream_receive(&ends->b), 100);
	free(body);
}

static void
refuse(struct ends *ends, struct manage_hdr hdr, const void *body, size_t size, const char *why)
{
	struct manage_message message;
	struct err err = { 0 };

	ends->b.in_used = ends->b.in_taken = 0;
	assert_int_equal(write(ends->fd[0], &hdr, sizeof(hdr)), sizeof(hdr));
	if (size != 0)
		assert_int_equal(write(ends->fd[0], body, size), size);
	assert_int_equal(manage_stream_receive(&ends->b), sizeof(hdr) + size);
	assert_int_equal(manage_stream_take(&ends->b, &message, &err), -EPROTO);
	assert_non_null(strstr(err.text, why));
}

static void
what_is_no_message_is_refused(void **state)
{
	struct rec_hdr record = { .type = REC_STEP, .size = sizeof(record) };
	uint8_t cut[sizeof(record) + 8] = { 0 };

	memcpy(cut, &record, sizeof(record));
	refuse(*state, (struct manage_hdr){ 0x6b6c6d6e, MANAGE_STOP, 0, 8 }, NULL, 0, "something else");
	refuse(*state, (struct manage_hdr){ MANAGE_MAGIC, 99, 0, 8 }, NULL, 0, "type 99");
	refuse(*state, (struct manage_hdr){ MANAGE_MAGIC, MANAGE_STOP, 7, 8 }, NULL, 0, "is 7, not 0");
	refuse(*state, (struct manage_hdr){ MANAGE_MAGIC, MANAGE_STOP, 0, 9 }, NULL, 0, "8 would be right");
	refuse(*state, (struct manage_hdr){ MANAGE_MAGIC, MANAGE_RECORDS, 0, MANAGE_MAX_BODY + 8 }, NULL, 0, "at most");
	refuse(*state, (struct manage_hdr){ MANAGE_MAGIC, MANAGE_RECORDS, 0, sizeof(cut) }, cut, sizeof(cut), "within");
	record.size = 28; /* no multiple of 8 */
	memcpy(cut, &record, sizeof(record));
	refuse(*state, (struct manage_hdr){ MANAGE_MAGIC, MANAGE_RECORDS, 0, sizeof(cut) }, cut, sizeof(cut), "within");
	record.size = 64; /* beyond the message */
	memcpy(cut, &record, sizeof(record));
	refuse(*state, (struct manage_hdr){ MANAGE_MAGIC, MANAGE_RECORDS, 0, sizeof(cut) }, cut, sizeof(cut), "within");
	record.size = 4;
	refuse(*state, (struct manage_hdr){ MANAGE_MAGIC, MANAGE_RECORDS, 0, sizeof(record) }, &record, sizeof(record),
	       "within");
}

static void
what_was_sent_before_the_close_is_taken(void **state)
{
	struct ends *ends = *state;
	struct manage_failed failed = { .text = "no RDMA device" };
	struct manage_message message;
	struct err err = { 0 };

	assert_int_equal(manage_stream_send(&ends->a, MANAGE_FAILED, &failed, sizeof(failed)), 0);
	close(ends->fd[0]);
	ends->fd[0] = -1;
	assert_true(manage_stream_receive(&ends->b) > 0);
	assert_false(ends->b.closed);
	assert_int_equal(manage_stream_take(&ends->b, &message, &err), 1);
	assert_int_equal(manage_stream_receive(&ends->b), 0);
	assert_true(ends->b.closed);
	assert_int_equal(manage_stream_send(&ends->b, MANAGE_CONNECT, NULL, 0), -EPIPE);
}

/* Each type has the size of its body, and one of no type is none. */
static void
each_type_has_its_size(void **state)
{
	static const struct {
		uint16_t type;
		uint32_t size; /* 1: any */
	} types[] = {
		{ MANAGE_HELLO, sizeof(struct manage_hello) },
		{ MANAGE_TIME, sizeof(struct manage_time) },
		{ MANAGE_CONNECT, 0 },
		{ MANAGE_CONNECTED, sizeof(struct manage_connected) },
		{ MANAGE_START, sizeof(struct manage_start) },
		{ MANAGE_PROGRESS, sizeof(struct manage_progress) },
		{ MANAGE_STOP, sizeof(struct manage_stop) },
		{ MANAGE_STEP, sizeof(struct manage_step) },
		{ MANAGE_ITERATION, sizeof(struct manage_iteration) },
		{ MANAGE_RESULT, sizeof(struct manage_result) },
		{ MANAGE_FAILED, sizeof(struct manage_failed) },
		{ MANAGE_QP_ERROR, sizeof(struct manage_failed) },
		{ MANAGE_QP, sizeof(struct manage_qp) },
		{ MANAGE_PINGMESH, 1 },
		{ MANAGE_FLOWS, 1 },
		{ MANAGE_COUNTER, sizeof(struct manage_counter) },
	};
	static const uint8_t body[MANAGE_MAX_BODY];
	struct manage_message message;

	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		struct ends *ends = *state;
		struct err err = { 0 };

		assert_int_equal(manage_stream_send(&ends->a, types[i].type, body, types[i].size), 0);
		assert_true(manage_stream_receive(&ends->b) > 0);
		if (manage_stream_take(&ends->b, &message, &err) != 1)
			fail_msg("type %u: %s", types[i].type, err.text);
		assert_int_equal(message.size, types[i].size);
	}
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (types[i].size != 1)
			refuse(*state, (struct manage_hdr){ MANAGE_MAGIC, types[i].type, 0, types[i].size + 1 }, NULL, 0,
			       "would be right");
}

UNIT_TEST(manage_stream)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(messages_cross_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(any_portions_will_do, setup, teardown),
		cmocka_unit_test_setup_teardown(a_full_queue_refuses_whole_messages, setup, teardown),
		cmocka_unit_test_setup_teardown(a_queue_moves_up, setup, teardown),
		cmocka_unit_test_setup_teardown(a_terminal_is_raw, setup, teardown),
		cmocka_unit_test_setup_teardown(what_cannot_be_set_up_is_an_error, setup, teardown),
		cmocka_unit_test_setup_teardown(interruptions_are_no_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(a_closed_file_is_an_error, setup, teardown),
		cmocka_unit_test_setup_teardown(the_largest_message_fits, setup, teardown),
		cmocka_unit_test_setup_teardown(memory_is_needed, setup, teardown),
		cmocka_unit_test_setup_teardown(a_reset_is_an_end, setup, teardown),
		cmocka_unit_test_setup_teardown(a_full_buffer_reads_no_more, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_no_message_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(each_type_has_its_size, setup, teardown),
		cmocka_unit_test_setup_teardown(what_was_sent_before_the_close_is_taken, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
