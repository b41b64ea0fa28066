/* SPDX-License-Identifier: BSD-3-Clause */
/* The fabric's end of the management channels: a run from hello to result, and hosts that fail. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/manage_stream.h"
#include "common/wire/pingmesh_manage.h"
#include "common/wire/record_steps.h"
#include "common/wire/switch_manage.h"
#include "dpswitch/control/manage.h"
#include "tests/unit/alloc.h"
#include "tests/unit/dpswitch/manage_rig.h"
#include "tests/unit/unit.h"

static void
test_a_run_from_hello_to_result(void **state)
{
	const struct manage_progress done = { .acked_bytes = 1, .working = 0, .background = 0 };
	struct manage_result result = { .cpu_ns = 5, .unexpected = 0 };
	const struct manage_counter sent = { "sent_pkts", 7 };
	const struct manage_counter *counters;
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
	send_message(0, MANAGE_PROGRESS, &done, sizeof(done));
	assert_false(manage_working(manage, 0));
	manage_stop(manage, 99);
	for (uint32_t i = 0; i < HOSTS; i++) {
		const struct manage_step step = { .step = i + 1 };
		const struct manage_iteration iteration = { .rank = i };

		send_message(i, MANAGE_STEP, &step, sizeof(step));
		send_message(i, MANAGE_ITERATION, &iteration, sizeof(iteration));
		send_message(i, MANAGE_COUNTER, &sent, sizeof(sent));
		assert_int_equal(manage_counters(manage, i, &counters), 1);
		assert_string_equal(counters[0].name, "sent_pkts");
		assert_int_equal(counters[0].value, 7);
		assert_null(manage_result(manage, i));
		send_message(i, MANAGE_RESULT, &result, sizeof(result));
		assert_int_equal(manage_result(manage, i)->cpu_ns, 5);
	}
	assert_int_equal(steps_seen, HOSTS);
	assert_true(manage_over(manage));
	assert_true(manage_traffic(manage, 0).bytes > sizeof(struct manage_hello));
}

/* The number and key that a host's kernel chose for a flow of the plan. */
static void
test_queue_pairs_are_created_while_connecting(void **state)
{
	const struct manage_qp qp = { .flow = 0, .qpn = 17 };

	hello(0, DIGEST);
	manage_connect(manage);
	send_message(0, MANAGE_QP, &qp, sizeof(qp));
	assert_int_equal(qps_seen, 1);
	assert_int_equal(manage_state(manage, 0), MANAGE_UP);
	connected(0);
	assert_int_equal(manage_state(manage, 0), MANAGE_READY);
}

