/* SPDX-License-Identifier: BSD-3-Clause */
/* The border that records cross: each rule of a field, and of fields together, refuses what it is for. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/record/check.h"
#include "common/record/kinds.h"
#include "common/wire/ending.h"
#include "common/wire/record.h"
#include "tests/unit/alloc.h"
#include "tests/unit/unit.h"

static struct record_check *check;
static struct err err;

static int
give(void *rec, uint16_t type, uint32_t node, uint64_t time_ps)
{
	*(struct rec_hdr *)rec =
		(struct rec_hdr){ .type = type, .size = (uint16_t)record_size(type), .node = node, .time_ps = time_ps };
	err = (struct err){ 0 };
	return record_check(check, rec, &err);
}

static void
good_at(void *rec, uint16_t type, uint32_t node, uint64_t time_ps)
{
	if (give(rec, type, node, time_ps) != 0)
		fail_msg("%s", err.text);
}

static void
bad_at(void *rec, uint16_t type, uint32_t node, uint64_t time_ps, const char *words)
{
	assert_int_equal(give(rec, type, node, time_ps), -EINVAL);
	if (strstr(err.text, words) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

#define GOOD(type, KIND, node, ...) good_at(&(struct rec_##type){ __VA_ARGS__ }, REC_##KIND, node, 0)
#define BAD(type, KIND, node, words, ...) bad_at(&(struct rec_##type){ __VA_ARGS__ }, REC_##KIND, node, 0, words)

static void
begin(void)
{
	check = record_check_create();
	assert_non_null(check);
	GOOD(run, RUN, REC_NONE, .name = "t", .epoch_ps = 1000);
}

#define WIDE 70u /* ports of switch 3 */
#define WIDEST 130u

/* A switch 0, hosts 1 and 2 at its ports 0 and 1, and switches 3 and 4 without cables. */
static int
setup(void **state)
{
	(void)state;
	begin();
	for (uint32_t i = 0; i < 5; i++)
		GOOD(node, NODE, i, .name = { (char)('a' + i) }, .kind = i == 1 || i == 2,
		     .nports = i == 0   ? 2
			       : i == 3 ? WIDE
			       : i == 4 ? WIDEST
					: 1);
	for (uint32_t i = 0; i < 2; i++) {
		GOOD(port, PORT, 0, .port = (uint16_t)i, .peer = i + 1, .rate_bps = 1);
		GOOD(port, PORT, i + 1, .peer_port = (uint16_t)i, .ip = 10 + i, .rate_bps = 1);
	}
	for (uint32_t node = 3; node < 5; node++)
		for (uint16_t p = 0; p < (node == 3 ? WIDE : WIDEST); p++)
			GOOD(port, PORT, node, .port = p, .peer = REC_NONE, .rate_bps = 1);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	record_check_destroy(check);
	return 0;
}

static void
nodes_have_limits(void **state)
{
	(void)state;
	for (uint32_t i = 5; i < RECORD_MAX_PORTS / RECORD_MAX_PORTS_A_NODE + 4; i++)
		GOOD(node, NODE, i, .name = "n", .nports = RECORD_MAX_PORTS_A_NODE);
	BAD(node, NODE, 1028, "nports = 1024; right would be at most 1048576 over all nodes", .name = "n",
	    .nports = RECORD_MAX_PORTS_A_NODE);
	for (uint32_t i = 1028; i < RECORD_MAX_NODES; i++)
		GOOD(node, NODE, i, .name = "n");
	BAD(node, NODE, RECORD_MAX_NODES, "node = 65536; right would be 65536, the next one; there are 65536", .name = "n");
}

static void
a_stream_has_an_order(void **state)
{
	(void)state;
	BAD(run, RUN, REC_NONE, "a second RUN record", .name = "t", .epoch_ps = 1);
	BAD(meter_row, METER_ROW, 9, "node = 9; right would be a node that a NODE record describes", .bytes = 1);
	GOOD(collective, COLLECTIVE, REC_NONE, .ranks = 1, .steps = 1, .rank_steps = 1);
	BAD(node, NODE, 5, "a topology record behind records that use it", .name = "n");
	record_check_destroy(check);
	check = record_check_create();
	BAD(node, NODE, 0, "a record before the RUN record", .name = "n");
	BAD(run, RUN, REC_NONE, "name = 31; right would be a printable character at 1", .name = "a\x1f", .epoch_ps = 1);
	BAD(run, RUN, REC_NONE, "name = 127; right would be a printable character at 0", .name = "\x7f", .epoch_ps = 1);
}

