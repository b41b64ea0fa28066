/* SPDX-License-Identifier: BSD-3-Clause */
/* The supervisor's share of a command channel, between a guest and programs that are this test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/array.h"
#include "rxe-hosts/guest/supervisor.h"
#include "tests/unit/unit.h"

static struct sessions sessions;
static struct frame_in from_supervisor, from_guest;
static int guest; /* the guest's end */
static struct sockaddr_un at;

static void
turn(void)
{
	struct pollfd fds[SESSIONS_MAX_FDS];

	for (int i = 0; i < 20; i++) {
		sessions_poll(&sessions, fds);
		if (poll(fds, SESSIONS_MAX_FDS, 0) <= 0)
			return;
		assert_int_equal(sessions_move(&sessions, fds), 0);
	}
}

static void
send_message(int fd, enum guest_frame_type type, uint8_t session, const void *payload, size_t size)
{
	struct frame_out out = { 0 };

	assert_int_equal(frame_put(&out, type, session, payload, size), 0);
	assert_int_equal(frame_flush(&out, fd), 0);
	assert_int_equal(frame_pending(&out), 0);
	frame_out_fini(&out);
	turn();
}

static void
receive(struct frame_in *in, int fd, enum guest_frame_type type, uint8_t session, const void *payload, size_t size)
{
	struct guest_frame frame;
	const uint8_t *got;

	turn();
	if (frame_next(in, &frame, &got) == 0) {
		assert_int_equal(frame_fill(in, fd), 1);
		assert_int_equal(frame_next(in, &frame, &got), 1);
	}
	assert_int_equal(frame.type, type);
	assert_int_equal(frame.session, session);
	assert_int_equal(frame.size, size);
	assert_memory_equal(got, payload, size);
}

static void
receive_nothing(struct frame_in *in, int fd)
{
	struct guest_frame frame;
	const uint8_t *got;

	turn();
	frame_fill(in, fd);
	assert_int_equal(frame_next(in, &frame, &got), 0);
}

static int
connect_program(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	turn();
	memset(&from_supervisor, 0, sizeof(from_supervisor));
	return fd;
}

static int
setup(void **state)
{
	struct guest_hello hello = { .magic = GUEST_MAGIC, .gid_index = 1 };
	int ends[2];

	memset(&sessions, 0, sizeof(sessions));
	memset(&from_guest, 0, sizeof(from_guest));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
	sessions.guest = ends[0];
	guest = ends[1];
	at = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1, "rocelab-sessions-test-%d", (int)getpid());
	sessions.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(sessions.listener, (const struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(sessions.listener, 8), 0);
	sessions.log = open("/dev/null", O_WRONLY);
	send_message(guest, GUEST_HELLO, 0, &hello, sizeof(hello));
	assert_true(sessions.hello);
	return 0;
}

static int
teardown(void **state)
{
	close(sessions.guest);
	close(sessions.listener);
	close(sessions.log);
	close(guest);
	sessions_fini(&sessions);
	return 0;
}

static void
programs_have_sessions_of_their_own(void **state)
{
	struct guest_exit status = { .status = 7 };
	int one = connect_program(), two = connect_program();

	send_message(one, GUEST_RUN, 0, "one", 3);
	receive(&from_guest, guest, GUEST_RUN, 2, "one", 3);
	send_message(two, GUEST_RUN, 0, "two", 3);
	receive(&from_guest, guest, GUEST_RUN, 3, "two", 3);
	send_message(guest, GUEST_STDOUT, 3, "said", 4);
	receive(&from_supervisor, two, GUEST_STDOUT, 0, "said", 4);
	receive_nothing(&from_supervisor, one);
	send_message(guest, GUEST_EXIT, 2, &status, sizeof(status));
	receive(&from_supervisor, one, GUEST_EXIT, 0, &status, sizeof(status));
	close(one);
	close(two);
}

static void
a_program_that_leaves_ends_its_command(void **state)
{
	struct guest_exit status = { .status = 137 };
	int one = connect_program(), two;

	send_message(one, GUEST_RUN, 0, "one", 3);
	receive(&from_guest, guest, GUEST_RUN, 2, "one", 3);
	close(one);
	receive(&from_guest, guest, GUEST_HANGUP, 2, "", 0);
	/* Its session is another's only when the guest is through with it. */
	two = connect_program();
	send_message(two, GUEST_RUN, 0, "two", 3);
	receive(&from_guest, guest, GUEST_RUN, 3, "two", 3);
	send_message(guest, GUEST_EXIT, 2, &status, sizeof(status));
	one = connect_program();
	send_message(one, GUEST_RUN, 0, "three", 5);
	receive(&from_guest, guest, GUEST_RUN, 2, "three", 5);
	close(one);
	close(two);
}

static void
input_behind_the_end_is_dropped(void **state)
{
	struct guest_exit status = { .status = 0 };
	int one = connect_program();

	send_message(one, GUEST_RUN, 0, "one", 3);
	receive(&from_guest, guest, GUEST_RUN, 2, "one", 3);
	send_message(guest, GUEST_EXIT, 2, &status, sizeof(status));
	send_message(one, GUEST_STDIN, 0, "late", 4);
	receive_nothing(&from_guest, guest);
	receive(&from_supervisor, one, GUEST_EXIT, 0, &status, sizeof(status));
	close(one);
}

static void
who_does_not_keep_to_it_is_cut_off(void **state)
{
	static const enum guest_frame_type forbidden[] = { GUEST_HELLO, GUEST_EXIT, GUEST_HANGUP, GUEST_POWEROFF };
	char byte;

	for (size_t i = 0; i < ARRAY_LEN(forbidden); i++) {
		int one = connect_program();

		send_message(one, forbidden[i], 0, "", 0);
		receive_nothing(&from_guest, guest);
		assert_int_equal(recv(one, &byte, 1, 0), 0);
		close(one);
	}
}

