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
#include "common/wire/record.h"
#include "common/wire/record_fabric.h"
#include "common/wire/record_rows.h"
#include "common/wire/record_run.h"
#include "common/wire/record_steps.h"
#include "dpswitch/control/manage.h"
#include "tests/unit/rxe-hosts/star.h"

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

static struct record_check *check;

static void
describe_one(void *rec, uint16_t type, size_t size, uint32_t node)
{
	*(struct rec_hdr *)rec = (struct rec_hdr){ .type = type, .size = (uint16_t)size, .node = node };
	if (record_check(check, rec, &err) != 0)
		fail_msg("%s", err.text);
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

/* What the fabric has recorded of the star: two hosts at a switch, one step each. */
static void
describe(void)
{
	struct rec_run run = { .epoch_ps = 1000000000 };
	struct rec_collective collective = { .ranks = HOSTS, .steps = HOSTS, .rank_steps = 1 };

	describe_one(&run, REC_RUN, sizeof(run), REC_NONE);
	for (uint32_t i = 0; i <= HOSTS; i++) {
		struct rec_node node = { .name = { (char)('0' + i) }, .kind = i < HOSTS, .nports = i < HOSTS ? 1 : HOSTS };

		describe_one(&node, REC_NODE, sizeof(node), i);
	}
	for (uint32_t i = 0; i < HOSTS; i++) {
		struct rec_port nic = { .peer = HOSTS, .peer_port = (uint16_t)i, .ip = i + 1, .rate_bps = 1 };
		struct rec_port port = { .port = (uint16_t)i, .peer = i, .rate_bps = 1 };

		describe_one(&nic, REC_PORT, sizeof(nic), i);
		describe_one(&port, REC_PORT, sizeof(port), HOSTS);
	}
	describe_one(&collective, REC_COLLECTIVE, sizeof(collective), REC_NONE);
}

static int
setup(void **state)
{
	bool managed[HOSTS + 1] = { true, true, false };
	struct manage_config config = { .topo = &star.topo, .managed = managed, .dir = dir, .digest = DIGEST };

	check = record_check_create();
	assert_non_null(check);
	describe();
	config.check = check;

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
	record_check_destroy(check);
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

static struct rec_step
good_step(uint64_t time_ps)
{
	return (struct rec_step){ .hdr = { .type = REC_STEP, .size = sizeof(struct rec_step), .time_ps = time_ps },
				  .step = 1,
				  .waited_collective = REC_NONE,
				  .waited_rank = REC_NONE };
}

static void
test_records_pass_and_are_never_older_than_what_was_passed_on(void **state)
{
	struct rec_step steps[2] = { 0 };
	struct recbuf records;
	const struct rec_step *passed;

	for (int i = 0; i < 2; i++)
		steps[i] = good_step(100 + 100u * (unsigned)i);
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

/* A connected host reports this between two good steps. @param why  in the reason given */
static void
is_refused(const void *rec, size_t size, const char *why)
{
	uint8_t message[2 * sizeof(struct rec_step) + 512];
	struct rec_step good = good_step(100);
	struct recbuf records;
	uint32_t node;
	bool lost;

	recbuf_init(&records, 1);
	memcpy(message, &good, sizeof(good));
	memcpy(message + sizeof(good), rec, size);
	memcpy(message + sizeof(good) + size, &good, sizeof(good));
	say(1, MANAGE_RECORDS, message, 2 * sizeof(good) + size);
	manage_records(manage, 1, &records, 0);
	assert_int_equal(records.used_bytes, 2 * sizeof(good));
	recbuf_fini(&records);
	assert_null(manage_failure(manage, &node, &lost)); /* and goes on */
	if (strstr(manage_refused(manage, 1), why) == NULL || strstr(manage_refused(manage, 1), "host 1") == NULL)
		fail_msg("\"%s\" does not say \"%s\"", manage_refused(manage, 1), why);
}

static void
ready(uint32_t node)
{
	hello(node, DIGEST);
	manage_connect(manage);
	connected(node);
}

static void
test_records_of_a_switch_are_refused(void **state)
{
	struct rec_port_row row = { .hdr = { .type = REC_PORT_ROW, .size = sizeof(row) } };

	ready(1);
	is_refused(&row, sizeof(row), "not a host's");
	assert_int_equal(manage_traffic(manage, 1).refused_records, 1);
}

static void
test_records_too_short_are_refused(void **state)
{
	struct rec_hdr bare = { .type = REC_STEP, .size = sizeof(bare) };

	ready(1);
	is_refused(&bare, sizeof(bare), "STEP of 24 B; right would be 96 B");
}

static void
test_steps_that_cannot_be_are_refused(void **state)
{
	struct rec_step backwards = good_step(100), unknown = good_step(100);

	ready(1);
	backwards.start_ps = 90;
	backwards.end_ps = 80;
	unknown.collective = 7;
	is_refused(&backwards, sizeof(backwards), "end_ps = 80");
	is_refused(&unknown, sizeof(unknown), "end_ps = 80"); /* the first one's */
	assert_int_equal(manage_traffic(manage, 1).refused_records, 2);
}

static void
test_records_of_the_future_are_refused(void **state)
{
	struct rec_step future = good_step(1ULL << 61);

	ready(1);
	manage_start(manage, clock_now_ns());
	is_refused(&future, sizeof(future), "no time to come");
}

/* Whatever else a host says wrongly, the host is lost, by name and field. */
static void
test_fields_out_of_range_are_a_breach(void **state)
{
	const struct manage_progress progress = { .working = 2 };

	ready(0);
	say(0, MANAGE_PROGRESS, &progress, sizeof(progress));
	is_lost(0, "host 0: PROGRESS.working = 2; right would be at most 1");
}

static void
test_results_out_of_range_are_a_breach(void **state)
{
	const struct manage_step step = { .step = 1, .start_ps = 5, .end_ps = 4 };

	ready(0);
	manage_stop(manage, 99);
	say(0, MANAGE_STEP, &step, sizeof(step));
	is_lost(0, "STEP.end_ps = 4");
	assert_int_equal(steps_seen, 0);
}

/* What a host says is shown on terminals, and written into JSON. */
static void
test_words_of_a_host_are_plain(void **state)
{
	struct manage_hello said = { .version = MANAGE_VERSION, .node = 0, .digest = DIGEST, .device = "rx\033[31m\xff" };
	struct manage_failed failed = { "no \033]0;device\007 \x9b \xc2\x9b" };
	uint32_t node;
	bool lost;

	memset(said.device + 9, 'x', sizeof(said.device) - 9); /* not terminated */
	say(0, MANAGE_HELLO, &said, sizeof(said));
	assert_string_equal(manage_traffic(manage, 0).device, "rx?[31m?");
	say(1, MANAGE_FAILED, &failed, sizeof(failed));
	assert_string_equal(manage_failure(manage, &node, &lost), "host 1: no ?]0;device? ? ?");
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
		TEST(test_records_too_short_are_refused),
		TEST(test_steps_that_cannot_be_are_refused),
		TEST(test_records_of_the_future_are_refused),
		TEST(test_fields_out_of_range_are_a_breach),
		TEST(test_results_out_of_range_are_a_breach),
		TEST(test_words_of_a_host_are_plain),
		TEST(test_a_host_that_dies_is_lost),
		TEST(test_a_host_that_failed_goes_on),
		TEST(test_a_host_that_gives_up_is_lost),
		TEST(test_who_is_missing_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