static void
names_have_letters(void **state)
{
	static const char others[] = "/:@[`{";

	(void)state;
	GOOD(node, NODE, 5, .name = "azAZ09_.-");
	GOOD(node, NODE, 6, .name = "as-long-as-a-name-of-a-node-can-");
	for (const char *c = others; *c != '\0'; c++)
		BAD(node, NODE, 7, "right would be a letter, digit", .name = { *c });
}

static void
cables_lead_back(void **state)
{
	(void)state;
	record_check_destroy(check);
	begin();
	GOOD(node, NODE, 0, .name = "n", .nports = 2);
	GOOD(port, PORT, 0, .rate_bps = 1);
	BAD(port, PORT, 0, "peer = 0; right would be a node whose port 0 leads back", .port = 1, .rate_bps = 1);
}

static void
times_have_limits(void **state)
{
	struct rec_lateness late = { .to_ps = RECORD_AHEAD_PS + 1 }, turned = { .from_ps = 2, .to_ps = 1 };
	struct rec_meter_row row = { .bytes = 1 }, ahead = { .epoch_last = 1 }, whole = { .epoch_last = 1 };
	struct rec_meter_row back = { .epoch_first = 1 };
	struct rec_flow_row flow = { .in_port = 7 };

	(void)state;
	bad_at(&row, REC_METER_ROW, 0, RECORD_MAX_PS + 1, "time_ps = 1152921504606846977; right would be at most");
	bad_at(&late, REC_LATENESS, 1, 0, "to_ps = 1000000000001; right would be at most 1000000000000");
	bad_at(&turned, REC_LATENESS, 1, 0, "to_ps = 1; right would be 2 at least, where it begins");
	bad_at(&ahead, REC_METER_ROW, 0, 999, "epoch_last = 1; right would be at most 0, the one of its report");
	good_at(&whole, REC_METER_ROW, 0, 1000);
	bad_at(&back, REC_METER_ROW, 0, 1000, "epoch_last = 0; right would be at least 1, the first");
	bad_at(&flow, REC_FLOW_ROW, 0, 0,
	       "in_port = 7; right would be below 2, the number of ports of the node; or 65535, none");
}

static void
ends_agree(void **state)
{
	struct rec_meter_row row = { .bytes = 1 };

	(void)state;
	GOOD(gap, GAP, REC_NONE, .kind = REC_STEP, .dropped = 2, .dropped_bytes = 2 * sizeof(struct rec_step));
	BAD(gap, GAP, REC_NONE, "kind = 1; right would be a kind that nodes report", .kind = REC_RUN, .dropped = 1);
	BAD(gap, GAP, REC_NONE, "dropped_bytes = 1; right would be 232 of 1", .kind = REC_STEP, .dropped = 1,
	    .dropped_bytes = 1);
	BAD(gap, GAP, REC_NONE, "to_ps = 1; right would be 2 at least", .kind = REC_STEP, .dropped = 1,
	    .dropped_bytes = sizeof(struct rec_step), .from_ps = 2, .to_ps = 1);
	good_at(&row, REC_METER_ROW, 0, 3 * RECORD_AHEAD_PS);
	BAD(end, END, REC_NONE, "end_ps = 1; right would be 3000000000000 at least, less 1 s", .end_ps = 1,
	    .at_node = REC_NONE);
	BAD(end, END, REC_NONE, "offered_records = 3; right would be 2, sent and dropped", .end_ps = 3 * RECORD_AHEAD_PS,
	    .at_node = REC_NONE, .offered_records = 3, .sent_records = 1, .dropped_records = 1);
	BAD(end, END, REC_NONE, "kept_reports = 0; right would be at most the collected number", .kept_bytes = 1,
	    .end_ps = 3 * RECORD_AHEAD_PS, .at_node = REC_NONE);
	BAD(end, END, REC_NONE, "kept_reports = 1; right would be at most the collected number", .kept_reports = 1,
	    .end_ps = 3 * RECORD_AHEAD_PS, .at_node = REC_NONE);
	GOOD(end, END, REC_NONE, .end_ps = 3 * RECORD_AHEAD_PS, .at_node = REC_NONE);
	BAD(end, END, REC_NONE, "a record behind END", .at_node = REC_NONE);
}

