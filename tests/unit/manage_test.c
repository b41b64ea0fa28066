/* SPDX-License-Identifier: BSD-3-Clause */
/* The fabric's end of the management channels, against a host's end that is driven by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/clock.h"
#include "common/manage_stream.h"
#include "common/unix_socket.h"
#include "dpswitch/control/manage.h"
#include "tests/unit/star.h"

#define HOSTS 2
#define DIGEST 4711

static struct star star;
static char dir[] = "/tmp/manage-test-XXXXXX";
static struct manage *manage;
static struct manage_stream host[HOSTS];
static uint32_t steps_seen;
static struct err err;

static bool
put_step(void *ctx, uint32_t node, const struct manage_step *step)
{
	steps_seen++;
	return step->step == node + 1;
}

static bool
put_iteration(void *ctx, uint32_t node, const struct manage_iteration *iteration)
{
	return true;
}

static bool
put_qp(void *ctx, uint32_t node, const struct manage_qp *qp)
{
	return qp->flow == 0;
}

static const struct manage_sink sink = { NULL, put_step, put_iteration, put_qp };

static void
come(uint32_t node)
{
	char path[sizeof(dir) + 16];
	int fd;

	snprintf(path, sizeof(path), "%s/%u.manage", dir, node);
	fd = unix_connect(path, "fabric", NULL);
	assert_true(fd >= 0);
	assert_int_equal(manage_stream_init(&host[node], fd, 2 * MANAGE_MAX_BODY), 0);
}

static void
say(uint32_t node, enum manage_type type, const void *body, size_t size)
{
	assert_int_equal(manage_stream_send(&host[node], type, body, size), 0);
	for (int i = 0; i < 3; i++) /* accept, hear, answer */
		manage_service(manage, &sink);
}

static void
hello(uint32_t node, uint64_t digest)
{
	struct manage_hello message = { .version = MANAGE_VERSION, .node = node, .digest = digest, .device = "rxe0" };

	say(node, MANAGE_HELLO, &message, sizeof(message));
}

static void
connected(uint32_t node)
{
	const struct manage_connected message = { .qps = 2, .clock_error_ns = 1000 };

	say(node, MANAGE_CONNECTED, &message, sizeof(message));
}

/* The next message that a host got. */
static struct manage_message
got(uint32_t node)
{
	struct manage_message message;

	manage_stream_receive(&host[node]);
	assert_int_equal(manage_stream_take(&host[node], &message, &err), 1);
	return message;
}

static int
setup(void **state)
{
	bool outside[HOSTS + 1] = { true, true, false };
	struct manage_config config = { .topo = &star.topo, .outside = outside, .dir = dir, .digest = DIGEST };

	star_init(&star, HOSTS);
	strcpy(dir + strlen(dir) - 6, "XXXXXX");
	assert_non_null(mkdtemp(dir));
	steps_seen = 0;
	memset(host, 0, sizeof(host));
	manage = manage_create(&config, &err);
	assert_non_null(manage);
	for (uint32_t i = 0; i < HOSTS; i++)
		come(i);
	return 0;
}

static int
teardown(void **state)
{
	for (uint32_t i = 0; i < HOSTS; i++) {
		if (host[i].in != NULL) {
			close(host[i].fd);
			manage_stream_fini(&host[i]);
		}
	}
	manage_destroy(manage);
	assert_int_equal(rmdir(dir), 0); /* the sockets are gone */
	return 0;
}

static void
test_a_run_from_hello_to_result(void **state)
{
	const struct manage_progress done = { .acked_bytes = 1, .working = 0, .background = 0 };
	struct manage_result result = { .cpu_ns = 5, .unexpected = 0 };
	struct manage_start start;
	struct manage_message message;

	hello(0, DIGEST);
	assert_int_equal(manage_state(manage, 0), MANAGE_UP);
	assert_false(manage_all(manage, MANAGE_UP));
	hello(1, DIGEST);
	assert_true(manage_all(manage, MANAGE_UP));
	assert_string_equal(manage_traffic(manage, 1).device, "rxe0");
	manage_connect(manage);
	assert_int_equal(got(0).type, MANAGE_CONNECT);
	connected(0);
	connected(1);
	assert_true(manage_all(manage, MANAGE_READY));
	assert_int_equal(manage_traffic(manage, 0).clock_error_ns, 1000);
	manage_start(manage, 123456);
	message = got(0);
	assert_int_equal(message.type, MANAGE_START);
	memcpy(&start, message.body, sizeof(start));
	assert_int_equal(start.zero_ns, 123456);
	assert_true(manage_working(manage, 0)); /* until it says that it does not */
	say(0, MANAGE_PROGRESS, &done, sizeof(done));
	assert_false(manage_working(manage, 0));
	manage_stop(manage, 99);
	for (uint32_t i = 0; i < HOSTS; i++) {
		const struct manage_step step = { .step = i + 1 };
		const struct manage_iteration iteration = { .rank = i };

		say(i, MANAGE_STEP, &step, sizeof(step));
		say(i, MANAGE_ITERATION, &iteration, sizeof(iteration));
		assert_null(manage_result(manage, i));
		say(i, MANAGE_RESULT, &result, sizeof(result));
		assert_int_equal(manage_result(manage, i)->cpu_ns, 5);
	}
	assert_int_equal(steps_seen, HOSTS);
	assert_true(manage_over(manage));
	assert_true(manage_traffic(manage, 0).bytes > sizeof(struct manage_hello));
}

