/* SPDX-License-Identifier: BSD-3-Clause */
/* What the fabric does not take from a host: records that are refused, messages that end the channel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/wire/record.h"
#include "common/wire/record_hdr.h"
#include "common/wire/record_rows.h"
#include "common/wire/record_steps.h"
#include "common/wire/switch_manage.h"
#include "dpswitch/control/manage.h"
#include "tests/unit/alloc.h"
#include "tests/unit/dpswitch/manage_rig.h"
#include "tests/unit/unit.h"

static void
test_a_host_with_another_scenario_is_refused(void **state)
{
	hello(1, DIGEST + 1);
	is_lost(1, "another scenario");
}

static void
test_a_host_of_another_version_is_refused(void **state)
{
	const struct manage_hello message = { .version = MANAGE_VERSION + 1, .node = 0, .digest = DIGEST };
	char words[96];

	send_message(0, MANAGE_HELLO, &message, sizeof(message));
	snprintf(words, sizeof(words), "speaks version %u of the management protocol, this is %u", MANAGE_VERSION + 1,
		 MANAGE_VERSION);
	is_lost(0, words);
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
	send_message(1, MANAGE_RECORDS, message, 2 * sizeof(good) + size);
	manage_records(manage, 1, &records, 0);
	assert_int_equal(records.used_bytes, 2 * sizeof(good));
	recbuf_fini(&records);
	assert_null(manage_failure(manage, &node, &lost)); /* and continues */
	if (strstr(manage_refused(manage, 1), why) == NULL || strstr(manage_refused(manage, 1), "host 1") == NULL)
		fail_msg("\"%s\" does not say \"%s\"", manage_refused(manage, 1), why);
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
	is_refused(&bare, sizeof(bare), "STEP of 24 B; right would be 232 B");
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
	is_refused(&future, sizeof(future), "a time that has passed");
}

/* The run's time is that of the fabric's clock: a second has passed, and a record may be ahead of it by another. */
static void
test_records_may_be_a_little_ahead(void **state)
{
	struct rec_step ahead = good_step(3 * RECORD_AHEAD_PS);
	const struct rec_step passed = good_step(19 * RECORD_AHEAD_PS / 10);
	struct recbuf records;

	ready(1);
	manage_start(manage, clock_now_ns() - 1000000000);
	recbuf_init(&records, 1);
	send_message(1, MANAGE_RECORDS, &passed, sizeof(passed));
	manage_records(manage, 1, &records, 0);
	assert_int_equal(records.used_bytes, sizeof(passed));
	recbuf_fini(&records);
	ahead.hdr.time_ps += 60 * RECORD_AHEAD_PS;
	is_refused(&ahead, sizeof(ahead), "a time that has passed");
}

/* Whatever else a host says wrongly, the host is lost, by name and field. */
static void
test_fields_out_of_range_are_a_breach(void **state)
{
	const struct manage_progress progress = { .working = 2 };

	ready(0);
	send_message(0, MANAGE_PROGRESS, &progress, sizeof(progress));
	is_lost(0, "host 0: PROGRESS.working = 2; right would be at most 1");
}

static void
test_results_out_of_range_are_a_breach(void **state)
{
	const struct manage_step step = { .step = 1, .start_ps = 5, .end_ps = 4 };

	ready(0);
	manage_stop(manage, 99);
	send_message(0, MANAGE_STEP, &step, sizeof(step));
	is_lost(0, "STEP.end_ps = 4");
	assert_int_equal(steps_seen, 0);
}

static void
test_more_counters_than_a_device_has_are_a_breach(void **state)
{
	const struct manage_counter counter = { "sent_pkts", 7 };

	ready(0);
	manage_stop(manage, 99);
	for (uint32_t i = 0; i < MANAGE_COUNTERS; i++)
		send_message(0, MANAGE_COUNTER, &counter, sizeof(counter));
	assert_int_equal(manage_state(manage, 0), MANAGE_READY);
	send_message(0, MANAGE_COUNTER, &counter, sizeof(counter));
	is_lost(0, "more counters than a device has");
}

static void
test_what_is_not_in_the_plan_is_a_breach(void **state)
{
	const struct manage_step step = { .step = 7 };
	const struct manage_iteration iteration = { .rank = 0 };

	ready(0);
	ready(1);
	manage_stop(manage, 99);
	send_message(0, MANAGE_STEP, &step, sizeof(step));
	is_lost(0, "a step that is not in the plan");
	send_message(1, MANAGE_ITERATION, &iteration, sizeof(iteration));
	assert_int_equal(manage_state(manage, 1), MANAGE_LOST);
}