/* Credit without bounds fills no memory but its own window's. */
static void
who_does_not_read_is_cut_off(void **state)
{
	static const uint8_t payload[GUEST_MAX_PAYLOAD];
	int one = connect_program(), sent = 0;

	send_message(one, GUEST_RUN, 0, "one", 3);
	receive(&from_guest, guest, GUEST_RUN, 2, "one", 3);
	while (sessions.peers[2].fd >= 0 && sent < 1000) {
		send_message(guest, GUEST_STDOUT, 2, payload, sizeof(payload));
		sent++;
	}
	assert_true(sent > GUEST_WINDOW_BYTES / GUEST_MAX_PAYLOAD);
	assert_true(sent < 2 * FRAME_OUT_MAX / GUEST_MAX_PAYLOAD);
	receive(&from_guest, guest, GUEST_HANGUP, 2, "", 0);
	close(one);
}

static void
more_programs_than_sessions(void **state)
{
	int fds[GUEST_MAX_SESSIONS], last = -1;
	char byte;

	for (int i = SESSIONS_PROGRAM + 1; i < GUEST_MAX_SESSIONS; i++)
		fds[i] = connect_program();
	last = connect_program();
	assert_int_equal(recv(last, &byte, 1, 0), 0);
	close(last);
	for (int i = SESSIONS_PROGRAM + 1; i < GUEST_MAX_SESSIONS; i++)
		close(fds[i]);
	turn();
	last = connect_program();
	assert_int_equal(recv(last, &byte, 1, 0), -1);
	assert_int_equal(errno, EAGAIN);
	close(last);
}

static void
program_runs_and_is_read(void **state)
{
	static const char *const argv[] = { "prog", "an argument", NULL };
	struct guest_run run = { .flags = GUEST_RUN_MANAGE };
	struct guest_credit credit = { .bytes = 5 };
	struct guest_exit status = { .status = 9 };
	char dir[512], wanted[1024];
	size_t size = sizeof(run);

	assert_non_null(getcwd(dir, sizeof(dir)));
	memcpy(wanted, &run, sizeof(run));
	size += (size_t)sprintf(wanted + size, "%c%s%cprog%can argument", 0, dir, 0, 0) + 1;
	assert_int_equal(sessions_start_program(&sessions, argv, true), 0);
	turn();
	receive(&from_guest, guest, GUEST_RUN, SESSIONS_PROGRAM, wanted, size);
	receive(&from_guest, guest, GUEST_STDIN, SESSIONS_PROGRAM, "", 0);
	send_message(guest, GUEST_STDERR, SESSIONS_PROGRAM, "hello", 5);
	receive(&from_guest, guest, GUEST_CREDIT, SESSIONS_PROGRAM, &credit, sizeof(credit));
	assert_false(sessions.program_ended);
	send_message(guest, GUEST_EXIT, SESSIONS_PROGRAM, &status, sizeof(status));
	assert_true(sessions.program_ended);
	assert_int_equal(sessions.program_status, 9);
}

static void
a_full_disk_costs_words_alone(void **state)
{
	static const char *const argv[] = { "prog", NULL };
	struct guest_credit credit = { .bytes = 5 };
	struct guest_frame frame;
	const uint8_t *got;
	char log[256] = "";
	int ends[2];

	assert_int_equal(sessions_start_program(&sessions, argv, false), 0);
	turn();
	assert_int_equal(frame_fill(&from_guest, guest), 1);
	while (frame_next(&from_guest, &frame, &got) > 0) /* that the program is to run */
		continue;
	close(sessions.log);
	sessions.log = open("/dev/full", O_WRONLY);
	for (int i = 0; i < 3; i++) {
		send_message(guest, GUEST_STDOUT, SESSIONS_PROGRAM, "hello", 5);
		receive(&from_guest, guest, GUEST_CREDIT, SESSIONS_PROGRAM, &credit, sizeof(credit));
	}
	close(sessions.log);
	assert_int_equal(pipe(ends), 0);
	sessions.log = ends[1];
	send_message(guest, GUEST_STDOUT, SESSIONS_PROGRAM, "again", 5);
	assert_true(read(ends[0], log, sizeof(log) - 1) > 0);
	assert_string_equal(log, "\n[15 bytes are missing here: there was no room]\nagain");
	close(ends[0]);
}

static void
another_protocol_ends_it(void **state)
{
	struct pollfd fds[SESSIONS_MAX_FDS];
	static const uint8_t nonsense[] = "Kernel panic - not syncing";

	assert_int_equal(write(guest, nonsense, sizeof(nonsense)), sizeof(nonsense));
	sessions_poll(&sessions, fds);
	assert_true(poll(fds, SESSIONS_MAX_FDS, 0) > 0);
	assert_int_equal(sessions_move(&sessions, fds), -EPROTO);
}

UNIT_TEST(guest_sessions)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(programs_have_sessions_of_their_own, setup, teardown),
		cmocka_unit_test_setup_teardown(a_program_that_leaves_ends_its_command, setup, teardown),
		cmocka_unit_test_setup_teardown(input_behind_the_end_is_dropped, setup, teardown),
		cmocka_unit_test_setup_teardown(who_does_not_keep_to_it_is_cut_off, setup, teardown),
		cmocka_unit_test_setup_teardown(who_does_not_read_is_cut_off, setup, teardown),
		cmocka_unit_test_setup_teardown(more_programs_than_sessions, setup, teardown),
		cmocka_unit_test_setup_teardown(program_runs_and_is_read, setup, teardown),
		cmocka_unit_test_setup_teardown(a_full_disk_costs_words_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(another_protocol_ends_it, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