static void
test_the_clock_is_answered_at_once(void **state)
{
	struct manage_time ask = { .host_ns = 77 }, answer;
	uint64_t before_ns = clock_now_ns();
	struct manage_message message;

	hello(0, DIGEST);
	say(0, MANAGE_TIME, &ask, sizeof(ask));
	message = got(0);
	assert_int_equal(message.type, MANAGE_TIME);
	memcpy(&answer, message.body, sizeof(answer));
	assert_int_equal(answer.host_ns, 77);
	assert_in_range(answer.fabric_ns, before_ns, clock_now_ns());
}

static void
test_records_pass_and_are_never_older_than_what_was_passed_on(void **state)
{
	struct rec_step steps[2] = { 0 };
	struct recbuf records;
	const struct rec_step *passed;

	for (int i = 0; i < 2; i++)
		steps[i].hdr = (struct rec_hdr){ .type = REC_STEP, .size = sizeof(steps[i]), .time_ps = 100 + 100u * (unsigned)i };
	recbuf_init(&records, 1);
	hello(1, DIGEST);
	manage_connect(manage);
	connected(1);
	say(1, MANAGE_RECORDS, steps, sizeof(steps));
	manage_records(manage, 1, &records, 150);
	assert_int_equal(records.used_bytes, sizeof(steps));
	passed = (const void *)records.data;
	assert_int_equal(passed[0].hdr.time_ps, 150);
	assert_int_equal(passed[1].hdr.time_ps, 200);
	assert_int_equal(passed[0].hdr.node, 1);
	manage_records(manage, 1, &records, 150);
	assert_int_equal(records.used_bytes, sizeof(steps)); /* once */
	recbuf_fini(&records);
}

/* @param text  in the reason */
static void
is_lost(uint32_t node, const char *text)
{
	uint32_t of = UINT32_MAX;
	bool lost = false;
	const char *why = manage_failure(manage, &of, &lost);

	assert_non_null(why);
	assert_non_null(strstr(why, text));
	assert_int_equal(of, node);
	assert_true(lost);
	assert_int_equal(manage_state(manage, node), MANAGE_LOST);
}

static void
test_a_host_with_another_scenario_is_refused(void **state)
{
	hello(1, DIGEST + 1);
	is_lost(1, "another scenario");
}

static void
test_a_message_out_of_turn_is_a_breach(void **state)
{
	hello(0, DIGEST);
	manage_connect(manage);
	connected(0);
	connected(0);
	is_lost(0, "out of turn");
}

static void
test_records_of_a_switch_are_refused(void **state)
{
	struct rec_port_row row = { .hdr = { .type = REC_PORT_ROW, .size = sizeof(row) } };

	hello(0, DIGEST);
	manage_connect(manage);
	connected(0);
	say(0, MANAGE_RECORDS, &row, sizeof(row));
	is_lost(0, "not a host's");
}

static void
test_a_host_that_dies_is_lost(void **state)
{
	hello(0, DIGEST);
	close(host[0].fd);
	manage_stream_fini(&host[0]);
	host[0].in = NULL;
	manage_service(manage, &sink);
	is_lost(0, "closed");
	assert_false(manage_over(manage));
}

static void
test_a_host_that_failed_goes_on(void **state)
{
	struct manage_failed failed = { "h0->h1: retries are spent" };
	uint32_t node;
	bool lost = true;

	hello(0, DIGEST);
	manage_connect(manage);
	connected(0);
	say(0, MANAGE_QP_ERROR, &failed, sizeof(failed));
	assert_non_null(strstr(manage_failure(manage, &node, &lost), "retries are spent"));
	assert_false(lost);
	assert_int_equal(manage_state(manage, 0), MANAGE_READY);
}

/* Before it is connected, too. */
static void
test_a_host_that_gives_up_is_lost(void **state)
{
	struct manage_failed failed = { "no RDMA device" };
	uint32_t node;
	bool lost = false;

	say(0, MANAGE_FAILED, &failed, sizeof(failed));
	assert_non_null(strstr(manage_failure(manage, &node, &lost), "no RDMA device"));
	assert_true(lost);
}

static void
test_who_is_missing_is_named(void **state)
{
	char names[64];

	hello(1, DIGEST);
	assert_string_equal(manage_missing(manage, MANAGE_UP, names, sizeof(names)), "0");
	assert_string_equal(manage_missing(manage, MANAGE_READY, names, sizeof(names)), "0, 1");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_run_from_hello_to_result),
		TEST(test_the_clock_is_answered_at_once),
		TEST(test_records_pass_and_are_never_older_than_what_was_passed_on),
		TEST(test_a_host_with_another_scenario_is_refused),
		TEST(test_a_message_out_of_turn_is_a_breach),
		TEST(test_records_of_a_switch_are_refused),
		TEST(test_a_host_that_dies_is_lost),
		TEST(test_a_host_that_failed_goes_on),
		TEST(test_a_host_that_gives_up_is_lost),
		TEST(test_who_is_missing_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