static void
test_the_clock_is_answered_at_once(void **state)
{
	struct manage_time ask = { .host_ns = 77 }, answer;
	uint64_t before_ns = clock_now_ns();
	struct manage_message message;

	hello(0, DIGEST);
	send_message(0, MANAGE_TIME, &ask, sizeof(ask));
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
		steps[i] = good_step(100 + 100u * (unsigned)i);
	steps[0].hdr.node = 99; /* whatever it says: it is this host's */
	recbuf_init(&records, 1);
	hello(1, DIGEST);
	manage_connect(manage);
	connected(1);
	send_message(1, MANAGE_RECORDS, steps, sizeof(steps));
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

static void
test_what_an_agent_asks_is_answered_on_its_channel(void **state)
{
	static const uint32_t request[3] = { 1, 2, 3 };
	struct manage_message reply;
	uint32_t body[4];

	ready(1);
	got(1); /* CONNECT */
	send_message(1, MANAGE_PINGMESH, request, sizeof(request));
	reply = got(1);
	assert_int_equal(reply.type, MANAGE_PINGMESH);
	assert_int_equal(reply.size, sizeof(body));
	memcpy(body, reply.body, sizeof(body));
	assert_memory_equal(body, request, sizeof(request));
	assert_int_equal(body[3], asked);
}

/* The last report stands, also where there is no memory for a newer one. */
static void
test_connections_are_those_last_reported(void **state)
{
	const struct swm_flow reported[2] = { { .sport = 5 }, { .sport = 6 } };
	const struct swm_flow *flows;

	ready(1);
	assert_int_equal(manage_flows(manage, 1, &flows), 0);
	send_message(1, MANAGE_FLOWS, reported, sizeof(reported[0]));
	assert_int_equal(manage_flows(manage, 1, &flows), 1);
	send_message(1, MANAGE_FLOWS, reported, sizeof(reported));
	assert_int_equal(manage_flows(manage, 1, &flows), 2);
	assert_memory_equal(flows, reported, sizeof(reported));
	assert_int_equal(manage_stream_send(&host[1], MANAGE_FLOWS, reported, sizeof(reported[0])), 0);
	alloc_refuse(1);
	manage_service(manage, &sink);
	assert_true(alloc_was_refused());
	assert_int_equal(manage_flows(manage, 1, &flows), 2);
	send_message(1, MANAGE_FLOWS, reported, 0); /* all are closed */
	assert_int_equal(manage_flows(manage, 1, &flows), 0);
	assert_int_equal(manage_state(manage, 1), MANAGE_READY);
}

/* Before its first report a host counts as sending: the fabric waits for it. */
static void
test_whether_a_host_sends_is_as_it_reported(void **state)
{
	struct manage_progress progress = { .sending = 0, .next_ps = 5000 };
	uint64_t next_ps;

	ready(0);
	assert_false(manage_pending(manage));
	assert_true(manage_sending(manage, 0, &next_ps));
	assert_int_equal(next_ps, UINT64_MAX);
	assert_int_equal(manage_stream_send(&host[0], MANAGE_PROGRESS, &progress, sizeof(progress)), 0);
	assert_true(manage_pending(manage));
	manage_service(manage, &sink);
	assert_false(manage_pending(manage));
	assert_false(manage_sending(manage, 0, &next_ps));
	assert_int_equal(next_ps, 5000);
	progress.sending = 1;
	send_message(0, MANAGE_PROGRESS, &progress, sizeof(progress));
	assert_true(manage_sending(manage, 0, &next_ps));
}

static void
expect_no_channels(const struct manage_config *config, int code, const char *words)
{
	struct err why = { 0 };

	assert_null(manage_create(config, &why));
	assert_int_equal(errno, code);
	if (strstr(why.text, words) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", why.text, words);
}

static void
test_channels_that_cannot_be_made_are_reported(void **state)
{
	bool managed[HOSTS + 1] = { true, true, false };
	struct manage_config config = { .topo = &star.topo, .managed = managed, .dir = dir, .digest = DIGEST };
	char deep[200];

	expect_no_channels(&config, EADDRINUSE, "0.manage: Address already in use");
	assert_int_equal(manage_state(manage, 0), MANAGE_ABSENT);
	hello(0, DIGEST); /* whose name it is keeps it */
	config.dir = "/nowhere";
	expect_no_channels(&config, ENOENT, "/nowhere/0.manage");
	memset(deep, 'd', sizeof(deep));
	deep[sizeof(deep) - 1] = '\0';
	config.dir = deep;
	expect_no_channels(&config, ENAMETOOLONG, "a socket's path has at most 107 characters");
	config.dir = "/nowhere";
	for (uint64_t nth = 1; nth <= 3; nth++) {
		alloc_refuse(nth);
		expect_no_channels(&config, ENOMEM, "no memory for management channels");
		assert_true(alloc_was_refused());
	}
	manage_destroy(NULL);
}

/* The limit of a process's descriptors, in one of its own. */
static void
test_too_few_descriptors_are_reported(void **state)
{
	bool managed[HOSTS + 1] = { true, true, false };
	struct manage_config config = { .topo = &star.topo, .managed = managed, .dir = "/nowhere" };
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		int lowest = dup(0);
		struct rlimit few = { (rlim_t)lowest, (rlim_t)lowest };
		struct err why = { 0 };
		bool refused;

		close(lowest);
		refused = setrlimit(RLIMIT_NOFILE, &few) == 0 && manage_create(&config, &why) == NULL && errno == EMFILE &&
			  strstr(why.text, strerror(EMFILE)) != NULL;
		close(0); /* coverage is written to a file */
		unit_exit(refused ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void
test_a_request_before_the_run_is_out_of_turn(void **state)
{
	static const uint32_t request[3];

	hello(1, DIGEST);
	send_message(1, MANAGE_PINGMESH, request, sizeof(request));
	is_lost(1, "out of turn");
}

static void
test_a_request_longer_than_any_is_refused(void **state)
{
	static const uint8_t request[PINGMESH_MAX_REQUEST + sizeof(struct pingmesh_hdr) + 1];

	ready(1);
	send_message(1, MANAGE_PINGMESH, request, sizeof(request));
	is_lost(1, "more than there is");
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
test_a_host_that_has_finished_may_leave(void **state)
{
	const struct manage_result result = { .cpu_ns = 5 };
	uint32_t node;
	bool lost;

	hello(0, DIGEST);
	manage_connect(manage);
	connected(0);
	manage_stop(manage, 99);
	send_message(0, MANAGE_RESULT, &result, sizeof(result));
	close(host[0].fd);
	manage_stream_fini(&host[0]);
	host[0].in = NULL;
	manage_service(manage, &sink);
	assert_int_equal(manage_state(manage, 0), MANAGE_FINISHED);
	assert_null(manage_failure(manage, &node, &lost));
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
	send_message(0, MANAGE_QP_ERROR, &failed, sizeof(failed));
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

	send_message(0, MANAGE_FAILED, &failed, sizeof(failed));
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
	assert_int_equal(manage_first_missing(manage, MANAGE_UP), 0);
	hello(0, DIGEST);
	assert_string_equal(manage_missing(manage, MANAGE_UP, names, sizeof(names)), "");
	assert_int_equal(manage_first_missing(manage, MANAGE_UP), REC_NONE);
}

UNIT_TEST(manage)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_run_from_hello_to_result),
		TEST(test_queue_pairs_are_created_while_connecting),
		TEST(test_the_clock_is_answered_at_once),
		TEST(test_records_pass_and_are_never_older_than_what_was_passed_on),
		TEST(test_what_an_agent_asks_is_answered_on_its_channel),
		TEST(test_connections_are_those_last_reported),
		TEST(test_whether_a_host_sends_is_as_it_reported),
		TEST(test_channels_that_cannot_be_made_are_reported),
		TEST(test_too_few_descriptors_are_reported),
		TEST(test_a_request_before_the_run_is_out_of_turn),
		TEST(test_a_request_longer_than_any_is_refused),
		TEST(test_a_host_that_dies_is_lost),
		TEST(test_a_host_that_has_finished_may_leave),
		TEST(test_a_host_that_failed_goes_on),
		TEST(test_a_host_that_gives_up_is_lost),
		TEST(test_who_is_missing_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
