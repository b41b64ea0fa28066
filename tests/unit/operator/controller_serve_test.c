/* SPDX-License-Identifier: BSD-3-Clause */
/* R-Pingmesh's controller on its socket: agents, and what is none. */
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "common/unix_socket.h"
#include "operator/controller/controller.h"
#include "tests/unit/operator/controller_rig.h"
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

UNIT_TEST(controller_serve)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(agents_are_served_over_a_socket, set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_descriptors_it_rests, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