static void
test_queue_pairs_not_in_the_plan_are_a_breach(void **state)
{
	const struct manage_qp qp = { .flow = 3 };

	hello(1, DIGEST);
	manage_connect(manage);
	send_message(1, MANAGE_QP, &qp, sizeof(qp));
	is_lost(1, "a queue pair that is not in the plan");
}

static void
test_queue_pairs_out_of_turn_are_a_breach(void **state)
{
	const struct manage_qp qp = { .flow = 0 };

	ready(1);
	send_message(1, MANAGE_QP, &qp, sizeof(qp));
	is_lost(1, "out of turn");
	assert_int_equal(qps_seen, 0);
}

static void
test_flows_that_a_host_cannot_have_are_a_breach(void **state)
{
	const struct swm_flow flows[2] = { { .nic = 0 }, { .nic = 1 } };

	ready(0);
	ready(1);
	send_message(0, MANAGE_FLOWS, flows, sizeof(flows));
	is_lost(0, "reported flows that it cannot have");
	send_message(1, MANAGE_FLOWS, flows, sizeof(flows[0]) - 1);
	assert_int_equal(manage_state(manage, 1), MANAGE_LOST);
}

/* It asks and asks, and takes no reply. */
static void
test_a_host_that_takes_nothing_is_lost(void **state)
{
	const struct manage_time ask = { .host_ns = 77 };

	hello(0, DIGEST);
	hello(1, DIGEST);
	while (manage_state(manage, 0) == MANAGE_UP) {
		assert_int_equal(manage_stream_send(&host[0], MANAGE_TIME, &ask, sizeof(ask)), 0);
		manage_service(manage, &sink);
	}
	is_lost(0, "its management channel does not take any more");
	assert_int_equal(manage_state(manage, 1), MANAGE_UP);
}

static void
test_a_host_without_memory_for_it_is_lost(void **state)
{
	alloc_refuse(1);
	manage_service(manage, &sink);
	assert_true(alloc_was_refused());
	is_lost(0, "no memory for its management channel");
	hello(1, DIGEST);
	assert_int_equal(manage_state(manage, 1), MANAGE_UP);
}

/* What a host says is shown on terminals, and written into JSON. */
static void
test_words_of_a_host_are_plain(void **state)
{
	struct manage_hello hello = { .version = MANAGE_VERSION, .node = 0, .digest = DIGEST, .device = "rx\033[31m\xff" };
	struct manage_failed failed = { "no \033]0;device\007 \x9b \xc2\x9b" };
	uint32_t node;
	bool lost;

	memset(hello.device + 9, 'x', sizeof(hello.device) - 9); /* not terminated */
	send_message(0, MANAGE_HELLO, &hello, sizeof(hello));
	assert_string_equal(manage_traffic(manage, 0).device, "rx?[31m?");
	send_message(1, MANAGE_FAILED, &failed, sizeof(failed));
	assert_string_equal(manage_failure(manage, &node, &lost), "host 1: no ?]0;device? ? ?");
}

UNIT_TEST(manage_refused)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_host_of_another_version_is_refused),    TEST(test_flows_that_a_host_cannot_have_are_a_breach),
		TEST(test_a_host_that_takes_nothing_is_lost),       TEST(test_a_host_without_memory_for_it_is_lost),
		TEST(test_a_host_with_another_scenario_is_refused), TEST(test_a_message_out_of_turn_is_a_breach),
		TEST(test_records_of_a_switch_are_refused),         TEST(test_records_too_short_are_refused),
		TEST(test_steps_that_cannot_be_are_refused),        TEST(test_records_of_the_future_are_refused),
		TEST(test_records_may_be_a_little_ahead),           TEST(test_fields_out_of_range_are_a_breach),
		TEST(test_results_out_of_range_are_a_breach),       TEST(test_more_counters_than_a_device_has_are_a_breach),
		TEST(test_what_is_not_in_the_plan_is_a_breach),     TEST(test_queue_pairs_not_in_the_plan_are_a_breach),
		TEST(test_queue_pairs_out_of_turn_are_a_breach),    TEST(test_words_of_a_host_are_plain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
