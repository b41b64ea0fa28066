/* SPDX-License-Identifier: BSD-3-Clause */
/* Fields of management messages that hold what cannot be: the host is lost, by message, field and value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "tests/unit/dpswitch/manage_rig.h"
#include "tests/unit/unit.h"

/* The state in which a message is due, and what it says. */
struct wrong {
	enum manage_type type;
	size_t size;
	union {
		struct manage_connected connected;
		struct manage_qp qp;
		struct manage_progress progress;
		struct manage_step step;
		struct manage_iteration iteration;
		struct manage_counter counter;
		struct manage_result result;
	} body;
	const char *reported;
};

static const struct wrong wrongs[] = {
	{ MANAGE_CONNECTED,
	  sizeof(struct manage_connected),
	  { .connected = { .base_rtt_ns = UINT64_MAX } },
	  "CONNECTED.base_rtt_ns = 18446744073709551615; right would be at most 1152921504606846" },
	{ MANAGE_QP, sizeof(struct manage_qp), { .qp = { .qpn = 1 << 24 } }, "QP.qpn = 16777216; right would be at most" },
	{ MANAGE_QP,
	  sizeof(struct manage_qp),
	  { .qp = { .addr = 16, .bytes = UINT64_MAX - 15 } },
	  "QP.bytes = 18446744073709551600; right would be what fits behind 0x10" },
	{ MANAGE_PROGRESS,
	  sizeof(struct manage_progress),
	  { .progress = { .next_ps = UINT64_MAX - 1 } },
	  "PROGRESS.next_ps = 18446744073709551614; right would be at most" },
	{ MANAGE_PROGRESS,
	  sizeof(struct manage_progress),
	  { .progress = { .acked_bytes = (1ULL << 52) + 1 } },
	  "PROGRESS.acked_bytes = 4503599627370497; right would be at most 4503599627370496" },
	{ MANAGE_STEP,
	  sizeof(struct manage_step),
	  { .step = { .step = 1, .start_ps = 5, .end_ps = 4 } },
	  "STEP.end_ps = 4; right would be 5 at least" },
	{ MANAGE_ITERATION,
	  sizeof(struct manage_iteration),
	  { .iteration = { .end_ps = 7 } },
	  "ITERATION.end_ps = 7; right would be 0" },
	{ MANAGE_ITERATION,
	  sizeof(struct manage_iteration),
	  { .iteration = { .started = 1, .start_ps = 8, .end_ps = 7 } },
	  "ITERATION.end_ps = 7; right would be 0, not complete, or 8 at least" },
	{ MANAGE_COUNTER,
	  sizeof(struct manage_counter),
	  { .counter = { "sent_pkts", 1ULL << 60 } },
	  "COUNTER.value = 1152921504606846976; right would be at most" },
	{ MANAGE_COUNTER,
	  sizeof(struct manage_counter),
	  { .counter = { "", 1 } },
	  "COUNTER.name is none; right would be 1" },
	{ MANAGE_COUNTER, sizeof(struct manage_counter), { .counter = { "sent\n", 1 } }, "COUNTER.name is none" },
	{ MANAGE_COUNTER,
	  sizeof(struct manage_counter),
	  { .counter = { { [0 ... 39] = 'a' }, 1 } },
	  "COUNTER.name is none" },
	{ MANAGE_RESULT,
	  sizeof(struct manage_result),
	  { .result = { .peak_rss_bytes = 1ULL << 60 } },
	  "RESULT.peak_rss_bytes = 1152921504606846976; right would be at most" },
};

static const struct wrong rights[] = {
	{ MANAGE_CONNECTED, sizeof(struct manage_connected), { .connected = { .base_rtt_ns = 1152921504606846 } }, NULL },
	{ MANAGE_QP,
	  sizeof(struct manage_qp),
	  { .qp = { .qpn = (1 << 24) - 1, .addr = 16, .bytes = UINT64_MAX - 16 } },
	  NULL },
	{ MANAGE_PROGRESS,
	  sizeof(struct manage_progress),
	  { .progress = { .next_ps = UINT64_MAX, .acked_bytes = 1ULL << 52 } },
	  NULL },
	{ MANAGE_STEP,
	  sizeof(struct manage_step),
	  { .step = { .step = 1, .open = 1, .start_ps = 5 } },
	  NULL }, /* it has not ended */
	{ MANAGE_ITERATION,
	  sizeof(struct manage_iteration),
	  { .iteration = { .started = 1, .start_ps = 7, .end_ps = 7 } },
	  NULL },
	{ MANAGE_COUNTER, sizeof(struct manage_counter), { .counter = { { [0 ... 38] = 'z' }, 1ULL << 52 } }, NULL },
	{ MANAGE_RESULT, sizeof(struct manage_result), { .result = { .peak_rss_bytes = 1ULL << 40 } }, NULL },
};

/* Host 0 says it when it is due, to a fabric of its own. */
static void
receive(const struct wrong *reported)
{
	bool connecting = reported->type == MANAGE_CONNECTED || reported->type == MANAGE_QP;

	setup(NULL);
	hello(0, DIGEST);
	manage_connect(manage);
	if (!connecting)
		connected(0);
	if (reported->type == MANAGE_STEP || reported->type == MANAGE_ITERATION || reported->type == MANAGE_COUNTER ||
	    reported->type == MANAGE_RESULT)
		manage_stop(manage, 99);
	send_message(0, reported->type, &reported->body, reported->size);
}

static void
test_wrong_fields_are_named(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(wrongs); i++) {
		receive(&wrongs[i]);
		is_lost(0, wrongs[i].reported);
		assert_int_equal(steps_seen + qps_seen, 0);
		teardown(NULL);
	}
}

static void
test_the_most_that_fields_may_hold_is_taken(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(rights); i++) {
		uint32_t node;
		bool lost;

		receive(&rights[i]);
		if (manage_failure(manage, &node, &lost) != NULL)
			fail_msg("case %zu: %s", i, manage_failure(manage, &node, &lost));
		teardown(NULL);
	}
}

UNIT_TEST(manage_field)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrong_fields_are_named),
		cmocka_unit_test(test_the_most_that_fields_may_hold_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
