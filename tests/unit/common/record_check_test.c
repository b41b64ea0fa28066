/* SPDX-License-Identifier: BSD-3-Clause */
/* The border that records cross: no byte of a record is without a rule, and header records agree with each other. */
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
#include "common/units.h"
#include "common/wire/record.h"
#include "tests/unit/unit.h"

static struct record_check *check;
static struct err err;

static int
give(void *rec, uint16_t type, uint32_t node)
{
	*(struct rec_hdr *)rec = (struct rec_hdr){ .type = type, .size = (uint16_t)record_size(type), .node = node };
	memset(&err, 0, sizeof(err));
	return record_check(check, rec, &err);
}

static void
good(void *rec, uint16_t type, uint32_t node)
{
	if (give(rec, type, node) != 0)
		fail_msg("%s", err.text);
}

static void
bad(void *rec, uint16_t type, uint32_t node, const char *words)
{
	assert_int_equal(give(rec, type, node), -EINVAL);
	if (strstr(err.text, words) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

/* A switch 0 and hosts 1 and 2 at its ports 0 and 1; nothing is cabled yet. */
static int
setup(void **state)
{
	struct rec_run run = { .name = "t\xc3\xa9st", .epoch_ps = 1000 };

	check = record_check_create();
	assert_non_null(check);
	good(&run, REC_RUN, REC_NONE);
	for (uint32_t i = 0; i < 3; i++) {
		struct rec_node node = { .name = { (char)('a' + i) }, .kind = i > 0, .nports = i > 0 ? 1 : 2 };

		good(&node, REC_NODE, i);
	}
	return 0;
}

static int
teardown(void **state)
{
	record_check_destroy(check);
	return 0;
}

static struct rec_port
cable(uint16_t port, uint32_t peer, uint16_t peer_port, uint32_t ip)
{
	return (struct rec_port){ .port = port, .peer = peer, .peer_port = peer_port, .ip = ip, .rate_bps = 1 };
}

static void
connect_all(void)
{
	for (uint32_t i = 0; i < 2; i++) {
		struct rec_port port = cable((uint16_t)i, i + 1, 0, 0), nic = cable(0, 0, (uint16_t)i, 10 + i);

		good(&port, REC_PORT, 0);
		good(&nic, REC_PORT, i + 1);
	}
}

static int
by_place(const void *a, const void *b)
{
	return ((const struct record_field *)a)->at - ((const struct record_field *)b)->at;
}

static void
every_byte_has_a_rule(void **state)
{
	uint32_t kinds = 0;

	for (uint16_t type = 0; type < RECORD_KINDS; type++) {
		const struct record_kind *kind = &record_kinds[type];
		struct record_field fields[RECORD_MAX_FIELDS];
		uint32_t at = sizeof(struct rec_hdr);

		if (kind->name == NULL)
			continue;
		kinds++;
		assert_true(kind->nfields <= RECORD_MAX_FIELDS);
		memcpy(fields, kind->fields, kind->nfields * sizeof(*fields));
		qsort(fields, kind->nfields, sizeof(*fields), by_place);
		for (uint32_t i = 0; i < kind->nfields; i++) {
			if (fields[i].at != at)
				fail_msg("%s: nothing is known of byte %u, before %s", kind->name, at, fields[i].name);
			at += fields[i].size;
		}
		assert_int_equal(at, kind->size);
	}
	assert_int_equal(kinds, 44);
}

static void
names_are_those_of_nodes(void **state)
{
	struct rec_node empty = { .kind = 0 }, control = { .name = "x\033[31m" }, flow = { .name = "a->b" };

	bad(&empty, REC_NODE, 3, "name = 0; right would be a letter, digit, '_', '.' or '-' at 0");
	bad(&control, REC_NODE, 3, "name = 27; right would be");
	bad(&flow, REC_NODE, 3, "name = 62; right would be a letter, digit, '_', '.' or '-' at 2");
}

static void
cables_have_two_ends(void **state)
{
	struct rec_port port = cable(0, 1, 0, 0), again = cable(0, 1, 0, 0), nic = cable(0, 0, 0, 10);
	struct rec_port beyond = cable(1, 2, 1, 0), addressed = cable(1, 2, 0, 9), still = cable(1, 2, 0, 0);
	struct rec_collective early = { .ranks = 1, .steps = 1, .rank_steps = 1 };

	good(&port, REC_PORT, 0);
	bad(&again, REC_PORT, 0, "port = 0; right would be a port that is not described yet");
	bad(&nic, REC_PORT, 2, "peer = 0; right would be a node whose port 0 leads back");
	bad(&beyond, REC_PORT, 0, "peer_port = 1; right would be below 1");
	bad(&addressed, REC_PORT, 0, "ip = 9; right would be 0: switches have no address");
	still.rate_bps = 0;
	bad(&still, REC_PORT, 0, "rate_bps = 0");
	bad(&early, REC_COLLECTIVE, REC_NONE, "node 0 has 2 ports, 1 of them are described");
	assert_int_equal(record_check_finish(check, &err), -EINVAL);
}

static void
schedules_hold_what_collectives_promise(void **state)
{
	struct rec_collective collective = { .ranks = 2, .steps = 4, .rank_steps = 3 },
			      none = { .iteration = 1, .ranks = 1 };
	struct rec_schedule step = { .step = 1, .flow = { 10, 11, 1, 1, 0 }, .peer = 1, .depends_rank = REC_NONE };

	connect_all();
	bad(&step, REC_SCHEDULE, 1, "collective = 0; right would be a collective of which iteration 0 is described");
	bad(&none, REC_COLLECTIVE, REC_NONE, "steps = 0; right would be 1 to");
	good(&collective, REC_COLLECTIVE, REC_NONE);
	bad(&collective, REC_COLLECTIVE, REC_NONE, "iteration = 0; right would be one");
	bad(&step, REC_SCHEDULE, 0, "node = 0; right would be a host");
	bad(&step, REC_SCHEDULE, 2, "flow.src_ip = 10");
	step.depends_rank = 1;
	bad(&step, REC_SCHEDULE, 1, "depends_step = 0");
	step.depends_step = 4;
	bad(&step, REC_SCHEDULE, 1, "depends_step = 4; right would be 1 to 3");
	step.depends_step = 1;
	step.own_step = 1; /* itself */
	bad(&step, REC_SCHEDULE, 1, "own_step = 1; right would be another");
	step.own_step = 0;
	step.peer = 2;
	bad(&step, REC_SCHEDULE, 1, "peer = 2; right would be below 2");
	step.peer = 0; /* a local step */
	bad(&step, REC_SCHEDULE, 1, "flow.src_ip = 10; right would be 0");
	step.peer = 1;
	step.rank = 2;
	bad(&step, REC_SCHEDULE, 1, "rank = 2; right would be below 2");
	step.rank = 0;
	step.flow.reserved = 1;
	bad(&step, REC_SCHEDULE, 1, "flow = 1; right would be 0 in its reserved field");
	step.flow.reserved = 0;
	for (int i = 0; i < 4; i++)
		good(&step, REC_SCHEDULE, 1);
	bad(&step, REC_SCHEDULE, 1, "none: all 4 of collective 0 are scheduled");
	assert_int_equal(record_check_finish(check, &err), 0);
}

/* Two collectives of one job, the second after the first, and a step that waits for two more. */
static void
dependencies_name_what_there_is(void **state)
{
	struct rec_collective first = { .ranks = 2, .steps = 2, .rank_steps = 1 }, second = first;
	struct rec_schedule step = { .step = 1, .flow = { 10, 11, 1, 1, 0 }, .peer = 1, .depends_rank = REC_NONE };
	struct rec_depend depend = { .collective = 1, .step = 1, .on_rank = 1, .on_step = 1 };
	struct rec_follow follow = { .collective = 1 };
	struct rec_step report = { .collective = 1, .step = 1, .waited_step = 1 };
	struct rec_end end = { .at_node = REC_NONE };

	second.id = 1;
	connect_all();
	good(&first, REC_COLLECTIVE, REC_NONE);
	bad(&follow, REC_FOLLOW, REC_NONE, "collective = 1; right would be one that is described");
	good(&second, REC_COLLECTIVE, REC_NONE);
	good(&follow, REC_FOLLOW, REC_NONE);
	follow.after = 1;
	bad(&follow, REC_FOLLOW, REC_NONE, "after = 1; right would be another");
	for (int i = 0; i < 4; i++) {
		step.collective = (uint32_t)i / 2;
		step.depends = i == 2 ? 2 : 0;
		good(&step, REC_SCHEDULE, 1);
	}
	good(&depend, REC_DEPEND, 1);
	depend.on_collective = 2;
	bad(&depend, REC_DEPEND, 1, "on_collective = 2; right would be a collective of which iteration 0 is described");
	depend.on_collective = 1;
	depend.on_rank = 0;
	bad(&depend, REC_DEPEND, 1, "on_step = 1; right would be another step");
	depend.on_rank = 1;
	depend.on_step = 2;
	bad(&depend, REC_DEPEND, 1, "on_step = 2; right would be 1 to 1");
	good(&report, REC_STEP, 1);
	report.rtt_min_ps = 9;
	bad(&report, REC_STEP, 1, "rtt_min_ps = 9; right would be at most 0, the mean");
	report.rtt_mean_ps = 9;
	bad(&report, REC_STEP, 1, "rtt_samples = 0; right would be 0 without a round trip, else 1 at least");
	report.rtt_samples = 1;
	good(&report, REC_STEP, 1);
	report.waited_collective = 3;
	bad(&report, REC_STEP, 1, "waited_collective = 3");
	report.waited_step = 0;
	bad(&report, REC_STEP, 1, "waited_rank = 0; right would be 4294967295");
	good(&end, REC_END, REC_NONE);
	assert_int_equal(record_check_finish(check, &err), -EINVAL);
	assert_non_null(strstr(err.text, "collective 1 iteration 0 has 1 DEPEND records; it needs 2"));
}

/* Hosts stamp their reports by the clock; of a fabric that is behind it, the end may be as much earlier. */
static void
a_fabric_behind_its_clock_ends_before_reports(void **state)
{
	struct rec_lateness late = { .kind = REC_LATENESS_WINDOWS, .lcore = REC_NONE, .most_ps = 5 * PS_PER_S };
	struct rec_end end = { .at_node = REC_NONE, .end_ps = PS_PER_S };
	struct rec_lateness report = {
		.hdr = { .type = REC_LATENESS, .size = sizeof(report), .node = 1, .time_ps = 7 * PS_PER_S },
		.kind = REC_LATENESS_HOST,
		.lcore = REC_NONE,
	};

	connect_all();
	assert_int_equal(record_check(check, &report.hdr, &err), 0);
	bad(&end, REC_END, REC_NONE, "end_ps = 1000000000000");
	good(&late, REC_LATENESS, 0);
	good(&end, REC_END, REC_NONE);
}

/* However many rows a stream has, what is added up of them fits. */
static void
sums_are_bounded(void **state)
{
	struct rec_meter_row row = { .bytes = RECORD_MAX_COUNT };
	struct rec_trace_round round = { .sent_bytes = RECORD_MAX_COUNT };
	uint64_t most = RECORD_MAX_SUM / RECORD_MAX_COUNT;

	connect_all();
	for (uint64_t i = 0; i < most; i++)
		good(&row, REC_METER_ROW, 0);
	bad(&row, REC_METER_ROW, 0, "bytes = 4503599627370496; right would be at most 0");
	row.bytes = 0;
	good(&row, REC_METER_ROW, 0);
	for (uint64_t i = 0; i < most; i++)
		good(&round, REC_TRACE_ROUND, 1);
	bad(&round, REC_TRACE_ROUND, 1, "sent_bytes = 4503599627370496; right would be at most 0");
}

static void
collectives_are_found_among_many(void **state)
{
	struct rec_notify notify = { .to = 2, .step = 1 };

	connect_all();
	for (uint32_t i = 0; i < 1000; i++) {
		struct rec_collective collective = {
			.id = i % 7, .iteration = i / 7, .ranks = 1, .steps = i + 1, .rank_steps = i + 1
		};

		good(&collective, REC_COLLECTIVE, REC_NONE);
	}
	for (uint32_t i = 1000; i-- > 0;) {
		notify.collective = i % 7;
		notify.iteration = i / 7;
		notify.step = i + 1;
		good(&notify, REC_NOTIFY, 1);
		notify.step = i + 2;
		bad(&notify, REC_NOTIFY, 1, "step = ");
	}
	notify.iteration = 1000;
	bad(&notify, REC_NOTIFY, 1, "of which iteration 1000 is described");
}

static void
volumes_are_of_switches(void **state)
{
	struct rec_volume volume = { .port = 1, .sender = 0 };
	struct rec_volume_flaw flaw = { .sender = REC_NONE };

	(void)state;
	connect_all();
	good(&volume, REC_VOLUME, 0);
	good(&flaw, REC_VOLUME_FLAW, 0);
	volume.sender = 1;
	bad(&volume, REC_VOLUME, 0, "sender = 1; right would be a described switch");
	volume.sender = REC_NONE;
	bad(&volume, REC_VOLUME, 0, "sender = 4294967295; right would be a described switch");
	flaw.sender = 2;
	bad(&flaw, REC_VOLUME_FLAW, 0, "sender = 2; right would be a described switch; or 4294967295, none");
	volume.sender = 0;
	volume.flaws = 1 << ENUM_COUNT(REC_VOLUME_FLAWS);
	bad(&volume, REC_VOLUME, 0, "flaws = 512; right would be 0 to 511");
}

/* What agents report is of their own NICs, and of switches that exist. */
static void
probes_are_of_their_hosts(void **state)
{
	struct rec_pingmesh times = {
		.time_factor_ppm = 1000000, .timeout_ps = 1, .upload_ps = 1, .period_ps = 1, .pinglist_ps = 1
	};
	struct rec_probe probe = { .tuple.src_ip = 10, .kind = REC_PROBE_SERVICE, .rtt_ps = 5 };
	struct rec_probe_hop hop = { .hop = 1, .at = 0, .port = 1, .tuple = { .src_ip = 10, .dst_ip = 11 } };
	struct rec_rnic rnic = { .ip = 10, .tor = 0 };
	struct rec_upload upload = { .probes = 3, .timeouts = 3 };
	struct rec_connection connection = { .open = 1, .collective = REC_NONE, .tuple.src_ip = 10 };
	struct rec_responder received = { .tuple.dst_ip = 10, .first_seq = 7, .last_seq = 9, .count = 3 };

	(void)state;
	connect_all();
	bad(&times, REC_PINGMESH, 1, "node = 1; right would be 4294967295");
	good(&times, REC_PINGMESH, REC_NONE);
	good(&probe, REC_PROBE, 1);
	bad(&probe, REC_PROBE, 0, "a host that a NODE record describes");
	bad(&probe, REC_PROBE, 2, "tuple.src_ip = 10; right would be 11, the address of NIC 0");
	probe.result = REC_PROBE_SECOND_LOST;
	bad(&probe, REC_PROBE, 1, "rtt_ps = 5; right would be 0: not all of its ACKs arrived");
	probe.kind = ENUM_COUNT(REC_PROBE_KINDS);
	bad(&probe, REC_PROBE, 1, "kind = 4; right would be 0 to 3");
	probe.kind = REC_PROBE_RAIL;
	probe.result = REC_PROBE_OK;
	bad(&probe, REC_PROBE, 1, "rtt_ps = 5; right would be 0: a one-way probe has no reply");
	probe.rtt_ps = 0;
	good(&probe, REC_PROBE, 1);
	probe.result = REC_PROBE_SECOND_LOST;
	bad(&probe, REC_PROBE, 1, "result = 2; right would be ok or timeout");
	good(&hop, REC_PROBE_HOP, 1);
	bad(&hop, REC_PROBE_HOP, 2, "tuple.src_ip = 10; right would be an address of node 2, which traces it");
	hop.back = 1;
	good(&hop, REC_PROBE_HOP, 2);
	bad(&hop, REC_PROBE_HOP, 1,
	    "tuple.dst_ip = 11; right would be an address of node 1, which traces the reverse path");
	hop.count = 5; /* packets that arrived: reported where their path ends */
	good(&hop, REC_PROBE_HOP, 1);
	bad(&hop, REC_PROBE_HOP, 2,
	    "tuple.src_ip = 10; right would be an address of node 2, the destination of the counted packets");
	hop = (struct rec_probe_hop){ .hop = 1, .port = 2, .tuple = hop.tuple };
	bad(&hop, REC_PROBE_HOP, 1, "port = 2; right would be below 2, the number of ports of node 0");
	hop.at = 2;
	bad(&hop, REC_PROBE_HOP, 1, "at = 2; right would be a described switch");
	good(&rnic, REC_RNIC, 1);
	bad(&rnic, REC_RNIC, 2, "ip = 10; right would be 11");
	good(&upload, REC_UPLOAD, 2);
	upload.timeouts = 4;
	bad(&upload, REC_UPLOAD, 2, "timeouts = 4; right would be at most 3");
	good(&connection, REC_CONNECTION, 1);
	bad(&connection, REC_CONNECTION, 2, "tuple.src_ip = 10; right would be 11");
	good(&received, REC_RESPONDER, 1);
	bad(&received, REC_RESPONDER, 2, "tuple.dst_ip = 10; right would be 11");
	received.count = 4;
	bad(&received, REC_RESPONDER, 1, "last_seq = 9; right would be 10 at least");
}

/* What was asked over the management network is of ports that there are. */
static void
traces_are_of_their_ports(void **state)
{
	struct rec_tracer tracer = { .processes = 1, .threads = 1 };
	struct rec_traced traced = { .set_low = 1, .reported_ps = 1 };
	struct rec_traced_hop hop = { .set_low = 3, .hop = 1, .in_port = 0, .out_port = 1 };
	struct rec_trace_round round = { .flows = 2, .traced = 2, .complete = 1 };

	(void)state;
	connect_all();
	good(&tracer, REC_TRACER, REC_NONE);
	tracer.threads = 0;
	bad(&tracer, REC_TRACER, REC_NONE, "threads = 0; right would be 1 to 65535");
	good(&traced, REC_TRACED, 1);
	bad(&traced, REC_TRACED, 0, "a host that a NODE record describes");
	traced.set_low = 2;
	bad(&traced, REC_TRACED, 1, "set_low = 2; right would be ports below 1");
	good(&hop, REC_TRACED_HOP, 0);
	hop.result = REC_TRACE_DROPPED;
	bad(&hop, REC_TRACED_HOP, 0, "out_port = 1; right would be 65535");
	hop.out_port = REC_NO_PORT;
	good(&hop, REC_TRACED_HOP, 0);
	hop.result = REC_TRACE_EGRESS;
	bad(&hop, REC_TRACED_HOP, 0, "out_port = 65535; right would be a port");
	hop.set_high = 1;
	hop.out_port = 0;
	bad(&hop, REC_TRACED_HOP, 0, "set_high = 1; right would be ports below 2");
	good(&round, REC_TRACE_ROUND, 1);
	round.traced = 3;
	bad(&round, REC_TRACE_ROUND, 1, "traced = 3; right would be at most 2");
}

/* The number of rounds is the last one's and 1. */
static void
rounds_can_be_counted(void **state)
{
	struct rec_traced traced = { .set_low = 1, .round = UINT32_MAX };
	struct rec_traced_hop hop = { .set_low = 3, .hop = 1, .out_port = 1, .round = UINT32_MAX };
	struct rec_trace_round round = { .round = UINT32_MAX, .complete = 1 };

	(void)state;
	connect_all();
	bad(&traced, REC_TRACED, 1, "round = 4294967295; right would be 0 to 4294967294");
	bad(&hop, REC_TRACED_HOP, 0, "round = 4294967295; right would be 0 to 4294967294");
	bad(&round, REC_TRACE_ROUND, 1, "round = 4294967295; right would be 0 to 4294967294");
	traced.round = hop.round = round.round = UINT32_MAX - 1;
	good(&traced, REC_TRACED, 1);
	good(&hop, REC_TRACED_HOP, 0);
	good(&round, REC_TRACE_ROUND, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

UNIT_TEST(record_check)
{
	const struct CMUnitTest tests[] = {
		TEST(every_byte_has_a_rule),
		TEST(names_are_those_of_nodes),
		TEST(cables_have_two_ends),
		TEST(schedules_hold_what_collectives_promise),
		TEST(dependencies_name_what_there_is),
		TEST(a_fabric_behind_its_clock_ends_before_reports),
		TEST(sums_are_bounded),
		TEST(volumes_are_of_switches),
		TEST(probes_are_of_their_hosts),
		TEST(traces_are_of_their_ports),
		TEST(rounds_can_be_counted),
		TEST(collectives_are_found_among_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
