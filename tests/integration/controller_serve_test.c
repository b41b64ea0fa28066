/* SPDX-License-Identifier: BSD-3-Clause */
/* R-Pingmesh's controller on its socket: agents, and what is none. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "common/unix_socket.h"
#include "operator/controller/controller.h"
#include "tests/integration/controller_rig.h"
#include "tests/unit/alloc.h"
#include "tests/unit/refused_call.h"
#include "tests/unit/unit.h"

static volatile int over;

static int
is_over(void)
{
	return over;
}

static uint64_t
at_begin(void)
{
	return 0;
}

struct served {
	struct serve_config config;
	struct serve_counts counts;
	struct err err;
	struct rusage used; /* by its thread */
	int rc;
};

static void *
serve_thread(void *arg)
{
	struct served *served = arg;

	served->rc = serve(&served->config, &served->counts, &served->err);
	getrusage(RUSAGE_THREAD, &served->used);
	return NULL;
}

static void
read_all(int fd, void *to, size_t size)
{
	for (size_t at = 0; at < size;) {
		ssize_t got = read(fd, (uint8_t *)to + at, size - at);

		assert_true(got > 0);
		at += (size_t)got;
	}
}

static uint16_t
read_reply(int fd)
{
	struct pingmesh_hdr hdr;
	uint8_t body[4096];

	read_all(fd, &hdr, sizeof(hdr));
	assert_int_equal(hdr.magic, PINGMESH_MAGIC);
	assert_true(hdr.size <= sizeof(body));
	read_all(fd, body, hdr.size);
	return hdr.type;
}

static void
agents_are_served_over_a_socket(void **state)
{
	struct rig *rig = *state;
	struct served served = {
		.config = { .controller = rig->controller, .now_ps = at_begin, .idle_limit_ms = 300, .is_over = is_over }
	};
	struct unix_listener listener;
	struct err err = { "" };
	struct message m, both[2];
	int fd, slow, garbage;
	pthread_t thread;
	size_t size;
	char byte;

	over = 0;
	assert_int_equal(unix_listen(&listener, rig->socket, &err), 0);
	served.config.listener = listener.fd;
	assert_int_equal(pthread_create(&thread, NULL, serve_thread, &served), 0);
	fd = unix_connect(rig->socket, "controller", &err);
	slow = unix_connect(rig->socket, "controller", &err);
	garbage = unix_connect(rig->socket, "controller", &err);
	size = make_register(rig, &m, 0, 77);
	assert_int_equal(write(slow, &m, size - 1), size - 1);
	assert_int_equal(write(garbage, "GET / HTTP/1.1\r\n\r\n", 18), 18);
	assert_int_equal(read(garbage, &byte, 1), 0); /* closed */
	for (size_t i = 0; i < size; i++)             /* in portions of a byte */
		assert_int_equal(write(fd, (uint8_t *)&m + i, 1), 1);
	assert_int_equal(read_reply(fd), PINGMESH_REGISTERED);
	size = make_pinglists(rig, &both[0], 1); /* two at once */
	memcpy((uint8_t *)both + size, both, size);
	assert_int_equal(write(fd, both, 2 * size), 2 * size);
	assert_int_equal(read_reply(fd), PINGMESH_ENTRIES);
	assert_int_equal(read_reply(fd), PINGMESH_ENTRIES);
	both[0].hdr.version = 2;
	assert_int_equal(write(fd, both, size), size);
	assert_int_equal(read_reply(fd), PINGMESH_REFUSED);
	assert_int_equal(read(slow, &byte, 1), 0); /* half a request is not waited for */
	over = 1;
	pthread_join(thread, NULL);
	assert_int_equal(served.rc, 0);
	assert_int_equal(served.counts.peers, 3);
	assert_int_equal(served.counts.requests, 4);
	assert_int_equal(served.counts.refused, 1);
	assert_int_equal(served.counts.malformed, 1);
	assert_int_equal(served.counts.gave_up, 1);
	close(fd);
	close(slow);
	close(garbage);
	unix_listener_close(&listener);
}