static void
nodes_are_described(void **state)
{
	(void)state;
	BAD(end, END, REC_NONE, "at_node = 5; right would be a described node; or 4294967295, none", .at_node = 5);
	GOOD(collective, COLLECTIVE, REC_NONE, .ranks = 2, .steps = 2, .rank_steps = 1);
	BAD(notify, NOTIFY, 1, "to = 0; right would be a described host; or 4294967295, none", .step = 1);
	BAD(notify, NOTIFY, 1, "to = 5; right would be a described host; or 4294967295, none", .to = 5, .step = 1);
	GOOD(notify, NOTIFY, 1, .to = 2, .step = 1);
	GOOD(notify, NOTIFY, 1, .to = REC_NONE, .step = 1);
}

#define FLOW .flow = { 10, 11, 1, 1, 0 }

static void
schedules_name_steps(void **state)
{
	(void)state;
	GOOD(collective, COLLECTIVE, REC_NONE, .ranks = 2, .steps = 4, .rank_steps = 3);
	BAD(schedule, SCHEDULE, 1, "step = 0; right would be 1 to 4294967295", FLOW, .peer = 1);
	BAD(schedule, SCHEDULE, 1, "own_step = 9; right would be another of its 3 steps", FLOW, .peer = 1, .step = 1,
	    .own_step = 9, .depends_rank = REC_NONE);
	BAD(schedule, SCHEDULE, 1, "depends_step = 1; right would be 0", FLOW, .peer = 1, .step = 1,
	    .depends_rank = REC_NONE, .depends_step = 1);
	BAD(schedule, SCHEDULE, 1, "depends_rank = 2; right would be another of 2 ranks", FLOW, .peer = 1, .step = 1,
	    .depends_rank = 2);
	BAD(schedule, SCHEDULE, 1, "depends_rank = 0; right would be another of 2 ranks", FLOW, .peer = 1, .step = 1);
	GOOD(schedule, SCHEDULE, 1, .step = 1, .depends_rank = REC_NONE); /* a local one */
	GOOD(schedule, SCHEDULE, 1, FLOW, .peer = 1, .step = 2, .own_step = 1, .depends_rank = REC_NONE, .depends = 2);
	BAD(depend, DEPEND, 1, "rank = 2; right would be below 2", .step = 2, .rank = 2, .on_rank = 1, .on_step = 1);
	BAD(depend, DEPEND, 1, "on_rank = 2; right would be below 2", .step = 2, .on_rank = 2, .on_step = 1);
	BAD(depend, DEPEND, 1, "on_step = 0; right would be 1 to 3", .step = 2, .on_rank = 1);
	GOOD(depend, DEPEND, 1, .step = 2, .on_step = 1);
	GOOD(depend, DEPEND, 1, .step = 2, .on_rank = 1, .on_step = 2);
	BAD(depend, DEPEND, 1, "step = 2; right would be none: collective 0 has all 2 that SCHEDULE records count",
	    .step = 2, .on_rank = 1, .on_step = 1);
	BAD(follow, FOLLOW, REC_NONE, "after = 9; right would be another one that is described", .after = 9);
	BAD(trigger, TRIGGER, 1, "rank = 2; right would be below 2", .step = 1, .rank = 2);
	GOOD(trigger, TRIGGER, 1, .step = 1, .rank = 1);
}

static void
steps_agree(void **state)
{
	(void)state;
	GOOD(collective, COLLECTIVE, REC_NONE, .ranks = 2, .steps = 4, .rank_steps = 3);
	BAD(step, STEP, 1, "rank = 2; right would be below 2", .step = 1, .rank = 2);
	BAD(step, STEP, 1, "waited_rank = 4294967295; right would be 4294967295: it waited for no step", .step = 1,
	    .waited_rank = REC_NONE);
	BAD(step, STEP, 1, "waited_step = 9; right would be at most 3", .step = 1, .waited_step = 9);
	BAD(step, STEP, 1, "waited_rank = 2; right would be below 2", .step = 1, .waited_step = 1, .waited_rank = 2);
	BAD(step, STEP, 1, "end_ps = 1; right would be 2 at least, when it began", .step = 1, .waited_step = 1,
	    .start_ps = 2, .end_ps = 1);
	BAD(step, STEP, 1, "end_ps = 1; right would be 0: the step is open", .step = 1, .waited_step = 1, .open = 1,
	    .end_ps = 1);
	BAD(step, STEP, 1, "start_ps = 1; right would be 0: the step has not begun", .step = 1, .waited_step = 1,
	    .open = REC_STEP_WAITS, .start_ps = 1);
	BAD(step, STEP, 1, "acked_bytes = 1; right would be at most 0", .step = 1, .waited_step = 1, .acked_bytes = 1);
	GOOD(step, STEP, 1, .step = 1, .waited_step = 1, .open = REC_STEP_OPEN);
	GOOD(step, STEP, 1, .step = 1, .waited_step = 1, .open = REC_STEP_WAITS);
}

static void
sets_have_members(void **state)
{
	(void)state;
	BAD(ecmp, ECMP, 0, "set = 2; right would be 1, the next one", .set = 2, .ports = { 1 });
	BAD(ecmp, ECMP, 0, "ports = 2; right would be members below 2", .set = 1, .ports = { 4 });
	GOOD(ecmp, ECMP, 0, .set = 1, .ports = { 1 });
	GOOD(route, ROUTE, 0, .ecmp = 1);
	BAD(route, ROUTE, 0, "ecmp = 1; right would be 0, or a described set of node 0 with port 1", .port = 1, .ecmp = 1);
	BAD(route, ROUTE, 3, "ecmp = 1; right would be 0, or a described set of node 3", .ecmp = 1);
	BAD(route, ROUTE, 3, "ecmp = 9; right would be 0, or a described set of node 3", .ecmp = 9);
	GOOD(ecmp, ECMP, 4, .set = 2, .ports = { 1, 1ULL << 63 });
	GOOD(route, ROUTE, 4, .port = 127, .ecmp = 2);
	BAD(route, ROUTE, 4, "ecmp = 2", .port = 129, .ecmp = 2);
	BAD(ecmp, ECMP, 4, "first = 130; right would be below 130", .set = 3, .first = WIDEST);
	BAD(ecmp, ECMP, 4, "ports = 130; right would be members below 130", .set = 3, .first = 3,
	    .ports = { 1, 1ULL << 63 });
	GOOD(ecmp, ECMP, 4, .set = 3, .first = 2, .ports = { 1, 1ULL << 63 });
	GOOD(route, ROUTE, 4, .port = 2, .ecmp = 3);
	GOOD(route, ROUTE, 4, .port = 129, .ecmp = 3);
	BAD(route, ROUTE, 4, "ecmp = 3", .port = 1, .ecmp = 3);
	BAD(ecmp, ECMP, 4, "set = 3; right would be 4, the next one", .set = 3, .first = 129, .ports = { 1 });
	BAD(ecmp, ECMP, 4, "set = 2; right would be 4, the next one", .set = 2, .first = 129, .ports = { 1 });
	GOOD(ecmp, ECMP, 4, .set = 4, .ports = { 3 });
	BAD(ecmp, ECMP, 4, "set = 4; right would be 5, the next one", .set = 4, .first = 1, .ports = { 1 });
	BAD(ecmp, ECMP, 4, "set = 4; right would be 5, the next one", .set = 4, .first = 128, .ports = { 1 }, .sprayed = 1);
	BAD(ecmp, ECMP, 3, "set = 4; right would be 5, the next one", .set = 4, .first = 69, .ports = { 1 });
	BAD(ecmp, ECMP, 4, "ports = 130; right would be members below 130", .set = 4, .first = 128, .ports = { 7 });
	GOOD(ecmp, ECMP, 4, .set = 4, .first = 128, .ports = { 3 }); /* it goes on with that set */
	GOOD(route, ROUTE, 4, .port = 1, .ecmp = 4);
	GOOD(route, ROUTE, 4, .port = 129, .ecmp = 4);
	BAD(route, ROUTE, 4, "ecmp = 4", .port = 127, .ecmp = 4);
	BAD(route, ROUTE, 3, "ecmp = 4", .port = 1, .ecmp = 4);
	GOOD(ecmp, ECMP, 0, .set = 5, .ports = { 1 });
	BAD(traced_hop, TRACED_HOP, 4, "set_low = 4; right would be ports below 130", .hop = 1, .first = 128, .set_low = 4);
	BAD(traced_hop, TRACED_HOP, 4, "set_high = 1; right would be ports below 130", .hop = 1, .first = 66,
	    .set_high = 1);
	GOOD(traced_hop, TRACED_HOP, 4, .hop = 1, .first = 128, .set_low = 3);
	GOOD(traced_hop, TRACED_HOP, 3, .hop = 1, .set_low = 1ULL << 63, .set_high = 1);
	BAD(traced_hop, TRACED_HOP, 3, "set_high = 64; right would be ports below 70", .hop = 1, .set_high = 1 << 6);
	GOOD(traced_hop, TRACED_HOP, 4, .hop = 1, .set_high = 1ULL << 63);
}