/* Whom there is no descriptor for waits, and does not keep the controller busy. */
static void
without_descriptors_it_rests(void **state)
{
	struct rig *rig = *state;
	struct served served = {
		.config = { .controller = rig->controller, .now_ps = at_begin, .idle_limit_ms = 10000, .is_over = is_over }
	};
	struct unix_listener listener;
	struct err err = { "" };
	struct rlimit before, few;
	struct message m;
	pthread_t thread;
	size_t size;
	int fd;

	over = 0;
	assert_int_equal(unix_listen(&listener, rig->socket, &err), 0);
	served.config.listener = listener.fd;
	fd = unix_connect(rig->socket, "controller", &err);
	assert_true(fd >= 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){ (rlim_t)fd + 1, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(pthread_create(&thread, NULL, serve_thread, &served), 0);
	poll(NULL, 0, 500);
	assert_int_equal(served.counts.peers, 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	size = make_register(rig, &m, 0, 77);
	assert_int_equal(write(fd, &m, size), size);
	assert_int_equal(read_reply(fd), PINGMESH_REGISTERED);
	over = 1;
	pthread_join(thread, NULL);
	assert_int_equal(served.rc, 0);
	assert_true(served.used.ru_utime.tv_sec + served.used.ru_stime.tv_sec == 0);
	assert_true(served.used.ru_utime.tv_usec + served.used.ru_stime.tv_usec < 20000);
	close(fd);
	unix_listener_close(&listener);
}

/* What agents do between two waits of a controller that is served in this thread. */
static struct script {
	struct rig *rig;
	void (*step)(struct script *script, uint32_t round); /* sets .over */
	struct serve_config config;
	struct serve_counts counts;
	uint32_t round;
	int fds[SERVE_MAX_PEERS + 1];
	bool over;
} script;

static int
play(void)
{
	script.step(&script, script.round++);
	return script.over;
}

static int
dial(void)
{
	struct err err = { "" };
	int fd = unix_connect(script.rig->socket, "controller", &err);

	if (fd < 0)
		fail_msg("%s", err.text);
	return fd;
}

/* @return what serve() returned */
static int
run_script(struct rig *rig, void (*step)(struct script *script, uint32_t round), uint32_t idle_limit_ms, struct err *err)
{
	struct unix_listener listener;
	int rc;

	script = (struct script){ .rig = rig, .step = step };
	assert_int_equal(unix_listen(&listener, rig->socket, err), 0);
	assert_int_equal(listen(listener.fd, SOMAXCONN), 0);
	script.config = (struct serve_config){ .controller = rig->controller,
					       .listener = listener.fd,
					       .now_ps = at_begin,
					       .idle_limit_ms = idle_limit_ms,
					       .is_over = play };
	rc = serve(&script.config, &script.counts, err);
	unix_listener_close(&listener);
	return rc;
}

/* One connection too many is closed, the others stay. */
static void
one_too_many_steps(struct script *s, uint32_t round)
{
	struct message m;
	size_t size = make_register(s->rig, &m, 0, 77);
	char byte;

	if (round == 0) {
		for (uint32_t i = 0; i <= SERVE_MAX_PEERS; i++)
			s->fds[i] = dial();
		return;
	}
	if (round == 1)
		assert_int_equal(write(s->fds[SERVE_MAX_PEERS - 1], &m, size), size);
	s->over = s->counts.requests == 1 && s->counts.turned_away == 1;
	if (!s->over)
		return;
	assert_int_equal(read_reply(s->fds[SERVE_MAX_PEERS - 1]), PINGMESH_REGISTERED);
	assert_int_equal(read(s->fds[SERVE_MAX_PEERS], &byte, 1), 0);
	for (uint32_t i = 0; i <= SERVE_MAX_PEERS; i++)
		close(s->fds[i]);
}

static void
one_agent_too_many_is_turned_away(void **state)
{
	struct err err = { "" };

	assert_int_equal(run_script(*state, one_too_many_steps, 10000, &err), 0);
	assert_int_equal(script.counts.peers, SERVE_MAX_PEERS);
	assert_int_equal(script.counts.gave_up, 0);
}

#define ASKED 2000u

/* Asks for more than its socket holds replies of, and reads them later. */
static void
slow_reader_steps(struct script *s, uint32_t round)
{
	struct message m;
	size_t size = make_pinglists(s->rig, &m, 0);
	static uint32_t asked, read_back;

	if (round == 0) {
		s->fds[0] = dial();
		asked = read_back = 0;
	}
	for (; asked < ASKED && send(s->fds[0], &m, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size; asked++)
		continue;
	if (round < 4)
		return;
	for (char byte; recv(s->fds[0], &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1; read_back++)
		assert_int_equal(read_reply(s->fds[0]), PINGMESH_ENTRIES);
	s->over = read_back == ASKED;
	if (s->over)
		close(s->fds[0]);
}

static void
a_slow_reader_gets_all_replies(void **state)
{
	struct err err = { "" };

	register_all(*state);
	assert_int_equal(run_script(*state, slow_reader_steps, 10000, &err), 0);
	assert_int_equal(script.counts.requests, ASKED);
	assert_int_equal(script.counts.gave_up, 0);
}

/* One takes no replies, one leaves within a request, one before its reply, and for one there is no memory. */
static void
leaving_steps(struct script *s, uint32_t round)
{
	struct message m;
	size_t size = make_pinglists(s->rig, &m, 0);

	if (round == 0) {
		s->fds[0] = dial();
		while (send(s->fds[0], &m, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size)
			continue;
		s->fds[1] = dial();
		assert_int_equal(write(s->fds[1], &m, size - 1), size - 1);
		close(s->fds[1]);
		s->fds[2] = dial();
		assert_int_equal(write(s->fds[2], &m, size), size);
		close(s->fds[2]);
		close(dial()); /* with nothing asked: no more than that */
	}
	while (round != 0 && send(s->fds[0], &m, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size)
		continue;
	s->over = s->counts.gave_up == 3;
	if (s->over)
		close(s->fds[0]);
}

static void
agents_that_leave_or_take_nothing_are_counted(void **state)
{
	struct err err = { "" };

	register_all(*state);
	assert_int_equal(run_script(*state, leaving_steps, 100, &err), 0);
	assert_int_equal(script.counts.peers, 4);
	assert_int_equal(script.counts.malformed, 0);
}

/* A connection with nothing to read, whatever poll() said of it, stays one. */
static void
nothing_to_read_steps(struct script *s, uint32_t round)
{
	if (round == 0) {
		s->fds[0] = dial();
		assert_int_equal(write(s->fds[0], "x", 1), 1);
	}
	s->over = round == 5;
}

static void
serve_script(void *arg)
{
	struct err err = { "" };

	*(int *)arg = serve(&script.config, &script.counts, &err);
}

static void
nothing_to_read_is_no_end(void **state)
{
	struct unix_listener listener;
	struct err err = { "" };
	struct rig *rig = *state;
	int rc = -1;

	script = (struct script){ .rig = rig, .step = nothing_to_read_steps };
	assert_int_equal(unix_listen(&listener, rig->socket, &err), 0);
	assert_int_equal(listen(listener.fd, SOMAXCONN), 0);
	script.config = (struct serve_config){ .controller = rig->controller,
					       .listener = listener.fd,
					       .now_ps = at_begin,
					       .idle_limit_ms = 10000,
					       .is_over = play };
	WITHOUT_CALL(SYS_recvfrom, EAGAIN, serve_script, &rc);
	unix_listener_close(&listener);
	assert_int_equal(rc, 0);
	assert_int_equal(script.counts.peers, 1);
	assert_int_equal(script.counts.gave_up, 0);
	close(script.fds[0]);
}

static void
without_memory_steps(struct script *s, uint32_t round)
{
	struct message m;
	size_t size = make_pinglists(s->rig, &m, 0);
	char byte;

	if (round == 0) {
		s->fds[0] = dial();
		assert_int_equal(write(s->fds[0], &m, size), size);
		alloc_refuse(1);
	}
	s->over = s->counts.gave_up == 1;
	if (!s->over)
		return;
	assert_true(alloc_was_refused());
	assert_true(recv(s->fds[0], &byte, 1, MSG_DONTWAIT) <= 0);
	close(s->fds[0]);
}

static void
without_memory_connections_are_given_up(void **state)
{
	struct serve_config config = { .is_over = is_over };
	struct serve_counts counts;
	struct err err = { "" };

	assert_int_equal(run_script(*state, without_memory_steps, 10000, &err), 0);
	assert_int_equal(script.counts.requests, 1);
	alloc_refuse(1);
	assert_int_equal(serve(&config, &counts, &err), -ENOMEM);
	assert_true(alloc_was_refused());
	assert_string_equal(err.text, "out of memory for 256 peers");
}

static void
closing_steps(struct script *s, uint32_t round)
{
	if (round == 1)
		close(s->config.listener);
}

static void
a_socket_that_is_closed_ends_it(void **state)
{
	struct serve_config config = { .listener = -1, .is_over = is_over };
	struct serve_counts counts;
	struct err err = { "" };

	assert_int_equal(run_script(*state, closing_steps, 10000, &err), -EIO);
	assert_string_equal(err.text, "the controller's socket is closed");
	err.text[0] = '\0';
	assert_int_equal(serve(&config, &counts, &err), -EBADF);
	assert_non_null(strstr(err.text, "fcntl: "));
}

/* A request for as many addresses as one can have: its reply is larger than a socket's buffer has room for. */
static size_t
make_large(uint8_t *bytes)
{
	const struct pingmesh_list list = { .count = PINGMESH_MAX_RESOLVED };
	const struct pingmesh_hdr hdr = { PINGMESH_MAGIC, PINGMESH_MANAGE_VERSION, PINGMESH_RESOLVE,
					  sizeof(list) + PINGMESH_MAX_RESOLVED * sizeof(uint32_t), 0 };

	memcpy(bytes, &hdr, sizeof(hdr));
	memcpy(bytes + sizeof(hdr), &list, sizeof(list));
	memset(bytes + sizeof(hdr) + sizeof(list), 0, PINGMESH_MAX_RESOLVED * sizeof(uint32_t));
	return sizeof(hdr) + hdr.size;
}

#define LARGE (sizeof(struct pingmesh_hdr) + PINGMESH_MAX_REQUEST)
#define LARGE_REPLY                                                                                                        \
	(sizeof(struct pingmesh_hdr) + sizeof(struct pingmesh_list) + PINGMESH_MAX_RESOLVED * sizeof(struct pingmesh_rnic))

/*
 * Replies that a socket has no room for are sent in parts. One agent leaves while its reply is sent, one without reading
 * it, one takes no part of the second and is given up, one asks for more than any, and one reads all.
 */
static void
large_steps(struct script *s, uint32_t round)
{
	static _Alignas(8) uint8_t bytes[LARGE];
	static const uint32_t asked[] = { 4, 0, 2, 0, 4 };
	static uint64_t read_bytes;
	const struct pingmesh_hdr garbage = { PINGMESH_MAGIC, PINGMESH_MANAGE_VERSION, PINGMESH_RESOLVE,
					      PINGMESH_MAX_REQUEST + 1, 0 };
	uint8_t part[4096];
	struct message m;

	for (int i = 0; round == 0 && i < 5; i++) {
		size_t size = make_large(bytes);

		s->fds[i] = dial();
		for (uint32_t k = 0; k < asked[i]; k++)
			assert_int_equal(write(s->fds[i], bytes, size), size);
	}
	if (round == 0) {
		read_bytes = 0;
		make_pinglists(s->rig, &m, 0);
		assert_int_equal(write(s->fds[1], &m, sizeof(m.hdr) + m.hdr.size), sizeof(m.hdr) + m.hdr.size);
		assert_int_equal(write(s->fds[3], &garbage, sizeof(garbage)), sizeof(garbage));
	}
	if (round == 3) {
		close(s->fds[0]);
		close(s->fds[1]);
	}
	for (ssize_t got = 1; round >= 3 && got > 0; read_bytes += got > 0 ? (uint64_t)got : 0)
		got = recv(s->fds[4], part, sizeof(part), MSG_DONTWAIT);
	s->over = s->counts.gave_up == 2 && read_bytes == 4 * LARGE_REPLY;
	for (int i = 2; s->over && i < 5; i++)
		close(s->fds[i]);
}

static void
large_replies_are_sent_in_parts(void **state)
{
	struct err err = { "" };

	register_all(*state);
	assert_int_equal(run_script(*state, large_steps, 300, &err), 0);
	assert_int_equal(script.counts.malformed, 1);
	assert_int_equal(script.counts.refused, 0);
}

static void
on_alarm(int number)
{
	(void)number;
}

static void
waiting_steps(struct script *s, uint32_t round)
{
	struct rlimit few = { 0, 0 };

	if (round == 0) {
		signal(SIGALRM, on_alarm);
		assert_int_equal(setitimer(ITIMER_REAL, &(struct itimerval){ .it_value = { .tv_usec = 20000 } }, NULL), 0);
	}
	if (round != 2)
		return;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &few), 0); /* poll takes no more than there can be */
	s->fds[0] = (int)few.rlim_cur;
	few.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
}

static void
a_signal_is_no_end_and_an_error_is(void **state)
{
	struct err err = { "" };
	struct rlimit before;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(run_script(*state, waiting_steps, 10000, &err), -EINVAL);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_string_equal(err.text, "poll: Invalid argument");
	assert_int_equal(script.round, 3);
}

UNIT_TEST(controller_serve)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(agents_are_served_over_a_socket, set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_descriptors_it_rests, set_up, tear_down),
		cmocka_unit_test_setup_teardown(one_agent_too_many_is_turned_away, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_slow_reader_gets_all_replies, set_up, tear_down),
		cmocka_unit_test_setup_teardown(agents_that_leave_or_take_nothing_are_counted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing_to_read_is_no_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_memory_connections_are_given_up, set_up, tear_down),
		cmocka_unit_test_setup_teardown(large_replies_are_sent_in_parts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_signal_is_no_end_and_an_error_is, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_socket_that_is_closed_ends_it, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