/* A set that no memory is left for is an error of its own, and is none of the stream's. */
static void
sets_need_memory(void **state)
{
	struct rec_ecmp set = { .set = 1, .ports = { 1 } };

	(void)state;
	alloc_refuse(1);
	assert_int_equal(give(&set, REC_ECMP, 0, 0), -ENOMEM);
	assert_true(alloc_was_refused());
	assert_non_null(strstr(err.text, "memory"));
	good_at(&set, REC_ECMP, 0, 0);
}

#define TO .tuple = { 10, 11, 1, 1, 0 }
#define FROM .tuple = { 11, 10, 1, 1, 0 }

static void
probes_agree(void **state)
{
	(void)state;
	GOOD(probe, PROBE, 1, TO, .result = REC_PROBE_LATE, .rtt_ps = 1);
	GOOD(probe, PROBE, 1, TO, .kind = REC_PROBE_RAIL, .result = REC_PROBE_TIMEOUT);
	BAD(probe, PROBE, 1, "rtt_ps = 1; right would be 0: a one-way probe has no reply", TO, .kind = REC_PROBE_RAIL,
	    .rtt_ps = 1);
	BAD(probe, PROBE, 1, "result = ", TO, .kind = REC_PROBE_RAIL, .result = REC_PROBE_LATE);
	GOOD(probe_hop, PROBE_HOP, 2, TO, .hop = 1, .count = 1);
	GOOD(probe_hop, PROBE_HOP, 1, TO, .hop = 1, .count = 1, .back = 1);
	BAD(probe_hop, PROBE_HOP, 1, "tuple.dst_ip = 11; right would be an address of node 1", TO, .hop = 1, .count = 1);
	BAD(probe_hop, PROBE_HOP, 2, "tuple.src_ip = 10; right would be an address of node 2", TO, .hop = 1, .count = 1,
	    .back = 1);
	BAD(probe_hop, PROBE_HOP, 1, "at = 1; right would be a described switch", TO, .hop = 1, .at = 1);
	GOOD(responder, RESPONDER, 1, FROM, .first_seq = 3, .last_seq = 3);
	BAD(responder, RESPONDER, 1, "last_seq = 4; right would be 3 at least, of 0 probes", FROM, .first_seq = 3,
	    .last_seq = 4);
	BAD(responder, RESPONDER, 1, "last_seq = 4; right would be 5 at least, of 3 probes", FROM, .first_seq = 3,
	    .last_seq = 4, .count = 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

UNIT_TEST(record_refused)
{
	const struct CMUnitTest tests[] = {
		TEST(nodes_have_limits),    TEST(a_stream_has_an_order), TEST(names_have_letters),
		TEST(cables_lead_back),     TEST(times_have_limits),     TEST(ends_agree),
		TEST(schedules_name_steps), TEST(steps_agree),           TEST(sets_have_members),
		TEST(probes_agree),         TEST(nodes_are_described),   TEST(sets_need_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
